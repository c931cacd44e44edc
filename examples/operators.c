/* operators.c - reads an operator file and prints how many operators it defines, and what one of them is.
 *
 *     operators OPS.yaml TAGS.yaml [NAME] */
#include <lazuli/gen.h>
#include <stdio.h>

static int fail(lz_err *e)
{
    fprintf(stderr, "%s\n", lz_err_text(e));
    lz_err_free(e);
    return 1;
}

static int show(lzg_set *set, const lzg_function *f)
{
    lzg_facts facts = lzg_describe(f);
    printf("%.*s: %.*s, line %d\n", LZ_FMT(facts.name), LZ_FMT(facts.kind), (int)facts.loc.line);
    for (size_t i = 0; i < facts.nargs; i++) {
        lzg_arg_facts arg;
        lz_err *e = lzg_describe_arg(set, f, i, &arg);
        if (e)
            return fail(e);
        printf("  %-12.*s %.*s\n", LZ_FMT(arg.type), LZ_FMT(arg.name));
    }
    lz_str cpp;
    lz_err *e = lzg_set_signature(set, f, LZG_SIG_CPP, &cpp);
    if (e)
        return fail(e);
    printf("C++: %.*s\n", LZ_FMT(cpp));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s OPS.yaml TAGS.yaml [NAME]\n", argv[0]);
        return 2;
    }
    const char *files[] = { argv[1], NULL };
    const lzg_set_options options = { .files = files, .tags = argv[2], .own_fields = true };
    lzg_set *set;
    lz_err *e = lzg_set_open(&options, &set);
    if (e)
        return fail(e);
    const lzg_function *f = argc > 3 ? lzg_set_find(set, argv[3]) : lzg_set_at(set, 0);
    printf("%zu operators in %zu groups\n", lzg_set_count(set), lzg_set_groups(set));
    if (lzg_set_at(set, 0))
        printf("First: %.*s\n", LZ_FMT(lzg_describe(lzg_set_at(set, 0)).schema));
    int status = f ? show(set, f) : 1;
    if (!f)
        fprintf(stderr, "no operator %s\n", argc > 3 ? argv[3] : "at all");
    lzg_set_close(set);
    return status;
}
