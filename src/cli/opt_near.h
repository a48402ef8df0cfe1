/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt_near.h - the option that was probably meant
 */
#ifndef TC_CLI_OPT_NEAR_H
#define TC_CLI_OPT_NEAR_H

#include "cli/opt_table.h"

/* The option most like a name that is none, or NULL if none is near. */
const struct tc_opt *tc_opt_nearest(const struct tc_opt_tool *tool, const char *name);

#endif /* TC_CLI_OPT_NEAR_H */
