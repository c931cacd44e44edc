/* selector.h - the contents of a selective build: operators, dtypes of their kernels, custom classes,
 * features.
 *
 * A selection is read from YAML, or made from a list of names, or merged from both: it includes
 * everything that either includes. */
#ifndef LZG_SELECTOR_H
#define LZG_SELECTOR_H

#include "gen/model/model.h"
#include "gen/text/diag.h"
#include "gen/torch/selective_build/selected_operator.h"

typedef struct lzg_selector {
    lz_arena arena;
    bool include_all_operators;
    bool include_all_non_op_selectives; /* every dtype of every kernel, every class */
    bool has_debug_info;
    lzg_text_set debug_info, custom_classes, build_features;
    lz_map operators;          /* name -> lzg_selected_op * */
    lz_map kernel_metadata;    /* kernel tag -> lzg_text_set * of dtypes */
    lz_map et_kernel_metadata; /* operator -> lzg_text_set * of kernel keys */
} lzg_selector;

void lzg_selector_init(lzg_selector *s); /* selects nothing, allocates nothing */
void lzg_selector_deinit(lzg_selector *s);

/* Adds the contents of the document. Every mistake goes into d. */
LZ_MUST_USE
lz_err *lzg_selector_read(lzg_selector *s, const lzg_yaml *doc, lzg_diag *d);
LZ_MUST_USE
lz_err *lzg_selector_load(lzg_selector *s, const char *path, lzg_diag *d);
/* Adds names, each with all its overloads, and everything that is no operator. */
LZ_MUST_USE
lz_err *lzg_selector_allow(lzg_selector *s, const lz_str *names, size_t n, bool root, bool training);
LZ_MUST_USE
lz_err *lzg_selector_merge(lzg_selector *into, const lzg_selector *from);

/* Names have their namespace: aten::add.Tensor. */
bool lzg_selector_has(const lzg_selector *s, lz_str name);
bool lzg_selector_trains(const lzg_selector *s, lz_str name);
bool lzg_selector_is_root(const lzg_selector *s, lz_str name);
bool lzg_selector_has_dtype(const lzg_selector *s, lz_str kernel_tag, lz_str dtype);
/* The operator's entry, or its base's entry if that selects all overloads; or NULL. */
const lzg_selected_op *lzg_selector_find(const lzg_selector *s, lz_str name);

LZ_MUST_USE
lz_err *lzg_selector_has_function(const lzg_selector *s, const lzg_function *f, bool *out);
LZ_MUST_USE
lz_err *lzg_selector_trains_function(const lzg_selector *s, const lzg_function *f, bool *out);

/* Which of an operator's kernel keys ("v1/...", compared without the version, or
 * "default") cover those that the models use. LZ_ERR_NOT_FOUND if a model's key has no
 * kernel and there is no default. Appends to *out, each once. */
LZ_MUST_USE
lz_err *lzg_selector_et_kernels(const lzg_selector *s, lz_str op, const lz_str *keys, size_t n,
                                lzg_text_set *out);

/* As a document that lzg_selector_read takes, in JSON; names are sorted. */
LZ_MUST_USE
lz_err *lzg_selector_print(const lzg_selector *s, lz_text *out);

#endif
