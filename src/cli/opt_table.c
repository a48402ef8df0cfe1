/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt_table.c - the rows of a tool's options, and those that all tools have
 *
 * Of the common rows those without help are for packagers: --help does not show them.
 */
#include "cli/opt_table.h"

const struct tc_opt tc_opt_common[] = {
    [TC_OPT_COMMON_HELP] = TC_OPT_SWITCH(FLAG, "help", 'h', 0, "show this text"),
    [TC_OPT_COMMON_VERSION] = TC_OPT_SWITCH(FLAG, "version", 0, 0, "show versions"),
    [TC_OPT_COMMON_COMPLETION] = TC_OPT_SPELLING(STRING, "completion", 0, "SHELL", 0),
    [TC_OPT_COMMON_MAN] = TC_OPT_SPELLING(FLAG, "man", 0, NULL, 0),
    TC_OPT_END,
};

const struct tc_opt *tc_opt_row(const struct tc_opt_tool *tool, size_t i)
{
    const struct tc_opt *tables[] = {tool->shared, tool->options, tc_opt_common};
    for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++)
        for (const struct tc_opt *row = tables[t]; row && row->name; row++)
            if (i-- == 0)
                return row;
    return NULL;
}
