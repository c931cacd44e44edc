#include "op/op_table.h"

static const lz_type_row t_Tensor = { "Tensor", LZ_KIND_TENSOR, 0, -1 };
static const lz_type_row t_Scalar = { "Scalar", LZ_KIND_SCALAR, 0, -1 };
static const lz_type_row t_int = { "int", LZ_KIND_INT, 0, -1 };
static const lz_type_row t_bool = { "bool", LZ_KIND_BOOL, 0, -1 };
static const lz_type_row t_Tensor_opt = { "Tensor?", LZ_KIND_TENSOR, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_SymInt_2 = { "SymInt[2]", LZ_KIND_INTS, LZ_TYPE_SYMBOLIC, 2 };
static const lz_type_row t_SymInt = { "SymInt", LZ_KIND_INT, LZ_TYPE_SYMBOLIC, -1 };
static const lz_type_row t_int_1_opt = { "int[1]?", LZ_KIND_INTS, LZ_TYPE_OPTIONAL, 1 };
static const lz_type_row t_ScalarType_opt = { "ScalarType?", LZ_KIND_DTYPE, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_Scalar_opt = { "Scalar?", LZ_KIND_SCALAR, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_int_opt = { "int?", LZ_KIND_INT, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_float_opt = { "float?", LZ_KIND_FLOAT, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_bool_opt = { "bool?", LZ_KIND_BOOL, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_str_opt = { "str?", LZ_KIND_STR, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_MemoryFormat_opt = { "MemoryFormat?", LZ_KIND_MEMORY_FORMAT, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_Device_opt = { "Device?", LZ_KIND_DEVICE, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_Generator_opt = { "Generator?", LZ_KIND_GENERATOR, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_float_list_opt = { "float[]?", LZ_KIND_FLOATS, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_SymInt_list = { "SymInt[]", LZ_KIND_INTS, LZ_TYPE_SYMBOLIC, -1 };
static const lz_type_row t_Layout_opt = { "Layout?", LZ_KIND_LAYOUT, LZ_TYPE_OPTIONAL, -1 };
static const lz_type_row t_Tensor_list = { "Tensor[]", LZ_KIND_TENSORS, 0, -1 };
static const lz_type_row t_Tensor_opt_list = { "Tensor?[]", LZ_KIND_TENSORS, LZ_TYPE_NULLABLE, -1 };
static const lz_type_row t_float = { "float", LZ_KIND_FLOAT, 0, -1 };
static const lz_type_row t_str = { "str", LZ_KIND_STR, 0, -1 };

static const lz_value v0 = { .kind = LZ_KIND_SCALAR, .scalar = { LZ_SCALAR_INT, 1, 0, 0 } };
static const lz_value v1 = { .kind = LZ_KIND_BOOL, .truth = false };
static const lz_value v2 = { .kind = LZ_KIND_NONE };
static const lz_value v3 = { .kind = LZ_KIND_INTS, .ints = { (const int64_t[]){ 1, 1 }, 2 } };
static const lz_value v4 = { .kind = LZ_KIND_INTS, .ints = { (const int64_t[]){ 0, 0 }, 2 } };
static const lz_value v5 = { .kind = LZ_KIND_INT, .integer = 1 };
static const lz_value v6 = { .kind = LZ_KIND_INT, .integer = 2 };
static const lz_value v7 = { .kind = LZ_KIND_MEMORY_FORMAT, .memory_format = LZ_CONTIGUOUS };
static const lz_value v8 = { .kind = LZ_KIND_FLOATS, .floats = { (const double[]){ 0.5, 1.0 }, 2 } };
static const lz_value v9 = { .kind = LZ_KIND_INT, .integer = 0 };
static const lz_value v10 = { .kind = LZ_KIND_BOOL, .truth = true };
static const lz_value v11 = { .kind = LZ_KIND_FLOAT, .real = 0.25 };
static const lz_value v12 = { .kind = LZ_KIND_STR, .str = "none" };
static const lz_value v13 = { .kind = LZ_KIND_STR, .str = "*/\"?\?/" };
static const lz_value v14 = { .kind = LZ_KIND_INT, .integer = 3 };

static const lz_arg_row add_Tensor_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "other", .type = &t_Tensor, .section = LZ_SECTION_POST_SELF },
    { .name = "alpha", .type = &t_Scalar, .default_text = "1", .default_value = &v0, .section = LZ_SECTION_KEYWORD },
};
static const lz_arg_row add__Tensor_args[] = {
    { .name = "self", .type = &t_Tensor, .annotation = "a!", .alias = 1, .write = true, .section = LZ_SECTION_SELF },
    { .name = "other", .type = &t_Tensor, .section = LZ_SECTION_POST_SELF },
    { .name = "alpha", .type = &t_Scalar, .default_text = "1", .default_value = &v0, .section = LZ_SECTION_KEYWORD },
};
static const lz_arg_row add_out_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "other", .type = &t_Tensor, .section = LZ_SECTION_POST_SELF },
    { .name = "alpha", .type = &t_Scalar, .default_text = "1", .default_value = &v0, .section = LZ_SECTION_KEYWORD },
    { .name = "out", .type = &t_Tensor, .annotation = "a!", .alias = 1, .write = true, .section = LZ_SECTION_OUT },
};
static const lz_arg_row relu_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
};
static const lz_arg_row mul_Scalar_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "other", .type = &t_Scalar, .section = LZ_SECTION_POST_SELF },
};
static const lz_arg_row max_dim_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "dim", .type = &t_int, .section = LZ_SECTION_POST_SELF },
    { .name = "keepdim", .type = &t_bool, .default_text = "False", .default_value = &v1, .section = LZ_SECTION_POST_SELF },
};
static const lz_arg_row conv2d_args[] = {
    { .name = "input", .type = &t_Tensor, .section = LZ_SECTION_POST_SELF },
    { .name = "weight", .type = &t_Tensor, .section = LZ_SECTION_POST_SELF },
    { .name = "bias", .type = &t_Tensor_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_POST_SELF },
    { .name = "stride", .type = &t_SymInt_2, .default_text = "1", .default_value = &v3, .section = LZ_SECTION_POST_SELF },
    { .name = "padding", .type = &t_SymInt_2, .default_text = "[0,0]", .default_value = &v4, .section = LZ_SECTION_POST_SELF },
    { .name = "groups", .type = &t_SymInt, .default_text = "1", .default_value = &v5, .section = LZ_SECTION_POST_SELF },
};
static const lz_arg_row sum_dim_IntList_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "dim", .type = &t_int_1_opt, .section = LZ_SECTION_POST_SELF },
    { .name = "keepdim", .type = &t_bool, .default_text = "False", .default_value = &v1, .section = LZ_SECTION_POST_SELF },
    { .name = "dtype", .type = &t_ScalarType_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_KEYWORD },
};
static const lz_arg_row clamp_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "min", .type = &t_Scalar_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_POST_SELF },
    { .name = "max", .type = &t_Scalar_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_POST_SELF },
};
static const lz_arg_row options_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "a", .type = &t_int_opt, .default_text = "2", .default_value = &v6, .section = LZ_SECTION_POST_SELF },
    { .name = "b", .type = &t_float_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_POST_SELF },
    { .name = "e", .type = &t_bool_opt, .default_text = "False", .default_value = &v1, .section = LZ_SECTION_POST_SELF },
    { .name = "s", .type = &t_str_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_POST_SELF },
    { .name = "f", .type = &t_MemoryFormat_opt, .default_text = "contiguous_format", .default_value = &v7, .section = LZ_SECTION_POST_SELF },
    { .name = "d", .type = &t_Device_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_POST_SELF },
    { .name = "g", .type = &t_Generator_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_POST_SELF },
    { .name = "l", .type = &t_float_list_opt, .default_text = "[0.5,1]", .default_value = &v8, .section = LZ_SECTION_POST_SELF },
};
static const lz_arg_row empty_memory_format_args[] = {
    { .name = "size", .type = &t_SymInt_list, .section = LZ_SECTION_POST_SELF },
    { .name = "dtype", .type = &t_ScalarType_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_TENSOR_OPTIONS },
    { .name = "layout", .type = &t_Layout_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_TENSOR_OPTIONS },
    { .name = "device", .type = &t_Device_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_TENSOR_OPTIONS },
    { .name = "pin_memory", .type = &t_bool_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_TENSOR_OPTIONS },
    { .name = "memory_format", .type = &t_MemoryFormat_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_POST_TENSOR_OPTIONS },
};
static const lz_arg_row split_Tensor_args[] = {
    { .name = "self", .type = &t_Tensor, .annotation = "a -> *", .alias = 1, .section = LZ_SECTION_SELF },
    { .name = "split_size", .type = &t_SymInt, .section = LZ_SECTION_POST_SELF },
    { .name = "dim", .type = &t_int, .default_text = "0", .default_value = &v9, .section = LZ_SECTION_POST_SELF },
};
static const lz_arg_row index_Tensor_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "indices", .type = &t_Tensor_opt_list, .section = LZ_SECTION_POST_SELF },
};
static const lz_arg_row _foreach_add__List_args[] = {
    { .name = "self", .type = &t_Tensor_list, .annotation = "a!", .alias = 1, .write = true, .section = LZ_SECTION_SELF },
    { .name = "other", .type = &t_Tensor_list, .section = LZ_SECTION_POST_SELF },
    { .name = "alpha", .type = &t_Scalar, .default_text = "1", .default_value = &v0, .section = LZ_SECTION_KEYWORD },
};
static const lz_arg_row words_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "default", .type = &t_int, .section = LZ_SECTION_POST_SELF },
    { .name = "new", .type = &t_Tensor, .section = LZ_SECTION_KEYWORD },
    { .name = "register", .type = &t_int, .default_text = "0", .default_value = &v9, .section = LZ_SECTION_KEYWORD },
    { .name = "this", .type = &t_bool, .default_text = "True", .default_value = &v10, .section = LZ_SECTION_KEYWORD },
    { .name = "I", .type = &t_float, .default_text = "0.25", .default_value = &v11, .section = LZ_SECTION_KEYWORD },
    { .name = "at", .type = &t_int, .default_text = "1", .default_value = &v5, .section = LZ_SECTION_KEYWORD },
};
static const lz_arg_row gelu_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "approximate", .type = &t_str, .default_text = "'none'", .default_value = &v12, .section = LZ_SECTION_KEYWORD },
    { .name = "end", .type = &t_str, .default_text = "\"*/\\\"?\?/\"", .default_value = &v13, .section = LZ_SECTION_KEYWORD },
};
static const lz_arg_row late_args[] = {
    { .name = "a", .type = &t_int, .default_text = "1", .default_value = &v5, .section = LZ_SECTION_PRE_SELF },
    { .name = "self", .type = &t_Tensor_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_SELF },
    { .name = "other", .type = &t_Tensor, .section = LZ_SECTION_KEYWORD },
};
static const lz_arg_row all_named_args[] = {
    { .name = "n", .type = &t_int, .default_text = "3", .default_value = &v14, .section = LZ_SECTION_POST_SELF },
};
static const lz_arg_row det_args[] = {
    { .name = "A", .type = &t_Tensor, .section = LZ_SECTION_POST_SELF },
};
static const lz_arg_row det_result_args[] = {
    { .name = "A", .type = &t_Tensor, .section = LZ_SECTION_POST_SELF },
    { .name = "result", .type = &t_Tensor, .annotation = "a!", .alias = 1, .write = true, .section = LZ_SECTION_OUT },
    { .name = "LU", .type = &t_Tensor, .annotation = "b!", .alias = 2, .write = true, .section = LZ_SECTION_OUT },
};
static const lz_arg_row other_scale_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "by", .type = &t_float, .section = LZ_SECTION_POST_SELF },
};
static const lz_arg_row add_Scalar_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "other", .type = &t_Scalar, .section = LZ_SECTION_POST_SELF },
    { .name = "alpha", .type = &t_Scalar, .default_text = "1", .default_value = &v0, .section = LZ_SECTION_POST_SELF },
};
static const lz_arg_row sum_args[] = {
    { .name = "self", .type = &t_Tensor, .section = LZ_SECTION_SELF },
    { .name = "dtype", .type = &t_ScalarType_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_KEYWORD },
};
static const lz_arg_row empty_memory_format_out_args[] = {
    { .name = "size", .type = &t_SymInt_list, .section = LZ_SECTION_POST_SELF },
    { .name = "memory_format", .type = &t_MemoryFormat_opt, .default_text = "None", .default_value = &v2, .section = LZ_SECTION_KEYWORD },
    { .name = "out", .type = &t_Tensor, .annotation = "a!", .alias = 1, .write = true, .section = LZ_SECTION_OUT },
};

