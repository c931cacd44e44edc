#include "gen/text/fill.h"
#include <assert.h>

static const lzg_named_text *field_of(const lzg_named_text *fields, size_t n, lz_str name)
{
    for (size_t i = 0; i < n; i++)
        if (lz_str_is(name, fields[i].name))
            return &fields[i];
    return NULL;
}

void lzg_fill_fields(lz_text *out, lz_str pattern, const lzg_named_text *fields, size_t n)
{
    for (size_t hole; (hole = lz_str_find(pattern, LZ_STR("${"))) != SIZE_MAX;) {
        lz_str rest = lz_str_sub(pattern, hole + 2, pattern.len);
        size_t end = lz_str_find_char(rest, '}');
        const lzg_named_text *f = end == SIZE_MAX ? NULL : field_of(fields, n, lz_str_sub(rest, 0, end));
        assert(f);
        lz_text_add(out, lz_str_sub(pattern, 0, hole));
        if (f)
            lz_text_add(out, f->value);
        pattern = lz_str_sub(rest, end + 1, rest.len);
    }
    lz_text_add(out, pattern);
}
