/* emit.h - Lazuli's own generated C: targets, one file of code and one row each.
 *
 * The files here have no counterpart in torchgen; gen/torch/dest/ has the modules that do. Emitters
 * read the model and add files to the manager, in the order of the operator file. Nothing is written
 * before all emitters are done. */
#ifndef LZG_EMIT_H
#define LZG_EMIT_H

#include "base/file.h"
#include "gen/emit/c_op.h"
#include "gen/model/left_out.h"
#include "gen/text/file_manager.h"
#include "gen/torch/gen_backend_stubs.h"

enum { LZG_SHARDS_MAX = 256 };

typedef struct lzg_emit {
    const lzg_c_ops *c;
    const lzg_backend *backend;    /* a backend, whose operators are selected; or NULL */
    const struct lzg_diffs *diffs; /* derivatives, or NULL */
    const lzg_left_out *left_out;  /* operators that are not planned, or NULL */
    lzg_files all;                 /* every file, by name only */
    lzg_files fresh;               /* files that differ from the folder, with their texts */
    bool keep;                     /* treat every file as changed */
    /* The file being made, its name, and the file on disk. The first `same` bytes equal those on disk
     * and are dropped from the text, until the two differ. */
    lz_text text;
    const char *name;
    lz_file_map old;
    size_t same;
    bool differs;
    uint32_t shards; /* number of files over which functions are spread */
} lzg_emit;

LZ_MUST_USE
lz_err *lzg_emit_init(lzg_emit *e, const lzg_c_ops *c, const char *folder, uint32_t shards);
void lzg_emit_deinit(lzg_emit *e);

/* A place of an operator in the files of a target. */
typedef struct lzg_use {
    lz_str file;
    lz_str symbol;
    lz_str line; /* the beginning of the declaring line */
} lzg_use;

typedef LZ_VEC(lzg_use) lzg_uses;

typedef struct lzg_target {
    const char *name, *help;
    bool backend; /* needs a backend file; "all" leaves it out without one */
    lz_err *(*emit)(lzg_emit *e);
    /* Adds the places of op; the arena owns the texts. */
    lz_err *(*why)(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out);
} lzg_target;

extern const lzg_target lzg_targets[];          /* ends with a row without a name */
const lzg_target *lzg_target_find(lz_str name); /* or NULL */

/* Runs the rows named in a list with commas, or "all"; LZ_ERR_ARG for an unknown name, or
 * one that needs a backend file where there is none. */
LZ_MUST_USE lz_err *lzg_emit_targets(lzg_emit *e, lz_str names);
LZ_MUST_USE lz_err *lzg_targets_check(lz_str names, bool backend); /* whether all names are known */

/* The operators that functionalization needs with op: its functional form, a view's inverse, ... Returns
 * their number. */
enum { LZG_RELATIVES = 6 };
size_t lzg_relatives_of(const lzg_emit *e, const lzg_c_op *op, const lzg_c_op *out[LZG_RELATIVES]);

/* Adds a use; file, symbol and line as in lzg_fill, with the operator's ident for '$'. */
LZ_MUST_USE
lz_err *lzg_use_add(lz_arena *a, lzg_uses *out, const char *file, const char *symbol, const char *line,
                    lz_str ident);

/* Files are made one after the other:
 *
 *     lz_text *out;
 *     LZ_TRY(lzg_emit_begin(e, "op/x.c", &out));
 *     lzg_emit_each(e, put_something);
 *     return lzg_emit_end(e);
 *
 * Flushing is for speed: most files have not changed, and bytes that equal those on disk need not be
 * kept, so that megabytes go through one small buffer. */
LZ_MUST_USE lz_err *lzg_emit_begin(lzg_emit *e, const char *name, lz_text **out);
void lzg_emit_flush(lzg_emit *e);
void lzg_emit_each(lzg_emit *e,
                   void (*put)(lz_text *out, const lzg_c_op *op)); /* operator, flushing after each */
void lzg_emit_add(lzg_emit *e, lz_str text);                       /* a large text */
LZ_MUST_USE lz_err *lzg_emit_end(lzg_emit *e);

lz_err *lzg_emit_tables(lzg_emit *e);
lz_err *lzg_why_tables(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out);
lz_err *lzg_emit_api(lzg_emit *e);
lz_err *lzg_why_api(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out);
lz_err *lzg_emit_short(lzg_emit *e);
lz_err *lzg_why_short(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out);
lz_err *lzg_emit_boxed(lzg_emit *e);
lz_err *lzg_why_boxed(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out);
lz_err *lzg_emit_dispatch(lzg_emit *e);
lz_err *lzg_why_dispatch(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out);
lz_err *lzg_emit_lower(lzg_emit *e);
lz_err *lzg_why_lower(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out);
lz_err *lzg_emit_autograd(lzg_emit *e);
lz_err *lzg_why_autograd(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out);
lz_err *lzg_emit_lazy(lzg_emit *e);
lz_err *lzg_why_lazy(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out);
lz_err *lzg_emit_functionalization(lzg_emit *e);
lz_err *lzg_why_functionalization(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out);
lz_err *lzg_emit_backend_stubs(lzg_emit *e);
lz_err *lzg_why_backend_stubs(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out);

#endif
