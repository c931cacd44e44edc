/* Registrations for the key Functionalize, and the operators and groups that it goes over. */
#include "gen/api/native.h"
#include "gen/text/fill.h"
#include "gen/torch/functionalization/functionalization_impl.h"
#include "gen/torch/functionalization/functionalization_kernels.h"
#include "gen/torch/functionalization/gen_functionalization_type.h"
#include "gen/torch/grouped.h"

/* An implicit composite decomposes into operators that have kernels. */
static lz_err *put_impl(lz_arena *a, const lzg_function *f, lz_text *out)
{
    const lzg_backend_metadata *m = lzg_function_kernel(f, lzg_key_implicit);
    lz_str name;
    lzg_sig sig;
    lzg_fill_named(out, "m.impl(\"${op}\", ", { "op", f->func->name.text });
    if (f->composite_implicit) {
        LZ_TRY(lzg_native_signature(a, f->func, lzg_local_of(f), m && lzg_backend_metadata_symint(m), &sig));
        lz_text_puts(out, "static_cast<");
        lzg_sig_ptr_defn(&sig, out);
        lzg_fill_named(out, ">(at::native::${kernel}));\n", { "kernel", m ? m->kernel : sig.name });
        return NULL;
    }
    LZ_TRY(lzg_functionalization_wrapper(a, f->func, &name));
    lzg_fill_named(out, "TORCH_FN(functionalization::${name}));\n", { "name", name });
    return NULL;
}

static lz_err *put_view_impls(lz_arena *a, const lzg_view_group *g, lz_text *out)
{
    if (lz_str_is(g->view->func->name.text, "lift_fresh"))
        return NULL;
    LZ_TRY(put_impl(a, g->view, out));
    if (g->view_inplace && !g->view_inplace->is_view_op)
        return lz_errf(LZ_ERR_MODEL, "the inplace form of a view must be a view");
    return g->view_inplace ? put_impl(a, g->view_inplace, out) : NULL;
}

static lz_err *put_member_impls(lz_arena *a, const lzg_function *const *members, size_t n, lz_text *out)
{
    for (size_t i = 0; i < n; i++) {
        if (members[i]->composite_implicit)
            continue;
        LZ_TRY(lzg_functionalization_check_no_view(members[i]));
        if (lzg_functionalization_writes(members[i]->func))
            LZ_TRY(put_impl(a, members[i], out));
    }
    return NULL;
}

/* Of a group with an operator that is left alone nothing is registered. */
static lz_err *put_impls(lz_arena *a, const lzg_function *const *members, size_t n, lz_text *out)
{
    for (size_t i = 0; i < n; i++)
        if (!members[i]->composite_implicit && lzg_functionalization_is_left_alone(members[i]))
            return NULL;
    return put_member_impls(a, members, n, out);
}

lz_err *lzg_put_functionalization_impls(lz_arena *a, const lzg_ops *ops, lzg_functionalized u, lz_text *out)
{
    const lzg_function *members[LZG_GROUP_MEMBERS];
    if (u.views)
        return put_view_impls(a, u.views, out);
    if (u.single)
        return lzg_functionalization_is_exempt(ops, u.single->func->name.text)
                   ? NULL
                   : put_impls(a, &u.single, 1, out);
    if (u.group->inplace && lz_str_is(u.group->inplace->func->name.text, "set_.source_Tensor"))
        return NULL;
    return put_impls(a, members, lzg_group_members(u.group, members), out);
}

lz_err *lzg_functionalized_make(lz_arena *a, const lzg_ops *ops, lzg_functionalized_list *out)
{
    lzg_functionalized *at;
    size_t n = 0;
    LZ_TRY(lz_arena_new(a, &at, ops->ngroups + ops->nview_groups + ops->nfunctions));
    for (size_t i = 0; i < ops->ngroups; i++)
        at[n++] = (lzg_functionalized){ .group = &ops->groups[i] };
    for (size_t i = 0; i < ops->nview_groups; i++)
        at[n++] = (lzg_functionalized){ .views = &ops->view_groups[i] };
    for (size_t i = 0; i < ops->nfunctions; i++) {
        lz_str name = ops->functions[i]->func->name.text;
        if (!lz_map_find(&ops->group_of, name) && !lz_map_find(&ops->view_group_of, name))
            at[n++] = (lzg_functionalized){ .single = ops->functions[i] };
    }
    *out = (lzg_functionalized_list){ at, n };
    return NULL;
}
