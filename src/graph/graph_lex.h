/* graph_lex.h - the graph's text, cut into tokens.
 *
 * Lines and their indentation carry meaning, except within brackets, where a line may be
 * broken anywhere. Comments go to the end of the line; blank lines do not count. */
#ifndef LZ_GRAPH_GRAPH_LEX_H
#define LZ_GRAPH_GRAPH_LEX_H

#include "base/err.h"
#include "base/str.h"

typedef enum lz_token_kind {
    LZ_TK_END,    /* of the text */
    LZ_TK_LINE,   /* end of a line that held something */
    LZ_TK_NAME,   /* int, block0, aten */
    LZ_TK_VALUE,  /* %x.1: text is "x.1" */
    LZ_TK_NUMBER, /* 1, 4., 1e-05 without a sign */
    LZ_TK_STRING, /* text with its quotes, which are closed */
    LZ_TK_ARROW,  /* -> */
    LZ_TK_COLONS, /* :: */
    LZ_TK_PUNCT,  /* any other single character */
    LZ_TK_COUNT
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
    uint32_t open;  /* brackets */
    lz_str comment; /* of the line that just ended, without # and spaces; empty: none */
    lz_token tok;   /* the current one */
} lz_lexer;

/* Stands at the first token. Texts of 4 GiB and more are refused. */
LZ_MUST_USE lz_err *lz_lexer_init(lz_lexer *l, const char *file, lz_str text);
LZ_MUST_USE lz_err *lz_lexer_next(lz_lexer *l);

static inline bool lz_token_is(const lz_token *t, char punct)
{
    return t->punct == punct;
}

static inline bool lz_token_names(const lz_token *t, const char *name)
{
    return t->kind == LZ_TK_NAME && lz_str_is(t->text, name);
}

/* Python's words that PyTorch reads as such, so that nothing can be called by them. */
bool lz_is_keyword(lz_str name);

/* "expected what, found token" at the current token. */
LZ_ERROR lz_err *lz_lexer_expected(const lz_lexer *l, const char *what);
LZ_ERROR lz_err *lz_lexer_error(const lz_lexer *l, const lz_token *at, lz_code code, const char *fmt, ...)
    LZ_PRINTF(4, 5);

/* Gives an error that has no place the one of a token; takes it. NULL stays NULL. */
LZ_MUST_USE lz_err *lz_lexer_locate(const lz_lexer *l, const lz_token *at, lz_err *e);

/* Passes over the character, or says that it was expected. */
LZ_MUST_USE lz_err *lz_lexer_expect(lz_lexer *l, char punct);
/* Passes over it if it is there. */
LZ_MUST_USE lz_err *lz_lexer_accept(lz_lexer *l, char punct, bool *out);

#endif
