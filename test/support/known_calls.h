/* known_calls.h - runs recorded calls of a file, operator by operator, and counts those that differ from
 * PyTorch. A list names the operators of which some calls may differ, a line each: operator, how many calls,
 * why. More is a failure; fewer is reported. */
#ifndef LZ_TEST_KNOWN_CALLS_H
#define LZ_TEST_KNOWN_CALLS_H

#include "base/json.h"
#include <lazuli/lazuli.h>

typedef struct known_calls known_calls;
struct known_calls {
    lz_ctx *c;
    /* A line of the file whose operator is x->op; calls known_calls_report for each call. */
    lz_err *(*line)(known_calls *x, const lz_json *j, lz_arena *a);
    lz_str known; /* the list */
    const char *const *only;
    int nonly;
    bool verbose;
    char op[128];
    int failed_here; /* of that operator */
    int calls, failed, ops, bad_ops;
    bool worse; /* some operator has more calls that differ than the list allows */
};

/* Takes e over; NULL: the call is as expected. mode: "", or " (held)" and the like, for the message. */
void known_calls_report(known_calls *x, const lz_json *j, const char *mode, lz_err *e);
/* Runs with the arguments FILE KNOWN [-v] [OPERATOR...]. True: everything is as expected. */
bool known_calls_run(known_calls *x, int argc, char **argv);

#endif
