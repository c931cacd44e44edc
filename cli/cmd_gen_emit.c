/* lazuli gen emit */
#include "base/file.h"
#include "cli/cmd_gen.h"
#include "gen/emit/emit.h"
#include <stdio.h>

static lz_err *add_all(gen_paths *out, const gen_paths *from)
{
    for (size_t i = 0; i < from->len; i++)
        LZ_TRY(lz_vec_push(out, from->data[i]));
    return NULL;
}

static lz_err *collect_inputs(const gen_args *a, gen_paths *out)
{
    LZ_TRY(add_all(out, &a->native));
    LZ_TRY(add_all(out, &a->headers));
    LZ_TRY(add_all(out, &a->select));
    LZ_TRY(add_all(out, &a->uses));
    if (a->tags)
        LZ_TRY(lz_vec_push(out, a->tags));
    if (a->backend)
        LZ_TRY(lz_vec_push(out, a->backend));
    if (a->derivatives)
        LZ_TRY(lz_vec_push(out, a->derivatives));
    if (a->left_out)
        LZ_TRY(lz_vec_push(out, a->left_out));
    return a->lists ? lz_vec_push(out, a->lists) : NULL;
}

static lz_err *write_depfile(const gen_args *a, const lzg_files *files)
{
    lz_text t = { 0 };
    gen_paths inputs = { 0 };
    bool written;
    lz_err *e = collect_inputs(a, &inputs);
    if (!e)
        e = lzg_files_list_make(files, inputs.data, inputs.len, &t);
    if (!e)
        e = lz_file_update(a->depfile, lz_text_view(&t), 0666, 0, &written);
    lz_vec_deinit(&inputs);
    lz_text_deinit(&t);
    return e;
}

static void name_files(const lzg_files *files)
{
    for (lz_map_entry *e = lz_map_next(&files->by_name, NULL); e; e = lz_map_next(&files->by_name, e))
        printf("%.*s/%.*s\n", LZ_FMT(files->folder), LZ_FMT(e->key));
}

static lz_err *finish(const gen_args *a, const lzg_emit *e)
{
    size_t written;
    if (a->dry_run) {
        name_files(&e->all);
        return NULL;
    }
    LZ_TRY(lzg_files_write(&e->fresh, &written));
    if (a->depfile)
        LZ_TRY(write_depfile(a, &e->all));
    if (e->c->nleft)
        printf("%zu of %zu operators; ", e->c->n, e->c->n + e->c->nleft);
    printf("%zu written, %zu unchanged\n", written, lz_map_count(&e->all.by_name) - written);
    return NULL;
}

static lz_err *emit_all(const gen_args *a, gen_input *in, lzg_emit *all)
{
    (void)in;
    LZ_TRY(lzg_emit_targets(all, lz_str_of(a->target)));
    return finish(a, all);
}

static lz_err *emit(const gen_args *a, gen_input *in)
{
    return gen_with_emit(a, in, a->out, emit_all);
}

static int run_emit(const gen_args *a)
{
    if (!a->out)
        return cli_misuse("emit needs a folder: --out DIR");
    if (!a->target)
        return cli_misuse("emit needs a target: --target T[,T...], or all");
    lz_err *e = lzg_targets_check(lz_str_of(a->target), a->backend != NULL);
    return e ? gen_report(e) : gen_with_input(a, &a->native, emit);
}

int gen_emit(int argc, char **argv)
{
    return gen_main(argc, argv, 0, 0, run_emit);
}
