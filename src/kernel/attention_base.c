/* Rows of scores on any machine. */
#define LZ_ATTENTION_TABLE lz_attention_base
#include "kernel/attention_impl.h"
