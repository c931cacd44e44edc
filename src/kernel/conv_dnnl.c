#include "kernel/conv_dnnl.h"
#include "base/foreign.h"
#include "base/lock.h"
#include "base/mem.h"
#include "kernel/dnnl.h"
#include <assert.h>
#include <string.h>

enum { X, W, Y, ROLES, ALIGN = 64 };

/* ---- a primitive, and the reorders into its layouts ---- */

typedef struct entry {
    lz_conv_shape key; /* n: images of one part */
    int users;
    uint64_t used; /* time of last use */
    const lz_dnnl *d;
    void *pd, *conv;
    void *reorder[ROLES]; /* into the primitive's layout; for the result out of it; NULL: same layout */
    lz_dnnl_md plain[ROLES];
    const lz_dnnl_md *laid[ROLES], *pad; /* owned by pd */
    size_t size[ROLES];                  /* bytes in the primitive's layout, if it differs */
    size_t scratch;
} entry;

static const int results[] = { [LZ_CONV_FORWARD] = Y, [LZ_CONV_INPUT] = X, [LZ_CONV_WEIGHT] = W };

static int fill_dims(const lz_conv_shape *s, int role, int64_t *out)
{
    int n = 0;
    const int64_t *last = role == X ? s->in : role == W ? s->window : s->out;
    if (role == W && s->groups > 1)
        out[n++] = s->groups;
    out[n++] = role == W ? s->cout : s->n;
    out[n++] = role == W ? s->cin : s->groups * (role == X ? s->cin : s->cout);
    for (int64_t i = LZ_CONV_DIMS - s->d; i < LZ_CONV_DIMS; i++)
        out[n++] = last[i];
    return n;
}

static int64_t window_of(const lz_conv_shape *s)
{
    return s->window[0] * s->window[1] * s->window[2];
}

/* Does it pay to reorder arrays into a layout of oneDNN's choice and back? Without it, oneDNN unrolls windows
 * and multiplies. Microseconds on one Zen 4 core, plain layout / reordered: 64 to 64 channels of 56 x 56,
 * window 3, 8 images: 23845 / 19027, gradients 28005 / 17856 and 36062 / 20044; 64 groups of one channel, 28
 * x 28: 1916 / 421; window 1, 256 to 64, 28 x 28: 1892 / 3569; 1 to 32 channels, 28 x 28, 64 images: 510 /
 * 1272, gradients 984 / 4769 and 1267 / 1067. */
static bool brings_over(const lz_conv_shape *s)
{
    enum { CHANNELS = 16 };
    if (window_of(s) == 1)
        return false;
    bool wide = s->cin >= CHANNELS && s->cout >= CHANNELS, single = s->groups > 1 && s->cin == 1;
    return wide || single || s->kind == LZ_CONV_WEIGHT;
}

static int describe(entry *e, lz_dnnl_md asked[ROLES])
{
    int status = 0;
    for (int role = 0; role < ROLES && !status; role++) {
        int64_t dims[LZ_DNNL_DIMS], strides[LZ_DNNL_DIMS], step = 1;
        int n = fill_dims(&e->key, role, dims);
        for (int i = n; i-- > 0; step *= dims[i])
            strides[i] = step;
        status = e->d->md_strides(&e->plain[role], n, dims, LZ_DNNL_F32, strides);
        asked[role] = e->plain[role];
        if (!status && (brings_over(&e->key) || role == W))
            status = e->d->md_tag(&asked[role], n, dims, LZ_DNNL_F32, LZ_DNNL_ANY);
    }
    return status;
}

typedef struct geometry {
    int64_t stride[LZ_CONV_DIMS], dilation[LZ_CONV_DIMS], before[LZ_CONV_DIMS], behind[LZ_CONV_DIMS];
} geometry;

/* Only the last d dimensions. oneDNN counts dilations from 0. */
static geometry geometry_of(const lz_conv_shape *s)
{
    geometry g = { 0 };
    for (int64_t i = LZ_CONV_DIMS - s->d, k = 0; i < LZ_CONV_DIMS; i++, k++) {
        int64_t reach = (s->window[i] - 1) * s->dilation[i] + 1;
        int64_t behind = (s->out[i] - 1) * s->stride[i] + reach - s->in[i] - s->padding[i];
        g.stride[k] = s->stride[i];
        g.dilation[k] = s->dilation[i] - 1;
        g.before[k] = s->padding[i];
        g.behind[k] = behind > 0 ? behind : 0;
    }
    return g;
}

