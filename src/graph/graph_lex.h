/* graph_lex.h - splits the graph's text into tokens.
 *
 * Line ends and indentation are significant, except within brackets, where a line may be broken anywhere.
 * Comments go to the end of the line; blank lines are skipped. */
#ifndef LZ_GRAPH_GRAPH_LEX_H
#define LZ_GRAPH_GRAPH_LEX_H

#include "base/err.h"
#include "base/str.h"

typedef enum lz_token_kind {
    LZ_TOKEN_END,    /* of the text */
    LZ_TOKEN_LINE,   /* end of a line with tokens */
    LZ_TOKEN_NAME,   /* int, block0, aten */
    LZ_TOKEN_VALUE,  /* %x.1: text is "x.1" */
    LZ_TOKEN_NUMBER, /* 1, 4., 1e-05 without a sign */
    LZ_TOKEN_STRING, /* text includes the quotes, which are closed */
    LZ_TOKEN_ARROW,  /* -> */
    LZ_TOKEN_COLONS, /* :: */
    LZ_TOKEN_PUNCT,  /* any other single character */
    LZ_TOKEN_COUNT
} lz_token_kind;

typedef struct lz_token {
    lz_token_kind kind;
    char punct; /* PUNCT: the character; otherwise NUL */
    lz_str text;
    uint32_t line, col; /* from 1 */
    uint32_t indent;    /* columns before the first token of its line */
} lz_token;

typedef struct lz_lexer {
    const char *file; /* for errors; may be NULL */
    lz_str text;
    size_t at;
    size_t line_start;
    uint32_t line, indent;
    uint32_t open;  /* number of open brackets */
    lz_str comment; /* comment of the line that just ended, without # and spaces; empty: none */
    lz_token tok;   /* the current one */
} lz_lexer;

/* Reads the first token. Texts of 4 GiB and more are refused. */
LZ_MUST_USE lz_err *lz_lexer_init(lz_lexer *l, const char *file, lz_str text);
LZ_MUST_USE lz_err *lz_lexer_next(lz_lexer *l);

static inline bool lz_token_is(const lz_token *t, char punct)
{
    return t->punct == punct;
}

static inline bool lz_token_names(const lz_token *t, const char *name)
{
    return t->kind == LZ_TOKEN_NAME && lz_str_is(t->text, name);
}

/* Python's keywords as PyTorch's parser knows them; they cannot be names. */
bool lz_is_keyword(lz_str name);

/* "expected what, found token" at the current token. */
LZ_ERROR lz_err *lz_lexer_expected(const lz_lexer *l, const char *what);
LZ_ERROR lz_err *lz_lexer_error(const lz_lexer *l, const lz_token *at, lz_code code, const char *fmt, ...)
    LZ_PRINTF(4, 5);

/* Gives an error without a location the location of a token; takes e. NULL stays NULL. */
LZ_MUST_USE lz_err *lz_lexer_locate(const lz_lexer *l, const lz_token *at, lz_err *e);

/* Skips the character, or fails because it was expected. */
LZ_MUST_USE lz_err *lz_lexer_expect(lz_lexer *l, char punct);
/* Skips the character if it is there; *out: was it? */
LZ_MUST_USE lz_err *lz_lexer_accept(lz_lexer *l, char punct, bool *out);

#endif
