/* lazy.c - ordinary tensor code that fits a line to points by gradient descent, and its cost. Every call
 * records; lz_mark_step runs the recorded graph, which is compiled once. */
#include <lazuli/lazuli.h>
#include <stdio.h>

enum { POINTS = 64, STEPS = 200 };

/* y = 3x - 1, at x = 0, 1/64, 2/64, ... */
static void make_points(lz_ctx *c, lz_tensor **x, lz_tensor **y)
{
    *x = lz_div(c, lz_arange(c, LZ_S(POINTS), .dtype = LZ_F32), POINTS);
    *y = lz_sub(c, lz_mul(c, *x, 3), 1);
}

/* One step down the gradient of the mean squared error, in place. */
static void step(lz_ctx *c, lz_tensor *x, lz_tensor *y, lz_tensor *slope, lz_tensor *offset, double rate)
{
    lz_scope *s = lz_scope_push(c);
    lz_tensor *error = lz_sub(c, lz_add(c, lz_mul(c, x, slope), offset), y);
    lz_sub_(c, slope, lz_mean(c, lz_mul(c, error, x)), .alpha = LZ_S(rate));
    lz_sub_(c, offset, lz_mean(c, error), .alpha = LZ_S(rate));
    lz_scope_pop(s);
    lz_mark_step(c);
}

int main(void)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x, *y;
    int64_t compiled = 0, reused = 0;
    make_points(c, &x, &y);
    lz_tensor *slope = lz_zeros(c, LZ_DIMS(1)), *offset = lz_zeros(c, LZ_DIMS(1));
    for (int i = 0; i < STEPS; i++)
        step(c, x, y, slope, offset, 2.0 / (1 + i * 0.01)); /* a changed rate compiles nothing */
    printf("slope %s\n", lz_print(slope));
    printf("offset %s\n", lz_print(offset));
    lz_counter_value("UncachedCompile", &compiled);
    lz_counter_value("CachedCompile", &reused);
    printf("%d steps: %lld graphs compiled, %lld times one was reused\n", STEPS, (long long)compiled,
           (long long)reused);
    if (lz_failed(c))
        fprintf(stderr, "%s\n", lz_message(c));
    int status = lz_failed(c);
    lz_close(c);
    return status;
}
