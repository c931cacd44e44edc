// ${generated_comment}
${ops_headers}
namespace ADInplaceOrView {
${inplace_or_view_method_definitions}
}
TORCH_LIBRARY_IMPL(aten, ADInplaceOrView, m) {
  ${inplace_or_view_wrapper_registrations};
}
