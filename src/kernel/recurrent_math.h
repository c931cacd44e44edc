/* recurrent_math.h - the steps of all cells for one type; included by recurrent_steps.h with T, NAME(x), EXP
 * and TANH. */

/* No element depends on another one. */
#if defined(__clang__)
#define EACH for (int64_t j = 0; j < n; j++)
#else
#define EACH _Pragma("GCC ivdep") for (int64_t j = 0; j < n; j++)
#endif

static inline T NAME(logistic)(T x)
{
    return 1 / (1 + EXP(-x));
}

#define SUM(g) (x[(g)*n + j] + (h[(g)*n + j] + b[(g)*n + j]))
#define OPEN                                                                                                 \
    const int64_t n = s->n;                                                                                  \
    const T *restrict x = s->x, *restrict h = s->h, *restrict b = s->bias;                                   \
    T *restrict state = s->state, *restrict out = s->saved[0], *restrict before = s->saved[1]

static void NAME(tanh_forward)(const lz_cell_step *s)
{
    OPEN;
    EACH
    {
        before[j] = state[j];
        out[j] = state[j] = TANH(SUM(0));
    }
}

static void NAME(relu_forward)(const lz_cell_step *s)
{
    OPEN;
    EACH
    {
        T v = SUM(0);
        before[j] = state[j];
        out[j] = state[j] = v < 0 ? 0 : v; /* NaN stays */
    }
}

static void NAME(lstm_forward)(const lz_cell_step *s)
{
    OPEN;
    T *restrict memory = s->memory, *restrict si = s->saved[2], *restrict sf = s->saved[3];
    T *restrict sg = s->saved[4], *restrict so = s->saved[5], *restrict old = s->saved[6],
                *restrict st = s->saved[7];
    EACH
    {
        T i = NAME(logistic)(SUM(0)), f = NAME(logistic)(SUM(1)), g = TANH(SUM(2)),
          o = NAME(logistic)(SUM(3));
        T c = f * memory[j] + i * g, t = TANH(c);
        si[j] = i;
        sf[j] = f;
        sg[j] = g;
        so[j] = o;
        old[j] = memory[j];
        st[j] = t;
        memory[j] = c;
        before[j] = state[j];
        out[j] = state[j] = o * t;
    }
}

static void NAME(gru_forward)(const lz_cell_step *s)
{
    OPEN;
    T *restrict sr = s->saved[2], *restrict sz = s->saved[3], *restrict sn = s->saved[4],
                *restrict sh = s->saved[5];
    EACH
    {
        T r = NAME(logistic)(SUM(0)), z = NAME(logistic)(SUM(1)), v = h[2 * n + j] + b[2 * n + j];
        T fresh = TANH(x[2 * n + j] + r * v);
        sr[j] = r;
        sz[j] = z;
        sn[j] = fresh;
        sh[j] = v;
        before[j] = state[j];
        out[j] = state[j] = (state[j] - fresh) * z + fresh;
    }
}

#undef SUM
#undef OPEN
#define OPEN                                                                                                 \
    const int64_t n = s->n;                                                                                  \
    const T *restrict grad = s->grad;                                                                        \
    T *restrict state = s->state, *restrict slopes = s->slopes

static void NAME(tanh_backward)(const lz_cell_step *s)
{
    OPEN;
    const T *restrict out = s->saved[0];
    EACH
    {
        slopes[j] = (grad[j] + state[j]) * (1 - out[j] * out[j]);
        state[j] = 0;
    }
}

static void NAME(relu_backward)(const lz_cell_step *s)
{
    OPEN;
    const T *restrict out = s->saved[0];
    EACH
    {
        slopes[j] = out[j] <= 0 ? 0 : grad[j] + state[j];
        state[j] = 0;
    }
}

static void NAME(lstm_backward)(const lz_cell_step *s)
{
    OPEN;
    T *restrict memory = s->memory;
    const T *restrict si = s->saved[2], *restrict sf = s->saved[3], *restrict sg = s->saved[4];
    const T *restrict so = s->saved[5], *restrict old = s->saved[6], *restrict st = s->saved[7];
    EACH
    {
        T i = si[j], f = sf[j], g = sg[j], o = so[j], t = st[j], d = grad[j] + state[j];
        T c = memory[j] + d * o * (1 - t * t);
        slopes[j] = c * g * i * (1 - i);
        slopes[n + j] = c * old[j] * f * (1 - f);
        slopes[2 * n + j] = c * i * (1 - g * g);
        slopes[3 * n + j] = d * t * o * (1 - o);
        memory[j] = c * f;
        state[j] = 0;
    }
}

