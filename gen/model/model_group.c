#include "gen/model/model_group.h"

lz_err *lzg_buckets_run(lzg_ops *ops, lzg_diag *d, lzg_buckets_fn *fn)
{
    lzg_buckets b = { 0 };
    b.last = &b.first;
    lz_err *e = fn(ops, &b, d);
    lz_map_deinit(&b.by_signature);
    return e;
}

lz_err *lzg_buckets_get(lzg_buckets *b, lz_arena *a, lz_str signature, bool dunder, lzg_bucket **out)
{
    lzg_bucket *head = lz_map_get(&b->by_signature, signature), *found = head;
    while (found && found->dunder != dunder)
        found = found->same;
    *out = found;
    if (found)
        return NULL;
    LZ_TRY(lz_arena_new(a, out, 1));
    (*out)->dunder = dunder;
    (*out)->same = head;
    *b->last = *out;
    b->last = &(*out)->next;
    b->n++;
    return lz_map_put(&b->by_signature, signature, *out);
}

static lz_err *put(lzg_bucket *bucket, const lzg_function *f, int slot)
{
    const lzg_function *other = bucket->slot[slot];
    if (other)
        return lz_err_at(LZ_ERR_MODEL, f->func_loc, "%.*s (line %d) has the same signature and is %s, too",
                         LZ_FMT(other->func->name.text), other->loc.line,
                         slot < LZG_KIND_COUNT ? lzg_schema_kind_name((lzg_schema_kind)slot) : "a view");
    bucket->slot[slot] = f;
    bucket->order[bucket->n++] = (uint8_t)slot;
    return NULL;
}

lz_err *lzg_buckets_put(lzg_buckets *b, lz_arena *a, const lzg_function *f)
{
    lzg_bucket *bucket;
    LZ_TRY(lzg_buckets_get(b, a, f->signature, f->func->name.dunder, &bucket));
    return put(bucket, f, (int)f->func->kind);
}

/* ---- NativeFunctionsGroup ---- */

static bool in_structured_group(const lzg_function *f)
{
    return f->structured || f->structured_delegate;
}

enum { MEMBERS = 4 };

static void members(const lzg_group *g, const lzg_function *out[MEMBERS])
{
    const lzg_function *all[MEMBERS] = { g->functional, g->out, g->inplace, g->mutable };
    memcpy(out, all, sizeof all);
}

/* G2, G3: the kinds fit because they are the slots of the bucket. */
static lz_err *check_members(const lzg_group *g)
{
    const lzg_function *all[MEMBERS];
    members(g, all);
    for (size_t i = 0; i < MEMBERS; i++) {
        if (!all[i])
            continue;
        if (in_structured_group(all[i]) != g->structured)
            return lz_errf(LZ_ERR_MODEL, "%.*s and %.*s are one group, but only one of them is structured",
                           LZ_FMT(g->out->func->name.text), LZ_FMT(all[i]->func->name.text));
        if (!lz_str_eq(all[i]->ns, g->functional->ns))
            return lz_errf(LZ_ERR_MODEL, "%.*s and %.*s are one group in two namespaces",
                           LZ_FMT(g->functional->func->name.text), LZ_FMT(all[i]->func->name.text));
    }
    if (g->mutable && !g->functional->func->name.functional_overload)
        return lz_errf(LZ_ERR_MODEL,
                       "the functional variant of the mutable %.*s must be named ..._functional",
                       LZ_FMT(g->mutable->func->name.text)); /* G4 */
    return NULL;
}

static lz_err *check_delegate(const lzg_function *f, const lzg_function *out)
{
    if (!f || (f->structured_delegate && lz_str_eq(f->structured_delegate->text, out->func->name.text)))
        return NULL;
    return lz_errf(LZ_ERR_MODEL, "%.*s does not delegate to %.*s, the out function of its group",
                   LZ_FMT(f->func->name.text), LZ_FMT(out->func->name.text));
}

/* G5 */
static lz_err *check_structured(const lzg_group *g)
{
    if (!g->structured)
        return NULL;
    if (g->out->composite_implicit || g->out->composite_implicit_nested)
        return lz_errf(LZ_ERR_MODEL, "a structured kernel cannot be composite");
    LZ_TRY(check_delegate(g->functional, g->out));
    return check_delegate(g->inplace, g->out);
}

