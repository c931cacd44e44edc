/* A profile in Chrome's trace event format: one complete event ("X") per span, times in microseconds. */
#include "base/json_write.h"
#include "base/mem.h"
#include "base/profile_impl.h"
#include "base/utf8.h"
#include <string.h>
#include <unistd.h>

static bool is_utf8(lz_str s)
{
    uint32_t code;
    for (size_t n; s.len && (n = lz_utf8_decode(s, &code)) > 0;)
        s = lz_str_sub(s, n, s.len);
    return s.len == 0;
}

/* File names are bytes; JSON is UTF-8. */
static void put_bytes(lz_json_writer *w, const char *text)
{
    lz_str s = lz_str_of(text);
    char plain[512];
    size_t n = 0;
    if (is_utf8(s)) {
        lz_json_put_str(w, s);
        return;
    }
    for (; n < s.len && n < sizeof plain; n++)
        plain[n] = (unsigned char)s.ptr[n] < 0x80 ? s.ptr[n] : '?';
    lz_json_put_str(w, (lz_str){ plain, n });
}

static void put_time(lz_json_writer *w, const char *key, uint64_t ns)
{
    lz_json_member_double(w, key, (double)ns / 1000);
}

static void put_text(lz_json_writer *w, const char *key, const char *v)
{
    lz_json_put_key(w, key);
    put_bytes(w, v);
}

/* "aten::add (train.c:12 backward)" for each operator of the launch. */
static void put_sources(const lz_launch_facts *f, lz_json_writer *w, lz_text *scratch)
{
    lz_json_put_key(w, "operators");
    lz_json_begin_array(w);
    for (size_t i = 0; i < f->n; i++) {
        const lz_launch_source *s = &f->sources[i];
        lz_text_clear(scratch);
        lz_text_add(scratch, s->op);
        if (s->at.file)
            lz_text_printf(scratch, " (%s:%d%s)", s->at.file, (int)s->at.line,
                           s->at.col == LZ_COL_BACKWARD ? " backward" : "");
        lz_text_putc(scratch, '\0');
        put_bytes(w, scratch->ptr ? scratch->ptr : "");
    }
    lz_json_end_array(w);
}

static void put_launch_args(const lz_prof_launch *l, const lz_prof_event *e, lz_json_writer *w,
                            lz_text *scratch)
{
    lz_json_member_uint(w, "read", l->facts.read);
    lz_json_member_uint(w, "written", l->facts.written);
    put_text(w, "by",
             !l->facts.is_kernel ? (l->by ? l->by : "own")
             : e->compiled       ? "compiled"
                                 : "interpreted");
    if (l->facts.flops > 0) {
        lz_json_member_double(w, "flops", l->facts.flops);
    }
    put_sources(&l->facts, w, scratch);
}

static void put_span_args(const lz_prof_event *e, lz_json_writer *w)
{
    if (e->bytes)
        lz_json_member_uint(w, "bytes", e->bytes);
    if (e->file) {
        put_text(w, "file", e->file);
        lz_json_member_uint(w, "line", (uint64_t)e->line);
    }
}

static void put_event(const lz_profile *p, const lz_prof_event *e, lz_json_writer *w, lz_text *scratch)
{
    const lz_prof_launch *l = e->launch == LZ_NO_LAUNCH ? NULL : &p->launches.data[e->launch];
    const char *phase = lz_phase_names[e->phase];
    lz_json_begin_object(w);
    put_text(w, "name", l ? l->facts.name.ptr : e->name ? e->name : phase);
    put_text(w, "cat", phase);
    put_text(w, "ph", "X");
    put_time(w, "ts", e->start);
    put_time(w, "dur", e->ns);
    lz_json_member_uint(w, "pid", (uint64_t)getpid());
    lz_json_member_uint(w, "tid", e->thread);
    lz_json_put_key(w, "args");
    lz_json_begin_object(w);
    if (l)
        put_launch_args(l, e, w, scratch);
    else
        put_span_args(e, w);
    lz_json_end_object(w);
    lz_json_end_object(w);
}

static void put_thread(const lz_profile *p, size_t i, lz_json_writer *w)
{
    lz_json_begin_object(w);
    put_text(w, "name", "thread_name");
    put_text(w, "ph", "M");
    lz_json_member_uint(w, "pid", (uint64_t)getpid());
    lz_json_member_uint(w, "tid", i);
    lz_json_put_key(w, "args");
    lz_json_begin_object(w);
    put_text(w, "name", p->threads.data[i].name);
    lz_json_end_object(w);
    lz_json_end_object(w);
}

static lz_err *write_trace(const lz_profile *p, lz_text *out, lz_text *scratch)
{
    lz_json_writer w;
    lz_json_writer_init(&w, out, LZ_JSON_COMPACT);
    lz_json_begin_object(&w);
    put_text(&w, "displayTimeUnit", "ns");
    lz_json_member_uint(&w, "lost", p->lost);
    lz_json_put_key(&w, "traceEvents");
    lz_json_begin_array(&w);
    for (size_t i = 0; i < p->threads.len; i++)
        put_thread(p, i, &w);
    for (size_t i = 0; i < p->events.len; i++)
        put_event(p, &p->events.data[i], &w, scratch);
    lz_json_end_array(&w);
    lz_json_end_object(&w);
    LZ_TRY(lz_text_check(scratch));
    return lz_json_finish(&w);
}

lz_err *lz_profile_trace(const lz_profile *p, char **out)
{
    lz_text t = { 0 }, scratch = { 0 };
    lz_err *e = write_trace(p, &t, &scratch);
    lz_text_deinit(&scratch);
    if (!e)
        e = lz_text_take(&t, out);
    lz_text_deinit(&t);
    return e;
}
