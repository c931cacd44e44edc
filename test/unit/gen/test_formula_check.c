#include "check.h"
#include "gen/formula/check_reason.h"
#include "gen/formula/formula_check.h"

#define OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

static const char table_text[] =
    "- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
    "- func: add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor\n"
    "- func: add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)\n"
    "- func: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
    "- func: neg(Tensor self) -> Tensor\n"
    "- func: eq.Tensor(Tensor self, Tensor other) -> Tensor\n"
    "- func: exp(Tensor self) -> Tensor\n"
    "- func: softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor\n"
    "- func: sum(Tensor self, *, ScalarType? dtype=None) -> Tensor\n"
    "- func: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
    "Tensor\n"
    "- func: max(Tensor self) -> Tensor\n"
    "- func: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)\n"
    "- func: max.other(Tensor self, Tensor other) -> Tensor\n"
    "- func: clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor\n"
    "- func: clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor\n"
    "- func: where.self(Tensor condition, Tensor self, Tensor other) -> Tensor\n"
    "- func: where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor\n"
    "- func: view(Tensor(a) self, SymInt[] size) -> Tensor(a)\n"
    "- func: cat(Tensor[] tensors, int dim=0) -> Tensor\n"
    "- func: unbind.int(Tensor self, int dim=0) -> Tensor[]\n"
    "- func: gelu(Tensor self, *, str approximate='none') -> Tensor\n"
    "- func: pool(Tensor self, int[2] size, SymInt[2] padding=0, bool[2] mask=[True,False]) -> Tensor\n"
    "- func: norm(Tensor self, Scalar p=2) -> Tensor\n"
    "  static: [p]\n"
    "- func: item(Tensor self) -> Scalar\n"
    "- func: full(SymInt[] size, Scalar fill_value, *, " OPTIONS ") -> Tensor\n"
    "  dispatch: {CompositeExplicitAutograd: full}\n"
    "- func: mine::twist(Tensor self, MemoryFormat? memory_format=contiguous_format, int reduction=Mean) -> "
    "Tensor\n"
    "- func: index.Tensor(Tensor self, Tensor?[] indices) -> Tensor\n"
    "- func: odd(Tensor self, int x=long) -> Tensor\n";

/* What the formulas below are about. */
static const char schema[] =
    "- func: op(Tensor self, Tensor other, Tensor? weight, int dim, int[] dims, SymInt n, "
    "Scalar alpha, float eps, Scalar p, bool flag, str mode, ScalarType? dtype, "
    "Scalar? low, Tensor[] tensors, float nan) -> %s\n";
enum { SELF, OTHER, WEIGHT, DIM, DIMS, N, ALPHA, EPS, P, FLAG, MODE, DTYPE, LOW, TENSORS, NAN_ARG };

typedef struct fixture {
    lz_arena arena;
    lzg_ops ops;
    lzg_diag diag;
    lzg_callees callees;
} fixture;

static lz_err *load(fixture *f, const char *text)
{
    const lzg_yaml *tree;
    LZ_TRY(lzg_yaml_parse(&f->arena, lz_str_of(text), "ops.yaml", &tree));
    return lzg_ops_add(&f->ops, tree, true, &f->diag);
}

static lz_err *setup(fixture *f)
{
    *f = (fixture){ 0 };
    lzg_diag_init(&f->diag);
    LZ_TRY(lzg_ops_begin(&f->ops, NULL, NULL, &f->diag));
    LZ_TRY(load(f, table_text));
    LZ_TRY(lzg_diag_error(&f->diag));
    return lzg_callees_init(&f->callees, &f->arena, &f->ops);
}

static void teardown(fixture *f)
{
    lzg_callees_deinit(&f->callees);
    lzg_ops_deinit(&f->ops);
    lzg_diag_deinit(&f->diag);
    lz_arena_deinit(&f->arena);
}

/* The operator that the formula defines; p is static. */
static lz_err *expect_of(fixture *f, const char *returns, bool inner, lzg_expectation *out)
{
    bool is_static[P + 1] = { [P] = true };
    lz_str text;
    const lzg_yaml *tree;
    const lzg_schema *s;
    lzg_function fn = { 0 };
    LZ_TRY(lz_arena_printf(&f->arena, &text, schema, returns));
    LZ_TRY(lzg_yaml_parse(&f->arena, text, "op.yaml", &tree));
    LZ_TRY(lzg_schema_parse(&f->arena, tree->items[0]->items[1]->text, (lz_loc){ 0 }, &s));
    bool *flags;
    LZ_TRY(lz_arena_new(&f->arena, &flags, s->nargs));
    memcpy(flags, is_static, sizeof is_static);
    fn.func = s;
    return lzg_expectation_of(&f->arena, &fn, flags, inner, out);
}

