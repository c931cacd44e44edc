/* The tables of a profile, from the counts of its launches and phases. */
#include "base/mem.h"
#include "base/profile_impl.h"
#include <stdlib.h>
#include <string.h>

/* A row under construction. */
typedef struct tally {
    lz_profile_row row;
    uint32_t launch; /* 1 + the last launch counted in total_ns */
    lz_text detail;
    const char *last_op; /* the last operator added to the detail; the next one is mostly equal */
} tally;

typedef struct maker {
    lz_profile *p;
    lz_map tallies; /* by name, of one table */
    LZ_VEC(tally *) all;
    uint64_t *seen; /* by origin of a plan: executions counted so far */
} maker;

static lz_err *tally_of(maker *m, lz_str name, tally **out)
{
    const char *kept;
    *out = lz_map_get(&m->tallies, name);
    if (*out)
        return NULL;
    LZ_TRY(lz_profile_text_of(m->p, name, &kept));
    tally *t = lz_mem_zalloc(1, sizeof *t);
    if (!t)
        return lz_err_oom();
    t->row.name = kept;
    t->row.detail = "";
    lz_err *e = lz_vec_push(&m->all, t);
    if (e) {
        lz_mem_free(t);
        return e;
    }
    *out = t;
    return lz_map_put(&m->tallies, (lz_str){ kept, strlen(kept) }, t);
}

/* ---- shares ---- */

static double weight_of(const lz_launch_facts *f)
{
    double sum = 0;
    for (size_t i = 0; i < f->n; i++)
        sum += f->sources[i].weight;
    return sum;
}

/* Splits an integer into parts that add up to it: each part is the rounded share of all sources so far, minus
 * what they already got. */
typedef struct share {
    double upto;
    uint64_t given;
} share;

static uint64_t next_share(share *s, uint64_t whole, double part, bool last)
{
    s->upto += part;
    double due = s->upto * (double)whole;
    uint64_t all = last || due >= (double)whole ? whole : (uint64_t)due;
    all = all > s->given ? all : s->given;
    uint64_t mine = all - s->given;
    s->given = all;
    return mine;
}

/* ---- operators and lines ---- */

typedef lz_err *name_fn(maker *m, const lz_launch_source *s, lz_text *out);

static lz_err *name_operator(maker *m, const lz_launch_source *s, lz_text *out)
{
    (void)m;
    lz_text_add(out, s->op);
    return lz_text_check(out);
}

static lz_err *name_line(maker *m, const lz_launch_source *s, lz_text *out)
{
    (void)m;
    if (s->at.file)
        lz_text_printf(out, "%s:%d%s", s->at.file, (int)s->at.line,
                       s->at.col == LZ_COL_BACKWARD ? " backward" : "");
    else
        lz_text_puts(out, "(unknown line)");
    return lz_text_check(out);
}

static bool has_word(lz_str list, lz_str word)
{
    for (bool more = list.len > 0; more;)
        if (lz_str_eq(lz_str_trim(lz_str_cut(&list, LZ_STR(","), &more)), word))
            return true;
    return false;
}

/* Adds the operators of a line, each once. */
static void add_detail(tally *t, const lz_launch_source *s)
{
    enum { MOST = 120 };
    if (t->last_op == s->op.ptr || t->detail.len > MOST)
        return;
    t->last_op = s->op.ptr;
    if (has_word(lz_text_view(&t->detail), s->op))
        return;
    lz_text_puts(&t->detail, t->detail.len ? ", " : "");
    lz_text_add(&t->detail, t->detail.len + s->op.len > MOST ? LZ_STR("...") : s->op);
}

/* Executions of the operator that no earlier launch has counted. */
static uint64_t new_calls(const maker *m, const lz_prof_launch *l, const lz_launch_source *s)
{
    uint64_t *seen = &m->seen[s->origin];
    uint64_t more = l->calls > *seen ? l->calls - *seen : 0;
    *seen += more;
    return more;
}

static lz_err *add_launch(maker *m, uint32_t number, name_fn *name, lz_text *text)
{
    const lz_prof_launch *l = &m->p->launches.data[number];
    const lz_launch_facts *f = &l->facts;
    double sum = weight_of(f);
    share ns = { 0, 0 }, read = ns, written = ns;
    for (size_t i = 0; i < f->n; i++) {
        const lz_launch_source *s = &f->sources[i];
        double part = sum > 0 ? s->weight / sum : 1.0 / (double)f->n;
        bool last = i + 1 == f->n;
        tally *t;
        lz_text_clear(text);
        LZ_TRY(name(m, s, text));
        LZ_TRY(tally_of(m, lz_text_view(text), &t));
        t->row.calls += new_calls(m, l, s);
        t->row.self_ns += next_share(&ns, l->ns, part, last);
        t->row.read += next_share(&read, f->read * l->calls, part, last);
        t->row.written += next_share(&written, f->written * l->calls, part, last);
        t->row.flops += f->flops * (double)l->calls * part;
        t->row.total_ns += t->launch == number + 1 ? 0 : l->ns;
        t->launch = number + 1;
        if (name == name_line)
            add_detail(t, s);
    }
    return NULL;
}

