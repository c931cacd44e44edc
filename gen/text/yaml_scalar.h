/* yaml_scalar.h - the value of a YAML 1.1 scalar.
 *
 * An untagged plain scalar has the first type whose spelling it matches, as in PyYAML's safe loader; a
 * tagged scalar must be spelled as its tag demands. */
#ifndef LZG_YAML_SCALAR_H
#define LZG_YAML_SCALAR_H

#include "gen/text/yaml_utils.h"

/* Both fill kind, truth, integer and real of a node whose text and loc are set. */
LZ_MUST_USE
lz_err *lzg_yaml_resolve_plain(lzg_yaml *node);
LZ_MUST_USE
lz_err *lzg_yaml_resolve_tagged(lzg_yaml *node, const char *tag);

/* A total order of scalars; 0 if both would be one key of a Python dictionary, as 1,
 * 1.0 and true would. */
int lzg_yaml_key_cmp(const lzg_yaml *a, const lzg_yaml *b);

#endif
