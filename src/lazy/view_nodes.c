#include "lazy/view_nodes.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "base/mem.h"
#include "lazy/pack.h"
#include "lazy/view_steps.h"
#include "op/op_table.h"
#include <string.h>

enum { MOST = 1 << 12 };

/* A node without its operands. */
typedef struct made {
    lz_node_form form;
    const lz_scalar *numbers;
} made;

typedef struct move {
    made there, back;
    bool needs_old; /* the write back reads the value that the step was applied to */
} move;

typedef enum path_kind { FIXED, MOVES_READ, MOVES_WRITE } path_kind;

typedef struct path {
    lz_hash_link link;
    const lz_spec *base, *view;
    int64_t offset;
    path_kind kind;
    move *moves;
    size_t n, reach; /* reach: steps that a write needs forward before it can go back */
} path;

struct lz_views {
    lz_specs *specs;
    lz_nodes *nodes;
    lz_arena arena, scratch;
    lz_hash_table paths;
    lz_call call;
};

lz_err *lz_views_create(lz_specs *specs, lz_nodes *nodes, lz_views **out)
{
    lz_views *v = lz_mem_zalloc(1, sizeof *v);
    if (!v)
        return lz_err_oom();
    v->specs = specs;
    v->nodes = nodes;
    lz_arena_init(&v->arena);
    lz_arena_init(&v->scratch);
    lz_call_init(&v->call);
    *out = v;
    return NULL;
}

void lz_views_destroy(lz_views *v)
{
    if (!v)
        return;
    lz_arena_deinit(&v->arena);
    lz_arena_deinit(&v->scratch);
    lz_call_deinit(&v->call);
    lz_hash_table_deinit(&v->paths);
    lz_mem_free(v);
}

/* ---- forms ---- */

static lz_err *save(lz_arena *a, const void *from, size_t n, const void **out)
{
    void *to = lz_arena_zalloc(a, n + 1);
    if (!to)
        return lz_err_oom();
    if (n)
        memcpy(to, from, n);
    *out = to;
    return NULL;
}

/* The form of a node. Tensors in args may be any pointer but NULL; scalars become run-time numbers. */
static lz_err *make_form(lz_views *v, lz_op op, const lz_value *args, const lz_spec *result, made *out)
{
    const void *numbers;
    void *words;
    lz_call *c = &v->call;
    LZ_TRY(lz_call_pack(c, &lz_op_table[op], args, false));
    LZ_TRY(save(&v->arena, c->numbers, c->nnumbers * sizeof *c->numbers, &numbers));
    out->numbers = numbers;
    out->form = (lz_node_form){ .op = c->op,
                                .slots = c->slots,
                                .specs = &result,
                                .fixed = c->words.data,
                                .nfixed = (uint32_t)c->words.len,
                                .nslots = (uint16_t)c->nslots,
                                .nin = (uint16_t)c->tensors.len,
                                .nnumbers = (uint16_t)c->nnumbers,
                                .nout = 1 };
    words = lz_arena_zalloc(&v->arena, lz_node_form_words(&out->form) * sizeof(uint64_t));
    if (!words)
        return lz_err_oom();
    lz_node_form_join(&out->form, words);
    lz_node_form_finish(&out->form);
    return NULL;
}

static char some_tensor; /* its address stands for an operand: operands are set later */

typedef struct stepping {
    lz_views *v;
    const lz_view_step *step;
    const lz_spec *before, *after;
    move *out;
    lz_value self;
    bool moves;
} stepping;

/* Start or end of a view. */
static lz_value offset_value(const stepping *s, int64_t v)
{
    return s->moves ? lz_value_scalar(lz_scalar_int(v)) : lz_value_integer(v);
}

static lz_err *there(const stepping *s, lz_op op, const lz_value *args)
{
    return make_form(s->v, op, args, s->after, &s->out->there);
}

static lz_err *back(const stepping *s, lz_op op, const lz_value *args)
{
    return make_form(s->v, op, args, s->before, &s->out->back);
}

static lz_err *permute_forms(const stepping *s)
{
    int64_t inverse[LZ_MAX_DIMS];
    lz_ints dims = s->step->list;
    for (int64_t i = 0; i < dims.n; i++)
        inverse[dims.v[i]] = i;
    LZ_TRY(there(s, LZ_OP_permute, (lz_value[]){ s->self, lz_value_ints(dims) }));
    return back(s, LZ_OP_permute, (lz_value[]){ s->self, lz_value_ints((lz_ints){ inverse, dims.n }) });
}

static lz_err *view_forms(const stepping *s)
{
    LZ_TRY(there(s, LZ_OP_view, (lz_value[]){ s->self, lz_value_ints(lz_spec_sizes(s->after)) }));
    return back(s, LZ_OP_view, (lz_value[]){ s->self, lz_value_ints(lz_spec_sizes(s->before)) });
}

