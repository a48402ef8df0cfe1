/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang.h - which ranks wait, and for whom, when nothing comes any more
 *
 * Of each process the calls of its main thread that are open are known. Where some ranks are inside
 * a collective call, those that are not are waited for; the gradients of a wrapped model are
 * reduced inside of backward(), which counts where no rank is in a collective call of the script.
 */
#ifndef TC_ONLINE_HANG_H
#define TC_ONLINE_HANG_H

#include "base/json.h"
#include "report/run.h"
#include <traincheck/record.h>

struct tc_hang;

struct tc_hang *tc_hang_new(void);
void tc_hang_free(struct tc_hang *hang);

/* Each record of each file, in the order of the file. */
void tc_hang_feed(struct tc_hang *hang, size_t file, const struct tc_record *record);

/*
 * How the ranks stand, as a finding of docs/violation-format.md of the kind "hang" without its
 * number: process(context, i) is that of file i, of n files, NULL if it was not there yet; nothing
 * came for so many seconds. The caller owns it.
 */
struct tc_json *tc_hang_finding(const struct tc_hang *hang, size_t n,
                                const struct tc_process *(*process)(void *context, size_t i),
                                void *context, uint64_t quiet_s, const char *trace);
/* That, as text for a terminal. */
void tc_hang_text(const struct tc_json *finding, struct tc_strbuf *out);

#endif /* TC_ONLINE_HANG_H */
