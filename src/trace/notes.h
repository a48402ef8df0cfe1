/*
 * notes.h - what a reader may do with notes beyond adding them
 */
#ifndef TC_TRACE_NOTES_H
#define TC_TRACE_NOTES_H

#include <traincheck/trace.h>

/* Take a note back: a torn tail of a growing file is none once the rest has come. */
void tc_notes_withdraw(struct tc_notes *notes, const char *code, const char *file);

#endif /* TC_TRACE_NOTES_H */
