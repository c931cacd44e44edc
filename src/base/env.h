/* env.h - the environment variables that Lazuli listens to, all of them, in one
 * table: `lazuli env` prints it, and nothing else may call getenv. */
#ifndef LZ_BASE_ENV_H
#define LZ_BASE_ENV_H

#include "base/err.h"

/* id, name, what it means */
#define LZ_ENV_VARS(X)                                                                                       \
    X(THREADS, "LAZULI_THREADS", "worker threads, from 1; by default one for each CPU the process may use")  \
    X(BLAS, "LAZULI_BLAS", "whose matrix products: auto (the default), own, openblas, onednn")               \
    X(JIT, "LAZULI_JIT", "machine code for kernels: off, background (the default: of what is hot), now")     \
    X(TS_CUDA, "LAZULI_TS_CUDA",                                                                             \
      "set to anything: device \"cpu\" means a CUDA device, and fails without one")                          \
    X(LTC_TS_CUDA, "LTC_TS_CUDA", "the same, by its name in PyTorch")                                        \
    X(DEBUG, "LAZULI_DEBUG",                                                                                 \
      "1: use after release, two threads in a context, scopes popped twice, leaks; slow")                    \
    X(LOG, "LAZULI_LOG",                                                                                     \
      "what the command writes to standard error: off (the default), error, warn, info, debug")              \
    X(BACKEND, "LAZULI_BACKEND", "shared objects with backends to load, with colons between")                \
    X(DEVICE, "LAZULI_DEVICE", "the device of a context that names none: cpu, npu:1")                        \
    X(FORCE_FALLBACK, "LAZULI_FORCE_FALLBACK",                                                               \
      "operators that run on the CPU whatever the device can: aten::sub,aten::mul")                          \
    X(LTC_FORCE_FALLBACK, "LTC_FORCE_FALLBACK", "the same, by its name in the original")                     \
    X(SAVE_TENSORS_FILE, "LAZULI_SAVE_TENSORS_FILE", "a file to which every synced graph is added")          \
    X(LTC_SAVE_TENSORS_FILE, "LTC_SAVE_TENSORS_FILE", "the same, by its name in the original")               \
    X(SAVE_TENSORS_FMT, "LAZULI_SAVE_TENSORS_FMT", "how graphs are saved: text (the default), dot, backend") \
    X(LTC_SAVE_TENSORS_FMT, "LTC_SAVE_TENSORS_FMT", "the same, by its name in the original")                 \
    X(INJECT_FAILURE, "LAZULI_INJECT_FAILURE", "an operator that fails whenever a graph with it runs")       \
    X(PROFILE, "LAZULI_PROFILE",                                                                             \
      "a file for the profile of the process, written at exit: .json gets a trace, others tables")           \
    X(PERF_MAP, "LAZULI_PERF_MAP", "1: names of compiled kernels for perf, in /tmp/perf-PID.map")            \
    X(LLVM, "LAZULI_LLVM", "the LLVM library to compile kernels with: a path or a name")                     \
    X(CPU, "LAZULI_CPU", "the vector extension to compile kernels for: sse4, avx2, avx512")                  \
    X(CACHE, "LAZULI_CACHE", "whether compiled kernels are kept between processes: on (the default), off")   \
    X(CACHE_DIR, "LAZULI_CACHE_DIR", "where they are kept; by default lazuli in the user's cache folder")    \
    X(CACHE_SIZE, "LAZULI_CACHE_SIZE", "how many bytes of them: 1000000, 512K, 256M (the default), 1G")      \
    X(GRAPHS_SIZE, "LAZULI_GRAPHS_SIZE",                                                                     \
      "how many bytes of compiled graphs a process keeps: 64M, 256M (the default), 1G")

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

/* The i-th name in the environment that begins with LAZULI_ and means nothing: probably misspelt. Empty:
 * there is no such i. */
lz_str lz_env_stray(size_t i);

/* A whole number within [least, most]; *out is left alone when the variable is unset. */
LZ_MUST_USE lz_err *lz_env_int(lz_env_id id, int64_t least, int64_t most, int64_t *out);

/* A number of bytes: 1000000, 512K, 256M, 1G; *out is left alone when the variable is unset. */
LZ_MUST_USE lz_err *lz_env_bytes(lz_env_id id, uint64_t *out);

/* One of the words, as its index; *out is left alone when unset. */
LZ_MUST_USE lz_err *lz_env_word(lz_env_id id, const char *const *words, int *out);

#endif
