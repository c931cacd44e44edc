/* Loads a relocatable x86-64 ELF object into one mapping: text, then read-only data, each on its own pages.
 * Nothing in the object is trusted: every offset is checked against the size of what it points into before it
 * is used. */
#include "jit/code.h"
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    MOST_SECTIONS = 4096,
    MOST_LOADED = 64,
    MOST_BYTES = 64 << 20, /* of all loaded sections; also keeps 32-bit relative references in range */
};

#ifdef __x86_64__
enum { MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_NONE }; /* matches no object */
#endif

typedef struct section { /* a loaded section */
    Elf64_Shdr head;
    unsigned number;
    size_t at; /* offset in the mapping */
    bool text;
} section;

typedef struct loader {
    const char *bytes;
    size_t size;
    Elf64_Ehdr head;
    Elf64_Shdr symbols, names, section_names; /* all 0 if missing */
    section loaded[MOST_LOADED];
    int n_loaded;
    size_t text, total; /* bytes, rounded up to whole pages */
    char *memory;
} loader;

/* The message says what is wrong; `at` is the offset in the object. */
#define BROKEN(at, ...) lz_err_wrap(lz_errf(LZ_ERR_SYNTAX, __VA_ARGS__), "object, byte %zu", (size_t)(at))
#define REFUSED(at, ...)                                                                                     \
    lz_err_wrap(lz_errf(LZ_ERR_UNSUPPORTED, __VA_ARGS__), "object, byte %zu", (size_t)(at))

/* Is [at, at + n) within `size` bytes? */
static bool within(uint64_t at, uint64_t n, uint64_t size)
{
    return at <= size && n <= size - at;
}

static bool power_of_two(uint64_t v)
{
    return v && (v & (v - 1)) == 0;
}

/* ---- headers ---- */

static lz_err *read_header(loader *l)
{
    static const unsigned char ident[] = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB };
    Elf64_Ehdr *h = &l->head;
    if (l->size < sizeof *h)
        return BROKEN(l->size, "%zu bytes are no ELF header", l->size);
    memcpy(h, l->bytes, sizeof *h);
    if (memcmp(h->e_ident, ident, sizeof ident) != 0)
        return BROKEN(0, "not an ELF file of 64 bits, low byte first");
    if (h->e_type != ET_REL)
        return REFUSED(offsetof(Elf64_Ehdr, e_type), "type %u, not relocatable", h->e_type);
    if (MACHINE == EM_NONE || h->e_machine != MACHINE)
        return REFUSED(offsetof(Elf64_Ehdr, e_machine), "made for machine %u", h->e_machine);
    if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shnum == 0 || h->e_shnum > MOST_SECTIONS)
        return BROKEN(offsetof(Elf64_Ehdr, e_shentsize), "%u section headers of %u bytes", h->e_shnum,
                      h->e_shentsize);
    if (!within(h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr), l->size))
        return BROKEN(offsetof(Elf64_Ehdr, e_shoff), "section headers at %llu run over the end",
                      (unsigned long long)h->e_shoff);
    return NULL;
}

static size_t header_at(const loader *l, unsigned number)
{
    return (size_t)l->head.e_shoff + number * sizeof(Elf64_Shdr);
}

static Elf64_Shdr header_of(const loader *l, unsigned number)
{
    Elf64_Shdr s;
    memcpy(&s, l->bytes + header_at(l, number), sizeof s);
    return s;
}

/* The name at offset `at`; "?" if it does not end within the table. */
static const char *name_in(const loader *l, const Elf64_Shdr *table, uint32_t at)
{
    if (table->sh_type != SHT_STRTAB || at >= table->sh_size)
        return "?";
    const char *name = l->bytes + table->sh_offset + at;
    return memchr(name, '\0', (size_t)table->sh_size - at) ? name : "?";
}

static const char *section_name(const loader *l, const Elf64_Shdr *s)
{
    return name_in(l, &l->section_names, s->sh_name);
}

static lz_err *check_bounds(const loader *l, const Elf64_Shdr *s, unsigned number)
{
    if (s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL && !within(s->sh_offset, s->sh_size, l->size))
        return BROKEN(header_at(l, number), "section %u runs over the end: %llu bytes at %llu", number,
                      (unsigned long long)s->sh_size, (unsigned long long)s->sh_offset);
    return NULL;
}

