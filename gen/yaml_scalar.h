/* yaml_scalar.h - what a YAML 1.1 scalar means.
 *
 * An untagged plain scalar is whatever its spelling matches first, as PyYAML's
 * safe loader has it; a tagged one must be spelled as its tag demands. */
#ifndef LZG_YAML_SCALAR_H
#define LZG_YAML_SCALAR_H

#include "gen/yaml_utils.h"

/* Both fill kind, truth, integer and real of a node whose text and loc are set. */
LZ_MUST_USE
lz_err *lzg_yaml_resolve_plain(lzg_yaml *node);
LZ_MUST_USE
lz_err *lzg_yaml_resolve_tagged(lzg_yaml *node, const char *tag);

/* A total order of scalars; 0 if both would be one key of a Python dictionary, as 1,
 * 1.0 and true would. */
int lzg_yaml_key_cmp(const lzg_yaml *a, const lzg_yaml *b);

#endif
