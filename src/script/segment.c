#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/profile.h"
#include "core/dtype.h"
#include "script/segment_impl.h"
#include <string.h>

enum { LZ_SEG_ENTRIES = 64 }; /* kept for one segment */

/* ---- keys ---- */

static lz_err *add_bytes(lz_seg_call *c, const void *p, size_t n)
{
    LZ_TRY(lz_vec_reserve(&c->key, n));
    if (n)
        memcpy(c->key.data + c->key.len, p, n);
    c->key.len += n;
    return NULL;
}

static lz_err *add_int(lz_seg_call *c, int64_t v)
{
    return add_bytes(c, &v, sizeof v);
}

/* Where something is written, also which tensors share a storage, and how much it has. */
static lz_err *add_sharing(lz_seg_call *c, const lz_xtensor *t)
{
    int64_t first = 0;
    while (c->tensors.data[first]->storage != t->storage)
        first++;
    LZ_TRY(add_int(c, first));
    LZ_TRY(add_int(c, t->offset));
    return add_int(c, (int64_t)t->storage->buffer->size);
}

static lz_err *add_tensor(lz_seg_call *c, lz_gv v)
{
    if (!lz_gv_is_xtensor(v))
        return lz_errf(LZ_ERR_ARG, "a tensor that the executor did not make");
    lz_xtensor *t = lz_xtensor_of(v);
    LZ_TRY(lz_vec_push(&c->tensors, t));
    LZ_TRY(add_int(c, t->dtype));
    LZ_TRY(add_int(c, t->ndim));
    LZ_TRY(add_bytes(c, t->sizes, 2 * (size_t)t->ndim * sizeof *t->sizes)); /* and strides */
    return c->seg->writes ? add_sharing(c, t) : NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *add_value(lz_seg_call *c, lz_gv v, bool run_time, int depth)
{
    LZ_TRY(add_int(c, lz_gv_is_tensor(v) ? LZ_GV_TENSOR : v.kind));
    if (lz_gv_is_tensor(v))
        return add_tensor(c, v);
    if (run_time || v.kind == LZ_GV_NONE)
        return NULL;
    if (v.kind == LZ_GV_BOOL)
        return add_int(c, v.b);
    if (v.kind == LZ_GV_INT)
        return add_int(c, v.i);
    if (v.kind == LZ_GV_FLOAT)
        return add_bytes(c, &v.f, sizeof v.f);
    if (v.kind == LZ_GV_STR || v.kind == LZ_GV_DEVICE) {
        LZ_TRY(add_int(c, (int64_t)lz_gv_text(v).len));
        return add_bytes(c, lz_gv_text(v).ptr, lz_gv_text(v).len);
    }
    if ((v.kind != LZ_GV_LIST && v.kind != LZ_GV_TUPLE) || depth == 0)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a value that no plan can be made for");
    LZ_TRY(add_int(c, (int64_t)v.list->len));
    for (size_t i = 0; i < v.list->len; i++)
        LZ_TRY(add_value(c, v.list->data[i], false, depth - 1));
    return NULL;
}

static lz_err *make_key(lz_seg_call *c)
{
    c->key.len = c->tensors.len = 0;
    c->statics = atomic_load(&c->seg->statics);
    for (uint32_t i = 0; i < c->seg->n_inputs; i++) {
        const lz_seg_input *in = &c->seg->inputs[i];
        LZ_TRY(add_value(c, c->slots[in->slot], in->run_time && !c->statics, LZ_GV_DEPTH));
    }
    return add_int(c, c->env->separate);
}

/* ---- entries ---- */

static void destroy_entry(lz_seg_entry *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; i < e->n_patterns; i++)
        lz_gv_release(e->patterns[i]);
    lz_plan_destroy(e->plan);
    lz_arena_deinit(&e->arena);
    lz_mem_free(e->key);
    lz_mem_free(e);
}

void lz_segment_deinit(lz_segment *s)
{
    while (s->entries) {
        lz_seg_entry *e = s->entries;
        s->entries = e->next;
        destroy_entry(e);
    }
    lz_lock_deinit(&s->lock);
}

uint32_t lz_segment_entries(lz_segment *s)
{
    lz_lock_take(&s->lock);
    uint32_t n = s->n_entries;
    lz_lock_give(&s->lock);
    return n;
}

static bool is_for(const lz_seg_entry *e, const lz_seg_call *c, uint64_t hash)
{
    return e->hash == hash && e->key_len == c->key.len && !memcmp(e->key, c->key.data, c->key.len);
}

/* Takes the entry out, so that nobody drops it while it is used. */
static lz_seg_entry *take_entry(lz_segment *s, const lz_seg_call *c, uint64_t hash)
{
    lz_lock_take(&s->lock);
    lz_seg_entry **at = &s->entries;
    while (*at && !is_for(*at, c, hash))
        at = &(*at)->next;
    lz_seg_entry *found = *at;
    if (found) {
        *at = found->next;
        s->n_entries--;
    }
    lz_lock_give(&s->lock);
    return found;
}

