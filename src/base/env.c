#include "base/env.h"
#include "base/number.h"
#include "base/text.h"
#include <stdlib.h>

const lz_env_var lz_env_vars[LZ_ENV_COUNT] = {
#define X(id, var, what) [LZ_ENV_##id] = { .name = (var), .meaning = (what) },
    LZ_ENV_VARS(X)
#undef X
};

const char *lz_env_text(lz_env_id id)
{
    const char *v = getenv(lz_env_vars[id].name);
    return v && *v ? v : NULL;
}

lz_err *lz_env_int(lz_env_id id, int64_t least, int64_t most, int64_t *out)
{
    const char *text = lz_env_text(id);
    int64_t v;
    if (!text)
        return NULL;
    if (!lz_int64_parse(lz_str_of(text), &v) || v < least || v > most)
        return lz_errf(LZ_ERR_ARG, "%s=%s: not a whole number from %lld to %lld", lz_env_vars[id].name, text,
                       (long long)least, (long long)most);
    *out = v;
    return NULL;
}

static lz_err *unknown_word(lz_env_id id, const char *text, const char *const *words)
{
    lz_text list = { 0 };
    for (int i = 0; words[i]; i++)
        lz_text_printf(&list, "%s%s", i ? ", " : "", words[i]);
    lz_err *e = lz_text_check(&list);
    if (!e)
        e = lz_errf(LZ_ERR_ARG, "%s=%s: not one of %.*s", lz_env_vars[id].name, text,
                    LZ_FMT(lz_text_view(&list)));
    lz_text_deinit(&list);
    return e;
}

lz_err *lz_env_word(lz_env_id id, const char *const *words, int *out)
{
    const char *text = lz_env_text(id);
    if (!text)
        return NULL;
    for (int i = 0; words[i]; i++)
        if (lz_str_is(lz_str_of(text), words[i])) {
            *out = i;
            return NULL;
        }
    return unknown_word(id, text, words);
}
