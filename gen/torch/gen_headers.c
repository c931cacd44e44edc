#include "gen/torch/gen_headers.h"
#include "base/mem.h"
#include "gen/text/utils.h"
#include <stdlib.h>

static int by_bytes(const void *a, const void *b)
{
    return lz_str_cmp(*(const lz_str *)a, *(const lz_str *)b);
}

/* The keys of a map, sorted, in the arena. */
static lz_err *sorted_keys(lz_arena *a, const lz_map *m, lz_str **out, size_t *n)
{
    *n = 0;
    LZ_TRY(lz_arena_new(a, out, lz_map_count(m)));
    for (lz_map_entry *e = lz_map_next(m, NULL); e; e = lz_map_next(m, e))
        (*out)[(*n)++] = e->key;
    if (*n)
        qsort(*out, *n, sizeof **out, by_bytes);
    return NULL;
}

/* ---- enum_tag.h ---- */

static lz_err *enum_tag(lzg_job *j, const void *arg)
{
    const lzg_torch_settings *s = arg;
    lzg_texts *tags;
    lzg_env env;
    lz_str *names;
    size_t n;
    LZ_TRY(lzg_job_texts(j, &tags));
    LZ_TRY(sorted_keys(&j->arena, &j->run->ops.tags, &names, &n));
    lzg_put_joined(&tags->text, names, n, ",\n");
    lzg_env_init(&env, &j->arena);
    lz_err *e = lzg_env_text(&env, "enum_of_valid_tags", lz_text_view(&tags->text));
    if (!e)
        e = lzg_job_template(j, s->headeronly, "enum_tag.h", "enum_tag.h", &env);
    lzg_env_deinit(&env);
    return e;
}

lz_err *lzg_plan_headers(lzg_torch_settings *s)
{
    return lzg_run_add(s->run, 1, enum_tag, s);
}
