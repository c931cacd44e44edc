/* Learning rates as closed formulas of the step, so that a run can resume at any step. */
#include <lazuli/optim.h>
#include <math.h>

static double pi(void)
{
    return acos(-1.0);
}

double lz_schedule_step(double base, int64_t t, int64_t size, double gamma)
{
    if (size < 1)
        return (double)NAN;
    int64_t passed = t / size;
    return base * pow(gamma, (double)passed);
}

double lz_schedule_multistep(double base, int64_t t, lz_ints milestones, double gamma)
{
    int passed = 0;
    for (int64_t i = 0; i < milestones.n; i++)
        passed += milestones.v[i] <= t;
    return base * pow(gamma, passed);
}

double lz_schedule_exponential(double base, int64_t t, double gamma)
{
    return base * pow(gamma, (double)t);
}

static double half_wave(double from, double to, double part)
{
    return to + (from - to) / 2 * (1 + cos(pi() * part));
}

double lz_schedule_cosine(double base, int64_t t, int64_t period, double least)
{
    return half_wave(base, least, (double)t / (double)period);
}

double lz_schedule_cosine_restarts(double base, int64_t t, int64_t period, int64_t grow, double least)
{
    if (grow < 1 || period < 1)
        return (double)NAN;
    if (grow == 1)
        t %= period;
    for (; grow > 1 && t >= period; period *= grow)
        t -= period;
    return half_wave(base, least, (double)t / (double)period);
}

double lz_schedule_constant(double base, int64_t t, double factor, int64_t steps)
{
    return t < steps ? base * factor : base;
}

double lz_schedule_linear(double base, int64_t t, double from, double to, int64_t steps)
{
    double part = t < steps ? (double)t / (double)steps : 1;
    return base * (from + (to - from) * part);
}

double lz_schedule_polynomial(double base, int64_t t, int64_t steps, double power)
{
    double part = t < steps ? (double)t / (double)steps : 1;
    return base * pow(1 - part, power);
}

/* ---- one cycle ---- */

typedef struct phase {
    double end, from, to; /* the last step of the phase, maybe a fraction; rates at begin and end */
} phase;

double lz_schedule_one_cycle_of(double max_lr, int64_t t, int64_t steps, const lz_one_cycle *o)
{
    double first = max_lr / o->div_factor, least = first / o->final_div_factor, n = (double)steps;
    phase two[] = { { o->pct_start * n - 1, first, max_lr }, { n - 1, max_lr, least } };
    phase three[] = { { o->pct_start * n - 1, first, max_lr },
                      { 2 * o->pct_start * n - 2, max_lr, first },
                      { n - 1, first, least } };
    if (t > steps)
        return (double)NAN;
    const phase *p = o->three_phase ? three : two, *last = o->three_phase ? three + 2 : two + 1;
    double begin = 0, at = (double)t;
    for (; p < last && at > p->end; p++)
        begin = p->end;
    double part = (at - begin) / (p->end - begin);
    return o->linear ? p->from + (p->to - p->from) * part : half_wave(p->from, p->to, part);
}

/* ---- up and down ---- */

double lz_schedule_cyclic_of(double base, int64_t t, double max, int64_t up, const lz_cyclic *o)
{
    int64_t down = o->down ? o->down : up;
    if (up < 1 || down < 1 || (unsigned)o->mode > LZ_EXP_RANGE)
        return (double)NAN;
    int64_t cycle = t / (up + down), at = t % (up + down);
    double part = at <= up ? (double)at / (double)up : (double)(up + down - at) / (double)down;
    const double heights[] = { 1, pow(0.5, (double)cycle), pow(o->gamma, (double)t) };
    return base + (max - base) * part * heights[o->mode];
}

/* ---- plateau ---- */

static bool is_better(const lz_plateau *p, double metric)
{
    double way = p->upwards ? 1 : -1;
    double mark = p->absolute ? p->best + way * p->threshold : p->best * (1 + way * p->threshold);
    return p->upwards ? metric > mark : metric < mark;
}

double lz_schedule_plateau(lz_plateau *p, double rate, double metric)
{
    if (!(p->factor < 1))
        return (double)NAN;
    if (p->seen++ == 0)
        p->best = p->upwards ? -(double)INFINITY : (double)INFINITY;
    bool better = is_better(p, metric);
    if (better)
        p->best = metric;
    p->bad = better ? 0 : p->bad + 1;
    if (p->cooling > 0) {
        p->cooling--;
        p->bad = 0;
    }
    if (p->bad <= p->patience)
        return rate;
    p->cooling = p->cooldown;
    p->bad = 0;
    double next = fmax(rate * p->factor, p->least);
    return rate - next > p->eps ? next : rate;
}
