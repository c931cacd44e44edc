# ATenOpList.cpp
generated_comment:
// ${generated_comment}
aten_ops:
  ${aten_ops}
