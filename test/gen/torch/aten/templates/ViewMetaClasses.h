# ViewMetaClasses.h
generated_comment:
// ${generated_comment}
view_meta_declarations:
  ${view_meta_declarations}
