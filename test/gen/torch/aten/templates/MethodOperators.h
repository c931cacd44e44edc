# MethodOperators.h
generated_comment:
// ${generated_comment}
MethodOperators_includes:
  ${MethodOperators_includes}
MethodOperators_declarations:
${MethodOperators_declarations}