static const lz_return_row add_Tensor_returns[] = {
    { .type = &t_Tensor, .argument = LZ_NO_ARGUMENT },
};
static const lz_return_row add__Tensor_returns[] = {
    { .type = &t_Tensor, .annotation = "a!", .alias = 1, .write = true, .argument = 0 },
};
static const lz_return_row add_out_returns[] = {
    { .type = &t_Tensor, .annotation = "a!", .alias = 1, .write = true, .argument = 3 },
};
static const lz_return_row max_dim_returns[] = {
    { .name = "values", .type = &t_Tensor, .argument = LZ_NO_ARGUMENT },
    { .name = "indices", .type = &t_Tensor, .argument = LZ_NO_ARGUMENT },
};
static const lz_return_row frexp_parts_returns[] = {
    { .type = &t_Tensor, .argument = LZ_NO_ARGUMENT },
    { .type = &t_Tensor, .argument = LZ_NO_ARGUMENT },
    { .type = &t_int, .argument = LZ_NO_ARGUMENT },
};
static const lz_return_row split_Tensor_returns[] = {
    { .type = &t_Tensor_list, .annotation = "a", .alias = 1, .argument = 0 },
};
static const lz_return_row words_returns[] = {
    { .name = "template", .type = &t_Tensor, .argument = LZ_NO_ARGUMENT },
    { .name = "c", .type = &t_Tensor, .argument = LZ_NO_ARGUMENT },
};
static const lz_return_row late_returns[] = {
    { .type = &t_bool, .argument = LZ_NO_ARGUMENT },
};
static const lz_return_row all_named_returns[] = {
    { .type = &t_int, .argument = LZ_NO_ARGUMENT },
};
static const lz_return_row det_returns[] = {
    { .name = "result", .type = &t_Tensor, .argument = LZ_NO_ARGUMENT },
    { .name = "LU", .type = &t_Tensor, .argument = LZ_NO_ARGUMENT },
};
static const lz_return_row det_result_returns[] = {
    { .name = "result", .type = &t_Tensor, .annotation = "a!", .alias = 1, .write = true, .argument = 1 },
    { .name = "LU", .type = &t_Tensor, .annotation = "b!", .alias = 2, .write = true, .argument = 2 },
};
static const lz_return_row empty_memory_format_out_returns[] = {
    { .type = &t_Tensor, .annotation = "a!", .alias = 1, .write = true, .argument = 2 },
};

