/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt.h - command lines: one table per tool
 *
 * A table row gives an option its names, its kind, the member of the tool's
 * own struct that it sets, and its line of help. Parsing, --help, --version,
 * shell completion and the man page are all made from the table.
 *
 *     struct options { const char *output; bool quiet; struct tc_opt_list traces; };
 *     #define AT(member) offsetof(struct options, member)
 *     static const struct tc_opt rows[] = {
 *         TC_OPT_VALUE(STRING, "output", 'o', "FILE", AT(output), "where to write"),
 *         TC_OPT_SWITCH(FLAG, "quiet", 'q', AT(quiet), "say nothing"),
 *         TC_OPT_END,
 *     };
 *
 * Values are as in GNU tools: --name VALUE, --name=VALUE, -n VALUE, -nVALUE,
 * flags in one word (-qv), and -- before what only looks like an option.
 */
#ifndef TC_CLI_OPT_H
#define TC_CLI_OPT_H

#include <traincheck/error.h>

#include "base/strbuf.h"
#include "cli/opt_table.h"

/*
 * Parse argv[1..]. TC_OK: go on. TC_END: the user asked for help or the like, answer holds what to
 * print. TC_E_USAGE: err says what is wrong, with the nearest known option if one is unknown.
 */
enum tc_status tc_opt_parse(struct tc_opt_parser *parser, int argc, char **argv,
                            struct tc_strbuf *answer, struct tc_error *err);

/*
 * Set an option by its name with underscores, as config files spell it. It does nothing if the
 * command line has the option. value is copied, NULL for a flag. Options that are no lists have one
 * value.
 */
enum tc_status tc_opt_from_file(struct tc_opt_parser *parser, const char *name, const char *value,
                                struct tc_error *err);

#endif /* TC_CLI_OPT_H */
