#include "gen/torch/dest/ufunc_kernel.h"
#include "base/vec.h"
#include "gen/api/structured.h"
#include "gen/api/translate.h"
#include "gen/api/ufunc.h"
#include "gen/text/fill.h"

static const lzg_ufunc_loop *loop_of(const lzg_group *g, lzg_ufunc_key key)
{
    for (size_t i = 0; i < g->out->nufunc; i++)
        if (g->out->ufunc[i].key == key)
            return &g->out->ufunc[i];
    return NULL;
}

static bool loop_has(const lzg_ufunc_loop *l, lz_str dtype)
{
    for (size_t i = 0; l && i < l->ndtypes; i++)
        if (lz_str_eq(l->dtypes[i], dtype))
            return true;
    return false;
}

/* dtypes, each once, in the order of the loops that have them. */
typedef LZ_VEC(lz_str) dtype_list;

static lz_err *add_dtypes(dtype_list *out, const lzg_ufunc_loop *l)
{
    for (size_t i = 0; l && i < l->ndtypes; i++) {
        size_t k = 0;
        while (k < out->len && !lz_str_eq(out->data[k], l->dtypes[i]))
            k++;
        if (k == out->len)
            LZ_TRY(lz_vec_push(out, l->dtypes[i]));
    }
    return NULL;
}

/* A kernel being printed; `impl` and `stub` are the arguments of the class's impl and of the stub. */
typedef struct kernel {
    lz_arena *arena;
    const lzg_group *g;
    lz_str op;   /* stubs are named after the functional operator... */
    lz_str name; /* ...and impl after the out one */
    lzg_bindings impl, stub;
    lz_text *out;
} kernel;

static lz_err *kernel_init(kernel *k, lz_arena *a, const lzg_group *g, const char *key, lz_text *out)
{
    *k = (kernel){ .arena = a, .g = g, .op = g->functional->func->name.printed_base, .out = out };
    LZ_TRY(lzg_ufunc_kernel_name(a, g, lzg_dispatch_key_find(lz_str_of(key)), &k->name));
    LZ_TRY(lzg_structured_impl_arguments(a, g, &k->impl));
    return lzg_ufunc_stub_arguments(a, g, &k->stub);
}

/* ---- parts of both kernels ---- */

static void put_named(const kernel *k, const char *pattern)
{
    const lzg_named_text fields[] = { { "op", k->op }, { "name", k->name } };
    lzg_fill_fields(k->out, lz_str_of(pattern), fields, 2);
}

static void put_defns(lzg_bindings b, lz_text *out)
{
    for (size_t i = 0; i < b.n; i++) {
        lz_text_puts(out, i ? ", " : "");
        lzg_binding_defn(&b.at[i], out);
    }
}

static void put_types(lzg_bindings b, lz_text *out)
{
    for (size_t i = 0; i < b.n; i++) {
        lz_text_puts(out, i ? ", " : "");
        lzg_ctype_print(b.at[i].what.type, out);
    }
}

static lz_err *put_goals(const lzg_scope *s, lzg_bindings goals, lz_text *out)
{
    lz_str *exprs;
    LZ_TRY(lzg_translate(s, goals, false, &exprs));
    lzg_exprs_print(exprs, goals.n, out);
    return NULL;
}

/* using add_fn = void(*)(TensorIteratorBase&, const at::Scalar &); DECLARE_DISPATCH(add_fn, add_stub) */
static void put_stub_type(const kernel *k)
{
    put_named(k, "using ${op}_fn = void(*)(TensorIteratorBase&, ");
    put_types(k->stub, k->out);
    lz_text_puts(k->out, ");\n");
    put_named(k, "DECLARE_DISPATCH(${op}_fn, ${op}_stub)\n");
}

static void put_kernel_head(const kernel *k)
{
    put_named(k, "void ${op}_kernel(TensorIteratorBase& iter, ");
    put_defns(k->stub, k->out);
    lz_text_puts(k->out, ") {\n");
}

/* impl of the kernel's class calls the stub or, on CUDA, the kernel itself. */
static lz_err *put_impl(const kernel *k, const char *call)
{
    lzg_scope scope;
    put_named(k, "TORCH_IMPL_FUNC(${name})(");
    put_defns(k->impl, k->out);
    lz_text_puts(k->out, ") {\n  ");
    put_named(k, call);
    lzg_scope_init(&scope, k->arena);
    LZ_TRY(lzg_scope_add_bindings(&scope, k->impl));
    LZ_TRY(put_goals(&scope, k->stub, k->out));
    lz_text_puts(k->out, ");\n}\n");
    return lz_text_check(k->out);
}

