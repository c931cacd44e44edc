/* Any bytes are a backend file, a selective-build file, a list of operators that are left out, a file of
 * upgraders, an example value or nothing of that: taken, or refused with a place. The operators are a fixed
 * small set. */
#include "gen/model/left_out.h"
#include "gen/torch/gen_backend_stubs.h"
#include "gen/torch/gen_schema_utils.h"
#include "gen/torch/operator_versions/gen_mobile_upgraders.h"
#include "gen/torch/selective_build/selector.h"
#include "gen_fuzz.h"

static const char operators[] = "- func: abs(Tensor self) -> Tensor\n  variants: function, method\n"
                                "  dispatch:\n    CPU: abs\n"
                                "- func: abs_(Tensor(a!) self) -> Tensor(a!)\n  variants: function, method\n"
                                "  dispatch:\n    CPU: abs_\n"
                                "- func: abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
                                "  dispatch:\n    CPU: abs_out\n"
                                "- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
                                "  dispatch:\n    CPU: add\n"
                                "- func: expand(Tensor(a) self, SymInt[] size) -> Tensor(a)\n";

static lzg_ops ops;

static void load_operators(void)
{
    static bool loaded;
    const lzg_yaml *entries;
    lzg_diag d;
    if (loaded)
        return;
    loaded = true;
    begin_ops(&ops, &d);
    fine(lzg_yaml_parse(&ops.arena, lz_str_of(operators), "operators", &entries));
    add_ops(&ops, entries, false, &d);
    check(!lzg_diag_any(&d));
    lzg_diag_deinit(&d);
}

static void as_backend(const lzg_yaml *doc)
{
    lzg_backend b;
    lzg_diag d;
    lzg_diag_init(&d);
    lzg_backend_init(&b);
    fine(lzg_backend_read(&b, &ops, doc, &d));
    fine(lzg_backend_read_lazy(&b, doc, &d));
    if (!lzg_diag_any(&d))
        fine(lzg_backend_check_kernels(&b, &ops, "impl.cpp", LZ_STR("X::abs(a) X::add_(b)"), &d));
    check_findings(&d);
    lzg_backend_deinit(&b);
    lzg_diag_deinit(&d);
}

static void as_selection(const lzg_yaml *doc)
{
    lzg_selector s = { 0 };
    lzg_diag d;
    lz_text t = { 0 };
    lzg_diag_init(&d);
    fine(lzg_selector_read(&s, doc, &d));
    if (!lzg_diag_any(&d))
        fine(lzg_selector_print(&s, &t));
    check_findings(&d);
    lz_text_deinit(&t);
    lzg_selector_deinit(&s);
    lzg_diag_deinit(&d);
}

static void as_left_out(lz_arena *a, const lzg_yaml *doc)
{
    lzg_left_out rows;
    lzg_diag d;
    lzg_diag_init(&d);
    fine(lzg_left_out_read(a, &ops, doc, &d, &rows));
    for (size_t i = 0; i < rows.n; i++)
        check(rows.rows[i].pattern.len > 0 && rows.rows[i].family.len > 0);
    check_findings(&d);
    lzg_diag_deinit(&d);
}

static void as_upgraders(lz_arena *a, const lzg_yaml *doc)
{
    lzg_upgraders all;
    lzg_diag d;
    lz_text t = { 0 };
    lzg_diag_init(&d);
    fine(lzg_upgraders_read(a, ops.lists, doc, &d, &all));
    fine(lzg_put_upgrader_mobile(a, &all, &t));
    check_findings(&d);
    lz_text_deinit(&t);
    lzg_diag_deinit(&d);
}

/* The type of a value prints and parses back. */
static void as_example(lz_arena *a, lz_str text)
{
    lzg_example x;
    const lzg_type *type = NULL;
    lz_err *e = lzg_example_parse(a, text, "x", &x);
    if (!e)
        e = lzg_type_of_example(a, &x, &type);
    check(!e == (type != NULL) && (!e || lz_err_text(e)[0]));
    lz_err_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lz_arena a = { 0 };
    load_operators();
    const lzg_yaml *doc = read_yaml(&a, data, size);
    if (doc) {
        as_backend(doc);
        as_selection(doc);
        as_left_out(&a, doc);
        as_upgraders(&a, doc);
    }
    as_example(&a, (lz_str){ (const char *)data, size });
    lz_arena_deinit(&a);
    return 0;
}
