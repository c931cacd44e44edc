/* Saving tensors and checkpoints: lazuli/io.h. */
#include "base/mem.h"
#include "base/number.h"
#include "io/archive.h"
#include "io/save_archive.h"
#include "lazy/ctx.h"
#include "lazy/lazy_scope.h"
#include "lazy/lazy_tensor.h"
#include "lazy/record.h"
#include <inttypes.h>
#include <lazuli/autograd.h>
#include <lazuli/ops.h>
#include <stdio.h>

typedef lz_err *write_fn(const char *path, const lz_save_list *list);

/* The tensors to save. Views are copied, so that one sync computes all views. */
typedef struct saver {
    lz_ctx *c;
    lz_loc at;
    lz_save_item *items;
    lz_tensor **tensors;
    lz_lazy_storage **roots;
    size_t n;
    bool synced;
} saver;

static lz_err *check_tensor(const lz_ctx *c, const lz_named_tensor *t)
{
    const char *wrong = !t->tensor            ? "the tensor is NULL"
                        : !t->tensor->storage ? "the tensor is inert: a call that should have made it failed"
                                              : NULL;
    if (!wrong && t->tensor->ctx != c)
        return lz_err_because(LZ_REASON_CONTEXT, "'%s': the tensor belongs to another context: lz_share it",
                              t->name ? t->name : "");
    return wrong ? lz_errf(LZ_ERR_ARG, "'%s': %s", t->name ? t->name : "", wrong) : NULL;
}

static lz_err *copy_dense(const saver *s, lz_tensor *t, lz_tensor **out)
{
    const lz_value in[] = { lz_value_tensor(t), lz_value_memory_format(LZ_CONTIGUOUS) };
    return lz_record_one(s->c, &lz_op_table[LZ_OP_clone], s->at, in, out);
}

static lz_err *collect(saver *s, lz_named_tensors list)
{
    for (size_t i = 0; i < list.n; i++) {
        lz_tensor *t = list.v[i].tensor;
        LZ_TRY(check_tensor(s->c, &list.v[i]));
        s->items[i] = (lz_save_item){ list.v[i].name, lz_tensor_dtype(t), lz_tensor_sizes(t) };
        s->tensors[i] = t;
        if (!lz_tensor_is_base(t))
            LZ_TRY(copy_dense(s, t, &s->tensors[i]));
        s->roots[i] = s->tensors[i]->storage;
    }
    return NULL;
}

/* Syncs when the first tensor is fetched: by then all names have been checked. */
static lz_err *fetch(void *user, size_t i, lz_array *out)
{
    saver *s = user;
    if (!s->synced)
        LZ_TRY(lz_ctx_sync(s->c, s->roots, s->n, LZ_CAUSE_SYNC, s->at));
    s->synced = true;
    return lz_tensor_fetch(s->tensors[i], s->at, out);
}

static lz_err *save_in(saver *s, const char *path, lz_named_tensors list, const lz_metadata *m, size_t n,
                       write_fn *write)
{
    s->n = list.n;
    s->items = lz_mem_zalloc(list.n, sizeof *s->items);
    s->tensors = lz_mem_zalloc(list.n, sizeof *s->tensors);
    s->roots = lz_mem_zalloc(list.n, sizeof *s->roots);
    if (!s->items || !s->tensors || !s->roots)
        return lz_err_oom();
    LZ_TRY(lz_err_wrap(collect(s, list), "%s", path));
    return write(path, &(lz_save_list){ s->items, list.n, fetch, s, m, n });
}

static bool save(lz_ctx *c, lz_loc at, const char *path, lz_named_tensors list, const lz_metadata *m,
                 size_t n, write_fn *write)
{
    saver s = { .c = c, .at = at };
    lz_grad_mode mode = lz_set_grad_mode(c, LZ_GRAD_OFF);
    lz_scope *scope = lz_scope_push(c);
    lz_err *e = save_in(&s, path, list, m, n, write);
    bool ok = lz_ctx_report(c, at, e);
    lz_scope_pop(scope);
    lz_set_grad_mode(c, mode);
    lz_mem_free(s.items);
    lz_mem_free(s.tensors);
    lz_mem_free(s.roots);
    return ok;
}

bool lz_save_safetensors_at(lz_ctx *c, lz_loc at, const char *path, lz_named_tensors tensors,
                            const lz_metadata *metadata, size_t n)
{
    return save(c, at, path, tensors, metadata, n, lz_safetensors_write);
}

bool(lz_save_safetensors)(lz_ctx *c, const char *path, lz_named_tensors tensors, const lz_metadata *metadata,
                          size_t n)
{
    return lz_save_safetensors_at(c, (lz_loc){ 0 }, path, tensors, metadata, n);
}

bool lz_save_npz_at(lz_ctx *c, lz_loc at, const char *path, lz_named_tensors tensors)
{
    return save(c, at, path, tensors, NULL, 0, lz_npz_write);
}

bool(lz_save_npz)(lz_ctx *c, const char *path, lz_named_tensors tensors)
{
    return lz_save_npz_at(c, (lz_loc){ 0 }, path, tensors);
}

/* ---- checkpoints ---- */

#define STEP     "lazuli.step"
#define SEED     "lazuli.random.seed"
#define POSITION "lazuli.random.position"

bool lz_save_checkpoint_at(lz_ctx *c, lz_loc at, const char *path, lz_named_tensors tensors, int64_t step)
{
    lz_random_state r = lz_get_random_state(c);
    char texts[3][LZ_INT_CHARS + 1];
    snprintf(texts[0], sizeof texts[0], "%" PRId64, step);
    snprintf(texts[1], sizeof texts[1], "%" PRIu64, r.seed);
    snprintf(texts[2], sizeof texts[2], "%" PRIu64, r.position);
    const lz_metadata m[] = { { STEP, texts[0] }, { SEED, texts[1] }, { POSITION, texts[2] } };
    return lz_save_safetensors_at(c, at, path, tensors, m, sizeof m / sizeof *m);
}

bool(lz_save_checkpoint)(lz_ctx *c, const char *path, lz_named_tensors tensors, int64_t step)
{
    return lz_save_checkpoint_at(c, (lz_loc){ 0 }, path, tensors, step);
}

static lz_err *read_state(const lz_archive *a, int64_t *step, lz_random_state *r)
{
    lz_str s = lz_str_of(lz_archive_metadata(a, STEP)), seed = lz_str_of(lz_archive_metadata(a, SEED)),
           position = lz_str_of(lz_archive_metadata(a, POSITION));
    if (lz_int64_parse(s, step) && lz_uint64_parse(seed, &r->seed) && lz_uint64_parse(position, &r->position))
        return NULL;
    return lz_errf(LZ_ERR_MODEL,
                   "%s: this is no checkpoint: its metadata have no whole numbers " STEP ", " SEED
                   " and " POSITION,
                   a->path.ptr);
}

lz_archive *lz_open_checkpoint(lz_ctx *c, const char *path, int64_t *step)
{
    lz_random_state r;
    int64_t found;
    lz_archive *a = lz_archive_open(c, path);
    lz_err *e = a ? read_state(a, &found, &r) : NULL;
    if (a && !e) {
        lz_set_random_state(c, r);
        if (step)
            *step = found;
        return a;
    }
    lz_ctx_fail(c, (lz_loc){ 0 }, e);
    lz_archive_close(a);
    return NULL;
}
