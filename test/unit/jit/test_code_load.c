#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include "jit/code.h"
#include <elf.h>
#include <stdio.h>

#ifdef CODE_good

typedef struct object {
    char *bytes;
    size_t size;
} object;

static lz_err *read_object(const char *path, object *out)
{
    return lz_file_read(path, 1 << 20, &out->size, &out->bytes);
}

static int64_t chosen(int64_t i, int64_t v)
{
    const int64_t of[] = { v + 3, v * 5, v ^ 77, v - i, v * 4, -v, v / 3, v | 1 };
    return of[i & 7];
}

static void check_runs(const lz_native_loaded *c)
{
    double x[100], expect[100];
    for (int i = 0; i < 100; i++) {
        x[i] = i;
        expect[i] = i * 0.5 + (double)((i & 7) * (i & 7) + chosen(i, (int64_t)i * i));
    }
    lz_native_frame f = { .n_row = 100, .scratch = (char *)x };
    assert_int_equal(c->run(&f), LZ_CODE_FINE);
    assert_memory_equal(x, expect, sizeof x);
    assert_int_equal(c->walk(&f, 4, 10, 3), LZ_CODE_INDEX);
    assert_int_equal(f.index, 49);
    assert_int_equal(c->needs.scratch, 640);
    assert_int_equal(c->needs.scratch_row, 8);
    assert_int_equal(c->needs.strip, 32);
    assert_int_equal(c->needs.totals, 0);
}

static lz_err *load_and_run(const char *path)
{
    object o;
    lz_native_loaded c;
    LZ_TRY(read_object(path, &o));
    lz_err *e = lz_native_load(o.bytes, o.size, &c);
    lz_mem_free(o.bytes);
    LZ_TRY(e);
    check_runs(&c);
    lz_native_unload(&c);
    assert_null(c.memory);
    lz_native_unload(&c);
    return NULL;
}

static lz_err *test_position_independent(void)
{
    return load_and_run(CODE_good);
}

static lz_err *test_absolute_addresses(void)
{
    return load_and_run(CODE_large);
}

static lz_err *expect_refused(const char *path, lz_code code, const char *part)
{
    object o;
    lz_native_loaded c;
    LZ_TRY(read_object(path, &o));
    lz_err *e = lz_native_load(o.bytes, o.size, &c);
    lz_mem_free(o.bytes);
    return lz_check_err(e, code, part);
}

static lz_err *test_refused(void)
{
    LZ_TRY(expect_refused(CODE_writable, LZ_ERR_UNSUPPORTED, "is not text or constants"));
    LZ_TRY(expect_refused(CODE_foreign, LZ_ERR_UNSUPPORTED, "refers to elsewhere, which is not in it"));
    LZ_TRY(expect_refused(CODE_nameless, LZ_ERR_SYNTAX, "no lz_code in it"));
    LZ_TRY(expect_refused(CODE_needy, LZ_ERR_SYNTAX, "lz_needs makes no sense"));
    return expect_refused(CODE_absolute, LZ_ERR_UNSUPPORTED, "relocation of type");
}

/* What the kernel says about the pages: "r-xp", ... of the one that holds p. */
static void protection(const void *p, char out[5])
{
    char line[512];
    FILE *f = fopen("/proc/self/maps", "re");
    strcpy(out, "none");
    while (f && fgets(line, sizeof line, f)) {
        unsigned long long from, to;
        char mode[5];
        if (sscanf(line, "%llx-%llx %4s", &from, &to, mode) == 3 && (uintptr_t)p >= from && (uintptr_t)p < to)
            memcpy(out, mode, 5);
    }
    if (f)
        assert_int_equal(fclose(f), 0);
}

static lz_err *test_never_writable_and_executable(void)
{
    object o;
    lz_native_loaded c;
    LZ_TRY(read_object(CODE_good, &o));
    lz_err *e = lz_native_load(o.bytes, o.size, &c);
    lz_mem_free(o.bytes);
    LZ_TRY(e);
    char first[5], last[5];
    protection(c.memory, first);
    protection((char *)c.memory + c.size - 1, last);
    assert_string_equal(first, "r-xp");
    assert_string_equal(last, "r--p");
    lz_native_unload(&c);
    return NULL;
}

/* True if it was refused. Only what is refused for a reason counts. */
static bool refused(const void *bytes, size_t size)
{
    lz_native_loaded c = { 0 };
    lz_err *e = lz_native_load(bytes, size, &c);
    if (e)
        assert_true(lz_err_code(e) != LZ_ERR_INTERNAL && lz_err_text(e)[0] != '\0');
    bool was = e != NULL;
    lz_err_free(e);
    lz_native_unload(&c);
    return was;
}