static lz_err *check(fixture *f, const char *formula, const char *returns, bool inner, lzg_checked *out)
{
    const lzg_expr *e;
    lzg_expectation expect;
    LZ_TRY(lzg_formula_parse_text(&f->arena, lz_str_of(formula), (lz_loc){ "ops.yaml", 1, 1 }, 1, &e));
    LZ_TRY(expect_of(f, returns, inner, &expect));
    return lzg_formula_check(&f->arena, &f->callees, e, &expect, out);
}

typedef struct meaning {
    const char *formula, *term;
    const char *returns; /* NULL: Tensor */
} meaning;

static lz_err *check_meaning(fixture *f, const meaning *m, bool inner)
{
    lzg_checked c;
    lz_text t = { 0 };
    LZ_TRY(check(f, m->formula, m->returns ? m->returns : "Tensor", inner, &c));
    lzg_term_print(c.root, &t);
    lz_err *e = lz_text_check(&t);
    if (!e && !lz_str_is(lz_text_view(&t), m->term))
        fail_msg("'%s'\n    means %.*s\n    not   %s", m->formula, LZ_FMT(lz_text_view(&t)), m->term);
    lz_text_deinit(&t);
    return e;
}

static lz_err *check_meanings(const meaning *m, size_t n, bool inner)
{
    fixture f;
    lz_err *e = setup(&f);
    for (size_t i = 0; !e && i < n; i++)
        e = check_meaning(&f, &m[i], inner);
    teardown(&f);
    return e;
}

#define MEANINGS(table, inner) check_meanings(table, sizeof(table) / sizeof *(table), inner)

static lz_err *test_calls_find_their_overload(void)
{
    static const meaning table[] = {
        { "self + other", "(add.Tensor $0 $1 (Scalar 1))", NULL },
        { "self + 2", "(add.Scalar $0 (Scalar 2) (Scalar 1))", NULL },
        { "2 + self", "(add.Tensor (Tensor 2) $0 (Scalar 1))", NULL },
        { "self + n", "(add.Scalar $0 (Scalar $5) (Scalar 1))", NULL },
        { "alpha * self", "(mul.Tensor (Tensor $6) $0)", NULL },
        { "-self", "(neg $0)", NULL },
        { "self == 1", "(eq.Tensor $0 (Tensor 1))", NULL },
        { "sum(self)", "(sum $0 None)", NULL },
        { "sum(self, dim)", "(sum.dim_IntList $0 (int[1]? $3) False None)", NULL },
        { "self.sum(dims, keepdim=True)", "(sum.dim_IntList $0 (int[1]? $4) True None)", NULL },
        { "self.sum(None)", "(sum.dim_IntList $0 None False None)", NULL },
        { "sum(dim=[], self=self)", "(sum.dim_IntList $0 (int[1]? (list)) False None)", NULL },
        { "max(self)", "(max $0)", NULL },
        { "max(self, other)", "(max.other $0 $1)", NULL },
        { "max(self, dim)[0]", "(get 0 (max.dim $0 $3 False))", NULL },
        { "max.other(self, dim)", "(max.other $0 (Tensor $3))", NULL },
        { "max.default(self)", "(max $0)", NULL },
        { "clamp(self, 0)", "(clamp $0 (Scalar? 0) None)", NULL },
        { "clamp(self, max=other)", "(clamp.Tensor $0 None (Tensor? $1))", NULL },
        { "clamp(self, low)", "(clamp $0 $12 None)", NULL },
        { "where(self == 0, 1, self)", "(where.ScalarSelf (eq.Tensor $0 (Tensor 0)) (Scalar 1) $0)", NULL },
        { "where(alpha == 0, 0, self)", "(where.ScalarSelf (Tensor (== $6 0)) (Scalar 0) $0)", NULL },
        { "other.where(self, self)", "(where.self $0 $1 $0)", NULL },
        { "cat([self, other])", "(cat (list $0 $1) 0)", NULL },
        { "cat(tensors, -1)", "(cat $13 -1)", NULL },
        { "index(self, [None, other])", "(index.Tensor $0 (list None (Tensor? $1)))", NULL },
        { "gelu(self)", "(gelu $0 \"none\")", NULL },
        { "pool(self, 3)", "(pool $0 (int[2] 3) (SymInt[2] 0) (list True False))", NULL },
        { "pool(self, [1, 2], n)", "(pool $0 (list 1 2) (SymInt[2] $5) (list True False))", NULL },
        { "mine::twist(self)", "(twist $0 (MemoryFormat? contiguous_format) 1)", NULL },
        { "norm(self, p)", "(norm $0 $8)", NULL },
        { "norm(self)", "(norm $0 (Scalar 2))", NULL },
        { "full(self.shape, item(other), dtype=self.dtype)",
          "(full (.shape $0) (item $1) (ScalarType? (.dtype $0)) None None None)", NULL },
        { "exp(self) * exp(eps)", "(mul.Tensor (exp $0) (Tensor (exp $7)))", NULL },
        { "max(self, max(dim, 2))[1]", "(get 1 (max.dim $0 (max $3 2) False))", NULL },
    };
    return MEANINGS(table, false);
}

