#include "gen/torch/torch_options.h"
#include <stdio.h>

typedef struct parser {
    const lzg_command *command;
    lz_arena *arena;
    int argc, at; /* at: the next word */
    char **argv;
    void *out;
} parser;

static void *member_of(const lzg_option *o, void *options)
{
    return (char *)options + o->member;
}

static bool same_letter(char a, char b)
{
    return a == b || (a == '_' && b == '-') || (a == '-' && b == '_');
}

/* Whether `name` begins with the word; *whole: it is the word. */
static bool begins(const char *name, lz_str word, bool *whole)
{
    size_t i = 0;
    while (i < word.len && name[i] && same_letter(name[i], word.ptr[i]))
        i++;
    *whole = i == word.len && !name[i];
    return i == word.len;
}

static lz_err *unknown(const parser *p, lz_str word)
{
    return lz_errf(LZ_ERR_ARG, "%s has no option '%.*s'", p->command->name, LZ_FMT(word));
}

static lz_err *find_long(const parser *p, lz_str word, const lzg_option **out)
{
    const lzg_option *found = NULL;
    size_t n = 0;
    for (const lzg_option *o = p->command->options; o->name; o++) {
        bool whole;
        if (!begins(o->name, word, &whole))
            continue;
        *out = found = o;
        n++;
        if (whole)
            return NULL;
    }
    if (n > 1)
        return lz_errf(LZ_ERR_ARG, "'%.*s' may be several options, %s among them", LZ_FMT(word), found->name);
    return found ? NULL : unknown(p, word);
}

static lz_err *find_short(const parser *p, lz_str word, const lzg_option **out)
{
    for (const lzg_option *o = p->command->options; o->name; o++)
        if (o->letter && o->letter == word.ptr[1]) {
            *out = o;
            return NULL;
        }
    return unknown(p, word);
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

static lz_err *check_choice(const lzg_option *o, const char *value)
{
    const char *const *c = o->choices;
    while (c && *c && strcmp(*c, value) != 0)
        c++;
    if (!c || *c)
        return NULL;
    lz_text t = { 0 };
    lz_text_printf(&t, "%s cannot be '%s', only", o->name, value);
    for (c = o->choices; *c; c++)
        lz_text_printf(&t, " %s", *c);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lz_errf(LZ_ERR_ARG, "%.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

static lz_err *take_text(parser *p, const lzg_option *o, const char *joined)
{
    if (!joined && (p->at == p->argc || is_option(p->argv[p->at])))
        return lz_errf(LZ_ERR_ARG, "%s needs a value: %s %s", o->name, o->name, o->value);
    const char *value = joined ? joined : p->argv[p->at++];
    *(const char **)member_of(o, p->out) = value;
    return NULL;
}

static lz_err *take_list(parser *p, const lzg_option *o, const char *joined)
{
    const char **list;
    size_t n = 0;
    LZ_TRY(lz_arena_new(p->arena, &list, (size_t)(p->argc - p->at) + 2));
    if (joined)
        list[n++] = joined;
    while (!joined && p->at < p->argc && !is_option(p->argv[p->at]))
        list[n++] = p->argv[p->at++];
    *(const char *const **)member_of(o, p->out) = list;
    return NULL;
}

static lz_err *take_flag(parser *p, const lzg_option *o, const char *joined)
{
    *(bool *)member_of(o, p->out) = true;
    return joined ? lz_errf(LZ_ERR_ARG, "%s takes no value, found '%s'", o->name, joined) : NULL;
}

static lz_err *take_word(parser *p)
{
    static lz_err *(*const take[])(parser *, const lzg_option *, const char *) = {
        [LZG_TEXT] = take_text, [LZG_FLAG] = take_flag, [LZG_LIST] = take_list
    };
    const lzg_option *o = NULL;
    const char *word = p->argv[p->at++], *joined = NULL;
    if (!is_option(word))
        return lz_errf(LZ_ERR_ARG, "%s: unexpected argument '%s'", p->command->name, word);
    if (word[1] == '-') {
        const char *equals = strchr(word, '=');
        lz_str name = { word, equals ? (size_t)(equals - word) : strlen(word) };
        LZ_TRY(find_long(p, name, &o));
        joined = equals ? equals + 1 : NULL;
    } else {
        LZ_TRY(find_short(p, lz_str_of(word), &o));
        joined = word[2] ? word + 2 : NULL;
    }
    return o ? take[o->kind](p, o, joined) : unknown(p, lz_str_of(word));
}

static lz_err *complete_text(const lzg_command *c, const lzg_option *o, const char **text)
{
    if (!*text)
        *text = o->deflt;
    if (!*text)
        return o->required ? lz_errf(LZ_ERR_ARG, "%s needs %s %s", c->name, o->name, o->value) : NULL;
    return check_choice(o, *text);
}

static lz_err *check_list(const lzg_option *o, const char *const *list)
{
    for (; list && *list; list++)
        LZ_TRY(check_choice(o, *list));
    return NULL;
}

lz_err *lzg_options_complete(const lzg_command *c, void *options)
{
    for (const lzg_option *o = c->options; o->name; o++) {
        void *member = member_of(o, options);
        if (o->kind == LZG_TEXT)
            LZ_TRY(complete_text(c, o, member));
        if (o->kind == LZG_LIST)
            LZ_TRY(check_list(o, *(const char *const **)member));
    }
    return NULL;
}

lz_err *lzg_options_parse(const lzg_command *c, lz_arena *a, int argc, char **argv, void *out)
{
    parser p = { .command = c, .arena = a, .argc = argc, .at = 1, .argv = argv, .out = out };
    while (p.at < argc)
        LZ_TRY(take_word(&p));
    return lzg_options_complete(c, out);
}

/* ---- printing ---- */

static const char *list_mark(const lzg_option *o)
{
    return o->kind == LZG_LIST ? "..." : "";
}

void lzg_options_help(const lzg_command *c, lz_text *out)
{
    lz_text_printf(out, "usage: %s ...: %s\n", c->name, c->help);
    for (const lzg_option *o = c->options; o->name; o++) {
        char letter[] = { '-', o->letter, ',', ' ', '\0' };
        lz_text_printf(out, "  %s%s %s%s%s  %s", o->letter ? letter : "", o->name, o->value ? o->value : "",
                       list_mark(o), o->required ? " (required)" : "", o->help);
        lz_text_printf(out, o->deflt ? " (default: %s)\n" : "\n", o->deflt);
    }
}

/* Length first, so that no value can look like two. */
static void print_value(const char *value, lz_text *out)
{
    if (value)
        lz_text_printf(out, " %zu:%s", strlen(value), value);
}

void lzg_options_print(const lzg_command *c, const void *options, lz_text *out)
{
    lz_text_puts(out, c->name);
    for (const lzg_option *o = c->options; o->name; o++) {
        const void *member = (const char *)options + o->member;
        lz_text_printf(out, "\n%s", o->name);
        if (o->kind == LZG_FLAG)
            lz_text_puts(out, *(const bool *)member ? " yes" : "");
        if (o->kind == LZG_TEXT)
            print_value(*(const char *const *)member, out);
        const char *const *list = o->kind == LZG_LIST ? *(const char *const *const *)member : NULL;
        lz_text_puts(out, list ? " list" : "");
        for (; list && *list; list++)
            print_value(*list, out);
    }
    lz_text_putc(out, '\n');
}
