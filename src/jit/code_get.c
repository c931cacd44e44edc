/* Gets a kernel's code from the disk cache or from the compiler. */
#include "base/log.h"
#include "jit/code_cache.h"
#include "jit/codes_impl.h"
#include "jit/emitter.h"
#include "jit/llvm_version.h"

typedef struct wanted {
    const lz_kernel *kernel;
    const lz_native_variant *variant;
    const lz_target *target;
} wanted;

/* The cache also stores that the emitter refused a kernel, and why: it takes a compilation to find out. */
static const char refusal[] = "refused: ";

static lz_err *emit(void *user, lz_text *out)
{
    const wanted *w = user;
    lz_err *e = lz_emit_kernel(w->kernel, w->variant, w->target, out);
    if (lz_err_code(e) != LZ_ERR_UNSUPPORTED && lz_err_code(e) != LZ_ERR_LIMIT)
        return e;
    lz_text_clear(out);
    lz_text_printf(out, "%s%s", refusal, lz_err_text(e));
    lz_err_free(e);
    return NULL;
}

static lz_err *write_key(const wanted *w, const char *llvm, lz_text *out)
{
    const lz_target *t = w->target;
    lz_text text = { 0 };
    lz_text_printf(&text, "%s %s %s %s LLVM %s", t->name, t->triple, t->cpu, t->features, llvm);
    lz_text_putc(&text, '\0');
    lz_err *e = lz_text_check(&text);
    if (!e) {
        lz_kernel_key(w->kernel, w->variant, text.ptr, out);
        e = lz_text_check(out);
    }
    lz_text_deinit(&text);
    return e;
}

static bool is_refusal(lz_str object)
{
    return lz_str_starts(object, lz_str_of(refusal));
}

static lz_err *load(lz_str object, lz_native_loaded *out)
{
    if (is_refusal(object))
        return lz_errf(LZ_ERR_LIMIT, "%.*s", LZ_FMT(object));
    return lz_native_load(object.ptr, object.len, out);
}

/* An object from the disk that cannot be loaded is dropped from the cache and compiled again. */
static lz_err *use(wanted *w, lz_str key, lz_native_object *o, lz_native_loaded *out)
{
    lz_err *e = load(o->bytes, out);
    lz_code code = lz_err_code(e);
    if (o->made || (code != LZ_ERR_SYNTAX && code != LZ_ERR_UNSUPPORTED))
        return e;
    lz_logf(LZ_LOG_WARN, "recompiling: cached object could not be loaded: %s", lz_err_text(e));
    lz_err_free(e);
    lz_native_cache_drop(key);
    lz_native_object_deinit(o);
    LZ_TRY(lz_native_cache_get(key, emit, w, o));
    return load(o->bytes, out);
}

static lz_err *get(wanted *w, lz_str key, bool make, lz_native_loaded *out, bool *made)
{
    lz_native_object o;
    LZ_TRY(make ? lz_native_cache_get(key, emit, w, &o) : lz_native_cache_find(key, &o));
    lz_err *e = o.memory ? use(w, key, &o, out) : NULL;
    *made = o.made && !is_refusal(o.bytes);
    lz_native_object_deinit(&o);
    return e;
}

lz_err *lz_native_get(const lz_kernel *k, const lz_native_variant *v, bool make, lz_native_loaded *out,
                      bool *made)
{
    wanted w = { .kernel = k, .variant = v };
    const char *llvm;
    lz_text key = { 0 };
    LZ_TRY(lz_target_here(&w.target));
    LZ_TRY(lz_llvm_version(make, &llvm));
    if (!llvm)
        return NULL;
    lz_err *e = write_key(&w, llvm, &key);
    if (!e)
        e = get(&w, lz_text_view(&key), make, out, made);
    lz_text_deinit(&key);
    return e;
}