static lz_err *test_values_that_are_no_tensors(void)
{
    static const meaning table[] = {
        { "dim + 1", "(+ $3 1)", "int" },
        { "dim * n - 2 // dim", "(- (* $3 $5) (// 2 $3))", "SymInt" },
        { "dim / 2", "(/ $3 2)", "float" },
        { "dim + 0.5", "(+ $3 0.5)", "float" },
        { "-2 ** 2", "(- (** 2 2))", "int" },
        { "(-2) ** 2", "(** -2 2)", "int" },
        { "eps + alpha", "(+ $7 $6)", "Scalar" },
        { "dim", "(float $3)", "float" },
        { "~dim << 2 | 1", "(| (<< (~ $3) 2) 1)", "int" },
        { "flag && !(mode == \"a\") || dim < 2", "(|| (&& $9 (! (== $10 \"a\"))) (< $3 2))", "bool" },
        { "self.dtype == float32", "(== (.dtype $0) float32)", "bool" },
        { "self.dtype.is_floating_point", "(.is_floating_point (.dtype $0))", "bool" },
        { "self.shape == other.shape", "(== (.shape $0) (.shape $1))", "bool" },
        { "dim in dims", "(in $3 $4)", "bool" },
        { "dims[0] + dims[-1]", "(+ (index $4 0) (index $4 -1))", "int" },
        { "dims[1:] + [n]", "(+ (slice $4 1 None) (list $5))", "SymInt[]" },
        { "[1] * len(dims) + dims", "(+ (* (list 1) (len $4)) $4)", "int[]" },
        { "[d + 1 for d in dims]", "(map $15 (+ $15 1) $4 -)", "int[]" },
        { "[d for d in range(2, dim) if !(d in dims)]", "(map $15 $15 (range 2 $3) (! (in $15 $4)))",
          "int[]" },
        { "[t.sum() for t in tensors]", "(map $15 (sum $15 None) $13 -)", "Tensor[]" },
        { "fold(a = 1; d in dims; a * d)", "(fold $15 $16 1 $4 (* $15 $16))", "int" },
        { "fold(a = 1; s in self.shape; a * s)", "(fold $15 $16 (SymInt 1) (.shape $0) (* $15 $16))",
          "SymInt" },
        { "fold(l = []; d in dims; l + [d])", "(fold $15 $16 (list) $4 (+ $15 (list $16)))", "int[]" },
        { "fold(a = 0, b = 1; d in dims; b, a + d)[0]", "(get 0 (fold $15 $16 $17 0 1 $4 $16 (+ $15 $17)))",
          "int" },
        { "fold(x = self; d in dims; x.sum(d, True))",
          "(fold $15 $16 $0 $4 (sum.dim_IntList $15 (int[1]? $16) True None))", NULL },
        { "let (a, _) = max(self, dim); a", "(let $15 $16 (max.dim $0 $3 False) $15)", NULL },
        { "let a = dim; let b = a; b", "(let $15 $3 (let $16 $15 $16))", "int" },
        { "nan", "$14", "float" },
        { "inf", "inf", "float" },
        { "Sum", "2", "int" },
        { "to_int(p)", "(to_int $8)", "int" },
        { "cast(self, int64)", "(cast $0 int64)", NULL },
        { "cast(alpha, self.dtype)", "(cast $6 (.dtype $0))", "Scalar" },
        { "poly(self, [1, 0.5])", "(poly $0 (list (float 1) 0.5))", NULL },
        { "poly(eps, [1, 2])", "(poly $7 (list 1 2))", "float" },
        { "result_type(self, 1.0, tensors, int64)", "(result_type $0 1.0 $13 int64)", "ScalarType" },
        { "opmath(default_dtype())", "(opmath (default_dtype))", "ScalarType" },
        { "sums(dims)[dim]", "(index (sums $4) $3)", "int" },
        { "wrap_dims(dims, self.ndim) + [wrap_dim(dim, 2)]",
          "(+ (wrap_dims $4 (.ndim $0)) (list (wrap_dim $3 2)))", "int[]" },
        { "broadcast_shapes(self.shape, dims)", "(broadcast_shapes (.shape $0) $4)", "SymInt[]" },
        { "(self, dim)", "(tuple $0 $3)", "(Tensor, int)" },
        { "flag ? (self, 1) : (other, n)", "(cond $9 ((Tensor, SymInt) (tuple $0 1)) (tuple $1 $5))",
          "(Tensor, SymInt)" },
    };
    return MEANINGS(table, false);
}

