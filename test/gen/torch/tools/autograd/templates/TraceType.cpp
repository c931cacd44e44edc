// ${generated_comment}
$ops_headers
namespace TraceType {
${trace_method_definitions}
}
TORCH_LIBRARY_IMPL(aten, Tracer, m) {
  ${trace_wrapper_registrations};
}
