#include "jit/perf_map.h"
#include "base/env.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* The kernel's name: its tag and its operations, each once, in the order of the nodes. */
static void print_name(const lz_kernel *k, lz_text *out)
{
    enum { MOST = 8 };
    char tag[LZ_KERNEL_TAG];
    bool named[LZ_KERNEL_NODE_COUNT] = { false };
    int n = 0;
    lz_kernel_tag(k, tag);
    lz_text_printf(out, "lazuli_kernel_%s", tag);
    for (size_t i = 0; i < k->ir.nodes.len && n < MOST; i++) {
        const lz_kernel_node *x = &k->ir.nodes.data[i];
        bool tells = x->op < LZ_KERNEL_OP_COUNT || x->op == LZ_KERNEL_NODE_REDUCE
                     || x->op == LZ_KERNEL_NODE_SCAN || x->op == LZ_KERNEL_NODE_GATHER;
        if (!tells || named[x->op])
            continue;
        named[x->op] = true;
        lz_text_printf(out, "_%s", lz_kernel_node_text(x));
        n++;
    }
}

static void print_line(const lz_kernel *k, const void *code, size_t size, const char *suffix, lz_text *out)
{
    lz_text_printf(out, "%llx %llx ", (unsigned long long)(uintptr_t)code, (unsigned long long)size);
    print_name(k, out);
    lz_text_printf(out, "%s\n", suffix);
}

void lz_perf_map_print(const lz_kernel *k, const lz_native_loaded *c, lz_text *out)
{
    const void *run, *walk;
    memcpy(&run, &c->run, sizeof run); /* C has no cast from function to data pointers */
    memcpy(&walk, &c->walk, sizeof walk);
    if (c->run_size)
        print_line(k, run, c->run_size, "", out);
    if (walk && c->walk_size)
        print_line(k, walk, c->walk_size, "_walk", out);
}

/* One write call, so that lines of several threads do not mix. */
static lz_err *append(lz_str lines)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return lz_err_errno(errno, "open", path);
    ssize_t n = write(fd, lines.ptr, lines.len);
    lz_err *e = n == (ssize_t)lines.len ? NULL : lz_err_errno(n < 0 ? errno : ENOSPC, "write", path);
    close(fd);
    return e;
}

static bool is_wanted(void)
{
    int64_t on = 0;
    lz_err *e = lz_env_int(LZ_ENV_PERF_MAP, 0, 1, &on);
    if (e)
        lz_logf(LZ_LOG_WARN, "%s", lz_err_text(e));
    lz_err_drop(e);
    return on;
}

void lz_perf_map_add(const lz_kernel *k, const lz_native_loaded *c)
{
    lz_text lines = { 0 };
    if (!is_wanted())
        return;
    lz_perf_map_print(k, c, &lines);
    lz_err *e = lz_text_check(&lines);
    if (!e && lines.len)
        e = append(lz_text_view(&lines));
    if (e)
        lz_logf(LZ_LOG_WARN, "LAZULI_PERF_MAP: %s", lz_err_text(e));
    lz_err_drop(e);
    lz_text_deinit(&lines);
}
