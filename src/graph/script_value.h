/* script_value.h - the values that flow through a running graph: None, numbers, strings, lists, dicts,
 * tuples, devices, tensors.
 *
 * An lz_script_value has 16 bytes and is passed by value. All but numbers and None refer to a
 * reference-counted box: the holder of an lz_script_value owns one reference and releases it with
 * lz_script_value_release. A list or dict is shared by all its holders, as in Python; strings, tuples,
 * devices and arrays never change. Counts are atomic; a list that several threads hold must not be
 * changed. */
#ifndef LZ_GRAPH_SCRIPT_VALUE_H
#define LZ_GRAPH_SCRIPT_VALUE_H

#include "base/map.h"
#include "base/text.h"
#include "core/strided_array.h"
#include <stdatomic.h>

typedef enum lz_script_value_kind {
    LZ_SCRIPT_VALUE_NONE,
    LZ_SCRIPT_VALUE_BOOL,
    LZ_SCRIPT_VALUE_INT,
    LZ_SCRIPT_VALUE_FLOAT,
    LZ_SCRIPT_VALUE_BOXED,
    LZ_SCRIPT_VALUE_STR = LZ_SCRIPT_VALUE_BOXED,
    LZ_SCRIPT_VALUE_DEVICE, /* a string: "cpu", "cuda:0" */
    LZ_SCRIPT_VALUE_LIST,
    LZ_SCRIPT_VALUE_TUPLE,
    LZ_SCRIPT_VALUE_DICT,
    LZ_SCRIPT_VALUE_ARRAY,  /* a tensor with its elements: a constant, the result of aten::tensor */
    LZ_SCRIPT_VALUE_TENSOR, /* a tensor of the executor */
    LZ_SCRIPT_VALUE_OBJECT, /* any other object of the executor: a generator, ... */
    LZ_SCRIPT_VALUE_KINDS
} lz_script_value_kind;

typedef struct lz_script_value_box lz_script_value_box;
struct lz_script_value_box {
    atomic_uint count;
    lz_script_value_kind kind;
    lz_script_value_box *next; /* list of boxes being freed */
};

typedef struct lz_script_value {
    lz_script_value_kind kind;
    union {
        bool b;
        int64_t i;
        double f;
        lz_script_value_box *box;
        struct lz_script_value_string *str; /* STR, DEVICE */
        struct lz_script_value_list *list;  /* LIST, TUPLE */
        struct lz_script_value_dict *dict;
        struct lz_script_value_array *array;
        struct lz_script_value_tensor *tensor; /* TENSOR, OBJECT */
    };
} lz_script_value;

typedef struct lz_script_value_string {
    lz_script_value_box box;
    size_t len;
    char text[]; /* followed by a NUL */
} lz_script_value_string;

typedef struct lz_script_value_list {
    lz_script_value_box box;
    lz_script_value *data; /* data, len, cap as in LZ_VEC */
    size_t len, cap;
} lz_script_value_list;

typedef struct lz_script_value_dict {
    lz_script_value_box box;
    lz_map map; /* to lz_script_value_pair, in order of insertion; iterate with lz_map_next */
} lz_script_value_dict;

typedef struct lz_script_value_pair {
    lz_script_value key, value;
    char code[9]; /* the key's bytes in the map, unless it is a string */
} lz_script_value_pair;

/* Row-major. The buffer is NULL, without elements, if the graph's text had only "<Tensor>". */
typedef struct lz_script_value_array {
    lz_script_value_box box;
    lz_array array;
} lz_script_value_array;

/* Tensors of an executor begin with an lz_script_value_tensor; these functions answer the graph's questions
 * about them. */
typedef struct lz_tensor_class {
    void (*drop)(struct lz_script_value_tensor *t); /* called for the last reference */
    lz_ints (*sizes)(const struct lz_script_value_tensor *t);
    lz_ints (*strides)(const struct lz_script_value_tensor *t);
    lz_dtype (*dtype)(const struct lz_script_value_tensor *t);
    lz_str (*device)(const struct lz_script_value_tensor *t);
    bool (*requires_grad)(const struct lz_script_value_tensor *t);
    lz_err *(*item)(struct lz_script_value_tensor *t, lz_scalar *out); /* requires one element */
    lz_err *(*read)(struct lz_script_value_tensor *t,
                    lz_array *out); /* all elements; *out is uninitialised before */
} lz_tensor_class;

typedef struct lz_script_value_tensor {
    lz_script_value_box box;
    const lz_tensor_class *cls; /* OBJECT: only drop is set */
} lz_script_value_tensor;

enum { LZ_SCRIPT_VALUE_DEPTH = 64 }; /* most levels of nesting that are compared or printed */

static inline lz_script_value lz_script_value_none(void)
{
    return (lz_script_value){ .kind = LZ_SCRIPT_VALUE_NONE };
}

static inline lz_script_value lz_script_value_bool(bool v)
{
    return (lz_script_value){ .kind = LZ_SCRIPT_VALUE_BOOL, .b = v };
}