typedef lz_err *body_fn(const kernel *k, const void *how, lz_str dtype);

/* Between cases there is an empty line. */
static lz_err *put_cases(const kernel *k, const dtype_list *dtypes, body_fn *body, const void *how)
{
    for (size_t i = 0; i < dtypes->len; i++) {
        lzg_fill_named(k->out,
                       "${again}\nAT_DISPATCH_CASE(at::ScalarType::${dtype},\n"
                       "  [&]() {\n"
                       "    ",
                       { "again", i ? LZ_STR("\n") : LZ_STR("") }, { "dtype", dtypes->data[i] });
        LZ_TRY(body(k, how, dtypes->data[i]));
        lz_text_puts(k->out, "\n  }\n)\n");
    }
    return NULL;
}

/* ---- CPU ---- */

lz_err *lzg_put_ufunc_cpu(lz_arena *a, const lzg_group *g, lz_text *out)
{
    kernel k;
    LZ_TRY(kernel_init(&k, a, g, "CPU", out));
    lz_text_putc(out, '\n');
    put_stub_type(&k);
    put_named(&k, "DEFINE_DISPATCH(${op}_stub);\n\n");
    return put_impl(&k, "${op}_stub(device_type(), *this, ");
}

/* The loops of a dtype: of its own key, else of a general one. */
typedef struct precedence {
    lzg_ufunc_key keys[3];
    size_t n;
} precedence;

static const precedence scalar_loops = { { LZG_UFUNC_CPUScalar, LZG_UFUNC_ScalarOnly, LZG_UFUNC_Generic },
                                         3 };
static const precedence vector_loops = { { LZG_UFUNC_CPUVector, LZG_UFUNC_Generic }, 2 };

static const lzg_ufunc_loop *choose_loop(const lzg_group *g, const precedence *p, lz_str dtype)
{
    for (size_t i = 0; i < p->n; i++)
        if (loop_has(loop_of(g, p->keys[i]), dtype))
            return loop_of(g, p->keys[i]);
    return NULL;
}

static bool is_scalar(const lzg_binding *b)
{
    return lzg_type_is(b->argument->type, LZG_TY_Scalar);
}

/* Every Scalar once in the type of the elements; in a vector loop also as a vector. */
static void put_scalars(const kernel *k, const char *pattern)
{
    for (size_t i = 0; i < k->stub.n; i++)
        if (is_scalar(&k->stub.at[i]))
            lzg_fill_fields(k->out, lz_str_of(pattern),
                            (const lzg_named_text[]){ { "x", k->stub.at[i].name } }, 1);
}

/* [=](scalar_t self, scalar_t other) { return ufunc::add(self, other, _s_alpha); } */
static lz_err *put_lambda(const kernel *k, const lzg_ufunc_loop *loop, const char *prefix,
                          const lzg_ctype *element)
{
    const lzg_schema *s = k->g->functional->func;
    lzg_scope scope;
    lzg_bindings goals;
    bool any = false;
    lzg_scope_init(&scope, k->arena);
    for (size_t i = 0; i < k->stub.n; i++) {
        lz_str expr;
        if (!is_scalar(&k->stub.at[i]))
            continue;
        LZ_TRY(lz_arena_printf(k->arena, &expr, "%s%.*s", prefix, LZ_FMT(k->stub.at[i].name)));
        LZ_TRY(lzg_scope_add(&scope, expr, (lzg_nctype){ k->stub.at[i].what.name, element }));
    }
    lz_text_puts(k->out, "  [=](");
    for (size_t i = 0; i < s->first[LZG_OUT]; i++) {
        const lzg_binding b = { .name = s->args[i].name, .what = { s->args[i].name, element } };
        if (!lzg_type_is_tensor_like(s->args[i].type))
            continue;
        if (!lzg_type_is(s->args[i].type, LZG_TY_Tensor))
            return lzg_refuse_type(s->args[i].type, "a ufunc loops over plain tensors");
        lz_text_puts(k->out, any ? ", " : "");
        lzg_binding_defn(&b, k->out);
        LZ_TRY(lzg_scope_add(&scope, b.name, b.what));
        any = true;
    }
    lzg_fill_named(k->out, ") { return ufunc::${ufunc}(", { "ufunc", loop->name });
    LZ_TRY(lzg_ufunc_arguments(k->arena, k->g, element, &goals));
    LZ_TRY(put_goals(&scope, goals, k->out));
    lz_text_puts(k->out, "); }");
    return NULL;
}

