#!/bin/sh
# Forbidden calls are found in code, and only there.
# shellcheck source=test/lint/lib.sh
. "$(dirname "$0")/lib.sh"
check="$root/tools/check-calls.sh"

write src/base/good.c <<'END'
/* exit(1), free(p)
 * and printf("%f") in a comment */
#include <stdlib.h>
struct table { size_t free; void (*release)(void *); }; // abort()
void run(struct table *t) { t->release(t); t->exit(1); }
const char *s = "exit(1) \" printf() 100%% of %d %s %.*s"; char quote = '"';
int n = my_free(p) + lz_text_printf(t, "%5ld", n) + snprintf(b, 1, "%zu", n);
void *q = malloc(1); /* handed to a stranger who frees it (lint: allow malloc) */
END
echo 'void *f(void) { return malloc(1); }' | write src/base/mem.c
echo 'int main(void) { puts("a"); exit(1); }' | write cli/main.c
echo 'int main(void) { free(malloc(1)); return printf("%f", 1.0); }' | write test/unit/test_x.c
passes "$check" "$tree"

bad() { # PATH CODE TEXT
    printf '\n%s\n' "$2" | write "$1"
    fails "$1:2: $3" "$check" "$tree"
    rm "$tree/$1"
}

bad src/a/b.c 'x = malloc(3);' 'malloc: '
bad src/a/b.c 'char quote = 34; /* a */ free(p);' 'free: '
bad src/a/b.h '#define DROP(p) free (p)' 'free: '
bad cli/b.c 'p = strdup(s);' 'strdup: '
bad gen/model/b.c 'if (isalpha(c)) return;' 'isalpha: '
bad src/a/b.c 'd = strtod(s, NULL);' 'strtod: '
bad src/a/b.c 'abort();' 'abort: '
bad src/a/b.c 'write_to(stderr);' 'stderr: '
bad src/a/b.c 'printf("%d", 1);' 'printf: '
bad src/a/b.c 'snprintf(b, n, "%s is %8.3f", s, d);' '%: '
bad src/a/b.c 'snprintf(b, n, "100%% %-*.*Lg", 1, 2, d);' '%: '
bad src/a/b.c 'setlocale(LC_ALL, ""); /* (lint: allow free) */' 'setlocale: '
