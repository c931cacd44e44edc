#include "base/cpu_quota.h"
#include "base/number.h"
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST_GROUPS = 4096 }; /* bytes of /proc/self/cgroup; a longer text loses its last groups */

/* As much of a file as there is room for. A file that cannot be read is empty. */
static lz_str read_file(const char *path, char *room, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, room, size);
    if (fd >= 0)
        close(fd);
    return (lz_str){ room, n > 0 ? (size_t)n : 0 };
}

/* The first number of a text; 0: none, or no limit ("max 100000", or -1). */
static int64_t number_of(lz_str text)
{
    int64_t n;
    return lz_int64_parse(lz_str_trim(text), &n) && n > 0 ? n : 0;
}

typedef struct group {
    const char *root, *mount; /* mount: the folder of the controller in root */
    lz_str path;              /* of the group in the mount */
} group;

static lz_str read_group(const group *g, const char *file, char *room, size_t size)
{
    char path[PATH_MAX];
    int n =
        snprintf(path, sizeof path, "%s%s%.*s/%s", g->root, g->mount, (int)g->path.len, g->path.ptr, file);
    return n > 0 && (size_t)n < sizeof path ? read_file(path, room, size) : (lz_str){ 0 };
}

static int cpus_of(int64_t quota, int64_t period)
{
    int64_t cpus = quota && period ? (quota - 1) / period + 1 : INT_MAX;
    return cpus < INT_MAX ? (int)cpus : INT_MAX;
}

/* The limits of one group alone, in CPUs; INT_MAX: none. */
static int limit_2(const group *g)
{
    char room[64];
    bool more;
    lz_str period = read_group(g, "cpu.max", room, sizeof room);
    lz_str quota = lz_str_cut(&period, LZ_STR(" "), &more);
    return cpus_of(number_of(quota), number_of(period));
}

static int limit_1(const group *g)
{
    char room[64];
    int64_t quota = number_of(read_group(g, "cpu.cfs_quota_us", room, sizeof room));
    return quota ? cpus_of(quota, number_of(read_group(g, "cpu.cfs_period_us", room, sizeof room))) : INT_MAX;
}

/* The root counts, too: a container may see its own group as the root, under another path than its own. */
static int least_limit(group g)
{
    int least = INT_MAX;
    g.path.len -= lz_str_is(g.path, "/");
    for (bool inner = true; inner;) {
        int limit = g.mount[0] ? limit_1(&g) : limit_2(&g);
        least = limit < least ? limit : least;
        inner = g.path.len > 0;
        size_t cut = lz_str_rfind(g.path, LZ_STR("/"));
        g.path = lz_str_sub(g.path, 0, cut == SIZE_MAX ? 0 : cut);
    }
    return least;
}

static bool has_word(lz_str list, lz_str word)
{
    for (bool more = true; more;)
        if (lz_str_eq(lz_str_cut(&list, LZ_STR(","), &more), word))
            return true;
    return false;
}

/* A line is number:controllers:path. Version 2 has one line, whose controllers are empty. */
static int limit_of_line(const char *root, lz_str line)
{
    bool more;
    lz_str_cut(&line, LZ_STR(":"), &more);
    lz_str controllers = lz_str_cut(&line, LZ_STR(":"), &more);
    if (!line.len || (controllers.len && !has_word(controllers, LZ_STR("cpu"))))
        return INT_MAX;
    return least_limit((group){ root, controllers.len ? "/cpu" : "", line });
}

int lz_cpu_quota_of(const char *root, lz_str groups)
{
    int least = INT_MAX;
    for (bool more = true; more;) {
        int limit = limit_of_line(root, lz_str_cut(&groups, LZ_STR("\n"), &more));
        least = limit < least ? limit : least;
    }
    return least == INT_MAX ? 0 : least;
}

static int quota;

static void read_quota(void)
{
    char room[MOST_GROUPS];
    quota = lz_cpu_quota_of("/sys/fs/cgroup", read_file("/proc/self/cgroup", room, sizeof room));
}

int lz_cpu_quota(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_quota);
    return quota;
}
