/* log.h - passes messages to the host's log callback (lz_log_set).
 *
 * The callback runs on the thread that logs, one call at a time. Messages logged inside the callback are
 * dropped, so it may call anything; it may also call lz_log_set. Once lz_log_set returns, the former callback
 * is not running and never runs again. */
#ifndef LZ_BASE_LOG_H
#define LZ_BASE_LOG_H

#include <lazuli/base.h>
#include <stdbool.h>

/* Is there a callback for this level? For messages that are costly to prepare. */
bool lz_log_on(lz_level level);

/* Newlines become spaces. A long message is truncated if memory is out; nothing fails. */
void lz_logf(lz_level level, const char *fmt, ...) LZ_PRINTF(2, 3);

#endif
