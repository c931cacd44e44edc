/* lazuli gen - the operator language: checks operator files, prints their contents, and writes code from
 * them. */
#include "cli/cmd_gen.h"
#include "base/mem.h"
#include "base/number.h"
#include "gen/emit/emit.h"
#include "gen/emit/selection.h"
#include "gen/formula/formula_diff.h"
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const cli_command gen_commands[] = {
    { "check", "FILE...", "checks operator files", gen_check },
    { "dump", "--what WHAT --native FILE", "prints their contents as JSON lines", gen_dump },
    { "why", "OPERATOR --native FILE", "prints every output that an operator leads to", gen_why },
    { "emit", "--target T --out DIR", "writes code", gen_emit },
    { "reference", "--own --native FILE", "prints a page of all operators in Markdown", gen_reference },
    { "diff", "OLD NEW", "prints operators that were added, removed and changed", gen_diff },
    { "torch", "--source-path DIR --install-dir DIR", "writes torchgen's files for ATen", gen_torch },
    { "torch-autograd", "--native FILE --install-dir DIR ...", "writes torchgen's files for autograd",
      gen_torch },
    { "torch-lazy", "--source-yaml FILE --output-dir DIR ...", "writes the files of a lazy backend",
      gen_torch },
    { "torch-view-meta", "--native FILE --install-dir DIR", "writes Python bindings of view classes",
      gen_torch },
    { "torch-unboxing", "--source-path DIR --install-dir DIR", "writes functions that unbox calls",
      gen_torch },
    { "torch-backend-stubs", "-s FILE -o DIR", "writes registrations of a backend's kernels", gen_torch },
    { "torch-static-runtime", "-s DIR -p FILE -t FILE", "writes functors of the static runtime", gen_torch },
    { "torch-upgraders", "--bytecode FILE --install-dir DIR", "writes upgraders of old programs", gen_torch },
    { "torch-schema", "--name NAME --inputs ...", "prints a schema for the values of one call",
      gen_torch_schema },
    { 0 },
};

int cli_gen(int argc, char **argv)
{
    return cli_main("lazuli gen", gen_commands, argc, argv);
}

/* ---- options ---- */

enum { CHECK = 1, DUMP = 2, WHY = 4, EMIT = 8, REFERENCE = 16, DIFF = 32, ALL = 63 };

typedef lz_err *set_fn(void *member, const char *value);

typedef struct option {
    const char *name, *value, *help;
    unsigned commands;
    size_t member;
    set_fn *set;
} option;

static lz_err *set_text(void *member, const char *value)
{
    *(const char **)member = value;
    return NULL;
}

static lz_err *set_flag(void *member, const char *value)
{
    (void)value;
    *(bool *)member = true;
    return NULL;
}

/* A NULL follows the last path after each addition. */
static lz_err *add_path(void *member, const char *value)
{
    gen_paths *paths = member;
    LZ_TRY(lz_vec_push(paths, value));
    LZ_TRY(lz_vec_push(paths, NULL));
    paths->len--;
    return NULL;
}

static lz_err *set_shards(void *member, const char *value)
{
    uint64_t n;
    if (!lz_uint64_parse(lz_str_of(value), &n) || n < 1 || n > LZG_SHARDS_MAX)
        return lz_errf(LZ_ERR_ARG, "--shards takes a number from 1 to %d, not '%s'", LZG_SHARDS_MAX, value);
    *(uint32_t *)member = (uint32_t)n;
    return NULL;
}

#define AT(name) offsetof(gen_args, name)
static const option options[] = {
    { "--native", "FILE", "an operator file; may be given again", DUMP | WHY | EMIT | REFERENCE, AT(native),
      add_path },
    { "--tags", "FILE", "the tags that operators may have", ALL, AT(tags), set_text },
    { "--own", NULL, "files of our own: operators may have fields such as formula", ALL, AT(own), set_flag },
    { "--lists", "FILE", "name lists that rules refer to, instead of the built-in ones", ALL, AT(lists),
      set_text },
    { "--autograd", "DIR", "the folder of derivatives.yaml and deprecated.yaml", CHECK | DUMP | WHY,
      AT(autograd), set_text },
    { "--derivatives", "FILE", "the operators' own derivatives, with --own", CHECK | WHY | EMIT | REFERENCE,
      AT(derivatives), set_text },
    { "--left-out", "FILE", "operators that are not planned, by family", CHECK | EMIT | REFERENCE,
      AT(left_out), set_text },
    { "--what", "WHAT", "model, groups, derivatives, python or stats", DUMP, AT(what), set_text },
    { "--consumers", NULL, "also whether every consumer would take them", CHECK, AT(consumers), set_flag },
    { "--target", "T[,T...]", "what to write; 'all' for everything (see below)", EMIT, AT(target), set_text },
    { "--out", "DIR", "the folder to write to", EMIT, AT(out), set_text },
    { "--backend", "FILE", "a backend's file: what it records, supports and falls back for", EMIT | WHY,
      AT(backend), set_text },
    { "--headers", "FILE", "a header whose names operators may not have; may be given again", EMIT | WHY,
      AT(headers), add_path },
    { "--select", "FILE",
      "write only the operators of this selection, and those that they need; may be given again", EMIT,
      AT(select), add_path },
    { "--uses", "FILE", "a C file whose operators are written too; may be given again", EMIT, AT(uses),
      add_path },
    { "--shards", "N", "spread functions over N files", EMIT | WHY, AT(shards), set_shards },
    { "--depfile", "FILE", "for Ninja: outputs and what they depend on", EMIT, AT(depfile), set_text },
    { "--dry-run", NULL, "name the files, write nothing", EMIT, AT(dry_run), set_flag },
};
enum { OPTIONS = sizeof options / sizeof *options };

