// ${generated_comment}
py::enum_<at::Tag>(m, "Tag")
    ${enum_of_valid_tags};
