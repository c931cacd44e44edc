/* llvm.h - the C interface of libLLVM, found at run time.
 *
 * The prototypes are ours, one row each; the names are LLVM's without their prefix. The
 * library is looked for once it is needed: LAZULI_LLVM names it, else the releases 21 to
 * 16 are tried. It stays loaded. */
#ifndef LZ_JIT_LLVM_H
#define LZ_JIT_LLVM_H

#include "base/err.h"
#include <stdint.h>

typedef struct lz_lcontext lz_lcontext;
typedef struct lz_lmodule lz_lmodule;
typedef struct lz_lbuilder lz_lbuilder;
typedef struct lz_ltype lz_ltype;
typedef struct lz_lvalue lz_lvalue;
typedef struct lz_lblock lz_lblock;
typedef struct lz_lattribute lz_lattribute;
typedef struct lz_lmetadata lz_lmetadata;
typedef struct lz_ltarget lz_ltarget;
typedef struct lz_lmachine lz_lmachine;
typedef struct lz_llayout lz_llayout;
typedef struct lz_lbuffer lz_lbuffer;
typedef struct lz_lerror lz_lerror;
typedef struct lz_ljit lz_ljit;
typedef struct lz_ldylib lz_ldylib;

enum {
    LZ_L_EQ = 32,
    LZ_L_NE,
    LZ_L_UGT,
    LZ_L_UGE,
    LZ_L_ULT,
    LZ_L_ULE,
    LZ_L_SGT,
    LZ_L_SGE,
    LZ_L_SLT,
    LZ_L_SLE
};
enum { LZ_L_OEQ = 1, LZ_L_OGT, LZ_L_OGE, LZ_L_OLT, LZ_L_OLE, LZ_L_ONE, LZ_L_ORD, LZ_L_UNO, LZ_L_UNE = 14 };
enum { LZ_L_LEVEL_DEFAULT = 2, LZ_L_RELOC_PIC = 2, LZ_L_MODEL_SMALL = 3, LZ_L_OBJECT = 1 };
enum { LZ_L_AT_FUNCTION = -1 };

#define LZ_LLVM_UNARY(X, name)  X(lz_lvalue *, name, (lz_lbuilder *, lz_lvalue *, const char *))
#define LZ_LLVM_BINARY(X, name) X(lz_lvalue *, name, (lz_lbuilder *, lz_lvalue *, lz_lvalue *, const char *))
#define LZ_LLVM_CAST(X, name)   X(lz_lvalue *, name, (lz_lbuilder *, lz_lvalue *, lz_ltype *, const char *))

