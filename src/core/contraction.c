#include "core/contraction.h"
#include "base/vec.h"
#include "core/shape.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Labels: the letters, then the dimensions of ellipses, counted from the last one back. */
enum { LETTERS = 52, LABELS = LETTERS + LZ_MAX_DIMS, ELLIPSIS = LABELS, EXACT = 8 };

/* The labels of an operand's dimensions. */
typedef struct operand {
    int n;
    uint8_t label[LZ_MAX_DIMS]; /* from number_labels on: numbers below 64 */
    uint64_t set;               /* of these */
    uint32_t parts;             /* the given operands that it is made of, if there are at most EXACT */
} operand;

typedef struct planning {
    lz_arena *arena;
    lz_str text;
    const lz_ints *shapes;
    size_t n;     /* operands */
    operand *ops; /* [n] */
    operand output;
    int ellipsis;          /* dimensions of the longest one; -1: there is none */
    int64_t size[LABELS];  /* by label; -1: not seen */
    uint8_t count[LABELS]; /* occurrences in the operands: none, one, more */
    uint8_t raw[64];       /* by number: the label */
    LZ_VEC(int64_t) out;
} planning;

/* ---- reading ---- */

static int letter_of(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static char char_of(int label)
{
    return (char)(label < 26 ? 'A' + label : label < LETTERS ? 'a' + label - 26 : '.');
}

static bool has(const operand *x, int label)
{
    return memchr(x->label, label, (size_t)x->n) != NULL;
}

/* The label at *at, which moves to its last character. */
static lz_err *read_label(const planning *p, size_t *at, operand *x)
{
    char c = p->text.ptr[*at];
    int label = letter_of(c);
    if (c == '.') {
        if (*at + 2 >= p->text.len || memcmp(p->text.ptr + *at, "...", 3) != 0)
            return lz_errf(LZ_ERR_ARG, "einsum(): found '.' at index %zu that is not part of any ellipsis",
                           *at);
        if (has(x, ELLIPSIS))
            return lz_errf(LZ_ERR_ARG,
                           "einsum(): found '.' at index %zu for which an ellipsis was already found", *at);
        *at += 2;
        label = ELLIPSIS;
    }
    if (label < 0)
        return lz_errf(
            LZ_ERR_ARG,
            "einsum(): invalid subscript given at index %zu in the equation string, subscripts must be in "
            "[a-zA-Z]",
            *at);
    if (x->n == LZ_MAX_DIMS)
        return lz_errf(LZ_ERR_ARG, "einsum(): more than %d subscripts before index %zu", LZ_MAX_DIMS, *at);
    x->label[x->n++] = (uint8_t)label;
    return NULL;
}

static lz_err *read_operands(planning *p, size_t end)
{
    size_t k = 0;
    for (size_t at = 0; at < end; at++) {
        if (p->text.ptr[at] == ' ')
            continue;
        if (p->text.ptr[at] != ',')
            LZ_TRY(read_label(p, &at, &p->ops[k]));
        else if (++k == p->n)
            return lz_errf(LZ_ERR_ARG,
                           "einsum(): fewer operands were provided than specified in the equation");
    }
    if (k + 1 < p->n)
        return lz_errf(LZ_ERR_ARG, "einsum(): more operands were provided than specified in the equation");
    return NULL;
}

/* ---- sizes ---- */

static lz_err *check_count(const planning *p, size_t k)
{
    int64_t dims = p->shapes[k].n;
    bool open = has(&p->ops[k], ELLIPSIS);
    int subscripts = p->ops[k].n - open;
    if (open ? subscripts <= dims : subscripts == dims)
        return NULL;
    return lz_err_because(
        LZ_REASON_SHAPE,
        "einsum(): the number of subscripts in the equation (%d) %s the number of dimensions (%" PRId64
        ") for operand %zu%s",
        subscripts, open ? "is more than" : "does not match", dims, k,
        open ? "" : " and no ellipsis was given");
}

/* Writes the dimensions of the ellipsis out: the last `n` labels of an ellipsis. */
static lz_err *expand_ellipsis(operand *x, int n)
{
    operand from = *x;
    x->n = 0;
    for (int i = 0; i < from.n; i++) {
        int wide = from.label[i] == ELLIPSIS ? n : 1;
        if (x->n + wide > LZ_MAX_DIMS)
            return lz_errf(LZ_ERR_ARG, "einsum(): more than %d dimensions", LZ_MAX_DIMS);
        for (int d = 0; d < wide; d++)
            x->label[x->n++] = from.label[i] == ELLIPSIS ? (uint8_t)(LETTERS + n - 1 - d) : from.label[i];
    }
    return NULL;
}

static lz_err *add_size(planning *p, size_t k, int d)
{
    const operand *x = &p->ops[k];
    int label = x->label[d];
    int64_t size = p->shapes[k].v[d], *known = &p->size[label];
    const uint8_t *before = memchr(x->label, label, (size_t)d);
    if (before && p->shapes[k].v[before - x->label] != size)
        return lz_err_because(
            LZ_REASON_SHAPE,
            "einsum(): subscript %c is repeated for operand %zu but the sizes don't match, %" PRId64
            " != %" PRId64,
            char_of(label), k, size, p->shapes[k].v[before - x->label]);
    if (*known > 1 || *known == 0) {
        if (size != *known && size != 1)
            return lz_err_because(LZ_REASON_SHAPE,
                                  "einsum(): subscript %c has size %" PRId64
                                  " for operand %zu which does not "
                                  "broadcast with previously seen size %" PRId64,
                                  char_of(label), size, k, *known);
    } else {
        *known = size;
    }
    p->count[label] = (uint8_t)(p->count[label] < 2 ? p->count[label] + 1 : 2);
    return NULL;
}

static lz_err *find_sizes(planning *p)
{
    p->ellipsis = -1;
    for (int i = 0; i < LABELS; i++)
        p->size[i] = -1;
    for (size_t k = 0; k < p->n; k++) {
        LZ_TRY(check_count(p, k));
        int dims = has(&p->ops[k], ELLIPSIS) ? (int)p->shapes[k].n - (p->ops[k].n - 1) : -1;
        p->ellipsis = dims > p->ellipsis ? dims : p->ellipsis;
        LZ_TRY(expand_ellipsis(&p->ops[k], dims));
        for (int d = 0; d < p->ops[k].n; d++)
            LZ_TRY(add_size(p, k, d));
    }
    return NULL;
}

/* ---- the output ---- */

/* The ellipsis, then the letters that occur once. */
static void implicit_output(planning *p)
{
    if (p->ellipsis >= 0)
        p->output.label[p->output.n++] = ELLIPSIS;
    for (int i = 0; i < LETTERS; i++)
        if (p->count[i] == 1)
            p->output.label[p->output.n++] = (uint8_t)i;
}

static lz_err *check_output(const planning *p)
{
    for (int i = 0; i < p->output.n; i++) {
        int label = p->output.label[i];
        if (memchr(p->output.label, label, (size_t)i))
            return lz_errf(LZ_ERR_ARG, "einsum(): output subscript %c appears more than once in the output",
                           char_of(label));
        if (label != ELLIPSIS && !p->count[label])
            return lz_errf(
                LZ_ERR_ARG,
                "einsum(): output subscript %c does not appear in the equation for any input operand",
                char_of(label));
    }
    return NULL;
}

static lz_err *read_output(planning *p, size_t from)
{
    for (size_t at = from; at < p->text.len; at++)
        if (p->text.ptr[at] != ' ')
            LZ_TRY(read_label(p, &at, &p->output));
    return check_output(p);
}

/* ---- numbers for labels ---- */

static void number_operand(planning *p, const uint8_t *numbers, operand *x)
{
    for (int i = 0; i < x->n; i++) {
        p->raw[numbers[x->label[i]]] = x->label[i];
        x->label[i] = numbers[x->label[i]];
        x->set |= UINT64_C(1) << x->label[i];
    }
}

static lz_err *number_labels(planning *p)
{
    uint8_t numbers[LABELS] = { 0 };
    int n = 0;
    for (int i = 0; i < LABELS; i++)
        if (p->count[i]) {
            if (n == 64)
                return lz_errf(LZ_ERR_ARG, "einsum(): more than 64 different subscripts");
            numbers[i] = (uint8_t)n++;
        }
    for (size_t k = 0; k < p->n; k++)
        number_operand(p, numbers, &p->ops[k]);
    number_operand(p, numbers, &p->output);
    return NULL;
}

/* ---- steps ---- */

static lz_err *add(planning *p, int64_t v)
{
    return lz_vec_push(&p->out, v);
}

/* Begins a step of `more` numbers behind its kind. */
static lz_err *begin(planning *p, lz_contraction_step kind, int64_t more)
{
    p->out.data[0]++;
    LZ_TRY(add(p, more + 2));
    return add(p, kind);
}

static void remove_dim(operand *x, int d)
{
    x->n--;
    memmove(x->label + d, x->label + d + 1, (size_t)(x->n - d));
}

static lz_err *join_repeated(planning *p, size_t k)
{
    operand *x = &p->ops[k];
    for (int d = 1; d < x->n;) {
        const uint8_t *before = memchr(x->label, x->label[d], (size_t)d);
        if (!before) {
            d++;
            continue;
        }
        LZ_TRY(begin(p, LZ_CONTRACTION_DIAGONAL, 3));
        LZ_TRY(add(p, (int64_t)k));
        LZ_TRY(add(p, before - x->label));
        LZ_TRY(add(p, d));
        remove_dim(x, d);
    }
    return NULL;
}

/* Removes the dimensions whose labels are in the set. */
static lz_err *drop(planning *p, lz_contraction_step kind, size_t k, uint64_t set)
{
    operand *x = &p->ops[k];
    int64_t dims = 0;
    for (int d = 0; d < x->n; d++)
        dims += (int64_t)(set >> x->label[d] & 1);
    if (!dims)
        return NULL;
    LZ_TRY(begin(p, kind, dims + 1));
    LZ_TRY(add(p, (int64_t)k));
    for (int d = 0; d < x->n; d++)
        if (set >> x->label[d] & 1)
            LZ_TRY(add(p, d));
    for (int d = x->n; d-- > 0;)
        if (set >> x->label[d] & 1)
            remove_dim(x, d);
    x->set &= ~set;
    return NULL;
}

/* The labels that operand k has with size 1 and another one with another size. */
static uint64_t thin(const planning *p, size_t k, const operand *before)
{
    uint64_t set = 0;
    for (int d = 0; d < before->n; d++)
        if (p->shapes[k].v[d] == 1 && p->size[p->raw[before->label[d]]] != 1)
            set |= UINT64_C(1) << before->label[d];
    return set;
}

static uint64_t set_of_others(const planning *p, size_t i, size_t j)
{
    uint64_t set = p->output.set;
    for (size_t k = 0; k < p->n; k++)
        set |= k == i || k == j ? 0 : p->ops[k].set;
    return set;
}

static lz_err *prepare(planning *p)
{
    for (size_t k = 0; k < p->n; k++) {
        operand before = p->ops[k];
        LZ_TRY(join_repeated(p, k));
        LZ_TRY(drop(p, LZ_CONTRACTION_SQUEEZE, k, thin(p, k, &before)));
    }
    for (size_t k = 0; k < p->n; k++) {
        LZ_TRY(drop(p, LZ_CONTRACTION_SUM, k, ~set_of_others(p, k, k)));
        p->ops[k].parts = p->n <= EXACT ? 1U << k : 0;
    }
    return NULL;
}

/* ---- a pair ---- */

/* Appends the positions in x of the labels of `of` that are in the set; returns their number. */
static lz_err *add_places(planning *p, const operand *x, const operand *of, uint64_t set)
{
    for (int d = 0; d < of->n; d++)
        if (set >> of->label[d] & 1)
            LZ_TRY(add(p, (const uint8_t *)memchr(x->label, of->label[d], (size_t)x->n) - x->label));
    return NULL;
}

static void append(operand *to, const operand *from, uint64_t set)
{
    for (int d = 0; d < from->n; d++)
        if (set >> from->label[d] & 1)
            to->label[to->n++] = from->label[d];
}

static lz_err *contract(planning *p, size_t i, size_t j)
{
    const operand a = p->ops[i], b = p->ops[j];
    uint64_t kept = set_of_others(p, i, j), both = a.set & b.set, batch = both & kept, inner = both & ~kept;
    uint64_t left = a.set & ~both, right = b.set & ~both;
    const uint64_t parts[] = { batch, left, inner };
    LZ_TRY(begin(p, LZ_CONTRACTION_PAIR, 5 + a.n + b.n));
    LZ_TRY(add(p, (int64_t)i));
    LZ_TRY(add(p, (int64_t)j));
    for (int k = 0; k < 3; k++)
        LZ_TRY(add(p, __builtin_popcountll(parts[k])));
    for (int k = 0; k < 3; k++)
        LZ_TRY(add_places(p, &a, &a, parts[k]));
    LZ_TRY(add_places(p, &b, &a, batch));
    LZ_TRY(add_places(p, &b, &a, inner));
    LZ_TRY(add_places(p, &b, &b, right));
    operand made = { .set = (a.set | b.set) & kept, .parts = a.parts | b.parts };
    append(&made, &a, batch);
    append(&made, &a, left);
    append(&made, &b, right);
    memmove(&p->ops[j], &p->ops[j + 1], (p->n - j - 1) * sizeof *p->ops);
    memmove(&p->ops[i], &p->ops[i + 1], (p->n - i - 2) * sizeof *p->ops);
    p->n--;
    p->ops[p->n - 1] = made;
    return NULL;
}

/* ---- the order ---- */

static lz_err *by_path(planning *p, const lz_ints *path)
{
    int64_t numbers = p->n == 1 ? 1 : 2 * ((int64_t)p->n - 1);
    if (path->n != numbers)
        return lz_errf(LZ_ERR_ARG,
                       "einsum(): expected contraction path given in path parameter to have size %" PRId64
                       " but got %" PRId64,
                       numbers, path->n);
    for (int64_t k = 0; p->n > 1; k += 2) {
        int64_t i = path->v[k], j = path->v[k + 1];
        if (i == j || i < 0 || j < 0 || i >= (int64_t)p->n || j >= (int64_t)p->n)
            return lz_errf(LZ_ERR_ARG, "einsum(): invalid contraction path (%" PRId64 ",%" PRId64 ")", i, j);
        LZ_TRY(contract(p, (size_t)(i < j ? i : j), (size_t)(i < j ? j : i)));
    }
    return NULL;
}

static double numel(const planning *p, uint64_t set)
{
    double n = 1;
    for (; set; set &= set - 1)
        n *= (double)p->size[p->raw[__builtin_ctzll(set)]];
    return n;
}

/* Contracts the pair whose product adds the fewest elements; of several, the one with the fewest operations.
 */
static lz_err *greedily(planning *p)
{
    size_t best_i = 0, best_j = 1;
    double least = INFINITY, fewest = INFINITY;
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = i + 1; j < p->n; j++) {
            uint64_t a = p->ops[i].set, b = p->ops[j].set;
            double more = numel(p, (a | b) & set_of_others(p, i, j)) - numel(p, a) - numel(p, b);
            double work = numel(p, a | b);
            if (more > least || (more == least && work >= fewest))
                continue;
            least = more;
            fewest = work;
            best_i = i;
            best_j = j;
        }
    return contract(p, best_i, best_j);
}

