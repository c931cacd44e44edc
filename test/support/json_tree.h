/* json_tree.h - writes what was read. */
#ifndef LZ_TEST_JSON_TREE_H
#define LZ_TEST_JSON_TREE_H

#include "base/json_write.h"

void json_put_tree(lz_json_writer *w, const lz_json *v);

#endif
