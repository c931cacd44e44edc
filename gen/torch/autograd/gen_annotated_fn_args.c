/* annotated_fn_args.py: the arguments without defaults of every function in Python, for tests that override
 * them. */
#include "gen/api/python_types.h"
#include "gen/torch/autograd/gen_autograd.h"
#include "gen/torch/gen_python_functions.h"

/* The modules, in this order, as the tests call them. */
static const struct {
    lzg_py_module module;
    const char *name;
} spaces[] = {
    { LZG_PY_TORCH, "torch._C._VariableFunctions" },
    { LZG_PY_NN, "torch._C._nn" },
    { LZG_PY_LINALG, "torch._C._linalg" },
    { LZG_PY_SPECIAL, "torch._C._special" },
    { LZG_PY_FFT, "torch._C._fft" },
    { LZG_PY_TENSOR, "torch.Tensor" },
};

static lz_err *put_argument(lz_arena *a, const lzg_argument *arg, bool keyword, bool first, lz_text *out)
{
    const lzg_type *list = lzg_type_is_list_like(arg->type);
    lz_text_puts(out, first ? "" : ", ");
    lz_text_printf(out, "{'is_kwarg_only': '%s', 'name': '%.*s', 'simple_type': '",
                   keyword ? "True" : "False", LZ_FMT(arg->name));
    LZ_TRY(lzg_python_simple_type(a, arg->type, out));
    lz_text_puts(out, "'");
    if (list && !lzg_type_is(list->elem, LZG_TY_bool) && list->size > 0)
        lz_text_printf(out, ", 'size': %d", (int)list->size);
    lz_text_puts(out, "}");
    return NULL;
}

/* "    torch.Tensor.add: [{'is_kwarg_only': 'False', 'name': 'self', 'simple_type': 'Tensor'}, ...]," */
static lz_err *put_function(lz_arena *a, const lzg_ops *ops, const char *space, const lzg_function *f,
                            lz_text *out)
{
    const lzg_schema *func = f->func;
    bool first = true;
    bool keywords =
        !lzg_lists_has(ops->lists, "gen_annotated_fn_args.kwargs_exclusion_list", func->name.printed_base);
    lz_text_printf(out, "    %s.%.*s: [", space, LZ_FMT(func->name.printed_base));
    for (size_t i = 0; i < func->first[LZG_OUT]; i++) {
        bool keyword = i >= func->first[LZG_PRE_TENSOR_OPTIONS];
        if (func->args[i].deflt.ptr || (keyword && !keywords))
            continue;
        LZ_TRY(put_argument(a, &func->args[i], keyword, first, out));
        first = false;
    }
    lz_text_puts(out, "],\n");
    return NULL;
}

/* Those of one module, in the order in which names occur first. */
static lz_err *put_module(lzg_job *j, const lzg_python *p, size_t space, lz_text *out)
{
    lz_map groups = { 0 };
    lz_err *e = lzg_python_group(p, &j->arena, spaces[space].module, &groups);
    for (const lz_map_entry *g = lz_map_next(&groups, NULL); !e && g; g = lz_map_next(&groups, g)) {
        const lzg_py_group *group = g->value;
        for (size_t i = 0; !e && i < group->n; i++)
            e = lzg_job_take(
                j, put_function(&j->arena, &j->run->ops, spaces[space].name, group->functions[i], out),
                group->functions[i]);
    }
    lz_map_deinit(&groups);
    return e;
}

static lz_err *put_all(lzg_job *j, lz_text *out)
{
    lzg_python p;
    lz_err *e = lzg_python_init(&p, &j->run->ops);
    for (size_t i = 0; !e && i < sizeof spaces / sizeof *spaces; i++)
        e = put_module(j, &p, i, out);
    lzg_python_deinit(&p);
    return e;
}

static lz_err *annotated_fn_args(lzg_job *j, const void *arg)
{
    const lzg_autograd_settings *s = arg;
    lzg_texts *all;
    lzg_env env;
    LZ_TRY(lzg_job_texts(j, &all));
    LZ_TRY(put_all(j, &all->text));
    lzg_env_init(&env, &j->arena);
    lz_err *e = lzg_env_text(&env, "annotated_args", lz_text_view(&all->text));
    if (!e)
        e = lzg_job_template(j, s->files, "annotated_fn_args.py", "annotated_fn_args.py.in", &env);
    lzg_env_deinit(&env);
    return e;
}

lz_err *lzg_plan_annotated_fn_args(const lzg_autograd_settings *s)
{
    return lzg_run_add(s->run, 5, annotated_fn_args, s);
}
