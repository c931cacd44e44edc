/* profile.c - a program to profile: fits a two-layer network by gradient descent, and reads the median
 * error in each step. The profile of 20 steps shows which lines take the time; docs/profiling.md explains
 * it. */
#include <lazuli/lazuli.h>
#include <stdio.h>

enum { ROWS = 1024, WIDTH = 256, HIDDEN = 512, OUT = 64, STEPS = 20 };

typedef struct network {
    lz_tensor *w1, *w2;
} network;

static lz_tensor *weights(lz_ctx *c, int64_t rows, int64_t cols)
{
    lz_tensor *w = lz_mul(c, lz_randn(c, LZ_DIMS(rows, cols)), 0.05);
    lz_mark_step(c);
    lz_set_requires_grad(w, true);
    return w;
}

static void descend(lz_ctx *c, lz_tensor *w)
{
    lz_grad_mode before = lz_set_grad_mode(c, LZ_GRAD_OFF);
    lz_sub_(c, w, lz_grad_of(w), .alpha = LZ_S(0.05));
    lz_set_grad_mode(c, before);
    lz_set_grad(w, NULL);
}

static double step(lz_ctx *c, const network *n, lz_tensor *x, lz_tensor *y)
{
    lz_scope *s = lz_scope_push(c);
    lz_tensor *h = lz_gelu(c, lz_mm(c, x, n->w1));
    lz_tensor *error = lz_sub(c, lz_mm(c, h, n->w2), y);
    lz_tensor *loss = lz_mean(c, lz_mul(c, error, error));
    lz_backward(c, loss);
    descend(c, n->w1);
    descend(c, n->w2);
    double median = lz_item_double(lz_median(c, lz_abs(c, error)));
    lz_scope_pop(s);
    return median;
}

static int show(void)
{
    lz_profile *p;
    char *text = NULL;
    lz_err *e = lz_profile_end(&p);
    if (!e) {
        e = lz_profile_text(p, 8, &text);
        lz_profile_free(p);
    }
    if (e)
        fprintf(stderr, "%s\n", lz_err_text(e));
    else
        puts(text);
    lz_text_free(text);
    lz_err_free(e);
    return e != NULL;
}

int main(void)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_randn(c, LZ_DIMS(ROWS, WIDTH)), *y = lz_randn(c, LZ_DIMS(ROWS, OUT));
    network n = { weights(c, WIDTH, HIDDEN), weights(c, HIDDEN, OUT) };
    double median = step(c, &n, x, y); /* this step compiles the graph */
    lz_err *e = lz_profile_begin(NULL);
    for (int i = 0; i < STEPS; i++)
        median = step(c, &n, x, y);
    int status = e ? 1 : show();
    lz_err_free(e);
    printf("median error %g after %d steps\n", median, STEPS + 1);
    if (lz_failed(c))
        fprintf(stderr, "%s\n", lz_message(c));
    status = status || lz_failed(c);
    lz_close(c);
    return status;
}