static void join(lz_text *out, const lz_str *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i)
            lz_text_puts(out, ", ");
        lz_text_add(out, names[i]);
    }
}

static lz_err *autogen_differs(const lz_str *made, size_t nmade, const lz_str *said, size_t nsaid)
{
    lz_text t = { 0 };
    lz_text_puts(&t, "the group needs the line 'autogen: ");
    join(&t, made, nmade);
    lz_text_puts(&t, nsaid ? "', but has 'autogen: " : "', but has none");
    join(&t, said, nsaid);
    lz_text_puts(&t, nsaid ? "'" : "");
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lz_errf(LZ_ERR_MODEL, "%.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

static bool has_definition(const lzg_function *const all[MEMBERS])
{
    for (size_t i = 0; i < MEMBERS; i++)
        if (all[i] && (all[i]->formula || all[i]->inner || all[i]->shape))
            return true;
    return false;
}

/* In a file with definitions, autogen under variants may be one form too many; what else is made follows. */
static lz_err *check_own_autogen(const lzg_function *const all[MEMBERS], const lz_str *said, size_t nsaid)
{
    for (size_t i = 0; i < MEMBERS; i++)
        for (size_t k = 0; all[i] && !all[i]->generated && k < nsaid; k++)
            if (lz_str_eq(said[k], all[i]->func->name.text))
                return lz_errf(LZ_ERR_MODEL, "%.*s has an entry of its own and is made for autogen",
                               LZ_FMT(said[k]));
    return NULL;
}

/* G6: what autogen says is what was generated. */
static lz_err *check_autogen(const lzg_group *g, lz_arena *a)
{
    const lzg_function *all[MEMBERS];
    lz_str made[MEMBERS], *said;
    size_t nmade = 0, nsaid = 0;
    members(g, all);
    for (size_t i = 0; i < MEMBERS; i++)
        nsaid += all[i] ? all[i]->nautogen : 0;
    LZ_TRY(lz_arena_new(a, &said, nsaid));
    nsaid = 0;
    for (size_t i = 0; i < MEMBERS; i++) {
        if (all[i] && all[i]->generated)
            made[nmade++] = all[i]->func->name.text;
        for (size_t k = 0; all[i] && k < all[i]->nautogen; k++)
            said[nsaid++] = all[i]->autogen[k].text;
    }
    if (has_definition(all))
        return check_own_autogen(all, said, nsaid);
    lzg_sort_strings(made, &nmade);
    lzg_sort_strings(said, &nsaid);
    bool same = nmade == nsaid;
    for (size_t i = 0; same && i < nmade; i++)
        same = lz_str_eq(made[i], said[i]);
    return same ? NULL : autogen_differs(made, nmade, said, nsaid);
}

static lz_err *check_group(const lzg_group *g, lz_arena *a)
{
    LZ_TRY(check_members(g));
    LZ_TRY(check_structured(g));
    return check_autogen(g, a);
}

static lz_err *register_group(lzg_ops *ops, const lzg_group *g)
{
    const lzg_function *all[MEMBERS];
    members(g, all);
    for (size_t i = 0; i < MEMBERS; i++)
        if (all[i])
            LZ_TRY(lz_map_put(&ops->group_of, all[i]->func->name.text, (void *)g));
    return NULL;
}

static const lzg_function *any_generated(const lzg_bucket *b)
{
    for (int i = 0; i < LZG_SLOT_COUNT; i++)
        if (b->slot[i] && b->slot[i]->generated)
            return b->slot[i];
    return NULL;
}

/* Whether the bucket makes a group; refuses what can be neither grouped nor left alone. */
static lz_err *can_group(const lzg_bucket *b, bool *out)
{
    *out = false;
    if (b->n > 1 && b->slot[LZG_SCRATCH])
        return lz_errf(LZ_ERR_MODEL, "an operator with scratch arguments takes part in no group");
    if (b->n > 1 && !b->slot[LZG_FUNCTIONAL])
        return lz_errf(LZ_ERR_MODEL, "several variants, but no functional one");
    *out = b->n > 1 && b->slot[LZG_OUT_KIND];
    const lzg_function *lost = *out ? NULL : any_generated(b);
    if (lost)
        return lz_errf(LZ_ERR_MODEL, "generated %.*s belongs to no group", LZ_FMT(lost->func->name.text));
    return NULL;
}

static const lzg_function *spokesman(const lzg_bucket *b)
{
    const lzg_function *f = b->slot[LZG_OUT_KIND];
    for (int i = 0; !f && i < LZG_SLOT_COUNT; i++)
        f = b->slot[i];
    return f;
}

static lz_err *make_group(lzg_ops *ops, const lzg_bucket *b, lzg_group *out, bool *made)
{
    LZ_TRY(can_group(b, made));
    if (!*made)
        return NULL;
    *out = (lzg_group){ .functional = b->slot[LZG_FUNCTIONAL],
                        .inplace = b->slot[LZG_INPLACE],
                        .mutable = b->slot[LZG_MUTABLE],
                        .out = b->slot[LZG_OUT_KIND],
                        .structured = b->slot[LZG_OUT_KIND]->structured };
    *made = false;
    LZ_TRY(check_group(out, &ops->arena));
    *made = true;
    return register_group(ops, out);
}

/* Two explicit operators in one slot were reported when variants were generated. */
static lz_err *fill(lzg_ops *ops, lzg_buckets *b, lzg_diag *d)
{
    for (size_t i = 0; i < ops->nfunctions; i++) {
        lz_err *e = lzg_buckets_put(b, &ops->arena, ops->functions[i]);
        if (i < ops->nexplicit && e && lz_err_code(e) != LZ_ERR_MEMORY)
            lz_err_free(e);
        else
            LZ_TRY(lzg_ops_report(ops, d, e, ops->functions[i]));
    }
    return NULL;
}

/* The bucket's group, or its members one by one. */
static void add_grouped(const lzg_ops *ops, const lzg_bucket *b, bool made, lzg_grouped *at, size_t *n)
{
    const lzg_group *g = &ops->groups[ops->ngroups];
    if (made)
        at[(*n)++] = (lzg_grouped){ g, g->functional };
    for (size_t i = 0; !made && i < b->n; i++)
        at[(*n)++] = (lzg_grouped){ NULL, b->slot[b->order[i]] };
}

static lz_err *group(lzg_ops *ops, lzg_buckets *b, lzg_diag *d)
{
    lzg_group *groups;
    lzg_grouped *grouped;
    LZ_TRY(fill(ops, b, d));
    LZ_TRY(lz_arena_new(&ops->arena, &groups, b->n));
    LZ_TRY(lz_arena_new(&ops->arena, &grouped, ops->nfunctions));
    ops->groups = groups;
    ops->grouped = grouped;
    for (const lzg_bucket *one = b->first; one; one = one->next) {
        bool made = false;
        lz_err *e = make_group(ops, one, &groups[ops->ngroups], &made);
        LZ_TRY(lzg_ops_report(ops, d, e, spokesman(one)));
        add_grouped(ops, one, made, grouped, &ops->ngrouped);
        ops->ngroups += made;
    }
    return NULL;
}

lz_err *lzg_ops_group(lzg_ops *ops, lzg_diag *d)
{
    return lzg_buckets_run(ops, d, group);
}

/* ---- NativeFunctionsViewGroup ---- */

static lz_err *put_view(lzg_buckets *b, lz_arena *a, const lzg_function *f)
{
    lzg_bucket *bucket;
    int slot = f->view_kind == LZG_NON_ALIASING ? (int)f->func->kind
               : f->view_kind == LZG_ALIASING   ? LZG_SLOT_ALIASING
                                                : LZG_SLOT_ALIASING_INPLACE;
    if (f->view_kind == LZG_ALIASING_INPLACE && !lzg_function_has_tag(f, "inplace_view"))
        return lz_err_at(LZ_ERR_MODEL, f->func_loc, "the tag inplace_view is missing");
    LZ_TRY(lzg_buckets_get(b, a, f->view_signature, f->func->name.dunder, &bucket));
    return put(bucket, f, slot);
}

/* Views that decompose, work in place or undo a view need no copying variant. */
static bool needs_copy(const lzg_function *view)
{
    return !view->composite_implicit && !view->formula && !lzg_function_has_tag(view, "inplace_view")
           && !lz_str_ends(view->func->name.base, LZ_STR("_inverse"));
}

/* V1, V2 */
static lz_err *check_copy(const lzg_view_group *g)
{
    const lzg_function *copy = g->view_copy;
    if (!copy && needs_copy(g->view))
        return lz_errf(LZ_ERR_MODEL, "a view needs a copying variant: add an operator %.*s_copy",
                       LZ_FMT(g->view->func->name.base));
    if (!copy)
        return NULL;
    lz_str base = copy->func->name.base, name = copy->func->name.text;
    if (!lz_str_ends(base, LZ_STR("_copy")) && !lz_str_ends(base, LZ_STR("_scatter")))
        return lz_errf(LZ_ERR_MODEL, "%.*s: the copy of a view is named ..._copy or ..._scatter",
                       LZ_FMT(name));
    if (!lz_str_eq(g->view->signature, copy->view_signature))
        return lz_errf(LZ_ERR_MODEL, "the signatures of the view and of %.*s differ", LZ_FMT(name));
    if (!lzg_function_has_tag(copy, "view_copy"))
        return lz_errf(LZ_ERR_MODEL, "%.*s needs the tag view_copy", LZ_FMT(name));
    return NULL;
}

/* V3 */
static lz_err *check_inplace(const lzg_view_group *g)
{
    const lzg_function *view = g->view, *inplace = g->view_inplace;
    if (!inplace)
        return NULL;
    lz_str name = inplace->func->name.text;
    if (!lz_str_eq(view->signature, inplace->signature))
        return lz_errf(LZ_ERR_MODEL, "the signatures of the view and of %.*s differ", LZ_FMT(name));
    if ((view->composite_implicit && !inplace->composite_implicit)
        || (view->composite_implicit_nested && !inplace->composite_implicit_nested))
        return lz_errf(LZ_ERR_MODEL, "the view is an implicit composite, so %.*s must be one, too",
                       LZ_FMT(name));
    return NULL;
}

static lz_err *make_view_group(lzg_ops *ops, const lzg_bucket *b, lzg_view_group *out)
{
    *out = (lzg_view_group){ .view = b->slot[LZG_SLOT_ALIASING],
                             .view_copy = b->slot[LZG_FUNCTIONAL],
                             .view_inplace = b->slot[LZG_SLOT_ALIASING_INPLACE],
                             .composite = b->slot[LZG_SLOT_ALIASING]->composite_implicit };
    LZ_TRY(check_copy(out));
    LZ_TRY(check_inplace(out));
    const lzg_function *all[] = { out->view, out->view_copy, out->view_inplace };
    for (size_t i = 0; i < 3; i++)
        if (all[i])
            LZ_TRY(lz_map_put(&ops->view_group_of, all[i]->func->name.text, out));
    return NULL;
}

static lz_err *group_views(lzg_ops *ops, lzg_buckets *b, lzg_diag *d)
{
    lzg_view_group *groups;
    for (size_t i = 0; i < ops->nfunctions; i++)
        LZ_TRY(lzg_ops_report(ops, d, put_view(b, &ops->arena, ops->functions[i]), ops->functions[i]));
    LZ_TRY(lz_arena_new(&ops->arena, &groups, b->n));
    ops->view_groups = groups;
    for (const lzg_bucket *one = b->first; one; one = one->next) {
        if (!one->slot[LZG_SLOT_ALIASING])
            continue;
        lz_err *e = make_view_group(ops, one, &groups[ops->nview_groups]);
        bool made = !e;
        LZ_TRY(lzg_ops_report(ops, d, e, one->slot[LZG_SLOT_ALIASING]));
        ops->nview_groups += made;
    }
    return NULL;
}

lz_err *lzg_ops_group_views(lzg_ops *ops, lzg_diag *d)
{
    return lzg_buckets_run(ops, d, group_views);
}