static lz_err *add_plans(maker *m, name_fn *name, lz_text *text)
{
    for (lz_map_entry *e = lz_map_next(&m->p->plans, NULL); e; e = lz_map_next(&m->p->plans, e)) {
        const lz_prof_plan *plan = e->value;
        m->seen = lz_mem_zalloc(plan->origins + 1, sizeof *m->seen);
        lz_err *err = m->seen ? NULL : lz_err_oom();
        for (uint32_t i = 0; !err && i < plan->n; i++)
            if (m->p->launches.data[plan->first + i].calls)
                err = add_launch(m, plan->first + i, name, text);
        lz_mem_free(m->seen);
        LZ_TRY(err);
    }
    return NULL;
}

/* ---- kernels and phases ---- */

static const char *how_of(const lz_profile_row *r, const lz_prof_launch *l)
{
    if (!l->facts.is_kernel)
        return l->by ? l->by : "own";
    return r->compiled == r->calls ? "compiled" : r->compiled ? "partly compiled" : "interpreted";
}

static lz_err *add_kernels(maker *m)
{
    for (uint32_t i = 0; i < m->p->launches.len; i++) {
        const lz_prof_launch *l = &m->p->launches.data[i];
        tally *t;
        if (!l->calls)
            continue;
        LZ_TRY(tally_of(m, l->facts.name, &t));
        t->row.calls += l->calls;
        t->row.self_ns += l->ns;
        t->row.total_ns += l->ns;
        t->row.read += l->facts.read * l->calls;
        t->row.written += l->facts.written * l->calls;
        t->row.flops += l->facts.flops * (double)l->calls;
        t->row.compiled += l->compiled;
        t->row.detail = how_of(&t->row, l);
    }
    return NULL;
}

static lz_err *add_phases(maker *m)
{
    for (int i = 0; i < LZ_PHASE_COUNT; i++) {
        const lz_prof_phase *c = &m->p->phases[i];
        const char *name = lz_phase_names[i];
        tally *t;
        if (!c->calls)
            continue;
        LZ_TRY(tally_of(m, (lz_str){ name, strlen(name) }, &t));
        t->row.calls = c->calls;
        t->row.self_ns = c->self_ns;
        t->row.total_ns = c->total_ns;
        *(i == LZ_PHASE_UPLOAD ? &t->row.written : &t->row.read) =
            i == LZ_PHASE_UPLOAD || i == LZ_PHASE_DOWNLOAD || i == LZ_PHASE_COPY ? c->bytes : 0;
    }
    return NULL;
}

/* ---- tables ---- */

static int by_self(const void *pa, const void *pb)
{
    const lz_profile_row *a = pa, *b = pb;
    if (a->self_ns != b->self_ns)
        return a->self_ns > b->self_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static lz_err *keep_rows(maker *m, lz_prof_table *out)
{
    LZ_TRY(lz_arena_new(&m->p->arena, &out->rows, m->all.len + 1));
    for (size_t i = 0; i < m->all.len; i++) {
        tally *t = m->all.data[i];
        LZ_TRY(lz_text_check(&t->detail));
        if (t->detail.len)
            LZ_TRY(lz_profile_text_of(m->p, lz_text_view(&t->detail), &t->row.detail));
        out->rows[i] = t->row;
    }
    out->n = m->all.len;
    qsort(out->rows, out->n, sizeof *out->rows, by_self);
    return NULL;
}

static lz_err *fill(maker *m, lz_profile_by by, lz_text *text)
{
    static name_fn *const names[LZ_PROFILE_TABLES] = {
        [LZ_PROFILE_OPERATORS] = name_operator, [LZ_PROFILE_LINES] = name_line
    };
    return names[by]                  ? add_plans(m, names[by], text)
           : by == LZ_PROFILE_KERNELS ? add_kernels(m)
                                      : add_phases(m);
}

static lz_err *make_table(lz_profile *p, lz_profile_by by)
{
    maker m = { .p = p };
    lz_text text = { 0 };
    lz_err *e = fill(&m, by, &text);
    if (!e)
        e = keep_rows(&m, &p->tables[by]);
    for (size_t i = 0; i < m.all.len; i++) {
        lz_text_deinit(&m.all.data[i]->detail);
        lz_mem_free(m.all.data[i]);
    }
    lz_vec_deinit(&m.all);
    lz_map_deinit(&m.tallies);
    lz_text_deinit(&text);
    return e;
}

lz_err *lz_profile_make_rows(lz_profile *p)
{
    for (int by = 0; by < LZ_PROFILE_TABLES; by++)
        LZ_TRY(make_table(p, (lz_profile_by)by));
    return NULL;
}

size_t lz_profile_rows(const lz_profile *p, lz_profile_by by, const lz_profile_row **out)
{
    bool known = (unsigned)by < LZ_PROFILE_TABLES;
    *out = known ? p->tables[by].rows : NULL;
    return known ? p->tables[by].n : 0;
}

lz_profile_summary lz_profile_summary_of(const lz_profile *p)
{
    const lz_prof_phase *launch = &p->phases[LZ_PHASE_LAUNCH];
    return (lz_profile_summary){ .wall_ns = p->wall_ns,
                                 .outside_ns = p->outside_ns,
                                 .launch_ns = launch->self_ns,
                                 .launches = launch->calls,
                                 .peak_bytes = p->peak_bytes,
                                 .lost = p->lost,
                                 .threads = (unsigned)p->threads.len };
}
