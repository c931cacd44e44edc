# UnboxingFunctions.h
generated_comment:
// ${generated_comment}
declarations:
  ${declarations}
