/* Mobile upgraders as C tables. */
#include "gen/emit/c_text.h"
#include "gen/torch/operator_versions/gen_mobile_upgraders.h"

static const char *const head =
    "/* Upgraders of operators, and the versions that they are for: generated, do not edit. */\n"
    "#include <stddef.h>\n#include <stdint.h>\n\n"
    "typedef struct lz_upgrader_step {\n    uint8_t op;\n    uint16_t n;\n    int32_t x;\n} "
    "lz_upgrader_step;\n"
    "typedef struct lz_upgrader_constant {\n    char kind; /* 'n'one, 'b'ool, 'i'nteger, 's'tring */\n"
    "    int64_t i;\n    const char *s;\n} lz_upgrader_constant;\n"
    "typedef struct lz_upgrader_op {\n    const char *name, *overload;\n    uint16_t nargs;\n} "
    "lz_upgrader_op;\n"
    "typedef struct lz_upgrader {\n    const char *name;\n    const lz_upgrader_step *steps;\n"
    "    const lz_upgrader_constant *constants;\n    const char *const *types;\n    const lz_upgrader_op "
    "*ops;\n"
    "    size_t nsteps, nconstants, ntypes, nops;\n    uint16_t registers;\n} lz_upgrader;\n"
    "typedef struct lz_old_op {\n    const char *name;\n    int32_t first, last;\n    uint32_t upgrader;\n"
    "} lz_old_op;\n\nenum {\n";

static void put_opcodes(lz_text *out)
{
#define X(name, operand) lz_text_puts(out, "    LZ_STEP_" #name ",\n");
    LZG_OPCODES(X)
#undef X
    lz_text_puts(out, "};\n");
}

static const char *opcode_name(lzg_opcode op)
{
    static const char *const names[] = {
#define X(name, operand) #name,
        LZG_OPCODES(X)
#undef X
    };
    return names[op];
}

/* A table of the i-th upgrader; an empty one does not exist. */
static void put_table(lz_text *out, const char *type, const char *table, size_t i, size_t n)
{
    if (n)
        lz_text_printf(out, "static const %s%s_%zu[] = {\n", type, table, i);
}

static void end_table(lz_text *out, size_t n)
{
    lz_text_puts(out, n ? "};\n" : "");
}

static void put_steps(lz_text *out, const lzg_upgrader *u, size_t i)
{
    put_table(out, "lz_upgrader_step ", "steps", i, u->ncode);
    for (size_t k = 0; k < u->ncode; k++)
        lz_text_printf(out, "    { LZ_STEP_%s, %u, %d },\n", opcode_name(u->code[k].op),
                       (unsigned)u->code[k].n, (int)u->code[k].x);
    end_table(out, u->ncode);
}

/* The smallest integer has no literal of its own. */
static void put_integer(lz_text *out, int64_t v)
{
    if (v == INT64_MIN)
        lz_text_puts(out, "INT64_MIN");
    else
        lz_text_printf(out, "INT64_C(%lld)", (long long)v);
}

static void put_constants(lz_text *out, const lzg_upgrader *u, size_t i)
{
    static const char kinds[] = {
        [LZG_YAML_NULL] = 'n', [LZG_YAML_BOOL] = 'b', [LZG_YAML_INT] = 'i', [LZG_YAML_STR] = 's'
    };
    put_table(out, "lz_upgrader_constant ", "constants", i, u->nconstants);
    for (size_t k = 0; k < u->nconstants; k++) {
        const lzg_yaml *c = u->constants[k];
        lz_text_printf(out, "    { '%c', ", kinds[c->kind]);
        put_integer(out, c->kind == LZG_YAML_INT ? c->integer : c->kind == LZG_YAML_BOOL && c->truth);
        lz_text_puts(out, ", ");
        lzg_put_c_string(out, c->kind == LZG_YAML_STR ? c->text : (lz_str){ 0 });
        lz_text_puts(out, " },\n");
    }
    end_table(out, u->nconstants);
}

static void put_types(lz_text *out, const lzg_upgrader *u, size_t i)
{
    put_table(out, "char *const ", "types", i, u->ntypes);
    for (size_t k = 0; k < u->ntypes; k++) {
        lz_text_puts(out, "    ");
        lzg_put_c_string(out, u->types[k]);
        lz_text_puts(out, ",\n");
    }
    end_table(out, u->ntypes);
}

static void put_ops(lz_text *out, const lzg_upgrader *u, size_t i)
{
    put_table(out, "lz_upgrader_op ", "ops", i, u->nops);
    for (size_t k = 0; k < u->nops; k++) {
        lz_text_puts(out, "    { ");
        lzg_put_c_string(out, u->ops[k].name);
        lz_text_puts(out, ", ");
        lzg_put_c_string(out, u->ops[k].overload);
        lz_text_printf(out, ", %u },\n", (unsigned)u->ops[k].nargs);
    }
    end_table(out, u->nops);
}

static void put_name(lz_text *out, const char *table, size_t i, size_t n)
{
    if (n)
        lz_text_printf(out, ", %s_%zu", table, i);
    else
        lz_text_puts(out, ", NULL");
}

static void put_upgraders(lz_text *out, const lzg_upgraders *u)
{
    lz_text_printf(out, "\nenum { LZ_UPGRADERS = %zu, LZ_OLD_OPS = ", u->nupgraders);
    size_t old = 0;
    for (size_t i = 0; i < u->nops; i++)
        old += u->ops[i].nranges;
    lz_text_printf(out, "%zu };\n\nconst lz_upgrader lz_upgraders[LZ_UPGRADERS + 1] = {\n", old);
    for (size_t i = 0; i < u->nupgraders; i++) {
        const lzg_upgrader *one = &u->upgraders[i];
        lz_text_puts(out, "    { ");
        lzg_put_c_string(out, one->name);
        put_name(out, "steps", i, one->ncode);
        put_name(out, "constants", i, one->nconstants);
        put_name(out, "types", i, one->ntypes);
        put_name(out, "ops", i, one->nops);
        lz_text_printf(out, ", %zu, %zu, %zu, %zu, %u },\n", one->ncode, one->nconstants, one->ntypes,
                       one->nops, (unsigned)one->registers);
    }
    lz_text_puts(out, "    { 0 }\n};\n");
}

static void put_versions(lz_text *out, const lzg_upgraders *u)
{
    lz_text_puts(out, "\nconst lz_old_op lz_old_ops[LZ_OLD_OPS + 1] = {\n");
    for (size_t i = 0; i < u->nops; i++)
        for (size_t k = 0; k < u->ops[i].nranges; k++) {
            const lzg_old_range *r = &u->ops[i].ranges[k];
            lz_text_puts(out, "    { ");
            lzg_put_c_string(out, u->ops[i].name);
            lz_text_printf(out, ", %d, %d, %zu },\n", (int)r->first, (int)r->last,
                           (size_t)(r->upgrader - u->upgraders));
        }
    lz_text_puts(out, "    { 0 }\n};\n");
}

lz_err *lzg_upgraders_print(const lzg_upgraders *u, lz_text *out)
{
    lz_text_puts(out, head);
    put_opcodes(out);
    for (size_t i = 0; i < u->nupgraders; i++) {
        const lzg_upgrader *one = &u->upgraders[i];
        lz_text_puts(out, "\n/* ");
        lzg_put_c_comment(out, one->name);
        lz_text_puts(out, " */\n");
        put_steps(out, one, i);
        put_constants(out, one, i);
        put_types(out, one, i);
        put_ops(out, one, i);
    }
    put_upgraders(out, u);
    put_versions(out, u);
    return lz_text_check(out);
}