static lz_err *test_conditions_say_what_is_not_none(void)
{
    static const meaning table[] = {
        { "weight is None ? self : self * weight", "(cond (is_none $2) $0 (mul.Tensor $0 $2))", NULL },
        { "weight is not None ? self * weight : self", "(cond (! (is_none $2)) (mul.Tensor $0 $2) $0)",
          NULL },
        { "!(weight is None) && weight.ndim == 1 ? weight : self",
          "(cond (&& (! (is_none $2)) (== (.ndim $2) 1)) $2 $0)", NULL },
        { "weight is None || flag ? self : weight", "(cond (|| (is_none $2) $9) $0 $2)", NULL },
        { "weight is None || weight.ndim == 1", "(|| (is_none $2) (== (.ndim $2) 1))", "bool" },
        { "check(weight is not None, \"x\"); weight", "(check (! (is_none $2)) $2 \"x\")", NULL },
        { "check(dim > 0, \"dim is {dim} of {self.shape}\"); self",
          "(check (> $3 0) $0 \"dim is \" $3 \" of \" (.shape $0))", NULL },
        { "check(alpha > 0, \"alpha\"); self", "(check (> $6 0) $0 \"alpha\")", NULL },
        { "dtype is None ? self.dtype : dtype", "(cond (is_none $11) (.dtype $0) $11)", "ScalarType" },
        { "flag ? weight : None", "(cond $9 $2 None)", "Tensor?" },
        { "p == 2 ? self : other", "(cond (== $8 2) $0 $1)", NULL },
        { "self + (low is None ? 1 : low)", "(add.Scalar $0 (cond (is_none $12) (Scalar 1) $12) (Scalar 1))",
          NULL },
    };
    return MEANINGS(table, false);
}

static lz_err *test_inner_is_about_elements(void)
{
    static const meaning table[] = {
        { "self + alpha * other", "(+ $0 (* $6 $1))", NULL },
        { "exp(-self)", "(exp (- $0))", NULL },
        { "1", "(Scalar 1)", NULL },
        { "self > 0 ? self : alpha", "(cond (> $0 0) $0 $6)", NULL },
        { "self & 1 << dim", "(& $0 (<< 1 $3))", NULL },
        { "max(self, 0) + eps", "(+ (max $0 0) $7)", NULL },
        { "self.dtype.is_integral ? self : floor(self)", "(cond (.is_integral (.dtype $0)) $0 (floor $0))",
          NULL },
        { "weight is None ? self : weight", "(cond (is_none $2) $0 $2)", NULL },
        { "loop(a = self, b = other; b != 0; b, a % b; 93)[0]",
          "(get 0 (loop 93 $15 $16 $0 $1 (!= $16 0) $16 (% $15 $16)))", NULL },
        { "loop(x = 1; x < self; x * 2.5; 9)", "(loop 9 $15 (Scalar 1) (< $15 $0) (* $15 2.5))", NULL },
        { "bitcast(self, int32) >> 31", "(>> (bitcast $0 int32) 31)", NULL },
        { "poly(self, [1, 2])", "(poly $0 (list 1 2))", NULL },
        { "check(self.dtype != bool, \"no\"); self", "(check (!= (.dtype $0) bool) $0 \"no\")", NULL },
    };
    return MEANINGS(table, true);
}

typedef struct refusal {
    const char *formula;
    int col; /* from 1 */
    const char *part;
    const char *returns;
} refusal;

static lz_err *refuse(fixture *f, const refusal *r, bool inner)
{
    lzg_checked c;
    lz_err *e = check(f, r->formula, r->returns ? r->returns : "Tensor", inner, &c);
    if (!e)
        fail_msg("'%s' was accepted", r->formula);
    if (lz_err_code(e) != LZ_ERR_MEMORY && lz_err_loc(e).col != r->col)
        fail_msg("'%s': column %d: %s", r->formula, lz_err_loc(e).col, lz_err_text(e));
    return lz_check_err(e, LZ_ERR_MODEL, r->part);
}

static lz_err *refuse_all(const refusal *r, size_t n, bool inner)
{
    fixture f;
    lz_err *e = setup(&f);
    for (size_t i = 0; !e && i < n; i++)
        e = refuse(&f, &r[i], inner);
    teardown(&f);
    return e;
}

