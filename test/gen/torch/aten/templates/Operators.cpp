# Operators.cpp
generated_comment:
// ${generated_comment}
operator_headers:
  ${operator_headers}
static_dispatch_extra_headers:
${static_dispatch_extra_headers}
definitions:
  ${definitions}
