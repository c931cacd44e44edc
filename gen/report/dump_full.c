#include "gen/report/dump_full.h"
#include "gen/report/dump_api.h"
#include "gen/report/dump_model.h"
#include "gen/report/dump_python.h"

static lz_err *put_python(const void *user, const lzg_function *f, lz_arena *scratch, lz_json_writer *w)
{
    return lzg_dump_python_key(user, f, scratch, w);
}

static const lzg_dump_hook hooks[] = {
    { "c_shim", lzg_dump_c_shim },
    { "functionalization", lzg_dump_functionalization },
    { "lazy", lzg_dump_lazy },
    { "return_names", lzg_dump_return_names },
    { "sig", lzg_dump_sig },
    { "vmap", lzg_dump_vmap },
    { 0 },
};

lz_err *lzg_dump_full(const lzg_ops *ops, lz_text *out)
{
    lzg_python p;
    lz_err *e = lzg_python_init(&p, ops);
    const lzg_dump_user_hook users[] = { { "python", put_python, &p }, { 0 } };
    if (!e)
        e = lzg_dump_model_user(ops, hooks, users, out);
    lzg_python_deinit(&p);
    return e;
}