const lz_op_row lz_op_table[LZ_OP_COUNT] = {
    [LZ_OP_NONE] = { 0 },
    [LZ_OP_add_Tensor] = {
        .name = "add.Tensor", .ns = "aten", .base = 3,
        .schema = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        .args = add_Tensor_args, .nargs = 3, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_STRUCTURED | LZ_OPF_ABSTRACT | LZ_OPF_FUNCTION | LZ_OPF_METHOD,
        .tags = LZ_TAG_BIT(core) | LZ_TAG_BIT(pointwise),
    },
    [LZ_OP_add__Tensor] = {
        .name = "add_.Tensor", .ns = "aten", .base = 4,
        .schema = "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
        .args = add__Tensor_args, .nargs = 3, .returns = add__Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_INPLACE, .flags = LZ_OPF_MUTABLE | LZ_OPF_STRUCTURED | LZ_OPF_ABSTRACT | LZ_OPF_METHOD,
        .tags = LZ_TAG_BIT(pointwise),
    },
    [LZ_OP_add_out] = {
        .name = "add.out", .ns = "aten", .base = 3,
        .schema = "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
        .args = add_out_args, .nargs = 4, .returns = add_out_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_OUT, .flags = LZ_OPF_MUTABLE | LZ_OPF_STRUCTURED | LZ_OPF_ABSTRACT | LZ_OPF_FUNCTION,
        .tags = LZ_TAG_BIT(pointwise),
    },
    [LZ_OP_sub_Tensor] = {
        .name = "sub.Tensor", .ns = "aten", .base = 3,
        .schema = "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        .args = add_Tensor_args, .nargs = 3, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
        .tags = LZ_TAG_BIT(pointwise),
    },
    [LZ_OP_relu] = {
        .name = "relu", .ns = "aten", .base = 4,
        .schema = "relu(Tensor self) -> Tensor",
        .args = relu_args, .nargs = 1, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION | LZ_OPF_METHOD,
        .tags = LZ_TAG_BIT(core) | LZ_TAG_BIT(pointwise),
    },
    [LZ_OP_mul_Scalar] = {
        .name = "mul.Scalar", .ns = "aten", .base = 3,
        .schema = "mul.Scalar(Tensor self, Scalar other) -> Tensor",
        .args = mul_Scalar_args, .nargs = 2, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_max_dim] = {
        .name = "max.dim", .ns = "aten", .base = 3,
        .schema = "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        .args = max_dim_args, .nargs = 3, .returns = max_dim_returns, .nreturns = 2,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_min_dim] = {
        .name = "min.dim", .ns = "aten", .base = 3,
        .schema = "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        .args = max_dim_args, .nargs = 3, .returns = max_dim_returns, .nreturns = 2,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_frexp_parts] = {
        .name = "frexp_parts", .ns = "aten", .base = 11,
        .schema = "frexp_parts(Tensor self) -> (Tensor, Tensor, int)",
        .args = relu_args, .nargs = 1, .returns = frexp_parts_returns, .nreturns = 3,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_conv2d] = {
        .name = "conv2d", .ns = "aten", .base = 6,
        .schema = "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=[0,0], SymInt groups=1) -> Tensor",
        .args = conv2d_args, .nargs = 6, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_SYMINT | LZ_OPF_FUNCTION,
    },
    [LZ_OP_sum_dim_IntList] = {
        .name = "sum.dim_IntList", .ns = "aten", .base = 3,
        .schema = "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        .args = sum_dim_IntList_args, .nargs = 4, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
        .tags = LZ_TAG_BIT(core) | LZ_TAG_BIT(reduction),
    },
    [LZ_OP_clamp] = {
        .name = "clamp", .ns = "aten", .base = 5,
        .schema = "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
        .args = clamp_args, .nargs = 3, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_options] = {
        .name = "options", .ns = "aten", .base = 7,
        .schema = "options(Tensor self, int? a=2, float? b=None, bool? e=False, str? s=None, MemoryFormat? f=contiguous_format, Device? d=None, Generator? g=None, float[]? l=[0.5,1]) -> Tensor",
        .args = options_args, .nargs = 9, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
        .tags = LZ_TAG_BIT(nondeterministic_seeded),
    },
    [LZ_OP_empty_memory_format] = {
        .name = "empty.memory_format", .ns = "aten", .base = 5,
        .schema = "empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
        .args = empty_memory_format_args, .nargs = 6, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_SYMINT | LZ_OPF_ABSTRACT | LZ_OPF_FUNCTION,
    },
    [LZ_OP_split_Tensor] = {
        .name = "split.Tensor", .ns = "aten", .base = 5,
        .schema = "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
        .args = split_Tensor_args, .nargs = 3, .returns = split_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_VIEW | LZ_OPF_SYMINT | LZ_OPF_FUNCTION | LZ_OPF_METHOD,
    },
    [LZ_OP_index_Tensor] = {
        .name = "index.Tensor", .ns = "aten", .base = 5,
        .schema = "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
        .args = index_Tensor_args, .nargs = 2, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP__foreach_add__List] = {
        .name = "_foreach_add_.List", .ns = "aten", .base = 13,
        .schema = "_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()",
        .args = _foreach_add__List_args, .nargs = 3,
        .kind = LZ_SCHEMA_INPLACE, .flags = LZ_OPF_MUTABLE | LZ_OPF_FUNCTION,
    },
    [LZ_OP_words] = {
        .name = "words", .ns = "aten", .base = 5,
        .schema = "words(Tensor self, int default, *, Tensor new, int register=0, bool this=True, float I=0.25, int at=1) -> (Tensor template, Tensor c)",
        .args = words_args, .nargs = 7, .returns = words_returns, .nreturns = 2,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_gelu] = {
        .name = "gelu", .ns = "aten", .base = 4,
        .schema = "gelu(Tensor self, *, str approximate='none', str end=\"*/\\\"?\?/\") -> Tensor",
        .args = gelu_args, .nargs = 3, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_nothing] = {
        .name = "nothing", .ns = "aten", .base = 7,
        .schema = "nothing() -> ()",
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_late] = {
        .name = "late", .ns = "aten", .base = 4,
        .schema = "late(int a=1, Tensor? self=None, *, Tensor other) -> bool",
        .args = late_args, .nargs = 3, .returns = late_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_all_named] = {
        .name = "all_named", .ns = "aten", .base = 9,
        .schema = "all_named(int n=3) -> int",
        .args = all_named_args, .nargs = 1, .returns = all_named_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_det] = {
        .name = "det", .ns = "aten", .base = 3,
        .schema = "det(Tensor A) -> (Tensor result, Tensor LU)",
        .args = det_args, .nargs = 1, .returns = det_returns, .nreturns = 2,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_det_result] = {
        .name = "det.result", .ns = "aten", .base = 3,
        .schema = "det.result(Tensor A, *, Tensor(a!) result, Tensor(b!) LU) -> (Tensor(a!) result, Tensor(b!) LU)",
        .args = det_result_args, .nargs = 3, .returns = det_result_returns, .nreturns = 2,
        .kind = LZ_SCHEMA_OUT, .flags = LZ_OPF_MUTABLE | LZ_OPF_FUNCTION,
    },
    [LZ_OP_other_scale] = {
        .name = "scale", .ns = "other", .base = 5,
        .schema = "scale(Tensor self, float by) -> Tensor",
        .args = other_scale_args, .nargs = 2, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_add_Scalar] = {
        .name = "add.Scalar", .ns = "aten", .base = 3,
        .schema = "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
        .args = add_Scalar_args, .nargs = 3, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_sum] = {
        .name = "sum", .ns = "aten", .base = 3,
        .schema = "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
        .args = sum_args, .nargs = 2, .returns = add_Tensor_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_FUNCTIONAL, .flags = LZ_OPF_FUNCTION,
    },
    [LZ_OP_empty_memory_format_out] = {
        .name = "empty.memory_format_out", .ns = "aten", .base = 5,
        .schema = "empty.memory_format_out(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
        .args = empty_memory_format_out_args, .nargs = 3, .returns = empty_memory_format_out_returns, .nreturns = 1,
        .kind = LZ_SCHEMA_OUT, .flags = LZ_OPF_MUTABLE | LZ_OPF_SYMINT | LZ_OPF_GENERATED | LZ_OPF_ABSTRACT | LZ_OPF_FUNCTION,
        .tags = LZ_TAG_BIT(generated) | LZ_TAG_BIT(out),
    },
};

