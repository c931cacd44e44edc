/* gen_mobile_upgraders_constant.h - the instructions that upgraders are made of.
 *
 * An instruction is NAME X N. The second column says what X is:
 *
 *     O  an operator of the upgrader          R  a register, from 1
 *     C  a constant of the upgrader           V  the first of N registers
 *     T  a type of the upgrader               P  a jump, relative to the instruction
 *     S  the first of N types                 -  a number, or nothing */
#ifndef LZG_GEN_MOBILE_UPGRADERS_CONSTANT_H
#define LZG_GEN_MOBILE_UPGRADERS_CONSTANT_H

/* clang-format off */
#define LZG_OPCODES(X)                                                                                       \
    X(OP, 'O') X(OPN, 'O') X(LOAD, 'R') X(MOVE, 'R') X(STOREN, 'V') X(STORE, 'R') X(DROP, '-')               \
    X(DROPR, 'R') X(LOADC, 'C') X(JF, 'P') X(JMP, 'P') X(LOOP, 'P') X(RET, '-') X(WAIT, '-') X(CALL, '-')    \
    X(GUARD, 'T') X(TYPECHECK, 'S') X(FAIL_GUARD, 'T') X(PROFILE_OP, '-') X(TAIL_CALL, '-')                  \
    X(INTERFACE_CALL, 'C') X(GET_ATTR, '-') X(SET_ATTR, '-') X(LIST_UNPACK, '-') X(TUPLE_CONSTRUCT, '-')     \
    X(NAMED_TUPLE_CONSTRUCT, 'T') X(LIST_CONSTRUCT, 'T') X(DICT_CONSTRUCT, 'T') X(CREATE_OBJECT, 'T')        \
    X(ISINSTANCE, 'S') X(TUPLE_SLICE, '-') X(TUPLE_INDEX, '-') X(RAISE_EXCEPTION, '-') X(DICT_INDEX, '-')    \
    X(UNCHECKED_CAST, '-') X(__IS__, '-') X(UN_INITIALIZED, '-') X(__ISNOT__, '-') X(FORMAT, '-')            \
    X(DEVICE, '-') X(DTYPE, '-') X(DIM, '-') X(__NOT__, '-') X(TO_LIST, '-') X(NUM_TO_TENSOR, '-')           \
    X(IS_CUDA, '-') X(FORK, '-') X(WARN, '-') X(ENTER, '-') X(EXIT, '-') X(AWAITABLE, '-')
/* clang-format on */

#endif
