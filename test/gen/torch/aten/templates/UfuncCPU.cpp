# UfuncCPU.cpp
meta_declaration:
${meta_declaration}
native_declaration:
  ${native_declaration}
native_definitions:
${native_definitions}