#define REFUSALS(table, inner) refuse_all(table, sizeof(table) / sizeof *(table), inner)

static lz_err *test_names_and_calls_that_cannot_be(void)
{
    static const refusal table[] = {
        { "self + sofmax(self)", 8, "unknown operator 'sofmax' (did you mean 'softmax'?)", NULL },
        { "mine::twits(self)", 1, "unknown operator 'mine::twits' (did you mean 'mine::twist'?)", NULL },
        { "frobnicate(self)", 1, "unknown operator 'frobnicate'", NULL },
        { "self / other", 6, "'/' on a Tensor needs the operator 'div', which is unknown", NULL },
        { "slef + 1", 1, "unknown name 'slef' (did you mean 'self'?)", NULL },
        { "zork", 1, "unknown name 'zork'", NULL },
        { "exp + self", 1, "'exp' is an operator: call it", NULL },
        { "self.exp", 6, "'exp' is an operator: call it", NULL },
        { "self.shap", 6, "Tensor has no attribute 'shap' (did you mean 'shape'?)", NULL },
        { "eps.dtype", 5, "float has no attribute 'dtype'", NULL },
        { "add_(self, other)", 1, "'add_' writes an argument", NULL },
        { "softmax(self, dim=1, dtpye=None)", 22,
          "softmax.int has no argument 'dtpye' (did you mean 'dtype'?)", NULL },
        { "sum(self, dims=[0])", 11, "no overload of 'sum' has an argument 'dims' (did you mean 'dim'?)",
          NULL },
        { "softmax(self)", 1, "argument 'dim' of softmax.int is missing", NULL },
        { "softmax(self, dim, None, 1)", 26, "softmax.int takes 3 arguments by position", NULL },
        { "softmax(self, 1, dim=2)", 18, "argument 'dim' of softmax.int is given twice", NULL },
        { "softmax(self, \"a\")", 15, "argument 'dim' of softmax.int is int, not str", NULL },
        { "softmax(self, 1.5)", 15, "argument 'dim' of softmax.int is int, not float", NULL },
        { "gelu(self, \"tanh\")", 12, "gelu takes 1 arguments by position", NULL },
        { "exp(weight)", 5, "Tensor? may be None here: test 'is None' first", NULL },
        { "weight.exp()", 1, "Tensor? may be None here", NULL },
        { "self * weight", 8, "Tensor? may be None here", NULL },
        { "weight.ndim", 1, "Tensor? may be None here", "int" },
        { "sum(self, \"a\")", 1, "no overload of 'sum' takes (Tensor, str):", NULL },
        { "clamp(self, None)", 1, "more than one overload of 'clamp' takes (Tensor, None):", NULL },
        { "max.dims(self)", 1, "'max' has no overload 'dims' that only computes values (did you mean 'dim'?)",
          NULL },
        { "self.cat(other)", 6, "cat has no argument self: it is no method", NULL },
        { "dims.sum()", 6, "int[] has no methods", NULL },
        { "norm(self, alpha)", 12, "argument 'p' of norm must be known before the run; 'alpha' is not",
          NULL },
        { "sum(self, dim, alpha > 1)", 16, "must be known before the run; 'alpha' is not", NULL },
        { "pool(self, 1, 2, [True])", 18, "argument 'mask' of pool is bool[2], not bool[1]", NULL },
        { "odd(self)", 9, "'long' is no default for argument 'x'", NULL },
        { "full(self.shape, self)", 18, "argument 'fill_value' of full is Scalar, not Tensor", NULL },
    };
    return REFUSALS(table, false);
}

