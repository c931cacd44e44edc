/* horner.h - HORNERn(bits, x, c0, c1, ...): c0 + c1 x + c2 x^2 + ..., as nested FMA.
 *
 * PAIRSn gets powers of x, too, and adds up pairs of terms: one or two steps more, but half of the time that
 * one vector takes, which is what limits long functions. Infinite powers make the sum NaN. */
#ifndef LZ_JIT_HORNER_H
#define LZ_JIT_HORNER_H

#define HORNER1(b, x, c)       C##b(c)
#define HORNER2(b, x, c, ...)  FMA##b(HORNER1(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER3(b, x, c, ...)  FMA##b(HORNER2(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER4(b, x, c, ...)  FMA##b(HORNER3(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER5(b, x, c, ...)  FMA##b(HORNER4(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER6(b, x, c, ...)  FMA##b(HORNER5(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER7(b, x, c, ...)  FMA##b(HORNER6(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER8(b, x, c, ...)  FMA##b(HORNER7(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER9(b, x, c, ...)  FMA##b(HORNER8(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER10(b, x, c, ...) FMA##b(HORNER9(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER11(b, x, c, ...) FMA##b(HORNER10(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER12(b, x, c, ...) FMA##b(HORNER11(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER13(b, x, c, ...) FMA##b(HORNER12(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER14(b, x, c, ...) FMA##b(HORNER13(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER15(b, x, c, ...) FMA##b(HORNER14(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER16(b, x, c, ...) FMA##b(HORNER15(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER17(b, x, c, ...) FMA##b(HORNER16(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER18(b, x, c, ...) FMA##b(HORNER17(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER19(b, x, c, ...) FMA##b(HORNER18(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER20(b, x, c, ...) FMA##b(HORNER19(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER21(b, x, c, ...) FMA##b(HORNER20(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER22(b, x, c, ...) FMA##b(HORNER21(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER23(b, x, c, ...) FMA##b(HORNER22(b, x, __VA_ARGS__), x, C##b(c))
#define HORNER24(b, x, c, ...) FMA##b(HORNER23(b, x, __VA_ARGS__), x, C##b(c))

#define PAIR(b, x, c, d)                 FMA##b(C##b(d), x, C##b(c))
#define PAIRS4(b, x, xx, c0, c1, c2, c3) FMA##b(PAIR(b, x, c2, c3), xx, PAIR(b, x, c0, c1))
#define PAIRS6(b, x, xx, c0, c1, c2, c3, c4, c5)                                                             \
    FMA##b(PAIRS4(b, x, xx, c2, c3, c4, c5), xx, PAIR(b, x, c0, c1))
#define PAIRS9(b, x, xx, xxxx, c0, c1, c2, c3, c4, c5, c6, c7, c8)                                           \
    FMA##b(FMA##b(C##b(c8), xxxx, PAIRS4(b, x, xx, c4, c5, c6, c7)), xxxx, PAIRS4(b, x, xx, c0, c1, c2, c3))

#endif
