# ViewMetaClassesPythonBinding.cpp
view_meta_bindings:
${view_meta_bindings}
