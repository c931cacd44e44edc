/* Dispatch keys: names, and which entries may use them. */
#include "gen/model/model_impl.h"

/* The general keys, then every functionality with every backend. */
/* clang-format off */
#define GENERAL(X)                                                                                           \
    X(Undefined) X(FPGA) X(MAIA) X(Vulkan) X(Metal) X(MKLDNN) X(OpenGL) X(OpenCL) X(IDEEP)                   \
    X(CustomRNGKeyId) X(MkldnnCPU) X(Sparse) X(SparseCsr) X(NestedTensor) X(Dense) X(PythonTLSSnapshot)      \
    X(PreDispatch) X(PythonDispatcher) X(Python) X(FuncTorchDynamicLayerBackMode) X(ZeroTensor) X(Conjugate) \
    X(Negative) X(BackendSelect) X(Named) X(AutogradOther) X(AutogradFunctionality) X(AutogradNestedTensor)  \
    X(Tracer) X(Autocast) X(AutocastCPU) X(AutocastCUDA) X(AutocastXPU) X(Batched) X(VmapMode)               \
    X(FuncTorchGradWrapper) X(FuncTorchBatched) X(BatchedNestedTensor) X(FuncTorchVmapMode)                  \
    X(FuncTorchDynamicLayerFrontMode) X(Functionalize) X(TESTING_ONLY_GenericWrapper)                        \
    X(TESTING_ONLY_GenericMode) X(ADInplaceOrView) X(Autograd) X(CompositeImplicitAutograd)                  \
    X(CompositeImplicitAutogradNestedTensor) X(CompositeExplicitAutograd)                                    \
    X(CompositeExplicitAutogradNonFunctional) X(FuncTorchBatchedDecomposition)
#define BACKENDS(X, f)                                                                                       \
    X(f, CPU) X(f, CUDA) X(f, HIP) X(f, XLA) X(f, MTIA) X(f, MPS) X(f, IPU) X(f, XPU) X(f, HPU) X(f, VE)     \
    X(f, Lazy) X(f, Meta) X(f, PrivateUse1) X(f, PrivateUse2) X(f, PrivateUse3)
#define FUNCTIONALITIES(X)                                                                                   \
    BACKENDS(X, ) BACKENDS(X, Quantized) BACKENDS(X, Sparse) BACKENDS(X, SparseCsr)                          \
    BACKENDS(X, NestedTensor) BACKENDS(X, Autograd)
/* clang-format on */

enum {
#define X(name) K_##name,
    GENERAL(X)
#undef X
#define X(f, b) K_##f##b,
        FUNCTIONALITIES(X)
#undef X
            KEY_END
};
_Static_assert((int)KEY_END == (int)LZG_KEY_COUNT, "every dispatch key has a name");

static const lz_str names[LZG_KEY_COUNT] = {
#define X(name) { #name, sizeof #name - 1 },
    GENERAL(X)
#undef X
#define X(f, b) { #f #b, sizeof #f #b - 1 },
        FUNCTIONALITIES(X)
#undef X
};

enum { ALLOWED = 1, STRUCTURED = 2, UFUNC = 4, CUDA = 8, XPU = 16 };

static const uint8_t flags[LZG_KEY_COUNT] = {
    [K_CPU] = ALLOWED | STRUCTURED | UFUNC,
    [K_CUDA] = ALLOWED | STRUCTURED | UFUNC | CUDA,
    [K_MPS] = ALLOWED | STRUCTURED,
    [K_XPU] = ALLOWED | STRUCTURED | XPU,
    [K_MTIA] = ALLOWED | STRUCTURED,
    [K_Meta] = ALLOWED,
    [K_MkldnnCPU] = ALLOWED,
    [K_ZeroTensor] = ALLOWED,
    [K_SparseCPU] = ALLOWED,
    [K_SparseCUDA] = ALLOWED | CUDA,
    [K_SparseMPS] = ALLOWED,
    [K_SparseXPU] = ALLOWED | XPU,
    [K_SparseMeta] = ALLOWED,
    [K_SparseCsrCPU] = ALLOWED,
    [K_SparseCsrCUDA] = ALLOWED | CUDA,
    [K_SparseCsrMPS] = ALLOWED,
    [K_SparseCsrXPU] = ALLOWED | XPU,
    [K_SparseCsrMeta] = ALLOWED,
    [K_QuantizedCPU] = ALLOWED,
    [K_QuantizedCUDA] = ALLOWED | CUDA,
    [K_QuantizedXPU] = XPU,
    [K_QuantizedMeta] = ALLOWED,
    [K_NestedTensorCPU] = ALLOWED,
    [K_NestedTensorCUDA] = ALLOWED | CUDA,
    [K_NestedTensorXPU] = ALLOWED | XPU,
    [K_NestedTensorHPU] = ALLOWED,
    [K_NestedTensorMeta] = ALLOWED,
    [K_AutogradCUDA] = CUDA,
    [K_AutogradXPU] = XPU,
    [K_CompositeImplicitAutograd] = ALLOWED,
    [K_CompositeImplicitAutogradNestedTensor] = ALLOWED,
    [K_CompositeExplicitAutograd] = ALLOWED,
    [K_CompositeExplicitAutogradNonFunctional] = ALLOWED,
};

const lzg_dispatch_key lzg_key_implicit = K_CompositeImplicitAutograd;
const lzg_dispatch_key lzg_key_implicit_nested = K_CompositeImplicitAutogradNestedTensor;
const lzg_dispatch_key lzg_key_explicit = K_CompositeExplicitAutograd;
const lzg_dispatch_key lzg_key_non_functional = K_CompositeExplicitAutogradNonFunctional;

const char *lzg_dispatch_key_name(lzg_dispatch_key key)
{
    return key < LZG_KEY_COUNT ? names[key].ptr : "(none)";
}

lzg_dispatch_key lzg_dispatch_key_find(lz_str name)
{
    for (int i = 0; i < LZG_KEY_COUNT; i++)
        if (names[i].len == name.len && lz_str_eq(names[i], name))
            return (lzg_dispatch_key)i;
    return lz_str_is(name, "CatchAll") ? K_Undefined : LZG_KEY_NONE;
}

static bool has(lzg_dispatch_key key, unsigned flag)
{
    return key < LZG_KEY_COUNT && (flags[key] & flag);
}

bool lzg_dispatch_key_allowed(lzg_dispatch_key key)
{
    return has(key, ALLOWED);
}

bool lzg_dispatch_key_structured(lzg_dispatch_key key)
{
    return has(key, STRUCTURED);
}

bool lzg_dispatch_key_ufunc(lzg_dispatch_key key)
{
    return has(key, UFUNC);
}

bool lzg_dispatch_key_device_guard(lzg_dispatch_key key)
{
    return has(key, CUDA | XPU);
}

bool lzg_dispatch_key_is_cuda(lzg_dispatch_key key)
{
    return has(key, CUDA);
}

bool lzg_dispatch_key_is_xpu(lzg_dispatch_key key)
{
    return has(key, XPU);
}

bool lzg_backend_metadata_symint(const lzg_backend_metadata *m)
{
    return lz_str_find(m->kernel, LZ_STR("_symint")) != SIZE_MAX;
}
