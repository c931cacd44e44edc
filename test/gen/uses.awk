# uses.awk OPS_H: a C file that uses every macro of the header, with all defaults and with its first keyword given.
function word(s) { # the last one
    match(s, /[A-Za-z0-9_]+$/)
    return substr(s, RSTART)
}

function use(declaration,   name, part, params, n, p, i, given, keyword) {
    gsub(/ +/, " ", declaration)
    match(declaration, /lz_[A-Za-z0-9_]+_at_?\(/)
    name = substr(declaration, RSTART, RLENGTH - 1)
    params = substr(declaration, RSTART + RLENGTH)
    sub(/_at_?$/, "", name)
    sub(/(, const lz_[A-Za-z0-9_]+ \*args)?\);$/, "", params)
    sub(/^lz_ctx \*c, lz_loc at(, )?/, "", params)
    n = split(params, p, ", ")
    given = "ctx"
    for (i = 1; i <= n; i++)
        given = given ", " word(p[i])
    params = "lz_ctx *ctx" (n ? ", " params : "")
    print "void use_" name "(" params ");"
    print "void use_" name "(" params ") { " name "(" given "); }"
    if (name in constant) {
        print "void use_kw_" name "(" params ");"
        keyword = member[name]
        print "void use_kw_" name "(" params ") { " name "(" given ", ." keyword " = " constant[name] "." keyword "); }"
    }
}

BEGIN {
    print "#include <lazuli/ops.h>"
}

/^typedef struct lz_.*_args_? \{$/ { # its first member
    type = $3
    getline
    sub(/;$/, "")
    first[type] = word($0)
}

/^typedef lz_.*_args_? lz_.*_args_?;$/ {
    sub(/;$/, "")
    first[$3] = first[$2]
}

/^LZ_API extern const / {
    sub(/;$/, "")
    name = $5
    sub(/_defaults_?$/, "", name)
    constant[name] = $5
    member[name] = first[$4]
    next
}

/^LZ_API / {
    text = ""
    open = 1
}

open {
    text = text $0
    if (/;$/) {
        use(text)
        open = 0
    }
}