static void NAME(gru_backward)(const lz_cell_step *s)
{
    OPEN;
    T *restrict extra = s->extra;
    const T *restrict before = s->saved[1], *restrict sr = s->saved[2], *restrict sz = s->saved[3];
    const T *restrict sn = s->saved[4], *restrict sh = s->saved[5];
    EACH
    {
        T r = sr[j], z = sz[j], fresh = sn[j], d = grad[j] + state[j];
        T dn = d * (1 - z) * (1 - fresh * fresh);
        slopes[j] = dn * sh[j] * r * (1 - r);
        slopes[n + j] = d * (before[j] - fresh) * z * (1 - z);
        slopes[2 * n + j] = dn * r;
        extra[j] = dn;
        state[j] = d * z;
    }
}

#undef OPEN

/* ---- linear recurrences ---- */

#define SLOPE(g) (((const T *)s->slope[g])[j])
#define OPEN                                                                                                 \
    const int64_t n = s->n;                                                                                  \
    const T *restrict keep = s->keep, *restrict gates = s->gates_in;                                         \
    T *restrict state = s->state

static void NAME(linear)(const lz_linear_step *s)
{
    OPEN;
    const T *restrict in = s->in[0];
    T *restrict out = s->out[0], *restrict before = s->out[1];
    EACH
    {
        T sum = in[j] + keep[j] * state[j];
        for (int g = 0; g < s->gates; g++)
            sum += SLOPE(g) * gates[g * n + j];
        before[j] = state[j];
        out[j] = state[j] = sum;
    }
}

static void NAME(linear_memory)(const lz_linear_step *s)
{
    OPEN;
    const T *restrict in = s->in[0], *restrict more = s->in[1], *restrict open = s->open;
    T *restrict memory = s->memory, *restrict out = s->out[0], *restrict before = s->out[1];
    T *restrict out_memory = s->out[2], *restrict before_memory = s->out[3];
    int last = s->gates - 1;
    EACH
    {
        T c = more[j] + keep[j] * memory[j];
        for (int g = 0; g < last; g++)
            c += SLOPE(g) * gates[g * n + j];
        before[j] = state[j];
        before_memory[j] = memory[j];
        out_memory[j] = memory[j] = c;
        out[j] = state[j] = in[j] + SLOPE(last) * gates[last * n + j] + open[j] * c;
    }
}

static void NAME(linear_backward)(const lz_linear_step *s)
{
    OPEN;
    const T *restrict grad = s->in[0], *restrict before = s->in[1];
    T *restrict out = s->out[0], *restrict gates_out = s->gates_out;
    EACH
    {
        T d = grad[j] + state[j];
        for (int g = 0; g < s->gates; g++)
            gates_out[g * n + j] = SLOPE(g) * d + gates[g * n + j];
        out[j] = d;
        state[j] = keep[j] * d + before[j];
    }
}

static void NAME(linear_memory_backward)(const lz_linear_step *s)
{
    OPEN;
    const T *restrict grad = s->in[0], *restrict before = s->in[1], *restrict open = s->open;
    const T *restrict grad_memory = s->in[2], *restrict before_memory = s->in[3];
    T *restrict memory = s->memory, *restrict out = s->out[0], *restrict more = s->out[1];
    T *restrict gates_out = s->gates_out;
    int last = s->gates - 1;
    EACH
    {
        T d = grad[j] + state[j], c = grad_memory[j] + memory[j] + open[j] * d;
        for (int g = 0; g < last; g++)
            gates_out[g * n + j] = SLOPE(g) * c + gates[g * n + j];
        gates_out[last * n + j] = SLOPE(last) * d + gates[last * n + j];
        out[j] = d;
        more[j] = c;
        state[j] = before[j];
        memory[j] = keep[j] * c + before_memory[j];
    }
}

#undef SLOPE
#undef OPEN
#undef EACH
