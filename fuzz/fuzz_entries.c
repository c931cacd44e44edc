/* Any bytes are operator entries that every consumer of the model takes or refuses with
 * a place, or are refused themselves. */
#include "gen/report/dump_api.h"
#include "gen/report/dump_model.h"
#include "gen/torch/consumers.h"
#include "gen/torch/gen_python_functions.h"
#include "gen_fuzz.h"

static void consume(const lzg_ops *ops, lzg_diag *d)
{
    lz_text t = { 0 };
    fine(lzg_dump_model(ops, NULL, &t));
    fine(lzg_dump_groups(ops, &t));
    lz_text_deinit(&t);
    fine(lzg_check_cpp(ops, d));
    fine(lzg_check_native(ops, d));
    fine(lzg_check_register(ops, d));
    fine(lzg_check_functionalize(ops, d));
    fine(lzg_check_ufunc(ops, d));
    fine(lzg_check_python(ops, d));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lzg_ops ops = { 0 };
    lzg_diag d;
    begin_ops(&ops, &d);
    const lzg_yaml *entries = read_yaml(&ops.arena, data, size);
    if (entries)
        add_ops(&ops, entries, size % 2 == 0, &d);
    if (entries && !lzg_diag_any(&d))
        consume(&ops, &d);
    check_findings(&d);
    lzg_ops_deinit(&ops);
    lzg_diag_deinit(&d);
    return 0;
}
