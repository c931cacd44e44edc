/* The key under which a kernel's code is stored in the disk cache. */
#include "jit/code_cache.h"
#include "jit/jit_sources.h" /* generated: a hash of this folder's sources */

enum { KEY_FORMAT = 1 };

/* Every list is preceded by its length and every number has a fixed width, so different inputs have different
 * bytes. */
static void put(lz_text *t, uint64_t v, int bytes)
{
    char b[8];
    for (int i = 0; i < bytes; i++)
        b[i] = (char)(v >> (8 * i));
    lz_text_add(t, (lz_str){ b, (size_t)bytes });
}

static void put_text(lz_text *t, const char *s)
{
    put(t, strlen(s), 4);
    lz_text_puts(t, s);
}

static void put_ends(const lz_kernel_ir *ir, lz_text *t)
{
    put(t, ir->access.len, 4);
    for (size_t i = 0; i < ir->access.len; i++) {
        put(t, ir->access.data[i].dtype, 1);
        put(t, ir->access.data[i].vary, 1);
    }
    put(t, ir->params.len, 4);
    lz_text_add(t, (lz_str){ (const char *)ir->params.data, ir->params.len });
    put(t, ir->stores.len, 4);
    for (size_t i = 0; i < ir->stores.len; i++) {
        put(t, (uint32_t)ir->stores.data[i].access, 4);
        put(t, ir->stores.data[i].value, 4);
    }
}

static void put_node(const lz_kernel_node *n, lz_text *t)
{
    put(t, n->op, 1);
    put(t, n->type, 1);
    put(t, (uint32_t)n->attr, 4);
    for (int i = 0; i < lz_kernel_node_operands(n); i++)
        put(t, n->in[i], 4);
    if (n->op == LZ_KERNEL_NODE_CONST)
        put(t, (uint64_t)n->bits, 8);
}

static void put_variant(const lz_kernel_ir *ir, const lz_native_variant *v, lz_text *t)
{
    put(t, v->columns, 1);
    put(t, v->across_table, 1);
    for (size_t i = 0; i < ir->access.len; i++) {
        put(t, v->run[i], 1);
        put(t, v->stream[i], 1);
    }
}

void lz_kernel_key(const lz_kernel *k, const lz_native_variant *v, const char *target, lz_text *out)
{
    const lz_kernel_ir *ir = &k->ir;
    lz_text_puts(out, "kernel");
    put(out, KEY_FORMAT, 4);
    put_text(out, lz_version());
    put_text(out, LZ_JIT_SOURCES);
    put_text(out, target);
    put(out, ir->mode, 1);
    put(out, (uint32_t)ir->n_outer, 4);
    put(out, (uint32_t)ir->n_row, 4);
    put_ends(ir, out);
    put(out, ir->nodes.len, 4);
    for (size_t i = 0; i < ir->nodes.len; i++)
        put_node(&ir->nodes.data[i], out);
    put_variant(ir, v, out);
}
