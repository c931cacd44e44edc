/* gen_mobile_upgraders.h - what to run instead of an operator in a program that was
 * saved when the operator still meant something else.
 *
 * The original asks its running library for these facts; here they are a file, JSON or YAML:
 *
 *     {"upgraders": [
 *       {"div_Tensor_0_3": {
 *         "instructions": [["STOREN", 1, 2], ["LOAD", 1, 0], ...],
 *         "constants": [true, 0, "floor", null],        booleans, integers, texts, null
 *         "types": ["int", "Optional[int]"],
 *         "operators": [["aten::div", "Tensor", 2], ...], name, overload, arguments given
 *         "register_size": 3}}, ...],
 *      "versions": {
 *       "aten::div.Tensor": [{"upgrader_name": "div_Tensor_0_3", "bumped_at_version": 4, "old_schema":
 * "..."}],
 *       ...},                                              oldest change first
 *      "ranges": {"aten::div.Tensor": [[0, 3]], ...}}     versions that each change made old
 *
 * Without ranges, a change at version 4 makes programs of versions 0 to 3 old; one at 7 after it, those of 4
 * to 6. Names on the lists operator_versions.excluded_* are left out. Numbers of an instruction lie inside
 * the tables that they point into, and the last one returns. */
#ifndef LZG_GEN_MOBILE_UPGRADERS_H
#define LZG_GEN_MOBILE_UPGRADERS_H

#include "base/text.h"
#include "gen/text/diag.h"
#include "gen/text/lists.h"
#include "gen/text/yaml_utils.h"
#include "gen/torch/operator_versions/gen_mobile_upgraders_constant.h"

typedef enum lzg_opcode {
#define X(name, operand) LZG_OPCODE_##name,
    LZG_OPCODES(X)
#undef X
        LZG_OPCODE_COUNT
} lzg_opcode;

typedef struct lzg_instruction {
    lzg_opcode op;
    int32_t x;
    uint16_t n;
} lzg_instruction;

typedef struct lzg_called_op {
    lz_str name, overload;
    uint16_t nargs;
} lzg_called_op;

typedef struct lzg_upgrader {
    lz_str name;
    const lzg_instruction *code;
    const lzg_yaml *const *constants; /* NULL, BOOL, INT or STR each */
    const lz_str *types;
    const lzg_called_op *ops;
    size_t ncode, nconstants, ntypes, nops;
    uint16_t registers;
} lzg_upgrader;

typedef struct lzg_old_range {
    int32_t first, last; /* versions */
    const lzg_upgrader *upgrader;
} lzg_old_range;

typedef struct lzg_versioned_op {
    lz_str name;
    const lzg_old_range *ranges; /* oldest first, without a gap */
    size_t nranges;
} lzg_versioned_op;

typedef struct lzg_upgraders {
    const lzg_upgrader *upgraders; /* by the first name of their entry */
    const lzg_versioned_op *ops;   /* sorted by name */
    size_t nupgraders, nops;
} lzg_upgraders;

/* Mistakes go into d; entries without mistakes are in *out. Only memory errors are returned. */
LZ_MUST_USE lz_err *lzg_upgraders_read(lz_arena *a, const lzg_lists *lists, const lzg_yaml *root, lzg_diag *d,
                                       lzg_upgraders *out);

/* The upgrader of an operator in a program of that version; NULL: the meaning has not changed. */
const lzg_upgrader *lzg_upgraders_find(const lzg_upgraders *u, lz_str op, int32_t version);

const char *lzg_opcode_name(lzg_opcode op);

/* upgrader_mobile.cpp */
LZ_MUST_USE lz_err *lzg_put_upgrader_mobile(lz_arena *a, const lzg_upgraders *u, lz_text *out);

#endif
