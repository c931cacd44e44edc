/* reduce.h - the one order in which a reduction adds up.
 *
 * A row of L elements is cut into at most 64 blocks of whole chunks, a chunk into
 * lanes: element i goes to lane i mod LANES, in order. At the end of a chunk its lanes
 * are added to those of the block, at the end of the block these are added up by
 * halves (j += j + LANES/2, ...), and the sum is added to the total. Everything starts
 * from the neutral element. Rows have 64 lanes and chunks of 4096, columns 4 and 256.
 * So the order depends on L and on the kernel alone. */
#ifndef LZ_JIT_REDUCE_H
#define LZ_JIT_REDUCE_H

#include "jit/launch.h"

/* Elements per block: a multiple of the chunk. */
int64_t lz_reduce_block(bool rows, int64_t length);

/* All states of the walk, at the start of a row. */
void lz_reduce_start(lz_worker *w, int64_t n);
/* One tile of a row, or one element of each of n rows, into the lanes of a state. */
void lz_reduce_step(lz_worker *w, const lz_state *s, const void *x, int64_t n);
/* A scan's tile: along the row, or one step of each of n rows. */
void lz_reduce_scan(lz_worker *w, const lz_state *s, const void *x, int64_t n, void *out);
/* Elements before `done` have been through lz_reduce_step. */
void lz_reduce_fold(lz_worker *w, int64_t done, int64_t length, int64_t n);
/* Totals into their registers. */
void lz_reduce_end(lz_worker *w, int64_t n);

/* For a row that several threads share: what one block adds to the total, put into and
 * taken from `out` (lz_reduce_part bytes per element of the tile). */
size_t lz_reduce_part(const lz_program *p, int walk);
void lz_reduce_save(lz_worker *w, int64_t n, char *out);
void lz_reduce_add(lz_worker *w, int64_t n, const char *part);

#endif
