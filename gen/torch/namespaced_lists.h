/* namespaced_lists.h - declarations in C++ namespaces, each namespace and each declaration once, in the order
 * of first appearance. */
#ifndef LZG_NAMESPACED_LISTS_H
#define LZG_NAMESPACED_LISTS_H

#include "base/map.h"
#include "gen/text/texts.h"

typedef struct lzg_namespaced_lists {
    lz_arena *arena;
    lz_map lists; /* namespace -> list */
} lzg_namespaced_lists;

void lzg_namespaced_lists_deinit(lzg_namespaced_lists *l);

/* The namespace is there from now on. It is borrowed. */
LZ_MUST_USE lz_err *lzg_namespaced_lists_open(lzg_namespaced_lists *l, lz_str ns);

/* Adds a declaration to a namespace, unless there is one with that key. *out: the declaration that is
 * there, which may be replaced. Key and text are copied. */
LZ_MUST_USE lz_err *lzg_namespaced_lists_add(lzg_namespaced_lists *l, lz_str ns, lz_str key, lz_str text,
                                             lz_str **out);

/* "\nnamespace NS {\nDECLARATIONS\n} // namespace NS\n        ", split into an item for each line; empty:
 * also namespaces without declarations. LZ_ERR_MODEL for a namespace of more than so many levels. */
LZ_MUST_USE lz_err *lzg_namespaced_lists_print(const lzg_namespaced_lists *l, size_t levels, bool empty,
                                               lzg_texts *out);

#endif
