/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_aside.c - why a difference does not count: one question after the other
 *
 * All is known by now: where values part, how often a call has its like, which lines were edited.
 */
#include "compare/set_aside.h"

#include <string.h>

#include "compare/edited_line.h"

/* Whole steps with equal values after a difference say that it has no effect on them. */
#define STEPS_WITHOUT_EFFECT 2

static const struct tc_process_pair *pair_of(const struct tc_comparison *c,
                                             const struct tc_difference *d)
{
    for (size_t i = 0; i < c->pairs.n; i++)
        if (c->pairs.items[i].rank == d->rank && c->pairs.items[i].is_worker == d->is_worker)
            return &c->pairs.items[i];
    return NULL;
}

static uint64_t n_matched(const struct tc_comparison *c, uint32_t site)
{
    return site < c->matched.n ? c->matched.items[site] : 0;
}

/* After values have parted data may decide an argument; not if it differs each time alike. */
static bool may_follow_from_values(const struct tc_comparison *c, const struct tc_difference *d)
{
    if (!d->is_after || d->kind != TC_DIFFERENCE_ARGUMENTS || tc_is_edited(&d->edited))
        return false;
    return !d->is_constant || d->n < 3 ||
           (d->site_a != TC_NO_SITE && d->n < n_matched(c, d->site_a));
}

static bool has_parted(const struct tc_comparison *c)
{
    for (size_t i = 0; i < c->pairs.n; i++)
        if (c->pairs.items[i].has_parted)
            return true;
    return false;
}

/* A variable that data leaves out of some steps, as an expert without tokens; a number that is
 * computed of data, as its mean. */
static bool may_follow_from_data(const struct tc_comparison *c, const struct tc_difference *d)
{
    const struct tc_process_pair *pair = pair_of(c, d);

    if (d->what == TC_IS_KEPT && d->is_after)
        return pair && 2 * d->n_windows < pair->n_step_windows;
    return c->has_other_seed && d->is_number && !tc_is_edited(&d->edited);
}

/* The same scripts, started in the same way in the same environment? */
static bool is_same_program(const struct tc_comparison *c)
{
    for (size_t i = 0; i < c->reference.scripts.items.n; i++)
        if (!tc_script_is_equal(c->reference.scripts.items.items[i]))
            return false;
    for (size_t i = 0; i < c->run.scripts.items.n; i++)
        if (!tc_script_is_equal(c->run.scripts.items.items[i]))
            return false;
    for (size_t i = 0; i < c->differences.items.n; i++)
        if (c->differences.items.items[i]->kind <= TC_DIFFERENCE_COMMAND)
            return false;
    return c->reference.scripts.items.n && c->run.scripts.items.n;
}

/* Were whole steps equal after it? And what one program does on equal tensors to its end differs by
 * the clock alone, or by a generator that it never seeds. */
static bool is_without_effect(const struct tc_comparison *c, const struct tc_difference *d)
{
    const struct tc_process_pair *pair = pair_of(c, d);
    const bool is_value = d->kind == TC_DIFFERENCE_ARGUMENTS || d->kind == TC_DIFFERENCE_RESULTS;

    if (d->kind == TC_DIFFERENCE_COMMAND || (is_value && c->is_same_program))
        if (c->has_values && !has_parted(c))
            return true;
    if (!pair || !c->has_values || d->is_after ||
        (d->kind != TC_DIFFERENCE_CALLS && d->kind != TC_DIFFERENCE_ARGUMENTS))
        return false;
    /* A state acts when it acts: a schedule at the end of an epoch. */
    if (d->what == TC_IS_UNRESTORED && has_parted(c))
        return false;
    const uint64_t equal_until = pair->has_parted ? pair->parted_steps : pair->n_step_windows;
    return equal_until >= d->steps_before + STEPS_WITHOUT_EFFECT;
}

static bool follows_from_draws(const struct tc_comparison *c, const struct tc_difference *d)
{
    return c->has_other_seed && !d->is_seed &&
           (d->kind == TC_DIFFERENCE_DRAWS || d->kind == TC_DIFFERENCE_WEIGHTS ||
            d->kind == TC_DIFFERENCE_DATA || d->kind == TC_DIFFERENCE_RESULTS ||
            (d->kind == TC_DIFFERENCE_VARIABLES && d->what == TC_IS_OTHER));
}

