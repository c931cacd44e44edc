#include <lazuli/lazuli.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    if (lz_err_code(NULL) != LZ_OK || strcmp(lz_code_name(LZ_ERR_IO), "io") != 0)
        return 1;
    puts(lz_version());
    return 0;
}
