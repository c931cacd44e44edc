/* Layers and losses, compared with what PyTorch recorded. */
#include "layer_facts.h"
#include "check.h"
#include <math.h>
#include <stdio.h>

enum { MOST = 2048 };

lz_tensor *find_fact(const layer_facts *f, const char *part, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s/%s%s", f->name, part, name);
    if (lz_archive_find(f->file, full) == SIZE_MAX)
        return NULL;
    return lz_archive_tensor(f->c, f->file, full);
}

static void read_all(lz_ctx *c, lz_tensor *t, double *out)
{
    assert_non_null(t);
    assert_true(lz_tensor_numel(t) <= MOST);
    bool ok = lz_read(lz_to_dtype(c, t, LZ_F64), out, MOST * sizeof *out);
    if (!ok)
        print_message("%s\n", lz_message(c));
    assert_true(ok);
}

void expect_close(layer_facts *f, lz_tensor *got, lz_tensor *want, const char *what, const char *name)
{
    static double a[MOST], b[MOST];
    if (lz_failed(f->c))
        print_message("%s %s%s: %s\n", f->name, what, name, lz_message(f->c));
    assert_non_null(got);
    assert_non_null(want);
    assert_int_equal(lz_tensor_numel(got), lz_tensor_numel(want));
    assert_int_equal(lz_tensor_ndim(got), lz_tensor_ndim(want));
    read_all(f->c, got, a);
    read_all(f->c, want, b);
    for (int64_t i = 0; i < lz_tensor_numel(got); i++) {
        double off = fabs(a[i] - b[i]) / (1 + fabs(b[i]));
        if (!(off < 1e-11))
            print_message("%s %s%s [%d]: %.17g, not %.17g\n", f->name, what, name, (int)i, a[i], b[i]);
        assert_true(off < 1e-11);
        f->worst = fmax(f->worst, off);
    }
}

/* What of the file is a state of this case. */
static void load(layer_facts *f, lz_module *m)
{
    char prefix[64];
    lz_state *s = lz_state_create(f->c);
    assert_non_null(s);
    int n = snprintf(prefix, sizeof prefix, "%s/p/", f->name);
    for (size_t i = 0; i < lz_archive_count(f->file); i++) {
        const char *name = lz_archive_name(f->file, i);
        if (!strncmp(name, prefix, (size_t)n))
            assert_true(lz_state_add(s, name, lz_archive_tensor(f->c, f->file, name)));
    }
    if (!lz_module_load_state(m, prefix, lz_state_list(s), false))
        print_message("%s: %s\n", f->name, lz_message(f->c));
    assert_false(lz_failed(f->c));
    lz_state_free(s);
}

static void check_gradients(layer_facts *f, lz_module *m)
{
    lz_named_tensors params = lz_module_params(m), buffers = lz_module_buffers(m);
    for (size_t i = 0; i < params.n; i++)
        expect_close(f, lz_grad_of(params.v[i].tensor), find_fact(f, "g/", params.v[i].name), "gradient of ",
                     params.v[i].name);
    for (size_t i = 0; i < params.n; i++)
        if (find_fact(f, "a/", params.v[i].name))
            expect_close(f, params.v[i].tensor, find_fact(f, "a/", params.v[i].name), "changed ",
                         params.v[i].name);
    for (size_t i = 0; i < buffers.n; i++)
        expect_close(f, buffers.v[i].tensor, find_fact(f, "b/", buffers.v[i].name), "buffer ",
                     buffers.v[i].name);
}

static void run_case(layer_facts *f, build_fn *build, call_fn *call)
{
    static const char *const names[] = { "", "1", "2" };
    lz_tensor *x[3], *want;
    lz_module *root = lz_module_create(f->c);
    lz_module_set_dtype(root, LZ_F64);
    lz_module *m = build(root);
    load(f, m);
    for (int i = 0; i < 3; i++) {
        x[i] = find_fact(f, "x", names[i]);
        if (x[i] && lz_tensor_dtype(x[i]) == LZ_F64)
            assert_true(lz_set_requires_grad(x[i], true));
    }
    lz_tensor *y = call ? call(f, m, x) : lz_forward(m, x[0]);
    expect_close(f, y, find_fact(f, "y", ""), "output", "");
    if (!lz_backward(f->c, lz_sum(f->c, lz_mul_Tensor(f->c, y, find_fact(f, "w", "")))))
        print_message("%s: %s\n", f->name, lz_message(f->c));
    assert_false(lz_failed(f->c));
    for (int i = 0; i < 3; i++)
        if (x[i] && (want = find_fact(f, "gx", names[i])) && lz_grad_of(x[i]))
            expect_close(f, lz_grad_of(x[i]), want, "gradient of input", names[i]);
    assert_true(!x[0] || lz_tensor_dtype(x[0]) != LZ_F64 || lz_grad_of(x[0]));
    check_gradients(f, m);
    lz_train(m, false);
    if (find_fact(f, "eval", ""))
        expect_close(f, lz_forward(m, x[0]), find_fact(f, "eval", ""), "evaluation", "");
    assert_false(lz_failed(f->c));
    lz_module_free(root);
}

void run_layer_cases(const char *file, const layer_case *cases, size_t n)
{
    char path[512];
    layer_facts f = { .c = lz_open(NULL) };
    snprintf(path, sizeof path, "%s/test/data/nn/%s", LZ_SOURCE_DIR, file);
    f.file = lz_archive_open(f.c, path);
    assert_non_null(f.file);
    for (size_t i = 0; i < n; i++) {
        lz_scope *s = lz_scope_push(f.c);
        f.name = cases[i].name;
        run_case(&f, cases[i].build, cases[i].call);
        lz_scope_pop(s);
    }
    print_message("%d layers and losses, largest difference %.2g\n", (int)n, f.worst);
    lz_archive_close(f.file);
    lz_close(f.c);
}
