/* gvalue.h - the values that flow through a graph while it runs: None, numbers, strings,
 * lists, dicts, tuples, devices, tensors.
 *
 * An lz_gv is 16 bytes, passed by value. Behind all but numbers and None is a counted
 * box: whoever keeps an lz_gv owns one count and gives it back with lz_gv_release. A list
 * or dict is shared by all that hold it, as in Python; strings, tuples, devices and
 * arrays never change. Counts are atomic; a list that several threads hold must not be
 * changed. */
#ifndef LZ_GRAPH_GVALUE_H
#define LZ_GRAPH_GVALUE_H

#include "base/map.h"
#include "base/text.h"
#include "core/array.h"
#include <stdatomic.h>

typedef enum lz_gv_kind {
    LZ_GV_NONE,
    LZ_GV_BOOL,
    LZ_GV_INT,
    LZ_GV_FLOAT,
    LZ_GV_BOXED,
    LZ_GV_STR = LZ_GV_BOXED,
    LZ_GV_DEVICE, /* a string: "cpu", "cuda:0" */
    LZ_GV_LIST,
    LZ_GV_TUPLE,
    LZ_GV_DICT,
    LZ_GV_ARRAY,  /* a tensor whose elements are just here: a constant, what aten::tensor made */
    LZ_GV_TENSOR, /* a tensor of whoever runs the graph */
    LZ_GV_OBJECT, /* anything else of theirs: a generator, ... */
    LZ_GV_KINDS
} lz_gv_kind;

typedef struct lz_gv_box lz_gv_box;
struct lz_gv_box {
    atomic_uint count;
    lz_gv_kind kind;
    lz_gv_box *next; /* among those being freed */
};

typedef struct lz_gv {
    lz_gv_kind kind;
    union {
        bool b;
        int64_t i;
        double f;
        lz_gv_box *box;
        struct lz_gv_string *str; /* STR, DEVICE */
        struct lz_gv_list *list;  /* LIST, TUPLE */
        struct lz_gv_dict *dict;
        struct lz_gv_array *array;
        struct lz_gv_tensor *tensor; /* TENSOR, OBJECT */
    };
} lz_gv;

typedef struct lz_gv_string {
    lz_gv_box box;
    size_t len;
    char text[]; /* and a NUL */
} lz_gv_string;

typedef struct lz_gv_list {
    lz_gv_box box;
    lz_gv *data; /* data, len, cap: as in LZ_VEC */
    size_t len, cap;
} lz_gv_list;

typedef struct lz_gv_dict {
    lz_gv_box box;
    lz_map map; /* to lz_gv_pair, in order of insertion; walk it with lz_map_next */
} lz_gv_dict;

typedef struct lz_gv_pair {
    lz_gv key, value;
    char code[9]; /* the key's bytes in the map, unless it is a string */
} lz_gv_pair;

/* Row-major. Its elements are not there (and its buffer is NULL) where the graph's text
 * had only "<Tensor>". */
typedef struct lz_gv_array {
    lz_gv_box box;
    lz_array array;
} lz_gv_array;

/* Tensors of an executor start with an lz_gv_tensor; this is what the graph may ask. */
typedef struct lz_tensor_class {
    void (*drop)(struct lz_gv_tensor *t); /* the last count is gone */
    lz_ints (*sizes)(const struct lz_gv_tensor *t);
    lz_ints (*strides)(const struct lz_gv_tensor *t);
    lz_dtype (*dtype)(const struct lz_gv_tensor *t);
    lz_str (*device)(const struct lz_gv_tensor *t);
    bool (*requires_grad)(const struct lz_gv_tensor *t);
    lz_err *(*item)(struct lz_gv_tensor *t, lz_scalar *out); /* of a tensor with one element */
    lz_err *(*read)(struct lz_gv_tensor *t, lz_array *out);  /* all elements; out is not initialised */
} lz_tensor_class;

typedef struct lz_gv_tensor {
    lz_gv_box box;
    const lz_tensor_class *cls; /* OBJECT: only drop */
} lz_gv_tensor;

enum { LZ_GV_DEPTH = 64 }; /* values within values that are compared or printed */

static inline lz_gv lz_gv_none(void)
{
    return (lz_gv){ .kind = LZ_GV_NONE };
}

static inline lz_gv lz_gv_bool(bool v)
{
    return (lz_gv){ .kind = LZ_GV_BOOL, .b = v };
}