static int make_desc(const entry *e, const lz_dnnl_md md[ROLES], int64_t kind, lz_dnnl_desc *out)
{
    geometry g = geometry_of(&e->key);
    if (kind == LZ_CONV_FORWARD)
        return e->d->conv_forward(out, e->key.kind == LZ_CONV_FORWARD ? LZ_DNNL_INFERENCE : LZ_DNNL_TRAINING,
                                  LZ_DNNL_DIRECT, &md[X], &md[W], NULL, &md[Y], g.stride, g.dilation,
                                  g.before, g.behind);
    if (kind == LZ_CONV_INPUT)
        return e->d->conv_data(out, LZ_DNNL_DIRECT, &md[X], &md[W], &md[Y], g.stride, g.dilation, g.before,
                               g.behind);
    return e->d->conv_weights(out, LZ_DNNL_DIRECT, &md[X], &md[W], NULL, &md[Y], g.stride, g.dilation,
                              g.before, g.behind);
}

/* Creates the primitive descriptor; a gradient needs the forward descriptor as a hint. */
static int make_pd(const entry *e, const lz_dnnl_md md[ROLES], void **out)
{
    lz_dnnl_desc *desc = lz_mem_alloc_aligned(sizeof *desc, _Alignof(lz_dnnl_desc));
    void *attr = NULL, *hint = NULL;
    int64_t kind = e->key.kind;
    int status = desc ? e->d->attr_create(&attr) : 1;
    status = status ? status : e->d->attr_scratchpad(attr, LZ_DNNL_USER_SCRATCHPAD);
    if (!status && kind != LZ_CONV_FORWARD) {
        status = make_desc(e, md, LZ_CONV_FORWARD, desc);
        status = status ? status : e->d->pd_create(&hint, desc, attr, e->d->engine, NULL);
    }
    status = status ? status : make_desc(e, md, kind, desc);
    status = status ? status : e->d->pd_create(out, desc, attr, e->d->engine, hint);
    if (hint)
        e->d->pd_destroy(hint);
    if (attr)
        e->d->attr_destroy(attr);
    lz_mem_free(desc);
    return status;
}

static int make_reorder(entry *e, int role)
{
    void *pd;
    bool result = role == results[e->key.kind];
    const lz_dnnl_md *from = result ? e->laid[role] : &e->plain[role];
    const lz_dnnl_md *to = result ? &e->plain[role] : e->laid[role];
    e->size[role] = e->d->md_size(e->laid[role]);
    int status = e->d->reorder(&pd, from, e->d->engine, to, e->d->engine, NULL);
    if (status)
        return status;
    status = e->d->create(&e->reorder[role], pd);
    e->d->pd_destroy(pd);
    return status;
}

static const lz_dnnl_md *laid_md(const entry *e, int role)
{
    static const int plain[] = { LZ_DNNL_QUERY_SRC, LZ_DNNL_QUERY_WEIGHTS, LZ_DNNL_QUERY_DST };
    bool forward = e->key.kind == LZ_CONV_FORWARD,
         gradient = !forward && (role == Y || role == results[e->key.kind]);
    return e->d->pd_md(e->pd, plain[role] + (gradient ? 1 : 0), 0);
}

static int make(entry *e)
{
    lz_dnnl_md asked[ROLES];
    int status = describe(e, asked);
    status = status ? status : make_pd(e, asked, &e->pd);
    for (int role = 0; role < ROLES && !status; role++) {
        e->laid[role] = laid_md(e, role);
        if (e->d->md_equal(e->laid[role], &e->plain[role]) != 1)
            status = make_reorder(e, role);
    }
    if (status)
        return status;
    e->pad = e->d->pd_md(e->pd, LZ_DNNL_QUERY_SCRATCHPAD, 0);
    e->scratch = e->d->md_size(e->pad);
    return e->d->create(&e->conv, e->pd);
}