static inline lz_script_value lz_script_value_int(int64_t v)
{
    return (lz_script_value){ .kind = LZ_SCRIPT_VALUE_INT, .i = v };
}

static inline lz_script_value lz_script_value_float(double v)
{
    return (lz_script_value){ .kind = LZ_SCRIPT_VALUE_FLOAT, .f = v };
}

/* Each makes a box with one reference, owned by the caller. */
/* LZ_ERR_LIMIT above LZ_SCRIPT_VALUE_TEXT_MAX bytes: a loop that doubles a string ends there. */
enum { LZ_SCRIPT_VALUE_TEXT_MAX = 64 << 20 };
LZ_MUST_USE lz_err *lz_script_value_str(lz_str text, lz_script_value *out);
LZ_MUST_USE lz_err *lz_script_value_device(lz_str text, lz_script_value *out);
LZ_MUST_USE lz_err *lz_script_value_list_make(size_t room, lz_script_value *out); /* empty */
/* Takes over the n values, even on failure. */
LZ_MUST_USE lz_err *lz_script_value_tuple(const lz_script_value *values, size_t n, lz_script_value *out);
LZ_MUST_USE lz_err *lz_script_value_dict_make(lz_script_value *out);
/* New zeroed memory; with `unknown`, none. */
LZ_MUST_USE lz_err *lz_script_value_array_make(lz_dtype dtype, lz_ints sizes, bool unknown,
                                               lz_script_value *out);
/* Takes over the array, even on failure. */
LZ_MUST_USE lz_err *lz_script_value_array_wrap(lz_array *array, lz_script_value *out);
/* For executors: initialises the box in their struct, with one reference. */
lz_script_value lz_script_value_tensor_init(lz_script_value_tensor *t, lz_script_value_kind kind,
                                            const lz_tensor_class *cls);

lz_script_value lz_script_value_retain(lz_script_value v); /* returns v */
void lz_script_value_release(lz_script_value v);
void lz_script_value_set(lz_script_value *place, lz_script_value v); /* releases the old value, takes v */

static inline lz_str lz_script_value_text(lz_script_value v) /* STR, DEVICE */
{
    return (lz_str){ v.str->text, v.str->len };
}

/* Appends a value and takes it over, even on failure. */
LZ_MUST_USE lz_err *lz_script_value_push(lz_script_value list, lz_script_value v);

/* A new list or tuple of the results of `fn` for each item of v; depth is passed through. *out is None on
 * failure. */
typedef lz_err *lz_script_value_map_fn(void *user, lz_script_value item, int depth, lz_script_value *out);
LZ_MUST_USE lz_err *lz_script_value_map_items(lz_script_value v, lz_script_value_map_fn *fn, void *user,
                                              int depth, lz_script_value *out);

/* Keys are strings, ints, floats, bools; others are LZ_ERR_ARG. put takes over both, even on failure, and
 * releases an old value. get borrows; *out NULL: absent. */
LZ_MUST_USE lz_err *lz_script_value_dict_put(lz_script_value dict, lz_script_value key,
                                             lz_script_value value);
LZ_MUST_USE lz_err *lz_script_value_dict_get(lz_script_value dict, lz_script_value key,
                                             lz_script_value **out);
LZ_MUST_USE lz_err *lz_script_value_dict_remove(lz_script_value dict, lz_script_value key, bool *out);
size_t lz_script_value_dict_count(lz_script_value dict);

/* As Python's ==; numbers by value, tensors only if they are the same object. */
LZ_MUST_USE lz_err *lz_script_value_equal(lz_script_value a, lz_script_value b, bool *out);
/* Equal kinds and bits at all levels, as of two equal constants. Tensors: the same object. */
bool lz_script_value_identical(lz_script_value a, lz_script_value b);
uint64_t lz_script_value_hash(lz_script_value v); /* equal for identical values */

/* For a TENSOR or ARRAY. */
bool lz_script_value_is_tensor(lz_script_value v);
lz_ints lz_script_value_sizes(lz_script_value v);
lz_ints lz_script_value_strides(lz_script_value v);
lz_dtype lz_script_value_dtype(lz_script_value v);
lz_str lz_script_value_device_of(lz_script_value v);
bool lz_script_value_requires_grad(lz_script_value v);
LZ_MUST_USE lz_err *lz_script_value_item(lz_script_value v, lz_scalar *out); /* LZ_ERR_ARG: not one element */
LZ_MUST_USE lz_err *lz_script_value_read(lz_script_value v,
                                         lz_array *out); /* *out is uninitialised before; deinit it */

/* As a literal of the graph's text: strings quoted, arrays in full. */
LZ_MUST_USE lz_err *lz_script_value_repr(lz_script_value v, lz_text *out);
/* As TorchScript's str(): like repr, but strings unquoted. */
LZ_MUST_USE lz_err *lz_script_value_show(lz_script_value v, lz_text *out);
void lz_script_value_repr_str(lz_str s, lz_text *out);   /* "a\n" */
void lz_script_value_repr_float(double v, lz_text *out); /* 4., 0.10000000000000001, 1e-05, inf, nan */

#endif
