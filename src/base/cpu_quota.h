/* cpu_quota.h - the CPU time that control groups allow this process. */
#ifndef LZ_BASE_CPU_QUOTA_H
#define LZ_BASE_CPU_QUOTA_H

#include "base/str.h"

/* CPUs whose time this process may use, rounded up; 0: no limit. Read once: a limit set later does not count.
 */
int lz_cpu_quota(void);

/* The quota from other files than the system's: root is the folder of the control groups (/sys/fs/cgroup),
 * groups the text of /proc/self/cgroup. A limit of an outer group counts, too. */
int lz_cpu_quota_of(const char *root, lz_str groups);

#endif
