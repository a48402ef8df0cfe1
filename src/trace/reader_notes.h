/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_notes.h - what a reader may do with notes beyond adding them
 */
#ifndef TC_TRACE_READER_NOTES_H
#define TC_TRACE_READER_NOTES_H

#include <traincheck/trace.h>

/* Take a note back: a torn tail of a growing file is none once the rest has come. */
void tc_notes_withdraw(struct tc_notes *notes, const char *code, const char *file);

/* Move those of another list, which is empty then, behind. */
void tc_notes_take(struct tc_notes *notes, struct tc_notes *more);

#endif /* TC_TRACE_READER_NOTES_H */
