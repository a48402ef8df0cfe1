/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt_complete.h - the completion of a tool in a shell
 */
#ifndef TC_CLI_OPT_COMPLETE_H
#define TC_CLI_OPT_COMPLETE_H

#include <traincheck/error.h>

#include "base/strbuf.h"
#include "cli/opt_table.h"

/* shell: bash, zsh or fish; TC_E_USAGE for another one. */
enum tc_status tc_opt_completion(const struct tc_opt_tool *tool, const char *shell,
                                 struct tc_strbuf *out, struct tc_error *err);

#endif /* TC_CLI_OPT_COMPLETE_H */
