#include "io/names.h"
#include "base/utf8.h"

const char *lz_name_wrong(lz_str name)
{
    uint32_t code;
    for (size_t n; name.len; name = lz_str_sub(name, n, name.len)) {
        n = lz_utf8_decode(name, &code);
        if (!n)
            return "the name is not UTF-8";
        if (!code)
            return "the name has a NUL in it";
    }
    return NULL;
}

const char *lz_name_print(lz_str name, char buf[LZ_NAME_CHARS])
{
    enum { DOTS = 3 };
    size_t used = 0;
    while (name.len && used + 4 + DOTS < LZ_NAME_CHARS) {
        uint32_t code;
        size_t n = lz_utf8_decode(name, &code);
        bool plain = n && code >= 0x20 && (code < 0x7f || code > 0x9f);
        memcpy(buf + used, plain ? name.ptr : "?", plain ? n : 1);
        used += plain ? n : 1;
        name = lz_str_sub(name, n ? n : 1, name.len);
    }
    memcpy(buf + used, "...", DOTS);
    buf[used + (name.len ? DOTS : 0)] = '\0';
    return buf;
}