static lz_err *put_cpu_body(const kernel *k, const void *how, lz_str dtype)
{
    const lzg_ufunc_loop *scalar = choose_loop(k->g, &scalar_loops, dtype);
    const lzg_ufunc_loop *vector = choose_loop(k->g, &vector_loops, dtype);
    size_t start;
    (void)how;
    if (!scalar)
        return lz_errf(LZ_ERR_MODEL, "%.*s has a vector loop but no scalar one", LZ_FMT(dtype));
    lz_text_putc(k->out, '\n');
    start = k->out->len;
    put_scalars(k, "auto _s_${x} = ${x}.to<scalar_t>();\n");
    if (vector)
        put_scalars(k, "auto _v_${x} = at::vec::Vectorized<scalar_t>(_s_${x});\n");
    if (k->out->len == start)
        lz_text_putc(k->out, '\n');
    lz_text_puts(k->out, vector ? "cpu_kernel_vec(iter,\n" : "cpu_kernel(iter,\n");
    LZ_TRY(put_lambda(k, scalar, "_s_", lzg_ctype_base(LZG_CPP_scalar_t)));
    if (vector) {
        lz_text_puts(k->out, ",\n");
        LZ_TRY(put_lambda(k, vector, "_v_", lzg_ctype_of(LZG_C_VECTORIZED, LZG_CPP_scalar_t)));
    }
    lz_text_puts(k->out, "\n);\n");
    return NULL;
}

static lz_err *put_cpu_cases(const kernel *k, dtype_list *dtypes)
{
    for (size_t i = 0; i < scalar_loops.n; i++)
        LZ_TRY(add_dtypes(dtypes, loop_of(k->g, scalar_loops.keys[i])));
    for (size_t i = 0; i < vector_loops.n; i++)
        LZ_TRY(add_dtypes(dtypes, loop_of(k->g, vector_loops.keys[i])));
    return put_cases(k, dtypes, put_cpu_body, NULL);
}

lz_err *lzg_put_ufunc_cpu_kernel(lz_arena *a, const lzg_group *g, lz_text *out)
{
    dtype_list dtypes = { 0 };
    kernel k;
    LZ_TRY(kernel_init(&k, a, g, "CPU", out));
    lz_text_puts(out, "\nnamespace {\n\n");
    put_kernel_head(&k);
    put_named(&k, "  AT_DISPATCH_SWITCH(iter.common_dtype(), \"${op}_stub\",\n    ");
    lz_err *e = put_cpu_cases(&k, &dtypes);
    lz_vec_deinit(&dtypes);
    lz_text_puts(out, "\n  );\n}\n\n} // anonymous namespace\n\n");
    put_stub_type(&k);
    put_named(&k, "REGISTER_DISPATCH(${op}_stub, &${op}_kernel)\n");
    return e ? e : lz_text_check(out);
}

/* ---- CUDA ---- */

/* The functors: which tensor moves into the constructor, from which operand of the iterator (from 1; 0:
 * none) it comes, and under which name the kernel passes its value. */
typedef struct functor {
    lzg_ufunc_key key;
    int held, operand;
    const char *held_name;
} functor;

enum { ON_SELF, ON_OTHER, PLAIN, FUNCTORS };
static const functor functors[FUNCTORS] = {
    [ON_SELF] = { LZG_UFUNC_CUDAFunctorOnSelf, 1, 2, "other" },
    [ON_OTHER] = { LZG_UFUNC_CUDAFunctorOnOther, 0, 1, "self" },
    [PLAIN] = { LZG_UFUNC_CUDAFunctor, -1, 0, NULL },
};

static bool is_binary(const lzg_group *g)
{
    const lzg_schema *s = g->functional->func;
    int tensors = 0;
    for (size_t i = 0; i < s->first[LZG_OUT]; i++)
        tensors += lzg_type_is_tensor_like(s->args[i].type);
    return tensors == 2;
}

/* What the functors of an operator are called, and their arguments; an empty name: there is none. */
typedef struct functor_set {
    lz_str name[FUNCTORS];
    lzg_ufunctor args[FUNCTORS];
} functor_set;

/* A functor that no key names is made from the one template that ScalarOnly and Generic share. */
static lz_err *template_of(const lzg_group *g, lz_str *out)
{
    const lzg_ufunc_loop *only = loop_of(g, LZG_UFUNC_ScalarOnly), *generic = loop_of(g, LZG_UFUNC_Generic);
    if (!only && !generic)
        return lz_errf(LZ_ERR_MODEL, "a CUDA functor needs its own, a ScalarOnly or a Generic loop");
    if (only && generic && !lz_str_eq(only->name, generic->name))
        return lz_errf(LZ_ERR_MODEL, "ScalarOnly and Generic must name the same ufunc");
    *out = only ? only->name : generic->name;
    return NULL;
}

