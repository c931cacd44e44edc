#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/profile_impl.h"
#include "base/thread.h"
#include <string.h>

enum { DEFAULT_EVENTS = 1000000, NO_THREAD = UINT32_MAX };

const char *const lz_phase_names[LZ_PHASE_COUNT] = {
#define X(id, name) [LZ_PHASE_##id] = (name),
    LZ_PHASES(X)
#undef X
};

atomic_uint lz_profile_now;

/* The profile being recorded; the lock guards it and everything in it. */
static lz_lock lock = LZ_LOCK_INIT;
static lz_profile *current;
static unsigned last_number;

/* This thread's state in the profile with that number. */
static LZ_THREAD_LOCAL struct {
    unsigned profile;
    uint32_t index;     /* among the profile's threads */
    int depth;          /* spans that are open */
    uint64_t nested_ns; /* time of spans that ended within the innermost open one */
} here;

/* ---- life ---- */

void lz_profile_free(lz_profile *p)
{
    if (!p)
        return;
    lz_map_deinit(&p->texts);
    lz_map_deinit(&p->plans);
    lz_vec_deinit(&p->events);
    lz_vec_deinit(&p->launches);
    lz_vec_deinit(&p->threads);
    lz_arena_deinit(&p->arena);
    lz_mem_free(p);
}

/* With the lock held. In a forked child the parent's profile ends. */
static lz_profile *find_current(void)
{
    if (current && current->generation != lz_fork_count()) {
        atomic_store(&lz_profile_now, 0);
        lz_profile_free(current);
        current = NULL;
    }
    return current;
}

static lz_err *install(lz_profile *p)
{
    const lz_profile *other = find_current();
    if (other)
        return lz_errf(LZ_ERR_BUSY, "lz_profile_begin: a profile is being taken already%s",
                       other->from_env ? ", because LAZULI_PROFILE is set" : "; lz_profile_end comes first");
    p->number = ++last_number ? last_number : ++last_number;
    p->begin_ns = lz_clock_ns();
    current = p;
    atomic_store(&lz_profile_now, p->number);
    return NULL;
}

static void enter_profile(unsigned number, uint32_t index)
{
    memset(&here, 0, sizeof here);
    here.profile = number;
    here.index = index;
}

/* The starting thread is added first, so that its time outside of spans is known. */
static lz_err *add_thread(lz_profile *p)
{
    lz_prof_thread t = { .busy_ns = 0 };
    if (pthread_getname_np(pthread_self(), t.name, sizeof t.name))
        t.name[0] = '\0';
    LZ_TRY(lz_vec_push(&p->threads, t));
    return NULL;
}

lz_err *lz_profile_start(const lz_profile_options *o, bool env)
{
    lz_profile *p = lz_mem_zalloc(1, sizeof *p);
    if (!p)
        return lz_err_oom();
    lz_arena_init(&p->arena);
    p->generation = lz_fork_count();
    p->from_env = env;
    p->most_events = o && o->events ? o->events : DEFAULT_EVENTS;
    lz_err *e = add_thread(p);
    unsigned number = 0;
    if (!e) {
        lz_lock_take(&lock);
        e = install(p);
        number = p->number;
        lz_lock_give(&lock);
    }
    if (e)
        lz_profile_free(p);
    else
        enter_profile(number, 0);
    return e;
}

lz_err *lz_profile_begin(const lz_profile_options *options)
{
    return lz_profile_start(options, false);
}

/* With the lock held. */
static lz_err *remove_current(bool env, lz_profile **out)
{
    lz_profile *p = find_current();
    if (!p)
        return lz_errf(LZ_ERR_ARG, "lz_profile_end: no profile is being taken; lz_profile_begin comes first");
    if (p->from_env != env)
        return lz_errf(LZ_ERR_BUSY, "lz_profile_end: the profile being taken was begun by LAZULI_PROFILE");
    atomic_store(&lz_profile_now, 0);
    current = NULL;
    *out = p;
    return NULL;
}

lz_err *lz_profile_stop(bool env, lz_profile **out)
{
    lz_profile *p = NULL;
    lz_lock_take(&lock);
    lz_err *e = remove_current(env, &p);
    lz_lock_give(&lock);
    LZ_TRY(e);
    p->wall_ns = lz_clock_ns() - p->begin_ns;
    uint64_t busy = p->threads.data[0].busy_ns;
    p->outside_ns = busy < p->wall_ns ? p->wall_ns - busy : 0;
    e = p->out_of_memory ? lz_err_oom() : lz_profile_make_rows(p);
    if (e)
        lz_profile_free(p);
    else
        *out = p;
    return e;
}

lz_err *lz_profile_end(lz_profile **out)
{
    return lz_profile_stop(false, out);
}

/* ---- texts ---- */

lz_err *lz_profile_text_of(lz_profile *p, lz_str text, const char **out)
{
    lz_str copy;
    *out = lz_map_get(&p->texts, text);
    if (*out)
        return NULL;
    LZ_TRY(lz_arena_copy(&p->arena, text, &copy));
    LZ_TRY(lz_map_put(&p->texts, copy, (void *)copy.ptr));
    *out = copy.ptr;
    return NULL;
}