const lz_layout_row lz_op_layout[LZ_OP_COUNT] = {
    [LZ_OP_NONE] = { 0 },
    [LZ_OP_add_Tensor] = { .strides = LZ_STRIDES_operands },
    [LZ_OP_add__Tensor] = { .strides = LZ_STRIDES_operands },
    [LZ_OP_add_out] = { .strides = LZ_STRIDES_operands },
    [LZ_OP_sub_Tensor] = { .strides = LZ_STRIDES_operands },
    [LZ_OP_relu] = { .strides = LZ_STRIDES_operands },
    [LZ_OP_empty_memory_format_out] = { .strides = LZ_STRIDES_contiguous },
};

const uint16_t lz_op_by_name[LZ_OP_COUNT] = {
    LZ_OP_NONE,
    LZ_OP__foreach_add__List,
    LZ_OP_add_Scalar,
    LZ_OP_add_Tensor,
    LZ_OP_add_out,
    LZ_OP_add__Tensor,
    LZ_OP_all_named,
    LZ_OP_clamp,
    LZ_OP_conv2d,
    LZ_OP_det,
    LZ_OP_det_result,
    LZ_OP_empty_memory_format,
    LZ_OP_empty_memory_format_out,
    LZ_OP_frexp_parts,
    LZ_OP_gelu,
    LZ_OP_index_Tensor,
    LZ_OP_late,
    LZ_OP_max_dim,
    LZ_OP_min_dim,
    LZ_OP_mul_Scalar,
    LZ_OP_nothing,
    LZ_OP_options,
    LZ_OP_relu,
    LZ_OP_other_scale,
    LZ_OP_split_Tensor,
    LZ_OP_sub_Tensor,
    LZ_OP_sum,
    LZ_OP_sum_dim_IntList,
    LZ_OP_words,
};

const lz_left_out_row lz_left_out_table[] = {
    { 0 },
};

const bool lz_op_table_selective = false;
