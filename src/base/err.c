#include "base/err.h"
#include "base/mem.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct lz_err {
    lz_code code;
    lz_reason reason; /* LZ_REASON_NONE: only the code is known */
    bool names_op;
    lz_loc loc;
    char *file; /* owned copy; loc.file points to it */
    char *text;
};

static lz_err oom = { .code = LZ_ERR_MEMORY, .text = (char *)"out of memory" };

static const char *const code_names[LZ_CODE_COUNT] = {
    [LZ_OK] = "ok",
    [LZ_ERR_MEMORY] = "memory",
    [LZ_ERR_ARG] = "argument",
    [LZ_ERR_SYNTAX] = "syntax",
    [LZ_ERR_MODEL] = "model",
    [LZ_ERR_IO] = "io",
    [LZ_ERR_NOT_FOUND] = "not found",
    [LZ_ERR_UNSUPPORTED] = "unsupported",
    [LZ_ERR_LIMIT] = "limit",
    [LZ_ERR_BUSY] = "busy",
    [LZ_ERR_INTERNAL] = "internal",
    [LZ_ERR_NEEDS_VALUE] = "needs a value",
};

const char *lz_code_name(lz_code code)
{
    return code >= LZ_OK && code < LZ_CODE_COUNT ? code_names[code] : "unknown";
}

const char *lz_reason_name(lz_reason r)
{
    static const char *const names[] = {
#define X(name, text) [LZ_REASON_##name] = text,
        LZ_REASONS(X)
#undef X
    };
    return (unsigned)r < LZ_REASON_COUNT ? names[r] : "";
}

lz_code lz_err_code(const lz_err *e)
{
    return e ? e->code : LZ_OK;
}

lz_reason lz_err_reason(const lz_err *e)
{
    if (!e || e->reason)
        return e ? e->reason : LZ_REASON_NONE;
    return e->code == LZ_ERR_ARG ? LZ_REASON_ARGUMENT : LZ_REASON_OTHER;
}

const char *lz_err_text(const lz_err *e)
{
    return e ? e->text : "";
}

lz_loc lz_err_loc(const lz_err *e)
{
    return e ? e->loc : (lz_loc){ 0 };
}

void lz_err_free(lz_err *e)
{
    if (!e || e == &oom)
        return;
    lz_mem_free(e->file);
    lz_mem_free(e->text);
    lz_mem_free(e);
}

lz_err *lz_err_oom(void)
{
    return &oom;
}

static char *copy_text(const char *s)
{
    size_t n = strlen(s) + 1;
    char *out = lz_mem_alloc(n);
    return out ? memcpy(out, s, n) : NULL;
}

static char *format(const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *out = n < 0 ? NULL : lz_mem_alloc((size_t)n + 1);
    if (out)
        vsnprintf(out, (size_t)n + 1, fmt, again);
    va_end(again);
    return out;
}

lz_err *lz_err_vat(lz_code code, lz_loc loc, const char *fmt, va_list ap)
{
    lz_err *e = lz_mem_zalloc(1, sizeof *e);
    if (!e)
        return &oom;
    e->code = code;
    e->loc = loc;
    e->text = format(fmt, ap);
    e->file = e->text && loc.file ? copy_text(loc.file) : NULL;
    e->loc.file = e->file;
    if (e->text && (e->file || !loc.file))
        return e;
    lz_err_free(e);
    return &oom;
}

lz_err *lz_err_at(lz_code code, lz_loc loc, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    lz_err *e = lz_err_vat(code, loc, fmt, ap);
    va_end(ap);
    return e;
}

lz_err *lz_errf(lz_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    lz_err *e = lz_err_vat(code, (lz_loc){ 0 }, fmt, ap);
    va_end(ap);
    return e;
}

lz_err *lz_err_because(lz_reason reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    lz_err *e = lz_err_vat(LZ_ERR_ARG, (lz_loc){ 0 }, fmt, ap);
    va_end(ap);
    return lz_err_set_reason(e, reason);
}

lz_err *lz_err_set_reason(lz_err *e, lz_reason reason)
{
    if (e && e != &oom)
        e->reason = reason;
    return e;
}

lz_err *lz_err_set_names_op(lz_err *e)
{
    if (e && e != &oom)
        e->names_op = true;
    return e;
}

bool lz_err_names_op(const lz_err *e)
{
    return e && e->names_op;
}

/* What an error with another text keeps of its cause. */
static lz_err *like(lz_err *e, const lz_err *cause)
{
    if (e != &oom) {
        e->reason = cause->reason;
        e->names_op = cause->names_op;
    }
    return e;
}

lz_err *lz_err_reword(lz_err *cause, lz_loc loc, const char *fmt, ...)
{
    if (!cause)
        return NULL;
    va_list ap;
    va_start(ap, fmt);
    lz_err *e = like(lz_err_vat(cause->code, loc, fmt, ap), cause);
    va_end(ap);
    lz_err_free(cause);
    return e;
}

lz_err *lz_err_wrap(lz_err *cause, const char *fmt, ...)
{
    if (!cause || cause == &oom)
        return cause;
    va_list ap;
    va_start(ap, fmt);
    char *context = format(fmt, ap);
    va_end(ap);
    lz_err *e = context ? lz_err_reword(cause, cause->loc, "%s: %s", context, cause->text) : &oom;
    if (!context)
        lz_err_free(cause);
    lz_mem_free(context);
    return e;
}

lz_err *lz_err_copy(const lz_err *e)
{
    if (!e || e == &oom)
        return (lz_err *)e;
    return like(lz_err_at(e->code, e->loc, "%s", e->text), e);
}

lz_err *lz_err_errno(int err, const char *operation, const char *path)
{
    /* unlike strerror, strerrordesc_np does not depend on the locale */
    const char *why = strerrordesc_np(err);
    lz_code code = err == ENOENT ? LZ_ERR_NOT_FOUND : err == ENOMEM ? LZ_ERR_MEMORY : LZ_ERR_IO;
    return lz_errf(code, "%s %s: %s", operation, path, why ? why : "unknown error");
}

bool lz_err_must_surface(const lz_err *e)
{
    return e && (e->code == LZ_ERR_MEMORY || e->code == LZ_ERR_INTERNAL);
}

void lz_err_drop(lz_err *e)
{
    assert(lz_err_code(e) != LZ_ERR_INTERNAL);
    lz_err_free(e);
}

lz_err *lz_err_first(lz_err *first, lz_err *second)
{
    if (!first)
        return second;
    lz_err_free(second);
    return first;
}
