#include "gen/torch/operator_versions/gen_mobile_upgraders.h"
#include "gen_text.h"

/* Division as it was before version 4, and an operator that changed twice. */
static const char *const text =
    "upgraders:\n"
    "- turn_3_7: &turn\n"
    "    instructions: [[STORE, 1, 0], [MOVE, 1, 0], [LOADC, 0, 0], [OP, 0, 0], [RET, 0, 0]]\n"
    "    constants: [-1]\n"
    "    types: []\n"
    "    operators: [[aten::turn, '', 2]]\n"
    "    register_size: 1\n"
    "- full_0_4: not even read\n"
    "- turn_0_2: *turn\n"
    "- div_Tensor_0_3:\n"
    "    instructions:\n"
    "    - [STOREN, 1, 2]\n"
    "    - [LOAD, 1, 0]\n"
    "    - [LIST_CONSTRUCT, 0, 1]\n"
    "    - [JF, 3, 0]\n"
    "    - [LOADC, 1, 0]\n"
    "    - [JMP, -4, 0]\n"
    "    - [OP, 1, 0]\n"
    "    - [ISINSTANCE, 0, 2]\n"
    "    - [RET, 0, 0]\n"
    "    constants: [null, trunc, true, 7, 'a\"b']\n"
    "    types: [int, 'List[int]']\n"
    "    operators: [[aten::div, Tensor_mode, 3], [aten::is_floating_point, '', 1]]\n"
    "    register_size: 2\n"
    "versions:\n"
    "  aten::turn:\n"
    "  - {bumped_at_version: 3, upgrader_name: turn_0_2}\n"
    "  - {bumped_at_version: 8, upgrader_name: turn_3_7, old_schema: 'turn(int n) -> int'}\n"
    "  aten::div.Tensor:\n"
    "  - {bumped_at_version: 4, upgrader_name: div_Tensor_0_3}\n"
    "  aten::full:\n"
    "  - {bumped_at_version: 5, upgrader_name: full_0_4}\n";

typedef struct fixture {
    lz_arena arena;
    lzg_diag diag;
    lzg_upgraders all;
} fixture;

static lz_err *open(fixture *x, const char *yaml)
{
    const lzg_yaml *root;
    const lzg_lists *lists;
    *x = (fixture){ 0 };
    lzg_diag_init(&x->diag);
    LZ_TRY(lzg_lists_load(&x->arena, NULL, &lists));
    LZ_TRY(lzg_yaml_parse(&x->arena, lz_str_of(yaml), "u", &root));
    return lzg_upgraders_read(&x->arena, lists, root, &x->diag, &x->all);
}

static void close(fixture *x)
{
    lzg_diag_deinit(&x->diag);
    lz_arena_deinit(&x->arena);
}

