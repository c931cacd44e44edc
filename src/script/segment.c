#include "script/segment.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/profiler.h"
#include "script/segment_impl.h"
#include <string.h>

enum { LZ_SEG_ENTRIES = 64 }; /* most entries of one segment */

/* ---- entries ---- */

static void destroy_entry(lz_segment_entry *e)
{
    if (!e)
        return;
    lz_static_graph_destroy(e->graph);
    lz_functional_deinit(&e->made);
    lz_mem_free(e->key);
    lz_mem_free(e);
}

void lz_segment_deinit(lz_segment *s)
{
    while (s->entries) {
        lz_segment_entry *e = s->entries;
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

static bool is_for(const lz_segment_entry *e, const lz_segment_call *c, uint64_t hash)
{
    return e->hash == hash && e->key_len == c->key.len && !memcmp(e->key, c->key.data, c->key.len);
}

/* Removes the entry from the list, so that no other call drops it while it is used. */
static lz_segment_entry *take_entry(lz_segment *s, const lz_segment_call *c, uint64_t hash)
{
    lz_lock_take(&s->lock);
    lz_segment_entry **at = &s->entries;
    while (*at && !is_for(*at, c, hash))
        at = &(*at)->next;
    lz_segment_entry *found = *at;
    if (found) {
        *at = found->next;
        s->n_entries--;
    }
    lz_lock_give(&s->lock);
    return found;
}

/* Puts the entry first in the list. If there are too many entries, drops the least recently used one. */
static void put_entry(lz_segment *s, lz_segment_entry *e)
{
    lz_segment_entry *drop = NULL;
    lz_lock_take(&s->lock);
    e->next = s->entries;
    s->entries = e;
    if (++s->n_entries > LZ_SEG_ENTRIES) {
        lz_segment_entry **at = &s->entries;
        while ((*at)->next)
            at = &(*at)->next;
        drop = *at;
        *at = NULL;
        s->n_entries--;
    }
    lz_lock_give(&s->lock);
    destroy_entry(drop);
}

static lz_err *keep_key(lz_segment_call *c, lz_segment_entry *e, uint64_t hash)
{
    e->key = lz_mem_alloc(c->key.len);
    if (!e->key)
        return lz_err_oom();
    memcpy(e->key, c->key.data, c->key.len);
    e->key_len = c->key.len;
    e->hash = hash;
    return NULL;
}

lz_functionalize_input lz_segment_what(const lz_segment_call *c)
{
    return (lz_functionalize_input){ .insts = c->seg->insts,
                                     .from = c->from,
                                     .n = c->seg->n,
                                     .n_local = c->seg->n_local,
                                     .env = c->locals,
                                     .live = c->live.data,
                                     .n_live = (uint32_t)c->live.len,
                                     .last = c->seg->last,
                                     .run_time = c->run_time,
                                     .given = c->is_given ? c->given.data : NULL,
                                     .n_given = (uint32_t)c->given.len,
                                     .constants = c->seg->constants,
                                     .n_constants = c->seg->n_constants,
                                     .whole = c->seg->whole,
                                     .tensors = c->tensors.data,
                                     .same = c->same.data,
                                     .shared = c->shared.data,
                                     .n_tensors = (uint32_t)c->tensors.len,
                                     .file = c->program->graph->file };
}

static lz_err *fill_entry(lz_segment_call *c, lz_segment_entry *e)
{
    lz_functionalize_input what = lz_segment_what(c);
    lz_err *err = lz_functionalize(&what, &e->made);
    if (err)
        c->at = e->made.at;
    LZ_TRY(err);
    if (e->made.end == c->from)
        return NULL;
    lz_static_graph_options options = { .ops = SIZE_MAX, .separate = c->env->separate, .seed = e->made.seed };
    return lz_static_graph_create(e->made.graph, e->made.inputs.data, &options, &e->graph);
}

static lz_err *make_entry(lz_segment_call *c, uint64_t hash, lz_segment_entry **out)
{
    lz_segment_entry *e = lz_mem_zalloc(1, sizeof *e);
    if (!e)
        return lz_err_oom();
    lz_err *err = keep_key(c, e, hash);
    lz_span span = lz_span_begin();
    if (!err)
        err = fill_entry(c, e);
    lz_span_end(&span, &(lz_span_note){ .phase = LZ_PHASE_COMPILE });
    if (err)
        destroy_entry(e);
    else
        *out = e;
    return err;
}

/* Finds or makes the entry. First passes numbers at run time; if an operator needs the value of a number,
 * makes all numbers part of the key. */
static lz_err *find_entry(lz_segment_call *c, lz_segment_entry **out)
{
    bool statics = atomic_load(&c->seg->statics);
    LZ_TRY(lz_segment_key(c));
    uint64_t hash = lz_hash64(c->key.data, c->key.len);
    *out = take_entry(c->seg, c, hash);
    if (*out)
        return NULL;
    lz_err *e = make_entry(c, hash, out);
    if (lz_err_code(e) != LZ_ERR_NEEDS_VALUE || statics)
        return e;
    lz_err_free(e);
    c->at = NULL;
    atomic_store(&c->seg->statics, true);
    LZ_TRY(lz_segment_key(c));
    return make_entry(c, lz_hash64(c->key.data, c->key.len), out);
}

/* ---- running ---- */

static void drop_given(lz_segment_call *c)
{
    for (size_t i = 0; i < c->given.len; i++)
        lz_script_value_release(c->given.data[i]);
    c->given.len = 0;
    c->is_given = false;
}

/* Runs instructions from c->from on, up to one whose sizes depend on elements. */
static lz_err *run_part(lz_segment_call *c)
{
    lz_segment_entry *entry = NULL;
    LZ_TRY(find_entry(c, &entry));
    uint32_t end = entry->made.end;
    lz_err *e = entry->graph ? lz_segment_run_entry(c, entry) : NULL;
    put_entry(c->seg, entry);
    drop_given(c);
    c->from = end;
    return e;
}

lz_err *lz_segment_begin(lz_segment_call *c)
{
    const lz_segment *s = c->seg;
    c->locals = lz_mem_zalloc(s->n_local + 1, sizeof *c->locals);
    c->run_time = lz_mem_zalloc(s->n_local + 1, sizeof *c->run_time);
    if (!c->locals || !c->run_time)
        return lz_err_oom();
    for (uint32_t i = 0; i < s->n_constants; i++)
        c->locals[s->constants[i].slot] = lz_script_value_retain(s->constants[i].value);
    for (uint32_t i = 0; i < s->n_inputs; i++)
        c->locals[s->inputs[i].local] = lz_script_value_retain(c->slots[s->inputs[i].slot]);
    return NULL;
}

void lz_segment_end(lz_segment_call *c)
{
    for (uint32_t i = 0; c->locals && i < c->seg->n_local; i++)
        lz_script_value_release(c->locals[i]);
    drop_given(c);
    lz_mem_free(c->locals);
    lz_mem_free(c->run_time);
    lz_vec_deinit(&c->live);
    lz_vec_deinit(&c->given);
    lz_vec_deinit(&c->key);
    lz_vec_deinit(&c->tensors);
    lz_vec_deinit(&c->same);
    lz_vec_deinit(&c->shared);
}

static void give_outputs(lz_segment_call *c)
{
    const lz_segment *s = c->seg;
    for (uint32_t i = 0; i < s->n_outputs; i++)
        lz_script_value_set(&c->slots[s->outputs[i].slot],
                            lz_script_value_retain(c->locals[s->outputs[i].local]));
}

static lz_err *run(lz_segment_call *c)
{
    LZ_TRY(lz_segment_begin(c));
    LZ_TRY(run_part(c));
    while (c->from < c->seg->n) {
        LZ_TRY(lz_segment_run_now(c));
        LZ_TRY(run_part(c));
    }
    give_outputs(c);
    return NULL;
}

lz_err *lz_segment_run(const lz_script_program *p, lz_segment *s, lz_script_value *slots,
                       const uint32_t *dying, uint32_t ndying, lz_script_env *env)
{
    lz_segment_call c = {
        .program = p, .seg = s, .slots = slots, .dying = dying, .ndying = ndying, .env = env
    };
    lz_err *e = run(&c);
    lz_segment_end(&c);
    return c.at ? lz_script_program_error(p, c.at->node, e) : e;
}
