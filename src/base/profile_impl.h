/* profile_impl.h - the inside of a profile: events and counts while it is taken, rows afterwards. */
#ifndef LZ_BASE_PROFILE_IMPL_H
#define LZ_BASE_PROFILE_IMPL_H

#include "base/arena.h"
#include "base/map.h"
#include "base/profile.h"
#include "base/text.h"
#include "base/vec.h"

typedef struct lz_prof_event {
    uint64_t start, ns; /* since the profile began */
    uint64_t bytes;
    const char *name; /* NULL: that of the phase, or of the launch */
    const char *file; /* NULL: unknown */
    int32_t line;
    uint32_t launch; /* LZ_NO_LAUNCH: none */
    uint16_t thread;
    uint8_t phase;
    bool compiled;
} lz_prof_event;

/* A launch of a plan, and what became of it. */
typedef struct lz_prof_launch {
    lz_launch_facts facts;
    uint64_t calls, ns, compiled;
    const char *by; /* who ran a call last */
} lz_prof_launch;

/* Launches of one plan follow each other. */
typedef struct lz_prof_plan {
    uint32_t first, n;
    uint32_t origins; /* 1 + the greatest of its sources */
} lz_prof_plan;

typedef struct lz_prof_thread {
    char name[16];
    uint64_t busy_ns; /* in spans that are within no other */
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
    unsigned generation; /* in which it was begun (lz_fork_count) */
    bool from_env, out_of_memory;
    uint64_t begin_ns, wall_ns, outside_ns, peak_bytes, lost;
    size_t most_events;
    lz_arena arena;
    lz_map texts; /* all names and files, each once */
    lz_map plans; /* lz_plan_key to lz_prof_plan */
    LZ_VEC(lz_prof_event) events;
    LZ_VEC(lz_prof_launch) launches;
    LZ_VEC(lz_prof_thread) threads; /* the first is the one that began */
    lz_prof_phase phases[LZ_PHASE_COUNT];
    lz_prof_table tables[LZ_PROFILE_TABLES];
};

/* As the public functions; env: on behalf of LAZULI_PROFILE. */
LZ_MUST_USE lz_err *lz_profile_start(const lz_profile_options *o, bool env);
LZ_MUST_USE lz_err *lz_profile_stop(bool env, lz_profile **out);

/* The text as the profile keeps it. */
LZ_MUST_USE lz_err *lz_profile_text_of(lz_profile *p, lz_str text, const char **out);

/* Fills the tables, once nothing is added any more. */
LZ_MUST_USE lz_err *lz_profile_make_rows(lz_profile *p);

#endif
