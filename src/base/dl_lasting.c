/* Opens a C++ library whose globals are not destroyed when the process exits.
 *
 * A C++ library registers a destructor for each global, while it is loaded or at a variable's first use
 * (__cxa_atexit), and exit runs the last registered one first. If one thread exits while another one loads or
 * uses the library, the destructors would run while the library is in use, before any handler of ours. So the
 * library's own pointer to __cxa_atexit is set to a function that registers nothing. This must happen after
 * the loader has bound the library's symbols and before it calls the library's constructors.
 *
 * The loader has no hook at that moment, but it calls the constructors of independent libraries in the
 * reverse order of their names in DT_NEEDED. So we load an object without code that needs two others: the
 * library, and a second object without code whose one constructor is a function of ours. Both objects are
 * files in memory. If the loader uses another order, or there is no /proc, the library is loaded without this
 * protection. */
#include "base/dl.h"
#include "base/file.h"
#include "base/thread.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the pointer to __cxa_atexit ---- */

typedef struct loaded {
    ElfW(Addr) base;
    const ElfW(Dyn) * dynamic;
} loaded;

typedef struct tables {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * relocations[2]; /* for data, for calls */
    size_t sizes[2];                   /* bytes */
    size_t plain;                      /* how many of the first table, at its beginning, have no symbol */
} tables;

static int register_nothing(void (*destroy)(void *), void *object, void *library)
{
    (void)destroy, (void)object, (void)library;
    return 0;
}

/* Most loaders have already made the addresses absolute. */
static const void *address(const loaded *l, const ElfW(Dyn) * d)
{
    ElfW(Addr) a = d->d_un.d_ptr < l->base ? l->base + d->d_un.d_ptr : d->d_un.d_ptr;
    return (const void *)a; /* NOLINT(performance-no-int-to-ptr): the format has addresses as numbers */
}

static tables find_tables(const loaded *l)
{
    tables t = { 0 };
    for (const ElfW(Dyn) *d = l->dynamic; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            t.symbols = address(l, d);
        else if (d->d_tag == DT_STRTAB)
            t.names = address(l, d);
        else if (d->d_tag == DT_RELA)
            t.relocations[0] = address(l, d);
        else if (d->d_tag == DT_JMPREL)
            t.relocations[1] = address(l, d);
        else if (d->d_tag == DT_RELASZ)
            t.sizes[0] = d->d_un.d_val;
        else if (d->d_tag == DT_PLTRELSZ)
            t.sizes[1] = d->d_un.d_val;
        else if (d->d_tag == DT_RELACOUNT)
            t.plain = d->d_un.d_val;
    }
    return t;
}

/* Writes through /proc/self/mem, since the loader has made the pointers read-only. */
static void set_pointer(int memory, const char *at)
{
    void (*to)(void) = (void (*)(void))register_nothing;
    (void)!pwrite(memory, &to, sizeof to, (off_t)(uintptr_t)at);
}

/* Names are compared for imports only: LLVM has 23,000 relocations with a symbol, and reading all these names
 * would take longer than the rest of this file. */
static bool is_atexit(const tables *t, size_t symbol)
{
    const ElfW(Sym) *s = &t->symbols[symbol];
    return symbol && s->st_shndx == SHN_UNDEF && strcmp(t->names + s->st_name, "__cxa_atexit") == 0;
}

/* Does nothing on machines whose objects have relocations of another form: the sizes are 0 there. */
static void redirect(const loaded *l, const tables *t, int which, int memory)
{
    const ElfW(Rela) *r = t->relocations[which];
    size_t n = r ? t->sizes[which] / sizeof *r : 0;
    for (size_t i = which == 0 ? t->plain : 0; i < n; i++)
        if (is_atexit(t, ELF64_R_SYM(r[i].r_info)))
            /* NOLINTNEXTLINE(performance-no-int-to-ptr): the loader tells addresses as integers */
            set_pointer(memory, (const char *)l->base + r[i].r_offset);
}

static void keep_globals(const loaded *l)
{
    int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    tables t = find_tables(l);
    for (int i = 0; memory >= 0 && t.symbols && t.names && i < 2; i++)
        redirect(l, &t, i, memory);
    if (memory >= 0)
        close(memory);
}

/* ---- the two objects ---- */

enum { PATH_SIZE = 192, MOST_OBJECTS = 64, NAMES_SIZE = 4096 + PATH_SIZE + 2 };

typedef struct object {
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[2];
    ElfW(Dyn) dynamic[9];
    ElfW(Sym) symbol; /* a symbol table is mandatory */
    void (*constructor)(void);
    char names[NAMES_SIZE];
} object;

/* The path of the root object being loaded. The loader calls constructors with its lock held, on the thread
 * that loads. */
static LZ_THREAD_LOCAL const char *root_path;

static loaded loaded_of(const struct dl_phdr_info *info)
{
    loaded l = { .base = info->dlpi_addr };
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            /* NOLINTNEXTLINE(performance-no-int-to-ptr): the format has addresses as numbers */
            l.dynamic = (const void *)(l.base + info->dlpi_phdr[i].p_vaddr);
    return l;
}

