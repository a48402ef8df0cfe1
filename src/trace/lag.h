/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lag.h - how far the reading of a growing folder is behind its writing
 */
#ifndef TC_TRACE_LAG_H
#define TC_TRACE_LAG_H

#include <traincheck/trace.h>

/* From the last record read to the last change of the file, in the file that is most behind; 0 if
 * all was read that the last refresh found. A process whose clock is unknown tells nothing. */
int64_t tc_trace_folder_lag_ns(const struct tc_trace_folder *folder);

#endif /* TC_TRACE_LAG_H */
