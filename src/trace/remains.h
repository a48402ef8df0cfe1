/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remains.h - what must stay of records that are dropped from a trace
 *
 * Steps go; what later records rest on stays: which APIs there are, sources, notes, and of each
 * variable how it stands after all of its dropped records.
 */
#ifndef TC_TRACE_REMAINS_H
#define TC_TRACE_REMAINS_H

#include "base/strbuf.h"
#include <traincheck/record.h>

struct tc_remains;

struct tc_remains *tc_remains_new(void);
void tc_remains_free(struct tc_remains *remains);

/* A record that is dropped, in the order of the file, and its line without the newline. */
void tc_remains_add(struct tc_remains *remains, const struct tc_record *record, struct tc_str line);
/* Lines in place of all that was added: a note `trimmed` that counts the steps, then the rest. */
void tc_remains_print(const struct tc_remains *remains, struct tc_strbuf *out);

#endif /* TC_TRACE_REMAINS_H */
