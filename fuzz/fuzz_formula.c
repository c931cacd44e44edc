/* Any bytes are a formula or are refused with a place inside them; what is printed parses
 * to an equal tree; a tree is understood in one way or refused with a place. */
#include "gen/formula/formula_check.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static const char table[] =
    "- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
    "- func: add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor\n"
    "- func: mul.Tensor(Tensor self, Tensor other) -> Tensor\n"
    "- func: div.Tensor(Tensor self, Tensor other) -> Tensor\n"
    "- func: lt.Tensor(Tensor self, Tensor other) -> Tensor\n"
    "- func: exp(Tensor self) -> Tensor\n"
    "- func: sum(Tensor self, *, ScalarType? dtype=None) -> Tensor\n"
    "- func: sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> "
    "Tensor\n"
    "- func: max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)\n"
    "- func: max.other(Tensor self, Tensor other) -> Tensor\n"
    "- func: where.self(Tensor condition, Tensor self, Tensor other) -> Tensor\n"
    "- func: cat(Tensor[] tensors, int dim=0) -> Tensor\n"
    "- func: view(Tensor self, SymInt[] size) -> Tensor\n"
    "- func: norm(Tensor self, Scalar p=2, str mode='a', bool[2] mask=[True,False]) -> Tensor\n"
    "  static: [p]\n"
    "- func: mine::item(Tensor self) -> Scalar\n"
    "- func: op(Tensor self, Tensor? weight, int dim, int[] dims, SymInt n, Scalar alpha, float? eps, bool "
    "flag, "
    "str mode, ScalarType? dtype, Tensor[] tensors) -> Tensor\n";

static struct {
    lz_arena arena;
    lzg_ops ops;
    lzg_callees callees;
    lzg_expectation expect[2]; /* a formula's, an inner expression's */
} fixed;

static lz_err *start(void)
{
    const lzg_yaml *tree;
    const lzg_function *op;
    lzg_diag d;
    lzg_diag_init(&d);
    LZ_TRY(lzg_ops_begin(&fixed.ops, NULL, NULL, &d));
    LZ_TRY(lzg_yaml_parse(&fixed.arena, lz_str_of(table), "table", &tree));
    LZ_TRY(lzg_ops_add(&fixed.ops, tree, true, &d));
    LZ_TRY(lzg_diag_error(&d));
    lzg_diag_deinit(&d);
    LZ_TRY(lzg_callees_init(&fixed.callees, &fixed.arena, &fixed.ops));
    op = fixed.ops.functions[fixed.ops.nfunctions - 1];
    for (int inner = 0; inner < 2; inner++)
        LZ_TRY(lzg_expectation_of(&fixed.arena, op, NULL, inner, &fixed.expect[inner]));
    return NULL;
}

static void check_place(lz_err *e, lz_str text)
{
    lz_loc loc = lz_err_loc(e);
    check(lz_err_code(e) != LZ_ERR_INTERNAL);
    check(loc.line >= 1 && loc.col >= 1 && (size_t)loc.line <= text.len + 1
          && (size_t)loc.col <= text.len + 1);
}

/* The term that a tree means, printed; empty if it is refused. */
static void understand(lz_arena *a, const lzg_expr *tree, bool inner, lz_str text, lz_text *out)
{
    lzg_checked c;
    lz_err *e = lzg_formula_check(a, &fixed.callees, tree, &fixed.expect[inner], &c);
    if (!e)
        lzg_term_print(c.root, out);
    else
        check_place(e, text);
    lz_err_free(e);
}

static void try_formula(lz_arena *a, lz_str text)
{
    const lzg_expr *tree, *again;
    lz_text first = { 0 }, second = { 0 };
    lz_err *e = lzg_formula_parse_text(a, text, (lz_loc){ "fuzz", 1, 1 }, 1, &tree);
    if (e) {
        check_place(e, text);
        lz_err_free(e);
        return;
    }
    lzg_formula_print(tree, &first);
    e = lzg_formula_parse_text(a, lz_text_view(&first), (lz_loc){ "fuzz", 1, 1 }, 1, &again);
    check(!e && lzg_formula_eq(tree, again));
    lzg_formula_print(again, &second);
    check(lz_str_eq(lz_text_view(&first), lz_text_view(&second)));
    for (int inner = 0; inner < 2; inner++) {
        lz_text one = { 0 }, other = { 0 };
        understand(a, tree, inner, text, &one);
        understand(a, again, inner, lz_text_view(&first), &other);
        check(lz_str_eq(lz_text_view(&one), lz_text_view(&other)));
        lz_text_deinit(&one);
        lz_text_deinit(&other);
    }
    lz_text_deinit(&first);
    lz_text_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    lz_arena a = { 0 };
    if (!ready) {
        lz_err *e = start();
        check(!e);
        ready = true;
    }
    try_formula(&a, (lz_str){ (const char *)data, size });
    lz_arena_deinit(&a);
    return 0;
}
