/* profile_impl.h - the inside of a profile: events and counts while it is recorded, rows afterwards. */
#ifndef LZ_BASE_PROFILE_IMPL_H
#define LZ_BASE_PROFILE_IMPL_H

#include "base/arena.h"
#include "base/map.h"
#include "base/profiler.h"
#include "base/text.h"
#include "base/vec.h"

typedef struct lz_prof_event {
    uint64_t start, ns; /* since the profile began */
    uint64_t bytes;
    const char *name; /* NULL: the name of the phase, or of the launch */
    const char *file; /* NULL: unknown */
    int32_t line;
    uint32_t launch; /* LZ_NO_LAUNCH: none */
    uint16_t thread;
    uint8_t phase;
    bool compiled;
} lz_prof_event;

/* A launch of a plan, and its statistics. */
typedef struct lz_prof_launch {
    lz_launch_facts facts;
    uint64_t calls, ns, compiled;
    const char *by; /* what ran the last call */
} lz_prof_launch;

/* The launches of one plan are consecutive. */
typedef struct lz_prof_plan {
    uint32_t first, n;
    uint32_t origins; /* 1 + the greatest origin of its sources */
} lz_prof_plan;

typedef struct lz_prof_thread {
    char name[16];
    uint64_t busy_ns; /* in spans that are inside no other */
} lz_prof_thread;

typedef struct lz_prof_phase {
    uint64_t calls, self_ns, total_ns, bytes;
} lz_prof_phase;

typedef struct lz_prof_table {
    lz_profile_row *rows;
    size_t n;
} lz_prof_table;

struct lz_profile {
    unsigned number;
    unsigned generation; /* lz_fork_count at the start */
    bool from_env, out_of_memory;
    uint64_t begin_ns, wall_ns, outside_ns, peak_bytes, lost;
    size_t most_events;
    lz_arena arena;
    lz_map texts; /* all names and files, each stored once */
    lz_map plans; /* lz_plan_key to lz_prof_plan */
    LZ_VEC(lz_prof_event) events;
    LZ_VEC(lz_prof_launch) launches;
    LZ_VEC(lz_prof_thread) threads; /* the first is the thread that started the profile */
    lz_prof_phase phases[LZ_PHASE_COUNT];
    lz_prof_table tables[LZ_PROFILE_TABLES];
};

/* As the public functions; env: called for LAZULI_PROFILE. */
LZ_MUST_USE lz_err *lz_profile_start(const lz_profile_options *o, bool env);
LZ_MUST_USE lz_err *lz_profile_stop(bool env, lz_profile **out);

/* The profile's own copy of a text. */
LZ_MUST_USE lz_err *lz_profile_text_of(lz_profile *p, lz_str text, const char **out);

/* Fills the tables; nothing may be added afterwards. */
LZ_MUST_USE lz_err *lz_profile_make_rows(lz_profile *p);

#endif
