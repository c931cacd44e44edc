/* gen_oracle NATIVE TAGS: writes the recorded operator file and tags file, rebuilt (support/oracle.h). */
#include "base/file.h"
#include "oracle.h"
#include <stdio.h>

static lz_err *write_file(lz_err *(*make)(lz_text *out), const char *path)
{
    lz_text t = { 0 };
    lz_err *e = make(&t);
    if (!e)
        e = lz_file_replace(path, lz_text_view(&t), 0644, 0);
    lz_text_deinit(&t);
    return e;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: gen_oracle NATIVE TAGS\n");
        return 2;
    }
    lz_err *e = write_file(lz_oracle_native, argv[1]);
    if (!e)
        e = write_file(lz_oracle_tags, argv[2]);
    if (e)
        fprintf(stderr, "gen_oracle: %s\n", lz_err_text(e));
    int status = e != NULL;
    lz_err_free(e);
    return status;
}
