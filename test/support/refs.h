/* refs.h - what functions of f32 are compared with: libm in double, over many arguments at
 * once, so that a compiler can use vectors where the libm has them. Nothing of ours. */
#ifndef LZ_TEST_REFS_H
#define LZ_TEST_REFS_H

#include <stdbool.h>

typedef void ref32(const float *x, double *y, int n);
typedef long double ref64(long double x);

typedef struct ref {
    const char *name; /* of the operation in the kernel IR, or of a fused instruction */
    ref32 *f32;
    ref64 *f64;
    double limit32, limit64; /* the most units in the last place; 0: reported, no limit */
} ref;

typedef struct ref2 {
    const char *name;
    double (*f32)(double x, double y);
    long double (*f64)(long double x, long double y);
    double limit32, limit64;
} ref2;

extern const ref refs[];
extern const int n_refs;
extern const ref2 refs2[];
extern const int n_refs2;

#endif
