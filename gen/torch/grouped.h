/* grouped.h - the operators of a group. */
#ifndef LZG_GROUPED_H
#define LZG_GROUPED_H

#include "gen/model/model.h"

enum { LZG_GROUP_MEMBERS = 4 };

/* The functional, out, inplace and mutable member; outside of groups the operator. Returns how many. */
size_t lzg_group_members(const lzg_group *g, const lzg_function *out[LZG_GROUP_MEMBERS]);
size_t lzg_grouped_members(const lzg_grouped *g, const lzg_function *out[LZG_GROUP_MEMBERS]);

#endif
