/* A library with a global whose destructor ends the process with status 3, as a C++ compiler would register
 * it. */
#include <unistd.h>

int __cxa_atexit(void (*destroy)(void *), void *object, void *library);
extern void *__dso_handle;

static void destroy(void *global)
{
    _exit(*(const int *)global);
}

__attribute__((constructor)) static void construct(void)
{
    static int status = 3;
    __cxa_atexit(destroy, &status, &__dso_handle);
}
