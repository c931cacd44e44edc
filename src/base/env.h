/* env.h - the environment variables that Lazuli listens to, all of them, in one
 * table: `lazuli env` prints it, and nothing else may call getenv. */
#ifndef LZ_BASE_ENV_H
#define LZ_BASE_ENV_H

#include "base/err.h"

/* id, name, what it means */
#define LZ_ENV_VARS(X)                                                                                       \
    X(THREADS, "LAZULI_THREADS", "worker threads, from 1; by default one for each CPU the process may use")  \
    X(LOG, "LAZULI_LOG",                                                                                     \
      "what the command writes to standard error: off (the default), error, warn, info, debug")

typedef enum lz_env_id {
#define X(id, name, meaning) LZ_ENV_##id,
    LZ_ENV_VARS(X)
#undef X
        LZ_ENV_COUNT
} lz_env_id;

typedef struct lz_env_var {
    const char *name, *meaning;
} lz_env_var;

extern const lz_env_var lz_env_vars[LZ_ENV_COUNT];

/* The value, or NULL when unset or empty. */
const char *lz_env_text(lz_env_id id);

/* A whole number within [least, most]; *out is left alone when the variable is unset. */
LZ_MUST_USE lz_err *lz_env_int(lz_env_id id, int64_t least, int64_t most, int64_t *out);

/* One of the words, as its index; *out is left alone when unset. */
LZ_MUST_USE lz_err *lz_env_word(lz_env_id id, const char *const *words, int *out);

#endif
