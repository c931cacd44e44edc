# RedispatchFunctions.h
generated_comment:
// ${generated_comment}
function_redispatch_definitions:
  ${function_redispatch_definitions}
