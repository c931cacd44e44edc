/* gpt.c - a small transformer learns to write, character by character.
 *
 *     gpt [-n STEPS] [FILE...]      text to learn from; default: the documents and the sources here
 *
 * At the end it prints four lines of generated text, and the cost of the training. */
#include <glob.h>
#include <lazuli/lazuli.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 128, HEADS = 4, BLOCKS = 3, LENGTH = 64, BATCH = 16, CHARACTERS = 128, WRITTEN = 400 };
enum { WIDE = 4 * WIDTH, TOKENS = BATCH * LENGTH };

typedef struct block {
    lz_module *norm1, *attention, *norm2, *up, *down;
} block;

typedef struct gpt {
    lz_module *all, *tokens, *places, *norm, *head;
    block blocks[BLOCKS];
} gpt;

typedef struct text {
    unsigned char *ptr;
    size_t len;
} text;

/* ---- the model ---- */

static block make_block(lz_module *parent)
{
    lz_module *m = lz_nn_module(parent, NULL); /* its name is its number in the list */
    return (block){ lz_nn_layer_norm(m, "norm1", LZ_DIMS(WIDTH)),
                    lz_nn_multihead_attention(m, "attention", WIDTH, HEADS, .batch_first = true),
                    lz_nn_layer_norm(m, "norm2", LZ_DIMS(WIDTH)), lz_nn_linear(m, "up", WIDTH, WIDE),
                    lz_nn_linear(m, "down", WIDE, WIDTH) };
}

static gpt make_gpt(lz_ctx *c)
{
    lz_module *m = lz_module_create(c);
    gpt g = { .all = m,
              .tokens = lz_nn_embedding(m, "tokens", CHARACTERS, WIDTH),
              .places = lz_nn_embedding(m, "places", LENGTH, WIDTH) };
    lz_module *blocks = lz_nn_module(m, "blocks");
    for (int i = 0; i < BLOCKS; i++)
        g.blocks[i] = make_block(blocks);
    g.norm = lz_nn_layer_norm(m, "norm", LZ_DIMS(WIDTH));
    g.head = lz_nn_linear(m, "head", WIDTH, CHARACTERS, .bias = false);
    return g;
}

/* From characters [batch, length] to scores of the next character [batch, length, CHARACTERS]. */
static lz_tensor *forward(lz_ctx *c, const gpt *g, lz_tensor *x)
{
    lz_tensor *places = lz_arange(c, LZ_S(LENGTH), .dtype = LZ_I64);
    lz_tensor *h = lz_add(c, lz_forward(g->tokens, x), lz_forward(g->places, places));
    for (int i = 0; i < BLOCKS; i++) {
        const block *b = &g->blocks[i];
        lz_tensor *n = lz_forward(b->norm1, h);
        h = lz_add(c, h, lz_attend(b->attention, n, n, n, .is_causal = true));
        lz_tensor *wide = lz_gelu(c, lz_forward(b->up, lz_forward(b->norm2, h)));
        h = lz_add(c, h, lz_forward(b->down, wide));
    }
    return lz_forward(g->head, lz_forward(g->norm, h));
}

static lz_tensor *learn(lz_ctx *c, const gpt *g, lz_optim *optim, const int64_t *in, const int64_t *next)
{
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_from_memory(c, LZ_I64, LZ_DIMS(BATCH, LENGTH), in);
    lz_tensor *y = lz_from_memory(c, LZ_I64, LZ_DIMS(TOKENS), next);
    lz_tensor *rows = lz_reshape(c, forward(c, g, x), LZ_DIMS(TOKENS, CHARACTERS));
    lz_tensor *loss = lz_retain(lz_cross_entropy_loss(c, rows, y));
    lz_backward(c, loss);
    lz_clip_grad_norm(g->all, 1.0);
    lz_optim_step(optim);
    lz_scope_pop(s);
    lz_mark_step(c);
    return loss;
}

/* ---- training ---- */

static uint64_t roll(uint64_t *dice)
{
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    return *dice >> 33;
}

