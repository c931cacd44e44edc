#include "jit/kop.h"

enum { B = 1, I = 2 | 4, F = 8 | 16, D = 16 };
enum { SAME = LZ_KR_SAME, BOOL = LZ_KR_BOOL, LAST = LZ_KR_LAST, BITS = LZ_KR_BITS };

static const struct {
    const char *text;
    int operands;
    unsigned types;
    lz_kresult result;
} rows[LZ_KOP_COUNT] = {
#define ROW(name, text, n, types, result) { text, n, types, (lz_kresult)(result) },
    LZ_KOPS(ROW)
#undef ROW
};

bool lz_kop_find(lz_str text, lz_kop *out)
{
    for (int i = 0; i < LZ_KOP_COUNT; i++) {
        if (lz_str_is(text, rows[i].text)) {
            *out = (lz_kop)i;
            return true;
        }
    }
    return false;
}

const char *lz_kop_text(lz_kop op)
{
    return rows[op].text;
}

int lz_kop_operands(lz_kop op)
{
    return rows[op].operands;
}

unsigned lz_kop_types(lz_kop op)
{
    return rows[op].types;
}

lz_kresult lz_kop_result(lz_kop op)
{
    return rows[op].result;
}
