#include "gen/formula/shape_rules.h"

static const lzg_shape_rule rules[] = {
    { "pointwise", "", 1, true, false },
    { "pointwise_float", "", 1, true, false },
    { "pointwise_wide", "", 1, true, false },
    { "pointwise_int", "", 1, true, false },
    { "pointwise_number", "", 1, true, false },
    { "predicate", "", 1, true, true },
    { "select", "condition:Tensor", 1, true, false },
    { "elementwise", "", 1, false, false },
    { "reduce", "self:Tensor dim:int keepdim:bool", 1, false, false },
    { "reduce_sum", "self:Tensor dim:int keepdim:bool dtype:ScalarType", 1, false, false },
    { "reduce_all_sum", "self:Tensor dtype:ScalarType", 1, false, false },
    { "reduce_bool", "self:Tensor dim:int keepdim:bool", 1, false, true },
    { "reduce_index", "self:Tensor dim:int keepdim:bool", 1, false, false },
    { "reduce_pair", "self:Tensor dim:int keepdim:bool", 2, false, false },
    { "scan", "self:Tensor dim:int dtype:ScalarType", 1, false, false },
    { "scan_pair", "self:Tensor dim:int", 2, false, false },
    { "sort", "self:Tensor dim:int", 2, false, false },
    { "topk", "self:Tensor k:SymInt dim:int", 2, false, false },
    { "frexp", "self:Tensor", 2, false, false },
    { "like", "self:Tensor", 1, false, false },
    { "mm", "self:Tensor mat2:Tensor", 1, false, false },
    { "bmm", "self:Tensor mat2:Tensor", 1, false, false },
    { "convolution", "input:Tensor weight:Tensor stride:SymInt padding:SymInt dilation:SymInt groups:SymInt",
      1, false, false },
    { "convolution_backward",
      "grad_output:Tensor input:Tensor weight:Tensor stride:SymInt padding:SymInt dilation:SymInt "
      "groups:SymInt "
      "output_mask:bool",
      3, false, false },
    { "attention", "query:Tensor key:Tensor value:Tensor is_causal:bool attn_mask:Tensor scale:float", 2,
      false, false },
    { "attention_backward",
      "grad_out:Tensor query:Tensor key:Tensor value:Tensor out:Tensor logsumexp:Tensor is_causal:bool "
      "attn_mask:Tensor scale:float",
      3, false, false },
    { "recurrent", "gates:Tensor w_hh:Tensor b_hh:Tensor hx:Tensor batch_sizes:Tensor cell:int reverse:bool",
      3, false, false },
    { "recurrent_backward",
      "grad_out:Tensor grad_state:Tensor saved:Tensor w_hh:Tensor batch_sizes:Tensor cell:int reverse:bool",
      3, false, false },
    { "ctc", "log_probs:Tensor targets:Tensor input_lengths:Tensor target_lengths:Tensor blank:int", 1, false,
      false },
    { "pool", "self:Tensor kernel_size:int stride:int padding:int", 1, false, false },
    { "pool_indices", "self:Tensor kernel_size:int stride:int padding:int dilation:int", 2, false, false },
    { "windows", "self:Tensor kernel_size:int dilation:int padding:int stride:int", 1, false, false },
    { "unwindow", "self:Tensor output_size:SymInt kernel_size:int dilation:int padding:int stride:int", 1,
      false, false },
    { "search", "sorted_sequence:Tensor self:Tensor", 1, false, false },
    { "contains", "elements:Tensor test_elements:Tensor", 1, false, true },
    { "gather", "self:Tensor dim:int index:Tensor", 1, false, false },
    { "scatter", "self:Tensor dim:int index:Tensor", 1, false, false },
    { "index_select", "self:Tensor dim:int index:Tensor", 1, false, false },
    { "index", "self:Tensor indices:Tensor", 1, false, false },
    { "index_put", "self:Tensor indices:Tensor values:Tensor", 1, false, false },
    { "nonzero", "self:Tensor", 1, false, false },
    { "cat", "tensors:Tensor dim:int", 1, false, false },
    { "view", "self:Tensor size:SymInt", 1, false, false },
    { "expand", "self:Tensor size:SymInt", 1, false, false },
    { "permute", "self:Tensor dims:int", 1, false, false },
    { "slice", "self:Tensor dim:int start:SymInt end:SymInt step:SymInt", 1, false, false },
    { "select_dim", "self:Tensor dim:int index:SymInt", 1, false, false },
    { "as_strided", "self:Tensor size:SymInt stride:SymInt", 1, false, false },
    { "unfold", "self:Tensor dimension:int size:int step:int", 1, false, false },
    { "diagonal", "self:Tensor offset:int dim1:int dim2:int", 1, false, false },
    { "pad", "self:Tensor pad:SymInt value:Scalar", 1, false, false },
    { "arange", "start:Scalar end:Scalar step:Scalar dtype:ScalarType", 1, false, false },
    { "assert", "self:Tensor assert_msg:str dep_token:Tensor", 1, false, false },
    { "full", "size:SymInt fill_value:Scalar dtype:ScalarType", 1, false, false },
    { "storage_question", "self:Tensor", 1, false, false },
    { "routine", "", 0, false, false },
    { "random", "size:SymInt dtype:ScalarType", 1, false, false },
    { "suppress", "boxes:Tensor iou_threshold:float", 1, false, true },
    { "roi_pool", "input:Tensor rois:Tensor spatial_scale:float pooled_height:SymInt pooled_width:SymInt", 1,
      false, false },
    { "roi_pool_backward", "grad_output:Tensor rois:Tensor spatial_scale:float size:SymInt", 1, false,
      false },
    { "permutation", "key:Tensor n:SymInt", 1, false, false },
    { "philox_key", "key:Tensor", 1, false, false },
    { "binomial", "count:Tensor prob:Tensor", 1, false, false },
};