/* A number of Python alone, while no tensor differs: a time. */
static bool is_time(const struct tc_comparison *c, const struct tc_difference *d)
{
    const struct tc_process_pair *pair = pair_of(c, d);

    return d->is_number && !d->is_constant && pair && !pair->has_parted;
}

/* One that a launcher makes for its ranks before they begin; or a function of a package that was
 * traced in one kind of process alone. */
static bool is_of_process(const struct tc_comparison *c, const struct tc_difference *d,
                          const struct tc_call_site *site)
{
    const struct tc_outline *other = d->site_b == TC_NO_SITE ? &c->run : &c->reference;
    const bool is_called = tc_outline_calls(other, site->token);

    if (d->what != TC_IS_MISSING && d->what != TC_IS_NEW)
        return false;
    if (site->role == TC_ROLE_FORWARD && !site->is_user)
        return true; /* a wrapper of the model calls it, or did */
    return is_called ? d->stage == TC_SYM_INIT : tc_role_has(site->role, TC_TRAIT_OUTSIDE);
}

/* A function that torch calls by itself: a wrapper of the model makes a mesh, gathers parameters
 * and copies them. What layers call is told by their own calls. */
static bool is_of_wrapper(const struct tc_difference *d, const struct tc_call_site *site)
{
    return !site->is_user && (d->what == TC_IS_MISSING || d->what == TC_IS_NEW) &&
           (site->role == TC_ROLE_FUNCTION || site->role == TC_ROLE_INIT ||
            site->role == TC_ROLE_FILL || site->role == TC_ROLE_OPERATOR);
}

/* Calls that a job of several ranks makes for being one. */
static bool is_of_distribution(const struct tc_comparison *c, const struct tc_difference *d)
{
    static const char *const packages[] = {"torch.distributed.", "torch.nn.parallel.",
                                           "torch.utils.data.distributed.",
                                           "torch.multiprocessing."};
    const uint32_t site = d->site_b != TC_NO_SITE ? d->site_b : d->site_a;
    const struct tc_call_site *s = site == TC_NO_SITE ? NULL : &c->sites.items.items[site];

    if (c->reference.world == c->run.world || !s || d->kind != TC_DIFFERENCE_CALLS)
        return false;
    for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++)
        if (!strncmp(tc_strtab_text(c->symbols, s->fn), packages[i], strlen(packages[i])))
            return true;
    return s->role == TC_ROLE_COLLECTIVE || s->role == TC_ROLE_UNEVEN || is_of_process(c, d, s) ||
           is_of_wrapper(d, s);
}

static bool is_world(const struct tc_comparison *c, const struct tc_difference *d)
{
    return d->kind <= TC_DIFFERENCE_COMMAND && c->reference.world != c->run.world;
}

/* Healthy runs differ there, too, n times. That is no reason where the call was edited away and is
 * missing more than twice as often. */
static bool is_healthy(const struct tc_difference *d, uint64_t n)
{
    return d->kind != TC_DIFFERENCE_CALLS || d->what != TC_IS_MISSING || !d->edited.is_place ||
           d->n <= 2 * n;
}

static enum tc_set_aside reason_to_set_aside(const struct tc_comparison *c,
                                             const struct tc_difference *d)
{
    uint64_t n;

    if (tc_map_get(&c->aside, tc_difference_key(d), &n) && is_healthy(d, n))
        return TC_ASIDE_HEALTHY;
    if (d->aside == TC_ASIDE_DATA || may_follow_from_data(c, d) || may_follow_from_values(c, d) ||
        is_time(c, d))
        return TC_ASIDE_DATA;
    if (c->resumed_at >= 0 && d->kind == TC_DIFFERENCE_COMMAND)
        return TC_ASIDE_RESUMED;
    if (is_of_distribution(c, d) || is_world(c, d))
        return TC_ASIDE_RANKS;
    if (follows_from_draws(c, d))
        return TC_ASIDE_DRAWN;
    return is_without_effect(c, d) ? TC_ASIDE_SILENT : TC_ASIDE_NO;
}

void tc_set_aside(struct tc_comparison *c)
{
    c->is_same_program = is_same_program(c);
    for (size_t i = 0; i < c->differences.items.n; i++)
        c->has_other_seed |= c->differences.items.items[i]->is_seed;
    for (size_t i = 0; i < c->differences.items.n; i++) {
        struct tc_difference *d = c->differences.items.items[i];
        tc_edited_lines_find(c, d);
        d->aside = reason_to_set_aside(c, d);
        c->n_counted += d->aside == TC_ASIDE_NO;
    }
}
