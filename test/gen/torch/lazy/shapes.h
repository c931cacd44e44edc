// The shape functions of backend.yaml, one on each line.
TORCH_API std::vector<torch::lazy::Shape> compute_shape_empty_like(const at::Tensor & self, ::std::optional<at::ScalarType> dtype, ::std::optional<at::Layout> layout, ::std::optional<at::Device> device, ::std::optional<bool> pin_memory, ::std::optional<at::MemoryFormat> memory_format);
TORCH_API std::vector<torch::lazy::Shape> compute_shape_grow_symint(const at::Tensor & self, c10::SymIntArrayRef size, ::std::optional<c10::SymInt> step, const at::Scalar & fill);
TORCH_API std::vector<torch::lazy::Shape> compute_shape_pair(const at::Tensor & self, int64_t k);
TORCH_API std::vector<torch::lazy::Shape> compute_shape_shrink_(at::Tensor & self, const at::Tensor & other, ::std::optional<at::Generator> generator);
TORCH_API std::vector<torch::lazy::Shape> compute_shape_steps(const at::Scalar & end, ::std::optional<at::ScalarType> dtype, ::std::optional<at::Layout> layout, ::std::optional<at::Device> device, ::std::optional<bool> pin_memory);
TORCH_API std::vector<torch::lazy::Shape> compute_shape_texts(const at::Tensor & self, ::std::optional<c10::string_view> mode, c10::string_view kind, ::std::optional<at::Device> device, ::std::optional<at::ArrayRef<double>> ratios);
