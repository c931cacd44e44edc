// The kernels of backend.yaml; their declarations come from `lazuli gen torch-backend-stubs`.
#include <PrivateUse1NativeFunctions.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/_copy_from.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <cstdlib>
#include <cstring>

namespace mirror {
namespace {

struct Memory final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override {
    void* data = std::malloc(n ? n : 1);
    return {data, data, &std::free, c10::Device(c10::DeviceType::PrivateUse1, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, size_t n) const override { std::memcpy(to, from, n); }
};

Memory memory;
const c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);

C10_REGISTER_GUARD_IMPL(PrivateUse1, c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::PrivateUse1>);

at::Tensor like(const at::Tensor& t) {
  return at::detail::empty_generic(t.sizes(), &memory, keys, t.scalar_type(), std::nullopt);
}

const float* floats(const at::Tensor& t) {
  TORCH_CHECK(t.scalar_type() == at::kFloat && t.is_contiguous(), "mirror: contiguous floats only");
  return static_cast<const float*>(t.const_data_ptr());
}

} // namespace

at::Tensor MirrorKernels::empty_symint(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype,
                                       std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
                                       std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &memory, keys, c10::dtype_or_default(dtype), format);
}

at::Tensor MirrorKernels::empty_strided_symint(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                                               std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                                               std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &memory, keys,
                                           c10::dtype_or_default(dtype));
}

at::Tensor MirrorKernels::_copy_from(const at::Tensor& self, const at::Tensor& dst, bool) {
  TORCH_CHECK(self.sizes() == dst.sizes() && self.strides() == dst.strides(), "mirror: copies keep the layout");
  std::memcpy(dst.mutable_data_ptr(), self.const_data_ptr(), self.nbytes());
  return dst;
}

at::Tensor MirrorKernels::_copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  TORCH_CHECK(self.sizes() == dst.sizes(), "mirror: an out argument has the size of the result");
  return _copy_from(self, dst, false);
}

at::Tensor MirrorKernels::add(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  at::Tensor out = like(self);
  float* to = static_cast<float*>(out.mutable_data_ptr());
  for (int64_t i = 0; i < self.numel(); i++)
    to[i] = floats(self)[i] + alpha.to<float>() * floats(other)[i];
  return out;
}

at::Tensor MirrorKernels::abs(const at::Tensor& self) {
  at::Tensor out = like(self);
  float* to = static_cast<float*>(out.mutable_data_ptr());
  for (int64_t i = 0; i < self.numel(); i++)
    to[i] = std::abs(floats(self)[i]);
  return out;
}

} // namespace mirror
