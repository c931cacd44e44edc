#include "gen/torch/gen_declarations_yaml.h"
#include "gen/api/cpp.h"
#include "gen/emit/c_text.h"
#include "gen/text/yaml_write.h"

/* Every field stands on a line of its own; items of lists begin at the indent of their key. */

static void put_text_field(lz_text *out, const char *key, lz_str value)
{
    lz_text_puts(out, key);
    lzg_yaml_put_text(out, value);
    lz_text_putc(out, '\n');
}

static void put_bool_field(lz_text *out, const char *key, bool value)
{
    lz_text_puts(out, key);
    lz_text_puts(out, value ? "true\n" : "false\n");
}

static void put_type_field(lz_text *out, lz_text *scratch, const char *key, const lzg_ctype *type)
{
    lz_text_clear(scratch);
    lzg_ctype_print(type, scratch);
    out->failed = out->failed || scratch->failed;
    put_text_field(out, key, lz_text_view(scratch));
}

typedef struct writer {
    lz_arena *a;
    const lzg_function *f;
    lzg_local local;
    lz_str *field_names; /* of out arguments, by their place; ptr NULL: none */
    lz_text scratch;
    lz_text *out;
} writer;

static lz_err *argument_type(const writer *w, const lzg_type *t, bool writes, const lzg_ctype **out)
{
    return lzg_cpp_argumenttype(w->a, t, (lzg_cpp_rules){ .local = w->local, .writes = writes }, out);
}

/* The type without optional; Tensor is no reference. */
static lz_err *put_dynamic_type(writer *w, const char *key, const lzg_type *t)
{
    const lzg_ctype *type;
    while (t->kind == LZG_TYPE_OPTIONAL)
        t = t->elem;
    type = lzg_ctype_base(LZG_CPP_Tensor);
    if (!lzg_type_is(t, LZG_TY_Tensor))
        LZ_TRY(argument_type(w, t, false, &type));
    put_type_field(w->out, &w->scratch, key, type);
    return NULL;
}

static bool is_keyword_only(const lzg_schema *s, lz_str name)
{
    for (size_t i = s->first[LZG_PRE_TENSOR_OPTIONS]; i < s->first[LZG_OUT]; i++)
        if (lz_str_eq(s->args[i].name, name))
            return true;
    return false;
}

/* The place of the out argument of that name, or nout. */
static size_t out_place(const lzg_schema *s, lz_str name, size_t nout)
{
    size_t i = 0;
    while (i < nout && !lz_str_eq(s->args[s->first[LZG_OUT] + i].name, name))
        i++;
    return i;
}

static void put_annotation(writer *w, const lzg_annotation *n)
{
    lzg_put(w->out, "annotation: ");
    lz_text_clear(&w->scratch);
    if (n)
        lzg_annotation_print(n, &w->scratch);
    if (n)
        lzg_yaml_put_text(w->out, lz_text_view(&w->scratch));
    lz_text_puts(w->out, n ? "\n" : "null\n");
}

static lz_err *put_default(writer *w, const lzg_argument *arg)
{
    lz_str text;
    if (!arg->deflt.ptr)
        return NULL;
    LZ_TRY(lzg_cpp_default_expr(w->a, arg->deflt, arg->type, false, &text));
    lzg_put(w->out, "    default: ");
    lzg_yaml_put_python_value(w->out, text);
    lzg_put(w->out, "\n");
    return NULL;
}

