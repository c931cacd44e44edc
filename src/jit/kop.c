#include "jit/kop.h"

enum { B = 1, I = 2 | 4, F = 8 | 16, D = 16 };
enum {
    SAME = LZ_KERNEL_REDUCE_SAME,
    BOOL = LZ_KERNEL_REDUCE_BOOL,
    LAST = LZ_KERNEL_REDUCE_LAST,
    BITS = LZ_KERNEL_REDUCE_BITS
};

static const struct {
    const char *text;
    int operands;
    unsigned types;
    lz_kernel_result result;
} rows[LZ_KERNEL_OP_COUNT] = {
#define ROW(name, text, n, types, result) { text, n, types, (lz_kernel_result)(result) },
    LZ_KERNEL_OP_COUNT(ROW)
#undef ROW
};

bool lz_kernel_op_find(lz_str text, lz_kernel_op *out)
{
    for (int i = 0; i < LZ_KERNEL_OP_COUNT; i++) {
        if (lz_str_is(text, rows[i].text)) {
            *out = (lz_kernel_op)i;
            return true;
        }
    }
    return false;
}

const char *lz_kernel_op_text(lz_kernel_op op)
{
    return rows[op].text;
}

int lz_kernel_op_operands(lz_kernel_op op)
{
    return rows[op].operands;
}

unsigned lz_kernel_op_types(lz_kernel_op op)
{
    return rows[op].types;
}

lz_kernel_result lz_kernel_op_result(lz_kernel_op op)
{
    return rows[op].result;
}
