/* yaml_write.h - scalars of YAML as libyaml's emitter writes them for PyYAML, in block style.
 *
 * A text is plain where it reads back as that text, else in single quotes, else (control characters,
 * anything beyond ASCII) in double quotes. Lines are never folded. */
#ifndef LZG_YAML_WRITE_H
#define LZG_YAML_WRITE_H

#include "base/text.h"

void lzg_yaml_put_text(lz_text *out, lz_str s);
void lzg_yaml_put_bool(lz_text *out, bool v);

/* A text as the number that Python's int() or float() makes of it, or as text where they refuse it; true and
 * false are booleans. */
void lzg_yaml_put_python_value(lz_text *out, lz_str s);

#endif