static void check_versions(const lzg_upgraders *u)
{
    static const struct {
        const char *op;
        int32_t version;
        const char *want; /* NULL: none */
    } rows[] = {
        { "aten::turn", 0, "turn_0_2" }, { "aten::turn", 2, "turn_0_2" },
        { "aten::turn", 3, "turn_3_7" }, { "aten::turn", 7, "turn_3_7" },
        { "aten::turn", 8, NULL },       { "aten::div.Tensor", 3, "div_Tensor_0_3" },
        { "aten::div.Tensor", 4, NULL }, { "aten::div.Tensor", -1, NULL },
        { "aten::full", 0, NULL },       { "aten::mul", 0, NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const lzg_upgrader *got = lzg_upgraders_find(u, lz_str_of(rows[i].op), rows[i].version);
        assert_true(rows[i].want ? got && lz_str_is(got->name, rows[i].want) : !got);
    }
}

static lz_err *test_reading(void)
{
    fixture x;
    lz_err *e = open(&x, text);
    if (!e) {
        const lzg_upgraders *u = &x.all;
        assert_false(lzg_diag_any(&x.diag));
        assert_true(u->nupgraders == 3 && u->nops == 2);
        check_versions(u);
        const lzg_upgrader *div = &u->upgraders[0];
        assert_true(lz_str_is(div->name, "div_Tensor_0_3") && div->registers == 2);
        assert_true(div->ncode == 9 && div->nconstants == 5 && div->ntypes == 2 && div->nops == 2);
        assert_true(div->code[0].op == LZG_OPCODE_STOREN && div->code[0].x == 1 && div->code[0].n == 2);
        assert_true(lz_str_is(div->ops[0].overload, "Tensor_mode") && div->ops[0].nargs == 3);
    }
    close(&x);
    return e;
}

#define CASE(code, constants, types, registers)                                                              \
    "versions: {}\nupgraders:\n- u:\n    instructions: " code "\n    constants: " constants                  \
    "\n    types: " types "\n    operators: [[aten::f, '', 1]]\n    register_size: " registers "\n"

static lz_err *test_refusals(void)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "5", "u:1:1: a file of upgraders is a mapping, not an integer" },
        { "versions: {}", "there is no 'upgraders'" },
        { "upgraders: []", "there is no 'versions'" },
        { "versions: {}\nupgraders: []\nmore: 1", "u:3:1: unknown field 'more'" },
        { "versions: []\nupgraders: []", "u:1:11: versions is a mapping, not a list" },
        { "versions: {}\nupgraders: {}", "u:2:12: upgraders is a list, not a mapping" },
        { "versions: {}\nupgraders: [5]", "an entry of upgraders is a mapping, not an integer" },
        { "versions: {}\nupgraders: [{}]", "an entry of upgraders has a name" },
        { CASE("[[RET, 0, 0]]", "[]", "[]", "0") "- u: 5\n", "u:9:3: there are two upgraders 'u'" },
        { "versions: {a: [{bumped_at_version: 3, upgrader_name: u}]}\nupgraders: []",
          "there is no upgrader 'u'" },
        { "versions: {a: [{bumped_at_version: 0, upgrader_name: u}]}\nupgraders: []",
          "bumped_at_version lies between 1 and" },
        { "versions: {a: 3}\nupgraders: []", "an operator's history is a list, not an integer" },
        { "versions: {a: []}\nupgraders: []\nranges: {}", "u:3:9: there is no 'a'" },
        { "versions: {a: []}\nupgraders: []\nranges: {a: [[0, 1]]}", "there are 1 ranges, but 0 changes" },
        { "versions: {a: [{bumped_at_version: 3, upgrader_name: u}]}\nupgraders: []\nranges: {a: [[2]]}",
          "a range of versions has two ends, not 1" },
        { "versions: {a: [{bumped_at_version: 3, upgrader_name: u}]}\nupgraders: []\nranges: {a: [[2, 1]]}",
          "the last version lies between 2 and" },
        { "versions: {}\nupgraders: [{u: {}}]", "there is no 'instructions'" },
        { "versions: {}\nupgraders: [{u: {register_sizes: 1}}]", "unknown field 'register_sizes'" },
        { CASE("[]", "[]", "[]", "0"), "the last instruction must be RET" },
        { CASE("[[LOAD, 1, 0]]", "[]", "[]", "1"), "the last instruction must be RET" },
        { CASE("[[RETURN, 0, 0]]", "[]", "[]", "0"), "u:4:21: unknown instruction 'RETURN'" },
        { CASE("[[RET, 0]]", "[]", "[]", "0"), "an instruction has three parts, not 2" },
        { CASE("[[RET, 0, -1]]", "[]", "[]", "0"), "N of an instruction lies between 0 and 65535" },
        { CASE("[[LOAD, 3, 0], [RET, 0, 0]]", "[]", "[]", "2"), "lies between 1 and 2" },
        { CASE("[[STOREN, 2, 2], [RET, 0, 0]]", "[]", "[]", "2"), "lies between 1 and 1" },
        { CASE("[[LOADC, 1, 0], [RET, 0, 0]]", "[7]", "[]", "2"), "lies between 0 and 0" },
        { CASE("[[LOADC, 0, 0], [RET, 0, 0]]", "[]", "[]", "2"), "nothing that LOADC could point to" },
        { CASE("[[OP, 1, 0], [RET, 0, 0]]", "[]", "[]", "2"), "lies between 0 and 0" },
        { CASE("[[JMP, 2, 0], [RET, 0, 0]]", "[]", "[]", "0"), "lies between 0 and 1" },
        { CASE("[[JF, -1, 0], [RET, 0, 0]]", "[]", "[]", "0"), "lies between 0 and 1" },
        { CASE("[[GUARD, 1, 0], [RET, 0, 0]]", "[]", "[int]", "0"), "lies between 0 and 0" },
        { CASE("[[RET, 0, 0]]", "[1.5]", "[]", "0"),
          "u:5:17: a constant is null, a boolean, an integer or a text, not a number" },
        { CASE("[[RET, 0, 0]]", "[[]]", "[]", "0"), "an integer or a text, not a list" },
        { CASE("[[RET, 0, 0]]", "[]", "[3]", "0"), "a type is a string, not an integer" },
        { CASE("[[RET, 0, 0]]", "[]", "[]", "few"), "register_size is an integer, not a string" },
        { CASE("[[RET, 0, 0]]", "[]", "[]", "-1"), "register_size lies between" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++) {
        fixture x;
        lz_text out = { 0 };
        e = open(&x, rows[i].text);
        if (!e) {
            lzg_diag_print(&x.diag, &out);
            e = lz_text_check(&out);
        }
        if (!e && lz_str_find(lz_text_view(&out), lz_str_of(rows[i].want)) == SIZE_MAX)
            fail_msg("%s\nsays '%.*s'", rows[i].text, LZ_FMT(lz_text_view(&out)));
        lz_text_deinit(&out);
        close(&x);
    }
    return e;
}

/* A mistake does not hide the others, nor what is right. */
static lz_err *test_all_mistakes_are_told(void)
{
    fixture x;
    lz_err *e =
        open(&x, "versions:\n  a: [{bumped_at_version: 3, upgrader_name: w}]\n"
                 "  b: [{bumped_at_version: 9, upgrader_name: good}]\n"
                 "upgraders:\n- bad: {}\n- good: {instructions: [[RET, 0, 0]], constants: [], types: [], "
                 "operators: [], register_size: 0}\n- worse: 1\n");
    if (!e) {
        assert_int_equal(x.diag.found.len, 3);
        assert_true(x.all.nupgraders == 1 && x.all.nops == 1);
    }
    close(&x);
    return e;
}

/* The text of the file is checked by gen/torch_files; here the order of the upgraders, which others number.
 */
static lz_err *test_printing(void)
{
    fixture x;
    lz_text out = { 0 };
    lz_err *e = open(&x, text);
    if (!e)
        e = lzg_put_upgrader_mobile(&x.arena, &x.all, &out);
    if (!e) {
        static const char *const wanted[] = {
            "Upgrader({0, 3, \"div_Tensor_0_3\", 0})",
            "Upgrader({0, 2, \"turn_0_2\", 1})Upgrader({3, 7, \"turn_3_7\", 2})"
        };
        for (size_t i = 0; i < 2; i++)
            assert_true(lz_str_find(lz_text_view(&out), lz_str_of(wanted[i])) != SIZE_MAX);
    }
    lz_text_deinit(&out);
    close(&x);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_reading),
        LZ_TEST(test_refusals),
        LZ_TEST(test_all_mistakes_are_told),
        LZ_TEST(test_printing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
