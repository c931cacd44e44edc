/* llvm.h - the C interface of libLLVM, found at run time.
 *
 * The prototypes are ours, one row each; the names are LLVM's without their prefix. The library is loaded at
 * the first use: LAZULI_LLVM names it, else the releases 21 to 16 are tried. It stays loaded. */
#ifndef LZ_JIT_LLVM_H
#define LZ_JIT_LLVM_H

#include "base/err.h"
#include <stdint.h>

typedef struct lz_llvm_context lz_llvm_context;
typedef struct lz_llvm_module lz_llvm_module;
typedef struct lz_llvm_builder lz_llvm_builder;
typedef struct lz_llvm_type lz_llvm_type;
typedef struct lz_llvm_value lz_llvm_value;
typedef struct lz_llvm_block lz_llvm_block;
typedef struct lz_llvm_attribute lz_llvm_attribute;
typedef struct lz_llvm_metadata lz_llvm_metadata;
typedef struct lz_llvm_target lz_llvm_target;
typedef struct lz_llvm_machine lz_llvm_machine;
typedef struct lz_llvm_layout lz_llvm_layout;
typedef struct lz_llvm_buffer lz_llvm_buffer;

enum {
    LZ_LLVM_EQ = 32,
    LZ_LLVM_NE,
    LZ_LLVM_UGT,
    LZ_LLVM_UGE,
    LZ_LLVM_ULT,
    LZ_LLVM_ULE,
    LZ_LLVM_SGT,
    LZ_LLVM_SGE,
    LZ_LLVM_SLT,
    LZ_LLVM_SLE
};
enum {
    LZ_LLVM_OEQ = 1,
    LZ_LLVM_OGT,
    LZ_LLVM_OGE,
    LZ_LLVM_OLT,
    LZ_LLVM_OLE,
    LZ_LLVM_ONE,
    LZ_LLVM_ORD,
    LZ_LLVM_UNO,
    LZ_LLVM_UNE = 14
};
enum { LZ_LLVM_LEVEL_DEFAULT = 2, LZ_LLVM_RELOC_PIC = 2, LZ_LLVM_MODEL_SMALL = 3, LZ_LLVM_OBJECT = 1 };
enum { LZ_LLVM_AT_FUNCTION = -1 };

#define LZ_LLVM_UNARY(X, name) X(lz_llvm_value *, name, (lz_llvm_builder *, lz_llvm_value *, const char *))
#define LZ_LLVM_BINARY(X, name)                                                                              \
    X(lz_llvm_value *, name, (lz_llvm_builder *, lz_llvm_value *, lz_llvm_value *, const char *))
#define LZ_LLVM_CAST(X, name)                                                                                \
    X(lz_llvm_value *, name, (lz_llvm_builder *, lz_llvm_value *, lz_llvm_type *, const char *))