static lz_err *slice_forms(const stepping *s)
{
    lz_value dim = lz_value_integer(s->step->dim), start = offset_value(s, s->step->start);
    lz_value end = offset_value(s, s->step->end), step = lz_value_integer(s->step->step);
    s->out->needs_old = true;
    LZ_TRY(there(s, LZ_OP_slice_Tensor, (lz_value[]){ s->self, dim, start, end, step }));
    return back(s, LZ_OP_slice_scatter, (lz_value[]){ s->self, s->self, dim, start, end, step });
}

static lz_err *select_forms(const stepping *s)
{
    lz_value dim = lz_value_integer(s->step->dim), index = offset_value(s, s->step->start);
    s->out->needs_old = true;
    LZ_TRY(there(s, LZ_OP_select_int, (lz_value[]){ s->self, dim, index }));
    return back(s, LZ_OP_select_scatter, (lz_value[]){ s->self, s->self, dim, index });
}

static lz_err *unsqueeze_forms(const stepping *s)
{
    lz_value dim = lz_value_integer(s->step->dim);
    LZ_TRY(there(s, LZ_OP_unsqueeze, (lz_value[]){ s->self, dim }));
    return back(s, LZ_OP_squeeze_dim, (lz_value[]){ s->self, dim });
}

/* All copies of an element get the same value, so one copy is written back. */
static lz_err *expand_forms(const stepping *s)
{
    lz_value dim = lz_value_integer(s->step->dim), zero = lz_value_integer(0), one = lz_value_integer(1);
    LZ_TRY(there(s, LZ_OP_expand,
                 (lz_value[]){ s->self, lz_value_ints(lz_spec_sizes(s->after)), lz_value_truth(false) }));
    return back(s, LZ_OP_slice_Tensor, (lz_value[]){ s->self, dim, zero, one, one });
}

static lz_err *strided_forms(const stepping *s)
{
    lz_value sizes = lz_value_ints(s->step->sizes), strides = lz_value_ints(s->step->list);
    lz_value offset = offset_value(s, s->step->start);
    s->out->needs_old = true;
    LZ_TRY(there(s, LZ_OP_as_strided, (lz_value[]){ s->self, sizes, strides, offset }));
    return back(s, LZ_OP_as_strided_scatter, (lz_value[]){ s->self, s->self, sizes, strides, offset });
}

typedef lz_err *forms_fn(const stepping *s);

static forms_fn *const forms[LZ_STEP_KINDS] = {
    [LZ_STEP_PERMUTE] = permute_forms,     [LZ_STEP_VIEW] = view_forms,     [LZ_STEP_SLICE] = slice_forms,
    [LZ_STEP_SELECT] = select_forms,       [LZ_STEP_EXPAND] = expand_forms, [LZ_STEP_STRIDED] = strided_forms,
    [LZ_STEP_UNSQUEEZE] = unsqueeze_forms,
};

/* ---- paths ---- */

static lz_err *make_moves(lz_views *v, path *p, const lz_steps *steps)
{
    lz_dtype d = (lz_dtype)p->base->dtype;
    stepping s = { .v = v,
                   .self = lz_value_tensor((lz_tensor *)(void *)&some_tensor),
                   .moves = p->kind != FIXED };
    LZ_TRY(lz_arena_new(&v->arena, &p->moves, steps->n + 1));
    LZ_TRY(lz_spec_get(v->specs, d, lz_spec_sizes(p->base), (lz_ints){ NULL, 0 }, &s.after));
    p->n = steps->n;
    for (size_t i = 0; i < steps->n; i++) {
        s.before = s.after;
        s.step = &steps->v[i];
        s.out = &p->moves[i];
        LZ_TRY(lz_spec_get(v->specs, d, s.step->sizes, (lz_ints){ NULL, 0 }, &s.after));
        LZ_TRY(forms[s.step->kind](&s));
        if (p->moves[i].needs_old)
            p->reach = i;
    }
    return NULL;
}

/* Whether several steps leave elements out and none repeats an element. */
static bool leaves_out_often(const lz_steps *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        lz_view_step_kind k = s->v[i].kind;
        if (k == LZ_STEP_EXPAND)
            return false;
        n += k == LZ_STEP_SLICE || k == LZ_STEP_SELECT || k == LZ_STEP_STRIDED;
    }
    return n > 1;
}

static lz_err *find_steps(lz_views *v, const lz_window *w, path_kind kind, lz_steps *out)
{
    lz_ints sizes = lz_spec_sizes(w->view), strides = lz_spec_strides(w->view);
    LZ_TRY(lz_view_steps_find(&v->scratch, w->base, sizes, strides, w->offset, out));
    if (kind == MOVES_WRITE && leaves_out_often(out))
        return lz_view_steps_strided(&v->scratch, w->base, sizes, strides, w->offset, out);
    return NULL;
}

