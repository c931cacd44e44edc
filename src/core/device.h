/* device.h - the device of a tensor: a type, which has a name, and an index.
 *
 * Types are registered once for the life of the process and never change their number; type 0 is "cpu",
 * initially with one device. All functions may be called from any thread. */
#ifndef LZ_CORE_DEVICE_H
#define LZ_CORE_DEVICE_H

#include "base/err.h"
#include "base/str.h"
#include <lazuli/value.h>

enum {
    LZ_DEVICE_TYPES = 32,      /* most types */
    LZ_DEVICE_INDICES = 32767, /* most devices of one type */
    LZ_DEVICE_NAME = 32,       /* a type's name is shorter */
    LZ_DEVICE_CHARS = 40       /* enough for any lz_device_print, with its NUL */
};

#define LZ_DEVICE_CPU  ((lz_device){ 0, 0 })
#define LZ_DEVICE_NONE ((lz_device){ -1, -1 })

/* A name is letters and underscores. A known name keeps its number and gets the new count of devices.
 * LZ_ERR_LIMIT: the table is full. */
LZ_MUST_USE lz_err *lz_device_register(lz_str name, int32_t count, int16_t *out);

/* "cuda:1"; "cuda" has index -1. LZ_ERR_SYNTAX if it is neither form, LZ_ERR_NOT_FOUND if the type is not
 * registered. The index is not compared with the count. */
LZ_MUST_USE lz_err *lz_device_parse(lz_str text, lz_device *out);

/* The reverse of lz_device_parse; "none" without a type. NUL-terminated; returns buf. */
const char *lz_device_print(lz_device d, char buf[LZ_DEVICE_CHARS]);

/* NULL if the type is registered and has this index, or the index is -1. */
LZ_MUST_USE lz_err *lz_device_check(lz_device d);

int32_t lz_device_count(int16_t type);    /* 0: no such type */
const char *lz_device_name(int16_t type); /* NULL: no such type */
int16_t lz_device_types(void);            /* types are 0, 1, ... below this */

static inline bool lz_device_eq(lz_device a, lz_device b)
{
    return a.type == b.type && a.index == b.index;
}

#endif
