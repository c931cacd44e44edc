/* Objects as a compiler of kernels makes them; OBJECT says what is special about one, and
 * test_code_load which of them it expects to be refused. */
#include "jit/code.h"

#define WRITABLE  1
#define UNDEFINED 2
#define NAMELESS  3
#define NEEDY     4

/* The name is that of a type in C. */
#if OBJECT == NAMELESS
int code(lz_native_frame *f);
#else
int code(lz_native_frame *f) __asm__("lz_code");
#endif
int lz_walk(lz_native_frame *f, int64_t walk, int64_t begin, int64_t end);
extern const lz_native_needs lz_needs;

const lz_native_needs lz_needs = { .scratch = OBJECT == NEEDY ? -1 : 640, .scratch_row = 8, .strip = 32 };

static const int64_t squares[] = { 0, 1, 4, 9, 16, 25, 36, 49 };

__attribute__((noinline)) static int64_t chosen(int64_t i, int64_t v)
{
    switch (i & 7) { /* dense enough for a table of jumps */
    case 0:
        return v + 3;
    case 1:
        return v * 5;
    case 2:
        return v ^ 77;
    case 3:
        return v - i;
    case 4:
        return v << 2;
    case 5:
        return -v;
    case 6:
        return v / 3;
    default:
        return v | 1;
    }
}

#if OBJECT == WRITABLE
static int64_t count;
#endif
#if OBJECT == UNDEFINED
int64_t elsewhere(int64_t v);
#endif

/* scratch: n_row doubles, halved and moved on by a square or by what is chosen for them */
int code(lz_native_frame *f)
{
    double *x = (double *)(void *)f->scratch;
    for (int64_t i = 0; i < f->n_row; i++)
        x[i] = x[i] * 0.5 + (double)(squares[i & 7] + chosen(i, i * i));
#if OBJECT == WRITABLE
    f->dim = ++count;
#endif
#if OBJECT == UNDEFINED
    f->dim = elsewhere(f->dim);
#endif
    return LZ_CODE_FINE;
}

int lz_walk(lz_native_frame *f, int64_t walk, int64_t begin, int64_t end)
{
    f->index = chosen(walk, begin) + squares[end & 7];
    return LZ_CODE_INDEX;
}
