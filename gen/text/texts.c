#include "gen/text/texts.h"

void lzg_texts_deinit(lzg_texts *t)
{
    lz_text_deinit(&t->text);
    lz_vec_deinit(&t->ends);
    *t = (lzg_texts){ 0 };
}

static size_t last_end(const lzg_texts *t)
{
    return t->ends.len ? t->ends.data[t->ends.len - 1] : 0;
}

lz_err *lzg_texts_end(lzg_texts *t)
{
    LZ_TRY(lz_text_check(&t->text));
    return lz_vec_push(&t->ends, t->text.len);
}

lz_err *lzg_texts_end_if_any(lzg_texts *t)
{
    return t->text.len > last_end(t) ? lzg_texts_end(t) : lz_text_check(&t->text);
}

size_t lzg_texts_count(const lzg_texts *t)
{
    return t->ends.len;
}

lz_str lzg_texts_item(const lzg_texts *t, size_t i)
{
    size_t from = i ? t->ends.data[i - 1] : 0;
    return lz_str_sub(lz_text_view(&t->text), from, t->ends.data[i]);
}