/* The longest unused one goes when there are too many. */
static void put_entry(lz_segment *s, lz_seg_entry *e)
{
    lz_seg_entry *drop = NULL;
    if (!e->key) {
        destroy_entry(e);
        return;
    }
    lz_lock_take(&s->lock);
    e->next = s->entries;
    s->entries = e;
    if (++s->n_entries > LZ_SEG_ENTRIES) {
        lz_seg_entry **at = &s->entries;
        while ((*at)->next)
            at = &(*at)->next;
        drop = *at;
        *at = NULL;
        s->n_entries--;
    }
    lz_lock_give(&s->lock);
    destroy_entry(drop);
}

static lz_err *keep_key(lz_seg_call *c, lz_seg_entry *e, uint64_t hash)
{
    e->key = lz_mem_alloc(c->key.len);
    if (!e->key)
        return lz_err_oom();
    memcpy(e->key, c->key.data, c->key.len);
    e->key_len = c->key.len;
    e->hash = hash;
    return NULL;
}

static lz_err *make_entry(lz_seg_call *c, uint64_t hash, lz_seg_entry **out)
{
    lz_seg_entry *e = lz_mem_zalloc(1, sizeof *e);
    if (!e)
        return lz_err_oom();
    lz_arena_init(&e->arena);
    lz_err *err = keep_key(c, e, hash);
    lz_span span = lz_span_begin();
    if (!err)
        err = lz_segment_lower(c, e);
    lz_span_end(&span, &(lz_span_note){ .phase = LZ_PHASE_COMPILE });
    if (err)
        destroy_entry(e);
    else
        *out = e;
    return err;
}

static void drop_extra(lz_seg_call *c)
{
    for (size_t i = 0; i < c->extra.len; i++)
        lz_buffer_release(c->extra.data[i]);
    c->extra.len = 0;
}

/* Numbers are passed at run time, until an operator turns out to need their values. */
static lz_err *find_entry(lz_seg_call *c, lz_seg_entry **out)
{
    LZ_TRY(make_key(c));
    uint64_t hash = lz_hash64(c->key.data, c->key.len);
    *out = take_entry(c->seg, c, hash);
    if (*out)
        return NULL;
    lz_err *e = make_entry(c, hash, out);
    if (lz_err_code(e) != LZ_ERR_INTERNAL || c->statics)
        return e;
    lz_err_free(e);
    drop_extra(c);
    atomic_store(&c->seg->statics, true);
    LZ_TRY(make_key(c));
    return make_entry(c, lz_hash64(c->key.data, c->key.len), out);
}

/* ---- arguments ---- */

static lz_scalar scalar_of(lz_gv v)
{
    return v.kind == LZ_GV_FLOAT  ? lz_scalar_float(v.f)
           : v.kind == LZ_GV_BOOL ? lz_scalar_bool(v.b)
                                  : lz_scalar_int(v.kind == LZ_GV_INT ? v.i : 0);
}

static void set_inputs(lz_seg_call *c)
{
    for (size_t i = 0; i < c->tensors.len; i++) {
        const lz_xtensor *t = c->tensors.data[i];
        size_t offset = c->seg->writes ? 0 : (size_t)t->offset * lz_dtype_size(t->dtype);
        c->inputs[i] = (lz_run_input){ .buffer = t->storage->buffer, .offset = offset };
    }
    for (size_t i = 0; i < c->extra.len; i++)
        c->inputs[c->tensors.len + i] = (lz_run_input){ .buffer = c->extra.data[i] };
}

lz_err *lz_segment_args(lz_seg_call *c)
{
    size_t n = c->tensors.len + c->extra.len + 1, k = LZ_SEG_NUMBERS + c->seg->n_inputs;
    lz_mem_free(c->inputs);
    lz_mem_free(c->scalars);
    c->inputs = lz_mem_zalloc(n, sizeof *c->inputs);
    c->scalars = lz_mem_zalloc(k, sizeof *c->scalars);
    if (!c->inputs || !c->scalars)
        return lz_err_oom();
    set_inputs(c);
    c->scalars[LZ_SEG_SEED] = lz_scalar_int((int64_t)c->env->seed);
    c->scalars[LZ_SEG_STREAM] = lz_scalar_int((int64_t)c->env->stream);
    for (uint32_t i = 0; i < c->seg->n_inputs; i++)
        c->scalars[LZ_SEG_NUMBERS + i] = scalar_of(c->slots[c->seg->inputs[i].slot]);
    return NULL;
}

