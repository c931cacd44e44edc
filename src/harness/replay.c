#include "base/gzip.h"
#include "base/hash.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "harness/replay_impl.h"
#include <assert.h>
#include <string.h>

enum { LZ_REPLAY_BYTES = 1 << 30 };

lz_err *lz_replay_init(lz_replay *r, const lz_replay_options *o, lz_replay_line_fn *report, void *user)
{
    static const lz_replay_options none;
    *r = (lz_replay){ .options = o ? o : &none, .report = report, .user = user };
    lz_arena_init(&r->names);
    LZ_TRY(lz_pool_create(r->options->threads, &r->threads));
    return lz_buffer_pool_create((size_t)64 << 20, &r->memory);
}

void lz_replay_deinit(lz_replay *r)
{
    lz_map_deinit(&r->tallies);
    lz_arena_deinit(&r->names);
    lz_text_deinit(&r->line);
    lz_buffer_pool_release(r->memory);
    if (r->threads)
        lz_pool_destroy(r->threads);
}

bool lz_replay_wants(const lz_replay *r, lz_str name, const lz_json *line)
{
    const lz_replay_options *o = r->options;
    return (!o->only || lz_str_is(name, o->only)) && (o->every < 2 || line->loc.line % o->every == 0);
}

lz_err *lz_replay_tally(lz_replay *r, lz_str name, lz_tally **out)
{
    lz_str copy;
    *out = lz_map_get(&r->tallies, name);
    if (*out)
        return NULL;
    LZ_TRY(lz_arena_copy(&r->names, name, &copy));
    LZ_TRY(lz_arena_new(&r->names, out, 1));
    (*out)->name = copy.ptr;
    return lz_map_put(&r->tallies, copy, *out);
}

lz_err *lz_replay_report_line(lz_replay *r)
{
    char *line;
    LZ_TRY(lz_text_take(&r->line, &line));
    r->report(r->user, line);
    lz_mem_free(line);
    return NULL;
}

lz_err *lz_replay_judge(lz_replay *r, lz_tally *t, lz_verdict v, lz_str id, lz_str why)
{
    assert(v < LZ_VERDICTS);
    static const char *const names[LZ_VERDICTS] = { "passed", "failed", "unsupported" };
    t->count[v]++;
    if (v == LZ_PASSED || !r->options->details)
        return NULL;
    lz_text_printf(&r->line, "  %.*s %s: %.*s", LZ_FMT(id), names[v], LZ_FMT(why));
    return lz_replay_report_line(r);
}

/* Replaces every NaN by the same bits: sign and payload of a NaN are not specified. */
static void level_nans(lz_array *dense)
{
    static const uint64_t infinite[LZ_DTYPE_NUMBERS] = {
        [LZ_F16] = 0x7c00, [LZ_BF16] = 0x7f80, [LZ_F32] = 0x7f800000, [LZ_F64] = 0x7ff0000000000000
    };
    lz_dtype part = lz_dtype_get(dense->dtype)->part;
    size_t size = lz_dtype_size(part), count = (size_t)dense->numel * lz_dtype_size(dense->dtype);
    uint64_t most = infinite[part];
    for (size_t at = 0; most && at < count; at += size) {
        uint8_t *p = (uint8_t *)dense->buffer->data + at;
        uint64_t bits = 0;
        memcpy(&bits, p, size);
        if ((bits & ((UINT64_C(1) << (8 * size - 1)) - 1)) > most)
            memset(p, 0xff, size);
    }
}

lz_err *lz_replay_see(lz_replay *r, lz_str id, const lz_array *a)
{
    lz_array dense;
    if (!r->options->seen)
        return NULL;
    LZ_TRY(lz_array_init_clone(&dense, NULL, a, a->dtype));
    level_nans(&dense);
    uint64_t hash = lz_hash64(dense.buffer->data, (size_t)dense.numel * lz_dtype_size(dense.dtype));
    lz_array_deinit(&dense);
    r->options->seen(r->options->seen_user, id, hash);
    return NULL;
}

lz_err *lz_replay_report_tally(lz_replay *r, const lz_tally *t)
{
    static const char *const names[LZ_VERDICTS] = { "passed", "failed", "unsupported" };
    const char *comma = "";
    lz_text_printf(&r->line, "%s: ", t->name);
    for (int v = 0; v < LZ_VERDICTS; v++) {
        if (!t->count[v])
            continue;
        lz_text_printf(&r->line, "%s%zu %s", comma, t->count[v], names[v]);
        comma = ", ";
    }
    return lz_replay_report_line(r);
}

lz_err *lz_replay_close(lz_replay *r, lz_replay_totals *out)
{
    *out = (lz_replay_totals){ 0 };
    for (lz_map_entry *e = lz_map_next(&r->tallies, NULL); e; e = lz_map_next(&r->tallies, e)) {
        const lz_tally *t = e->value;
        LZ_TRY(lz_replay_report_tally(r, t));
        assert(t->name);
        out->passed += t->count[LZ_PASSED];
        out->failed += t->count[LZ_FAILED];
        out->unsupported += t->count[LZ_UNSUPPORTED];
        out->names++;
        out->names_passed += t->count[LZ_PASSED] && !t->count[LZ_FAILED] && !t->count[LZ_UNSUPPORTED];
    }
    lz_text_printf(&r->line, "%zu passed, %zu failed, %zu unsupported", out->passed, out->failed,
                   out->unsupported);
    return lz_replay_report_line(r);
}

lz_err *lz_replay_read(const char *path, size_t *len, char **out)
{
    lz_text packed = { 0 };
    char *name;
    lz_err *e = lz_gzip_read(path, LZ_REPLAY_BYTES, len, out);
    if (lz_err_code(e) != LZ_ERR_NOT_FOUND)
        return e;
    lz_text_printf(&packed, "%s.gz", path);
    lz_err *second = lz_text_take(&packed, &name);
    if (!second) {
        second = lz_gzip_read(name, LZ_REPLAY_BYTES, len, out);
        lz_mem_free(name);
    }
    if (lz_err_code(second) == LZ_ERR_NOT_FOUND) { /* reports the plain name, not the name with ".gz" */
        lz_err_free(second);
        return e;
    }
    lz_err_free(e);
    return second;
}
