/* roi_samples.h - bilinear samples of regions for one dtype T; included once for each. */

/* Four neighbours of a point in a plane, and their weights. */
typedef struct NAME(sample) {
    int64_t at[4];
    T weight[4];
} NAME(sample);

/* A region in the plane of its image. */
typedef struct NAME(region) {
    int64_t image, grid_h, grid_w;
    T left, top, bin_h, bin_w, count;
} NAME(region);

static lz_err *NAME(read_region)(const pooling *p, int64_t k, NAME(region) * r)
{
    const lz_strided *x = &p->c->in[REGIONS];
    const T *v = (const T *)x->data + k * x->strides[0];
    int64_t step = x->strides[1];
    T scale = (T) * (const double *)p->c->in[SCALE].data, off = p->aligned ? (T)0.5 : 0;
    if (!(v[0] >= 0 && v[0] < (T)p->images))
        return image_error((double)v[0], p);
    r->image = (int64_t)v[0];
    r->left = v[step] * scale - off;
    r->top = v[2 * step] * scale - off;
    T wide = v[3 * step] * scale - off - r->left, high = v[4 * step] * scale - off - r->top;
    if (!p->aligned) {
        wide = wide > 1 ? wide : 1;
        high = high > 1 ? high : 1;
    }
    r->bin_h = high / (T)p->rows;
    r->bin_w = wide / (T)p->cols;
    T h = CEIL(r->bin_h), w = CEIL(r->bin_w), most = (T)(1 << 20);
    r->grid_h = p->sampling > 0 ? p->sampling : !(h > 0) ? 0 : (int64_t)(h < most ? h : most);
    r->grid_w = p->sampling > 0 ? p->sampling : !(w > 0) ? 0 : (int64_t)(w < most ? w : most);
    r->count = (T)(r->grid_h * r->grid_w > 1 ? r->grid_h * r->grid_w : 1);
    return NULL;
}

/* A coordinate's two neighbours and the weight of the second; false: the point is outside. */
static bool NAME(neighbours)(T at, int64_t size, int64_t *low, int64_t *high, T *weight)
{
    if (!(at >= -1 && at <= (T)size))
        return false;
    at = at > 0 ? at : 0;
    *low = (int64_t)at;
    *high = *low + 1;
    if (*low >= size - 1) {
        *low = *high = size - 1;
        at = (T)*low;
    }
    *weight = at - (T)*low;
    return true;
}

static bool NAME(sample_at)(const pooling *p, T y, T x, NAME(sample) * s)
{
    int64_t top = 0, bottom = 0, left = 0, right = 0;
    T ly = 0, lx = 0;
    if (!NAME(neighbours)(y, p->height, &top, &bottom, &ly)
        || !NAME(neighbours)(x, p->width, &left, &right, &lx))
        return false;
    T hy = 1 - ly, hx = 1 - lx;
    *s = (NAME(sample)){ { top * p->width + left, top * p->width + right, bottom * p->width + left,
                           bottom * p->width + right },
                         { hy * hx, hy * lx, ly * hx, ly * lx } };
    return true;
}

static T NAME(gather)(const T *plane, const NAME(sample) * s)
{
    return s->weight[0] * plane[s->at[0]] + s->weight[1] * plane[s->at[1]] + s->weight[2] * plane[s->at[2]]
           + s->weight[3] * plane[s->at[3]];
}

/* One bin in the planes of channels [begin, end): `bin` is its element of the first channel's result. */
static void NAME(bin)(const pooling *p, const NAME(region) * r, int64_t row, int64_t col, T *plane, T *bin,
                      int64_t begin, int64_t end)
{
    int64_t size = p->height * p->width, step = p->rows * p->cols;
    for (int64_t i = 0; i < r->grid_h * r->grid_w; i++) {
        NAME(sample) s;
        int64_t down = i / r->grid_w, along = i % r->grid_w;
        T y = r->top + (T)row * r->bin_h + ((T)down + (T)0.5) * r->bin_h / (T)r->grid_h;
        T x = r->left + (T)col * r->bin_w + ((T)along + (T)0.5) * r->bin_w / (T)r->grid_w;
        if (!NAME(sample_at)(p, y, x, &s))
            continue;
        for (int64_t c = begin; c < end; c++) {
            if (!p->backward)
                bin[c * step] += NAME(gather)(plane + c * size, &s);
            for (int k = 0; p->backward && k < 4; k++)
                plane[c * size + s.at[k]] += bin[c * step] * s.weight[k] / r->count;
        }
    }
    for (int64_t c = begin; !p->backward && c < end; c++)
        bin[c * step] /= r->count;
}

static void NAME(pool)(const pooling *p, const NAME(region) * r, T *images, T *bins, int64_t begin,
                       int64_t end)
{
    T *plane = images + r->image * p->channels * p->height * p->width;
    for (int64_t i = 0; i < p->rows * p->cols; i++)
        NAME(bin)(p, r, i / p->cols, i % p->cols, plane, bins + i, begin, end);
}

/* Regions [begin, end), or all regions and channels [begin, end). Operands are row-major. */
static lz_err *NAME(regions)(void *user, int64_t begin, int64_t end, int worker)
{
    const pooling *p = user;
    int64_t first = p->backward ? 0 : begin, last = p->backward ? p->regions : end;
    int64_t each = p->channels * p->rows * p->cols;
    (void)worker;
    for (int64_t k = first; k < last; k++) {
        NAME(region) r;
        LZ_TRY(NAME(read_region)(p, k, &r));
        T *data = p->c->in[DATA].data, *out = p->c->out.data;
        if (p->backward) {
            NAME(pool)(p, &r, out, data + k * each, begin, end);
            continue;
        }
        memset(out + k * each, 0, (size_t)each * sizeof *out);
        NAME(pool)(p, &r, data, out + k * each, 0, p->channels);
    }
    return NULL;
}
