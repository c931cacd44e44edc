/* replay.h - replays recorded cases of operators, graphs and programs, and compares the results.
 *
 * A case has the inputs and the results of a call of PyTorch. Floats are compared with the tolerances of
 * their dtype, everything else exactly. If PyTorch's choice is arbitrary (list in replay_rules.c), the
 * meaning is compared. */
#ifndef LZ_HARNESS_REPLAY_H
#define LZ_HARNESS_REPLAY_H

#include <lazuli/base.h>
#include <stdbool.h>
#include <stdint.h>

/* When programs are synced. Reading a value always syncs. */
typedef enum lz_replay_mode {
    LZ_REPLAY_STATEMENT, /* after every statement */
    LZ_REPLAY_READ,      /* never */
    LZ_REPLAY_ASYNC,     /* after every statement, without waiting */
    LZ_REPLAY_RANDOM     /* at random points, everything or one tensor; the same in every run */
} lz_replay_mode;

/* Called for each tensor that a case computed, with a hash of its elements in row-major order. All NaNs
 * count as equal. */
typedef void lz_replay_seen_fn(void *user, lz_str id, uint64_t hash);

typedef struct lz_replay_options {
    int threads;      /* 0: one per core */
    bool separate;    /* nothing is fused; for operators and graphs */
    bool details;     /* one line for each case that did not pass */
    const char *only; /* the operator, graph or program with this name; NULL: all */
    lz_replay_seen_fn
        *seen; /* called for each computed tensor, to compare runs with each other; may be NULL */
    void *seen_user;
    lz_replay_mode mode; /* for programs */
    const char *device;  /* device of programs; NULL: the default */
    int every;           /* replays only every n-th line of the file; 0: all lines */
} lz_replay_options;

typedef struct lz_replay_totals {
    size_t passed, failed, unsupported; /* cases */
    size_t names, names_passed;         /* overloads or graphs: all, and those whose cases all passed */
} lz_replay_totals;

/* A line without its newline; borrowed. */
typedef void lz_replay_line_fn(void *user, const char *line);

/* options may be NULL, here and below: all zero. path: CASES.jsonl or CASES.jsonl.gz; the bytes of tensors
 * are beside it in CASES.bin or CASES.bin.gz. Reports one line for each overload. */
LZ_MUST_USE lz_err *lz_replay_ops(const char *path, const lz_replay_options *options,
                                  lz_replay_line_fn *report, void *user, lz_replay_totals *out);

/* folder: has graphs.jsonl[.gz], which must run, and malformed.jsonl[.gz], which must be refused. Either
 * may be missing. Reports one line for each graph. */
LZ_MUST_USE lz_err *lz_replay_graphs(const char *folder, const lz_replay_options *options,
                                     lz_replay_line_fn *report, void *user, lz_replay_totals *out);

/* path: PROGRAMS.jsonl or PROGRAMS.jsonl.gz. A program is a sequence of calls with views and writes, and
 * the values of variables in between and at the end. Or its last call must be refused, for a stated reason
 * and without changing anything. Reports one line for each tag; `names` counts tags. */
LZ_MUST_USE lz_err *lz_replay_programs(const char *path, const lz_replay_options *options,
                                       lz_replay_line_fn *report, void *user, lz_replay_totals *out);

/* Compares a backend (a shared object, or the name of a registered backend) with the CPU: data,
 * operators, generated programs, failures, threads. Operators that fall back to the CPU count as
 * unsupported. */
LZ_MUST_USE lz_err *lz_replay_backend(const char *path, const lz_replay_options *options,
                                      lz_replay_line_fn *report, void *user, lz_replay_totals *out);

#endif
