/* lazuli io - lists files of tensors, and copies them to another format. */
#include "base/mem.h"
#include "base/metrics.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/command.h"
#include <lazuli/io.h>
#include <stdio.h>

static const char usage[] =
    "usage: lazuli io list FILE         lists the tensors of a file: dtypes, sizes, names\n"
    "       lazuli io copy FROM TO      copies all tensors; the name of TO decides the format:\n"
    "                                   .npz or .safetensors\n";

/* Names may contain control characters: these are not printed. */
static void put_plain(lz_text *out, const char *s)
{
    for (; *s; s++)
        lz_text_putc(out, (unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s);
}

static void put_tensor(const lz_archive *a, size_t i, lz_text *out)
{
    const char *dtype = lz_dtype_name(lz_archive_dtype(a, i));
    lz_ints sizes = lz_archive_sizes(a, i);
    lz_text_printf(out, "  %-10s [", dtype ? dtype : "(other)");
    for (int64_t d = 0; d < sizes.n; d++)
        lz_text_printf(out, "%s%lld", d ? ", " : "", (long long)sizes.v[d]);
    lz_text_puts(out, "]  ");
    put_plain(out, lz_archive_name(a, i));
    lz_text_putc(out, '\n');
}

static void put_archive(const lz_archive *a, lz_text *out)
{
    size_t n = lz_archive_count(a);
    lz_text_printf(out, "%s, %zu %s\n", lz_archive_format(a), n, n == 1 ? "tensor" : "tensors");
    for (size_t i = 0; i < n; i++)
        put_tensor(a, i, out);
    for (size_t i = 0; i < lz_archive_metadata_count(a); i++) {
        lz_metadata m = lz_archive_metadata_at(a, i);
        lz_text_puts(out, i ? "  " : "metadata\n  ");
        put_plain(out, m.key);
        lz_text_puts(out, ": ");
        put_plain(out, m.value);
        lz_text_putc(out, '\n');
    }
}

static lz_err *list(const char *path)
{
    lz_archive *a;
    lz_text out = { 0 };
    LZ_TRY(lz_archive_read(path, &a));
    put_archive(a, &out);
    lz_archive_close(a);
    lz_err *e = lz_text_check(&out);
    if (!e)
        fwrite(out.ptr, 1, out.len, stdout);
    lz_text_deinit(&out);
    return e;
}

static bool is_npz(const char *path)
{
    return lz_str_ends(lz_str_of(path), LZ_STR(".npz"));
}

/* Warns about data that the target format cannot hold. */
static bool save(lz_ctx *c, const lz_archive *a, const lz_named_tensor *t, lz_metadata *m, const char *to)
{
    lz_named_tensors all = { t, lz_archive_count(a) };
    size_t n = lz_archive_metadata_count(a);
    for (size_t i = 0; i < n; i++)
        m[i] = lz_archive_metadata_at(a, i);
    if (!is_npz(to))
        return lz_save_safetensors(c, to, all, m, n);
    bool saved = lz_save_npz(c, to, all);
    if (saved && n)
        fprintf(stderr, "lazuli: the metadata is left out: .npz files have no place for it\n");
    return saved;
}

static lz_err *copy_in(lz_ctx *c, const char *from, const char *to)
{
    lz_archive *a = lz_archive_open(c, from);
    if (!a)
        return NULL; /* the context has the error */
    lz_named_tensor *t = lz_mem_zalloc(lz_archive_count(a), sizeof *t);
    lz_metadata *m = lz_mem_zalloc(lz_archive_metadata_count(a), sizeof *m);
    lz_err *e = t && m ? NULL : lz_err_oom();
    if (!e && lz_archive_tensors(c, a, t))
        save(c, a, t, m, to);
    lz_mem_free(t);
    lz_mem_free(m);
    lz_archive_close(a);
    return e;
}

static lz_err *copy(const char *from, const char *to)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_err *e = copy_in(c, from, to);
    if (!e && lz_failed(c))
        e = lz_errf(lz_code_of(c), "%s", lz_message(c));
    lz_close(c);
    return e;
}

int cli_io(int argc, char **argv)
{
    if (cli_asks_help(argc, argv))
        return fputs(usage, stdout), CLI_OK;
    if (argc == 3 && strcmp(argv[1], "list") == 0)
        return cli_report(list(argv[2]));
    if (argc == 4 && strcmp(argv[1], "copy") == 0 && !is_npz(argv[3])
        && !lz_str_ends(lz_str_of(argv[3]), LZ_STR(".safetensors")))
        return cli_misuse("'%s': expected a name that ends in .npz or .safetensors", argv[3]);
    if (argc == 4 && strcmp(argv[1], "copy") == 0)
        return cli_report(copy(argv[2], argv[3]));
    return cli_misuse("io: expected list FILE, or copy FROM TO");
}