static lz_err *test_cut_off(void)
{
    object o;
    LZ_TRY(read_object(CODE_good, &o));
    for (size_t n = 0; !lz_check_failing() && n < o.size; n += n < 64 ? 1 : 7) {
        char *part = lz_mem_alloc(n); /* of its own, so that reading too far is seen */
        if (part) {
            memcpy(part, o.bytes, n);
            assert_true(refused(part, n));
        }
        lz_mem_free(part);
    }
    lz_mem_free(o.bytes);
    return NULL;
}

static lz_err *test_mutated(void)
{
    static const unsigned char masks[] = { 0x01, 0x80, 0xff };
    object o;
    LZ_TRY(read_object(CODE_good, &o));
    int count = 0;
    for (size_t i = 0; !lz_check_failing() && i < o.size; i++) {
        for (size_t m = 0; m < sizeof masks; m++) {
            o.bytes[i] = (char)((unsigned char)o.bytes[i] ^ masks[m]);
            count += refused(o.bytes, o.size);
            o.bytes[i] = (char)((unsigned char)o.bytes[i] ^ masks[m]);
        }
    }
    assert_true(lz_check_failing() || count > 100);
    lz_mem_free(o.bytes);
    return NULL;
}

typedef void spoil(Elf64_Ehdr *h, Elf64_Shdr *s, int n);

static void far_headers(Elf64_Ehdr *h, Elf64_Shdr *s, int n)
{
    (void)s, (void)n;
    h->e_shoff = UINT64_MAX - 63;
}

static void other_machine(Elf64_Ehdr *h, Elf64_Shdr *s, int n)
{
    (void)s, (void)n;
    h->e_machine = EM_AARCH64;
}

static void overlapping(Elf64_Ehdr *h, Elf64_Shdr *s, int n)
{
    (void)h;
    const Elf64_Shdr *first = NULL;
    for (int i = 1; i < n; i++) {
        bool code = s[i].sh_type == SHT_PROGBITS && s[i].sh_flags & SHF_ALLOC && s[i].sh_size;
        if (code && first)
            s[i].sh_offset = first->sh_offset + first->sh_size - 1;
        else if (code)
            first = &s[i];
    }
}

static void overflowing(Elf64_Ehdr *h, Elf64_Shdr *s, int n)
{
    (void)h;
    for (int i = 1; i < n; i++) {
        s[i].sh_offset = UINT64_MAX;
        s[i].sh_size = 2;
    }
}

static void two_tables(Elf64_Ehdr *h, Elf64_Shdr *s, int n)
{
    (void)h;
    Elf64_Shdr *table = s;
    for (int i = 1; i < n; i++)
        table = s[i].sh_type == SHT_SYMTAB ? &s[i] : table;
    for (int i = 1; i < n; i++)
        if (s[i].sh_type == SHT_RELA)
            s[i] = *table;
}

static void odd_alignment(Elf64_Ehdr *h, Elf64_Shdr *s, int n)
{
    (void)h;
    for (int i = 1; i < n; i++)
        s[i].sh_addralign = 3;
}

static lz_err *test_broken_headers(void)
{
    static const struct {
        spoil *how;
        const char *says;
    } ways[] = {
        { far_headers, "run over the end" }, { other_machine, "made for machine 183" },
        { overlapping, "overlap" },          { overflowing, "runs over the end" },
        { two_tables, "a second table" },    { odd_alignment, "is aligned to 3" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof ways / sizeof *ways; i++) {
        object o;
        lz_native_loaded c;
        LZ_TRY(read_object(CODE_good, &o));
        Elf64_Ehdr *h = (Elf64_Ehdr *)(void *)o.bytes;
        ways[i].how(h, (Elf64_Shdr *)(void *)(o.bytes + h->e_shoff), h->e_shnum);
        e = lz_check_err(lz_native_load(o.bytes, o.size, &c), i == 1 ? LZ_ERR_UNSUPPORTED : LZ_ERR_SYNTAX,
                         ways[i].says);
        lz_mem_free(o.bytes);
    }
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_position_independent),
        LZ_TEST(test_absolute_addresses),
        LZ_TEST(test_refused),
        LZ_TEST(test_never_writable_and_executable),
        LZ_TEST(test_cut_off),
        LZ_TEST(test_mutated),
        LZ_TEST(test_broken_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0; /* the loader knows no other machine */
}

#endif
