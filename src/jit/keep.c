/* Finds values that need not be computed again for the next tile.
 *
 * An instruction depends on the lane dimensions along which its accesses move, and on those of its operands.
 * If no such dimension has moved since the last tile, the register still holds the result. */
#include "jit/launch.h"

/* Flat: the innermost dimension along which successive tiles move, as whole lines or parts of one; -1:
 * none. */
static int inner_dim(const lz_launch *l)
{
    int last = l->lane.n - 1;
    if (!l->lines)
        return last;
    bool one = l->lines >= l->lane.extent[last - 1];
    return one ? last - 2 : last - 1;
}

/* Rows: bit 0 is set if the access moves with the fixed index. */
static uint16_t fixed_bits(const lz_launch *l, int access)
{
    bool moves = false;
    for (int d = 0; d < l->fixed.n; d++)
        moves = moves || lz_nest_stride(&l->nest, access, l->fixed.dim[d]);
    return moves;
}

static uint16_t access_bits(const lz_launch *l, int access)
{
    uint16_t bits = 0;
    int moving = l->lines ? l->lane.n - 1 : l->lane.n; /* whole lines all start at index 0 */
    if (l->rows)
        return fixed_bits(l, access);
    for (int d = 0; d < moving; d++) {
        if (lz_nest_stride(&l->nest, access, l->lane.dim[d]))
            bits = (uint16_t)(bits | 1u << d);
    }
    return bits;
}

/* Rows: is the instruction outer code, whose values depend on the row? */
static bool is_outer(const lz_launch *l, uint16_t instruction)
{
    bool does = false;
    for (int k = 0; l->rows && k <= l->p->walks; k++)
        does = does || (instruction >= l->p->outer[k].begin && instruction < l->p->outer[k].end);
    return does;
}

static bool reads_access(const lz_instr *i)
{
    return i->kind >= LZ_INSTR_LOAD && i->kind <= LZ_INSTR_AFFINE;
}

/* Reductions, scans and stores must always run; direct loads cost nothing. */
static bool is_done_again(const lz_launch *l, const lz_instr *i)
{
    return i->kind >= LZ_INSTR_REDUCE || (i->kind == LZ_INSTR_LOAD && l->access[i->access].direct);
}

static bool fits(const lz_launch *l)
{
    const lz_program *p = l->p;
    int64_t bytes = (int64_t)p->units * l->tile + (l->rows ? p->state_rows : 0) + 128;
    for (uint16_t k = p->uniform.end; k < p->n_code; k++)
        bytes += lz_keep_is(l, k) ? p->registers[p->code[k].out].size * l->tile : 0;
    return bytes <= LZ_SCRATCH;
}

bool lz_keep_is(const lz_launch *l, uint16_t instruction)
{
    return l->keeps && l->depend[instruction] != LZ_KEEP_ALL;
}

void lz_keep_plan(lz_launch *l)
{
    const lz_program *p = l->p;
    bool flat = l->flat && !l->across && l->lane.n > 1 && l->lane.n <= LZ_KEEP_DIMS;
    bool rows = l->rows && l->lane.total <= l->tile; /* a tile holds a whole row */
    if ((!flat && !rows) || p->n_code > LZ_KEEP_CODE)
        return;
    uint16_t of[LZ_KEEP_CODE + 1] = { 0 }; /* by register; one instruction writes each, register 0 is none */
    int inner = rows ? 0 : inner_dim(l);
    bool any = false;
    for (uint16_t k = 0; k < p->uniform.end; k++)
        l->depend[k] = 0;
    for (uint16_t k = p->uniform.end; k < p->n_code; k++) {
        const lz_instr *i = &p->code[k];
        uint16_t bits = reads_access(i) ? access_bits(l, i->access) : 0;
        bits |= is_outer(l, k) || i->kind == LZ_INSTR_REDUCE || i->kind == LZ_INSTR_SCAN;
        for (int j = 0; j < 4; j++)
            bits |= of[i->in[j]];
        bool again = inner < 0 || bits >> inner & 1 || is_done_again(l, i);
        of[i->out] = i->out ? bits : 0;
        l->depend[k] = again ? LZ_KEEP_ALL : (uint16_t)(bits | 1u << LZ_KEEP_DIMS);
        any = any || !again;
    }
    l->keeps = any;
    l->keeps = any && fits(l);
}

void lz_keep_place(lz_worker *w, char *free)
{
    const lz_program *p = w->l->p;
    for (uint16_t k = p->uniform.end; w->l->keeps && k < p->n_code; k++) {
        if (!lz_keep_is(w->l, k))
            continue;
        w->tile[p->code[k].out] = free;
        free += p->registers[p->code[k].out].size * w->l->tile;
    }
}
