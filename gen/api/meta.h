/* meta.h - the shape functions of structured operators. */
#ifndef LZG_API_META_H
#define LZG_API_META_H

#include "gen/model/model.h"

/* The functional op's name with _ for the dot: the class is structured_<name>. */
LZ_MUST_USE lz_err *lzg_meta_name(lz_arena *a, const lzg_group *g, lz_str *out);

#endif
