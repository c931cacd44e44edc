/* value_kind.h - a table of facts about each kind of value (include/lazuli/value.h): lz_kinds[kind].
 *
 * A constant value has other forms: words, which are equal exactly if the values are; text, for users; and,
 * in folders above this one, a value of a formula (lower/arg.c) or of a script (ts/ts_lowering.c). A list is
 * converted item by item:
 *
 *     for (int64_t i = 0; i < list->ints.n; i++)
 *         item = lz_value_item(list, i);      all lists have the members v and n in one place */
#ifndef LZ_CORE_VALUE_KIND_H
#define LZ_CORE_VALUE_KIND_H

#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"
#include <assert.h>
#include <lazuli/value.h>
#include <stddef.h>
#include <string.h>

typedef LZ_VEC(uint64_t) lz_words;

typedef struct lz_kind_row {
    lz_kind element; /* kind of a list's items; LZ_KIND_NONE: not a list */
    size_t size;     /* bytes of an item */
    /* NULL: it has no words. Must not be called for an absent value. */
    lz_err *(*put)(lz_words *out, const lz_value *v);
    void (*get)(const uint64_t *words, lz_value *out); /* reads what put wrote; points into words */
    lz_scalar (*number)(const lz_value *v);            /* NULL: neither a number nor an enumeration */
    void (*print)(const lz_value *v, lz_text *out);    /* NULL: printed as its number */
} lz_kind_row;

extern const lz_kind_row lz_kinds[LZ_KIND_COUNT];

/* Is v its type's own value for "absent"? Inline, because recording calls it for each argument. */
static inline bool lz_value_is_absent(const lz_value *v)
{
    switch (v->kind) {
    case LZ_KIND_NONE:
    case LZ_KIND_GENERATOR: /* the context draws the numbers */
        return true;
    case LZ_KIND_SCALAR:
        return v->scalar.kind == LZ_SCALAR_NONE;
    case LZ_KIND_STR:
        return !v->str;
    case LZ_KIND_DTYPE:
        return v->dtype == LZ_DTYPE_NONE;
    case LZ_KIND_LAYOUT:
        return v->layout == LZ_LAYOUT_NONE;
    case LZ_KIND_MEMORY_FORMAT:
        return v->memory_format == LZ_MEMORY_FORMAT_NONE;
    case LZ_KIND_DEVICE:
        return v->device.type < 0;
    case LZ_KIND_INTS:
    case LZ_KIND_FLOATS:
    case LZ_KIND_BOOLS:
    case LZ_KIND_SCALARS:
    case LZ_KIND_STRS:
        return v->ints.n < 0;
    default:
        return false;
    }
}

/* Item i of a list; i must be in range. All lists have v and n at one offset, and all members of a value
 * begin at one offset. Most items have the size of a word. */
static inline lz_value lz_value_item(const lz_value *list, int64_t i)
{
    const lz_kind_row *k = &lz_kinds[list->kind];
    const char *from = (const char *)list->ints.v + (size_t)i * k->size;
    lz_value item;
    assert(k->element && i >= 0 && i < list->ints.n);
    item.kind = k->element;
    if (k->size == sizeof item.integer)
        memcpy(&item.integer, from, sizeof item.integer);
    else
        memcpy((char *)&item + offsetof(lz_value, tensor), from, k->size);
    return item;
}

/* A number, or an enumeration as an int; LZ_SCALAR_NONE for other kinds and absent values. */
lz_scalar lz_value_number(const lz_value *v);

/* Puts the kind, then what its row puts. The row must have `put`. */
LZ_MUST_USE lz_err *lz_value_put(lz_words *out, const lz_value *v);
/* The value that begins at a word; texts and lists point into the words. */
lz_value lz_value_get(const uint64_t *words);

/* "[1, 2]", "'sum'", "True", "Float"; "None" for kinds without a text. */
void lz_value_print(const lz_value *v, lz_text *out);

#endif
