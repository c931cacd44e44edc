// ${generated_comment} ${shard_id}
$ops_headers
${py_forwards}
static PyMethodDef methods[] = {
  ${py_method_defs}
  {NULL}
};

${py_methods}
