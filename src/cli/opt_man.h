/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt_man.h - the man page of a tool
 */
#ifndef TC_CLI_OPT_MAN_H
#define TC_CLI_OPT_MAN_H

#include "base/strbuf.h"
#include "cli/opt_table.h"

void tc_opt_man(const struct tc_opt_tool *tool, struct tc_strbuf *out);

#endif /* TC_CLI_OPT_MAN_H */
