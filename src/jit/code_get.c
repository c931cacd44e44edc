/* Where code comes from: the cache on the disk, or LLVM. */
#include "jit/code_cache.h"
#include "jit/codes_impl.h"
#include "jit/emit.h"

typedef struct order {
    const lz_kernel *kernel;
    const lz_variant *variant;
    bool make;
} order;

/* What the cache calls for what it does not have. */
static lz_err *make_object(void *user, lz_text *out)
{
    const order *o = user;
    return o->make ? lz_emit_kernel(o->kernel, o->variant, NULL, out)
                   : lz_errf(LZ_ERR_BUSY, "not to be made now");
}

/* By our loader, or by LLVM's what that refuses. */
static lz_err *load(const lz_object *o, lz_ccode *out)
{
    lz_err *e = lz_code_load(o->bytes.ptr, o->bytes.len, out);
    if (lz_err_code(e) != LZ_ERR_UNSUPPORTED || !o->made)
        return e;
    lz_err_free(e);
    return lz_code_load_orc(o->bytes.ptr, o->bytes.len, out);
}

static lz_err *get(lz_str key, order *o, lz_ccode *out, bool *made)
{
    lz_object object = { 0 };
    LZ_TRY(lz_code_cache_get(key, make_object, o, &object));
    *made = object.made;
    lz_err *e = load(&object, out);
    lz_object_deinit(&object);
    return e;
}

/* An object from the disk that cannot be loaded is made again. */
static lz_err *get_or_again(lz_str key, order *o, lz_ccode *out, bool *made)
{
    lz_err *e = get(key, o, out, made);
    lz_code code = lz_err_code(e);
    if (!e || *made || !(code == LZ_ERR_SYNTAX || code == LZ_ERR_UNSUPPORTED))
        return e;
    lz_err_free(e);
    lz_code_cache_drop(key);
    return get(key, o, out, made);
}

lz_err *lz_code_get(const lz_kernel *k, const lz_variant *v, bool make, lz_ccode *out, bool *made)
{
    order o = { k, v, make };
    lz_text target = { 0 }, key = { 0 };
    lz_err *e = lz_target_text(NULL, &target);
    lz_code_thread_guard(); /* before the compiler, which is loaded now, is taken down */
    lz_text_putc(&target, '\0');
    e = e ? e : lz_text_check(&target);
    if (!e) {
        lz_kernel_key(k, v, target.ptr, &key);
        e = lz_text_check(&key);
    }
    *made = false;
    e = e ? e : get_or_again(lz_text_view(&key), &o, out, made);
    lz_text_deinit(&target);
    lz_text_deinit(&key);
    if (!make && lz_err_code(e) == LZ_ERR_BUSY) {
        lz_err_free(e);
        return NULL;
    }
    return e;
}

void lz_code_put(lz_ccode *c)
{
    if (c->memory && !c->size)
        lz_code_unload_orc(c);
    else
        lz_code_unload(c);
}
