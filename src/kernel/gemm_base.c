/* Products on any machine. */
#define LZ_GEMM_TABLE     lz_gemm_base
#define LZ_GEMM_BYTES     16
#define LZ_GEMM_TRANSPOSE NULL
#include "kernel/gemm_impl.h"
