/* dl.h - libraries found at run time.
 *
 * A library is looked for under several names and used through a struct of
 * function pointers; a table says which symbol goes into which member. Its symbols
 * stay private to the handle (RTLD_LOCAL) and are all bound at once (RTLD_NOW). */
#ifndef LZ_BASE_DL_H
#define LZ_BASE_DL_H

#include "base/err.h"
#include "base/once.h"
#include "base/room.h"
#include <stdbool.h>

typedef struct lz_dl lz_dl;

/* Tries the names (sonames or paths, ending with NULL) in turn. LZ_ERR_NOT_FOUND
 * gives the reason for each. */
LZ_MUST_USE lz_err *lz_dl_open(const char *const *candidates, lz_dl **out);
void lz_dl_close(lz_dl *dl); /* accepts NULL; what was loaded must not be called any more */

/* The same for a library that is used until the process ends: none of its globals is destroyed at exit, so
 * that any thread may exit while others load or use the library (dl_lasting.c). */
LZ_MUST_USE lz_err *lz_dl_open_lasting(const char *const *candidates, lz_dl **out);
void *lz_dl_lasting_handle(const char *name,
                           void **root); /* dlopen's handles of the library and of what loaded it */

/* The file that was loaded, as the loader found it; lives as long as dl. */
const char *lz_dl_path(const lz_dl *dl);

typedef struct lz_dl_symbol {
    const char *name;
    bool required;
    size_t offset; /* of the function pointer in the struct */
} lz_dl_symbol;

/* Fills the members that `symbols` names. An absent optional one becomes NULL;
 * absent required ones are one LZ_ERR_NOT_FOUND that names them all, and then every
 * member is NULL. */
LZ_MUST_USE lz_err *lz_dl_load(const lz_dl *dl, const lz_dl_symbol *symbols, size_t count, void *out);

/* A library that a process may do without: looked for once, by the first who asks. That it is
 * absent is remembered, with the reason; that memory was out or that the process exits is not. */
typedef struct lz_dl_choice {
    const char *name; /* for people: "oneDNN" */
    lz_err *(*load)(void);
    lz_room_need room; /* to load it and to begin with it; LZ_ERR_MEMORY where there is less */
    lz_once once;
    bool found;
    char why[512]; /* it was not */
} lz_dl_choice;

#define LZ_DL_CHOICE(name_, load_, room_)                                                                    \
    {                                                                                                        \
        .name = (name_), .load = (load_), .room = { .what = (name_), .bytes = (room_) },                     \
        .once = LZ_ONCE_INIT                                                                                 \
    }

/* Success: `load` has had it, now or before. */
LZ_MUST_USE lz_err *lz_dl_have(lz_dl_choice *c);

#endif
