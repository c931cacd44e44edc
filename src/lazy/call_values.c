#include "lazy/call_values.h"
#include "lower/arg.h"

typedef struct packed {
    lz_lower *b;
    const lz_call *c;
    const lz_spec *const *in;
} packed;

static lz_err *tensor_value(const packed *f, uint32_t operand, lz_low_value *out)
{
    const lz_spec *s = f->in[operand];
    const lz_low_node *n;
    *out = lz_low_value_none();
    if (!s)
        return NULL;
    LZ_TRY(lz_low_input(f->b, operand, (lz_dtype)s->dtype, lz_spec_sizes(s), lz_spec_strides(s), 0, &n));
    *out = lz_low_value_tensor(n);
    return NULL;
}

static lz_err *tensor_list_value(const packed *f, const lz_slot *s, lz_low_value *out)
{
    lz_low_value *items;
    LZ_TRY(lz_low_list_new(f->b, s->n, &items));
    for (uint32_t i = 0; i < s->n; i++)
        LZ_TRY(tensor_value(f, s->first + i, &items[i]));
    *out = lz_low_value_list(items, s->n);
    return NULL;
}

static lz_err *number_value(const packed *f, const lz_slot *s, lz_low_value *out)
{
    *out = lz_low_value_number(f->c->numbers[s->first]);
    return lz_low_scalar(f->b, s->first, lz_low_value_number_dtype(out), &out->node);
}

static lz_err *argument_value(const packed *f, uint32_t i, lz_low_value *out)
{
    const lz_slot *s = &f->c->slots[i];
    lz_value v;
    *out = lz_low_value_none();
    switch ((lz_arg_kind)s->kind) {
    case LZ_ARG_TENSOR:
        return tensor_value(f, s->first, out);
    case LZ_ARG_TENSORS:
        return tensor_list_value(f, s, out);
    case LZ_ARG_SCALAR:
        return number_value(f, s, out);
    case LZ_ARG_VALUE:
        v = lz_unpack(f->c->words.data, s->first);
        return lz_arg_of_value(f->b, &v, out);
    default:
        return NULL;
    }
}

lz_err *lz_call_low_values(lz_lower *b, const lz_call *c, const lz_spec *const *in, lz_low_value *out)
{
    packed f = { b, c, in };
    for (uint32_t i = 0; i < c->op->nargs; i++) {
        lz_err *e = argument_value(&f, i, &out[i]);
        if (e)
            return lz_err_wrap(e, "argument '%s'", c->op->args[i].name);
    }
    return NULL;
}