/* The labels of a product of these operands. */
static uint64_t labels_of(const planning *p, uint32_t parts)
{
    uint64_t inside = 0, outside = p->output.set;
    for (size_t k = 0; k < p->n; k++)
        *(parts >> k & 1 ? &inside : &outside) |= p->ops[k].set;
    return inside & outside;
}

/* For each set of operands, the split in two that needs the fewest operations. */
static void find_splits(const planning *p, uint32_t *split)
{
    double cost[1 << EXACT];
    for (uint32_t s = 1; s < 1U << p->n; s++) {
        cost[s] = s & (s - 1) ? INFINITY : 0;
        for (uint32_t part = (s - 1) & s; part; part = (part - 1) & s) {
            double work = cost[part] + cost[s ^ part] + numel(p, labels_of(p, part) | labels_of(p, s ^ part));
            if (part > (s ^ part) || work >= cost[s])
                continue;
            cost[s] = work;
            split[s] = part;
        }
        if (s & (s - 1) && isinf(cost[s])) /* too many to count */
            split[s] = s & (~s + 1);
    }
}

static size_t place_of(const planning *p, uint32_t parts)
{
    size_t k = 0;
    while (p->ops[k].parts != parts)
        k++;
    assert(k < p->n);
    return k;
}

static lz_err *exactly(planning *p)
{
    uint32_t split[1 << EXACT] = { 0 }, sets[2 * EXACT] = { (1U << p->n) - 1 };
    size_t n = 1;
    find_splits(p, split);
    for (size_t k = 0; k < n; k++) /* sets before their parts */
        if (sets[k] & (sets[k] - 1)) {
            sets[n++] = split[sets[k]];
            sets[n++] = sets[k] ^ split[sets[k]];
        }
    while (n-- > 0)
        if (sets[n] & (sets[n] - 1)) {
            size_t i = place_of(p, split[sets[n]]), j = place_of(p, sets[n] ^ split[sets[n]]);
            LZ_TRY(contract(p, i < j ? i : j, i < j ? j : i));
        }
    return NULL;
}

