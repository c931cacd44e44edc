#include <lazuli/base.h>
#include <stdio.h>
int main(void)
{
    puts(lz_version());
}
