#include "cli/graph_file.h"
#include "base/file.h"
#include "base/mem.h"
#include <string.h>

enum { MOST = 1 << 30 }; /* most bytes of a text */

lz_err *cli_graph_read(const char *file, lz_graph **out)
{
    bool standard = !strcmp(file, "-");
    char *text;
    size_t len;
    LZ_TRY(lz_file_read(standard ? "/dev/stdin" : file, MOST, &len, &text));
    lz_err *e = lz_graph_parse(standard ? "standard input" : file, (lz_str){ text, len }, out);
    lz_mem_free(text);
    return e;
}