static void pick(const text *t, uint64_t *dice, int64_t *in, int64_t *next)
{
    for (int b = 0; b < BATCH; b++) {
        size_t at = (size_t)(roll(dice) % (t->len - LENGTH));
        for (int i = 0; i < LENGTH; i++) {
            in[b * LENGTH + i] = t->ptr[at + (size_t)i];
            next[b * LENGTH + i] = t->ptr[at + (size_t)i + 1];
        }
    }
}

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void train(lz_ctx *c, const gpt *g, const text *t, int steps)
{
    static int64_t in[TOKENS], next[TOKENS];
    uint64_t dice = 1;
    double start = seconds();
    lz_optim *optim = lz_adamw(g->all, .lr = 0, .weight_decay = 0.01);
    for (int i = 0; i < steps && !lz_failed(c); i++) {
        double warm = lz_schedule_linear(2e-3, i, 0.05, 1, 20);
        pick(t, &dice, in, next);
        lz_optim_set_lr(optim, lz_schedule_cosine(warm, i, steps, 0));
        lz_tensor *loss = learn(c, g, optim, in, next);
        if (i % 50 == 0 || i + 1 == steps)
            printf("step %4d of %d  loss %.3f  %5.1f s\n", i + 1, steps, lz_item(loss).re, seconds() - start);
        fflush(stdout);
        lz_release(loss);
    }
    lz_optim_free(optim);
}

/* ---- writing ---- */

/* Draws the next character: the best score after adding random (Gumbel) noise. */
static int64_t follow(lz_ctx *c, const gpt *g, const int64_t *last)
{
    lz_scope *s = lz_scope_push(c);
    lz_tensor *rows = forward(c, g, lz_from_memory(c, LZ_I64, LZ_DIMS(1, LENGTH), last));
    lz_tensor *row = lz_select(c, lz_select(c, rows, 0, 0), 0, LENGTH - 1);
    lz_tensor *noise = lz_neg(c, lz_log(c, lz_neg(c, lz_log(c, lz_rand(c, LZ_DIMS(CHARACTERS))))));
    row = lz_add(c, lz_div(c, row, 0.8), noise);
    int64_t next = lz_item(lz_argmax(c, row)).i;
    lz_scope_pop(s);
    return next;
}

static void write_text(lz_ctx *c, const gpt *g, const text *t)
{
    int64_t last[LENGTH];
    for (int i = 0; i < LENGTH; i++)
        last[i] = t->ptr[i];
    printf("\nit writes\n%.*s|", LENGTH, (const char *)t->ptr);
    LZ_INFERENCE(c)
    {
        for (int i = 0; i < WRITTEN && !lz_failed(c); i++) {
            int64_t next = follow(c, g, last);
            memmove(last, last + 1, sizeof last - sizeof *last);
            last[LENGTH - 1] = next;
            putchar((int)next);
            fflush(stdout);
        }
    }
    printf("\n");
}

/* ---- files ---- */

/* Leaves out characters that are not ASCII. */
static void add_file(text *t, const char *path)
{
    unsigned char piece[4096];
    FILE *f = fopen(path, "rb");
    if (!f)
        fprintf(stderr, "gpt: %s cannot be read\n", path);
    for (size_t n; f && (n = fread(piece, 1, sizeof piece, f)) > 0;) {
        unsigned char *more = realloc(t->ptr, t->len + n);
        if (!more)
            break;
        t->ptr = more;
        for (size_t i = 0; i < n; i++)
            if (piece[i] < CHARACTERS)
                t->ptr[t->len++] = piece[i];
    }
    if (f)
        fclose(f);
}

static void add_default(text *t)
{
    static const char *const patterns[] = { "README.md", "docs/*.md", "src/*/*.c" };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++)
            add_file(t, found.gl_pathv[k]);
        globfree(&found);
    }
}

int main(int argc, char **argv)
{
    text t = { NULL, 0 };
    bool counted = argc > 2 && strcmp(argv[1], "-n") == 0;
    int steps = counted ? atoi(argv[2]) : 500, first = counted ? 3 : 1;
    for (int i = first; i < argc; i++)
        add_file(&t, argv[i]);
    if (first >= argc)
        add_default(&t);
    if (t.len <= LENGTH || steps < 1) {
        fprintf(stderr, "gpt: there is too little to learn from (%zu characters, %d steps)\n", t.len, steps);
        free(t.ptr);
        return 2;
    }
    lz_ctx *c = lz_open(&(lz_options){ .seed = 1 });
    gpt g = make_gpt(c);
    printf("%zu characters, %lld parameters\n", t.len, (long long)lz_module_numel(g.all));
    train(c, &g, &t, steps);
    write_text(c, &g, &t);
    if (lz_failed(c))
        fprintf(stderr, "gpt: %s\n", lz_message(c));
    int status = lz_failed(c);
    lz_module_free(g.all);
    lz_close(c);
    free(t.ptr);
    return status;
}
