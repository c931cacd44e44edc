/* reduce.h - the one order in which a reduction adds up.
 *
 * A row of L elements is cut into at most 64 blocks of whole chunks. Element i of a chunk goes to lane i
 * mod LANES, in order. At the end of a chunk its lanes are added up by halves (j += j + LANES/2, ...)
 * until there are as many as the block has sums; these are added to the sums of the block. At the end of
 * the block its sums are added up by halves, and the result is added to the total. Everything starts from
 * the neutral element. Rows have 64 lanes, chunks of 1024 and 16 sums; columns 4, 128 and 1. So the order
 * depends on L and on the kernel alone.
 *
 * A sum of f32 is f64 from the sums of the block on (lz_kernel_reduction_total) and is rounded once at the
 * end: a chain has at most 31 additions of f32, however long the row is. */
#ifndef LZ_JIT_REDUCE_H
#define LZ_JIT_REDUCE_H

#include "jit/launch.h"

/* Elements per block: a multiple of the chunk. */
int64_t lz_reduce_block(bool rows, int64_t length);

/* Fills out, which has fresh_bytes of the walk, with its states at the start of a row. */
void lz_reduce_fresh(const lz_program *p, int walk, char *out);
/* Resets all states of the walk, at the start of a row. */
void lz_reduce_start(lz_worker *w, int64_t n);
/* Adds one tile of a row, or one element of each of n rows, to the lanes of the reduction's state. */
void lz_reduce_step(lz_worker *w, const lz_instr *i, int64_t n);
/* One tile of a scan: along the row, or one step of each of n rows. */
void lz_reduce_scan(lz_worker *w, const lz_reduce_state *s, const void *x, int64_t n, void *out);
/* Call when the elements before `done` have been through lz_reduce_step; folds at the end of a chunk or
 * block. */
void lz_reduce_fold(lz_worker *w, int64_t done, int64_t length, int64_t n);
/* Writes the totals to their registers. */
void lz_reduce_end(lz_worker *w, int64_t n);

/* For a row that several threads share: lz_reduce_save stores what one block adds to the total, lz_reduce_add
 * adds it (lz_reduce_part bytes per element of the tile). */
size_t lz_reduce_part(const lz_program *p, int walk);
void lz_reduce_save(lz_worker *w, int64_t n, char *out);
void lz_reduce_add(lz_worker *w, int64_t n, char *part);

#endif
