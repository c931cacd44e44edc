/* base.h - included by every other public header: the export mark, error
 * values, the allocator hook and the log hook.
 *
 * The library never prints, exits or aborts. A call that can fail returns an
 * lz_err *, NULL for success; the caller owns it. */
#ifndef LAZULI_BASE_H
#define LAZULI_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LZ_API               __attribute__((visibility("default")))
#define LZ_MUST_USE          __attribute__((warn_unused_result))
#define LZ_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* "0.1.0" */
LZ_API const char *lz_version(void);

/* A borrowed run of bytes; not NUL-terminated. */
typedef struct lz_str {
    const char *ptr;
    size_t len;
} lz_str;

/* printf("%.*s", LZ_FMT(s)) */
#define LZ_FMT(s) (int)(s).len, (s).ptr

/* A location in a text: the user's source, a YAML file, a graph. Borrowed. The file name passed to an
 * operator or a sync must stay valid until the process ends, as __FILE__ does, because compiled graphs keep
 * the pointer. */
typedef struct lz_loc {
    const char *file; /* NULL: unknown */
    int32_t line;     /* from 1; 0: unknown */
    int32_t col;      /* from 1; 0: unknown; LZ_COL_BACKWARD: the backward pass of that line's operators */
} lz_loc;

enum { LZ_COL_BACKWARD = -1 };

typedef enum lz_code {
    LZ_OK = 0,
    LZ_ERR_MEMORY,      /* an allocation failed */
    LZ_ERR_ARG,         /* an argument is invalid */
    LZ_ERR_SYNTAX,      /* a text is malformed; the location says where */
    LZ_ERR_MODEL,       /* a well-formed text breaks a rule of its language */
    LZ_ERR_IO,          /* the operating system refused */
    LZ_ERR_NOT_FOUND,   /* a file, library, symbol, operator or key is absent */
    LZ_ERR_UNSUPPORTED, /* valid, but not supported by this build, device or operator */
    LZ_ERR_LIMIT,       /* a stated bound was exceeded */
    LZ_ERR_BUSY,        /* another user holds the resource */
    LZ_ERR_INTERNAL,    /* a broken invariant: a bug in Lazuli */
    LZ_ERR_NEEDS_VALUE, /* an operator needs the value of a number that is known only at run time. The lazy
                         * and the TorchScript executor answer it by compiling for the value; `lazuli graph`
                         * reports it. */
    LZ_CODE_COUNT
} lz_code;

/* Why a call was refused. lz_reason_name returns the text. */
#define LZ_REASONS(X)                                                                                        \
    X(NONE, "")                                                                                              \
    X(SHAPE, "shape-mismatch")                                                                               \
    X(DTYPE, "dtype")                                                                                        \
    X(INDEX, "index-out-of-range") /* an index, or a dimension */                                            \
    X(ARGUMENT, "bad-argument")                                                                              \
    X(VIEW, "view-incompatible")              /* a view would have to be a copy */                           \
    X(EXPANDED, "inplace-on-expanded")        /* elements of the written tensor share memory */              \
    X(OVERLAP, "overlap")                     /* source and target share a part of their memory */           \
    X(STORAGE, "storage-bounds")              /* as_strided leaves the storage */                            \
    X(CONTEXT, "foreign-context")             /* a tensor of another context */                              \
    X(AUTOGRAD_LEAF, "autograd-leaf")         /* a write to a leaf, or to a view of one */                   \
    X(AUTOGRAD_VIEW, "autograd-view")         /* a write to a view whose history cannot be changed */        \
    X(AUTOGRAD_MODIFIED, "autograd-modified") /* a saved value was written to before the backward pass */    \
    X(AUTOGRAD_BACKWARD, "autograd-backward") /* the root has no tape, or its tape was freed */              \
    X(OTHER, "other")                         /* memory, files, unsupported operators, ... */

typedef enum lz_reason {
#define X(name, text) LZ_REASON_##name,
    LZ_REASONS(X)
#undef X
        LZ_REASON_COUNT
} lz_reason;

typedef struct lz_err lz_err;

/* Each accepts NULL, which stands for success. Texts live as long as the error. */
LZ_API lz_code lz_err_code(const lz_err *e);
LZ_API const char *lz_err_text(const lz_err *e);
LZ_API lz_loc lz_err_loc(const lz_err *e);
LZ_API lz_reason lz_err_reason(const lz_err *e);
LZ_API const char *lz_code_name(lz_code code);  /* "memory", "syntax", ... */
LZ_API const char *lz_reason_name(lz_reason r); /* "shape-mismatch", "dtype", ... */
LZ_API void lz_err_free(lz_err *e);

/* All heap memory of the library comes from this function. resize(user, NULL, n, a) allocates n bytes
 * aligned to a; resize(user, p, n, a) with n > 0 reallocates (only for a <= 16); resize(user, p, 0, a) frees
 * and returns NULL. Otherwise NULL means failure, and the old block stays valid. */
typedef struct lz_allocator {
    void *(*resize)(void *user, void *ptr, size_t size, size_t align);
    void *user;
} lz_allocator;

/* Process-wide; set it before anything else and only while nothing is allocated.
 * NULL restores the C library's. */
LZ_API void lz_allocator_set(const lz_allocator *a);

typedef enum lz_level { LZ_LOG_ERROR, LZ_LOG_WARN, LZ_LOG_INFO, LZ_LOG_DEBUG, LZ_LOG_OFF = -1 } lz_level;

/* Called from any thread, one call at a time; msg has no newline and is borrowed. */
typedef void lz_log_fn(void *user, lz_level level, const char *msg);

/* fn NULL (the default) logs nothing. Messages above level `most` are not formatted. */
LZ_API void lz_log_set(lz_log_fn *fn, void *user, lz_level most);

#ifdef __cplusplus
}
#endif
#endif
