#include "figure.h"
#include <stdio.h>
#include <stdlib.h>

static bool json;

void bench_json(bool on)
{
    json = on;
}

void bench_figure(const char *suite, const char *system, const char *name, const char *metric, double value,
                  const char *unit)
{
    if (json)
        printf("{\"suite\":\"%s\",\"system\":\"%s\",\"name\":\"%s\",\"metric\":\"%s\",\"value\":%.4g,"
               "\"unit\":\"%s\"}\n",
               suite, system, name, metric, value, unit);
    else
        printf("  %-34s %-16s %-22s %10.4g %s\n", name, system, metric, value, unit);
    fflush(stdout);
}

void bench_try(lz_err *e)
{
    if (!e)
        return;
    fprintf(stderr, "bench: %s\n", lz_err_text(e));
    exit(EXIT_FAILURE);
}
