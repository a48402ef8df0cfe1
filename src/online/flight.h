/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight.h - what PyTorch's flight recorder knows of ranks that wait
 *
 * A dump of it lies in the trace's folder, as TORCH_FR_DUMP_TEMP_FILE=FOLDER/nccl_trace_rank_ has
 * it: a file whose name ends in the rank. It holds the last collective calls that the rank has
 * begun, of each process group by their number there. So it also knows of calls that return before
 * they have ended, in which no rank is seen to wait by its trace.
 */
#ifndef TC_ONLINE_FLIGHT_H
#define TC_ONLINE_FLIGHT_H

#include "base/json.h"
#include <traincheck/trace.h>

/*
 * Read the dumps in the folder, if there are any, and add to a finding of the kind "hang"
 * (docs/violation-format.md) what they tell; where the trace does not tell whom ranks wait for, the
 * sentence is theirs. Files that are none or are damaged are noted; notes may be NULL.
 */
void tc_flight_add(struct tc_json *finding, const char *folder, struct tc_notes *notes);
/* What was added, as a line for a terminal; nothing if nothing was. */
void tc_flight_text(const struct tc_json *finding, struct tc_strbuf *out);

#endif /* TC_ONLINE_FLIGHT_H */
