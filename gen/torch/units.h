/* units.h - what torchgen's loops go over: groups, and the operators outside of groups, each where the
 * first operator of its signature stands. */
#ifndef LZG_UNITS_H
#define LZG_UNITS_H

#include "gen/model/model.h"

enum { LZG_UNIT_MEMBERS = 4 };

/* A group, or an operator; the other is NULL. */
typedef struct lzg_unit {
    const lzg_group *group;
    const lzg_function *single;
} lzg_unit;

typedef struct lzg_units {
    const lzg_unit *at;
    size_t n;
} lzg_units;

LZ_MUST_USE lz_err *lzg_units_make(lz_arena *a, const lzg_ops *ops, lzg_units *out);

/* A group's functional, out, inplace and mutable member, or the operator. Returns how many. */
size_t lzg_unit_members(lzg_unit u, const lzg_function *out[LZG_UNIT_MEMBERS]);
size_t lzg_group_members(const lzg_group *g, const lzg_function *out[LZG_UNIT_MEMBERS]);
/* The operator, or the group's functional one. */
const lzg_function *lzg_unit_functional(lzg_unit u);
lz_str lzg_unit_root_name(lzg_unit u);
/* The operator, or the group's out one, whose switches hold for the whole group. */
const lzg_function *lzg_unit_speaker(lzg_unit u);

/* The unit's kernel: the operator's, or that of its primary member. NULL: none. */
const lzg_backend_metadata *lzg_index_unit(const lzg_backend_index *index, lzg_unit u);
const lzg_backend_metadata *lzg_index_function(const lzg_backend_index *index, const lzg_function *f);

#endif
