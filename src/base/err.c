#include "base/err.h"
#include "base/mem.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct lz_err {
    lz_code code;
    lz_loc loc;
    char *file; /* owned copy behind loc.file */
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
};

const char *lz_code_name(lz_code code)
{
    return code >= LZ_OK && code < LZ_CODE_COUNT ? code_names[code] : "unknown";
}

lz_code lz_err_code(const lz_err *e)
{
    return e ? e->code : LZ_OK;
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

lz_err *lz_err_wrap(lz_err *cause, const char *fmt, ...)
{
    if (!cause || cause == &oom)
        return cause;
    va_list ap;
    va_start(ap, fmt);
    char *context = format(fmt, ap);
    va_end(ap);
    lz_err *e = context ? lz_err_at(cause->code, cause->loc, "%s: %s", context, cause->text) : &oom;
    lz_mem_free(context);
    lz_err_free(cause);
    return e;
}

lz_err *lz_err_errno(int err, const char *operation, const char *path)
{
    /* strerrordesc_np answers in English whatever the locale, unlike strerror. */
    const char *why = strerrordesc_np(err);
    lz_code code = err == ENOENT ? LZ_ERR_NOT_FOUND : err == ENOMEM ? LZ_ERR_MEMORY : LZ_ERR_IO;
    return lz_errf(code, "%s %s: %s", operation, path, why ? why : "unknown error");
}

lz_err *lz_err_first(lz_err *first, lz_err *second)
{
    if (!first)
        return second;
    lz_err_free(second);
    return first;
}
