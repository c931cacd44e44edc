/* dispatch_table.h - kernels by operator and dispatch key. Made by lazuli-gen from the operator
 * files. */
#ifndef LZ_OP_DISPATCH_TABLE_H
#define LZ_OP_DISPATCH_TABLE_H

#include "op/op_table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lz_key {
    LZ_KEY_Undefined,
    LZ_KEY_FPGA,
    LZ_KEY_MAIA,
    LZ_KEY_Vulkan,
    LZ_KEY_Metal,
    LZ_KEY_MKLDNN,
    LZ_KEY_OpenGL,
    LZ_KEY_OpenCL,
    LZ_KEY_IDEEP,
    LZ_KEY_CustomRNGKeyId,
    LZ_KEY_MkldnnCPU,
    LZ_KEY_Sparse,
    LZ_KEY_SparseCsr,
    LZ_KEY_NestedTensor,
    LZ_KEY_Dense,
    LZ_KEY_PythonTLSSnapshot,
    LZ_KEY_PreDispatch,
    LZ_KEY_PythonDispatcher,
    LZ_KEY_Python,
    LZ_KEY_FuncTorchDynamicLayerBackMode,
    LZ_KEY_ZeroTensor,
    LZ_KEY_Conjugate,
    LZ_KEY_Negative,
    LZ_KEY_BackendSelect,
    LZ_KEY_Named,
    LZ_KEY_AutogradOther,
    LZ_KEY_AutogradFunctionality,
    LZ_KEY_AutogradNestedTensor,
    LZ_KEY_Tracer,
    LZ_KEY_Autocast,
    LZ_KEY_AutocastCPU,
    LZ_KEY_AutocastCUDA,
    LZ_KEY_AutocastXPU,
    LZ_KEY_Batched,
    LZ_KEY_VmapMode,
    LZ_KEY_FuncTorchGradWrapper,
    LZ_KEY_FuncTorchBatched,
    LZ_KEY_BatchedNestedTensor,
    LZ_KEY_FuncTorchVmapMode,
    LZ_KEY_FuncTorchDynamicLayerFrontMode,
    LZ_KEY_Functionalize,
    LZ_KEY_TESTING_ONLY_GenericWrapper,
    LZ_KEY_TESTING_ONLY_GenericMode,
    LZ_KEY_ADInplaceOrView,
    LZ_KEY_Autograd,
    LZ_KEY_CompositeImplicitAutograd,
    LZ_KEY_CompositeImplicitAutogradNestedTensor,
    LZ_KEY_CompositeExplicitAutograd,
    LZ_KEY_CompositeExplicitAutogradNonFunctional,
    LZ_KEY_FuncTorchBatchedDecomposition,
    LZ_KEY_CPU,
    LZ_KEY_CUDA,
    LZ_KEY_HIP,
    LZ_KEY_XLA,
    LZ_KEY_MTIA,
    LZ_KEY_MPS,
    LZ_KEY_IPU,
    LZ_KEY_XPU,
    LZ_KEY_HPU,
    LZ_KEY_VE,
    LZ_KEY_Lazy,
    LZ_KEY_Meta,
    LZ_KEY_PrivateUse1,
    LZ_KEY_PrivateUse2,
    LZ_KEY_PrivateUse3,
    LZ_KEY_QuantizedCPU,
    LZ_KEY_QuantizedCUDA,
    LZ_KEY_QuantizedHIP,
    LZ_KEY_QuantizedXLA,
    LZ_KEY_QuantizedMTIA,
    LZ_KEY_QuantizedMPS,
    LZ_KEY_QuantizedIPU,
    LZ_KEY_QuantizedXPU,
    LZ_KEY_QuantizedHPU,
    LZ_KEY_QuantizedVE,
    LZ_KEY_QuantizedLazy,
    LZ_KEY_QuantizedMeta,
    LZ_KEY_QuantizedPrivateUse1,
    LZ_KEY_QuantizedPrivateUse2,
    LZ_KEY_QuantizedPrivateUse3,
    LZ_KEY_SparseCPU,
    LZ_KEY_SparseCUDA,
    LZ_KEY_SparseHIP,
    LZ_KEY_SparseXLA,
    LZ_KEY_SparseMTIA,
    LZ_KEY_SparseMPS,
    LZ_KEY_SparseIPU,
    LZ_KEY_SparseXPU,
    LZ_KEY_SparseHPU,
    LZ_KEY_SparseVE,
    LZ_KEY_SparseLazy,
    LZ_KEY_SparseMeta,
    LZ_KEY_SparsePrivateUse1,
    LZ_KEY_SparsePrivateUse2,
    LZ_KEY_SparsePrivateUse3,
    LZ_KEY_SparseCsrCPU,
    LZ_KEY_SparseCsrCUDA,
    LZ_KEY_SparseCsrHIP,
    LZ_KEY_SparseCsrXLA,
    LZ_KEY_SparseCsrMTIA,
    LZ_KEY_SparseCsrMPS,
    LZ_KEY_SparseCsrIPU,
    LZ_KEY_SparseCsrXPU,
    LZ_KEY_SparseCsrHPU,
    LZ_KEY_SparseCsrVE,
    LZ_KEY_SparseCsrLazy,
    LZ_KEY_SparseCsrMeta,
    LZ_KEY_SparseCsrPrivateUse1,
    LZ_KEY_SparseCsrPrivateUse2,
    LZ_KEY_SparseCsrPrivateUse3,
    LZ_KEY_NestedTensorCPU,
    LZ_KEY_NestedTensorCUDA,
    LZ_KEY_NestedTensorHIP,
    LZ_KEY_NestedTensorXLA,
    LZ_KEY_NestedTensorMTIA,
    LZ_KEY_NestedTensorMPS,
    LZ_KEY_NestedTensorIPU,
    LZ_KEY_NestedTensorXPU,
    LZ_KEY_NestedTensorHPU,
    LZ_KEY_NestedTensorVE,
    LZ_KEY_NestedTensorLazy,
    LZ_KEY_NestedTensorMeta,
    LZ_KEY_NestedTensorPrivateUse1,
    LZ_KEY_NestedTensorPrivateUse2,
    LZ_KEY_NestedTensorPrivateUse3,
    LZ_KEY_AutogradCPU,
    LZ_KEY_AutogradCUDA,
    LZ_KEY_AutogradHIP,
    LZ_KEY_AutogradXLA,
    LZ_KEY_AutogradMTIA,
    LZ_KEY_AutogradMPS,
    LZ_KEY_AutogradIPU,
    LZ_KEY_AutogradXPU,
    LZ_KEY_AutogradHPU,
    LZ_KEY_AutogradVE,
    LZ_KEY_AutogradLazy,
    LZ_KEY_AutogradMeta,
    LZ_KEY_AutogradPrivateUse1,
    LZ_KEY_AutogradPrivateUse2,
    LZ_KEY_AutogradPrivateUse3,
    LZ_KEY_COUNT
} lz_key;

enum {
    LZ_KERNEL_STRUCTURED = 1,
    LZ_KERNEL_SYMINT = 2, /* takes symbolic sizes as they are */
};

typedef struct lz_kernel_row {
    const char *name, *ns; /* "mul_sparse", "at::native" */
    uint16_t key;          /* lz_key */
    uint8_t flags;
} lz_kernel_row;

/* How an operator that has no kernel for some key is made from others, in the order of trying: bit i of
 * composite stands for entry i of lz_composite_order. */
typedef struct lz_dispatch_row {
    const lz_kernel_row *kernels; /* in the order of the file */
    uint16_t delegate;            /* the structured operator whose kernels serve this one; 0: none */
    uint8_t nkernels;
    uint8_t composite;
    bool device_check; /* all tensors must be on one device */
    bool device_guard;
} lz_dispatch_row;

enum { LZ_COMPOSITES = 4 };

/* The keys whose kernels serve every backend, in the order of trying. */
extern const uint16_t lz_composite_order[LZ_COMPOSITES];
/* By lz_op; row 0 is empty. */
extern const lz_dispatch_row lz_dispatch_table[LZ_OP_COUNT];

#ifdef __cplusplus
}
#endif
#endif
