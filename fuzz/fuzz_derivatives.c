/* Any bytes are derivatives of a few operators, taken or refused
 * with a place. */
#include "gen/derivative/load_derivatives.h"
#include "gen_fuzz.h"

static void derive(const lzg_ops *ops, const lzg_yaml *doc, lzg_diag *d)
{
    const lzg_yaml *derivatives = lzg_yaml_get(doc, LZ_STR("derivatives"));
    lzg_derivatives *t = NULL;
    if (!derivatives)
        return;
    fine(lzg_derivatives_load(ops, derivatives, d, &t));
    lzg_derivatives_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lzg_ops ops = { 0 };
    lzg_diag d;
    begin_ops(&ops, &d);
    const lzg_yaml *doc = read_yaml(&ops.arena, data, size);
    const lzg_yaml *native = doc && doc->kind == LZG_YAML_MAP ? lzg_yaml_get(doc, LZ_STR("native")) : NULL;
    if (native)
        add_ops(&ops, native, false, &d);
    if (native && !lzg_diag_any(&d))
        derive(&ops, doc, &d);
    check_findings(&d);
    lzg_ops_deinit(&ops);
    lzg_diag_deinit(&d);
    return 0;
}
