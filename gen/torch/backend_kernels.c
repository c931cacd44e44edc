/* Checks that a backend's source file defines each kernel that its YAML file names. */
#include "gen/api/dispatcher.h"
#include "gen/text/utils.h"
#include "gen/torch/gen_backend_stubs.h"

/* A kernel's name and how often it is, and should be, defined. */
typedef struct tally {
    size_t found, wanted;
    lz_text decls; /* of the functions that it should have */
} tally;

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Whether "CLASS::", blanks, a word and "(" begin at `at`; the word, and the byte after. */
static bool definition_at(lz_str s, size_t at, lz_str class_name, lz_str *word, size_t *end)
{
    lz_str rest = lz_str_sub(s, at, s.len);
    if (!lz_str_starts(rest, class_name)
        || !lz_str_starts(lz_str_sub(rest, class_name.len, rest.len), LZ_STR("::")))
        return false;
    size_t i = at + class_name.len + 2;
    while (i < s.len && is_space(s.ptr[i]))
        i++;
    size_t first = i;
    while (i < s.len && lzg_is_word(s.ptr[i]))
        i++;
    *word = lz_str_sub(s, first, i);
    *end = i + 1;
    return i < s.len && s.ptr[i] == '(';
}

/* The last definition of the line that starts at `from`, as a greedy search finds it. */
static bool last_in_line(lz_str s, size_t from, lz_str class_name, size_t *at, lz_str *word, size_t *end)
{
    size_t stop = lz_str_find_char(lz_str_sub(s, from, s.len), '\n');
    stop = stop == SIZE_MAX ? s.len : from + stop;
    for (size_t i = stop; i-- > from;)
        if (definition_at(s, i, class_name, word, end)) {
            *at = i;
            return true;
        }
    *end = stop + 1;
    return false;
}

/* A colon before the class makes it a call: ns::Class::kernel(). */
static void count_definitions(lz_str s, lz_str class_name, lz_map *tallies)
{
    for (size_t from = 0, end; from < s.len; from = end) {
        size_t at = 0;
        lz_str word;
        if (!last_in_line(s, from, class_name, &at, &word, &end) || (at > from && s.ptr[at - 1] == ':'))
            continue;
        tally *t = lz_map_get(tallies, word);
        if (t)
            t->found++;
    }
}

static const lzg_backend_metadata *kernel_of(const lzg_backend *b, lz_str name)
{
    const lzg_backend_metadata *m = lz_map_get(&b->autograd_index.index, name);
    return m ? m : lz_map_get(&b->index.index, name);
}

static bool generated_in_full(const lzg_backend *b, lz_str name)
{
    for (size_t i = 0; i < b->full_codegen.n; i++)
        if (lz_str_eq(b->full_codegen.names[i].text, name))
            return true;
    return false;
}

/* A type that C++ has no name for is said by its schema. */
static lz_err *add_decl(lz_arena *a, const lzg_function *f, lz_text *out)
{
    lzg_sig sig;
    lz_err *e = lzg_dispatcher_signature(a, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &sig);
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_text_puts(out, "\n        ");
    if (e)
        lz_text_add(out, f->func->text);
    else
        lzg_sig_decl(&sig, out);
    lz_err_free(e);
    return lz_text_check(out);
}

static lz_err *want(lz_arena *a, lz_map *tallies, const lzg_backend_metadata *m, const lzg_function *f)
{
    tally *t = lz_map_get(tallies, m->kernel);
    if (!t) {
        LZ_TRY(lz_arena_new(a, &t, 1));
        LZ_TRY(lz_map_put(tallies, m->kernel, t));
    }
    t->wanted++;
    return add_decl(a, f, &t->decls);
}

static lz_err *report(const lzg_backend *b, lz_loc at, const lz_map *tallies, lzg_diag *d)
{
    for (lz_map_entry *e = lz_map_next(tallies, NULL); e; e = lz_map_next(tallies, e)) {
        const tally *t = e->value;
        if (t->found == t->wanted)
            continue;
        lz_err *err = lz_err_at(
            LZ_ERR_MODEL, at, "%.*s::%.*s is defined %zu times; the backend file wants %zu, for%.*s",
            LZ_FMT(b->class_name), LZ_FMT(e->key), t->found, t->wanted, LZ_FMT(lz_text_view(&t->decls)));
        LZ_TRY(lzg_diag_take(d, err, at, LZ_STR("")));
    }
    return NULL;
}

static lz_err *check(const lzg_backend *b, const lzg_ops *ops, lz_loc at, lz_str text, lz_arena *a,
                     lz_map *tallies, lzg_diag *d)
{
    for (size_t i = 0; i < ops->nfunctions; i++) {
        lz_str name = ops->functions[i]->func->name.text;
        const lzg_backend_metadata *m = kernel_of(b, name);
        if (m && !generated_in_full(b, name))
            LZ_TRY(want(a, tallies, m, ops->functions[i]));
    }
    count_definitions(text, b->class_name, tallies);
    return report(b, at, tallies, d);
}

lz_err *lzg_backend_check_kernels(const lzg_backend *b, const lzg_ops *ops, const char *file, lz_str text,
                                  lzg_diag *d)
{
    lz_arena a = { 0 };
    lz_map tallies = { 0 };
    if (b->key == LZG_KEY_NONE)
        return NULL;
    lz_err *e = check(b, ops, (lz_loc){ file, 1, 1 }, text, &a, &tallies, d);
    for (lz_map_entry *t = lz_map_next(&tallies, NULL); t; t = lz_map_next(&tallies, t))
        lz_text_deinit(&((tally *)t->value)->decls);
    lz_map_deinit(&tallies);
    lz_arena_deinit(&a);
    return e;
}
