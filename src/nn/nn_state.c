/* States: lists of names and tensors, out of modules and optimisers and back into them. */
#include "nn/nn_state.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "nn/module.h"

/* ---- lists ---- */

struct lz_state {
    lz_ctx *ctx;
    lz_arena arena; /* names */
    LZ_VEC(lz_named_tensor) list;
    lz_map names;
};

lz_state *lz_state_create(lz_ctx *c)
{
    lz_state *s = lz_mem_zalloc(1, sizeof *s);
    if (!s) {
        lz_fail(c, (lz_loc){ 0 }, LZ_ERR_MEMORY, "");
        return NULL;
    }
    s->ctx = c;
    lz_arena_init(&s->arena);
    return s;
}

void lz_state_free(lz_state *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->list.len; i++)
        lz_release(s->list.data[i].tensor);
    lz_vec_deinit(&s->list);
    lz_map_deinit(&s->names);
    lz_arena_deinit(&s->arena);
    lz_mem_free(s);
}

lz_err *lz_state_put(lz_state *s, const char *prefix, const char *name, const char *end, lz_tensor *t)
{
    lz_str full;
    if (!t || lz_tensor_is_inert(t))
        return lz_errf(LZ_ERR_ARG, "'%s%s%s' has no tensor", prefix, name, end);
    LZ_TRY(lz_arena_printf(&s->arena, &full, "%s%s%s", prefix, name, end));
    if (lz_map_find(&s->names, full))
        return lz_errf(LZ_ERR_ARG, "'%s' is in the state already", full.ptr);
    LZ_TRY(lz_vec_reserve(&s->list, 1));
    LZ_TRY(lz_map_put(&s->names, full, t));
    return lz_vec_push(&s->list, (lz_named_tensor){ full.ptr, lz_retain(t) });
}

bool lz_state_add(lz_state *s, const char *name, lz_tensor *t)
{
    return s && lz_nn_report(s->ctx, (lz_loc){ 0 }, lz_state_put(s, "", name, "", t));
}

lz_named_tensors lz_state_list(const lz_state *s)
{
    return s ? (lz_named_tensors){ s->list.data, s->list.len } : (lz_named_tensors){ 0 };
}

lz_tensor *lz_find_tensor(lz_named_tensors list, const char *name)
{
    for (size_t i = 0; i < list.n; i++)
        if (!strcmp(list.v[i].name, name))
            return list.v[i].tensor;
    return NULL;
}

/* ---- copying into parameters and states ---- */

static bool same_sizes(const lz_tensor *have, const lz_tensor *given)
{
    lz_ints a = lz_tensor_sizes(have), b = lz_tensor_sizes(given);
    return a.n == b.n && (a.n == 0 || !memcmp(a.v, b.v, (size_t)a.n * sizeof *a.v));
}

static void put_sizes(lz_text *t, const lz_tensor *x)
{
    lz_ints sizes = lz_tensor_sizes(x);
    lz_text_puts(t, "[");
    for (int64_t i = 0; i < sizes.n; i++)
        lz_text_printf(t, "%s%lld", i ? ", " : "", (long long)sizes.v[i]);
    lz_text_puts(t, "]");
}

static void put_mismatch(lz_text *t, const char *name, const lz_tensor *have, const lz_tensor *given)
{
    lz_text_printf(t, "size mismatch for '%s': ", name);
    put_sizes(t, given);
    lz_text_puts(t, " is given, expected ");
    put_sizes(t, have);
}

