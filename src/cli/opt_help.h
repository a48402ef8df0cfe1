/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt_help.h - what --help and --version print
 */
#ifndef TC_CLI_OPT_HELP_H
#define TC_CLI_OPT_HELP_H

#include "base/strbuf.h"
#include "cli/opt_table.h"

void tc_opt_help(const struct tc_opt_tool *tool, struct tc_strbuf *out);
void tc_opt_version(const struct tc_opt_tool *tool, struct tc_strbuf *out);

#endif /* TC_CLI_OPT_HELP_H */
