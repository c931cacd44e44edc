#!/bin/sh
# Names that library code may not use: src/ and gen/ neither print, nor end the process, nor ask the locale; and
# memory comes from src/base/mem.c alone, in cli/ too. A line that has a reason says so in a comment:
#     why this is right here (lint: allow NAME)
#     tools/check-calls.sh [ROOT]
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}"

"$tools/sources.sh" . '*.c' '*.h' '*.inc' | awk '
function forbid(where, why, names,   i, n, name) {
    n = split(names, name, " ")
    for (i = 1; i <= n; i++) {
        folders[name[i]] = where
        reason[name[i]] = why
    }
}

BEGIN {
    library = "^(src|gen)/"
    forbid(library, "the library never ends its host", "abort exit _exit _Exit quick_exit")
    forbid(library, "the library never prints",
           "printf vprintf fprintf vfprintf dprintf vdprintf puts fputs putc fputc putchar perror psignal stdout stderr")
    forbid(library, "asks the locale; see base/number.h and base/str.h",
           "setlocale localeconv newlocale uselocale strcoll strxfrm strcasecmp strncasecmp strerror strerror_r " \
           "strsignal strftime strtod strtof strtold strtol strtoll strtoul strtoull strtoimax strtoumax " \
           "atof atoi atol atoll scanf sscanf fscanf " \
           "isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit " \
           "tolower toupper toascii mbtowc wctomb mbstowcs wcstombs mbrtowc wcrtomb towlower towupper")
    forbid(library, "writes without a bound, or keeps hidden state",
           "gets strcpy stpcpy strcat sprintf vsprintf strtok rand srand random srandom drand48")
    forbid("^(src|gen|cli)/", "memory comes from base/mem.h",
           "malloc calloc realloc reallocarray free aligned_alloc memalign posix_memalign valloc alloca " \
           "strdup strndup strdupa strndupa asprintf vasprintf getline getdelim open_memstream")
    folders["%"] = library
    reason["%"] = "a floating-point conversion asks the locale; see lz_text_double"
}

function report(name) {
    if (file ~ folders[name] && index(allowed, "lint: allow " name) == 0) {
        print file ":" line ": " name ": " reason[name]
        bad = 1
    }
}

function check_string(s) {
    gsub(/%%/, "", s)
    if (match(s, /%[-+ #0\47]*[0-9*]*(\.[0-9*]*)?[lL]?[aAeEfFgG]/))
        report("%")
}

# Calls; x.free() and x->free() go through a table and are fine.
function check_code(s,   name) {
    while (match(s, /[A-Za-z_0-9.>]+/)) {
        name = substr(s, RSTART, RLENGTH)
        s = substr(s, RSTART + RLENGTH)
        if (name in folders && (s ~ /^ *\(/ || name ~ /^std/))
            report(name)
    }
}

# What s starts with: a string, a character, or code up to the next of these or a comment.
function token(s) {
    if (match(s, /^"([^"\\]|\\.)*"/) || match(s, /^\47([^\47\\]|\\.)*\47/) || match(s, /^[^"\47\/]+/))
        return substr(s, 1, RLENGTH)
    return substr(s, 1, 1)
}

# Takes a line apart; in_comment outlives it.
function check_line(s,   code, t) {
    while (s != "") {
        if (in_comment) {
            in_comment = !match(s, /\*\//)
            s = in_comment ? "" : substr(s, RSTART + 2)
            continue
        }
        if (s ~ /^\/\//)
            break
        in_comment = s ~ /^\/\*/
        t = in_comment ? "/*" : token(s)
        if (t ~ /^".+"$/)
            check_string(t)
        code = code (in_comment || t ~ /^["\47]./ ? " " : t)
        s = substr(s, length(t) + 1)
    }
    check_code(code)
}

/^(src|gen|cli)\// && $0 != "src/base/mem.c" {
    file = $0
    line = in_comment = 0
    while ((getline text < file) > 0) {
        line++
        allowed = text
        if (text !~ /^[ \t]*#[ \t]*include/)
            check_line(text)
    }
    close(file)
}

END {
    exit bad
}'