/* The fields are the constructor's arguments with an underscore behind. */
static lz_err *put_functor_body(const kernel *k, const lzg_ufunctor *f, lz_str ufunc)
{
    lzg_scope scope;
    lzg_bindings goals;
    lzg_scope_init(&scope, k->arena);
    for (size_t i = 0; i < f->ctor.n; i++) {
        lz_str field;
        LZ_TRY(lz_arena_printf(k->arena, &field, "%.*s_", LZ_FMT(f->ctor.at[i].name)));
        LZ_TRY(lzg_scope_add(&scope, field, f->ctor.at[i].what));
    }
    LZ_TRY(lzg_scope_add_bindings(&scope, f->apply));
    LZ_TRY(lzg_ufunc_arguments(k->arena, k->g, lzg_ctype_base(LZG_CPP_opmath_t), &goals));
    lz_text_puts(k->out, "  __device__ scalar_t operator()(");
    put_defns(f->apply, k->out);
    lzg_fill_named(k->out, ") const {\n    return ufunc::${ufunc}(", { "ufunc", ufunc });
    LZ_TRY(put_goals(&scope, goals, k->out));
    lz_text_puts(k->out, ");\n  }\n};\n");
    return NULL;
}

static lz_err *put_functor(const kernel *k, lz_str name, const lzg_ufunctor *f, lz_str ufunc)
{
    lzg_fill_named(k->out,
                   "\ntemplate <typename scalar_t>\n"
                   "struct ${name} {\n"
                   "  using opmath_t = at::opmath_type<scalar_t>;\n"
                   "  ",
                   { "name", name });
    for (size_t i = 0; i < f->ctor.n; i++) {
        lz_text_puts(k->out, i ? "_;\n" : "");
        lzg_binding_defn(&f->ctor.at[i], k->out);
    }
    lzg_fill_named(k->out, "${end}\n  ${name}(", { "name", name },
                   { "end", f->ctor.n ? LZ_STR("_;") : LZ_STR("") });
    put_defns(f->ctor, k->out);
    lz_text_puts(k->out, ") : ");
    for (size_t i = 0; i < f->ctor.n; i++)
        lzg_fill_named(k->out, "${comma}${x}_(${x})", { "comma", i ? LZ_STR(", ") : LZ_STR("") },
                       { "x", f->ctor.at[i].name });
    lz_text_puts(k->out, " {}\n");
    return put_functor_body(k, f, ufunc);
}

/* Names a functor, and prints it if it is made here. */
static lz_err *make_functor(const kernel *k, size_t i, functor_set *out, bool *again)
{
    const lzg_ufunc_loop *own = loop_of(k->g, functors[i].key);
    lz_str ufunc;
    LZ_TRY(lzg_ufunctor_arguments(k->arena, k->g, functors[i].held, &out->args[i]));
    if (own) {
        out->name[i] = own->name;
        return NULL;
    }
    LZ_TRY(template_of(k->g, &ufunc));
    LZ_TRY(lz_arena_printf(k->arena, &out->name[i], "%s_%.*s", lzg_ufunc_key_name(functors[i].key),
                           LZ_FMT(ufunc)));
    lz_text_puts(k->out, *again ? "\n" : "");
    *again = true;
    return put_functor(k, out->name[i], &out->args[i], ufunc);
}

static lz_err *make_functors(const kernel *k, functor_set *out)
{
    bool binary = is_binary(k->g), again = false;
    for (size_t i = 0; i < FUNCTORS; i++) {
        if (binary || i == PLAIN)
            LZ_TRY(make_functor(k, i, out, &again));
        else if (loop_of(k->g, functors[i].key))
            return lz_errf(LZ_ERR_MODEL, "%s is for operators on two tensors",
                           lzg_ufunc_key_name(functors[i].key));
    }
    return NULL;
}

static bool functor_has(const lzg_group *g, const functor_set *f, size_t i, lz_str dtype)
{
    const lzg_ufunc_loop *own = loop_of(g, functors[i].key);
    if (!f->name[i].len)
        return false;
    if (own)
        return loop_has(own, dtype);
    return loop_has(loop_of(g, LZG_UFUNC_ScalarOnly), dtype)
           || loop_has(loop_of(g, LZG_UFUNC_Generic), dtype);
}