lz_err *lz_check_sizes(const char *name, const lz_tensor *have, const lz_tensor *given)
{
    if (same_sizes(have, given))
        return NULL;
    lz_text t = { 0 };
    put_mismatch(&t, name, have, given);
    lz_err *e = lz_err_because(LZ_REASON_SHAPE, "%.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

lz_err *lz_copy_all(lz_ctx *c, lz_tensor *const *to, lz_tensor *const *from, size_t n)
{
    const lz_loc at = { 0 };
    lz_scope *s = lz_scope_push(c);
    LZ_NO_GRAD(c)
    {
        for (size_t i = 0; i < n; i++)
            lz_copy_(c, to[i], lz_tensor_ctx(from[i]) == c ? from[i] : lz_share(c, from[i]));
    }
    lz_scope_pop(s);
    return n == 0 || lz_sync(c, to, n) ? NULL : lz_errf(LZ_ERR_ARG, "the state could not be copied");
}

/* ---- modules ---- */

bool lz_module_state(lz_module *m, const char *prefix, lz_state *out)
{
    lz_err *e = NULL;
    if (!m || !out)
        return false;
    for (lz_module *k = m; k && !e; k = lz_module_after(m, k))
        for (lz_module_slot *s = k->slots; s && !e; s = s->next)
            if (s->kind != LZ_SLOT_UNSAVED)
                e = lz_state_put(out, prefix, lz_name_in(m, s->path), "", s->tensor);
    return lz_nn_report(m->ctx, (lz_loc){ 0 }, e);
}

/* A state on its way into a module, and the mistakes in its names. */
typedef struct loading {
    lz_map given; /* names without the prefix */
    LZ_VEC(lz_tensor *) to;
    LZ_VEC(lz_tensor *) from;
    lz_text missing, unexpected, mismatched;
} loading;

static lz_err *list_given(loading *l, const char *prefix, lz_named_tensors from)
{
    size_t skip = strlen(prefix);
    for (size_t i = 0; i < from.n; i++)
        if (!strncmp(from.v[i].name, prefix, skip))
            LZ_TRY(lz_map_put(&l->given, lz_str_of(from.v[i].name + skip), from.v[i].tensor));
    return NULL;
}

static void add_name(lz_text *t, const char *name)
{
    lz_text_printf(t, "%s'%s'", t->len ? ", " : "", name);
}

static lz_err *take(loading *l, const char *name, lz_tensor *have)
{
    lz_tensor *t = lz_map_get(&l->given, lz_str_of(name));
    if (!t) {
        add_name(&l->missing, name);
        return NULL;
    }
    lz_map_remove(&l->given, lz_str_of(name));
    if (!same_sizes(have, t)) {
        lz_text_puts(&l->mismatched, l->mismatched.len ? "; " : "");
        put_mismatch(&l->mismatched, name, have, t);
        return NULL;
    }
    LZ_TRY(lz_vec_push(&l->to, have));
    return lz_vec_push(&l->from, t);
}

static lz_err *match(loading *l, lz_module *m)
{
    for (lz_module *k = m; k; k = lz_module_after(m, k))
        for (lz_module_slot *s = k->slots; s; s = s->next)
            if (s->kind != LZ_SLOT_UNSAVED)
                LZ_TRY(take(l, lz_name_in(m, s->path), s->tensor));
    for (lz_map_entry *e = lz_map_next(&l->given, NULL); e; e = lz_map_next(&l->given, e))
        add_name(&l->unexpected, e->key.ptr);
    return NULL;
}

/* "missing 'a', 'b'; unexpected 'c'; size mismatch for 'd': ..." */
static lz_err *put_findings(const loading *l, lz_text *out)
{
    const struct {
        const char *word;
        const lz_text *names;
    } findings[] = { { "missing ", &l->missing }, { "unexpected ", &l->unexpected }, { "", &l->mismatched } };
    for (size_t i = 0; i < sizeof findings / sizeof *findings; i++) {
        LZ_TRY(lz_text_check(findings[i].names));
        if (findings[i].names->len)
            lz_text_printf(out, "%s%s%.*s", out->len ? "; " : "", findings[i].word,
                           LZ_FMT(lz_text_view(findings[i].names)));
    }
    return lz_text_check(out);
}

/* A size mismatch is an error even of a partial load: the parameter cannot be the one that was meant. */
static lz_err *complain(const loading *l, const lz_text *findings, bool partial)
{
    if (partial ? l->mismatched.len == 0 : findings->len == 0)
        return NULL;
    bool names = l->missing.len || l->unexpected.len;
    return lz_errf(names ? LZ_ERR_NOT_FOUND : LZ_ERR_ARG, "the state does not fit: %.*s",
                   LZ_FMT(lz_text_view(findings)));
}

static lz_err *load(loading *l, lz_module *m, const char *prefix, lz_named_tensors from, bool partial,
                    lz_text *findings)
{
    LZ_TRY(list_given(l, prefix, from));
    LZ_TRY(match(l, m));
    LZ_TRY(put_findings(l, findings));
    LZ_TRY(complain(l, findings, partial));
    return lz_copy_all(m->ctx, l->to.data, l->from.data, l->to.len);
}

lz_err *lz_state_into(lz_module *m, const char *prefix, lz_named_tensors from, bool partial,
                      lz_text *findings)
{
    loading l = { 0 };
    lz_err *e = load(&l, m, prefix, from, partial, findings);
    lz_map_deinit(&l.given);
    lz_vec_deinit(&l.to);
    lz_vec_deinit(&l.from);
    lz_text_deinit(&l.missing);
    lz_text_deinit(&l.unexpected);
    lz_text_deinit(&l.mismatched);
    return e;
}

bool lz_module_load_state(lz_module *m, const char *prefix, lz_named_tensors from, bool partial)
{
    lz_text findings = { 0 };
    if (!m)
        return false;
    lz_err *e = lz_state_into(m, prefix, from, partial, &findings);
    lz_text_deinit(&findings);
    return lz_nn_report(m->ctx, (lz_loc){ 0 }, e);
}