/* A tensor that only its dying slot holds may be computed over. */
static void find_donations(lz_seg_call *c, const lz_seg_entry *e, const uint32_t *dying, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        lz_gv v = c->slots[dying[i]];
        if (!lz_gv_is_xtensor(v))
            continue;
        const lz_xtensor *t = lz_xtensor_of(v);
        bool sole = atomic_load(&t->head.box.count) == 1 && atomic_load(&t->storage->count) == 1
                    && lz_buffer_is_exclusive(t->storage->buffer) && t->offset == 0;
        for (size_t k = 0; sole && k < c->tensors.len; k++)
            c->inputs[k].donate = c->inputs[k].donate || (c->tensors.data[k] == t && !e->kept[k]);
    }
}

/* What is written anyway may be written in place, unless something could still go wrong. */
static void donate_written(lz_seg_call *c, const lz_seg_entry *e)
{
    for (uint32_t i = 0; i < e->n_writes; i++) {
        const lz_xtensor *t = c->tensors.data[e->writes[i].tensor];
        if (lz_buffer_is_exclusive(t->storage->buffer))
            c->inputs[e->writes[i].tensor].donate = c->inputs[e->writes[i].tensor].keep = true;
    }
}

/* ---- results ---- */

typedef struct results {
    lz_seg_call *c;
    const lz_seg_entry *e;
    lz_buffer **buffers;    /* of the plan's outputs */
    lz_xstorage **storages; /* of the plan's outputs, as they are needed */
    lz_gv *made;            /* of each lz_stensor; counted */
} results;

static lz_err *storage_of(results *r, const lz_cell *cell, lz_xstorage **out, int64_t *offset)
{
    *offset = 0;
    if (cell->input >= 0) { /* also where it is written: the storage then gets the new buffer */
        const lz_xtensor *t = r->c->tensors.data[cell->input];
        *out = t->storage;
        *offset = r->c->seg->writes ? 0 : t->offset;
        return NULL;
    }
    const lz_plan_output *o = lz_plan_output_get(r->e->plan, (size_t)cell->output);
    if (o->slot >= 0 && (size_t)o->slot < r->c->tensors.len && !r->c->seg->writes)
        *offset = r->c->tensors.data[o->slot]->offset;
    if (!r->storages[cell->output])
        LZ_TRY(lz_xstorage_create(lz_buffer_retain(r->buffers[cell->output]), &r->storages[cell->output]));
    *out = r->storages[cell->output];
    return NULL;
}

static lz_err *read_number(results *r, const lz_stensor *t, lz_gv *out)
{
    lz_array a;
    lz_scalar s;
    LZ_TRY(lz_array_init_view(&a, r->buffers[t->cell->output], t->dtype, (lz_ints){ t->sizes, t->ndim },
                              (lz_ints){ t->strides, t->ndim }, 0));
    s = lz_array_get(&a, 0);
    lz_array_deinit(&a);
    *out = s.kind == LZ_SCALAR_FLOAT  ? lz_gv_float(s.re)
           : s.kind == LZ_SCALAR_BOOL ? lz_gv_bool(s.i != 0)
                                      : lz_gv_int(s.i);
    return NULL;
}

static lz_err *make_tensor(results *r, const lz_stensor *t)
{
    lz_xstorage *storage;
    int64_t offset;
    if (r->made[t->number].kind != LZ_GV_NONE)
        return NULL;
    if (t->is_number)
        return read_number(r, t, &r->made[t->number]);
    LZ_TRY(storage_of(r, t->cell, &storage, &offset));
    return lz_xtensor_view(storage, t->dtype, (lz_ints){ t->sizes, t->ndim },
                           (lz_ints){ t->strides, t->ndim }, t->offset + offset, &r->made[t->number]);
}

/* The value with real tensors. Lists are new: whoever gets one may change it. */
/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *instantiate(results *r, lz_gv pattern, int depth, lz_gv *out)
{
    lz_gv item, list;
    lz_err *e = NULL;
    bool tuple = pattern.kind == LZ_GV_TUPLE;
    if (lz_gv_is_stensor(pattern)) {
        const lz_stensor *t = lz_stensor_of(pattern);
        if (t->self >= 0) {
            *out =
                lz_gv_retain((lz_gv){ .kind = LZ_GV_TENSOR, .tensor = &r->c->tensors.data[t->self]->head });
            return NULL;
        }
        LZ_TRY(make_tensor(r, t));
        *out = lz_gv_retain(r->made[t->number]);
        return NULL;
    }
    *out = lz_gv_none();
    if ((pattern.kind != LZ_GV_LIST && !tuple) || depth == 0) {
        *out = lz_gv_retain(pattern);
        return NULL;
    }
    LZ_TRY(lz_gv_list_make(pattern.list->len, &list));
    for (size_t i = 0; !e && i < pattern.list->len; i++) {
        e = instantiate(r, pattern.list->data[i], depth - 1, &item);
        if (!e)
            e = lz_gv_push(list, item);
    }
    if (!e && tuple) {
        for (size_t i = 0; i < list.list->len; i++)
            lz_gv_retain(list.list->data[i]);
        e = lz_gv_tuple(list.list->data, list.list->len, out);
    } else if (!e) {
        *out = lz_gv_retain(list);
    }
    lz_gv_release(list);
    return e;
}

