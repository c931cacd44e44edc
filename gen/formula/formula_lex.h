/* formula_lex.h - a formula as tokens, each with its place.
 *
 * A lexer is a position in a text; a copy of the lexer saves the position. It never fails twice: after
 * the end it returns LZG_TOK_END for ever. */
#ifndef LZG_FORMULA_LEX_H
#define LZG_FORMULA_LEX_H

#include "base/err.h"
#include "base/str.h"

/* Longer spellings before their beginnings. */
#define LZG_PUNCTUATION(X)                                                                                   \
    X(POW, "**")                                                                                             \
    X(STAR, "*")                                                                                             \
    X(FLOORDIV, "//")                                                                                        \
    X(SLASH, "/")                                                                                            \
    X(SHL, "<<")                                                                                             \
    X(LE, "<=")                                                                                              \
    X(LT, "<")                                                                                               \
    X(SHR, ">>")                                                                                             \
    X(GE, ">=")                                                                                              \
    X(GT, ">")                                                                                               \
    X(EQ, "==")                                                                                              \
    X(ASSIGN, "=")                                                                                           \
    X(NE, "!=")                                                                                              \
    X(BANG, "!")                                                                                             \
    X(ANDAND, "&&")                                                                                          \
    X(AND, "&")                                                                                              \
    X(OROR, "||")                                                                                            \
    X(OR, "|")                                                                                               \
    X(CARET, "^")                                                                                            \
    X(TILDE, "~")                                                                                            \
    X(PLUS, "+")                                                                                             \
    X(MINUS, "-")                                                                                            \
    X(PERCENT, "%")                                                                                          \
    X(LPAREN, "(")                                                                                           \
    X(RPAREN, ")")                                                                                           \
    X(LBRACKET, "[")                                                                                         \
    X(RBRACKET, "]")                                                                                         \
    X(COMMA, ",")                                                                                            \
    X(SEMICOLON, ";")                                                                                        \
    X(PATH, "::")                                                                                            \
    X(COLON, ":")                                                                                            \
    X(DOT, ".")                                                                                              \
    X(QUESTION, "?")

#define LZG_KEYWORDS(X)                                                                                      \
    X(LET, "let")                                                                                            \
    X(CHECK, "check")                                                                                        \
    X(FOLD, "fold")                                                                                          \
    X(LOOP, "loop")                                                                                          \
    X(FOR, "for")                                                                                            \
    X(IN, "in")                                                                                              \
    X(IF, "if")                                                                                              \
    X(IS, "is")                                                                                              \
    X(NOT, "not")                                                                                            \
    X(NONE, "None")                                                                                          \
    X(TRUE, "True")                                                                                          \
    X(FALSE, "False")

typedef enum lzg_token_kind {
    LZG_TOK_END,
    LZG_TOK_NAME,
    LZG_TOK_INT,
    LZG_TOK_FLOAT,
    LZG_TOK_STR,
#define X(name, spelling) LZG_TOK_##name,
    LZG_PUNCTUATION(X) LZG_KEYWORDS(X)
#undef X
        LZG_TOK_COUNT
} lzg_token_kind;

typedef struct lzg_token {
    lzg_token_kind kind;
    lz_str text; /* as written; of a string, the text between the quotes */
    lz_loc loc;
    int64_t integer;
    double real;
} lzg_token;

typedef struct lzg_lexer {
    lz_str text;
    size_t pos;
    lz_loc loc; /* of pos; constant if !moves */
    int32_t indent;
    bool moves;         /* places within the text are known */
    bool single_quotes; /* also quote a string */
} lzg_lexer;

LZ_MUST_USE
lz_err *lzg_lexer_next(lzg_lexer *l, lzg_token *out);
/* Moves over n bytes. */
void lzg_lexer_skip(lzg_lexer *l, size_t n);

/* "'+'", "a name", "the end", ... for messages. */
const char *lzg_token_kind_name(lzg_token_kind kind);

#endif