static lz_err *test_values_that_do_not_go_together(void)
{
    static const refusal table[] = {
        { "self ? self : other", 1,
          "a condition cannot be a Tensor: choose elements with where(condition, a, b)", NULL },
        { "self == 0 ? self : other", 1, "a condition cannot be a Tensor", NULL },
        { "dim ? self : other", 1, "a condition is a bool, not int", NULL },
        { "alpha > 0 ? self : other", 1,
          "the condition depends on the run-time value of 'alpha': use where()", NULL },
        { "let b = alpha * 2; b > 0 ? self : other", 20, "the run-time value of 'alpha'", NULL },
        { "item(self) > 0 ? self : other", 1, "the run-time value of 'item'", NULL },
        { "check(self, \"x\"); self", 7, "a condition cannot be a Tensor", NULL },
        { "flag ? self : \"a\"", 6, "both results of ?: need one type, found Tensor and str", NULL },
        { "self && flag", 6, "'&&' cannot take a Tensor: use logical_and", NULL },
        { "!self", 1, "'!' cannot take a Tensor: use logical_not", NULL },
        { "dim && flag", 5, "'&&' cannot take int and bool", "bool" },
        { "flag + 1", 6, "'+' cannot take bool and int", "int" },
        { "mode < mode", 6, "'<' cannot take str and str", "bool" },
        { "eps & 1", 5, "'&' cannot take float and int", "int" },
        { "low + 1", 1, "Scalar? may be None here", "Scalar" },
        { "dtype == None", 7, "None cannot be compared: use 'is None'", "bool" },
        { "self is None ? self : other", 6, "this is never None", NULL },
        { "weight is None ? self : weight is None ? self : other", 32, "this is never None", NULL },
        { "dim in 3", 5, "'in' cannot take int and int", "bool" },
        { "dims + 1", 6, "'+' cannot take int[] and int", "int[]" },
        { "self[0]", 5, "a Tensor has no []: use select or slice", NULL },
        { "dim[0]", 4, "int is not a list", "int" },
        { "dims[eps]", 6, "a position must be known before the run", "int" },
        { "dims[mode]", 6, "a position is an int, not str", "int" },
        { "[][0]", 3, "the list has no items", "int" },
        { "max(self, dim)[2]", 15, "a tuple of 2 takes an index from 0 to 1, written out", NULL },
        { "max(self, dim)[dim]", 15, "a tuple of 2 takes an index", NULL },
        { "max(self, dim)", 1, "the formula gives (Tensor, Tensor), op returns Tensor", NULL },
        { "self", 1, "the formula gives Tensor, op returns (Tensor, Tensor)", "(Tensor, Tensor)" },
        { "let a = dim; a", 14, "the formula gives int, op returns Tensor", NULL },
        { "(self, self, self)", 1, "the formula gives (Tensor, Tensor, Tensor)", "(Tensor, Tensor)" },
        { "flag ? [1] : tensors", 6, "both results of ?: need one type, found int[] and Tensor[]",
          "Tensor[]" },
        { "[1, \"a\"]", 5, "str in a list of int", "int[]" },
        { "[(1, 2)]", 2, "a tuple inside a list", "int[]" },
        { "((1, 2), 3)", 2, "a tuple inside a tuple", "int" },
        { "[(d, d) for d in dims]", 2, "a tuple inside a list", "int[]" },
        { "[d for d in dim]", 13, "int is not a list", "int[]" },
        { "[d for d in weight]", 13, "Tensor? may be None here", "int[]" },
        { "[d for d in dims if eps > 1]", 21, "depends on the run-time value of 'eps'", "int[]" },
        { "fold(a = 1; d in dims; \"x\")", 24, "the next 'a' is str, it began as int", "int" },
        { "fold(a = (1, 2); d in dims; a)", 10, "a tuple as a state", "int" },
        { "loop(a = 1; a < 3; a + 1; 9)", 1, "loop is for inner expressions", "int" },
        { "let (a, b) = self; a", 6, "2 names for Tensor", NULL },
        { "let (a, b, c) = max(self, dim); a", 6, "3 names for (Tensor, Tensor)", NULL },
        { "let a = 1; self", 5, "'a' is never used", NULL },
        { "let (a, b) = max(self, dim); a", 9, "'b' is never used", NULL },
        { "let self = 1; self", 5, "'self' hides an argument", NULL },
        { "let a = 1; let a = 2; a", 16, "'a' hides the name of line 1", "int" },
        { "[dim for dim in dims]", 10, "'dim' hides an argument", "int[]" },
        { "let pi = 3; pi", 5, "'pi' hides a constant", "int" },
        { "check(flag, \"{self}\"); self", 15, "a message cannot show a Tensor", NULL },
        { "cast(self, 1)", 12, "cast takes a ScalarType as second argument, not int", NULL },
        { "cast(mode, int64)", 6, "cast takes a Tensor or a number, not str", NULL },
        { "cast(self, dtype=int64)", 12, "cast takes no keywords", NULL },
        { "cast(self)", 1, "cast takes 2 arguments, not 1", NULL },
        { "bitcast(dim, int32)", 1, "bitcast is for inner expressions", "Scalar" },
        { "range(1, 2, 3, 4)", 1, "range takes at most 3 arguments, not 4", "int[]" },
        { "result_type()", 1, "result_type takes at least 1 arguments, not 0", "ScalarType" },
        { "range(to_int(eps))", 7, "range needs a value known before the run; 'eps' is not", "int[]" },
        { "len(self)", 5, "len takes a list, not Tensor", "int" },
        { "poly(self, 1)", 12, "poly takes a list of numbers as second argument, not int", NULL },
        { "exp(dim, 1)", 1, "exp takes 1 arguments, not 2", "float" },
        { "max(flag, 1)", 5, "max takes numbers, not bool", "int" },
        { "sums(dim)", 6, "sums takes a list of ints, not int", "int[]" },
        { "wrap_dims(dim, 1)", 11, "wrap_dims takes a list of ints, not int", "int[]" },
        { "opmath(self)", 8, "opmath takes a ScalarType, not Tensor", "ScalarType" },
        { "full(self.shape, 1, dtype=low)", 27, "argument 'dtype' of full is ScalarType?, not Scalar?",
          NULL },
    };
    return REFUSALS(table, false);
}