static lz_err *make_path(lz_views *v, const lz_window *w, path_kind kind, path **out)
{
    lz_steps steps;
    lz_arena_mark mark = lz_arena_save(&v->scratch), kept = lz_arena_save(&v->arena);
    lz_err *e = lz_arena_new(&v->arena, out, 1);
    if (!e) {
        **out = (path){ .base = w->base, .view = w->view, .offset = w->offset, .kind = kind };
        e = find_steps(v, w, kind, &steps);
    }
    if (!e)
        e = make_moves(v, *out, &steps);
    lz_arena_rewind(&v->scratch, mark);
    if (e)
        lz_arena_rewind(&v->arena, kept);
    return e;
}

static uint64_t hash_of(const void *item)
{
    const path *p = item;
    return lz_hash_word64(lz_hash_word64(p->base->hash ^ p->view->hash << 1, (uint64_t)p->offset),
                          (uint64_t)p->kind);
}

static const lz_hash_kind paths = { offsetof(path, link), hash_of };

static bool same(const void *item, const void *key)
{
    const path *a = item, *b = key;
    return a->base == b->base && a->view == b->view && a->offset == b->offset && a->kind == b->kind;
}

static void forget_all(lz_views *v)
{
    lz_hash_table_clear(&v->paths);
    lz_arena_deinit(&v->arena);
    lz_arena_init(&v->arena);
}

static lz_err *find_path(lz_views *v, const lz_window *w, path_kind kind, const path **out)
{
    const path wanted = { .base = w->base, .view = w->view, .offset = w->offset, .kind = kind };
    uint64_t hash = hash_of(&wanted);
    path *p = lz_hash_table_find(&v->paths, &paths, hash, same, &wanted);
    if (!p) {
        if (v->paths.count >= MOST)
            forget_all(v);
        LZ_TRY(lz_hash_table_reserve(&v->paths, &paths));
        LZ_TRY(make_path(v, w, kind, &p));
        lz_hash_table_add(&v->paths, &paths, hash, p);
    }
    *out = p;
    return NULL;
}

/* ---- applying paths ---- */

static lz_err *apply(lz_views *v, const lz_window *w, const made *m, const lz_output *in, lz_output *out)
{
    lz_node *n;
    lz_err *e = lz_node_make(v->nodes, &m->form, in, m->numbers, w->at, w->scope, &n);
    if (!e)
        *out = (lz_output){ n, 0 };
    return e;
}

static lz_output hold(lz_output o)
{
    lz_node_retain((lz_node *)o.node);
    return o;
}

static void drop(lz_views *v, lz_output o)
{
    lz_node_release(v->nodes, (lz_node *)o.node);
}

lz_err *lz_views_read(lz_views *v, const lz_window *w, lz_output base, lz_output *out)
{
    const path *p;
    lz_output value, next = { NULL, 0 };
    lz_err *e = NULL;
    LZ_TRY(find_path(v, w, w->moves ? MOVES_READ : FIXED, &p));
    value = hold(base);
    for (size_t i = 0; !e && i < p->n; i++) {
        e = apply(v, w, &p->moves[i].there, &value, &next);
        drop(v, value);
        value = next;
    }
    *out = value;
    return e;
}

static lz_err *go_back(lz_views *v, const lz_window *w, const path *p, const lz_output *old, lz_output part,
                       lz_output *out)
{
    lz_output value = hold(part), next = { NULL, 0 };
    lz_err *e = NULL;
    for (size_t i = p->n; !e && i-- > 0;) {
        const move *m = &p->moves[i];
        lz_output in[2] = { value, value };
        if (m->needs_old)
            in[0] = old[i];
        e = apply(v, w, &m->back, in, &next);
        drop(v, value);
        value = next;
    }
    *out = value;
    return e;
}

lz_err *lz_views_write(lz_views *v, const lz_window *w, lz_output base, lz_output part, lz_output *out)
{
    const path *p;
    lz_output *old;
    size_t n = 1;
    lz_err *e = NULL;
    LZ_TRY(find_path(v, w, w->moves ? MOVES_WRITE : FIXED, &p));
    lz_arena_mark mark = lz_arena_save(&v->scratch);
    LZ_TRY(lz_arena_new(&v->scratch, &old, p->reach + 1));
    old[0] = hold(base);
    for (size_t i = 0; !e && i < p->reach; i++) {
        e = apply(v, w, &p->moves[i].there, &old[i], &old[i + 1]);
        n += e == NULL;
    }
    if (!e)
        e = go_back(v, w, p, old, part, out);
    for (size_t i = 0; i < n; i++)
        drop(v, old[i]);
    lz_arena_rewind(&v->scratch, mark);
    return e;
}