static lz_err *contract_all(planning *p, const lz_ints *path)
{
    if (path)
        return by_path(p, path);
    while (p->n > EXACT)
        LZ_TRY(greedily(p));
    for (size_t k = 0; k < p->n; k++)
        p->ops[k].parts = 1U << k;
    return p->n > 1 ? exactly(p) : NULL;
}

/* ---- the whole plan ---- */

static lz_err *finish(planning *p)
{
    const operand *x = &p->ops[0];
    assert(x->set == p->output.set);
    if (!memcmp(x->label, p->output.label, (size_t)x->n))
        return NULL;
    LZ_TRY(begin(p, LZ_CONTRACTION_PERMUTE, 1 + x->n));
    LZ_TRY(add(p, 0));
    return add_places(p, x, &p->output, x->set);
}

static lz_err *make(planning *p, const lz_ints *path)
{
    size_t arrow = lz_str_find(p->text, LZ_STR("->"));
    bool implicit = arrow == SIZE_MAX;
    LZ_TRY(lz_arena_new(p->arena, &p->ops, p->n));
    LZ_TRY(read_operands(p, implicit ? p->text.len : arrow));
    LZ_TRY(find_sizes(p));
    if (implicit)
        implicit_output(p);
    else
        LZ_TRY(read_output(p, arrow + 2));
    LZ_TRY(expand_ellipsis(&p->output, p->ellipsis < 0 ? 0 : p->ellipsis));
    LZ_TRY(number_labels(p));
    LZ_TRY(add(p, 0));
    LZ_TRY(prepare(p));
    LZ_TRY(contract_all(p, path));
    return finish(p);
}

lz_err *lz_contraction_plan(lz_arena *a, lz_str equation, const lz_ints *shapes, size_t n,
                            const lz_ints *path, lz_ints *out)
{
    planning p = { .arena = a, .text = equation, .shapes = shapes, .n = n };
    int64_t *copy;
    if (!n)
        return lz_errf(LZ_ERR_ARG, "einsum(): must provide at least one operand");
    lz_err *e = make(&p, path);
    if (!e)
        e = lz_arena_new(a, &copy, p.out.len);
    if (!e) {
        memcpy(copy, p.out.data, p.out.len * sizeof *copy);
        *out = (lz_ints){ copy, (int64_t)p.out.len };
    }
    lz_vec_deinit(&p.out);
    return e;
}
