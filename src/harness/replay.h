/* replay.h - recorded cases of operators, graphs and programs, run and compared.
 *
 * A case is what PyTorch was given and what it answered. Floats are compared with the
 * tolerances of their dtype, everything else exactly; where PyTorch's choice is arbitrary
 * (docs: src/harness/replay_rules.c has the list) the meaning is compared. */
#ifndef LZ_HARNESS_REPLAY_H
#define LZ_HARNESS_REPLAY_H

#include <lazuli/base.h>
#include <stdbool.h>
#include <stdint.h>

/* When programs are synced, besides at what they read. */
typedef enum lz_replay_mode {
    LZ_REPLAY_STATEMENT, /* after every statement */
    LZ_REPLAY_READ,      /* never */
    LZ_REPLAY_ASYNC,     /* after every statement, without waiting */
    LZ_REPLAY_RANDOM     /* now and then, everything or one tensor; the same in every run */
} lz_replay_mode;

/* A tensor that a case gave: of its elements' bits in row-major order, every NaN as the same. */
typedef void lz_replay_seen_fn(void *user, lz_str id, uint64_t hash);

typedef struct lz_replay_options {
    int threads;             /* 0: as many as there are */
    bool separate;           /* nothing is fused; of operators and graphs */
    bool details;            /* a line for each case that is not right */
    const char *only;        /* the operator, graph or program with this name; NULL: all */
    lz_replay_seen_fn *seen; /* told each of them; NULL: nobody. For comparing runs with each other */
    void *seen_user;
    lz_replay_mode mode; /* of programs */
    const char *device;  /* that programs run on; NULL: the default */
    int every;           /* only each so manieth line of the file; 0: all */
} lz_replay_options;

typedef struct lz_replay_totals {
    size_t passed, failed, unsupported; /* cases */
    size_t names, names_passed;         /* overloads, or graphs; those whose cases all passed */
} lz_replay_totals;

/* A line without its newline; borrowed. */
typedef void lz_replay_line_fn(void *user, const char *line);

/* Options, here and below, NULL: all zero. CASES.jsonl or CASES.jsonl.gz; the bytes of tensors lie beside it
 * in CASES.bin or CASES.bin.gz. Tells a line for each overload. */
LZ_MUST_USE lz_err *lz_replay_ops(const char *path, const lz_replay_options *options, lz_replay_line_fn *tell,
                                  void *user, lz_replay_totals *out);

/* A folder with graphs.jsonl[.gz], which must run, and malformed.jsonl[.gz], which must be
 * refused; either may be missing. Tells a line for each graph. */
LZ_MUST_USE lz_err *lz_replay_graphs(const char *folder, const lz_replay_options *options,
                                     lz_replay_line_fn *tell, void *user, lz_replay_totals *out);

/* PROGRAMS.jsonl or PROGRAMS.jsonl.gz: calls one after the other, with views and writes,
 * and what variables held meanwhile and in the end; or the last call must be refused, with
 * a stated reason and without changing anything. Tells a line for each tag; `names` counts
 * tags. */
LZ_MUST_USE lz_err *lz_replay_programs(const char *path, const lz_replay_options *options,
                                       lz_replay_line_fn *tell, void *user, lz_replay_totals *out);

/* A shared object with a backend, or the name of one that is there, beside the CPU: data,
 * operators, programs made up as it goes, failures, threads. Operators that it leaves to
 * the CPU count as unsupported. */
LZ_MUST_USE lz_err *lz_replay_backend(const char *path, const lz_replay_options *options,
                                      lz_replay_line_fn *tell, void *user, lz_replay_totals *out);

#endif
