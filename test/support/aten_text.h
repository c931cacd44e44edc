/* aten_text.h - forward passes as the recorded training cases write them: lines such as
 *
 *     h = aten::max_pool2d(aten::relu(aten::conv2d(x, c1.weight, c1.bias, padding=2)), [2,2])
 *
 * run on tensors of a context. A name stands for a tensor; numbers, lists, None, True and False
 * for themselves; mean, sum and none for a reduction. What follows a second "=" is another way
 * to write the same and is not looked at. */
#ifndef LZ_TEST_ATEN_TEXT_H
#define LZ_TEST_ATEN_TEXT_H

#include "base/arena.h"
#include "base/map.h"
#include <lazuli/lazuli.h>

typedef struct aten_text {
    lz_ctx *c;
    lz_arena *arena; /* of one pass */
    lz_map *names;   /* to lz_tensor, borrowed */
    lz_str rest;     /* of the line */
} aten_text;

/* Runs one line; the name gets a tensor of the scope. */
LZ_MUST_USE lz_err *aten_text_run(aten_text *t, lz_str line);

#endif
