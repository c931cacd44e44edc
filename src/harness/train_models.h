/* train_models.h - the models that the benchmarks train: MLP, LeNet, GPT, recurrent layers.
 *
 * docs/performance.md describes the models; bench/compare.py has the same models for other systems. A model
 * is made once; its data may be replaced by data of another batch size or length, which makes other graphs
 * from the same parameters. */
#ifndef LZ_HARNESS_TRAIN_MODELS_H
#define LZ_HARNESS_TRAIN_MODELS_H

#include "harness/bench_impl.h"
#include <lazuli/optim.h>

typedef struct lz_training_model lz_training_model;

typedef struct lz_training {
    const lz_training_model *model;
    const lz_bench *b;
    lz_ctx *c;
    lz_module *m;
    lz_optim *opt;
    int64_t batch, length; /* length: of a text, for GPT */
    lz_tensor *x, *y;      /* data; one count each */
} lz_training;

struct lz_training_model {
    const char *name;
    int64_t batch, length; /* by default */
    lz_err *(*make)(lz_training *t);
    lz_err *(*data)(lz_training *t);            /* creates x and y for batch and length */
    lz_tensor *(*output)(const lz_training *t); /* the forward pass */
    lz_tensor *(*loss)(const lz_training *t, lz_tensor *output);
};

extern const lz_training_model lz_training_mlp, lz_training_lenet, lz_training_gpt, lz_training_gpt_long,
    lz_training_lstm, lz_training_gru;

enum { LZ_GPT_LENGTH = 128, LZ_GPT_LONG = 4096 }; /* of the texts of the suites gpt and gpt_long */

/* A model with its optimizer and without data. batch 0: the model's own. most: the longest text. */
LZ_MUST_USE lz_err *lz_training_init(lz_training *t, const lz_bench *b, const lz_training_model *m,
                                     int64_t batch, int64_t most);
void lz_training_deinit(lz_training *t);
/* Replaces the data. */
LZ_MUST_USE lz_err *lz_training_set_data(lz_training *t, int64_t batch, int64_t length);
/* One step: forward pass, backward pass, update; waits for the loss. */
LZ_MUST_USE lz_err *lz_training_step(lz_training *t);
/* One forward pass without gradients; waits for its output. */
LZ_MUST_USE lz_err *lz_training_forward(lz_training *t);

#endif
