# aten_interned_strings.h
generated_comment:
// ${generated_comment}
aten_symbols:
  ${aten_symbols}
attr_symbols:
${attr_symbols}
