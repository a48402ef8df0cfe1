/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt_near.c - the option that was probably meant by one that is not known
 *
 * Only rows with help are offered: the others are for packagers, or spellings of another tool.
 */
#include "cli/opt_near.h"

#include <string.h>

#include "base/near.h"

const struct tc_opt *tc_opt_nearest(const struct tc_opt_tool *tool, const char *name)
{
    const struct tc_opt *opt, *best = NULL;
    struct tc_near near;

    if (!tc_near_begin(&near, name, strcspn(name, "=")))
        return NULL;
    for (size_t i = 0; (opt = tc_opt_row(tool, i)); i++)
        if (opt->help && tc_near_try(&near, opt->name))
            best = opt;
    return best;
}
