# RegisterFunctionalization.cpp
generated_comment:
// ${generated_comment}
ops_headers:
  ${ops_headers}
func_definitions:
${func_definitions}
func_registrations:
  ${func_registrations}