/* During process exit oneDNN's objects are not destroyed: its code must no longer be called. */
static void destroy(entry *e)
{
    if (!lz_foreign_enter()) {
        lz_mem_free(e);
        return;
    }
    for (int role = 0; role < ROLES; role++)
        if (e->reorder[role])
            e->d->destroy(e->reorder[role]);
    if (e->conv)
        e->d->destroy(e->conv);
    if (e->pd)
        e->d->pd_destroy(e->pd);
    lz_foreign_leave();
    lz_mem_free(e);
}

/* ---- cached primitives ---- */

static struct {
    lz_lock lock;
    entry *all[LZ_CONV_KEPT];
    int n;
    uint64_t now;
} kept = { .lock = LZ_LOCK_INIT };

/* With the lock held. */
static entry *find(const lz_conv_shape *s)
{
    for (int i = 0; i < kept.n; i++)
        if (memcmp(&kept.all[i]->key, s, sizeof *s) == 0) {
            kept.all[i]->users++;
            kept.all[i]->used = ++kept.now;
            return kept.all[i];
        }
    return NULL;
}

static void release(entry *e)
{
    lz_lock_take(&kept.lock);
    bool last = --e->users == 0;
    lz_lock_give(&kept.lock);
    if (last)
        destroy(e);
}

/* Caches the primitive; the cache counts as a user. Replaces the least recently used one if the cache is
 * full. */
static void keep(entry *e)
{
    entry *old = NULL;
    int at = 0;
    lz_lock_take(&kept.lock);
    for (int i = 0; i < kept.n; i++)
        at = kept.all[i]->used < kept.all[at]->used ? i : at;
    if (kept.n < LZ_CONV_KEPT)
        at = kept.n++;
    else
        old = kept.all[at];
    assert(at < kept.n && kept.n <= LZ_CONV_KEPT && e->users > 0);
    kept.all[at] = e;
    e->users++;
    e->used = ++kept.now;
    lz_lock_give(&kept.lock);
    if (old)
        release(old);
}

/* *out NULL: oneDNN does not support the shape. Two threads may create equal primitives: both are cached, and
 * one is evicted later. */
static lz_err *get(const lz_dnnl *d, const lz_conv_shape *s, entry **out)
{
    lz_lock_take(&kept.lock);
    *out = find(s);
    lz_lock_give(&kept.lock);
    if (*out)
        return NULL;
    entry *e = lz_mem_zalloc(1, sizeof *e);
    if (!e)
        return lz_err_oom();
    e->key = *s;
    e->d = d;
    e->users = 1;
    if (make(e)) {
        destroy(e);
        return NULL;
    }
    keep(e);
    *out = e;
    return NULL;
}

/* ---- running ---- */

typedef struct job {
    const entry *e;
    float *data[ROLES];
    int64_t part[ROLES]; /* elements from one part to the next */
    void *laid_w;        /* the weight, reordered once for all parts; NULL if it needs no reorder */
    float *sums;         /* gradient of the weight: the sums of the second and later parts */
    int64_t parts;
    char *room; /* scratch of all workers */
    size_t each;
} job;