#define LZ_LLVM_FUNCTIONS(X)                                                                                 \
    X(void, GetVersion, (unsigned *, unsigned *, unsigned *))                                                \
    X(void, DisposeMessage, (char *))                                                                        \
    X(lz_lcontext *, ContextCreate, (void))                                                                  \
    X(void, ContextDispose, (lz_lcontext *))                                                                 \
    X(lz_lmodule *, ModuleCreateWithNameInContext, (const char *, lz_lcontext *))                            \
    X(void, DisposeModule, (lz_lmodule *))                                                                   \
    X(void, SetTarget, (lz_lmodule *, const char *))                                                         \
    X(char *, PrintModuleToString, (lz_lmodule *))                                                           \
    X(int, VerifyModule, (lz_lmodule *, int, char **))                                                       \
    X(lz_ltype *, IntTypeInContext, (lz_lcontext *, unsigned))                                               \
    X(lz_ltype *, HalfTypeInContext, (lz_lcontext *))                                                        \
    X(lz_ltype *, FloatTypeInContext, (lz_lcontext *))                                                       \
    X(lz_ltype *, DoubleTypeInContext, (lz_lcontext *))                                                      \
    X(lz_ltype *, VoidTypeInContext, (lz_lcontext *))                                                        \
    X(lz_ltype *, PointerTypeInContext, (lz_lcontext *, unsigned))                                           \
    X(lz_ltype *, VectorType, (lz_ltype *, unsigned))                                                        \
    X(lz_ltype *, FunctionType, (lz_ltype *, lz_ltype **, unsigned, int))                                    \
    X(lz_ltype *, TypeOf, (lz_lvalue *))                                                                     \
    X(lz_lvalue *, ConstInt, (lz_ltype *, unsigned long long, int))                                          \
    X(lz_lvalue *, ConstReal, (lz_ltype *, double))                                                          \
    X(lz_lvalue *, ConstNull, (lz_ltype *))                                                                  \
    X(lz_lvalue *, ConstAllOnes, (lz_ltype *))                                                               \
    X(lz_lvalue *, ConstVector, (lz_lvalue **, unsigned))                                                    \
    X(lz_lvalue *, ConstStructInContext, (lz_lcontext *, lz_lvalue **, unsigned, int))                       \
    X(lz_lvalue *, GetPoison, (lz_ltype *))                                                                  \
    X(lz_lvalue *, AddFunction, (lz_lmodule *, const char *, lz_ltype *))                                    \
    X(lz_lvalue *, GetParam, (lz_lvalue *, unsigned))                                                        \
    X(lz_lvalue *, AddGlobal, (lz_lmodule *, lz_ltype *, const char *))                                      \
    X(void, SetInitializer, (lz_lvalue *, lz_lvalue *))                                                      \
    X(void, SetGlobalConstant, (lz_lvalue *, int))                                                           \
    X(void, SetAlignment, (lz_lvalue *, unsigned))                                                           \
    X(lz_lattribute *, CreateStringAttribute,                                                                \
      (lz_lcontext *, const char *, unsigned, const char *, unsigned))                                       \
    X(lz_lattribute *, CreateEnumAttribute, (lz_lcontext *, unsigned, uint64_t))                             \
    X(unsigned, GetEnumAttributeKindForName, (const char *, size_t))                                         \
    X(void, AddAttributeAtIndex, (lz_lvalue *, unsigned, lz_lattribute *))                                   \
    X(unsigned, GetMDKindIDInContext, (lz_lcontext *, const char *, unsigned))                               \
    X(lz_lmetadata *, ValueAsMetadata, (lz_lvalue *))                                                        \
    X(lz_lmetadata *, MDNodeInContext2, (lz_lcontext *, lz_lmetadata **, size_t))                            \
    X(lz_lvalue *, MetadataAsValue, (lz_lcontext *, lz_lmetadata *))                                         \
    X(void, SetMetadata, (lz_lvalue *, unsigned, lz_lvalue *))                                               \
    X(unsigned, LookupIntrinsicID, (const char *, size_t))                                                   \
    X(lz_lvalue *, GetIntrinsicDeclaration, (lz_lmodule *, unsigned, lz_ltype **, size_t))                   \
    X(lz_ltype *, IntrinsicGetType, (lz_lcontext *, unsigned, lz_ltype **, size_t))                          \
    X(lz_lbuilder *, CreateBuilderInContext, (lz_lcontext *))                                                \
    X(void, DisposeBuilder, (lz_lbuilder *))                                                                 \
    X(lz_lblock *, AppendBasicBlockInContext, (lz_lcontext *, lz_lvalue *, const char *))                    \
    X(lz_lblock *, GetInsertBlock, (lz_lbuilder *))                                                          \
    X(void, PositionBuilderAtEnd, (lz_lbuilder *, lz_lblock *))                                              \
    X(lz_lvalue *, BuildRet, (lz_lbuilder *, lz_lvalue *))                                                   \
    X(lz_lvalue *, BuildBr, (lz_lbuilder *, lz_lblock *))                                                    \
    X(lz_lvalue *, BuildCondBr, (lz_lbuilder *, lz_lvalue *, lz_lblock *, lz_lblock *))                      \
    X(lz_lvalue *, BuildPhi, (lz_lbuilder *, lz_ltype *, const char *))                                      \
    X(void, AddIncoming, (lz_lvalue *, lz_lvalue **, lz_lblock **, unsigned))                                \
    LZ_LLVM_BINARY(X, BuildAdd)                                                                              \
    LZ_LLVM_BINARY(X, BuildSub)                                                                              \
    LZ_LLVM_BINARY(X, BuildMul)                                                                              \
    LZ_LLVM_BINARY(X, BuildFAdd)                                                                             \
    LZ_LLVM_BINARY(X, BuildFSub)                                                                             \
    LZ_LLVM_BINARY(X, BuildFMul)                                                                             \
    LZ_LLVM_BINARY(X, BuildFDiv)                                                                             \
    LZ_LLVM_BINARY(X, BuildSDiv)                                                                             \
    LZ_LLVM_BINARY(X, BuildShl)                                                                              \
    LZ_LLVM_BINARY(X, BuildLShr)                                                                             \
    LZ_LLVM_BINARY(X, BuildAShr)                                                                             \
    LZ_LLVM_BINARY(X, BuildAnd)                                                                              \
    LZ_LLVM_BINARY(X, BuildOr)                                                                               \
    LZ_LLVM_BINARY(X, BuildXor)                                                                              \
    LZ_LLVM_UNARY(X, BuildNeg)                                                                               \
    LZ_LLVM_UNARY(X, BuildFNeg)                                                                              \
    LZ_LLVM_UNARY(X, BuildNot)                                                                               \
    LZ_LLVM_CAST(X, BuildTrunc)                                                                              \
    LZ_LLVM_CAST(X, BuildZExt)                                                                               \
    LZ_LLVM_CAST(X, BuildSExt)                                                                               \
    LZ_LLVM_CAST(X, BuildFPToSI)                                                                             \
    LZ_LLVM_CAST(X, BuildSIToFP)                                                                             \
    LZ_LLVM_CAST(X, BuildUIToFP)                                                                             \
    LZ_LLVM_CAST(X, BuildFPTrunc)                                                                            \
    LZ_LLVM_CAST(X, BuildFPExt)                                                                              \
    LZ_LLVM_CAST(X, BuildBitCast)                                                                            \
    LZ_LLVM_CAST(X, BuildPtrToInt)                                                                           \
    X(lz_lvalue *, BuildICmp, (lz_lbuilder *, int, lz_lvalue *, lz_lvalue *, const char *))                  \
    X(lz_lvalue *, BuildFCmp, (lz_lbuilder *, int, lz_lvalue *, lz_lvalue *, const char *))                  \
    X(lz_lvalue *, BuildSelect, (lz_lbuilder *, lz_lvalue *, lz_lvalue *, lz_lvalue *, const char *))        \
    X(lz_lvalue *, BuildArrayAlloca, (lz_lbuilder *, lz_ltype *, lz_lvalue *, const char *))                 \
    X(lz_lvalue *, BuildLoad2, (lz_lbuilder *, lz_ltype *, lz_lvalue *, const char *))                       \
    X(lz_lvalue *, BuildStore, (lz_lbuilder *, lz_lvalue *, lz_lvalue *))                                    \
    X(lz_lvalue *, BuildGEP2,                                                                                \
      (lz_lbuilder *, lz_ltype *, lz_lvalue *, lz_lvalue **, unsigned, const char *))                        \
    X(lz_lvalue *, BuildCall2,                                                                               \
      (lz_lbuilder *, lz_ltype *, lz_lvalue *, lz_lvalue **, unsigned, const char *))                        \
    X(lz_lvalue *, BuildExtractElement, (lz_lbuilder *, lz_lvalue *, lz_lvalue *, const char *))             \
    X(lz_lvalue *, BuildInsertElement, (lz_lbuilder *, lz_lvalue *, lz_lvalue *, lz_lvalue *, const char *)) \
    X(lz_lvalue *, BuildShuffleVector, (lz_lbuilder *, lz_lvalue *, lz_lvalue *, lz_lvalue *, const char *)) \
    X(int, GetTargetFromTriple, (const char *, lz_ltarget **, char **))                                      \
    X(char *, GetHostCPUName, (void))                                                                        \
    X(lz_lmachine *, CreateTargetMachine,                                                                    \
      (lz_ltarget *, const char *, const char *, const char *, int, int, int))                               \
    X(void, DisposeTargetMachine, (lz_lmachine *))                                                           \
    X(lz_llayout *, CreateTargetDataLayout, (lz_lmachine *))                                                 \
    X(void, SetModuleDataLayout, (lz_lmodule *, lz_llayout *))                                               \
    X(void, DisposeTargetData, (lz_llayout *))                                                               \
    X(int, TargetMachineEmitToMemoryBuffer, (lz_lmachine *, lz_lmodule *, int, char **, lz_lbuffer **))      \
    X(const char *, GetBufferStart, (lz_lbuffer *))                                                          \
    X(size_t, GetBufferSize, (lz_lbuffer *))                                                                 \
    X(void, DisposeMemoryBuffer, (lz_lbuffer *))

