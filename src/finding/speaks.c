/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speaks.c - does a violation speak of what two runs differ in?
 *
 * By the line that it names, the call that it is of, or a variable.
 */
#include "finding/speaks.h"

#include <string.h>

static const char *text_of(const struct tc_comparison *c, tc_sym sym)
{
    return tc_strtab_text(c->symbols, sym);
}

static bool is_line_of(const struct tc_violation *v, const struct tc_script *script, size_t line)
{
    size_t number, size = tc_place_split(v->at, &number);

    return script && size && number == line + 1 && !strncmp(v->at, script->at, size) &&
           !script->at[size];
}

static bool is_at(const struct tc_comparison *c, const struct tc_difference *d,
                  const struct tc_violation *v)
{
    if (is_line_of(v, d->edited.script_b, d->edited.line_b))
        return true;
    return d->site_b != TC_NO_SITE && *v->at &&
           !strcmp(v->at, text_of(c, c->sites.items.items[d->site_b].at));
}

static bool is_name(const struct tc_strtab *symbols, tc_sym name, const char *fn)
{
    return name != TC_NO_SYM && !strcmp(tc_strtab_text(symbols, name), fn);
}

static bool names_call(const struct tc_violation *v, const struct tc_strtab *symbols,
                       const char *fn)
{
    const struct tc_fact *fact = tc_invariant_fact(v->invariant);

    if (!strcmp(v->call, fn))
        return true;
    if (fact)
        return is_name(symbols, fact->subject.fields[TC_FACT_FN], fn) ||
               is_name(symbols, fact->subject.fields[TC_FACT_BY], fn);
    for (size_t i = 0; i < v->invariant->n_params; i++)
        if (v->invariant->params[i].kind == TC_PARAM_CALL &&
            is_name(symbols, v->invariant->params[i].name, fn))
            return true;
    return false;
}

static bool is_of_call(const struct tc_comparison *c, uint32_t site, const struct tc_violation *v,
                       const struct tc_strtab *symbols)
{
    return site != TC_NO_SITE && names_call(v, symbols, text_of(c, c->sites.items.items[site].fn));
}

static bool is_of_variable(const struct tc_comparison *c, const struct tc_difference *d,
                           const struct tc_violation *v)
{
    for (size_t i = 0; d->kind == TC_DIFFERENCE_VARIABLES && i < v->n_variables; i++)
        if (!strcmp(v->variables[i].name, text_of(c, d->path)))
            return true;
    return false;
}

bool tc_speaks_of_difference(const struct tc_comparison *c, const struct tc_difference *d,
                             const struct tc_violation *v, const struct tc_strtab *symbols)
{
    return is_at(c, d, v) || is_of_variable(c, d, v) || is_of_call(c, d->site_a, v, symbols) ||
           is_of_call(c, d->site_b, v, symbols);
}

bool tc_speaks_of(const struct tc_comparison *c, const struct tc_departure *departure,
                  const struct tc_violation *v, const struct tc_strtab *symbols)
{
    for (size_t i = 0; i < departure->differences.n; i++)
        if (tc_speaks_of_difference(c, departure->differences.items[i], v, symbols))
            return true;
    return false;
}

bool tc_departs_in_call(const struct tc_comparison *c, const struct tc_departure *departure,
                        const struct tc_strtab *symbols, tc_sym fn)
{
    for (size_t i = 0; i < departure->differences.n; i++) {
        const struct tc_difference *d = departure->differences.items[i];
        const uint32_t sites[] = {d->site_a, d->site_b};
        for (size_t k = 0; k < 2 && d->kind == TC_DIFFERENCE_CALLS; k++)
            if (sites[k] != TC_NO_SITE &&
                is_name(symbols, fn, text_of(c, c->sites.items.items[sites[k]].fn)))
                return true;
    }
    return false;
}
