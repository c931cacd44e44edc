/* Globals that a library makes after it was loaded are not destroyed when the process exits.
 *
 * A C++ library registers a destructor for each variable of a function at its first use (__cxa_atexit), and
 * exit runs those that were registered last first: while another thread is still inside the library, and
 * before anything of ours can stop that thread. So the library's own pointer to __cxa_atexit is set to a
 * function that registers nothing. What was made while it was loaded is destroyed as ever, after
 * lz_foreign_loaded's wait. */
#include "base/dl.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

typedef struct tables {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * relocations[2]; /* of data, of calls */
    size_t sizes[2];                   /* bytes */
} tables;

static int register_nothing(void (*destroy)(void *), void *object, void *library)
{
    (void)destroy, (void)object, (void)library;
    return 0;
}

/* Most loaders have made the addresses absolute. */
static const void *address(const struct link_map *map, const ElfW(Dyn) * d)
{
    ElfW(Addr) a = d->d_un.d_ptr < map->l_addr ? map->l_addr + d->d_un.d_ptr : d->d_un.d_ptr;
    return (const void *)a; /* NOLINT(performance-no-int-to-ptr): the format has addresses as numbers */
}

static tables find_tables(const struct link_map *map)
{
    tables t = { 0 };
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            t.symbols = address(map, d);
        else if (d->d_tag == DT_STRTAB)
            t.names = address(map, d);
        else if (d->d_tag == DT_RELA)
            t.relocations[0] = address(map, d);
        else if (d->d_tag == DT_JMPREL)
            t.relocations[1] = address(map, d);
        else if (d->d_tag == DT_RELASZ)
            t.sizes[0] = d->d_un.d_val;
        else if (d->d_tag == DT_PLTRELSZ)
            t.sizes[1] = d->d_un.d_val;
    }
    return t;
}

/* By the kernel, since the loader has made the pointers read-only. */
static void set_pointer(int memory, const char *at)
{
    void (*to)(void) = (void (*)(void))register_nothing;
    (void)!pwrite(memory, &to, sizeof to, (off_t)(uintptr_t)at);
}

/* The count of entries is 0 where this machine's objects have relocations of another form. */
static void redirect(const struct link_map *map, const tables *t, int which, const void *real, int memory)
{
    const ElfW(Rela) *r = t->relocations[which];
    for (size_t n = r ? t->sizes[which] / sizeof *r : 0; n > 0; n--, r++) {
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): the loader tells addresses as integers */
        const char *at = (const char *)map->l_addr + r->r_offset;
        size_t symbol = ELF64_R_SYM(r->r_info);
        if (symbol && strcmp(t->names + t->symbols[symbol].st_name, "__cxa_atexit") == 0
            && memcmp(at, &real, sizeof real) == 0)
            set_pointer(memory, at);
    }
}

void lz_dl_stay(const lz_dl *dl)
{
    void *handle = lz_dl_handle(dl);
    struct link_map *map = NULL;
    const void *real = dlsym(handle, "__cxa_atexit");
    int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (real && memory >= 0 && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
        tables t = find_tables(map);
        for (int i = 0; t.symbols && t.names && i < 2; i++)
            redirect(map, &t, i, real, memory);
    }
    if (memory >= 0)
        close(memory);
}
