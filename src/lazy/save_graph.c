#include "lazy/save_graph.h"
#include "base/file.h"
#include "lazy/flat_text.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void put_stages(const lz_executable *r, lz_text *out)
{
    for (size_t i = 0; i < r->nstages; i++) {
        const lz_stage *s = &r->stages[i];
        if (!s->computation)
            continue;
        if (r->nstages > 1)
            lz_text_printf(out, "# stage %zu on %s\n", i, s->backend->name);
        lz_text_puts(out, s->backend->get_computation_backend_text(s->backend->self, s->computation));
        if (out->len && out->ptr[out->len - 1] != '\n')
            lz_text_putc(out, '\n');
    }
}

lz_err *lz_walk_text(const lz_walk *w, const lz_executable *r, lz_dump_form form, lz_text *out)
{
    lz_arena a;
    lz_graph_index p;
    if (form == LZ_DUMP_BACKEND) {
        put_stages(r, out);
        return lz_text_check(out);
    }
    lz_arena_init(&a);
    lz_err *e = lz_graph_index_init(&a, w->flat.words, &p);
    if (!e)
        (form == LZ_DUMP_DOT ? lz_flat_dot : lz_flat_text)(out, &p, w->nodes.data);
    lz_arena_deinit(&a);
    return e ? e : lz_text_check(out);
}

/* ---- into a file ---- */

/* Writes all in one call, so that several processes can append to one file. */
static lz_err *append(const char *path, lz_str text)
{
    /* O_NONBLOCK: a pipe without a reader is an error instead of a wait */
    int f = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644);
    if (f < 0)
        return lz_err_errno(errno, "open", path);
    int error = fcntl(f, F_SETFL, O_APPEND) != 0 ? errno : lz_fd_write(f, text);
    lz_err *e = error ? lz_err_errno(error, "write", path) : NULL;
    close(f);
    return e;
}

static void put_lines(const lz_walk *w, lz_text *out)
{
    for (size_t i = 0; i < w->results.len; i++) {
        lz_text_puts(out, "  ");
        lz_put_loc(out, lz_node_loc(w->results.data[i].node));
        lz_text_putc(out, '\n');
    }
}

static lz_err *entry(const lz_walk *w, const lz_executable *r, int form, lz_loc at, lz_text *out)
{
    char hash[LZ_HASH_CHARS];
    lz_text_puts(out, "[SyncTensorsGraph]\nSync: ");
    lz_put_loc(out, at);
    lz_text_puts(out, "\nRecorded:\n");
    put_lines(w, out);
    lz_hash_print(w->flat.hash, hash);
    lz_text_printf(out, "\nHashes: (%s)\n\n## BEGIN_GRAPH\n", hash);
    LZ_TRY(lz_walk_text(w, r, (lz_dump_form)form, out));
    lz_text_puts(out, "## END_GRAPH\n\n");
    return lz_text_check(out);
}

lz_err *lz_save_graph(lz_ctx *c, const lz_executable *r, lz_loc at)
{
    lz_text text = { 0 };
    if (!c->shared->save_file)
        return NULL;
    lz_err *e = entry(&c->syncer->walk, r, c->shared->save_form, at, &text);
    if (!e)
        e = append(c->shared->save_file, lz_text_view(&text));
    lz_text_deinit(&text);
    return e;
}