static unsigned bit_of(const char *command)
{
    unsigned i = 0;
    while (gen_commands[i].name && strcmp(gen_commands[i].name, command) != 0)
        i++;
    return 1U << i;
}

static const option *option_find(const char *name, unsigned command)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if ((options[i].commands & command) && !strcmp(options[i].name, name))
            return &options[i];
    return NULL;
}

static int help(const char *command)
{
    unsigned bit = bit_of(command);
    for (const cli_command *c = gen_commands; c->name; c++)
        if (!strcmp(c->name, command))
            printf("usage: %s %s %s [OPTIONS]    %s\n", cli_program(), c->name, c->synopsis, c->help);
    for (size_t i = 0; i < OPTIONS; i++)
        if (options[i].commands & bit)
            printf("  %-13s %-9s %s\n", options[i].name, options[i].value ? options[i].value : "",
                   options[i].help);
    for (const lzg_target *t = lzg_targets; (bit & EMIT) && t->name; t++)
        printf("%s  %-17s %s\n", t == lzg_targets ? "targets\n" : "", t->name, t->help);
    return CLI_OK;
}

/* Reads one argument and its value. *i: the last word used. Wrong use is LZ_ERR_ARG. */
static lz_err *take(gen_args *a, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    if (word[0] != '-' || !word[1])
        return add_path(&a->names, word);
    const option *o = option_find(word, bit_of(argv[0]));
    if (!o)
        return lz_errf(LZ_ERR_ARG, "%s has no option '%s'", argv[0], word);
    if (o->value && *i + 1 == argc)
        return lz_errf(LZ_ERR_ARG, "%s needs a value: %s %s", word, word, o->value);
    return o->set((char *)a + o->member, o->value ? argv[++*i] : NULL);
}

static lz_err *read_args(gen_args *a, int argc, char **argv, size_t least, size_t most)
{
    for (int i = 1; i < argc; i++)
        LZ_TRY(take(a, argc, argv, &i));
    if (a->names.len > most)
        return lz_errf(LZ_ERR_ARG, "%s: unexpected argument '%s'", argv[0], a->names.data[most]);
    if (a->names.len < least)
        return lz_errf(LZ_ERR_ARG, "%s needs %zu name%s: %s", argv[0], least, least > 1 ? "s" : "",
                       gen_commands[__builtin_ctz(bit_of(argv[0]))].synopsis);
    return NULL;
}

/* LZ_ERR_ARG is a wrong use. The text of LZ_ERR_MODEL includes its locations. */
int gen_report(lz_err *e)
{
    int status = CLI_FAILED;
    if (lz_err_code(e) == LZ_ERR_ARG)
        status = cli_misuse("%s", lz_err_text(e));
    else if (lz_err_code(e) == LZ_ERR_MODEL)
        fputs(lz_err_text(e), stderr);
    else
        return cli_report(e);
    lz_err_free(e);
    return status;
}

bool gen_asks_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return true;
    return false;
}

/* A run allocates some 20 MB and ends. With small pages a quarter of its time would go into 4,100 page
 * faults. So the heap grows in one step and asks for huge pages; nothing is lost if the system has none. */
void gen_make_room(void)
{
    enum { HUGE = 2 << 20, ROOM = 32 * HUGE, LARGEST = 16 * HUGE };
    mallopt(M_MMAP_THRESHOLD, LARGEST);
    mallopt(M_TRIM_THRESHOLD, 2 * ROOM);
    mallopt(M_TOP_PAD, ROOM);
    lz_mem_free(lz_mem_alloc(HUGE));
    char *end = sbrk(0), *start = end - ROOM;
    start += (HUGE - (uintptr_t)start % HUGE) % HUGE;
    madvise(start, (size_t)(end - start), MADV_HUGEPAGE);
}

int gen_main(int argc, char **argv, size_t least, size_t most, gen_fn *fn)
{
    if (gen_asks_help(argc, argv))
        return help(argv[0]);
    gen_make_room();
    gen_args a = { .shards = 1 };
    lz_err *e = read_args(&a, argc, argv, least, most);
    int status = e ? gen_report(e) : fn(&a);
    lz_vec_deinit(&a.names);
    lz_vec_deinit(&a.native);
    lz_vec_deinit(&a.headers);
    lz_vec_deinit(&a.select);
    lz_vec_deinit(&a.uses);
    return status;
}

/* ---- runs ---- */

