/* profiler.h - how the library reports to a profile (lazuli/profile.h) while one is recorded.
 *
 * A span is a piece of work on one thread. Spans of a thread nest, so the time of a span without the spans in
 * it is known when it ends. While no profile is recorded, the start of a span costs one load and one branch,
 * and its end one branch:
 *
 *     lz_span s = lz_span_begin();
 *     ...
 *     lz_span_end(&s, &(lz_span_note){ .phase = LZ_PHASE_COMPILE });
 *
 * Launches of a plan are described once per profile, and then only counted. Nothing here fails: if memory
 * runs out, lz_profile_end reports it. Any thread may call these; a forked child takes no part in its
 * parent's profile. */
#ifndef LZ_BASE_PROFILER_H
#define LZ_BASE_PROFILER_H

#include "base/clock.h"
#include "base/err.h"
#include <lazuli/profile.h>
#include <stdatomic.h>
#include <stdbool.h>

#define LZ_PHASES(X)                                                                                         \
    X(SYNC, "sync")             /* pending nodes are collected, hashed and looked up; a run is started */    \
    X(LOWER, "lower graph")     /* recorded nodes become the graph that a backend compiles */                \
    X(COMPILE, "compile graph") /* the backend: passes, fusion, kernels, memory */                           \
    X(RUN, "run graph")         /* a compiled graph: arguments in, results out */                            \
    X(PLAN, "prepare launches") /* memory and arguments of kernels */                                        \
    X(LAUNCH, "kernels")        /* fused kernels and library calls */                                        \
    X(CODE, "compile kernels")  /* machine code is made, or read from the cache on disk */                   \
    X(UPLOAD, "upload")         /* elements go to a device */                                                \
    X(DOWNLOAD, "download")     /* elements come from a device */                                            \
    X(COPY, "copy")             /* elements go from one device to another */                                 \
    X(WAIT, "wait")             /* for what another thread computes */                                       \
    X(RECORD, "record calls")   /* estimated from one call in 1,024 */

typedef enum lz_phase {
#define X(id, name) LZ_PHASE_##id,
    LZ_PHASES(X)
#undef X
        LZ_PHASE_COUNT
} lz_phase;

extern const char *const lz_phase_names[LZ_PHASE_COUNT];

/* The number of the profile being recorded; 0: none. */
extern atomic_uint lz_profile_now;

static inline bool lz_profile_on(void)
{
    return atomic_load_explicit(&lz_profile_now, memory_order_relaxed) != 0;
}

/* ---- spans ---- */

typedef struct lz_span {
    unsigned profile; /* 0: no profile was recorded when it began */
    uint64_t start, outer_ns;
} lz_span;

typedef struct lz_span_note {
    lz_phase phase;
    const char *name; /* in the trace; NULL: the name of the phase. Copied */
    lz_loc at;        /* the line that caused the span; may be unknown */
    uint64_t bytes;
} lz_span_note;

void lz_span_start(lz_span *s);
void lz_span_stop(const lz_span *s, const lz_span_note *note);

static inline lz_span lz_span_begin(void)
{
    lz_span s = { 0, 0, 0 };
    if (lz_profile_on())
        lz_span_start(&s);
    return s;
}

static inline void lz_span_end(const lz_span *s, const lz_span_note *note)
{
    if (s->profile)
        lz_span_stop(s, note);
}

/* Recording `calls` operator calls took `ns` in all, as estimated. */
void lz_profile_recorded(uint64_t calls, uint64_t ns);

/* ---- launches ---- */

/* An operator of which the launch computes a part. */
typedef struct lz_launch_source {
    uint32_t origin; /* number of the operator's execution within the plan */
    lz_str op;       /* "aten::add" */
    lz_loc at;       /* col LZ_COL_BACKWARD: the backward pass of that line */
    double weight;   /* its share of the launch, in any unit */
} lz_launch_source;

/* Constant facts about a launch. Texts and sources are copied. */
typedef struct lz_launch_facts {
    lz_str name;
    bool is_kernel; /* compiled or interpreted; otherwise a call of a library or of our own code */
    uint64_t read, written;
    double flops;
    const lz_launch_source *sources;
    size_t n;
} lz_launch_facts;

/* A plan and the source lines that its nodes currently have. */
typedef struct lz_plan_key {
    uint64_t plan, lines;
} lz_plan_key;

enum { LZ_NO_LAUNCH = UINT32_MAX };

/* Launches of a plan, numbered in order. */
typedef struct lz_launch_numbers {
    unsigned profile; /* the profile in which the numbers are valid */
    uint32_t first;   /* LZ_NO_LAUNCH: none */
} lz_launch_numbers;

/* first is LZ_NO_LAUNCH if the plan is not described yet. */
lz_launch_numbers lz_profile_find(lz_plan_key key);
/* first is LZ_NO_LAUNCH if no profile is recorded, or memory is out. */
lz_launch_numbers lz_profile_describe(lz_plan_key key, const lz_launch_facts *facts, size_t n);
void lz_profile_lose(void); /* memory ran out before something could be reported */

/* One executed launch. */
typedef struct lz_launched {
    unsigned profile; /* lz_launch_numbers */
    uint32_t number;  /* first + its index in the plan */
    bool compiled;
    const char *by; /* for a call: the library, a static string */
    uint64_t ns;    /* for a second launch within the same span; see lz_span_end_launch */
} lz_launched;

/* Ends the span of a launch. number LZ_NO_LAUNCH: there was no launch, and the span is not counted. `within`
 * (may be NULL): a second launch that took `within->ns` of the span's time. */
void lz_span_end_launch(const lz_span *s, const lz_launched *l, const lz_launched *within);

/* ---- lines ---- */

/* The lines where the nodes of the graph that this thread is about to run were recorded. They may differ from
 * the lines for which the graph was compiled. */
typedef struct lz_run_lines {
    const lz_loc *locs;     /* for the whole graph */
    const uint32_t *places; /* for each node of the part that runs: its index in locs */
    size_t n;               /* nodes of the part */
} lz_run_lines;

/* Sets the lines (NULL: unknown) and returns the former ones. Borrowed until the next call. */
const lz_run_lines *lz_run_lines_set(const lz_run_lines *lines);
bool lz_run_line(size_t node, lz_loc *out); /* false: unknown */
uint64_t lz_run_lines_hash(void);

/* ---- LAZULI_PROFILE ---- */

/* Starts a profile of the whole process if LAZULI_PROFILE is set; it is written when the process exits. A
 * second call does nothing. An error if the file cannot be written. */
LZ_MUST_USE lz_err *lz_profile_from_env(void);

#endif
