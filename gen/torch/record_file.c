#include "gen/torch/record_file.h"

enum { HEX = 16 };

static const lz_str header = { "lazuli torch record 1", 21 };

void lzg_recorded_deinit(lzg_recorded *r)
{
    lz_vec_deinit(&r->inputs);
    lz_vec_deinit(&r->outputs);
    *r = (lzg_recorded){ 0 };
}

static void put_hex(lz_text *out, uint64_t v)
{
    for (int i = HEX - 1; i >= 0; i--)
        lz_text_putc(out, "0123456789abcdef"[v >> 4 * i & 15]);
}

static void put_path(lz_text *out, const char *path)
{
    lz_text_add(out, (lz_str){ path, strlen(path) + 1 });
}

void lzg_recorded_print(const lzg_recorded *r, lz_str key, lz_text *out)
{
    lz_text_add(out, (lz_str){ header.ptr, header.len + 1 });
    lz_text_add(out, key);
    lz_text_putc(out, '\0');
    for (size_t i = 0; i < r->inputs.len; i++) {
        lz_text_putc(out, 'I');
        put_hex(out, r->inputs.data[i].hash.hi);
        put_hex(out, r->inputs.data[i].hash.lo);
        put_path(out, r->inputs.data[i].path);
    }
    for (size_t i = 0; i < r->outputs.len; i++) {
        const lzg_file_state *s = &r->outputs.data[i].state;
        lz_text_putc(out, 'O');
        put_hex(out, s->size);
        put_hex(out, s->inode);
        put_hex(out, s->modified);
        put_hex(out, s->changed);
        put_path(out, r->outputs.data[i].path);
    }
    lz_text_putc(out, 'E');
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Numbers of 16 digits at the beginning of *rest. */
static bool take_hex(lz_str *rest, uint64_t *out, size_t n)
{
    if (rest->len < n * HEX)
        return false;
    for (size_t i = 0; i < n; i++) {
        out[i] = 0;
        for (int k = 0; k < HEX; k++) {
            int d = digit(rest->ptr[i * HEX + (size_t)k]);
            if (d < 0)
                return false;
            out[i] = out[i] << 4 | (uint64_t)d;
        }
    }
    *rest = lz_str_sub(*rest, n * HEX, rest->len);
    return true;
}

/* A part that ends with a NUL. */
static bool take_part(lz_str *rest, lz_str *out)
{
    size_t end = lz_str_find_char(*rest, '\0');
    if (end == SIZE_MAX)
        return false;
    *out = lz_str_sub(*rest, 0, end);
    *rest = lz_str_sub(*rest, end + 1, rest->len);
    return true;
}

static lz_err *take_line(lz_str *rest, lzg_recorded *out, bool *good)
{
    uint64_t n[4];
    lz_str path;
    bool input = rest->ptr[0] == 'I', output = rest->ptr[0] == 'O';
    *rest = lz_str_sub(*rest, 1, rest->len);
    *good = (input || output) && take_hex(rest, n, input ? 2 : 4) && take_part(rest, &path) && path.len;
    if (!*good)
        return NULL;
    if (input)
        return lz_vec_push(&out->inputs, (lzg_input_file){ path.ptr, { .hi = n[0], .lo = n[1] } });
    return lz_vec_push(&out->outputs, (lzg_output_file){ path.ptr, { n[0], n[1], n[2], n[3] } });
}

lz_err *lzg_recorded_parse(lz_str text, lz_str key, lzg_recorded *out, bool *good)
{
    lz_str part;
    *good =
        take_part(&text, &part) && lz_str_eq(part, header) && take_part(&text, &part) && lz_str_eq(part, key);
    while (*good && text.len && text.ptr[0] != 'E')
        LZ_TRY(take_line(&text, out, good));
    *good = *good && lz_str_is(text, "E"); /* not truncated */
    return NULL;
}
