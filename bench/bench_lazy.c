/* Recording and syncs: what `lazuli bench record` and `lazuli bench sync` measure, through the shared
 * library. One JSON object a line. */
#include <lazuli/bench.h>
#include <stdio.h>
#include <stdlib.h>

static void tell(void *user, const lz_bench_figure *f)
{
    (void)user;
    printf("{\"suite\":\"%s\",\"system\":\"%s\",\"case\":\"%s\",\"metric\":\"%s\",\"value\":%.2f,\"unit\":\"%"
           "s\"}\n",
           f->suite, f->system, f->name, f->metric, f->value, f->unit);
}

int main(void)
{
    static const char *const suites[] = { "record", "sync" };
    for (int i = 0; i < 2; i++) {
        lz_err *e = lz_bench_run(suites[i], tell, NULL);
        if (e) {
            fprintf(stderr, "bench_lazy: %s\n", lz_err_text(e));
            lz_err_free(e);
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