static lz_err *test_inner_has_no_operators(void)
{
    static const refusal table[] = {
        { "softmax(self, 1)", 1, "'softmax' is no function of elements", NULL },
        { "tahn(self)", 1, "'tahn' is no function of elements (did you mean 'tanh'?)", NULL },
        { "self.exp()", 6, "Scalar has no methods", NULL },
        { "self.shape", 6, "Scalar has no attribute 'shape'", NULL },
        { "self > 0", 1, "", "Tensor[]" },
        { "check(self > 0, \"x\"); self", 7, "the condition depends on the run-time value of 'self'", NULL },
        { "(self > 0) + 1", 12, "'+' cannot take bool and int", NULL },
        { "mode", 1, "the formula gives str, op returns Scalar", NULL },
        { "loop(a = self; a; a; 3)", 16, "a condition is a bool, not Scalar", NULL },
    };
    return REFUSALS(table, true);
}

static lz_err *test_endless_work_is_refused(void)
{
    fixture f;
    lz_text t = { 0 };
    lzg_checked c;
    lz_err *e = setup(&f);
    for (int i = 0; i < 40; i++)
        lz_text_printf(&t, "fold(a%d = 1; d%d in self.shape; a%d * d%d * ", i, i, i, i);
    lz_text_puts(&t, "1");
    for (int i = 0; i < 40; i++)
        lz_text_puts(&t, ")");
    lz_text_putc(&t, 0);
    if (!e)
        e = lz_text_check(&t);
    if (!e)
        e = lz_check_err(check(&f, t.ptr, "SymInt", false, &c), LZ_ERR_LIMIT, "too many steps");
    lz_text_deinit(&t);
    teardown(&f);
    return e;
}

/* Every name is accounted for, in order. */
static lz_err *test_slots(void)
{
    fixture f;
    lzg_checked c;
    lz_err *e = setup(&f);
    if (!e)
        e = check(&f, "let a = alpha * 2; fold(x = self; d in dims; x * a)", "Tensor", false, &c);
    if (!e) {
        assert_int_equal(c.ngiven, NAN_ARG + 1);
        assert_int_equal(c.nslots, c.ngiven + 3);
        assert_true(lz_str_is(c.slots[ALPHA].name, "alpha") && c.slots[ALPHA].dynamic);
        assert_false(c.slots[P].dynamic);
        assert_false(c.slots[DIM].dynamic);
        assert_true(lz_str_is(c.slots[c.ngiven].name, "a") && c.slots[c.ngiven].dynamic);
        assert_true(lzg_fty_is(c.slots[c.ngiven].type, LZG_TY_Scalar));
        assert_true(lz_str_is(c.slots[c.ngiven + 1].name, "x"));
        assert_true(lz_str_is(c.slots[c.ngiven + 2].name, "d"));
        assert_int_equal(c.slots[c.ngiven + 2].loc.col, 35);
    }
    teardown(&f);
    return e;
}

/* As derivatives.yaml uses it: other names, and gradients that may be left out. */
static lz_err *test_names_may_be_given(void)
{
    static const char text[] = "(grad_input_mask[0] ? grads[0] * exp(result) : None, "
                               "grad_input_mask[1] ? grad * self.sum() : None)";
    fixture f;
    lzg_checked c;
    const lzg_expr *e;
    const lzg_fty *lists[2] = { 0 }, *maybe = NULL;
    const lzg_fty *tensor = lzg_fty_base(LZG_TY_Tensor);
    lz_text t = { 0 };
    lz_err *err = setup(&f);
    if (!err)
        err = lzg_fty_list(&f.arena, tensor, -1, &lists[0]);
    if (!err)
        err = lzg_fty_list(&f.arena, lzg_fty_base(LZG_TY_bool), 2, &lists[1]);
    if (!err)
        err = lzg_fty_optional(&f.arena, tensor, &maybe);
    const lzg_given given[] = {
        { LZ_STR("grad"), tensor, false },   { LZ_STR("grads"), lists[0], false },
        { LZ_STR("result"), tensor, false }, { LZ_STR("grad_input_mask"), lists[1], false },
        { LZ_STR("self"), tensor, false },
    };
    const lzg_fty *results[] = { maybe, maybe };
    lzg_expectation expect = {
        .given = given, .ngiven = 5, .results = results, .nresults = 2, .who = LZ_STR("mul")
    };
    if (!err)
        err = lzg_formula_parse_text(&f.arena, lz_str_of(text), (lz_loc){ "d.yaml", 1, 1 }, 1, &e);
    if (!err)
        err = lzg_formula_check(&f.arena, &f.callees, e, &expect, &c);
    if (!err) {
        lzg_term_print(c.root, &t);
        err = lz_text_check(&t);
    }
    if (!err)
        assert_true(lz_str_is(lz_text_view(&t),
                              "(tuple (cond (index $3 0) (Tensor? (mul.Tensor (index $1 0) (exp $2))) None) "
                              "(cond (index $3 1) (Tensor? (mul.Tensor $0 (sum $4 None))) None))"));
    lz_text_deinit(&t);
    teardown(&f);
    return err;
}

