#include "io/save_archive.h"
#include "base/file.h"
#include "base/map.h"
#include "io/names.h"
#include <sys/stat.h>

static lz_err *refuse(const char *path, const char *what, const char *name, const char *why)
{
    char shown[LZ_NAME_CHARS];
    return lz_errf(LZ_ERR_ARG, "%s: %s '%s': %s", path, what, lz_name_print(lz_str_of(name), shown), why);
}

/* Checks a name and adds it to `seen`. */
static lz_err *check_name(const char *path, const char *what, const char *name, lz_map *seen)
{
    const char *wrong = name ? lz_name_wrong(lz_str_of(name)) : "the name is NULL";
    if (!wrong && !*name)
        wrong = "the name is empty";
    if (!wrong && lz_map_find(seen, lz_str_of(name)))
        wrong = "the name is given twice";
    return wrong ? refuse(path, what, name, wrong) : lz_map_put(seen, lz_str_of(name), NULL);
}

static lz_err *check_metadata(const char *path, const lz_save_list *list, lz_map *seen)
{
    for (size_t i = 0; i < list->metadata_count; i++) {
        const lz_metadata *m = &list->metadata[i];
        LZ_TRY(check_name(path, "metadata", m->key, seen));
        if (!m->value || lz_name_wrong(lz_str_of(m->value)))
            return refuse(path, "metadata", m->key, "the text is not UTF-8");
    }
    return NULL;
}

lz_err *lz_save_check(const char *path, const lz_save_list *list)
{
    lz_map names = { 0 }, keys = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < list->n; i++)
        e = check_name(path, "tensor", list->items[i].name, &names);
    if (!e)
        e = check_metadata(path, list, &keys);
    lz_map_deinit(&names);
    lz_map_deinit(&keys);
    return e;
}

/* Errors of stat other than memory are ignored: opening the file will report a better one. */
lz_err *lz_save_mode(const char *path, mode_t *out)
{
    enum { USUAL = 0666, RIGHTS = 0777 };
    lz_file_info info;
    *out = USUAL;
    lz_err *e = lz_file_stat(path, &info);
    if (lz_err_must_surface(e))
        return e;
    *out = e ? USUAL : info.mode & RIGHTS;
    lz_err_free(e);
    return NULL;
}

static lz_err *use_array(const lz_array *a, const lz_save_item *item, lz_save_use *use, void *user)
{
    size_t size = lz_dtype_size(a->dtype);
    if (a->dtype != item->dtype || !lz_shape_eq(lz_array_sizes(a), item->sizes) || !lz_array_is_contiguous(a))
        return lz_errf(LZ_ERR_INTERNAL, "the array's dtype, sizes or strides differ from those of the list");
    const char *first = (const char *)a->buffer->data + (size_t)a->offset * size;
    return use(user, (lz_str){ first, (size_t)a->numel * size });
}

lz_err *lz_save_bytes(const lz_save_list *list, size_t i, lz_save_use *use, void *user)
{
    lz_array a;
    LZ_TRY(list->fetch(list->user, i, &a));
    lz_err *e = use_array(&a, &list->items[i], use, user);
    lz_array_deinit(&a);
    return e;
}