/* Keys are sorted. */
static lz_err *put_argument(writer *w, const lzg_argument *arg)
{
    const lzg_schema *s = w->f->func;
    const lzg_ctype *type;
    size_t nout = s->nargs - s->first[LZG_OUT], place = out_place(s, arg->name, nout);
    bool is_out = place < nout;
    const lzg_type *list = lzg_type_is_list_like(arg->type);
    lz_text_puts(w->out, is_out ? "  - allocate: true\n    " : "  - ");
    put_annotation(w, arg->annotation);
    LZ_TRY(put_default(w, arg));
    LZ_TRY(put_dynamic_type(w, "    dynamic_type: ", arg->type));
    if (is_out && w->field_names[place].ptr)
        put_text_field(w->out, "    field_name: ", w->field_names[place]);
    put_bool_field(w->out, "    is_nullable: ", lzg_type_is_nullable(arg->type));
    if (is_keyword_only(s, arg->name))
        lzg_put(w->out, "    kwarg_only: true\n");
    put_text_field(w->out, "    name: ", arg->name);
    if (is_out)
        lzg_put(w->out, "    output: true\n");
    if (list && list->size >= 0 && !lzg_type_is(list->elem, LZG_TY_bool))
        lz_text_printf(w->out, "    size: %d\n", (int)list->size);
    LZ_TRY(argument_type(w, arg->type, lzg_argument_writes(arg), &type));
    put_type_field(w->out, &w->scratch, "    type: ", type);
    return NULL;
}

static void put_options(writer *w, const lzg_binding *b)
{
    lzg_put(w->out, "  - annotation: null\n");
    if (b->deflt.ptr)
        put_text_field(w->out, "    default: ", b->deflt);
    lzg_put(w->out, "    dynamic_type: at::TensorOptions\n"
                    "    is_nullable: false\n"
                    "    kwarg_only: true\n");
    put_text_field(w->out, "    name: ", b->name);
    put_type_field(w->out, &w->scratch, "    type: ", b->what.type);
}

static void begin_list(lz_text *out, const char *key, size_t n)
{
    lz_text_puts(out, key);
    lz_text_puts(out, n ? ":\n" : ": []\n");
}

static lz_err *put_arguments(writer *w, bool *packed)
{
    lzg_sig sig;
    LZ_TRY(lzg_cpp_signature(w->a, w->f, (lzg_cpp_form){ 0 }, &sig));
    begin_list(w->out, "  arguments", sig.args.n);
    *packed = false;
    for (size_t i = 0; i < sig.args.n; i++)
        if (sig.args.at[i].argument) {
            LZ_TRY(put_argument(w, sig.args.at[i].argument));
        } else {
            put_options(w, &sig.args.at[i]);
            *packed = true;
        }
    return NULL;
}

static lz_err *put_schema_order(writer *w)
{
    const lzg_schema *s = w->f->func;
    const lzg_ctype *type;
    lz_text t = { 0 };
    lz_err *e = lzg_cpp_returns_type(w->a, s, w->local, &type);
    if (!e)
        lzg_ctype_print(type, &t);
    lz_text_puts(&t, " (");
    for (size_t i = 0; !e && i < s->nargs; i++) {
        e = argument_type(w, s->args[i].type, lzg_argument_writes(&s->args[i]), &type);
        lz_text_puts(&t, i ? ", " : "");
        if (!e)
            lzg_ctype_print(type, &t);
    }
    lz_text_putc(&t, ')');
    put_text_field(w->out, "  schema_order_cpp_signature: ", lz_text_view(&t));
    w->out->failed = w->out->failed || t.failed;
    lz_text_deinit(&t);
    LZ_TRY(e);
    begin_list(w->out, "  schema_order_arguments", s->nargs);
    for (size_t i = 0; i < s->nargs; i++)
        LZ_TRY(put_argument(w, &s->args[i]));
    return NULL;
}

static void put_method_of(writer *w)
{
    lzg_put(w->out, "  method_of:\n  - Type\n");
    if (w->f->variants & LZG_VARIANT_METHOD)
        lzg_put(w->out, "  - Tensor\n");
    if (w->f->variants & LZG_VARIANT_FUNCTION)
        lzg_put(w->out, "  - namespace\n");
}

static lz_err *put_return(writer *w, const lzg_return *r, lz_str name)
{
    const lzg_ctype *type;
    LZ_TRY(put_dynamic_type(w, "  - dynamic_type: ", r->type));
    if (r->name.len)
        put_text_field(w->out, "    field_name: ", r->name);
    put_text_field(w->out, "    name: ", name);
    LZ_TRY(lzg_cpp_return_type(w->a, r, w->local, &type));
    put_type_field(w->out, &w->scratch, "    type: ", type);
    return NULL;
}

