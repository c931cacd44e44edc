/* segment_impl.h - what the files of segments share. */
#ifndef LZ_SCRIPT_SEGMENT_IMPL_H
#define LZ_SCRIPT_SEGMENT_IMPL_H

#include "script/functionalize.h"
#include "script/segment.h"

/* The static graph for one kind of inputs: of the instructions from `from` on. */
struct lz_segment_entry {
    lz_segment_entry *next;
    char *key;
    size_t key_len;
    uint64_t hash;
    lz_functional made;
    lz_static_graph *graph; /* NULL: no instruction at all */
};

/* One call of a segment. */
typedef struct lz_segment_call {
    const lz_script_program *program;
    lz_segment *seg;
    lz_script_value *slots;
    const uint32_t *dying; /* slots */
    uint32_t ndying;
    lz_script_env *env;
    lz_script_value *locals; /* counted; those before `from` that are still read */
    int64_t *run_time;       /* by local: the input that is a number passed at run time; -1: none */
    uint32_t from;
    LZ_VEC(uint32_t) live;         /* locals that instructions from `from` on read, and others made */
    LZ_VEC(lz_script_value) given; /* results of instruction `from`, computed before; counted */
    bool is_given;
    LZ_VEC(char) key;
    LZ_VEC(lz_script_tensor *) tensors; /* of live locals and given, in their order; borrowed */
    LZ_VEC(uint32_t) same, shared;      /* with seg->whole: see lz_functionalize_input */
    const lz_script_instr *at;          /* what failed */
} lz_segment_call;

/* ---- segment.c ---- */

/* Sets the locals of inputs and constants; call lz_segment_end afterwards, also after a failure. */
LZ_MUST_USE lz_err *lz_segment_begin(lz_segment_call *c);
void lz_segment_end(lz_segment_call *c);
/* The input of functionalization: the instructions from c->from on, with the current values and the key
 * made from them. */
lz_functionalize_input lz_segment_what(const lz_segment_call *c);

/* ---- segment_key.c ---- */

/* Sets live, tensors and key. */
LZ_MUST_USE lz_err *lz_segment_key(lz_segment_call *c);

/* ---- segment_results.c ---- */

/* Runs the entry's graph and sets locals, storages and the views of tensors. */
LZ_MUST_USE lz_err *lz_segment_run_entry(lz_segment_call *c, const lz_segment_entry *e);
/* Runs instruction `from` alone, whose sizes depend on elements: sets given. */
LZ_MUST_USE lz_err *lz_segment_run_now(lz_segment_call *c);

#endif
