#include "gen/dump_full.h"
#include "gen/dump.h"
#include "gen/dump_api.h"
#include "gen/dump_python.h"

static lz_err *put_python(const void *user, const lzg_function *f, lz_arena *scratch, lz_json_writer *w)
{
    return lzg_dump_python_key(user, f, scratch, w);
}

static lz_err *dump(const lzg_ops *ops, const lzg_python *p, lz_text *out)
{
    const lzg_dump_hook hooks[] = {
        { .key = "c_shim", .put = lzg_dump_c_shim },
        { .key = "functionalization", .put = lzg_dump_functionalization },
        { .key = "lazy", .put = lzg_dump_lazy },
        { .key = "python", .put_user = put_python, .user = p },
        { .key = "return_names", .put = lzg_dump_return_names },
        { .key = "sig", .put = lzg_dump_sig },
        { .key = "vmap", .put = lzg_dump_vmap },
        { 0 },
    };
    return lzg_dump_model(ops, hooks, out);
}

lz_err *lzg_dump_full(const lzg_ops *ops, lz_text *out)
{
    lzg_python p;
    lz_err *e = lzg_python_init(&p, ops);
    if (!e)
        e = dump(ops, &p, out);
    lzg_python_deinit(&p);
    return e;
}
