/* Writes safetensors files. */
#include "base/file.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "io/little.h"
#include "io/names.h"
#include "io/safetensors.h"
#include "io/save_archive.h"
#include <stdlib.h>

enum { ALIGN = 64 }; /* of the first element's place in the file */

typedef struct place {
    size_t item, element, from, to;
} place;

/* Tensors with larger elements come first, so that all are aligned without padding; equal ones keep the
 * caller's order. */
static int by_element(const void *x, const void *y)
{
    const place *a = x, *b = y;
    return a->element != b->element ? (a->element < b->element) - (a->element > b->element)
                                    : (a->item > b->item) - (a->item < b->item);
}

static lz_err *check(const char *path, const lz_save_list *list)
{
    LZ_TRY(lz_save_check(path, list));
    for (size_t i = 0; i < list->n; i++) {
        const lz_save_item *t = &list->items[i];
        char name[LZ_NAME_CHARS];
        if (strcmp(t->name, LZ_SAFETENSORS_METADATA) == 0)
            return lz_errf(LZ_ERR_ARG, "%s: the name '%s' is reserved in safetensors files", path, t->name);
        if (!lz_safetensors_dtype(t->dtype))
            return lz_errf(LZ_ERR_UNSUPPORTED, "%s: tensor '%s': %s has no name in safetensors files", path,
                           lz_name_print(lz_str_of(t->name), name), lz_dtype_get(t->dtype)->name);
    }
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? lz_errf(
               LZ_ERR_UNSUPPORTED, "%s: safetensors files are not written on big-endian machines", path)
                                                  : NULL;
}

static lz_err *arrange(const lz_save_list *list, place *places)
{
    for (size_t i = 0; i < list->n; i++)
        places[i] = (place){ .item = i, .element = lz_dtype_size(list->items[i].dtype) };
    qsort(places, list->n, sizeof *places, by_element);
    size_t at = 0, bytes;
    for (size_t i = 0; i < list->n; i++) {
        LZ_TRY(lz_shape_bytes(list->items[places[i].item].sizes, places[i].element, &bytes));
        places[i].from = at;
        if (!lz_size_add(at, bytes, &at))
            return lz_errf(LZ_ERR_LIMIT, "the tensors take more bytes than a file can have");
        places[i].to = at;
    }
    return NULL;
}

static void put_tensor(lz_json_writer *w, const lz_save_item *t, const place *p)
{
    lz_json_put_key(w, t->name);
    lz_json_begin_object(w);
    lz_json_member_cstr(w, "dtype", lz_safetensors_dtype(t->dtype));
    lz_json_put_key(w, "shape");
    lz_json_begin_array(w);
    for (int64_t i = 0; i < t->sizes.n; i++)
        lz_json_put_int(w, t->sizes.v[i]);
    lz_json_end_array(w);
    lz_json_put_key(w, "data_offsets");
    lz_json_begin_array(w);
    lz_json_put_uint(w, p->from);
    lz_json_put_uint(w, p->to);
    lz_json_end_array(w);
    lz_json_end_object(w);
}

static void put_metadata(lz_json_writer *w, const lz_save_list *list)
{
    lz_json_put_key(w, LZ_SAFETENSORS_METADATA);
    lz_json_begin_object(w);
    for (size_t i = 0; i < list->metadata_count; i++) {
        lz_json_put_key(w, list->metadata[i].key);
        lz_json_put_cstr(w, list->metadata[i].value);
    }
    lz_json_end_object(w);
}

/* Prints the header: its length, the JSON text, and spaces that align the elements. */
static lz_err *print_header(const lz_save_list *list, const place *places, lz_text *out)
{
    lz_text json = { 0 };
    lz_json_writer w;
    lz_json_writer_init(&w, &json, LZ_JSON_COMPACT);
    lz_json_begin_object(&w);
    if (list->metadata_count)
        put_metadata(&w, list);
    for (size_t i = 0; i < list->n; i++)
        put_tensor(&w, &list->items[places[i].item], &places[i]);
    lz_json_end_object(&w);
    lz_err *e = lz_json_finish(&w);
    size_t padding = (size_t) - (LZ_SAFETENSORS_PREFIX + (int64_t)json.len) % ALIGN;
    if (!e && json.len + padding > LZ_SAFETENSORS_HEADER_MOST)
        e = lz_errf(LZ_ERR_LIMIT, "the header has %zu bytes; the limit is %d", json.len,
                    LZ_SAFETENSORS_HEADER_MOST);
    lz_put_little(out, json.len + padding, LZ_SAFETENSORS_PREFIX);
    lz_text_add(out, lz_text_view(&json));
    lz_text_fill(out, ' ', padding);
    lz_text_deinit(&json);
    return e ? e : lz_text_check(out);
}

static lz_err *put(void *user, lz_str bytes)
{
    return lz_file_writer_put(user, bytes);
}

static lz_err *write_file(const char *path, const lz_save_list *list, const place *places, lz_str header)
{
    lz_file_writer w;
    mode_t mode;
    LZ_TRY(lz_save_mode(path, &mode));
    LZ_TRY(lz_file_writer_open(&w, path, mode));
    lz_err *e = lz_file_writer_put(&w, header);
    for (size_t i = 0; !e && i < list->n; i++)
        e = lz_save_bytes(list, places[i].item, put, &w);
    return lz_file_writer_close(&w, e, LZ_FILE_SYNC_FOLDER);
}

lz_err *lz_safetensors_write(const char *path, const lz_save_list *list)
{
    lz_text header = { 0 };
    LZ_TRY(check(path, list));
    place *places = lz_mem_zalloc(list->n, sizeof *places);
    if (!places)
        return lz_err_oom();
    lz_err *e = arrange(list, places);
    if (!e)
        e = print_header(list, places, &header);
    e = e && lz_err_code(e) != LZ_ERR_MEMORY ? lz_err_wrap(e, "%s", path) : e;
    if (!e)
        e = write_file(path, list, places, lz_text_view(&header));
    lz_text_deinit(&header);
    lz_mem_free(places);
    return e;
}
