# UfuncCUDA.cu
name:
${name}
cuda_headers:
  ${cuda_headers}
meta_declaration:
${meta_declaration}
native_declaration:
  ${native_declaration}
native_definitions:
${native_definitions}
