#include "plan/plan.h"
#include "base/memory_limit.h"
#include "plan/dag_passes.h"
#include "plan/plan_impl.h"

/* The whole way from a lowered graph to a plan. If a kernel is too large for the engine (LZ_ERR_LIMIT), the
 * graph is fused again, into smaller groups. */
lz_err *lz_plan_create(const lz_lower *dag, const lz_low_node *const *outputs, size_t n,
                       const lz_plan_options *options, lz_plan **out)
{
    bool separate = options && options->separate;
    lz_lower moved = { 0 };
    const lz_low_node **moved_outputs = NULL;
    const lz_lower *graph = separate ? dag : &moved;
    lz_fused fused;
    lz_plan *p = lz_plan_new();
    lz_err *e = p ? NULL : lz_err_oom();
    lz_memory_limit_check();
    if (!separate) {
        e = e ? e : lz_arena_new(dag->arena, &moved_outputs, n + 1);
        e = e ? e : lz_move_views(dag, outputs, n, &moved, moved_outputs); /* views go to the inputs */
        outputs = moved_outputs;
    }
    for (int items = separate ? 1 : LZ_GROUP_ITEMS; !e; items /= 4) {
        e = lz_fuse(&fused, graph, outputs, n, items);        /* nodes become groups, in an order */
        e = e ? e : lz_fused_drop_copies(&fused, outputs, n); /* results are written in place of copies */
        e = e ? e : lz_plan_lay(p, &fused, outputs, n, NULL); /* groups become kernels, values get buffers */
        e = e ? e : lz_plan_in_place(p);                      /* results use the memory of dead operands */
        e = e ? e : lz_plan_memory(p);                        /* temporaries get offsets in one block */
        lz_fused_deinit(&fused);
        if (lz_err_code(e) != LZ_ERR_LIMIT || items <= 1)
            break;
        lz_err_free(e);
        e = NULL;
        lz_plan_clear(p);
    }
    lz_low_deinit(&moved);
    e = e ? e : lz_guards_copy(dag->guards, &p->arena, &p->guards);
    if (e)
        lz_plan_destroy(p);
    else
        *out = p;
    return e;
}
