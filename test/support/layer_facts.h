/* layer_facts.h - layers and losses compared with what PyTorch recorded (test/torch/nn_facts.py): outputs,
 * gradients, buffers. A test names its cases and the functions that make and call each layer. */
#ifndef LAYER_FACTS_H
#define LAYER_FACTS_H

#include <lazuli/lazuli.h>

typedef struct layer_facts {
    lz_ctx *c;
    lz_archive *file;
    const char *name; /* of the case */
    double worst;     /* largest difference so far */
} layer_facts;

typedef lz_module *build_fn(lz_module *root);
typedef lz_tensor *call_fn(const layer_facts *f, lz_module *m, lz_tensor *const *x);

typedef struct layer_case {
    const char *name;
    build_fn *build;
    call_fn *call; /* NULL: lz_forward of the only input */
} layer_case;

/* NAME/part + name of the file; NULL: there is none. */
lz_tensor *find_fact(const layer_facts *f, const char *part, const char *name);
void expect_close(layer_facts *f, lz_tensor *got, lz_tensor *want, const char *what, const char *name);
void run_layer_cases(const char *file, const layer_case *cases, size_t n);

/* Functions that are one expression. */
#define LAYER(name, ...)                                                                                     \
    static lz_module *name(lz_module *m)                                                                     \
    {                                                                                                        \
        return __VA_ARGS__;                                                                                  \
    }
#define CALL(name, ...)                                                                                      \
    static lz_tensor *call_##name(const layer_facts *f, lz_module *m, lz_tensor *const *x)                   \
    {                                                                                                        \
        (void)f, (void)m, (void)x;                                                                           \
        return __VA_ARGS__;                                                                                  \
    }

/* Called by lz_forward. */
#define PLAIN(name)                                                                                          \
    {                                                                                                        \
#name, name, NULL                                                                                    \
    }

#endif
