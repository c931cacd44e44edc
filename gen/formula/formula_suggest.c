/* The known name that is most similar to an unknown one, for messages. */
#include "gen/formula/formula_check_impl.h"

enum { LONGEST = 64 };

/* The number of insertions, deletions, changes and swaps of neighbours between two names. */
static size_t distance(lz_str a, lz_str b)
{
    size_t rows[3][LONGEST + 1];
    for (size_t k = 0; k <= b.len; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3], *up = rows[(i + 2) % 3], *twice = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t k = 1; k <= b.len; k++) {
            bool same = a.ptr[i - 1] == b.ptr[k - 1];
            size_t best = up[k - 1] + !same;
            best = up[k] + 1 < best ? up[k] + 1 : best;
            best = row[k - 1] + 1 < best ? row[k - 1] + 1 : best;
            bool swap = i > 1 && k > 1 && a.ptr[i - 1] == b.ptr[k - 2] && a.ptr[i - 2] == b.ptr[k - 1];
            row[k] = swap && twice[k - 2] + 1 < best ? twice[k - 2] + 1 : best;
        }
    }
    return rows[a.len % 3][b.len];
}

lzg_suggestion lzg_suggest(lz_str wrong)
{
    return (lzg_suggestion){ .wrong = wrong, .distance = wrong.len / 3 + 1 };
}

/* Of the most similar names, one of equal length, else the first. */
void lzg_suggest_offer(lzg_suggestion *s, lz_str name)
{
    if (s->wrong.len > LONGEST || name.len > LONGEST || s->wrong.len == 0 || name.len == 0)
        return;
    bool tie = s->best.len == 0 || (name.len == s->wrong.len && s->best.len != s->wrong.len);
    size_t d = distance(s->wrong, name), bound = s->distance + tie;
    if (d < bound && d < name.len) {
        s->best = name;
        s->distance = d;
    }
}

void lzg_suggest_offer_functions(lzg_suggestion *s)
{
    for (int prim = 0; prim <= LZG_PRIM_BROADCAST_SHAPES; prim++)
        lzg_suggest_offer(s, lz_str_of(lzg_prim_name((lzg_prim)prim)));
}

void lzg_suggest_offer_operators(lzg_suggestion *s, const lzg_callees *t)
{
    for (const lz_map_entry *e = lz_map_next(&t->by_base, NULL); e; e = lz_map_next(&t->by_base, e))
        lzg_suggest_offer(s, e->key);
}

lz_err *lzg_suggest_text(const lzg_suggestion *s, lz_arena *a, const char **out)
{
    lz_str text;
    *out = "";
    if (s->best.len == 0)
        return NULL;
    LZ_TRY(lz_arena_printf(a, &text, " (did you mean '%.*s'?)", LZ_FMT(s->best)));
    *out = text.ptr;
    return NULL;
}
