#include "gen/api/local.h"

lzg_local lzg_local_of(const lzg_function *f)
{
    return (lzg_local){ .const_ref_mutable = f->use_const_ref,
                        .ilistref = f->structured || f->structured_delegate };
}
