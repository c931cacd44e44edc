/* profile.h - where the time of a program goes: by operator, kernel, source line and phase.
 *
 *     lz_profile *p;
 *     char *table;
 *     lz_err *e = lz_profile_begin(NULL);
 *     ... steps; then lz_wait(c), where graphs run asynchronously ...
 *     if (!e && !(e = lz_profile_end(&p))) {
 *         if (!(e = lz_profile_text(p, 20, &table)))
 *             puts(table), lz_text_free(table);
 *         if (!e)
 *             e = lz_profile_save(p, "trace.json");            for chrome://tracing and Perfetto
 *         lz_profile_free(p);
 *     }
 *
 * A profile covers the whole process: all contexts, the threads that run graphs asynchronously, and the
 * thread that compiles kernels. One profile is taken at a time. While none is taken, nothing is measured.
 * docs/profiling.md explains how to read it. */
#ifndef LAZULI_PROFILE_H
#define LAZULI_PROFILE_H

#include <lazuli/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_profile lz_profile;

typedef struct lz_profile_options {
    size_t events; /* events that the trace keeps, from the first on; 0: a million. Tables count all events */
} lz_profile_options;

/* Starts measuring. LZ_ERR_BUSY if a profile is being taken. options NULL: all defaults. */
LZ_API LZ_MUST_USE lz_err *lz_profile_begin(const lz_profile_options *options);
/* Stops measuring; *out is the caller's. LZ_ERR_ARG if no profile was begun, or only in a parent process.
 * LZ_ERR_MEMORY if something could not be recorded: the profile is gone then. What is still running on
 * another thread is left out: call lz_wait first. */
LZ_API LZ_MUST_USE lz_err *lz_profile_end(lz_profile **out);
LZ_API void lz_profile_free(lz_profile *p); /* NULL does nothing */

typedef enum lz_profile_by {
    LZ_PROFILE_PHASES,    /* "sync", "compile graph", "kernels", ... */
    LZ_PROFILE_OPERATORS, /* "aten::add" */
    LZ_PROFILE_KERNELS,   /* "add+relu #1f00c2d4", "matmul [1, 64, 784] [1, 784, 512]" */
    LZ_PROFILE_LINES,     /* "train.c:12", "train.c:12 backward" */
    LZ_PROFILE_TABLES
} lz_profile_by;

/* One row of a table. A kernel computes several operators, so what it takes is divided among them:
 *   total_ns  of an operator or line: the time of all kernels that compute a part of the operator or line. A
 * kernel counts for each of its operators, so totals add up to more than the time of all kernels. self_ns its
 * share of these kernels, in proportion to the operations that it put into each. Shares add up to the time of
 * the kernels, to the nanosecond. read, written and flops are shares, too. Of a phase, self_ns leaves out the
 * phases within it. */
typedef struct lz_profile_row {
    const char *name;
    const char *detail; /* line: its operators; kernel: "compiled", "interpreted", "onednn", ...; or "" */
    uint64_t calls;     /* operator, line: executions of operators; kernel: launches */
    uint64_t self_ns, total_ns;
    uint64_t read, written; /* bytes of tensors; of the phases upload and download: bytes copied */
    double flops;           /* of matrix products and convolutions; fused kernels count none */
    uint64_t compiled;      /* kernel: launches that ran machine code; the others were interpreted */
} lz_profile_row;

/* Rows, the greatest self_ns first; they live as long as the profile. */
LZ_API size_t lz_profile_rows(const lz_profile *p, lz_profile_by by, const lz_profile_row **out);

typedef struct lz_profile_summary {
    uint64_t wall_ns;    /* from begin to end */
    uint64_t outside_ns; /* time of the thread that began outside all phases: recording and the program */
    uint64_t launch_ns;  /* of all kernels */
    uint64_t launches;
    uint64_t peak_bytes; /* the largest predicted peak of any plan, in bytes from the memory pool */
    uint64_t lost;       /* events that did not fit into the trace */
    unsigned threads;    /* number of threads with at least one measurement */
} lz_profile_summary;

LZ_API lz_profile_summary lz_profile_summary_of(const lz_profile *p);

/* The tables for people, of each the first `rows` rows; 0: all. To be freed with lz_text_free. */
LZ_API LZ_MUST_USE lz_err *lz_profile_text(const lz_profile *p, size_t rows, char **out);
/* Chrome's trace event format (JSON). To be freed with lz_text_free. */
LZ_API LZ_MUST_USE lz_err *lz_profile_trace(const lz_profile *p, char **out);
/* Replaces a file: a name that ends in .json gets the trace, any other the tables. */
LZ_API LZ_MUST_USE lz_err *lz_profile_save(const lz_profile *p, const char *path);

#ifdef __cplusplus
}
#endif
#endif