#define LZ_LLVM_FUNCTIONS(X)                                                                                 \
    X(void, GetVersion, (unsigned *, unsigned *, unsigned *))                                                \
    X(void, DisposeMessage, (char *))                                                                        \
    X(lz_llvm_context *, ContextCreate, (void))                                                              \
    X(void, ContextDispose, (lz_llvm_context *))                                                             \
    X(lz_llvm_module *, ModuleCreateWithNameInContext, (const char *, lz_llvm_context *))                    \
    X(void, DisposeModule, (lz_llvm_module *))                                                               \
    X(void, SetTarget, (lz_llvm_module *, const char *))                                                     \
    X(char *, PrintModuleToString, (lz_llvm_module *))                                                       \
    X(int, VerifyModule, (lz_llvm_module *, int, char **))                                                   \
    X(lz_llvm_type *, IntTypeInContext, (lz_llvm_context *, unsigned))                                       \
    X(lz_llvm_type *, HalfTypeInContext, (lz_llvm_context *))                                                \
    X(lz_llvm_type *, FloatTypeInContext, (lz_llvm_context *))                                               \
    X(lz_llvm_type *, DoubleTypeInContext, (lz_llvm_context *))                                              \
    X(lz_llvm_type *, VoidTypeInContext, (lz_llvm_context *))                                                \
    X(lz_llvm_type *, PointerTypeInContext, (lz_llvm_context *, unsigned))                                   \
    X(lz_llvm_type *, VectorType, (lz_llvm_type *, unsigned))                                                \
    X(lz_llvm_type *, FunctionType, (lz_llvm_type *, lz_llvm_type **, unsigned, int))                        \
    X(lz_llvm_type *, TypeOf, (lz_llvm_value *))                                                             \
    X(lz_llvm_value *, ConstInt, (lz_llvm_type *, unsigned long long, int))                                  \
    X(lz_llvm_value *, ConstReal, (lz_llvm_type *, double))                                                  \
    X(lz_llvm_value *, ConstNull, (lz_llvm_type *))                                                          \
    X(lz_llvm_value *, ConstAllOnes, (lz_llvm_type *))                                                       \
    X(lz_llvm_value *, ConstVector, (lz_llvm_value **, unsigned))                                            \
    X(lz_llvm_value *, ConstStructInContext, (lz_llvm_context *, lz_llvm_value **, unsigned, int))           \
    X(lz_llvm_value *, GetPoison, (lz_llvm_type *))                                                          \
    X(lz_llvm_value *, AddFunction, (lz_llvm_module *, const char *, lz_llvm_type *))                        \
    X(lz_llvm_value *, GetParam, (lz_llvm_value *, unsigned))                                                \
    X(lz_llvm_value *, AddGlobal, (lz_llvm_module *, lz_llvm_type *, const char *))                          \
    X(void, SetInitializer, (lz_llvm_value *, lz_llvm_value *))                                              \
    X(void, SetGlobalConstant, (lz_llvm_value *, int))                                                       \
    X(void, SetAlignment, (lz_llvm_value *, unsigned))                                                       \
    X(lz_llvm_attribute *, CreateStringAttribute,                                                            \
      (lz_llvm_context *, const char *, unsigned, const char *, unsigned))                                   \
    X(lz_llvm_attribute *, CreateEnumAttribute, (lz_llvm_context *, unsigned, uint64_t))                     \
    X(unsigned, GetEnumAttributeKindForName, (const char *, size_t))                                         \
    X(void, AddAttributeAtIndex, (lz_llvm_value *, unsigned, lz_llvm_attribute *))                           \
    X(unsigned, GetMDKindIDInContext, (lz_llvm_context *, const char *, unsigned))                           \
    X(lz_llvm_metadata *, ValueAsMetadata, (lz_llvm_value *))                                                \
    X(lz_llvm_metadata *, MDNodeInContext2, (lz_llvm_context *, lz_llvm_metadata **, size_t))                \
    X(lz_llvm_value *, MetadataAsValue, (lz_llvm_context *, lz_llvm_metadata *))                             \
    X(void, SetMetadata, (lz_llvm_value *, unsigned, lz_llvm_value *))                                       \
    X(unsigned, LookupIntrinsicID, (const char *, size_t))                                                   \
    X(lz_llvm_value *, GetIntrinsicDeclaration, (lz_llvm_module *, unsigned, lz_llvm_type **, size_t))       \
    X(lz_llvm_type *, IntrinsicGetType, (lz_llvm_context *, unsigned, lz_llvm_type **, size_t))              \
    X(lz_llvm_builder *, CreateBuilderInContext, (lz_llvm_context *))                                        \
    X(void, DisposeBuilder, (lz_llvm_builder *))                                                             \
    X(lz_llvm_block *, AppendBasicBlockInContext, (lz_llvm_context *, lz_llvm_value *, const char *))        \
    X(lz_llvm_block *, GetInsertBlock, (lz_llvm_builder *))                                                  \
    X(void, PositionBuilderAtEnd, (lz_llvm_builder *, lz_llvm_block *))                                      \
    X(lz_llvm_value *, BuildRet, (lz_llvm_builder *, lz_llvm_value *))                                       \
    X(lz_llvm_value *, BuildBr, (lz_llvm_builder *, lz_llvm_block *))                                        \
    X(lz_llvm_value *, BuildCondBr, (lz_llvm_builder *, lz_llvm_value *, lz_llvm_block *, lz_llvm_block *))  \
    X(lz_llvm_value *, BuildPhi, (lz_llvm_builder *, lz_llvm_type *, const char *))                          \
    X(void, AddIncoming, (lz_llvm_value *, lz_llvm_value **, lz_llvm_block **, unsigned))                    \
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
    X(lz_llvm_value *, BuildICmp, (lz_llvm_builder *, int, lz_llvm_value *, lz_llvm_value *, const char *))  \
    X(lz_llvm_value *, BuildFCmp, (lz_llvm_builder *, int, lz_llvm_value *, lz_llvm_value *, const char *))  \
    X(lz_llvm_value *, BuildSelect,                                                                          \
      (lz_llvm_builder *, lz_llvm_value *, lz_llvm_value *, lz_llvm_value *, const char *))                  \
    X(lz_llvm_value *, BuildArrayAlloca, (lz_llvm_builder *, lz_llvm_type *, lz_llvm_value *, const char *)) \
    X(lz_llvm_value *, BuildLoad2, (lz_llvm_builder *, lz_llvm_type *, lz_llvm_value *, const char *))       \
    X(lz_llvm_value *, BuildStore, (lz_llvm_builder *, lz_llvm_value *, lz_llvm_value *))                    \
    X(lz_llvm_value *, BuildGEP2,                                                                            \
      (lz_llvm_builder *, lz_llvm_type *, lz_llvm_value *, lz_llvm_value **, unsigned, const char *))        \
    X(lz_llvm_value *, BuildCall2,                                                                           \
      (lz_llvm_builder *, lz_llvm_type *, lz_llvm_value *, lz_llvm_value **, unsigned, const char *))        \
    X(lz_llvm_value *, BuildExtractElement,                                                                  \
      (lz_llvm_builder *, lz_llvm_value *, lz_llvm_value *, const char *))                                   \
    X(lz_llvm_value *, BuildInsertElement,                                                                   \
      (lz_llvm_builder *, lz_llvm_value *, lz_llvm_value *, lz_llvm_value *, const char *))                  \
    X(lz_llvm_value *, BuildShuffleVector,                                                                   \
      (lz_llvm_builder *, lz_llvm_value *, lz_llvm_value *, lz_llvm_value *, const char *))                  \
    X(int, GetTargetFromTriple, (const char *, lz_llvm_target **, char **))                                  \
    X(char *, GetHostCPUName, (void))                                                                        \
    X(lz_llvm_machine *, CreateTargetMachine,                                                                \
      (lz_llvm_target *, const char *, const char *, const char *, int, int, int))                           \
    X(void, DisposeTargetMachine, (lz_llvm_machine *))                                                       \
    X(lz_llvm_layout *, CreateTargetDataLayout, (lz_llvm_machine *))                                         \
    X(void, SetModuleDataLayout, (lz_llvm_module *, lz_llvm_layout *))                                       \
    X(void, DisposeTargetData, (lz_llvm_layout *))                                                           \
    X(int, TargetMachineEmitToMemoryBuffer,                                                                  \
      (lz_llvm_machine *, lz_llvm_module *, int, char **, lz_llvm_buffer **))                                \
    X(const char *, GetBufferStart, (lz_llvm_buffer *))                                                      \
    X(size_t, GetBufferSize, (lz_llvm_buffer *))                                                             \
    X(void, DisposeMemoryBuffer, (lz_llvm_buffer *))

/* Missing in some builds of the library. */
#define LZ_LLVM_OPTIONAL(X)                                                                                  \
    X(void, ParseCommandLineOptions, (int, const char *const *, const char *))                               \
    X(void, InitializeX86TargetInfo, (void))                                                                 \
    X(void, InitializeX86Target, (void))                                                                     \
    X(void, InitializeX86TargetMC, (void))                                                                   \
    X(void, InitializeX86AsmPrinter, (void))

typedef struct lz_llvm {
#define X(result, name, parameters) result(*name) parameters;
    LZ_LLVM_FUNCTIONS(X)
    LZ_LLVM_OPTIONAL(X)
#undef X
    unsigned major, minor, patch;
    struct lz_dl *dl; /* stays open: LLVM's code and threads may be in use until the process ends */
} lz_llvm;

/* LZ_ERR_NOT_FOUND: the message lists what was tried. Repeated calls are cheap. */
LZ_MUST_USE lz_err *lz_llvm_get(const lz_llvm **out);

#endif
