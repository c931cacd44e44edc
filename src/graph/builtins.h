/* builtins.h - TorchScript's functions on numbers, strings, lists, dicts and tensor metadata: a table of
 * functions over lz_script_value, found by name and types.
 *
 * A function borrows as many arguments as its pattern has and returns one new reference per result; it fails
 * with Python's messages. Types are patterns:
 *     T Tensor   i int   f float   b bool   s str   N None   S Scalar   D Device
 *     c complex   g Generator   m Stream   o Storage   A anything
 *     [x list of x   ]x list of x, or a single x   ?x x or None   dkx Dict(k, x)
 *     (xy) tuple   0 to 3 type variables   * more arguments of any type */
#ifndef LZ_GRAPH_BUILTINS_H
#define LZ_GRAPH_BUILTINS_H

#include "graph/graph_type.h"
#include "graph/script_value.h"

enum {
    LZ_BUILTIN_WRITES = 1,     /* writes its first argument */
    LZ_BUILTIN_EFFECT = 2,     /* has other effects: raises, prints */
    LZ_BUILTIN_READS_DATA = 4, /* reads a tensor's elements */
    LZ_BUILTIN_READS_META = 8, /* reads only a tensor's sizes, dtype, device */
    LZ_BUILTIN_RAISES = 16,    /* always fails */
    LZ_BUILTIN_FRESH = 32 /* the result is a new object; a list may still hold elements of the arguments */
};

typedef lz_err *lz_builtin_fn(const lz_script_value *in, size_t nin, lz_script_value *out);

typedef struct lz_builtin {
    const char *name, *overload; /* "aten::add", "int" */
    const char *args, *rets;     /* patterns, concatenated */
    lz_builtin_fn *run;
    unsigned flags;
} lz_builtin;

/* One table per family, sorted by name; narrower overloads come first. */
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

/* Finds all rows of that name; stores at most `room`. Returns how many there are. */
size_t lz_builtins_find(lz_str name, const lz_builtin **out, size_t room);

/* "aten::add.int(int, int) -> int" */
void lz_builtin_print(const lz_builtin *b, lz_text *out);

/* ---- patterns ---- */

enum { LZ_PATTERN_VARS = 4 };

typedef struct lz_bindings {
    const lz_type *var[LZ_PATTERN_VARS]; /* NULL: not bound yet */
} lz_bindings;

/* FITS: types for which lz_type_fits holds. CONVERTS: also an int for a float, a bool for a Scalar, an
 * element for a sized list. NUMBERS: also a number for a Tensor. */
typedef enum lz_match_level { LZ_MATCH_FITS, LZ_MATCH_CONVERTS, LZ_MATCH_NUMBERS } lz_match_level;

/* Does a type fit the pattern at *p? Moves *p past the pattern. */
bool lz_pattern_match(const char **p, const lz_type *t, lz_match_level level, lz_bindings *b);
/* The type of the pattern at *p; *out NULL if a variable is not bound. */
LZ_MUST_USE lz_err *lz_pattern_type(lz_type_table *t, const char **p, const lz_bindings *b,
                                    const lz_type **out);
const char *lz_pattern_skip(const char *p); /* past one type */
void lz_pattern_print(const char **p, lz_text *out);
size_t lz_pattern_count(const char *p); /* number of types, without a closing '*' */

#endif