static inline lz_gv lz_gv_int(int64_t v)
{
    return (lz_gv){ .kind = LZ_GV_INT, .i = v };
}

static inline lz_gv lz_gv_float(double v)
{
    return (lz_gv){ .kind = LZ_GV_FLOAT, .f = v };
}

/* Each makes a box with one count, the caller's. */
/* LZ_ERR_LIMIT above LZ_GV_TEXT_MAX bytes: a loop that doubles a string ends there. */
enum { LZ_GV_TEXT_MAX = 64 << 20 };
LZ_MUST_USE lz_err *lz_gv_str(lz_str text, lz_gv *out);
LZ_MUST_USE lz_err *lz_gv_device(lz_str text, lz_gv *out);
LZ_MUST_USE lz_err *lz_gv_list_make(size_t room, lz_gv *out); /* empty */
/* Takes over the n values, also when it fails. */
LZ_MUST_USE lz_err *lz_gv_tuple(const lz_gv *values, size_t n, lz_gv *out);
LZ_MUST_USE lz_err *lz_gv_dict_make(lz_gv *out);
/* New memory, zeroed; with `unknown` none. */
LZ_MUST_USE lz_err *lz_gv_array_make(lz_dtype dtype, lz_ints sizes, bool unknown, lz_gv *out);
/* Takes the array over, also when it fails. */
LZ_MUST_USE lz_err *lz_gv_array_wrap(lz_array *array, lz_gv *out);
/* For executors: sets up the box within their struct, with one count. */
lz_gv lz_gv_tensor_init(lz_gv_tensor *t, lz_gv_kind kind, const lz_tensor_class *cls);

lz_gv lz_gv_retain(lz_gv v); /* returns v */
void lz_gv_release(lz_gv v);
void lz_gv_set(lz_gv *place, lz_gv v); /* releases what was there, takes v */

static inline lz_str lz_gv_text(lz_gv v) /* STR, DEVICE */
{
    return (lz_str){ v.str->text, v.str->len };
}

/* Adds a value and takes it over, also when it fails. */
LZ_MUST_USE lz_err *lz_gv_push(lz_gv list, lz_gv v);

/* Keys are strings, ints, floats, bools; others are LZ_ERR_ARG. put takes both over, also
 * when it fails; an old value goes. get borrows; *out NULL: absent. */
LZ_MUST_USE lz_err *lz_gv_dict_put(lz_gv dict, lz_gv key, lz_gv value);
LZ_MUST_USE lz_err *lz_gv_dict_get(lz_gv dict, lz_gv key, lz_gv **out);
LZ_MUST_USE lz_err *lz_gv_dict_remove(lz_gv dict, lz_gv key, bool *out);
size_t lz_gv_dict_count(lz_gv dict);

/* As Python's ==; numbers by value, tensors only where they are the same object. */
LZ_MUST_USE lz_err *lz_gv_equal(lz_gv a, lz_gv b, bool *out);
/* The same kind and bits, all the way down: what two equal constants are. Tensors: one object. */
bool lz_gv_identical(lz_gv a, lz_gv b);
uint64_t lz_gv_hash(lz_gv v); /* alike for identical ones */

/* Of a TENSOR or ARRAY. */
bool lz_gv_is_tensor(lz_gv v);
lz_ints lz_gv_sizes(lz_gv v);
lz_ints lz_gv_strides(lz_gv v);
lz_dtype lz_gv_dtype(lz_gv v);
lz_str lz_gv_device_of(lz_gv v);
bool lz_gv_requires_grad(lz_gv v);
LZ_MUST_USE lz_err *lz_gv_item(lz_gv v, lz_scalar *out); /* LZ_ERR_ARG: not one element */
LZ_MUST_USE lz_err *lz_gv_read(lz_gv v, lz_array *out);  /* out is not initialised; deinit it */

/* As a literal of the graph's text: strings quoted, arrays in full. */
LZ_MUST_USE lz_err *lz_gv_repr(lz_gv v, lz_text *out);
/* As TorchScript's str(): the same, with strings bare. */
LZ_MUST_USE lz_err *lz_gv_show(lz_gv v, lz_text *out);
void lz_gv_repr_str(lz_str s, lz_text *out);   /* "a\n" */
void lz_gv_repr_float(double v, lz_text *out); /* 4., 0.10000000000000001, 1e-05, inf, nan */

#endif