static size_t round_up(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static int execute(const lz_dnnl *d, const void *primitive, void *stream, const lz_dnnl_md *const *md,
                   void *const *data, const int *args, int n)
{
    lz_dnnl_arg list[ROLES + 1];
    int status = 0, made = 0;
    for (; made < n && !status; made++) {
        list[made].arg = args[made];
        status = d->memory_create(&list[made].memory, md[made], d->engine, data[made]);
    }
    made -= status != 0;
    status = status ? status : d->execute(primitive, stream, n, list);
    while (made-- > 0)
        d->memory_destroy(list[made].memory);
    return status;
}

static int bring(const entry *e, int role, void *stream, void *plain, void *laid)
{
    static const int args[] = { LZ_DNNL_ARG_SRC, LZ_DNNL_ARG_DST };
    bool result = role == results[e->key.kind];
    const lz_dnnl_md *md[] = { result ? e->laid[role] : &e->plain[role],
                               result ? &e->plain[role] : e->laid[role] };
    void *data[] = { result ? laid : plain, result ? plain : laid };
    return execute(e->d, e->reorder[role], stream, md, data, args, 2);
}

static int convolve(const entry *e, void *stream, void *const data[ROLES], void *pad)
{
    static const int args[][ROLES + 1] = {
        [LZ_CONV_FORWARD] = { LZ_DNNL_ARG_SRC, LZ_DNNL_ARG_WEIGHTS, LZ_DNNL_ARG_DST, LZ_DNNL_ARG_SCRATCHPAD },
        [LZ_CONV_INPUT] = { LZ_DNNL_ARG_DIFF_SRC, LZ_DNNL_ARG_WEIGHTS, LZ_DNNL_ARG_DIFF_DST,
                            LZ_DNNL_ARG_SCRATCHPAD },
        [LZ_CONV_WEIGHT] = { LZ_DNNL_ARG_SRC, LZ_DNNL_ARG_DIFF_WEIGHTS, LZ_DNNL_ARG_DIFF_DST,
                             LZ_DNNL_ARG_SCRATCHPAD },
    };
    const lz_dnnl_md *md[] = { e->laid[X], e->laid[W], e->laid[Y], e->pad };
    void *all[] = { data[X], data[W], data[Y], pad };
    return execute(e->d, e->conv, stream, md, all, args[e->key.kind], e->scratch ? 4 : 3);
}

static float *plain_of(const job *j, int role, int64_t part)
{
    if (j->e->key.kind == LZ_CONV_WEIGHT && role == W && part > 0)
        return j->sums + (part - 1) * j->part[W];
    return j->data[role] + (role == W ? 0 : part * j->part[role]);
}

static int do_part(const job *j, int64_t part, char *room, void *stream)
{
    const entry *e = j->e;
    void *data[ROLES], *laid[ROLES];
    int status = 0, result = results[e->key.kind];
    for (int role = 0; role < ROLES; role++) {
        bool done = role == W && j->laid_w;
        laid[role] = done ? j->laid_w : room;
        room += e->reorder[role] && !done ? round_up(e->size[role]) : 0;
        data[role] = e->reorder[role] ? laid[role] : plain_of(j, role, part);
        if (e->reorder[role] && role != result && !done && !status)
            status = bring(e, role, stream, plain_of(j, role, part), laid[role]);
    }
    status = status ? status : convolve(e, stream, data, room);
    if (e->reorder[result] && !status)
        status = bring(e, result, stream, plain_of(j, result, part), laid[result]);
    return status;
}

static lz_err *failed(int status)
{
    return status == 1 ? lz_err_oom()
                       : lz_errf(LZ_ERR_UNSUPPORTED, "oneDNN: a convolution failed with status %d", status);
}

static lz_err *do_parts(void *user, int64_t begin, int64_t end, int worker)
{
    const job *j = user;
    void *stream = NULL;
    const lz_dnnl *d = j->e->d;
    int before = lz_dnnl_enter(d);
    if (before < 0)
        return lz_foreign_ended("oneDNN");
    int status = d->stream_create(&stream, d->engine, LZ_DNNL_IN_ORDER);
    for (int64_t i = begin; i < end && !status; i++)
        status = do_part(j, i, j->room + (size_t)worker * j->each, stream);
    if (stream)
        d->stream_destroy(stream);
    lz_dnnl_leave(d, before);
    return status ? failed(status) : NULL;
}

static lz_err *add_sums(void *user, int64_t begin, int64_t end, int worker)
{
    const job *j = user;
    (void)worker;
    for (int64_t p = 1; p < j->parts; p++)
        for (int64_t i = begin; i < end; i++)
            j->data[W][i] += plain_of(j, W, p)[i];
    return NULL;
}

static lz_err *bring_weight(const job *j)
{
    void *stream = NULL;
    const lz_dnnl *d = j->e->d;
    int before = lz_dnnl_enter(d);
    if (before < 0)
        return lz_foreign_ended("oneDNN");
    int status = d->stream_create(&stream, d->engine, LZ_DNNL_IN_ORDER);
    status = status ? status : bring(j->e, W, stream, j->data[W], j->laid_w);
    if (stream)
        d->stream_destroy(stream);
    lz_dnnl_leave(d, before);
    return status ? failed(status) : NULL;
}

static lz_err *run(job *j, lz_pool *pool)
{
    enum { GRAIN = 16384 };
    if (j->laid_w)
        LZ_TRY(bring_weight(j));
    LZ_TRY(lz_pool_for(pool, j->parts, 1, do_parts, j));
    return j->sums ? lz_pool_for(pool, j->part[W], GRAIN, add_sums, j) : NULL;
}

/* Allocates per worker the arrays in other layouts and oneDNN's scratch; and once the reordered weight and
 * the sums. */
static lz_err *run_with_room(job *j, lz_pool *pool)
{
    const entry *e = j->e;
    bool gradient = e->key.kind == LZ_CONV_WEIGHT, weight = e->reorder[W] && !gradient;
    j->each = round_up(e->scratch);
    for (int role = 0; role < ROLES; role++)
        j->each += e->reorder[role] && !(role == W && weight) ? round_up(e->size[role]) : 0;
    size_t workers = (size_t)lz_pool_threads(pool) * j->each, laid = weight ? round_up(e->size[W]) : 0;
    size_t sums = gradient ? (size_t)((j->parts - 1) * j->part[W]) * sizeof(float) : 0;
    char *room = lz_temporary_take(workers + laid + sums, ALIGN);
    if (!room)
        return lz_err_oom();
    j->room = room;
    j->laid_w = weight ? room + workers : NULL;
    j->sums = sums ? (float *)(void *)(room + workers + laid) : NULL;
    lz_err *err = run(j, pool);
    lz_temporary_give(room);
    return err;
}

static double products(const lz_conv_shape *s)
{
    double n = (double)s->n * (double)s->groups * (double)s->cin * (double)s->cout * (double)window_of(s);
    return n * (double)s->out[0] * (double)s->out[1] * (double)s->out[2];
}

/* Elements read and written: most of the cost if each channel is convolved separately. */
static double elements(const lz_conv_shape *s)
{
    double in = (double)s->cin * (double)s->in[0] * (double)s->in[1] * (double)s->in[2];
    double out = (double)s->cout * (double)s->out[0] * (double)s->out[1] * (double)s->out[2];
    return (double)s->n * (double)s->groups * (in + out);
}

static int64_t times(int64_t n, int64_t part)
{
    return part > 1 ? n / part : n;
}

/* Images of a part: a divisor of n, so that one primitive serves all parts. */
static int64_t images_of(const lz_conv_shape *s)
{
    enum { PART = 1 << 22, PARTS = 16, SUM_PART = 1 << 24, SUM_PARTS = 4, PRODUCTS_AN_ELEMENT = 16 };
    bool sums = s->kind == LZ_CONV_WEIGHT;
    double wanted = sums ? products(s) / SUM_PART : (products(s) + PRODUCTS_AN_ELEMENT * elements(s)) / PART;
    int64_t most = sums ? SUM_PARTS : PARTS, parts = wanted > (double)most ? most : (int64_t)wanted;
    int64_t images = parts > 1 ? (s->n + parts - 1) / parts : s->n;
    images = images > 0 ? images : 1;
    while (images > 1 && s->n % images)
        images--;
    return sums && times(s->n, images) > (int64_t)2 * SUM_PARTS ? s->n : images;
}

lz_err *lz_conv_dnnl(const lz_conv_shape *s, float *const arrays[LZ_CONV_ARRAYS], lz_pool *pool, bool *done)
{
    const lz_dnnl *d;
    entry *e;
    lz_conv_shape part = *s;
    *done = false;
    lz_err *err = lz_dnnl_get(&d);
    if (lz_err_must_surface(err))
        return err;
    if (err) {
        lz_err_free(err);
        return NULL;
    }
    if (!lz_dnnl_has_room())
        return NULL;
    part.n = images_of(s);
    int before = lz_dnnl_enter(d); /* primitives depend on the number of threads */
    if (before < 0)
        return NULL;
    err = get(d, &part, &e);
    lz_dnnl_leave(d, before);
    if (err || !e)
        return err;
    job j = { .e = e, .data = { arrays[X], arrays[W], arrays[Y] }, .parts = times(s->n, part.n) };
    j.part[X] = part.n * s->groups * s->cin * s->in[0] * s->in[1] * s->in[2];
    j.part[W] = s->groups * s->cout * s->cin * window_of(s);
    j.part[Y] = part.n * s->groups * s->cout * s->out[0] * s->out[1] * s->out[2];
    err = run_with_room(&j, pool);
    release(e);
    *done = !err;
    return err;
}
