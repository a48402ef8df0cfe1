/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chosen.c - what follows from another option on the command line of a run
 *
 * An amount, as from a setting that a call was given. And what has the name of the option, wherever
 * the script hands it on: also a flag, and one that was not given before.
 */
#include "finding/chosen.h"

#include <stdlib.h>
#include <string.h>

#include "check/consequence.h"

static bool is_option(const struct tc_difference *d)
{
    return d->kind == TC_DIFFERENCE_COMMAND && !d->is_seed;
}

/* "--always-save" is always_save in the script. */
static bool is_name_of(const char *option, const char *name)
{
    option += strspn(option, "-");
    while (*option && (*option == *name || (*option == '-' && *name == '_'))) {
        option++;
        name++;
    }
    return !*option && !*name;
}

static bool is_scalar(const char *json)
{
    return *json != '{' && *json != '[';
}

/* Is the violation about what has that name, in the arguments or in the result of a call? */
static bool is_about(const struct tc_violation *v, const char *option,
                     const struct tc_strtab *symbols)
{
    const struct tc_fact *fact = tc_invariant_fact(v->invariant);
    const char *last;

    if (!fact || fact->attribute != TC_ATTRIBUTE_VALUE || fact->path == TC_NO_SYM)
        return false;
    last = strrchr(tc_strtab_text(symbols, fact->path), '.');
    return last && is_name_of(option, last + 1) && v->n_outcome &&
           is_scalar(tc_strtab_text(symbols, fact->value)) &&
           is_scalar(tc_strtab_text(symbols, v->outcome[0]));
}

void tc_chosen_mark(const struct tc_comparison *c, uint64_t run,
                    struct tc_violation *const *violations, size_t n,
                    const struct tc_strtab *symbols)
{
    TC_VEC(struct tc_chosen) amounts = {0};

    for (size_t k = 0; k < c->differences.items.n; k++) {
        const struct tc_difference *d = c->differences.items.items[k];
        if (!is_option(d))
            continue;
        if (d->was && d->is)
            tc_vec_push(&amounts,
                        ((struct tc_chosen){run, strtod(d->was, NULL), strtod(d->is, NULL)}));
        for (size_t i = 0; i < n; i++)
            if (violations[i]->first.run == run &&
                is_about(violations[i], tc_strtab_text(c->symbols, d->path), symbols))
                violations[i]->is_setting = true;
    }
    if (amounts.n)
        tc_consequences_mark(violations, n, amounts.items, amounts.n, symbols);
    tc_vec_release(&amounts);
}
