#include "base/env.h"
#include "base/number.h"
#include "base/text.h"
#include <stdlib.h>
#include <unistd.h>

const lz_env_var lz_env_vars[LZ_ENV_COUNT] = {
#define X(id, var, what) [LZ_ENV_##id] = { .name = (var), .meaning = (what) },
    LZ_ENV_VARS(X)
#undef X
};

const lz_env_var lz_env_no_effect[] = {
#define X(var, why) { .name = (var), .meaning = (why) },
    LZ_ENV_NO_EFFECT(X)
#undef X
        { .name = NULL }
};

bool lz_env_is_set(const lz_env_var *v)
{
    const char *value = getenv(v->name);
    return value && *value;
}

const char *lz_env_text(lz_env_id id)
{
    const char *v = getenv(lz_env_vars[id].name);
    return v && *v ? v : NULL;
}

static bool is_stray(lz_str name)
{
    bool known = !lz_str_starts(name, LZ_STR("LAZULI_")) && !lz_str_starts(name, LZ_STR("LTC_"));
    for (size_t i = 0; !known && i < LZ_ENV_COUNT; i++)
        known = lz_str_is(name, lz_env_vars[i].name);
    for (const lz_env_var *v = lz_env_no_effect; !known && v->name; v++)
        known = lz_str_is(name, v->name);
    return !known;
}

lz_str lz_env_stray(size_t i)
{
    for (char **entry = environ; entry && *entry; entry++) {
        bool more;
        lz_str rest = lz_str_of(*entry), name = lz_str_cut(&rest, LZ_STR("="), &more);
        if (is_stray(name) && i-- == 0)
            return name;
    }
    return (lz_str){ NULL, 0 };
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

static bool parse_bytes(lz_str s, uint64_t *out)
{
    static const char letters[] = "KMGT";
    unsigned shift = 0;
    for (unsigned i = 0; s.len && letters[i]; i++)
        if ((s.ptr[s.len - 1] & ~32) == letters[i])
            shift = 10 * (i + 1);
    uint64_t v;
    if (!lz_uint64_parse(lz_str_sub(s, 0, s.len - (shift != 0)), &v) || v > (uint64_t)INT64_MAX >> shift)
        return false;
    *out = v << shift;
    return true;
}

lz_err *lz_env_bytes(lz_env_id id, uint64_t *out)
{
    const char *text = lz_env_text(id);
    if (text && !parse_bytes(lz_str_of(text), out))
        return lz_errf(LZ_ERR_ARG, "%s=%s: not a number of bytes such as 1000000, 512K, 256M or 1G",
                       lz_env_vars[id].name, text);
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
