/* Models and training runs in files. */
#include "base/mem.h"
#include "nn/module.h"
#include "nn/nn_state.h"
#include <lazuli/io.h>
#include <lazuli/optim.h>

/* ---- tensors of files ---- */

/* other: the optimiser of a run; unused for a model. */
typedef bool use_fn(lz_module *m, void *other, lz_named_tensors list);

/* Calls `use` with all tensors of the archive, then closes the archive. */
static bool with_tensors(lz_module *m, void *other, lz_archive *a, use_fn *use)
{
    const lz_loc at = m->at;
    if (!a)
        return false;
    size_t n = lz_archive_count(a);
    lz_named_tensor *v = lz_mem_zalloc(n + 1, sizeof *v);
    lz_scope *s = lz_scope_push(m->ctx);
    bool ok = lz_nn_report(m->ctx, (lz_loc){ 0 }, v ? NULL : lz_err_oom()) && lz_archive_tensors(m->ctx, a, v)
              && use(m, other, (lz_named_tensors){ v, n });
    lz_scope_pop(s);
    lz_mem_free(v);
    lz_archive_close(a);
    return ok;
}

/* ---- models ---- */

bool lz_save_model_at(lz_module *m, lz_loc at, const char *path)
{
    lz_state *s = m ? lz_state_create(m->ctx) : NULL;
    bool ok =
        s && lz_module_state(m, "", s) && lz_save_safetensors_at(m->ctx, at, path, lz_state_list(s), NULL, 0);
    lz_state_free(s);
    return ok;
}

bool(lz_save_model)(lz_module *m, const char *path)
{
    return lz_save_model_at(m, (lz_loc){ 0 }, path);
}

static bool use_model(lz_module *m, void *other, lz_named_tensors list)
{
    (void)other;
    return lz_module_load_state(m, "", list, false);
}

bool lz_load_model(lz_module *m, const char *path)
{
    return m && with_tensors(m, NULL, lz_archive_open(m->ctx, path), use_model);
}

static bool use_part(lz_module *m, void *findings, lz_named_tensors list)
{
    lz_err *e = lz_state_into(m, "", list, true, findings);
    return lz_nn_report(m->ctx, (lz_loc){ 0 }, e);
}

bool lz_load_model_partial(lz_module *m, const char *path, char **left)
{
    lz_text findings = { 0 };
    if (left)
        *left = NULL;
    bool ok = m && with_tensors(m, &findings, lz_archive_open(m->ctx, path), use_part);
    if (ok && left)
        ok = lz_nn_report(m->ctx, (lz_loc){ 0 }, lz_text_take(&findings, left));
    lz_text_deinit(&findings);
    return ok;
}

/* ---- training runs ---- */

static bool use_run(lz_module *m, void *optim, lz_named_tensors list)
{
    return lz_run_load_state(m, optim, list);
}

bool lz_save_training_at(lz_module *m, lz_loc at, lz_optim *o, const char *path, int64_t step)
{
    lz_state *s = lz_run_state(m, o);
    bool ok = s && lz_save_checkpoint_at(m->ctx, at, path, lz_state_list(s), step);
    lz_state_free(s);
    return ok;
}

bool(lz_save_training)(lz_module *m, lz_optim *o, const char *path, int64_t step)
{
    return lz_save_training_at(m, (lz_loc){ 0 }, o, path, step);
}

/* On failure the random generator keeps its state. */
bool lz_load_training(lz_module *m, lz_optim *o, const char *path, int64_t *step)
{
    int64_t at = 0;
    if (!m)
        return false;
    lz_random_state was = lz_get_random_state(m->ctx);
    if (!with_tensors(m, o, lz_open_checkpoint(m->ctx, path, &at), use_run)) {
        lz_set_random_state(m->ctx, was);
        return false;
    }
    *step = at;
    return true;
}