/* Reads the header of string table `number`; does nothing for 0. */
static lz_err *read_names(const loader *l, unsigned number, Elf64_Shdr *out)
{
    if (number == 0)
        return NULL;
    if (number >= l->head.e_shnum)
        return BROKEN(l->head.e_shoff, "names in section %u of %u", number, l->head.e_shnum);
    Elf64_Shdr s = header_of(l, number);
    LZ_TRY(check_bounds(l, &s, number));
    if (s.sh_type != SHT_STRTAB)
        return BROKEN(header_at(l, number), "section %u, of type %u, has no names", number, s.sh_type);
    *out = s;
    return NULL;
}

/* ---- sections ---- */

static lz_err *read_symbols(loader *l, const Elf64_Shdr *s, unsigned number)
{
    if (l->symbols.sh_type == SHT_SYMTAB)
        return BROKEN(header_at(l, number), "a second table of symbols");
    if (s->sh_entsize != sizeof(Elf64_Sym) || s->sh_size % sizeof(Elf64_Sym))
        return BROKEN(header_at(l, number), "symbols of %llu bytes", (unsigned long long)s->sh_entsize);
    l->symbols = *s;
    return read_names(l, s->sh_link, &l->names);
}

static lz_err *check_overlap(const loader *l, const Elf64_Shdr *s, unsigned number)
{
    for (int i = 0; i < l->n_loaded; i++) {
        const Elf64_Shdr *o = &l->loaded[i].head;
        if (s->sh_offset < o->sh_offset + o->sh_size && o->sh_offset < s->sh_offset + s->sh_size)
            return BROKEN(header_at(l, number), "sections %u and %u overlap", l->loaded[i].number, number);
    }
    return NULL;
}

static lz_err *add_section(loader *l, const Elf64_Shdr *s, unsigned number)
{
    uint64_t align = s->sh_addralign ? s->sh_addralign : 1;
    size_t at = header_at(l, number);
    if (s->sh_type != SHT_PROGBITS || s->sh_flags & (SHF_WRITE | SHF_TLS))
        return REFUSED(at, "section %s, of type %u, is not text or constants", section_name(l, s),
                       s->sh_type);
    if (!power_of_two(align) || align > 4096)
        return BROKEN(at, "section %s is aligned to %llu", section_name(l, s), (unsigned long long)align);
    if (l->n_loaded == MOST_LOADED || s->sh_size > MOST_BYTES)
        return REFUSED(at, "more than %d sections or %d bytes", MOST_LOADED, MOST_BYTES);
    LZ_TRY(check_overlap(l, s, number));
    l->loaded[l->n_loaded++] =
        (section){ .head = *s, .number = number, .text = (s->sh_flags & SHF_EXECINSTR) != 0 };
    return NULL;
}

/* Unwind tables and notes are not needed. */
static bool wanted(const Elf64_Shdr *s)
{
    return s->sh_flags & SHF_ALLOC && s->sh_size && s->sh_type != SHT_NOTE && s->sh_type != SHT_X86_64_UNWIND;
}

static lz_err *read_sections(loader *l)
{
    LZ_TRY(read_names(l, l->head.e_shstrndx, &l->section_names));
    for (unsigned i = 1; i < l->head.e_shnum; i++) {
        Elf64_Shdr s = header_of(l, i);
        LZ_TRY(check_bounds(l, &s, i));
        if (s.sh_type == SHT_SYMTAB)
            LZ_TRY(read_symbols(l, &s, i));
        else if (wanted(&s))
            LZ_TRY(add_section(l, &s, i));
    }
    return NULL;
}

static size_t up(size_t n, size_t align)
{
    return (n + align - 1) & ~(align - 1);
}

static size_t place(loader *l, bool text, size_t at)
{
    for (int i = 0; i < l->n_loaded; i++) {
        section *s = &l->loaded[i];
        if (s->text != text)
            continue;
        s->at = up(at, s->head.sh_addralign ? (size_t)s->head.sh_addralign : 1);
        at = s->at + (size_t)s->head.sh_size;
    }
    return at;
}

