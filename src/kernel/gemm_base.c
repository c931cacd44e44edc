/* Products on any machine. */
#define LZ_GEMM_TABLE lz_gemm_base
#define LZ_GEMM_BYTES 16
#include "kernel/gemm_impl.h"
