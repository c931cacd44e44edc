/* Any bytes are a record of a run, taken or not; what is taken prints as it was read. */
#include "gen/torch/record_file.h"
#include "gen_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lz_str text = { (const char *)data, size }, key = LZ_STR("key");
    lzg_recorded r = { 0 };
    lz_text t = { 0 };
    bool good;
    fine(lzg_recorded_parse(text, key, &r, &good));
    lzg_recorded_print(&r, key, &t);
    bool inputs_first = true; /* as printed; a reader takes any order */
    for (size_t i = 0; good && i < r.outputs.len; i++)
        for (size_t k = 0; k < r.inputs.len; k++)
            inputs_first = inputs_first && r.inputs.data[k].path < r.outputs.data[i].path;
    check(!good || !inputs_first || lz_str_eq(lz_text_view(&t), text));
    lz_text_deinit(&t);
    lzg_recorded_deinit(&r);
    return 0;
}