static lz_err *put_returns(writer *w)
{
    const lzg_schema *s = w->f->func;
    lz_str *names;
    LZ_TRY(lzg_cpp_return_names(w->a, w->f, "result", &names));
    begin_list(w->out, "  returns", s->nreturns);
    for (size_t i = 0; i < s->nreturns; i++)
        LZ_TRY(put_return(w, &s->returns[i], names[i]));
    return NULL;
}

/* A named return gives its name to the out argument beside it. */
static lz_err *name_fields(writer *w)
{
    const lzg_schema *s = w->f->func;
    size_t nout = s->nargs - s->first[LZG_OUT];
    LZ_TRY(lz_arena_new(w->a, &w->field_names, nout));
    for (size_t i = 0; i < s->nreturns && i < nout; i++)
        if (s->returns[i].name.len)
            w->field_names[i] = s->returns[i].name;
    return NULL;
}

static lz_err *put_entry(writer *w)
{
    const lzg_function *f = w->f;
    const lzg_op_name *name = &f->func->name;
    lz_str cpp_name, schema;
    bool packed;
    LZ_TRY(name_fields(w));
    LZ_TRY(lzg_cpp_name(w->a, f->func, (lzg_cpp_form){ 0 }, &cpp_name));
    LZ_TRY(lz_arena_printf(w->a, &schema, "aten::%.*s", LZ_FMT(f->func->text)));
    put_text_field(w->out, "- name: ", cpp_name);
    put_text_field(w->out, "  operator_name: ", name->printed_base);
    put_text_field(w->out, "  overload_name: ", name->overload);
    put_bool_field(w->out, "  manual_kernel_registration: ", f->manual_kernel_registration);
    put_text_field(w->out, "  category_override: ", f->category_override);
    put_text_field(w->out, "  schema_string: ", schema);
    LZ_TRY(put_arguments(w, &packed));
    LZ_TRY(put_schema_order(w));
    put_method_of(w);
    lzg_put(w->out, "  mode: native\n");
    put_text_field(w->out, "  python_module: ", f->python_module);
    LZ_TRY(put_returns(w));
    put_bool_field(w->out, "  inplace: ", name->inplace);
    put_bool_field(w->out, "  is_factory_method: ", packed && !(f->variants & LZG_VARIANT_METHOD));
    put_bool_field(w->out, "  abstract: ", f->is_abstract);
    put_bool_field(w->out, "  device_guard: ", f->device_guard);
    lzg_put(w->out, "  with_gil: false\n  deprecated: false\n");
    put_bool_field(w->out, "  has_math_kernel: ", f->composite_implicit);
    return lz_text_check(w->out);
}

lz_err *lzg_put_declaration_yaml(lz_arena *a, const void *user, const lzg_function *f, lz_text *out)
{
    writer w = { .a = a, .f = f, .local = lzg_local_of(f), .out = out };
    (void)user;
    lz_err *e = put_entry(&w);
    lz_text_deinit(&w.scratch);
    return e;
}

static lz_err *declarations(lzg_job *j, const void *arg)
{
    const lzg_torch_settings *s = arg;
    const lzg_ops *ops = &j->run->ops;
    lzg_texts *items;
    LZ_TRY(lzg_job_texts(j, &items));
    if (!j->run->dry_run)
        LZ_TRY(lzg_job_each(j, ops->functions, ops->nfunctions, lzg_put_declaration_yaml, NULL, items));
    if (!ops->nfunctions)
        lzg_put(&items->text, "[]\n");
    return lzg_files_take(s->cpu, "Declarations.yaml", &items->text);
}

lz_err *lzg_plan_declarations(lzg_torch_settings *s)
{
    return lzg_run_add(s->run, 60, declarations, s);
}
