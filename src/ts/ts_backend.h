/* ts_backend.h - the TorchScript backend: graphs of aten:: operators, run by the engine.
 *
 * It reaches the lazy layer through <lazuli/backend.h> alone. It has one device, CPU0.
 * LAZULI_TS_CUDA, or PyTorch's name LTC_TS_CUDA, makes CUDA the default type. If there is no CUDA
 * device, only opening the default device fails. */
#ifndef LZ_TS_TS_BACKEND_H
#define LZ_TS_TS_BACKEND_H

#include <lazuli/backend.h>

enum { LZ_TS_CPU = 0, LZ_TS_CUDA = 1 }; /* PyTorch's numbers */

/* The constant table of "cpu", as the entry function of a shared object would return it. */
const lz_backend *lz_ts_backend(uint32_t host_abi);

struct lz_static_graph;
/* Whether b runs computations of this backend itself. */
bool lz_ts_is_backend(const lz_backend *b);
/* What runs a computation of this backend; NULL: sizes of the graph depend on elements. */
const struct lz_static_graph *lz_ts_static_graph(const void *computation);

#endif
