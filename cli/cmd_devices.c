/* lazuli devices - the backends and their devices. */
#include "base/metrics.h"
#include "base/text.h"
#include "cli/command.h"
#include <lazuli/backend.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: lazuli devices [-v]\n"
    "Lists the backends and their devices, those of LAZULI_BACKEND included.\n"
    "  -v, --verbose  also the entries of the backend interface that each implements and leaves out\n";

enum { TYPES = 32, DEVICES = 64 };

static void put_bytes(lz_text *out, const char *what, int64_t n)
{
    if (n < 0)
        return;
    lz_text_printf(out, "  %s ", what);
    lz_unit_print(out, LZ_UNIT_BYTES, n);
}

/* Whether the backend's name alone means this device. */
static bool is_default(const lz_backend *b, size_t index)
{
    lz_device d;
    lz_err *e = lz_backend_default_device(b->name, &d);
    bool yes = !e && d.index >= 0 && (size_t)d.index == index;
    lz_err_free(e);
    return yes;
}

static lz_err *put_device(const lz_backend *b, lz_backend_device d, size_t index, lz_text *out)
{
    lz_memory_info m;
    char real[64];
    const char *description = b->device_description(b->self, d);
    LZ_TRY(b->get_memory_info(b->self, d, &m));
    snprintf(real, sizeof real, "%s%lld", b->device_type_name(b->self, d.type), (long long)d.ordinal);
    lz_text_printf(out, "  %s:%zu%s  %s", b->name, index, is_default(b, index) ? " (default)" : "", real);
    if (description && *description)
        lz_text_printf(out, "  %s", description);
    put_bytes(out, "total", m.total_bytes);
    put_bytes(out, "free", m.free_bytes);
    put_bytes(out, "used", m.used_bytes);
    put_bytes(out, "peak", m.peak_bytes);
    lz_text_putc(out, '\n');
    return NULL;
}

static void put_entries(const lz_backend *b, bool has, const char *title, lz_text *out)
{
    const char *before = "";
    lz_text_printf(out, "  %s: ", title);
    for (size_t i = 0; lz_backend_entry_name(i); i++)
        if (lz_backend_has_entry(b, i) == has) {
            lz_text_printf(out, "%s%s", before, lz_backend_entry_name(i));
            before = ", ";
        }
    lz_text_puts(out, *before ? "\n" : "nothing\n");
}

static lz_err *put_backend(const lz_backend *b, bool verbose, lz_text *out)
{
    lz_backend_device devices[DEVICES];
    size_t n;
    LZ_TRY(b->get_backend_devices(b->self, devices, DEVICES, &n));
    lz_text_printf(out, "%s: %zu %s\n", b->name, n, n == 1 ? "device" : "devices");
    for (size_t i = 0; i < n && i < DEVICES; i++)
        LZ_TRY(put_device(b, devices[i], i, out));
    if (!verbose)
        return NULL;
    lz_text_printf(out, "  interface %u.%u\n", b->abi >> 16, b->abi & 0xffff);
    put_entries(b, true, "brings", out);
    put_entries(b, false, "leaves out", out);
    return NULL;
}

static lz_err *list(bool verbose, lz_text *out)
{
    size_t found = 0;
    LZ_TRY(lz_backends_ready());
    for (int type = 0; type < TYPES; type++) {
        const lz_backend *b = lz_backend_of((int16_t)type);
        if (b)
            LZ_TRY(put_backend(b, verbose, out));
        found += b != NULL;
    }
    if (!found)
        lz_text_puts(out, "no backends\n");
    return lz_text_check(out);
}

int cli_devices(int argc, char **argv)
{
    bool verbose = argc == 2 && (strcmp(argv[1], "-v") == 0 || strcmp(argv[1], "--verbose") == 0);
    lz_text out = { 0 };
    if (cli_asks_help(argc, argv))
        return fputs(usage, stdout), CLI_OK;
    if (argc > 1 && !verbose)
        return cli_misuse("devices: expected -v or nothing, found '%s'", argv[argc > 2 ? 2 : 1]);
    lz_err *e = list(verbose, &out);
    if (!e)
        fwrite(out.ptr, 1, out.len, stdout);
    lz_text_deinit(&out);
    return cli_report(e);
}
