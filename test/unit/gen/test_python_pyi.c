#include "gen/api/python.h"
#include "gen_text.h"
#include <stdio.h>

typedef struct request {
    const char *schema;
    bool method, skip_outputs, deprecated;
} request;

typedef lz_err *print_fn(lz_arena *a, const lzg_py_signature *sig, const request *r, lz_text *out);

static lz_err *print(print_fn *put, const request *r, lz_text *out)
{
    lz_arena a = { 0 };
    const lzg_schema *s;
    lzg_py_signature sig;
    lz_err *e = lzg_schema_parse(&a, lz_str_of(r->schema), (lz_loc){ 0 }, &s);
    if (!e)
        e = lzg_python_signature(&a, s, (lz_str){ 0 }, r->method, &sig);
    sig.deprecated = r->deprecated;
    if (!e)
        e = put(&a, &sig, r, out);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *check(print_fn *put, request r, const char *want)
{
    lz_text text = { 0 };
    lz_err *e = print(put, &r, &text);
    if (!e)
        e = lz_text_check(&text);
    if (!e)
        assert_text(&text, want);
    lz_text_deinit(&text);
    return e;
}

static lz_err *refuse(print_fn *put, request r, lz_code code, const char *why)
{
    lz_text text = { 0 };
    lz_err *e = lz_check_err(print(put, &r, &text), code, why);
    lz_text_deinit(&text);
    return e;
}

static lz_err *plain(lz_arena *a, const lzg_py_signature *sig, const request *r, lz_text *out)
{
    return lzg_python_print_pyi(a, sig, r->skip_outputs, out);
}

/* "none" where there is no such form. */
static lz_err *vararg(lz_arena *a, const lzg_py_signature *sig, const request *r, lz_text *out)
{
    bool has;
    LZ_TRY(lzg_python_print_pyi_vararg(a, sig, r->skip_outputs, out, &has));
    if (!has)
        lz_text_puts(out, "none");
    return NULL;
}

static lz_err *structseq(lz_arena *a, const lzg_py_signature *sig, const request *r, lz_text *out)
{
    (void)r;
    return lzg_python_print_structseq(a, sig, out);
}

static lz_err *test_arguments(void)
{
    const char *s = "f(Tensor self, int from=0, *, bool b=True) -> Tensor";
    LZ_TRY(check(plain, (request){ .schema = s },
                 "def f(input: Tensor, from_: _int = 0, *, b: _bool = True) -> Tensor: ..."));
    LZ_TRY(check(plain, (request){ .schema = s, .method = true },
                 "def f(self, from_: _int = 0, *, b: _bool = True) -> Tensor: ..."));
    LZ_TRY(check(plain, (request){ .schema = "f(Tensor self) -> Tensor", .method = true },
                 "def f(self) -> Tensor: ..."));
    return check(plain, (request){ .schema = "f(Scalar self) -> bool" },
                 "def f(self: Number | _complex | PySymType) -> _bool: ...");
}

static lz_err *test_defaults(void)
{
    LZ_TRY(check(plain, (request){ .schema = "f(Tensor self, int[] a=[], int[2] b=[1,-2]) -> ()" },
                 "def f(input: Tensor, a: _size = (), b: _int | _size = (1, -2)) -> None: ..."));
    LZ_TRY(check(plain, (request){ .schema = "f(Tensor self, SymInt[] a=[], float[] c=[]) -> ()" },
                 "def f(\n    input: Tensor,\n    a: Sequence[_int | SymInt] = None,\n"
                 "    c: Sequence[_float] = None,\n) -> None: ..."));
    LZ_TRY(check(plain, (request){ .schema = "f(Tensor x, MemoryFormat? m=contiguous_format) -> ()" },
                 "def f(x: Tensor, m: memory_format | None = contiguous_format) -> None: ..."));
    return check(plain, (request){ .schema = "f(Device? d=None, int? n=1) -> ()" },
                 "def f(d: DeviceLikeType | None = None, n: _int | None = 1) -> None: ...");
}

/* One stub serves with and without out; old signatures have one each. */
static lz_err *test_out(void)
{
    const char *s = "f.o(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
    LZ_TRY(check(plain, (request){ .schema = s },
                 "def f(input: Tensor, *, out: Tensor | None = None) -> Tensor: ..."));
    LZ_TRY(
        check(plain, (request){ .schema = s, .skip_outputs = true }, "def f(input: Tensor) -> Tensor: ..."));
    LZ_TRY(check(plain, (request){ .schema = s, .deprecated = true },
                 "def f(self: Tensor, *, out: Tensor) -> Tensor: ..."));
    LZ_TRY(check(plain, (request){ .schema = s, .deprecated = true, .method = true },
                 "def f(*, out: Tensor) -> Tensor: ..."));
    return check(plain, (request){ .schema = "f.o(Tensor x, *, Tensor(a!) res) -> Tensor(a!)" },
                 "def f(x: Tensor, *, res: Tensor = None) -> Tensor: ...");
}

static lz_err *test_returns(void)
{
    LZ_TRY(check(plain, (request){ .schema = "f(Tensor x) -> (Tensor, int)" },
                 "def f(x: Tensor) -> tuple[Tensor, _int]: ..."));
    LZ_TRY(check(plain, (request){ .schema = "f(Tensor x) -> (Tensor a, int b)" },
                 "def f(x: Tensor) -> torch.return_types.f: ..."));
    LZ_TRY(check(plain, (request){ .schema = "f(Tensor x) -> Tensor a" }, "def f(x: Tensor) -> Tensor: ..."));
    LZ_TRY(refuse(plain, (request){ .schema = "f(Tensor x) -> (Tensor a, int)" }, LZ_ERR_MODEL, "named"));
    return refuse(plain, (request){ .schema = "f(Tensor x) -> __torch__.torch.classes.C" },
                  LZ_ERR_UNSUPPORTED, "classes.C");
}

/* The line of a function without arguments never breaks; 80 columns fit, 81 do not. */
static lz_err *test_wrapping(void)
{
    const char *long_name = "f(Tensor aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%s) -> Tensor";
    char schema[128], want[256];
    const char *rest[] = { "", "a" };
    for (int i = 0; i < 2; i++) {
        snprintf(schema, sizeof schema, long_name, rest[i]);
        snprintf(
            want, sizeof want,
            i ? "def f(\n    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%s: Tensor,\n) -> Tensor: ..."
              : "def f(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%s: Tensor) -> Tensor: ...",
            rest[i]);
        assert_true(i == 1 || strlen(want) == 80);
        LZ_TRY(check(plain, (request){ .schema = schema }, want));
    }
    return NULL;
}

#define W70 "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"

/* Characters count, not bytes; what does not fit even so is left to no formatter. */
static lz_err *test_long_lines(void)
{
    LZ_TRY(check(plain, (request){ .schema = W70 "ww() -> int" }, "def " W70 "ww() -> _int: ..."));
    LZ_TRY(check(plain, (request){ .schema = W70 "(Tensor self) -> int", .method = true },
                 "def " W70 "(self) -> _int: ..."));
    LZ_TRY(check(plain, (request){ .schema = "f(Tensor " W70 ") -> int" },
                 "def f(\n    " W70 ": Tensor,\n) -> _int:  # fmt: skip\n    ..."));
    return check(plain,
                 (request){ .schema = "f(Tensor aé, Tensor éééééééééééééééééééééééééééééé) -> Tensor" },
                 "def f(aé: Tensor, éééééééééééééééééééééééééééééé: Tensor) -> Tensor: ...");
}

static lz_err *test_one_list_of_ints_can_be_spread(void)
{
    LZ_TRY(check(vararg, (request){ .schema = "f(Tensor self, int[] dims) -> Tensor", .method = true },
                 "def f(self, *dims: _int) -> Tensor: ..."));
    LZ_TRY(check(vararg, (request){ .schema = "f(SymInt[] size, *, int n=1) -> int" },
                 "def f(*size: _int | SymInt, n: _int = 1) -> _int: ..."));
    LZ_TRY(check(vararg, (request){ .schema = "f(int[] self) -> int" }, "def f(*self: _int) -> _int: ..."));
    LZ_TRY(check(vararg, (request){ .schema = "f(Tensor self, int[] dims) -> Tensor" }, "none"));
    LZ_TRY(check(vararg, (request){ .schema = "f(int[]? dims) -> int" }, "none"));
    LZ_TRY(check(vararg, (request){ .schema = "f(float[] x) -> int" }, "none"));
    LZ_TRY(check(vararg, (request){ .schema = "f() -> int" }, "none"));
    return check(vararg, (request){ .schema = "f(int[] x) -> int", .deprecated = true }, "none");
}

/* Refused even where there would be no spread form, unless only a return is at fault. */
static lz_err *test_spreading_asks_for_every_argument(void)
{
    LZ_TRY(
        refuse(vararg, (request){ .schema = "f(Tensor x, int?? n) -> Tensor" }, LZ_ERR_UNSUPPORTED, "int??"));
    return check(vararg, (request){ .schema = "f(Tensor x) -> (Tensor a, int)" }, "none");
}

static lz_err *test_struct_sequences(void)
{
    const char *want = "class f(tuple[Tensor, _device]):  # fmt: skip\n"
                       "    @property\n"
                       "    def values(self) -> Tensor: ...\n"
                       "    @property\n"
                       "    def where(self) -> _device: ...\n"
                       "    def __new__(\n"
                       "        cls,\n"
                       "        sequence: tuple[Tensor, _device],\n"
                       "    ) -> Self:  # fmt: skip\n"
                       "        ...\n"
                       "    n_fields: Final[_int] = 2\n"
                       "    n_sequence_fields: Final[_int] = 2\n"
                       "    n_unnamed_fields: Final[_int] = 0\n"
                       "    def __init_subclass__(cls) -> NoReturn: ...  # prohibit subclassing\n";
    LZ_TRY(check(structseq, (request){ .schema = "f(Tensor x) -> (Tensor values, Device where)" }, want));
    LZ_TRY(check(structseq, (request){ .schema = "f(Tensor x) -> (Tensor, int)" }, ""));
    return check(structseq, (request){ .schema = "f(Tensor x) -> Tensor a" }, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_arguments),
        LZ_TEST(test_defaults),
        LZ_TEST(test_out),
        LZ_TEST(test_returns),
        LZ_TEST(test_wrapping),
        LZ_TEST(test_long_lines),
        LZ_TEST(test_one_list_of_ints_can_be_spread),
        LZ_TEST(test_spreading_asks_for_every_argument),
        LZ_TEST(test_struct_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