/* Not in every build of the library. */
#define LZ_LLVM_OPTIONAL(X)                                                                                  \
    X(void, ParseCommandLineOptions, (int, const char *const *, const char *))                               \
    X(void, InitializeX86TargetInfo, (void))                                                                 \
    X(void, InitializeX86Target, (void))                                                                     \
    X(void, InitializeX86TargetMC, (void))                                                                   \
    X(void, InitializeX86AsmPrinter, (void))                                                                 \
    X(lz_lbuffer *, CreateMemoryBufferWithMemoryRangeCopy, (const char *, size_t, const char *))             \
    X(char *, GetErrorMessage, (lz_lerror *))                                                                \
    X(void, DisposeErrorMessage, (char *))                                                                   \
    X(lz_lerror *, OrcCreateLLJIT, (lz_ljit **, void *))                                                     \
    X(lz_lerror *, OrcDisposeLLJIT, (lz_ljit *))                                                             \
    X(lz_ldylib *, OrcLLJITGetMainJITDylib, (lz_ljit *))                                                     \
    X(lz_lerror *, OrcLLJITAddObjectFile, (lz_ljit *, lz_ldylib *, lz_lbuffer *))                            \
    X(lz_lerror *, OrcLLJITLookup, (lz_ljit *, uint64_t *, const char *))

typedef struct lz_llvm {
#define X(result, name, parameters) result(*name) parameters;
    LZ_LLVM_FUNCTIONS(X)
    LZ_LLVM_OPTIONAL(X)
#undef X
    unsigned major, minor, patch;
    struct lz_dl *dl; /* stays open: code and threads of LLVM may be in use until the end */
} lz_llvm;

/* LZ_ERR_NOT_FOUND with what was tried; asking again is cheap. */
LZ_MUST_USE lz_err *lz_llvm_get(const lz_llvm **out);

#endif