static lz_err *keep_text(lz_profile *p, const char *text, const char **out)
{
    *out = NULL;
    return text ? lz_profile_text_of(p, (lz_str){ text, strlen(text) }, out) : NULL;
}

/* ---- spans ---- */

void lz_span_start(lz_span *s)
{
    s->profile = atomic_load_explicit(&lz_profile_now, memory_order_relaxed);
    if (!s->profile)
        return;
    if (here.profile != s->profile)
        enter_profile(s->profile, NO_THREAD);
    s->outer_ns = here.nested_ns;
    here.nested_ns = 0;
    here.depth++;
    s->start = lz_clock_ns();
}

/* With the lock held. */
static lz_err *find_thread(lz_profile *p)
{
    if (here.index != NO_THREAD)
        return NULL;
    LZ_TRY(add_thread(p));
    here.index = (uint32_t)p->threads.len - 1;
    return NULL;
}

static lz_err *add_event(lz_profile *p, const lz_prof_event *e)
{
    if (p->events.len < p->most_events)
        return lz_vec_push(&p->events, *e);
    p->lost++;
    return NULL;
}

static void count_phase(lz_profile *p, lz_phase phase, uint64_t total, uint64_t self, uint64_t bytes)
{
    lz_prof_phase *c = &p->phases[phase];
    c->calls++;
    c->total_ns += total;
    c->self_ns += self;
    c->bytes += bytes;
}

/* The times of a span that has ended. */
typedef struct ended {
    uint64_t start, ns, self_ns;
} ended;

/* False: the span began in another profile. */
static bool end_here(const lz_span *s, ended *out)
{
    if (here.profile != s->profile)
        return false;
    out->start = s->start;
    out->ns = lz_clock_ns() - s->start;
    out->self_ns = out->ns - here.nested_ns;
    here.nested_ns = s->outer_ns + out->ns;
    here.depth--;
    return true;
}

/* With the lock held; NULL: the span's profile has ended. */
static lz_profile *profile_of(const lz_span *s)
{
    lz_profile *p = find_current();
    return p && p->number == s->profile ? p : NULL;
}

static lz_err *count_span(lz_profile *p, const ended *x)
{
    LZ_TRY(find_thread(p));
    if (here.depth == 0)
        p->threads.data[here.index].busy_ns += x->ns;
    return NULL;
}

static lz_err *add_span(lz_profile *p, const ended *x, const lz_span_note *n)
{
    lz_prof_event e = { .start = x->start - p->begin_ns,
                        .ns = x->ns,
                        .bytes = n->bytes,
                        .line = n->at.line,
                        .launch = LZ_NO_LAUNCH,
                        .phase = (uint8_t)n->phase };
    LZ_TRY(count_span(p, x));
    LZ_TRY(keep_text(p, n->name, &e.name));
    LZ_TRY(keep_text(p, n->at.file, &e.file));
    e.thread = (uint16_t)here.index;
    count_phase(p, n->phase, x->ns, x->self_ns, n->bytes);
    if (n->phase == LZ_PHASE_PLAN && n->bytes > p->peak_bytes)
        p->peak_bytes = n->bytes;
    return add_event(p, &e);
}

/* With the lock held. Takes the error. */
static void note_failure(lz_profile *p, lz_err *e)
{
    p->out_of_memory = p->out_of_memory || e;
    lz_err_free(e);
}

void lz_span_stop(const lz_span *s, const lz_span_note *note)
{
    ended x;
    if (!end_here(s, &x))
        return;
    lz_lock_take(&lock);
    lz_profile *p = profile_of(s);
    if (p)
        note_failure(p, add_span(p, &x, note));
    lz_lock_give(&lock);
}

void lz_profile_recorded(uint64_t calls, uint64_t ns)
{
    lz_lock_take(&lock);
    lz_profile *p = find_current();
    if (p) {
        p->phases[LZ_PHASE_RECORD].calls += calls;
        p->phases[LZ_PHASE_RECORD].self_ns += ns;
        p->phases[LZ_PHASE_RECORD].total_ns += ns;
    }
    lz_lock_give(&lock);
}

/* ---- launches ---- */

static lz_err *keep_source(lz_profile *p, const lz_launch_source *from, lz_launch_source *to)
{
    *to = *from;
    LZ_TRY(lz_profile_text_of(p, from->op, &to->op.ptr));
    return keep_text(p, from->at.file, &to->at.file);
}

static lz_err *keep_launch(lz_profile *p, const lz_launch_facts *f, lz_prof_plan *plan)
{
    lz_launch_source *sources;
    lz_prof_launch l = { .facts = *f };
    LZ_TRY(lz_profile_text_of(p, f->name, &l.facts.name.ptr));
    LZ_TRY(lz_arena_new(&p->arena, &sources, f->n + 1));
    for (size_t i = 0; i < f->n; i++) {
        LZ_TRY(keep_source(p, &f->sources[i], &sources[i]));
        plan->origins = f->sources[i].origin >= plan->origins ? f->sources[i].origin + 1 : plan->origins;
    }
    l.facts.sources = sources;
    return lz_vec_push(&p->launches, l);
}

