/* A program for system/select_build, built against the whole library and against selected operators.
 *
 *     selected_program dump                prints the graph of a lazy computation
 *     selected_program gradients           prints the first and the second gradient of that computation
 *     selected_program run FILE VALUE...   runs such a graph
 *     selected_program call NAME           calls an operator on one tensor */
#include <lazuli/lazuli.h>
#include <stdio.h>
#include <string.h>

static int report(lz_err *e)
{
    if (e)
        printf("%s\n", lz_err_text(e));
    lz_err_free(e);
    return e ? 1 : 0;
}

static lz_tensor *input(lz_ctx *c)
{
    static const float data[] = { -0.5F, 0.25F, -0.75F, 1 };
    return lz_from_memory(c, LZ_F32, LZ_DIMS(4), data);
}

static lz_tensor *compute(lz_ctx *c, lz_tensor *x)
{
    return lz_call(c, "softplus", LZ_V(lz_call(c, "dot", LZ_V(x), LZ_V(x)).tensor)).tensor;
}

static int dump(lz_ctx *c)
{
    char *text = NULL;
    lz_tensor *y = compute(c, input(c));
    lz_err *e = lz_dump(c, &y, 1, LZ_DUMP_BACKEND, &text);
    if (!e)
        fputs(text, stdout);
    lz_text_free(text);
    return report(e);
}

static int gradients(lz_ctx *c)
{
    lz_tensor *x = input(c), *first = NULL, *second = NULL;
    lz_set_requires_grad(x, true);
    lz_grad(c, LZ_TENSORS(compute(c, x)), LZ_TENSORS(x), &first, .create_graph = true);
    puts(lz_print(first));
    lz_grad(c, LZ_TENSORS(lz_call(c, "dot", LZ_V(first), LZ_V(first)).tensor), LZ_TENSORS(x), &second);
    puts(lz_print(second));
    if (lz_failed(c))
        puts(lz_message(c));
    return lz_failed(c) ? 1 : 0;
}

static lz_err *read_graph(const char *path, lz_graph **out)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f)
        fclose(f);
    return lz_graph_parse(path, (lz_str){ text, n }, out);
}

static lz_err *print_result(lz_runner *r, lz_gvalue **in, size_t n)
{
    lz_gvalue *out;
    lz_str text;
    lz_err *e = lz_runner_run(r, in, n, &out, NULL);
    if (e)
        return e;
    e = lz_gvalue_text(out, &text);
    if (!e)
        printf("%.*s\n", LZ_FMT(text));
    lz_gvalue_release(out);
    return e;
}

static int run(const char *path, char **values, size_t n)
{
    lz_graph *g = NULL;
    lz_runner *r = NULL;
    lz_gvalue *in[8] = { NULL };
    lz_err *e = read_graph(path, &g);
    if (!e)
        e = lz_runner_create(g, NULL, &r);
    for (size_t i = 0; !e && i < n; i++)
        e = lz_gvalue_create_literal((lz_str){ values[i], strlen(values[i]) }, &in[i]);
    if (!e)
        e = print_result(r, in, n);
    for (size_t i = 0; i < n; i++)
        lz_gvalue_release(in[i]);
    lz_runner_release(r);
    lz_graph_release(g);
    return report(e);
}

static int call(lz_ctx *c, const char *name)
{
    lz_tensor *y = lz_call(c, name, LZ_V(input(c))).tensor;
    const char *text = lz_print(y);
    puts(lz_failed(c) ? lz_message(c) : text);
    return lz_failed(c) ? 1 : 0;
}

int main(int argc, char **argv)
{
    lz_ctx *c = lz_open(NULL);
    int status = 2;
    if (argc == 2 && !strcmp(argv[1], "dump"))
        status = dump(c);
    else if (argc == 2 && !strcmp(argv[1], "gradients"))
        status = gradients(c);
    else if (argc > 2 && argc < 11 && !strcmp(argv[1], "run"))
        status = run(argv[2], argv + 3, (size_t)argc - 3);
    else if (argc == 3 && !strcmp(argv[1], "call"))
        status = call(c, argv[2]);
    lz_close(c);
    return status;
}
