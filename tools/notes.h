/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes.h - what was odd in the traces, as lines on stderr
 */
#ifndef TC_TOOLS_NOTES_H
#define TC_TOOLS_NOTES_H

#include <traincheck/trace.h>

#include "cli/app.h"

/* The first few, or all of them when verbose. */
void notes_say(struct tc_app *app, const struct tc_notes *notes, bool verbose);

#endif /* TC_TOOLS_NOTES_H */