/* All values first, so that nothing has changed should one fail. */
static lz_err *give_results(results *r, lz_gv *values)
{
    const lz_segment *s = r->c->seg;
    for (uint32_t i = 0; i < s->n_outputs; i++)
        LZ_TRY(instantiate(r, r->e->patterns[i], LZ_GV_DEPTH, &values[i]));
    for (uint32_t i = 0; i < r->e->n_writes; i++) {
        lz_xstorage *storage = r->c->tensors.data[r->e->writes[i].tensor]->storage;
        lz_buffer *old = storage->buffer;
        storage->buffer = lz_buffer_retain(r->buffers[r->e->writes[i].output]);
        lz_buffer_release(old);
    }
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        lz_gv_set(&r->c->slots[s->outputs[i].slot], values[i]);
        values[i] = lz_gv_none();
    }
    return NULL;
}

static const lz_ir_node *node_of(const void *user, uint32_t origin)
{
    const lz_segment *s = user;
    return origin < s->n ? s->insts[origin].node : NULL;
}

static lz_err *with_room(results *r, lz_arena *a)
{
    size_t n = lz_plan_outputs(r->e->plan);
    lz_gv *values;
    LZ_TRY(lz_arena_new(a, &r->buffers, n + 1));
    LZ_TRY(lz_arena_new(a, &r->storages, n + 1));
    LZ_TRY(lz_arena_new(a, &r->made, r->e->n_stensors + 1));
    LZ_TRY(lz_arena_new(a, &values, r->c->seg->n_outputs + 1));
    uint32_t failed = 0;
    lz_plan_names names = { .node = node_of, .user = r->c->seg, .file = r->c->program->graph->file };
    lz_run_args args = { .inputs = r->c->inputs,
                         .scalars = r->c->scalars,
                         .memory = r->c->env->memory,
                         .threads = r->c->env->threads,
                         .failed = &failed,
                         .names = &names };
    lz_err *e = lz_plan_run(r->e->plan, &args, r->buffers);
    if (e)
        r->c->at = &r->c->seg->insts[failed];
    else
        e = give_results(r, values);
    for (size_t i = 0; i < n; i++) {
        lz_buffer_release(r->buffers[i]);
        lz_xstorage_release(r->storages[i]);
    }
    for (uint32_t i = 0; i < r->e->n_stensors; i++)
        lz_gv_release(r->made[i]);
    for (uint32_t i = 0; i < r->c->seg->n_outputs; i++)
        lz_gv_release(values[i]);
    return e;
}

/* Before it runs: what the plan will take comes to what is there now. */
static void count_entry(const lz_seg_call *c, const lz_seg_entry *e)
{
    lz_exec_env *env = c->env;
    size_t asked = env->memory ? lz_buffer_pool_stats(env->memory).asked : 0;
    size_t peak = (asked > env->held ? asked - env->held : 0) + lz_plan_will_take(e->plan, c->inputs);
    env->peak = peak > env->peak ? peak : env->peak;
    env->launches += lz_plan_launches(e->plan);
}

static lz_err *run_entry(lz_seg_call *c, const lz_seg_entry *e)
{
    results r = { .c = c, .e = e };
    lz_arena a;
    lz_arena_init(&a);
    count_entry(c, e);
    lz_err *err = with_room(&r, &a);
    lz_arena_deinit(&a);
    if (!err)
        c->env->stream += e->streams;
    return err;
}

lz_err *lz_segment_run(const lz_gprogram *p, lz_segment *s, lz_gv *slots, const uint32_t *dying,
                       uint32_t ndying, lz_exec_env *env)
{
    lz_seg_call c = { .program = p, .seg = s, .slots = slots, .env = env };
    lz_seg_entry *entry = NULL;
    lz_err *e = find_entry(&c, &entry);
    if (!e)
        e = lz_segment_args(&c);
    if (!e) {
        find_donations(&c, entry, dying, ndying);
        donate_written(&c, entry);
        e = run_entry(&c, entry);
    }
    if (entry)
        put_entry(s, entry);
    drop_extra(&c);
    lz_vec_deinit(&c.extra);
    lz_vec_deinit(&c.key);
    lz_vec_deinit(&c.tensors);
    lz_mem_free(c.inputs);
    lz_mem_free(c.scalars);
    return c.at ? lz_gprogram_error(p, c.at->node, e) : e;
}
