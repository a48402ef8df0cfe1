/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.h - from the counts of a check to an exit status, and the sentence that says why
 */
#ifndef TC_TOOLS_VERDICT_H
#define TC_TOOLS_VERDICT_H

#include "check.h"

int verdict_exit_status(const struct check_options *options, const struct tc_check_result *result);

/* Nothing was found, and that proves nothing: one line of an error, also with -q. */
void verdict_say(struct tc_app *app, const struct check_options *options,
                 const struct tc_check_result *result);

#endif /* TC_TOOLS_VERDICT_H */