/* The loader lists the objects of one dlopen consecutively: the root, what the root needs, and what that
 * needs. The library is not among them if the host had already loaded it; then its globals belong to the
 * host. */
static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    bool *behind_root = data;
    (void)size;
    if (!*behind_root) {
        *behind_root = strcmp(info->dlpi_name, root_path) == 0;
        return 0;
    }
    loaded l = loaded_of(info);
    if (l.dynamic && strncmp(info->dlpi_name, "/proc/self/fd/", strlen("/proc/self/fd/")) != 0)
        keep_globals(&l);
    return 1;
}

static void before_constructors(void)
{
    bool behind_root = false;
    dl_iterate_phdr(visit, &behind_root);
}

/* Class, byte order and machine are copied from the object that contains this code; the linker defines the
 * name. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static void fill_headers(object *o)
{
    o->header = __ehdr_start;
    o->header.e_type = ET_DYN;
    o->header.e_phoff = offsetof(object, segments);
    o->header.e_phnum = 2;
    o->header.e_entry = o->header.e_shoff = 0;
    o->header.e_shnum = o->header.e_shstrndx = 0;
    o->segments[0] = (ElfW(Phdr)){
        .p_type = PT_LOAD,
        .p_flags = PF_R | PF_W,
        .p_filesz = sizeof *o,
        .p_memsz = sizeof *o,
        .p_align = (ElfW(Xword))sysconf(_SC_PAGESIZE),
    };
    o->segments[1] = (ElfW(Phdr)){
        .p_type = PT_DYNAMIC,
        .p_flags = PF_R | PF_W,
        .p_offset = offsetof(object, dynamic),
        .p_vaddr = offsetof(object, dynamic),
        .p_paddr = offsetof(object, dynamic),
        .p_filesz = sizeof o->dynamic,
        .p_memsz = sizeof o->dynamic,
        .p_align = sizeof(ElfW(Addr)),
    };
}

/* needed: two names, or NULL for the object that needs nothing and has the constructor. */
static void fill_dynamic(object *o, const char *const *needed)
{
    ElfW(Dyn) *d = o->dynamic;
    size_t at = 1;
    for (int i = 0; needed && i < 2; i++) {
        *d++ = (ElfW(Dyn)){ .d_tag = DT_NEEDED, .d_un.d_val = at };
        at += (size_t)snprintf(o->names + at, NAMES_SIZE - at, "%s", needed[i]) + 1;
    }
    *d++ = (ElfW(Dyn)){ .d_tag = DT_STRTAB, .d_un.d_ptr = offsetof(object, names) };
    *d++ = (ElfW(Dyn)){ .d_tag = DT_STRSZ, .d_un.d_val = NAMES_SIZE };
    *d++ = (ElfW(Dyn)){ .d_tag = DT_SYMTAB, .d_un.d_ptr = offsetof(object, symbol) };
    *d++ = (ElfW(Dyn)){ .d_tag = DT_SYMENT, .d_un.d_val = sizeof o->symbol };
    if (!needed) {
        *d++ = (ElfW(Dyn)){ .d_tag = DT_INIT_ARRAY, .d_un.d_ptr = offsetof(object, constructor) };
        *d++ = (ElfW(Dyn)){ .d_tag = DT_INIT_ARRAYSZ, .d_un.d_val = sizeof o->constructor };
        o->constructor = before_constructors; /* an absolute address; nothing relocates it */
    }
    *d = (ElfW(Dyn)){ .d_tag = DT_NULL };
}

/* The loader takes equal paths for one object, so a different number of "./" makes every path unique.
 * Returns the descriptor; -1: unnamed files are not supported here, or there are too many files. */
static int make_object(const char *const *needed, char path[PATH_SIZE])
{
    static const char dots[] =
        "./././././././././././././././././././././././././././././././././././././././././././././."
        "/././././././././././././././././././././";
    static atomic_int made;
    object o = { 0 };
    _Static_assert(sizeof dots / 2 >= MOST_OBJECTS, "a path for each object");
    int number = atomic_fetch_add(&made, 1) + 1;
    int fd = number <= MOST_OBJECTS ? memfd_create("lazuli", MFD_CLOEXEC) : -1;
    if (fd < 0)
        return -1;
    fill_headers(&o);
    fill_dynamic(&o, needed);
    snprintf(path, PATH_SIZE, "/proc/self/fd/%.*s%d", 2 * number, dots, fd);
    if (lz_fd_write(fd, (lz_str){ (const char *)&o, sizeof o }) == 0)
        return fd;
    close(fd);
    return -1;
}

void *lz_dl_lasting_handle(const char *name, void **root)
{
    char hook_path[PATH_SIZE], path[PATH_SIZE];
    const char *const needed[] = { name, hook_path };
    int hook = strlen(name) <= 4096 ? make_object(NULL, hook_path) : -1;
    int fd = hook >= 0 ? make_object(needed, path) : -1;
    *root = NULL;
    if (fd >= 0) {
        root_path = path;
        *root = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        root_path = NULL;
        close(fd);
    }
    if (hook >= 0)
        close(hook);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}
