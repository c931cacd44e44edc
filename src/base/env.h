/* env.h - all environment variables of Lazuli in one table; `lazuli env` prints it. Read these variables only
 * through the functions here. */
#ifndef LZ_BASE_ENV_H
#define LZ_BASE_ENV_H

#include "base/err.h"
#include <stdbool.h>

/* id, name, what it means */
#define LZ_ENV_VARS(X)                                                                                       \
    X(THREADS, "LAZULI_THREADS", "worker threads, from 1; by default one for each CPU the process may use")  \
    X(BLAS, "LAZULI_BLAS", "whose matrix products: auto (the default), own, openblas, onednn")               \
    X(JIT, "LAZULI_JIT", "machine code for kernels: off, background (the default: of what is hot), now")     \
    X(TS_CUDA, "LAZULI_TS_CUDA",                                                                             \
      "set to anything: device \"cpu\" means a CUDA device, and fails without one")                          \
    X(LTC_TS_CUDA, "LTC_TS_CUDA", "PyTorch's name of LAZULI_TS_CUDA")                                        \
    X(CPU_DEVICES, "LAZULI_CPU_DEVICES", "how many devices \"cpu\" has: cpu:0, cpu:1, ...; 1 by default")    \
    X(MAX_ASYNC_QUEUE, "LAZULI_MAX_ASYNC_QUEUE",                                                             \
      "asynchronous step closures that may wait before lz_mark_step waits for them; 100 by default")         \
    X(LTC_MAX_ASYNC_QUEUE, "LTC_MAX_ASYNC_QUEUE", "PyTorch's name of LAZULI_MAX_ASYNC_QUEUE")                \
    X(DEBUG, "LAZULI_DEBUG",                                                                                 \
      "1: use after release, two threads in a context, scopes popped twice, leaks; slow")                    \
    X(LOG, "LAZULI_LOG",                                                                                     \
      "what the command writes to standard error: off (the default), error, warn, info, debug")              \
    X(BACKEND, "LAZULI_BACKEND", "shared objects with backends to load, with colons between")                \
    X(DEVICE, "LAZULI_DEVICE", "the device of a context that names none: cpu, npu:1")                        \
    X(FORCE_FALLBACK, "LAZULI_FORCE_FALLBACK",                                                               \
      "operators that run on the CPU whatever the device can: aten::sub,aten::mul")                          \
    X(LTC_FORCE_FALLBACK, "LTC_FORCE_FALLBACK", "PyTorch's name of LAZULI_FORCE_FALLBACK")                   \
    X(SAVE_TENSORS_FILE, "LAZULI_SAVE_TENSORS_FILE", "a file to which every synced graph is added")          \
    X(LTC_SAVE_TENSORS_FILE, "LTC_SAVE_TENSORS_FILE", "PyTorch's name of LAZULI_SAVE_TENSORS_FILE")          \
    X(SAVE_TENSORS_FMT, "LAZULI_SAVE_TENSORS_FMT", "how graphs are saved: text (the default), dot, backend") \
    X(LTC_SAVE_TENSORS_FMT, "LTC_SAVE_TENSORS_FMT", "PyTorch's name of LAZULI_SAVE_TENSORS_FMT")             \
    X(INJECT_FAILURE, "LAZULI_INJECT_FAILURE", "an operator that fails whenever a graph with it runs")       \
    X(PROFILE, "LAZULI_PROFILE",                                                                             \
      "a file for the profile of the process, written at exit: .json gets a trace, others tables")           \
    X(PERF_MAP, "LAZULI_PERF_MAP", "1: names of compiled kernels for perf, in /tmp/perf-PID.map")            \
    X(LLVM, "LAZULI_LLVM", "the LLVM library to compile kernels with: a path or a name")                     \
    X(CPU, "LAZULI_CPU", "the vector extension to compile kernels for: sse4, avx2, avx512")                  \
    X(CACHE, "LAZULI_CACHE", "whether compiled kernels are kept between processes: on (the default), off")   \
    X(CACHE_DIR, "LAZULI_CACHE_DIR", "where they are kept; by default lazuli in the user's cache folder")    \
    X(CACHE_SIZE, "LAZULI_CACHE_SIZE",                                                                       \
      "how many bytes of compiled kernels are kept: 1000000, 512K, 256M (the default), 1G")                  \
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

/* Variables of PyTorch's lazy tensors that have no effect here: name, reason. `lazuli env` prints them, and
 * the log names once per process those that are set. */
#define LZ_ENV_NO_EFFECT(X)                                                                                  \
    X("LTC_ENABLE_DYNAMIC_SHAPES", "sizes are part of a graph: each new size is compiled once")              \
    X("LTC_ENABLE_SYMBOLIC_SHAPES", "sizes are part of a graph: each new size is compiled once")             \
    X("LTC_ENABLE_SOURCE_INFO", "nodes always know the line that recorded them")                             \
    X("LTC_EXPERIMENTAL", "there are no experimental operators: nonzero and the like are always there")

extern const lz_env_var lz_env_no_effect[]; /* meaning: the reason; ends with a name of NULL */
bool lz_env_is_set(const lz_env_var *v);    /* and not empty */

/* The value, or NULL when unset or empty. */
const char *lz_env_text(lz_env_id id);

/* The i-th name in the environment that begins with LAZULI_ or LTC_ but is not in the tables, probably a
 * typing error. Empty: there are no more. */
lz_str lz_env_stray(size_t i);

/* An integer within [least, most]; *out is unchanged if the variable is unset. */
LZ_MUST_USE lz_err *lz_env_int(lz_env_id id, int64_t least, int64_t most, int64_t *out);

/* A number of bytes: 1000000, 512K, 256M, 1G; *out is unchanged if the variable is unset. */
LZ_MUST_USE lz_err *lz_env_bytes(lz_env_id id, uint64_t *out);

/* One of the words, as its index; *out is unchanged if the variable is unset. */
LZ_MUST_USE lz_err *lz_env_word(lz_env_id id, const char *const *words, int *out);

#endif