const lzg_shape_rule *lzg_shape_rules(size_t *n)
{
    *n = sizeof rules / sizeof *rules;
    return rules;
}

const lzg_shape_rule *lzg_shape_rule_find(lz_str name)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (lz_str_is(name, rules[i].name))
            return &rules[i];
    return NULL;
}

const char *lzg_shape_rule_dtypes(const lzg_shape_rule *rule)
{
    static const struct {
        const char *rule, *dtypes;
    } rows[] = {
        { "pointwise", "any; the arguments are promoted" },
        { "pointwise_float", "any; integers and bool are computed in the default floating dtype" },
        { "pointwise_wide", "any but float16 and bfloat16; integers and bool are computed in the default "
                            "floating dtype" },
        { "pointwise_int", "integers and bool" },
        { "pointwise_number", "any but bool" },
        { "predicate", "any; the result is bool" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].rule, rule->name))
            return rows[i].dtypes;
    return NULL;
}

static bool has(const lzg_schema *s, lz_str name, lz_str type)
{
    const lzg_argument *arg = lzg_schema_arg(s, name);
    const lzg_type *t = arg ? arg->type : NULL;
    while (t && t->elem)
        t = t->elem;
    return t && t->kind == LZG_TYPE_BASE && lz_str_is(type, lzg_base_ty_name(t->base));
}

lz_err *lzg_shape_rule_check(const lzg_shape_rule *rule, const lzg_schema *s, lz_loc loc)
{
    lz_str rest = lz_str_of(rule->needs);
    if (rule->results && s->nreturns != rule->results)
        return lz_err_at(LZ_ERR_MODEL, loc, "the rule '%s' is for %zu results, %.*s has %zu", rule->name,
                         rule->results, LZ_FMT(s->name.text), s->nreturns);
    for (bool more = rest.len > 0; more;) {
        bool typed;
        lz_str type = lz_str_cut(&rest, LZ_STR(" "), &more), name = lz_str_cut(&type, LZ_STR(":"), &typed);
        if (!has(s, name, type))
            return lz_err_at(LZ_ERR_MODEL, loc, "the rule '%s' needs an argument '%.*s' of type %.*s",
                             rule->name, LZ_FMT(name), LZ_FMT(type));
    }
    return NULL;
}