/* ---- the reason of a check ---- */

typedef struct reasoning {
    const char *formula;
    lz_reason reason;
} reasoning;

static const reasoning reasonings[] = {
    { "check(self.dtype.is_floating_point, \"no\"); self", LZ_REASON_DTYPE },
    { "let kind = result_type(self, other); check(kind != bool, \"no\"); self", LZ_REASON_DTYPE },
    { "check(self.numel == 0 || self.dtype == other.dtype, \"no\"); self", LZ_REASON_DTYPE },
    { "check(dtype is None, \"no\"); self", LZ_REASON_ARGUMENT },
    { "check(self.shape == other.shape, \"no\"); self", LZ_REASON_SHAPE },
    { "check(self.ndim == other.ndim - 1, \"no\"); self", LZ_REASON_SHAPE },
    { "check(self.ndim == 2, \"no\"); self", LZ_REASON_ARGUMENT },
    { "let m = self.shape[0]; check(m == fold(q = 1; s in dims; q * s), \"no\"); self", LZ_REASON_SHAPE },
    { "check(fold(same = True; t in tensors; same && t.shape == self.shape), \"no\"); self",
      LZ_REASON_SHAPE },
    { "let m = self.shape[0]; check(m % 2 == 0, \"no\"); self", LZ_REASON_ARGUMENT },
    { "let m = self.shape[0]; check(dim >= -m && dim < m, \"no\"); self", LZ_REASON_INDEX },
    { "let d = wrap_dim(dim, self.ndim); check(self.shape[d] > 0, \"no\"); self", LZ_REASON_INDEX },
    { "check(self.shape[0] > 0, \"no\"); self", LZ_REASON_ARGUMENT },
    { "check(len(dims) >= self.ndim, \"no\"); self", LZ_REASON_ARGUMENT },
    { "let d = wrap_dim(dim, self.ndim); check(d != 1, \"no\"); self", LZ_REASON_ARGUMENT },
    { "check(dim > 0, \"no\"); self", LZ_REASON_ARGUMENT },
    { "check(mode == \"sum\", \"no\"); self", LZ_REASON_ARGUMENT },
};

static lz_err *one_reason(fixture *f, const reasoning *r)
{
    lzg_checked c;
    const uint8_t *subjects;
    LZ_TRY(check(f, r->formula, "Tensor", false, &c));
    LZ_TRY(lzg_subjects_of(&f->arena, &c, &subjects));
    const lzg_term *t = c.root;
    while (t->kind == LZG_TERM_LET)
        t = t->kids[1];
    if (lzg_check_reason(subjects, t) != r->reason)
        fail_msg("%s: %s", r->formula, lz_reason_name(lzg_check_reason(subjects, t)));
    return NULL;
}

static lz_err *test_reasons_of_checks(void)
{
    fixture f;
    lz_err *e = setup(&f);
    for (size_t i = 0; !e && i < sizeof reasonings / sizeof *reasonings; i++)
        e = one_reason(&f, &reasonings[i]);
    teardown(&f);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_calls_find_their_overload),
        LZ_TEST(test_values_that_are_no_tensors),
        LZ_TEST(test_conditions_say_what_is_not_none),
        LZ_TEST(test_inner_is_about_elements),
        LZ_TEST(test_names_and_calls_that_cannot_be),
        LZ_TEST(test_values_that_do_not_go_together),
        LZ_TEST(test_inner_has_no_operators),
        LZ_TEST(test_endless_work_is_refused),
        LZ_TEST(test_slots),
        LZ_TEST(test_reasons_of_checks),
        LZ_TEST(test_names_may_be_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
