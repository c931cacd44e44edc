#include "base/mem.h"
#include "check.h"
#include "core/array_print.h"
#include "core/convert.h"
#include <float.h>
#include <math.h>
#include <stdio.h>

/* Every expected text is what PyTorch prints. */

static lz_err *check_print(const lz_array *a, const lz_print_options *o, const char *want)
{
    lz_text t = { 0 };
    lz_err *e = lz_array_print(a, o, &t);
    if (!e && !lz_str_is(lz_text_view(&t), want))
        fail_msg("got\n%.*s\nexpected\n%s", LZ_FMT(lz_text_view(&t)), want);
    lz_text_deinit(&t);
    return e;
}

static lz_err *check_values(lz_dtype d, lz_ints sizes, const double *v, const lz_print_options *o,
                            const char *want)
{
    lz_array a;
    lz_err *e = lz_array_init(&a, NULL, d, sizes);
    if (e)
        return e;
    for (int64_t i = 0; i < a.numel; i++)
        lz_array_set(&a, i, lz_scalar_float(v[i]));
    e = check_print(&a, o, want);
    lz_array_deinit(&a);
    return e;
}

static lz_err *test_small_tensors(void)
{
    const struct {
        lz_dtype dtype;
        lz_ints sizes;
        double v[8];
        const char *want;
    } rows[] = {
        { LZ_F32, { NULL, 0 }, { 2.5 }, "tensor(2.5000)" },
        { LZ_F32, { NULL, 0 }, { 3 }, "tensor(3.)" },
        { LZ_F32, { NULL, 0 }, { NAN }, "tensor(nan)" },
        { LZ_I64, { NULL, 0 }, { 7 }, "tensor(7)" },
        { LZ_BOOL, { NULL, 0 }, { 1 }, "tensor(True)" },
        { LZ_F32, { NULL, 0 }, { 1e-07 }, "tensor(1.0000e-07)" },
        { LZ_F32, { NULL, 0 }, { 0 }, "tensor(0.)" },
        { LZ_F32, LZ_DIMS(2), { 1, 2 }, "tensor([1., 2.])" },
        { LZ_F32, LZ_DIMS(2), { 1, 2.5 }, "tensor([1.0000, 2.5000])" },
        { LZ_F32, LZ_DIMS(3), { 1, NAN, -INFINITY }, "tensor([1., nan, -inf])" },
        { LZ_F32, LZ_DIMS(3), { 1.5, NAN, -INFINITY }, "tensor([1.5000,    nan,   -inf])" },
        { LZ_F32, LZ_DIMS(3), { NAN, INFINITY, 0 }, "tensor([nan, inf, 0.])" },
        { LZ_F32, LZ_DIMS(3), { 0, -0.0, 0 }, "tensor([0., -0., 0.])" },
        { LZ_F32, LZ_DIMS(3), { 1, 1000, 1001 }, "tensor([1.0000e+00, 1.0000e+03, 1.0010e+03])" },
        { LZ_F32, LZ_DIMS(3), { 1, 10, 1000 }, "tensor([   1.,   10., 1000.])" },
        { LZ_F32, LZ_DIMS(2), { 1, 100000000.0 }, "tensor([1.0000e+00, 1.0000e+08])" },
        { LZ_F32, LZ_DIMS(2), { 110000000.0, 100000000.0 }, "tensor([1.1000e+08, 1.0000e+08])" },
        { LZ_F64,
          LZ_DIMS(2),
          { 100000000.0, 99999999.0 },
          "tensor([100000000.,  99999999.], dtype=torch.float64)" },
        { LZ_F32, LZ_DIMS(3), { 0.0001, 0.01, 0.1 }, "tensor([1.0000e-04, 1.0000e-02, 1.0000e-01])" },
        { LZ_F64,
          LZ_DIMS(3),
          { 0.0001, 0.001, 0.1 },
          "tensor([0.0001, 0.0010, 0.1000], dtype=torch.float64)" },
        { LZ_F32, LZ_DIMS(2), { 9e-05, 8e-05 }, "tensor([9.0000e-05, 8.0000e-05])" },
        { LZ_F32, LZ_DIMS(3), { -1.25, 0.125, 3 }, "tensor([-1.2500,  0.1250,  3.0000])" },
        { LZ_F32, LZ_DIMS(2), { 123456.789, 1234.5 }, "tensor([123456.7891,   1234.5000])" },
        { LZ_F32, LZ_DIMS(2), { -4e-05, 0.03 }, "tensor([-4.0000e-05,  3.0000e-02])" },
        { LZ_F64, LZ_DIMS(2), { 1.00005, 2.00015 }, "tensor([1.0001, 2.0002], dtype=torch.float64)" },
        { LZ_F16, LZ_DIMS(2), { 0.5, 65504 }, "tensor([5.0000e-01, 6.5504e+04], dtype=torch.float16)" },
        { LZ_BF16, LZ_DIMS(2), { 1, 3 }, "tensor([1., 3.], dtype=torch.bfloat16)" },
        { LZ_BF16, LZ_DIMS(2), { 3e+38, 1.5 }, "tensor([3.0041e+38, 1.5000e+00], dtype=torch.bfloat16)" },
        { LZ_F64, LZ_DIMS(1), { 1e+300 }, "tensor([1.0000e+300], dtype=torch.float64)" },
        { LZ_F64, LZ_DIMS(2), { 1e-300, 1 }, "tensor([1.0000e-300,  1.0000e+00], dtype=torch.float64)" },
        { LZ_I64, LZ_DIMS(3), { 1, -20, 300 }, "tensor([  1, -20, 300])" },
        { LZ_U8, LZ_DIMS(3), { 0, 255, 7 }, "tensor([  0, 255,   7], dtype=torch.uint8)" },
        { LZ_I8, LZ_DIMS(2), { -128, 127 }, "tensor([-128,  127], dtype=torch.int8)" },
        { LZ_I32, LZ_DIMS(2), { 1, 2 }, "tensor([1, 2], dtype=torch.int32)" },
        { LZ_I16, LZ_DIMS(2), { 1, 2 }, "tensor([1, 2], dtype=torch.int16)" },
        { LZ_I64, LZ_DIMS(1), { -9007199254740992 }, "tensor([-9007199254740992])" },
        { LZ_BOOL, LZ_DIMS(3), { 1, 0, 1 }, "tensor([ True, False,  True])" },
        { LZ_BOOL,
          LZ_DIMS(2, 2),
          { 1, 0, 0, 0 },
          "tensor([[ True, False],\n"
          "        [False, False]])" },
        { LZ_F32, LZ_DIMS(0), { 0 }, "tensor([])" },
        { LZ_F32, LZ_DIMS(0, 3), { 0 }, "tensor([], size=(0, 3))" },
        { LZ_I64, LZ_DIMS(0), { 0 }, "tensor([], dtype=torch.int64)" },
        { LZ_BOOL, LZ_DIMS(2, 0, 2), { 0 }, "tensor([], size=(2, 0, 2), dtype=torch.bool)" },
        { LZ_F16, LZ_DIMS(0), { 0 }, "tensor([], dtype=torch.float16)" },
        { LZ_F32,
          LZ_DIMS(2, 2),
          { 1, 2, 3, 4 },
          "tensor([[1., 2.],\n"
          "        [3., 4.]])" },
        { LZ_F32,
          LZ_DIMS(2, 1, 2),
          { 1, 2, 3, 4.5 },
          "tensor([[[1.0000, 2.0000]],\n"
          "\n"
          "        [[3.0000, 4.5000]]])" },
        { LZ_F32, LZ_DIMS(1, 1, 1, 2), { 1, 2 }, "tensor([[[[1., 2.]]]])" },
        { LZ_F32,
          LZ_DIMS(2, 3),
          { 1.5, -2, 3, 1000, 5, 6 },
          "tensor([[   1.5000,   -2.0000,    3.0000],\n"
          "        [1000.0000,    5.0000,    6.0000]])" },
        { LZ_I64,
          LZ_DIMS(2, 2, 2),
          { 1, 2, 3, 4, 5, 6, 7, 8 },
          "tensor([[[1, 2],\n"
          "         [3, 4]],\n"
          "\n"
          "        [[5, 6],\n"
          "         [7, 8]]])" },
        { LZ_I64,
          LZ_DIMS(3, 1),
          { 1, 22, 333 },
          "tensor([[  1],\n"
          "        [ 22],\n"
          "        [333]])" },
        { LZ_F64,
          LZ_DIMS(1, 3),
          { 0.25, 0.5, 0.75 },
          "tensor([[0.2500, 0.5000, 0.7500]], dtype=torch.float64)" },
        { LZ_I32,
          LZ_DIMS(2, 1, 1, 2),
          { 1, 2, 3, 4 },
          "tensor([[[[1, 2]]],\n"
          "\n"
          "\n"
          "        [[[3, 4]]]], dtype=torch.int32)" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++)
        e = check_values(rows[i].dtype, rows[i].sizes, rows[i].v, NULL, rows[i].want);
    return e;
}

/* Elements count up from a start by a step. */
static lz_err *test_long_tensors(void)
{
    const struct {
        lz_dtype dtype;
        lz_ints sizes;
        double start_step[2];
        const char *want;
    } rows[] = {
        { LZ_I64,
          LZ_DIMS(30),
          { 0, 1 },
          "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
          "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])" },
        { LZ_F32,
          LZ_DIMS(30),
          { 0, 0.5 },
          "tensor([ 0.0000,  0.5000,  1.0000,  1.5000,  2.0000,  2.5000,  3.0000,  3.5000,\n"
          "         4.0000,  4.5000,  5.0000,  5.5000,  6.0000,  6.5000,  7.0000,  7.5000,\n"
          "         8.0000,  8.5000,  9.0000,  9.5000, 10.0000, 10.5000, 11.0000, 11.5000,\n"
          "        12.0000, 12.5000, 13.0000, 13.5000, 14.0000, 14.5000])" },
        { LZ_I64, LZ_DIMS(1001), { 0, 1 }, "tensor([   0,    1,    2,  ...,  998,  999, 1000])" },
        { LZ_BOOL,
          LZ_DIMS(20),
          { 1, 0 },
          "tensor([True, True, True, True, True, True, True, True, True, True, True, True,\n"
          "        True, True, True, True, True, True, True, True])" },
        { LZ_F32,
          LZ_DIMS(40, 30),
          { 0, 1 },
          "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 2.7000e+01, 2.8000e+01,\n"
          "         2.9000e+01],\n"
          "        [3.0000e+01, 3.1000e+01, 3.2000e+01,  ..., 5.7000e+01, 5.8000e+01,\n"
          "         5.9000e+01],\n"
          "        [6.0000e+01, 6.1000e+01, 6.2000e+01,  ..., 8.7000e+01, 8.8000e+01,\n"
          "         8.9000e+01],\n"
          "        ...,\n"
          "        [1.1100e+03, 1.1110e+03, 1.1120e+03,  ..., 1.1370e+03, 1.1380e+03,\n"
          "         1.1390e+03],\n"
          "        [1.1400e+03, 1.1410e+03, 1.1420e+03,  ..., 1.1670e+03, 1.1680e+03,\n"
          "         1.1690e+03],\n"
          "        [1.1700e+03, 1.1710e+03, 1.1720e+03,  ..., 1.1970e+03, 1.1980e+03,\n"
          "         1.1990e+03]])" },
        { LZ_I64,
          LZ_DIMS(7, 200),
          { 0, 1 },
          "tensor([[   0,    1,    2,  ...,  197,  198,  199],\n"
          "        [ 200,  201,  202,  ...,  397,  398,  399],\n"
          "        [ 400,  401,  402,  ...,  597,  598,  599],\n"
          "        ...,\n"
          "        [ 800,  801,  802,  ...,  997,  998,  999],\n"
          "        [1000, 1001, 1002,  ..., 1197, 1198, 1199],\n"
          "        [1200, 1201, 1202,  ..., 1397, 1398, 1399]])" },
        { LZ_I64,
          LZ_DIMS(8, 1, 200),
          { 0, 1 },
          "tensor([[[   0,    1,    2,  ...,  197,  198,  199]],\n"
          "\n"
          "        [[ 200,  201,  202,  ...,  397,  398,  399]],\n"
          "\n"
          "        [[ 400,  401,  402,  ...,  597,  598,  599]],\n"
          "\n"
          "        ...,\n"
          "\n"
          "        [[1000, 1001, 1002,  ..., 1197, 1198, 1199]],\n"
          "\n"
          "        [[1200, 1201, 1202,  ..., 1397, 1398, 1399]],\n"
          "\n"
          "        [[1400, 1401, 1402,  ..., 1597, 1598, 1599]]])" },
        { LZ_I32,
          LZ_DIMS(1, 1500),
          { -700, 1 },
          "tensor([[-700, -699, -698,  ...,  797,  798,  799]], dtype=torch.int32)" },
        { LZ_F32,
          LZ_DIMS(3, 3, 120),
          { 1, 0 },
          "tensor([[[1., 1., 1.,  ..., 1., 1., 1.],\n"
          "         [1., 1., 1.,  ..., 1., 1., 1.],\n"
          "         [1., 1., 1.,  ..., 1., 1., 1.]],\n"
          "\n"
          "        [[1., 1., 1.,  ..., 1., 1., 1.],\n"
          "         [1., 1., 1.,  ..., 1., 1., 1.],\n"
          "         [1., 1., 1.,  ..., 1., 1., 1.]],\n"
          "\n"
          "        [[1., 1., 1.,  ..., 1., 1., 1.],\n"
          "         [1., 1., 1.,  ..., 1., 1., 1.],\n"
          "         [1., 1., 1.,  ..., 1., 1., 1.]]])" },
        { LZ_I64,
          LZ_DIMS(1001, 1),
          { 0, 1 },
          "tensor([[   0],\n"
          "        [   1],\n"
          "        [   2],\n"
          "        ...,\n"
          "        [ 998],\n"
          "        [ 999],\n"
          "        [1000]])" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++) {
        double v[2000];
        for (int k = 0; k < 2000; k++)
            v[k] = rows[i].start_step[0] + k * rows[i].start_step[1];
        e = check_values(rows[i].dtype, rows[i].sizes, v, NULL, rows[i].want);
    }
    return e;
}

static lz_err *test_complex_tensors(void)
{
    const struct {
        lz_dtype dtype;
        lz_ints sizes;
        double v[4]; /* pairs */
        const char *want;
    } rows[] = {
        { LZ_C64, LZ_DIMS(2), { 1, 2, -0.5, 1 }, "tensor([ 1.0000+2.j, -0.5000+1.j])" },
        { LZ_C64, LZ_DIMS(2), { 1, 2, 3, -1 }, "tensor([1.+2.j, 3.-1.j])" },
        { LZ_C64, { NULL, 0 }, { NAN, -INFINITY }, "tensor(nan-infj)" },
        { LZ_C128,
          LZ_DIMS(2),
          { 1e-5, 2, 3, -1 },
          "tensor([1.0000e-05+2.j, 3.0000e+00-1.j], dtype=torch.complex128)" },
        { LZ_C64, LZ_DIMS(2, 1), { 1, 1, 0, -2.5 }, "tensor([[1.+1.0000j],\n        [0.-2.5000j]])" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++) {
        lz_array a;
        e = lz_array_init(&a, NULL, rows[i].dtype, rows[i].sizes);
        if (e)
            break;
        for (int64_t k = 0; k < a.numel; k++)
            lz_array_set(&a, k, lz_scalar_complex(rows[i].v[2 * k], rows[i].v[2 * k + 1]));
        e = check_print(&a, NULL, rows[i].want);
        lz_array_deinit(&a);
    }
    return e;
}

static const double count[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23 };

static lz_err *test_options_change_the_text(void)
{
    const lz_print_options two = { 2, 1000, 3, 80, LZ_SCIENTIFIC_AUTO, LZ_F32, NULL, NULL };
    lz_print_options always = LZ_PRINT_DEFAULTS, never = always, ends = always, narrow = always,
                     wide = always, none = always;
    always.scientific = LZ_SCIENTIFIC_ALWAYS;
    never.scientific = LZ_SCIENTIFIC_NEVER;
    ends.threshold = none.threshold = 5;
    ends.edge_items = 1;
    none.edge_items = 0;
    narrow.line_width = 20;
    wide.default_float = LZ_F64;
    const struct {
        const lz_print_options *o;
        lz_dtype dtype;
        lz_ints sizes;
        const double *v;
        const char *want;
    } rows[] = {
        { &two, LZ_F32, LZ_DIMS(2), (double[]){ 1.239, 2.5 }, "tensor([1.24, 2.50])" },
        { &always, LZ_F32, LZ_DIMS(2), (double[]){ 1.239, 2.5 }, "tensor([1.2390e+00, 2.5000e+00])" },
        { &always, LZ_F32, LZ_DIMS(2), (double[]){ 1, 2 }, "tensor([1.0000e+00, 2.0000e+00])" },
        { &always, LZ_F32, LZ_DIMS(2), (double[]){ 0, NAN }, "tensor([0., nan])" },
        { &never, LZ_F32, LZ_DIMS(2), (double[]){ 1e-7, 2.5 }, "tensor([    0.0000,     2.5000])" },
        { &never, LZ_F32, LZ_DIMS(2), (double[]){ 1e20, 2 }, "tensor([100000002004087734272.,         2.])" },
        { &never, LZ_F64, LZ_DIMS(2), (double[]){ 123456789.5, 1 },
          "tensor([123456789.5000,     1.0000], dtype=torch.float64)" },
        { &ends, LZ_I64, LZ_DIMS(8), count, "tensor([0,  ..., 7])" },
        { &ends, LZ_I64, LZ_DIMS(4, 6), count,
          "tensor([[ 0,  ...,  5],\n        ...,\n        [18,  ..., 23]])" },
        { &none, LZ_I64, LZ_DIMS(4, 6), count, "tensor([...])" },
        { &narrow, LZ_I64, LZ_DIMS(8), count, "tensor([0, 1, 2, 3,\n        4, 5, 6, 7])" },
        { &narrow, LZ_I32, LZ_DIMS(8), count,
          "tensor([0, 1, 2, 3,\n        4, 5, 6, 7],\n       dtype=torch.int32)" },
        { &wide, LZ_F64, LZ_DIMS(1), (double[]){ 1.5 }, "tensor([1.5000])" },
        { &wide, LZ_F32, LZ_DIMS(1), (double[]){ 1.5 }, "tensor([1.5000], dtype=torch.float32)" },
        { &wide, LZ_F32, LZ_DIMS(0), count, "tensor([], dtype=torch.float32)" },
        { &wide, LZ_C64, LZ_DIMS(1), count, "tensor([0.+0.j], dtype=torch.complex64)" },
        { &wide, LZ_C128, LZ_DIMS(1), count, "tensor([0.+0.j])" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++)
        e = check_values(rows[i].dtype, rows[i].sizes, rows[i].v, rows[i].o, rows[i].want);
    return e;
}

static lz_err *test_device_and_note_follow(void)
{
    lz_print_options o = LZ_PRINT_DEFAULTS;
    o.device = "cuda:0";
    lz_err *e =
        check_values(LZ_I32, LZ_DIMS(2), count, &o, "tensor([0, 1], device='cuda:0', dtype=torch.int32)");
    o.note = "grad_fn=<AddBackward0>";
    if (!e)
        e = check_values(
            LZ_F64, LZ_DIMS(0, 2), count, &o,
            "tensor([], device='cuda:0', size=(0, 2), dtype=torch.float64,\n       grad_fn=<AddBackward0>)");
    o.device = NULL;
    o.note = "requires_grad=True";
    return e ? e : check_values(LZ_F32, LZ_DIMS(2), count, &o, "tensor([0., 1.], requires_grad=True)");
}

/* Strides, offset and negative strides: what is shown is the view. */
static lz_err *test_views_are_printed_as_they_are_seen(void)
{
    lz_array a, v;
    lz_err *e = lz_array_init(&a, NULL, LZ_I64, LZ_DIMS(12));
    if (e)
        return e;
    for (int64_t i = 0; i < 12; i++)
        lz_array_set(&a, i, lz_scalar_int(i));
    e = lz_array_init_view(&v, a.buffer, LZ_I64, LZ_DIMS(2, 3), LZ_DIMS(1, -4), 8);
    if (!e)
        e = check_print(&v, NULL, "tensor([[8, 4, 0],\n        [9, 5, 1]])");
    lz_array_deinit(&v);
    lz_array_deinit(&a);
    return e;
}

/* 2^60 elements, none of them in a dimension that could be cut: a bound, not an hour. */
static lz_err *test_endless_tensors_are_refused(void)
{
    int64_t sizes[60], strides[60] = { 0 };
    lz_array a = { .dtype = LZ_DTYPE_NONE };
    lz_buffer *b = NULL;
    lz_text t = { 0 };
    for (int i = 0; i < 60; i++)
        sizes[i] = 2;
    lz_err *e = lz_buffer_create(NULL, 8, &b);
    if (!e)
        e = lz_array_init_view(&a, b, LZ_F64, (lz_ints){ sizes, 60 }, (lz_ints){ strides, 60 }, 0);
    if (!e)
        e = lz_check_err(lz_array_print(&a, NULL, &t), LZ_ERR_LIMIT, "more than 1048576 elements to print");
    lz_text_deinit(&t);
    lz_array_deinit(&a);
    lz_buffer_release(b);
    return e;
}

static lz_err *test_64_dimensions_print(void)
{
    int64_t ones[64];
    char want[256] = "tensor(";
    const double v = 1;
    for (int i = 0; i < 64; i++)
        ones[i] = 1;
    memset(want + 7, '[', 64);
    want[71] = '1';
    want[72] = '.';
    memset(want + 73, ']', 64);
    want[137] = ')';
    return check_values(LZ_F32, (lz_ints){ ones, 64 }, &v, NULL, want);
}

static lz_err *test_absurd_options_are_refused(void)
{
    lz_print_options o[4] = { LZ_PRINT_DEFAULTS, LZ_PRINT_DEFAULTS, LZ_PRINT_DEFAULTS, LZ_PRINT_DEFAULTS };
    o[0].precision = -1;
    o[1].precision = 101;
    o[2].edge_items = -1;
    o[3].line_width = -1;
    lz_err *e = NULL;
    for (int i = 0; !e && i < 4; i++)
        e = lz_check_err(check_values(LZ_F32, LZ_DIMS(1), count, &o[i], ""), LZ_ERR_ARG, "out of range");
    return e;
}

static lz_err *check_numbers(double v)
{
    lz_err *e = NULL;
    for (int places = 0; !e && places < 8; places++) {
        char want[512];
        lz_text t = { 0 };
        lz_text_fixed(&t, v, places);
        lz_text_putc(&t, ' ');
        lz_text_exponent(&t, v, places);
        e = lz_text_check(&t);
        snprintf(want, sizeof want, "%.*f %.*e", places, v, places, v);
        if (!e && !lz_str_is(lz_text_view(&t), want))
            fail_msg("%.*s, expected %s", LZ_FMT(lz_text_view(&t)), want);
        lz_text_deinit(&t);
    }
    return e;
}

/* Against the C library, in the C locale. */
static lz_err *test_numbers_are_those_of_printf(void)
{
    static const double edges[] = { 0,    -0.0,      1,        -1,        0.5,  1.5,      2.5,
                                    0.05, 9.9999999, 99.99995, 1e22,      1e23, 5e-324,   DBL_MAX,
                                    0.1,  999999.5,  INFINITY, -INFINITY, 1e-5, 123456789 };
    uint64_t state = 3;
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof edges / sizeof *edges; i++)
        e = check_numbers(edges[i]);
    for (int i = 0; !e && i < 20; i++) {
        double v;
        state = state * 6364136223846793005 + 1442695040888963407;
        memcpy(&v, &state, sizeof v);
        if (isfinite(v))
            e = check_numbers(v);
    }
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_small_tensors),
        LZ_TEST(test_long_tensors),
        LZ_TEST(test_complex_tensors),
        LZ_TEST(test_options_change_the_text),
        LZ_TEST(test_device_and_note_follow),
        LZ_TEST(test_views_are_printed_as_they_are_seen),
        LZ_TEST(test_endless_tensors_are_refused),
        LZ_TEST(test_64_dimensions_print),
        LZ_TEST(test_absurd_options_are_refused),
        LZ_TEST(test_numbers_are_those_of_printf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
