/* dl.h - libraries loaded at run time.
 *
 * A library is looked for under several names and used through a struct of function pointers; a table says
 * which symbol goes into which member. Its symbols stay private to the handle (RTLD_LOCAL) and are all bound
 * at once (RTLD_NOW). */
#ifndef LZ_BASE_DL_H
#define LZ_BASE_DL_H

#include "base/err.h"
#include "base/memory_limit.h"
#include "base/once.h"
#include <stdbool.h>

typedef struct lz_dl lz_dl;

/* Tries the names (sonames or paths, ending with NULL) in turn. LZ_ERR_NOT_FOUND
 * gives the reason for each. */
LZ_MUST_USE lz_err *lz_dl_open(const char *const *candidates, lz_dl **out);
void lz_dl_close(lz_dl *dl); /* NULL is allowed; the library's functions must not be called any more */

/* Like lz_dl_open, for a library that is used until the process ends: none of its globals is destroyed at
 * exit, so that any thread may exit while others load or use the library (dl_lasting.c). */
LZ_MUST_USE lz_err *lz_dl_open_lasting(const char *const *candidates, lz_dl **out);
void *lz_dl_lasting_handle(const char *name,
                           void **root); /* dlopen's handles of the library and its root object */

/* The path of the loaded file, as the loader found it; lives as long as dl. */
const char *lz_dl_path(const lz_dl *dl);

typedef struct lz_dl_symbol {
    const char *name;
    bool required;
    size_t offset; /* of the function pointer in the struct */
} lz_dl_symbol;

/* Fills the members that `symbols` names. A missing optional symbol becomes NULL. If required symbols are
 * missing, one LZ_ERR_NOT_FOUND names them all, and every member is NULL. */
LZ_MUST_USE lz_err *lz_dl_load(const lz_dl *dl, const lz_dl_symbol *symbols, size_t count, void *out);

/* An optional library: the first caller looks for it. Its absence is remembered, with the reason; running out
 * of memory and process exit are not remembered. */
typedef struct lz_dl_choice {
    const char *name; /* for messages: "oneDNN" */
    lz_err *(*load)(void);
    lz_memory_limit_need memory; /* needed to load and first use it; LZ_ERR_MEMORY if less is left */
    lz_once once;
    bool found;
    char why[512]; /* the reason if it was not found */
} lz_dl_choice;

#define LZ_DL_CHOICE(name_, load_, bytes_)                                                                   \
    {                                                                                                        \
        .name = (name_), .load = (load_), .memory = { .what = (name_), .bytes = (bytes_) },                  \
        .once = LZ_ONCE_INIT                                                                                 \
    }

/* Success: the library is loaded, by this call or an earlier one. */
LZ_MUST_USE lz_err *lz_dl_have(lz_dl_choice *c);

#endif
