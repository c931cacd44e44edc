/* array_print.h - an array as people know it from PyTorch: tensor([1.0000, 2.5000]).
 *
 * All shown elements share one width and one way of writing: integers with a point,
 * four digits, or powers of ten. The text depends on the elements and the options
 * alone, never on the locale. */
#ifndef LZ_CORE_ARRAY_PRINT_H
#define LZ_CORE_ARRAY_PRINT_H

#include "core/array.h"

enum { LZ_PRINT_MOST = 1 << 20 }; /* elements shown; many short dimensions are never summarised */

typedef enum lz_scientific { LZ_SCIENTIFIC_AUTO, LZ_SCIENTIFIC_NEVER, LZ_SCIENTIFIC_ALWAYS } lz_scientific;

typedef struct lz_print_options {
    int precision;      /* digits behind the point: 0 to 100 */
    int64_t threshold;  /* with more elements than that, only the ends are shown */
    int64_t edge_items; /* so many at each end of a dimension */
    int line_width;
    lz_scientific scientific;
    lz_dtype default_float; /* is not named behind the elements */
    const char *device;     /* NULL: is not named */
    const char *note;       /* "requires_grad=True", comes last; or NULL */
} lz_print_options;

#define LZ_PRINT_DEFAULTS                                                                                    \
    ((lz_print_options){                                                                                     \
        .precision = 4, .threshold = 1000, .edge_items = 3, .line_width = 80, .default_float = LZ_F32 })

/* Adds to the text; options NULL: the defaults. LZ_ERR_LIMIT above LZ_PRINT_MOST. */
LZ_MUST_USE lz_err *lz_array_print(const lz_array *a, const lz_print_options *options, lz_text *out);

/* As C's %.*f and %.*e in the C locale, but nan never has a sign. */
void lz_text_fixed(lz_text *out, double v, int places);
void lz_text_exponent(lz_text *out, double v, int places);

#endif