lz_err *gen_print(const lz_text *t)
{
    LZ_TRY(lz_text_check(t));
    if (fwrite(t->ptr, 1, t->len, stdout) != t->len)
        return lz_errf(LZ_ERR_IO, "cannot write to standard output");
    return NULL;
}

int gen_print_findings(const lzg_diag *d)
{
    lz_text t = { 0 };
    if (!lzg_diag_any(d))
        return CLI_OK;
    lzg_diag_print(d, &t);
    fwrite(t.ptr, 1, t.len, stderr);
    lz_text_deinit(&t);
    return CLI_FAILED;
}

/* A file that is not YAML is one more finding. */
static lz_err *load_derivatives(gen_input *in, const gen_args *a)
{
    const lzg_yaml *entries = NULL;
    if (!a->derivatives || lzg_diag_any(&in->diag))
        return NULL;
    in->diffs = lz_mem_zalloc(1, sizeof *in->diffs);
    lz_err *e = in->diffs ? lzg_yaml_load(&in->ops.arena, a->derivatives, &entries) : lz_err_oom();
    lz_code code = lz_err_code(e);
    if (code == LZ_OK)
        return lzg_diffs_init(in->diffs, &in->ops, in->definitions, entries, &in->diag);
    if (code == LZ_ERR_IO || code == LZ_ERR_NOT_FOUND || code == LZ_ERR_MEMORY)
        return e;
    return lzg_diag_take(&in->diag, e, (lz_loc){ .file = a->derivatives }, LZ_STR(""));
}

lz_err *gen_input_load(gen_input *in, const gen_args *a, const char *const *files)
{
    const lzg_ops_options o = { .files = files, .tags = a->tags, .lists = a->lists, .own_fields = a->own };
    *in = (gen_input){ 0 };
    lzg_diag_init(&in->diag);
    LZ_TRY(lzg_ops_load(&in->ops, &o, &in->diag));
    if (a->left_out)
        LZ_TRY(lzg_left_out_load(&in->ops.arena, &in->ops, a->left_out, &in->diag, &in->left_out));
    if (!a->own)
        return NULL;
    in->definitions = lz_mem_zalloc(1, sizeof *in->definitions);
    LZ_TRY(in->definitions ? lzg_definitions_init(in->definitions, &in->ops, &in->diag) : lz_err_oom());
    return load_derivatives(in, a);
}

void gen_input_deinit(gen_input *in)
{
    if (in->diffs)
        lzg_diffs_deinit(in->diffs);
    lz_mem_free(in->diffs);
    if (in->definitions)
        lzg_definitions_deinit(in->definitions);
    lz_mem_free(in->definitions);
    lzg_ops_deinit(&in->ops);
    lzg_diag_deinit(&in->diag);
}

int gen_with_input(const gen_args *a, const gen_paths *files, gen_input_fn *fn)
{
    if (!files->len)
        return cli_misuse("no operator file: --native FILE");
    gen_input in;
    lz_err *e = gen_input_load(&in, a, files->data);
    if (!e && !lzg_diag_any(&in.diag))
        e = fn(a, &in);
    int status = gen_print_findings(&in.diag);
    gen_input_deinit(&in);
    return e ? gen_report(e) : status;
}

static lz_err *load_backend(const gen_args *a, gen_input *in, lzg_backend *b, lzg_emit *e)
{
    if (!a->backend)
        return NULL;
    e->backend = b;
    return lzg_backend_load(b, &in->ops, a->backend, true, &in->diag);
}

/* A C file alone selects, too. */
static lz_err *select_operators(const gen_args *a, gen_input *in, const lzg_emit *e, lzg_c_ops *c)
{
    lzg_selector s;
    lz_err *err = NULL;
    if (!a->select.len && !a->uses.len)
        return NULL;
    lzg_selector_init(&s);
    for (size_t i = 0; !err && i < a->select.len; i++)
        err = lzg_selector_load(&s, a->select.data[i], &in->diag);
    if (!err)
        err = lzg_selection_apply(&(lzg_selection){ &s, a->uses.data }, e, c, &in->diag);
    lzg_selector_deinit(&s);
    return err;
}

lz_err *gen_with_emit(const gen_args *a, gen_input *in, const char *folder, gen_emit_fn *fn)
{
    lzg_c_ops c;
    lzg_emit emit = { 0 };
    lzg_backend backend;
    lzg_backend_init(&backend);
    lz_err *e = lzg_c_ops_init(&c, &in->ops, in->definitions, a->headers.data, &in->diag);
    if (!e)
        e = lzg_emit_init(&emit, &c, folder, a->shards);
    if (!e)
        e = load_backend(a, in, &backend, &emit);
    emit.diffs = in->diffs;
    emit.left_out = &in->left_out;
    if (!e && !lzg_diag_any(&in->diag))
        e = select_operators(a, in, &emit, &c);
    if (!e && !lzg_diag_any(&in->diag))
        e = fn(a, in, &emit);
    lzg_emit_deinit(&emit);
    lzg_backend_deinit(&backend);
    lzg_c_ops_deinit(&c);
    return e;
}
