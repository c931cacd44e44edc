/* model_entry.h - one operator entry while it is read.
 *
 * The fields of the mapping are sorted into places first; then each is read in a
 * fixed order, so that a reader may rely on what was read before it. */
#ifndef LZG_MODEL_ENTRY_H
#define LZG_MODEL_ENTRY_H

#include "gen/model/model_impl.h"

/* In the order of reading. */
/* clang-format off */
#define LZG_FIELDS(X)                                                                                        \
    X(func) X(cpp_no_default_args) X(use_const_ref_for_mutable_tensors) X(variants)                          \
    X(manual_kernel_registration) X(manual_cpp_binding) X(device_guard) X(device_check) X(structured)        \
    X(structured_delegate) X(structured_inherits) X(python_module) X(category_override) X(precomputed)       \
    X(tags) X(dispatch) X(autogen) X(ufunc_inner_loop)
#define LZG_OWN_FIELDS(X) X(formula) X(inner) X(shape) X(static) X(memory) X(strides) X(same_as)             \
    X(each) X(mask) X(length) X(number) X(statistics) X(copying) X(algebra)
/* clang-format on */

typedef enum lzg_field {
#define X(name) LZG_F_##name,
    LZG_FIELDS(X) LZG_OWN_FIELDS(X)
#undef X
        LZG_FIELD_COUNT
} lzg_field;

typedef struct lzg_entry {
    lzg_ops *ops;
    lz_arena *arena;
    bool own_fields;                        /* of the project's own files */
    const lzg_yaml *field[LZG_FIELD_COUNT]; /* NULL: absent */
    lzg_function *f;
} lzg_entry;

const char *lzg_field_name(lzg_field field);
/* "FIELD must be WANT, not KIND" at the value. */
LZ_MUST_USE
lz_err *lzg_entry_wrong(lzg_field field, const lzg_yaml *value, const char *want);
/* LZ_ERR_MODEL at the field if the entry has it, else at the schema. x may be NULL for a generated function.
 */
LZ_MUST_USE
lz_err *lzg_entry_error(const lzg_entry *x, const lzg_function *f, lzg_field field, const char *fmt, ...)
    LZ_PRINTF(4, 5);

/* "a::b::c" gives the namespace "a::b" and the name "c"; an error above so many levels. */
LZ_MUST_USE
lz_err *lzg_split_namespace(const lzg_yaml *value, size_t levels, lz_str *ns, lz_str *name);

LZ_MUST_USE
lz_err *lzg_entry_precomputed(lzg_entry *x, const lzg_yaml *value);
LZ_MUST_USE
lz_err *lzg_entry_ufunc(lzg_entry *x, const lzg_yaml *value);
/* The ways to call the operator, and its forms (model_variants.c). The default depends on tags and `same_as`,
 * so lzg_entry_default_variants is called after these fields were read. */
LZ_MUST_USE
lz_err *lzg_entry_variants(lzg_entry *x, const lzg_yaml *value);
LZ_MUST_USE
lz_err *lzg_entry_default_variants(lzg_entry *x);
/* Another name or overload of an operator that an earlier entry defines (model_same.c). */
LZ_MUST_USE
lz_err *lzg_entry_same_as(lzg_entry *x, const lzg_yaml *value);
/* An operator that an earlier entry defines, applied to the items of lists (model_each.c). */
LZ_MUST_USE
lz_err *lzg_entry_each(lzg_entry *x, const lzg_yaml *value);
/* The variants and forms of the operator that `same_as` names, under the names of this one. */
LZ_MUST_USE
lz_err *lzg_entry_same_variants(lzg_entry *x);
/* The operator that `same_as` names, if this one is an overload of it; or NULL. */
const lzg_function *lzg_same_operator(const lzg_function *f);

/* What results share with arguments, and where their strides come from (model_layout.c). */
LZ_MUST_USE
lz_err *lzg_entry_memory(lzg_entry *x, const lzg_yaml *value);
LZ_MUST_USE
lz_err *lzg_entry_strides(lzg_entry *x, const lzg_yaml *value);
/* Fields that name an argument or another operator (model_facts.c). */
LZ_MUST_USE
lz_err *lzg_entry_mask(lzg_entry *x, const lzg_yaml *value);
LZ_MUST_USE
lz_err *lzg_entry_length(lzg_entry *x, const lzg_yaml *value);
LZ_MUST_USE
lz_err *lzg_entry_number(lzg_entry *x, const lzg_yaml *value);
LZ_MUST_USE
lz_err *lzg_entry_statistics(lzg_entry *x, const lzg_yaml *value);
LZ_MUST_USE
lz_err *lzg_entry_copying(lzg_entry *x, const lzg_yaml *value);
/* Laws that hold for the operator (model_algebra.c). */
LZ_MUST_USE
lz_err *lzg_entry_algebra(lzg_entry *x, const lzg_yaml *value);
/* Whether the operators that `statistics` and `copying` name exist and have fitting schemas. Requires that
 * all entries were read. */
LZ_MUST_USE
lz_err *lzg_facts_check(const lzg_ops *ops, const lzg_function *f);
/* The LZ_MEMORY_ bits of an entry's form of that kind, by the entry's field `memory`. */
uint32_t lzg_form_memory(const lzg_function *f, lzg_schema_kind kind);
/* The stride rule of an entry's form of that kind; without a word in `memory` that of PyTorch's
 * TensorIterator. */
lz_stride_rule lzg_form_strides(const lzg_function *f, lzg_schema_kind kind);
/* Sorts the words of `memory` into those of the operator and those of its forms. Requires that the defaults
 * are set. */
LZ_MUST_USE
lz_err *lzg_entry_sort_memory(lzg_entry *x);
/* Sets the rule for strides by tags and arguments, unless the entry has the field `strides`. Requires that
 * fields, forms and tags were read. */
void lzg_function_default_strides(lzg_function *f);
/* The dispatch table: the field, or its default; keys of ufunc loops; the composite flags. */
LZ_MUST_USE
lz_err *lzg_entry_dispatch(lzg_entry *x);

/* Checks the rules that concern several fields of one function. */
LZ_MUST_USE
lz_err *lzg_function_check(const lzg_entry *x, const lzg_function *f);
/* Sets the facts about views and the printed signatures. */
LZ_MUST_USE
lz_err *lzg_function_derive(lz_arena *a, lzg_function *f);

/* A form that an entry lists (model_forms.c). */
LZ_MUST_USE
lz_err *lzg_form_make(lzg_ops *ops, const lzg_function *entry, const lzg_form *form, lzg_function **out);

/* Reads one entry. *out is NULL only after a memory error. */
LZ_MUST_USE
lz_err *lzg_entry_read(lzg_ops *ops, const lzg_yaml *entry, bool own_fields, lzg_function **out);

/* Adds a function to the list, by name and to the backend indices (D10). */
LZ_MUST_USE
lz_err *lzg_ops_add_function(lzg_ops *ops, lzg_function *f);

/* Reports the error of a rule about several entries. The error is dropped if an entry was
 * refused before, which may be the cause of this error. */
LZ_MUST_USE
lz_err *lzg_ops_report(lzg_ops *ops, lzg_diag *d, lz_err *e, const lzg_function *about);

/* The C++ name: the printed base, and _out behind that of an out function. */
LZ_MUST_USE
lz_err *lzg_cpp_base_name(lz_arena *a, const lzg_schema *s, lz_str *out);

void lzg_sort_strings(lz_str *strings, size_t *n); /* removes repeated strings, too */

#endif
