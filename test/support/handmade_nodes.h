/* handmade_nodes.h - graphs made by hand, for tests of what happens after recording.
 *
 * A desk has one fake device, and knows for every value what it should be: `want` is computed
 * at once, by plain loops, when a node is made. */
#ifndef LZ_TEST_HANDMADE_NODES_H
#define LZ_TEST_HANDMADE_NODES_H

#include "fake_backend.h"
#include "lazy/backend_data.h"
#include "lazy/job.h"
#include "lazy/walk.h"

enum { DESK_VALUES = 64, DESK_NUMEL = 4 };

typedef struct desk_value {
    lz_node *node;
    float want[DESK_NUMEL];
} desk_value;

typedef struct desk {
    fake_backend fake;
    int16_t type;
    lz_runtime *runtime;
    lz_specs *specs;
    lz_nodes *nodes;
    const lz_spec *spec;
    desk_value v[DESK_VALUES];
    size_t n;
    lz_walk walk;
} desk;

LZ_MUST_USE lz_err *desk_open(desk *d);
void desk_close(desk *d);

/* Each gives the number of a value. Data is first, first + 1, ... */
LZ_MUST_USE lz_err *desk_data(desk *d, float first, size_t *out);
LZ_MUST_USE lz_err *desk_op(desk *d, const char *op, size_t a, size_t b, double number, int line,
                            size_t *out);

/* Walks, compiles without a cache, runs; the job is to be released. results: one count each. */
LZ_MUST_USE lz_err *desk_run(desk *d, const size_t *roots, size_t n, const char *forced, lz_job **job,
                             lz_data **results);
LZ_MUST_USE lz_err *desk_walk(desk *d, const size_t *roots, size_t n);
/* What the data holds is what the value should be. */
LZ_MUST_USE lz_err *desk_expect(const desk *d, lz_data *got, size_t value);

const lz_op_row *desk_row(const char *name);

#endif
