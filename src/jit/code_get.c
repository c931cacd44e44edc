/* Where code comes from: the cache on the disk, or the compiler. */
#include "base/log.h"
#include "jit/code_cache.h"
#include "jit/codes_impl.h"
#include "jit/emit.h"
#include "jit/llvm_version.h"

typedef struct wanted {
    const lz_kernel *kernel;
    const lz_variant *variant;
    const lz_target *target;
} wanted;

/* That a kernel is refused, and why, is worth keeping too: it takes a compiler to find out. */
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

/* What our loader does not know may be known to LLVM's. */
static lz_err *load(lz_str object, lz_ccode *out)
{
    if (is_refusal(object))
        return lz_errf(LZ_ERR_LIMIT, "%.*s", LZ_FMT(object));
    lz_err *e = lz_code_load(object.ptr, object.len, out);
    if (lz_err_code(e) != LZ_ERR_UNSUPPORTED)
        return e;
    lz_logf(LZ_LOG_INFO, "LLVM loads a kernel: %s", lz_err_text(e));
    lz_err_free(e);
    return lz_code_load_orc(object.ptr, object.len, out);
}

/* An object from the disk that cannot be loaded was a mistake of whoever wrote it: it goes. */
static lz_err *use(wanted *w, lz_str key, lz_object *o, lz_ccode *out)
{
    lz_err *e = load(o->bytes, out);
    lz_code code = lz_err_code(e);
    if (o->made || (code != LZ_ERR_SYNTAX && code != LZ_ERR_UNSUPPORTED))
        return e;
    lz_logf(LZ_LOG_WARN, "made again, since it cannot be loaded: %s", lz_err_text(e));
    lz_err_free(e);
    lz_code_cache_drop(key);
    lz_object_deinit(o);
    LZ_TRY(lz_code_cache_get(key, emit, w, o));
    return load(o->bytes, out);
}

static lz_err *get(wanted *w, lz_str key, bool make, lz_ccode *out, bool *made)
{
    lz_object o;
    LZ_TRY(make ? lz_code_cache_get(key, emit, w, &o) : lz_code_cache_find(key, &o));
    lz_err *e = o.memory ? use(w, key, &o, out) : NULL;
    *made = o.made && !is_refusal(o.bytes);
    lz_object_deinit(&o);
    return e;
}

lz_err *lz_code_get(const lz_kernel *k, const lz_variant *v, bool make, lz_ccode *out, bool *made)
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