static lz_err *map_sections(loader *l)
{
    long size = sysconf(_SC_PAGESIZE);
    size_t page = size < 4096 ? 4096 : (size_t)size;
    l->text = up(place(l, true, 0), page);
    l->total = up(place(l, false, l->text), page);
    if (l->total == 0 || l->total > MOST_BYTES)
        return REFUSED(0, "%zu bytes to load", l->total);
    void *p = mmap(NULL, l->total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return lz_err_oom();
    l->memory = p;
    for (int i = 0; i < l->n_loaded; i++)
        memcpy(l->memory + l->loaded[i].at, l->bytes + l->loaded[i].head.sh_offset,
               (size_t)l->loaded[i].head.sh_size);
    return NULL;
}

static const section *loaded_as(const loader *l, unsigned number)
{
    for (int i = 0; i < l->n_loaded; i++) {
        if (l->loaded[i].number == number)
            return &l->loaded[i];
    }
    return NULL;
}

/* ---- relocations ---- */

static size_t symbol_count(const loader *l)
{
    return (size_t)l->symbols.sh_size / sizeof(Elf64_Sym);
}

static Elf64_Sym symbol_of(const loader *l, size_t i)
{
    Elf64_Sym s;
    memcpy(&s, l->bytes + l->symbols.sh_offset + i * sizeof s, sizeof s);
    return s;
}

/* The address of symbol i; `at` is the offset of the reference, for messages. */
static lz_err *resolve(const loader *l, size_t i, size_t at, char **out)
{
    if (i >= symbol_count(l))
        return BROKEN(at, "symbol %zu of %zu", i, symbol_count(l));
    Elf64_Sym y = symbol_of(l, i);
    const section *s = loaded_as(l, y.st_shndx);
    if (!s)
        return REFUSED(at, "refers to %s, which is not in it", name_in(l, &l->names, y.st_name));
    if (y.st_value > s->head.sh_size)
        return BROKEN(at, "symbol %zu lies behind the end of its section", i);
    *out = l->memory + s->at + y.st_value;
    return NULL;
}

static const struct relocation {
    uint8_t type, width;
    bool relative;
} relocations[] = {
    { R_X86_64_64, 8, false },
    { R_X86_64_PC32, 4, true },
    { R_X86_64_PLT32, 4, true },
    { R_X86_64_PC64, 8, true },
};

static const struct relocation *relocation_of(uint64_t type)
{
    for (size_t i = 0; i < sizeof relocations / sizeof *relocations; i++) {
        if (relocations[i].type == type)
            return &relocations[i];
    }
    return NULL;
}

static lz_err *relocate_one(const loader *l, const section *s, const Elf64_Rela *r, size_t at)
{
    const struct relocation *k = relocation_of(ELF64_R_TYPE(r->r_info));
    char *target = NULL;
    if (!k)
        return REFUSED(at, "relocation of type %llu", (unsigned long long)ELF64_R_TYPE(r->r_info));
    if (!within(r->r_offset, k->width, s->head.sh_size))
        return BROKEN(at, "a relocation behind the end of its section");
    LZ_TRY(resolve(l, ELF64_R_SYM(r->r_info), at, &target));
    char *where = l->memory + s->at + r->r_offset;
    uint64_t v = (uint64_t)(uintptr_t)target + (uint64_t)r->r_addend;
    v -= k->relative ? (uint64_t)(uintptr_t)where : 0;
    if (k->width == 4 && (int64_t)v != (int32_t)v)
        return BROKEN(at, "a relocation that leads too far away");
    memcpy(where, &v, k->width);
    return NULL;
}

static lz_err *relocate_section(const loader *l, const Elf64_Shdr *h, const section *s, unsigned number)
{
    if (h->sh_type == SHT_REL)
        return REFUSED(header_at(l, number), "relocations without addends");
    if (h->sh_entsize != sizeof(Elf64_Rela) || h->sh_size % sizeof(Elf64_Rela))
        return BROKEN(header_at(l, number), "relocations of %llu bytes", (unsigned long long)h->sh_entsize);
    for (size_t at = (size_t)h->sh_offset; at < h->sh_offset + h->sh_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela r;
        memcpy(&r, l->bytes + at, sizeof r);
        LZ_TRY(relocate_one(l, s, &r, at));
    }
    return NULL;
}

static lz_err *relocate(const loader *l)
{
    for (unsigned i = 1; i < l->head.e_shnum; i++) {
        Elf64_Shdr h = header_of(l, i);
        const section *s = h.sh_type == SHT_RELA || h.sh_type == SHT_REL ? loaded_as(l, h.sh_info) : NULL;
        if (s)
            LZ_TRY(relocate_section(l, &h, s, i));
    }
    return NULL;
}

/* ---- exports ---- */

/* Finds a global symbol; *out stays NULL if there is none. *length (may be NULL) becomes its size according
 * to the object. */
static lz_err *find(const loader *l, const char *name, bool text, size_t size, char **out, size_t *length)
{
    size_t count = symbol_count(l);
    for (size_t i = 1; i < count; i++) {
        Elf64_Sym y = symbol_of(l, i);
        if (ELF64_ST_BIND(y.st_info) != STB_GLOBAL || strcmp(name_in(l, &l->names, y.st_name), name) != 0)
            continue;
        const section *s = loaded_as(l, y.st_shndx);
        size_t at = (size_t)l->symbols.sh_offset + i * sizeof y;
        if (!s || s->text != text || !within(y.st_value, size, s->head.sh_size))
            return BROKEN(at, "%s is not where it must be", name);
        if (length)
            *length = within(y.st_value, y.st_size, s->head.sh_size) ? (size_t)y.st_size : 0;
        return resolve(l, i, at, out);
    }
    return NULL;
}

static bool sensible(const lz_native_needs *n)
{
    const int64_t most = (int64_t)1 << 40;
    return n->scratch >= 0 && n->scratch <= most && n->scratch_row >= 0 && n->scratch_row <= MOST_BYTES
           && n->strip >= 0 && n->strip <= most && n->totals >= 0 && n->totals <= MOST_BYTES;
}

static lz_err *find_exports(const loader *l, lz_native_loaded *out)
{
    char *run = NULL, *walk = NULL, *needs = NULL;
    LZ_TRY(find(l, "lz_code", true, 1, &run, &out->run_size));
    LZ_TRY(find(l, "lz_walk", true, 1, &walk, &out->walk_size));
    LZ_TRY(find(l, "lz_needs", false, sizeof out->needs, &needs, NULL));
    if (!run || !needs)
        return BROKEN(0, "no %s in it", run ? "lz_needs" : "lz_code");
    memcpy(&out->needs, needs, sizeof out->needs);
    if (!sensible(&out->needs))
        return BROKEN(0, "lz_needs makes no sense");
    memcpy(&out->run, &run, sizeof run); /* C has no cast from data to function pointers */
    memcpy(&out->walk, &walk, sizeof walk);
    return NULL;
}

static lz_err *protect(const loader *l)
{
    bool ok = l->text == 0 || mprotect(l->memory, l->text, PROT_READ | PROT_EXEC) == 0;
    ok = ok && (l->total == l->text || mprotect(l->memory + l->text, l->total - l->text, PROT_READ) == 0);
    return ok ? NULL : lz_errf(LZ_ERR_IO, "the system does not allow executable memory");
}

static lz_err *load(loader *l, lz_native_loaded *out)
{
    LZ_TRY(read_header(l));
    LZ_TRY(read_sections(l));
    LZ_TRY(map_sections(l));
    LZ_TRY(relocate(l));
    LZ_TRY(find_exports(l, out));
    return protect(l);
}

lz_err *lz_native_load(const void *object, size_t size, lz_native_loaded *out)
{
    loader l;
    l.bytes = object;
    l.size = size;
    l.head = (Elf64_Ehdr){ 0 };
    l.symbols = l.names = l.section_names = (Elf64_Shdr){ 0 };
    l.n_loaded = 0;
    l.memory = NULL;
    lz_native_loaded c = { 0 };
    lz_err *e = load(&l, &c);
    if (e) {
        if (l.memory)
            munmap(l.memory, l.total);
        return e;
    }
    c.memory = l.memory;
    c.size = l.total;
    *out = c;
    return NULL;
}

void lz_native_unload(lz_native_loaded *c)
{
    if (c->memory)
        munmap(c->memory, c->size);
    *c = (lz_native_loaded){ 0 };
}
