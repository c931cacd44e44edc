/* builtins.h - what TorchScript does with numbers, strings, lists, dicts and the facts
 * about tensors: a table of functions over lz_gv, found by name and types.
 *
 * A function gets as many borrowed arguments as its pattern has and gives as many new
 * counts as there are results; it fails with Python's words. Types are patterns:
 *     T Tensor   i int   f float   b bool   s str   N None   S Scalar   D Device
 *     c complex   g Generator   m Stream   o Storage   A anything
 *     [x list of x   ]x the same, for which one x may stand   ?x x or None   dkx Dict(k, x)
 *     (xy) tuple   0 to 3 one type wherever the number stands   * more arguments of any type */
#ifndef LZ_GRAPH_BUILTINS_H
#define LZ_GRAPH_BUILTINS_H

#include "graph/graph_type.h"
#include "graph/gvalue.h"

enum {
    LZ_BF_WRITES = 1,     /* changes its first argument */
    LZ_BF_EFFECT = 2,     /* does more than give results: raises, prints */
    LZ_BF_READS_DATA = 4, /* asks a tensor for its elements */
    LZ_BF_READS_META = 8, /* asks a tensor for sizes, dtype, device only */
    LZ_BF_RAISES = 16,    /* always ends in an error */
    LZ_BF_FRESH = 32      /* the result shares nothing with the arguments */
};

typedef lz_err *lz_builtin_fn(const lz_gv *in, size_t nin, lz_gv *out);

typedef struct lz_builtin {
    const char *name, *overload; /* "aten::add", "int" */
    const char *args, *rets;     /* patterns, one after the other */
    lz_builtin_fn *run;
    unsigned flags;
} lz_builtin;

/* One table for each family, sorted by name; of overloads the narrower ones come first. */
typedef struct lz_builtin_table {
    const lz_builtin *rows;
    size_t n;
} lz_builtin_table;

#define LZ_BUILTIN_TABLE(rows)                                                                               \
    {                                                                                                        \
        (rows), sizeof(rows) / sizeof *(rows)                                                                \
    }

extern const lz_builtin_table lz_builtins_number, lz_builtins_math, lz_builtins_str, lz_builtins_text,
    lz_builtins_list, lz_builtins_dict, lz_builtins_tensor;

enum { LZ_BUILTIN_TABLES = 7 };
extern const lz_builtin_table *const lz_builtin_tables[LZ_BUILTIN_TABLES];

/* All of that name; at most `room` are stored. Returns how many there are. */
size_t lz_builtins_find(lz_str name, const lz_builtin **out, size_t room);

/* "aten::add.int(int, int) -> int" */
void lz_builtin_print(const lz_builtin *b, lz_text *out);

/* ---- patterns ---- */

enum { LZ_PATTERN_VARS = 4 };

typedef struct lz_bindings {
    const lz_type *var[LZ_PATTERN_VARS]; /* NULL: not bound yet */
} lz_bindings;

/* How much is let pass: what lz_type_fits; then also an int for a float, a bool for a Scalar,
 * an element for a sized list; then also a number for a Tensor. */
typedef enum lz_match_level { LZ_MATCH_FITS, LZ_MATCH_CONVERTS, LZ_MATCH_NUMBERS } lz_match_level;

/* Whether a type fits the pattern at *p, which moves behind it. */
bool lz_pattern_match(const char **p, const lz_type *t, lz_match_level level, lz_bindings *b);
/* The type that the pattern at *p stands for; *out NULL if a variable is not bound. */
LZ_MUST_USE lz_err *lz_pattern_type(lz_type_table *t, const char **p, const lz_bindings *b,
                                    const lz_type **out);
const char *lz_pattern_skip(const char *p); /* behind one type */
void lz_pattern_print(const char **p, lz_text *out);
size_t lz_pattern_count(const char *p); /* types, without a closing '*' */

#endif
