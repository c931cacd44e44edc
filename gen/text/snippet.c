#include "gen/text/snippet.h"
#include "gen/text/identifiers.h"
#include "gen/text/utils.h"

void lzg_snippets_init(lzg_snippets *s, lz_arena *arena)
{
    *s = (lzg_snippets){ .arena = arena };
}

void lzg_snippets_deinit(lzg_snippets *s)
{
    lz_text_deinit(&s->text);
    lz_err_free(s->error);
    *s = (lzg_snippets){ 0 };
}

lz_err *lzg_snippets_check(lzg_snippets *s)
{
    lz_err *e = s->error;
    s->error = NULL;
    return e;
}

bool lzg_snippets_ok(lzg_snippets *s, lz_err *e)
{
    s->error = lz_err_first(s->error, e);
    return !e;
}

lz_str lzg_snippet_take(lzg_snippets *s)
{
    lz_str piece = { "", 0 };
    if (lzg_snippets_ok(s, lz_text_save(&s->text, s->arena, &piece)))
        return piece;
    lz_text_clear(&s->text);
    return (lz_str){ "", 0 };
}

lz_str lzg_snippet_with(lzg_snippets *s, lz_str pattern, const lzg_named_text *parts, size_t n)
{
    lzg_expand_with(&s->text, pattern, parts, n);
    return lzg_snippet_take(s);
}

lz_str lzg_raw_snippet_with(lzg_snippets *s, lz_str pattern, const lzg_named_text *fields, size_t n)
{
    lzg_fill_fields(&s->text, pattern, fields, n);
    return lzg_snippet_take(s);
}

lz_str lzg_phrase_with(lzg_snippets *s, lz_str pattern, const lz_str *values, size_t n)
{
    lzg_fill_with(&s->text, pattern, values, n);
    return lzg_snippet_take(s);
}

lz_str lzg_snippet_int(lzg_snippets *s, int64_t v)
{
    lz_text_int(&s->text, v);
    return lzg_snippet_take(s);
}

lz_str lzg_snippet_type(lzg_snippets *s, const lzg_ctype *t)
{
    lzg_ctype_print(t, &s->text);
    return lzg_snippet_take(s);
}

lz_str lzg_snippet_upper(lzg_snippets *s, lz_str text)
{
    lzg_put_upper(&s->text, text);
    return lzg_snippet_take(s);
}

lz_str lzg_snippet_replace(lzg_snippets *s, lz_str text, lz_str what, lz_str with)
{
    lzg_snippets_ok(s, lzg_replace_all(s->arena, text, what, with, &text));
    return text;
}

void lzg_pieces_add(lzg_snippets *s, lzg_pieces *to, lz_str piece)
{
    lzg_item *item;
    if (!lzg_snippets_ok(s, lz_arena_new(s->arena, &item, 1)))
        return;
    item->text = piece;
    if (to->last)
        to->last->next = item;
    else
        to->first = item;
    to->last = item;
    to->n++;
}

lz_str lzg_pieces_join(lzg_snippets *s, const lzg_pieces *pieces, const char *separator)
{
    for (const lzg_item *i = pieces->first; i; i = i->next) {
        lz_text_add(&s->text, i->text);
        lz_text_puts(&s->text, i->next ? separator : "");
    }
    return lzg_snippet_take(s);
}

lz_str lzg_pieces_lines(lzg_snippets *s, const lzg_pieces *pieces)
{
    for (const lzg_item *i = pieces->first; i; i = i->next) {
        lz_text_add(&s->text, i->text);
        if (i->text.len && i->text.ptr[i->text.len - 1] != '\n')
            lz_text_putc(&s->text, '\n');
    }
    return lzg_snippet_take(s);
}
