/* Any bytes are a safetensors file, all tensors of which can be read or are refused, or they are none. */
#include "archive_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_archive(data, size, &lz_safetensors_class);
    return 0;
}
