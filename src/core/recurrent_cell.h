/* recurrent_cell.h - the cells that a kernel call runs along a sequence (LZ_CALL_RECUR, lower.h), and what
 * they save. */
#ifndef LZ_CORE_RECURRENT_CELL_H
#define LZ_CORE_RECURRENT_CELL_H

#include <stdbool.h>
#include <stdint.h>

typedef enum lz_cell_kind { LZ_CELL_TANH, LZ_CELL_RELU, LZ_CELL_LSTM, LZ_CELL_GRU, LZ_CELLS } lz_cell_kind;

/* Numbers of parts as wide as the state. */
typedef struct lz_cell_size {
    int gates;
    int states; /* carried along: the output, and the memory of an LSTM */
    int saved;  /* of each step for the gradients; the first is the output */
    int slopes; /* gradients of each step: of the gates, and once more of a gate whose two sides differ */
} lz_cell_size;

static inline lz_cell_size lz_cell_size_of(lz_cell_kind k)
{
    static const lz_cell_size sizes[LZ_CELLS] = {
        [LZ_CELL_TANH] = { 1, 1, 2, 1 },
        [LZ_CELL_RELU] = { 1, 1, 2, 1 },
        [LZ_CELL_LSTM] = { 4, 2, 8, 4 },
        [LZ_CELL_GRU] = { 3, 1, 6, 4 },
    };
    return sizes[k];
}

#endif
