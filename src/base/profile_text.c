/* A profile as tables for users. Names come last in a row, since their length varies. */
#include "base/file.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "base/profile_impl.h"
#include <stdio.h>

enum { CELL = 48 }; /* most characters of a number */

typedef char cell[CELL];

static const char *milliseconds(uint64_t ns, cell out)
{
    uint64_t us = ns / 1000;
    snprintf(out, CELL, "%llu.%03llu", (unsigned long long)(us / 1000), (unsigned long long)(us % 1000));
    return out;
}

static const char *tenths(double v, cell out)
{
    uint64_t n = v > 0 && v < 1e15 ? (uint64_t)(v * 10 + 0.5) : 0;
    snprintf(out, CELL, "%llu.%llu", (unsigned long long)(n / 10), (unsigned long long)(n % 10));
    return n ? out : "-";
}

static const char *percents(uint64_t part, uint64_t whole, cell out)
{
    uint64_t n = whole ? (uint64_t)(1000 * (double)part / (double)whole + 0.5) : 0;
    snprintf(out, CELL, "%llu.%llu", (unsigned long long)(n / 10), (unsigned long long)(n % 10));
    return out;
}

static const char *bytes_text(uint64_t bytes, cell out)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
    size_t u = 0;
    uint64_t unit = 1;
    for (; u < 4 && bytes / unit >= 1000; u++)
        unit *= 1000;
    snprintf(out, CELL, "%llu.%llu %s", (unsigned long long)(bytes / unit),
             (unsigned long long)(bytes % unit * 10 / unit), units[u]);
    return bytes ? out : "-";
}

static double rate(double amount, uint64_t ns)
{
    return ns ? amount / (double)ns : 0; /* of bytes: GB/s; of operations: GFLOP/s */
}

static void put_row(const lz_profile_row *r, uint64_t whole, bool launches, lz_text *out)
{
    cell self, percent, total, read, written, gb, gflop;
    lz_text_printf(out, "%12s %6s %12s %9llu", milliseconds(r->self_ns, self),
                   percents(r->self_ns, whole, percent), milliseconds(r->total_ns, total),
                   (unsigned long long)r->calls);
    lz_text_printf(out, " %9s %9s", bytes_text(r->read, read), bytes_text(r->written, written));
    if (launches)
        lz_text_printf(out, " %7s %8s", tenths(rate((double)(r->read + r->written), r->self_ns), gb),
                       tenths(rate(r->flops, r->self_ns), gflop));
    lz_text_printf(out, "  %s%s%s%s\n", r->name, *r->detail ? "  (" : "", r->detail, *r->detail ? ")" : "");
}

static void put_table(const lz_profile *p, lz_profile_by by, size_t most, lz_text *out)
{
    static const char *const titles[LZ_PROFILE_TABLES] = {
        [LZ_PROFILE_PHASES] = "phases, on all threads: self leaves out the phases within it",
        [LZ_PROFILE_OPERATORS] =
            "operators: self is a share of fused kernels, total is these kernels as a whole",
        [LZ_PROFILE_KERNELS] = "kernels and library calls",
        [LZ_PROFILE_LINES] = "source lines: self and total as for operators",
    };
    static const char *const names[LZ_PROFILE_TABLES] = { "phase", "operator", "kernel", "line" };
    const lz_prof_table *t = &p->tables[by];
    bool launches = by != LZ_PROFILE_PHASES;
    size_t n = most && most < t->n ? most : t->n;
    lz_text_printf(out, "\n%s\n%12s %6s %12s %9s %9s %9s", titles[by], "self ms", "%", "total ms", "calls",
                   "read", "written");
    lz_text_printf(out, "%s  %s\n", launches ? "    GB/s  GFLOP/s" : "", names[by]);
    for (size_t i = 0; i < n; i++)
        put_row(&t->rows[i], launches ? p->phases[LZ_PHASE_LAUNCH].self_ns : p->wall_ns, launches, out);
    if (n < t->n)
        lz_text_printf(out, "%12s %zu more\n", "...", t->n - n);
}

static void put_summary(const lz_profile *p, lz_text *out)
{
    cell wall, kernels, outside, peak;
    lz_profile_summary s = lz_profile_summary_of(p);
    lz_text_printf(out, "profile of %s ms on %u thread%s\n", milliseconds(s.wall_ns, wall), s.threads,
                   s.threads == 1 ? "" : "s");
    lz_text_printf(out, "  %s ms in %llu launches of kernels\n", milliseconds(s.launch_ns, kernels),
                   (unsigned long long)s.launches);
    lz_text_printf(out,
                   "  %s ms of the thread that began in no phase: recording calls, and the program itself\n",
                   milliseconds(s.outside_ns, outside));
    lz_text_printf(out, "  %s of memory taken at once by one plan, at most\n",
                   bytes_text(s.peak_bytes, peak));
    if (s.lost)
        lz_text_printf(out, "  %llu events did not fit into the trace; the tables count them\n",
                       (unsigned long long)s.lost);
}

lz_err *lz_profile_text(const lz_profile *p, size_t rows, char **out)
{
    lz_text t = { 0 };
    put_summary(p, &t);
    for (int by = 0; by < LZ_PROFILE_TABLES; by++)
        put_table(p, (lz_profile_by)by, rows, &t);
    lz_err *e = lz_text_take(&t, out);
    lz_text_deinit(&t);
    return e;
}

lz_err *lz_profile_save(const lz_profile *p, const char *path)
{
    char *text;
    lz_str name = lz_str_of(path);
    bool trace = lz_str_ends(name, LZ_STR(".json"));
    LZ_TRY(trace ? lz_profile_trace(p, &text) : lz_profile_text(p, 0, &text));
    lz_err *e = lz_file_replace(path, lz_str_of(text), 0666, LZ_FILE_NO_SYNC);
    lz_mem_free(text);
    return e;
}
