/* room.h - how much more memory the process may map, where that is limited (RLIMIT_AS).
 *
 * LLVM, oneDNN and OpenBLAS end a process that runs out of memory while they work. So whoever enters one of
 * them asks first whether there is room for what it is known to take, and does without it if there is not:
 *
 *     static lz_room_need need = { "LLVM", 448 << 20 };
 *     if (!lz_room_for(&need))
 *         ... as if the library were missing ...
 *
 * What a need names is measured, and then some: other threads take memory meanwhile, and the first allocation
 * of each maps 64 MiB. Where there is no limit the question costs one load. */
#ifndef LZ_BASE_ROOM_H
#define LZ_BASE_ROOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct lz_room_need {
    const char *what; /* for people: it is left out */
    size_t bytes;
    atomic_bool told; /* once in the log */
} lz_room_need;

/* Whether the process has a limit, as lz_room_look saw it last. */
extern atomic_bool lz_room_is_limited;

/* Looks whether there is a limit: when a context is opened, a plan made, a library loaded, a kernel compiled.
 * A limit that is set later counts from the next of these on. */
void lz_room_look(void);

bool lz_room_is_there(lz_room_need *need);

static inline bool lz_room_for(lz_room_need *need)
{
    return !atomic_load_explicit(&lz_room_is_limited, memory_order_relaxed) || lz_room_is_there(need);
}

#endif
