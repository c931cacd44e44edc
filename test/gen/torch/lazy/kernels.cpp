// The kernels of backend.yaml that are written by hand, to be counted.
at::Tensor LazyNativeFunctions::empty_symint(c10::SymIntArrayRef size, ::std::optional<at::ScalarType> dtype) {}
at::Tensor &LazyNativeFunctions::fill_(at::Tensor &self, const at::Scalar &value) {}
at::Tensor LazyNativeFunctions::nested_pad(const at::Tensor &self, int64_t padding) {}