/* The constructor's arguments: those of impl, and the held operand's value. */
static lz_err *put_construction(const kernel *k, const functor_set *f, size_t i)
{
    lzg_scope scope;
    lz_str value;
    lzg_scope_init(&scope, k->arena);
    LZ_TRY(lzg_scope_add_bindings(&scope, k->impl));
    if (functors[i].operand) {
        const lzg_nctype what = { lz_str_of(functors[i].held_name), lzg_ctype_base(LZG_CPP_opmath_t) };
        LZ_TRY(lz_arena_printf(k->arena, &value, "iter.scalar_value<opmath_t>(%d)", functors[i].operand));
        LZ_TRY(lzg_scope_add(&scope, value, what));
    }
    return put_goals(&scope, f->args[i].ctor, k->out);
}

/* An operand that is one number on the CPU moves into the functor. The functor reads it from the iterator
 * before the iterator drops it. */
static lz_err *put_held_case(const kernel *k, const functor_set *f, size_t i)
{
    char digit = (char)('0' + functors[i].operand);
    const lzg_named_text fields[] = { { "operand", { &digit, 1 } }, { "functor", f->name[i] } };
    lzg_fill_fields(k->out,
                    LZ_STR("else if (iter.is_cpu_scalar(${operand})) {\n  ${functor}<scalar_t> ufunctor("),
                    fields, 2);
    LZ_TRY(put_construction(k, f, i));
    lzg_fill_fields(k->out,
                    LZ_STR(");\n  iter.remove_operand(${operand});\n  gpu_kernel(iter, ufunctor);\n}"),
                    fields, 2);
    return NULL;
}

static lz_err *put_cuda_body(const kernel *k, const void *how, lz_str dtype)
{
    const functor_set *f = how;
    static const size_t held[] = { ON_OTHER, ON_SELF };
    if (!functor_has(k->g, f, PLAIN, dtype))
        return lz_errf(LZ_ERR_MODEL, "%.*s has a functor for one operand but no CUDAFunctor", LZ_FMT(dtype));
    lz_text_puts(k->out, "using opmath_t = at::opmath_type<scalar_t>;if (false) {}\n");
    for (size_t i = 0; i < 2; i++)
        if (functor_has(k->g, f, held[i], dtype))
            LZ_TRY(put_held_case(k, f, held[i]));
    lzg_fill_named(k->out, "\nelse {\n  gpu_kernel(iter, ${functor}<scalar_t>(",
                   { "functor", f->name[PLAIN] });
    LZ_TRY(put_construction(k, f, PLAIN));
    lz_text_puts(k->out, "));\n}\n    ");
    return NULL;
}

static lz_err *put_cuda_cases(const kernel *k, const functor_set *f, dtype_list *dtypes)
{
    for (size_t i = 0; i < FUNCTORS; i++) {
        const lzg_ufunc_loop *own = loop_of(k->g, functors[i].key);
        if (!f->name[i].len)
            continue;
        LZ_TRY(add_dtypes(dtypes, own ? own : loop_of(k->g, LZG_UFUNC_ScalarOnly)));
        if (!own)
            LZ_TRY(add_dtypes(dtypes, loop_of(k->g, LZG_UFUNC_Generic)));
    }
    return put_cases(k, dtypes, put_cuda_body, f);
}

lz_err *lzg_put_ufunc_cuda(lz_arena *a, const lzg_group *g, lz_text *out)
{
    functor_set f = { 0 };
    dtype_list dtypes = { 0 };
    kernel k;
    LZ_TRY(kernel_init(&k, a, g, "CUDA", out));
    lz_text_putc(out, '\n');
    LZ_TRY(make_functors(&k, &f));
    lz_text_puts(out, "\n\n");
    put_stub_type(&k);
    lz_text_putc(out, '\n');
    put_kernel_head(&k);
    put_named(&k, "  AT_DISPATCH_SWITCH(iter.common_dtype(), \"${name}\",\n    ");
    lz_err *e = put_cuda_cases(&k, &f, &dtypes);
    lz_vec_deinit(&dtypes);
    lz_text_puts(out, "\n  );\n}\n");
    put_named(&k, "REGISTER_DISPATCH(${op}_stub, &${op}_kernel)\n\n");
    return e ? e : put_impl(&k, "${op}_kernel(*this, ");
}

/* ---- checks ---- */

lz_err *lzg_ufunc_check(lz_arena *a, const lzg_group *g)
{
    lz_text scratch = { 0 };
    lz_err *e = lzg_put_ufunc_cpu(a, g, &scratch);
    if (!e)
        e = lzg_put_ufunc_cpu_kernel(a, g, &scratch);
    if (!e)
        e = lzg_put_ufunc_cuda(a, g, &scratch);
    lz_text_deinit(&scratch);
    return e;
}
