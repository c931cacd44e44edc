/* log.h - telling the host's log callback (lz_log_set) what happens.
 *
 * The callback runs on the thread that logs, one call at a time. What it logs
 * itself is dropped, so it may call anything; it may also call lz_log_set. Once
 * lz_log_set returns, the former callback is not running and never runs again. */
#ifndef LZ_BASE_LOG_H
#define LZ_BASE_LOG_H

#include <lazuli/base.h>
#include <stdbool.h>

/* Whether anyone listens at this level: for messages that are costly to prepare. */
bool lz_log_on(lz_level level);

/* Newlines become spaces. A long message is cut when memory is out; nothing fails. */
void lz_logf(lz_level level, const char *fmt, ...) LZ_PRINTF(2, 3);

#endif
