# FunctionalInverses.h
generated_comment:
// ${generated_comment}
view_inverse_declarations:
  ${view_inverse_declarations}
