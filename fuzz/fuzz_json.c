/* Any bytes are read or refused with a place inside them; what was read and written
 * reads back as the same value, in every form; lines are read as texts of their own. */
#include "base/json_write.h"
#include "json_tree.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void write(const lz_json *v, int indent, lz_text *out)
{
    lz_json_writer w;
    lz_json_writer_init(&w, out, indent);
    json_put_tree(&w, v);
    lz_err *e = lz_json_finish(&w);
    check(!e);
}

static void round_trip(lz_arena *a, const lz_json *v)
{
    lz_text first = { 0 };
    write(v, LZ_JSON_COMPACT, &first);
    for (int indent = LZ_JSON_COMPACT; indent <= 2; indent++) {
        lz_text form = { 0 }, again = { 0 };
        const lz_json *back;
        write(v, indent, &form);
        lz_err *e = lz_json_parse(a, NULL, lz_text_view(&form), &back);
        check(!e);
        write(back, LZ_JSON_COMPACT, &again);
        check(lz_str_eq(lz_text_view(&first), lz_text_view(&again)));
        lz_text_deinit(&form);
        lz_text_deinit(&again);
    }
    lz_text_deinit(&first);
}

static void look_up(const lz_json *v)
{
    for (uint32_t i = 0; v->kind == LZ_JSON_OBJECT && i < v->len; i++)
        check(lz_json_find(v, v->members[i].key) == &v->members[i].value);
}

static void read_lines(lz_arena *a, lz_str text)
{
    lz_json_lines l;
    const lz_json *v = NULL;
    int32_t last = 0;
    lz_err *e;
    lz_json_lines_init(&l, "fuzz", text);
    do {
        e = lz_json_lines_next(&l, a, &v);
        int32_t line = e ? lz_err_loc(e).line : v ? v->loc.line : INT32_MAX;
        check(line > last);
        last = line;
        lz_err_free(e);
    } while (e || v);
    lz_json_lines_deinit(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lz_str text = { (const char *)data, size };
    lz_arena a;
    const lz_json *v;
    lz_arena_init(&a);
    lz_err *e = lz_json_parse(&a, "fuzz", text, &v);
    if (e)
        check(lz_err_loc(e).line >= 1 && (size_t)lz_err_loc(e).col <= size + 1);
    else {
        look_up(v);
        round_trip(&a, v);
    }
    lz_err_free(e);
    read_lines(&a, text);
    lz_arena_deinit(&a);
    return 0;
}
