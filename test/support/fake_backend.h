/* fake_backend.h - a small backend for tests: it interprets recorded nodes on memory of the host.
 *
 * It knows a few operators on f32 (add, sub, mul, relu, neg), with broadcasting, and fails or
 * refuses on request. All objects that it returns are counted. */
#ifndef LZ_TEST_FAKE_BACKEND_H
#define LZ_TEST_FAKE_BACKEND_H

#include <lazuli/backend.h>
#include <stdatomic.h>

typedef struct fake_backend {
    lz_backend table;
    size_t devices;
    atomic_int compiles, runs, live_data, live_computations, donated;
    const char *fails;   /* "mul.Tensor": fails when it is run; NULL: none does */
    bool fails_silently; /* without saying which node it was */
    const char *unknown; /* fails when it is compiled */
    bool names_unknown;  /* and says which node it was */
    const char *refuses; /* supports says no */
    atomic_int delay_us; /* each run takes at least as long */
    size_t last_nodes, last_parameters, last_results; /* of the last compilation */
} fake_backend;

/* To be registered with lz_backend_register(&f->table, &type). */
void fake_backend_init(fake_backend *f, const char *name, size_t devices);

#endif