static lz_err *keep_plan(lz_profile *p, lz_plan_key key, const lz_launch_facts *facts, size_t n,
                         uint32_t *first)
{
    lz_prof_plan *plan;
    lz_str bytes;
    LZ_TRY(lz_arena_new(&p->arena, &plan, 1));
    LZ_TRY(lz_arena_copy(&p->arena, (lz_str){ (const char *)&key, sizeof key }, &bytes));
    plan->first = (uint32_t)p->launches.len;
    for (size_t i = 0; i < n; i++)
        LZ_TRY(keep_launch(p, &facts[i], plan));
    plan->n = (uint32_t)n;
    LZ_TRY(lz_map_put(&p->plans, bytes, plan));
    *first = plan->first;
    return NULL;
}

/* With the lock held. */
static lz_launch_numbers find_plan(lz_plan_key key)
{
    const lz_profile *p = find_current();
    const lz_prof_plan *plan = p ? lz_map_get(&p->plans, (lz_str){ (const char *)&key, sizeof key }) : NULL;
    return (lz_launch_numbers){ p ? p->number : 0, plan ? plan->first : LZ_NO_LAUNCH };
}

lz_launch_numbers lz_profile_find(lz_plan_key key)
{
    lz_lock_take(&lock);
    lz_launch_numbers found = find_plan(key);
    lz_lock_give(&lock);
    return found;
}

/* Another thread may have described the plan first. */
lz_launch_numbers lz_profile_describe(lz_plan_key key, const lz_launch_facts *facts, size_t n)
{
    lz_lock_take(&lock);
    lz_launch_numbers found = find_plan(key);
    if (found.profile && found.first == LZ_NO_LAUNCH)
        note_failure(current, keep_plan(current, key, facts, n, &found.first));
    lz_lock_give(&lock);
    return found;
}

void lz_profile_lose(void)
{
    lz_lock_take(&lock);
    lz_profile *p = find_current();
    if (p)
        p->out_of_memory = true;
    lz_lock_give(&lock);
}

static lz_err *add_launch(lz_profile *p, const lz_launched *l, uint64_t start, uint64_t ns, uint64_t self)
{
    if (l->profile != p->number || l->number >= p->launches.len)
        return NULL;
    lz_prof_launch *x = &p->launches.data[l->number];
    lz_prof_event e = { .start = start - p->begin_ns,
                        .ns = ns,
                        .bytes = x->facts.read + x->facts.written,
                        .launch = l->number,
                        .thread = (uint16_t)here.index,
                        .phase = LZ_PHASE_LAUNCH,
                        .compiled = l->compiled };
    x->calls++;
    x->ns += self;
    x->compiled += l->compiled;
    x->by = l->by ? l->by : x->by;
    count_phase(p, LZ_PHASE_LAUNCH, ns, self, e.bytes);
    return add_event(p, &e);
}

static lz_err *add_launches(lz_profile *p, const ended *x, const lz_launched *l, const lz_launched *within)
{
    uint64_t other = within ? within->ns : 0;
    other = other < x->self_ns ? other : x->self_ns;
    LZ_TRY(count_span(p, x));
    LZ_TRY(add_launch(p, l, x->start, x->ns - other, x->self_ns - other));
    return within ? add_launch(p, within, x->start + x->ns - other, other, other) : NULL;
}

static void end_launch(const lz_span *s, const ended *x, const lz_launched *l, const lz_launched *within)
{
    lz_lock_take(&lock);
    lz_profile *p = profile_of(s);
    if (p)
        note_failure(p, add_launches(p, x, l, within));
    lz_lock_give(&lock);
}

/* The time counts for the span around it. */
static void cancel_here(const lz_span *s)
{
    if (here.profile != s->profile)
        return;
    here.nested_ns += s->outer_ns;
    here.depth--;
}

void lz_span_end_launch(const lz_span *s, const lz_launched *l, const lz_launched *within)
{
    ended x;
    if (s->profile && l->number == LZ_NO_LAUNCH)
        cancel_here(s);
    else if (s->profile && end_here(s, &x))
        end_launch(s, &x, l, within);
}

/* ---- lines ---- */

static LZ_THREAD_LOCAL const lz_run_lines *run_lines;

const lz_run_lines *lz_run_lines_set(const lz_run_lines *lines)
{
    const lz_run_lines *former = run_lines;
    run_lines = lines;
    return former;
}

bool lz_run_line(size_t node, lz_loc *out)
{
    if (!run_lines || node >= run_lines->n)
        return false;
    *out = run_lines->locs[run_lines->places[node]];
    return true;
}

uint64_t lz_run_lines_hash(void)
{
    uint64_t h = 0;
    for (size_t i = 0; run_lines && i < run_lines->n; i++) {
        const lz_loc *at = &run_lines->locs[run_lines->places[i]];
        const uint64_t words[] = { h, (uint64_t)(uintptr_t)at->file,
                                   (uint64_t)at->line << 32 | (uint32_t)at->col };
        h = lz_hash64(words, sizeof words);
    }
    return h;
}
