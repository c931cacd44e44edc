/* ts_backend.h - the TorchScript backend: graphs of aten:: operators, run by the engine.
 *
 * It reaches the lazy layer through <lazuli/backend.h> alone. It has one device, CPU0.
 * LAZULI_TS_CUDA, or LTC_TS_CUDA as the original has it, makes CUDA the default type: as long
 * as there is no such device, whoever opens the default device is told so, and nobody else. */
#ifndef LZ_TS_TS_BACKEND_H
#define LZ_TS_TS_BACKEND_H

#include <lazuli/backend.h>

enum { LZ_TS_CPU = 0, LZ_TS_CUDA = 1 }; /* PyTorch's numbers */

/* "cpu"; constant. As the entry function of a shared object would give it. */
const lz_backend *lz_ts_backend(uint32_t host_abi);

#endif
