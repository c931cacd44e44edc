# UfuncCPUKernel.cpp
name:
${name}
native_definitions:
  ${native_definitions}
