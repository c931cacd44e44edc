/* array_print.h - prints an array as PyTorch does: tensor([1.0000, 2.5000]).
 *
 * All shown elements have one width and one format: integers with a point, a fixed number of digits, or
 * scientific notation. The text depends on the elements and the options alone, never on the locale. */
#ifndef LZ_CORE_ARRAY_PRINT_H
#define LZ_CORE_ARRAY_PRINT_H

#include "core/strided_array.h"

enum { LZ_PRINT_MOST = 1 << 20 }; /* most elements shown; many short dimensions are never summarised */

typedef enum lz_scientific { LZ_SCIENTIFIC_AUTO, LZ_SCIENTIFIC_NEVER, LZ_SCIENTIFIC_ALWAYS } lz_scientific;

typedef struct lz_print_options {
    int precision;      /* digits after the point: 0 to 100 */
    int64_t threshold;  /* arrays with more elements are summarised: only the ends are shown */
    int64_t edge_items; /* elements shown at each end of a dimension */
    int line_width;
    lz_scientific scientific;
    lz_dtype default_float; /* this dtype is not printed after the elements */
    const char *device;     /* NULL: not printed */
    const char *note;       /* printed last, "requires_grad=True"; or NULL */
} lz_print_options;

#define LZ_PRINT_DEFAULTS                                                                                    \
    ((lz_print_options){                                                                                     \
        .precision = 4, .threshold = 1000, .edge_items = 3, .line_width = 80, .default_float = LZ_F32 })

/* Appends to the text; options NULL: the defaults. LZ_ERR_LIMIT above LZ_PRINT_MOST. */
LZ_MUST_USE lz_err *lz_array_print(const lz_array *a, const lz_print_options *options, lz_text *out);

/* As C's %.*f and %.*e in the C locale, but nan never has a sign. */
void lz_text_fixed(lz_text *out, double v, int places);
void lz_text_exponent(lz_text *out, double v, int places);

#endif
