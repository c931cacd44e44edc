/* Counts the contents of a derivatives file, for `lazuli gen dump`. */
#include "gen/derivative/load_derivatives.h"
#include <stdlib.h>

static bool has_value(const lzg_yaml *entry, const char *word)
{
    return entry->kind == LZG_YAML_STR && lz_str_is(entry->text, word);
}

static void count_entry(const lzg_yaml *entry, lzg_derivative_counts *c)
{
    c->with_dispatch += lzg_yaml_get(entry, LZ_STR("dispatch")) != NULL;
    c->output_differentiability += lzg_yaml_get(entry, LZ_STR("output_differentiability")) != NULL;
    for (size_t i = 0; i < entry->len; i++) {
        c->auto_linear += has_value(entry->items[2 * i + 1], "auto_linear");
        c->auto_element_wise += has_value(entry->items[2 * i + 1], "auto_element_wise");
    }
}

static void count_infos(const lzg_diff_infos *infos, lzg_derivative_counts *c)
{
    c->infos++;
    for (size_t i = 0; i < infos->len; i++) {
        c->formulas += infos->data[i].nderivatives;
        c->nodes += infos->data[i].node.ptr != NULL;
    }
}

static int by_text(const void *a, const void *b)
{
    return lz_str_cmp(*(const lz_str *)a, *(const lz_str *)b);
}

static lz_err *sort_keys(lzg_derivatives *t, lzg_names *out)
{
    lz_str *keys;
    size_t n = 0;
    LZ_TRY(lz_arena_new(&t->arena, &keys, lz_map_count(&t->keys)));
    for (const lz_map_entry *e = lz_map_next(&t->keys, NULL); e; e = lz_map_next(&t->keys, e))
        keys[n++] = e->key;
    qsort(keys, n, sizeof *keys, by_text);
    *out = (lzg_names){ keys, n };
    return NULL;
}

lz_err *lzg_derivatives_count(lzg_derivatives *t, const lzg_yaml *entries, lzg_derivative_counts *out)
{
    *out = (lzg_derivative_counts){ .entries = entries->len };
    for (size_t i = 0; i < entries->len; i++)
        if (entries->items[i]->kind == LZG_YAML_MAP)
            count_entry(entries->items[i], out);
    for (const lz_map_entry *e = lz_map_next(&t->infos, NULL); e; e = lz_map_next(&t->infos, e))
        count_infos(e->value, out);
    for (size_t i = 0; i < t->nfunctions; i++)
        out->rows += t->functions[i].infos ? t->functions[i].infos->len : 0;
    return sort_keys(t, &out->keys);
}
