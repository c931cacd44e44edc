/* suppress_boxes.h - non-maximum suppression of boxes of one dtype T; included once for each. */

/* The sides and areas of boxes, each in an array of its own. */
typedef struct NAME(sides) {
    T *x1, *y1, *x2, *y2, *area;
} NAME(sides);

/* NOLINTNEXTLINE(readability-non-const-parameter): the arrays lie in it */
static NAME(sides) NAME(read_boxes)(const lz_strided *boxes, T *room)
{
    int64_t n = boxes->sizes[0], row = boxes->strides[0], col = boxes->strides[1];
    const T *v = boxes->data;
    NAME(sides) s = { room, room + n, room + 2 * n, room + 3 * n, room + 4 * n };
    for (int64_t i = 0; i < n; i++) {
        s.x1[i] = v[i * row];
        s.y1[i] = v[i * row + col];
        s.x2[i] = v[i * row + 2 * col];
        s.y2[i] = v[i * row + 3 * col];
        s.area[i] = (s.x2[i] - s.x1[i]) * (s.y2[i] - s.y1[i]);
    }
    return s;
}

static void NAME(suppress)(const lz_strided *boxes, double most, T *room, bool *keep)
{
    NAME(sides) s = NAME(read_boxes)(boxes, room);
    for (int64_t i = 0; i < boxes->sizes[0]; i++) {
        if (!keep[i])
            continue;
        T x1 = s.x1[i], y1 = s.y1[i], x2 = s.x2[i], y2 = s.y2[i], area = s.area[i];
        for (int64_t j = i + 1; j < boxes->sizes[0]; j++) {
            T left = x1 > s.x1[j] ? x1 : s.x1[j], right = x2 < s.x2[j] ? x2 : s.x2[j];
            T top = y1 > s.y1[j] ? y1 : s.y1[j], bottom = y2 < s.y2[j] ? y2 : s.y2[j];
            T w = right - left > 0 ? right - left : 0, h = bottom - top > 0 ? bottom - top : 0,
              inside = w * h;
            keep[j] &= !((double)(inside / (area + s.area[j] - inside)) > most);
        }
    }
}
