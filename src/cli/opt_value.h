/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt_value.h - from the text of one option to a member of the tool's struct
 */
#ifndef TC_CLI_OPT_VALUE_H
#define TC_CLI_OPT_VALUE_H

#include <traincheck/error.h>

#include "cli/opt_table.h"

/* value is NULL for flags and counts. Errors name the option and quote the value. */
enum tc_status tc_opt_value_set(const struct tc_opt_parser *parser, const struct tc_opt *opt,
                                const char *value, struct tc_error *err);
bool tc_opt_takes_value(const struct tc_opt *opt);
void tc_opt_list_add(struct tc_opt_list *list, const char *item, struct tc_arena *arena);

#endif /* TC_CLI_OPT_VALUE_H */
