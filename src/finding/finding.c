/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding.c - groups of violations, each given to the departure that it lies behind
 *
 * A group lies behind a departure that came before it, or in the same step. Where there are
 * several: behind one that it speaks of, by the line, the call or the variable; of these behind one
 * that did not begin before. Between these, and for a group that speaks of none, that one counts
 * whose edits have most of the words that the violations of the run have, in what they say and in
 * the lines that they name: one bug has one cause more often than two. A group of violations of one
 * step may hold two causes all the same: how often something is called lies behind the edit that
 * took away that call, or added it.
 */
#include "finding/finding.h"

#include <stdlib.h>
#include <string.h>

#include "finding/chosen.h"
#include "finding/speaks.h"

/* ---- which departure ------------------------------------------------------------------------- */

static bool group_speaks_of(const struct tc_comparison *c, const struct tc_departure *departure,
                            const struct tc_group *group, const struct tc_strtab *symbols)
{
    for (size_t i = 0; i < group->n; i++)
        if (tc_speaks_of(c, departure, group->items[i], symbols))
            return true;
    return false;
}

struct assigning {
    const struct tc_strtab *symbols;
    const struct tc_groups *groups;
    const struct tc_departed_run **runs;    /* of each group, or NULL */
    const struct tc_departure **departures; /* of each group, or NULL */
};

/* Did the departure come first, or in the same step? */
static bool is_before(const struct tc_departure *departure, const struct tc_violation *head)
{
    return departure->differences.items[0]->step <= head->step + 1 + (int64_t)head->relation->lag;
}

/* Steps of a run that its violations reach. */
static uint64_t n_steps_of(const struct tc_groups *groups, const char *trace)
{
    int64_t last = 0;

    for (size_t i = 0; i < groups->n_all; i++)
        if (!strcmp(groups->all[i]->trace, trace) && groups->all[i]->step > last)
            last = groups->all[i]->step;
    return (uint64_t)last + 2;
}

static struct tc_map words_of_violation(const struct tc_violation *v,
                                        const struct tc_departed_run *run)
{
    struct tc_map words = TC_MAP_INIT;

    tc_words_of_text(&words, v->call);
    tc_words_of_text(&words, v->seen);
    for (size_t k = 0; k < v->n_variables; k++)
        tc_words_of_text(&words, v->variables[k].name);
    tc_words_of_place(&words, &run->comparison.run.scripts, v->at);
    for (size_t k = 0; k < v->n_inside; k++)
        tc_words_of_place(&words, &run->comparison.run.scripts, v->inside_at[k]);
    return words;
}

/* Words of what the violations of a run say, each with how many of them have it. */
static struct tc_map words_of_run(const struct assigning *a, const struct tc_departed_run *run)
{
    struct tc_map words = TC_MAP_INIT;

    for (size_t i = 0; i < a->groups->n_all; i++) {
        const struct tc_violation *v = a->groups->all[i];
        if (strcmp(v->trace, run->trace) != 0)
            continue;
        struct tc_map own = words_of_violation(v, run);
        tc_words_count(&words, &own);
        tc_map_release(&own);
    }
    return words;
}

/* Does it begin where the group does? What was there before had left whole what broke then. */
static bool is_prompt(const struct tc_difference *first, const struct tc_violation *head)
{
    return first->step >= head->step;
}

/* How likely a departure is the cause of a group: the larger counts. */
struct claim {
    bool is_spoken_of, is_prompt;
    double words;
    bool is_of_edit; /* something differs there */
};

static bool is_stronger(const struct claim *x, const struct claim *y)
{
    if (x->is_spoken_of != y->is_spoken_of)
        return x->is_spoken_of;
    if (x->is_prompt != y->is_prompt)
        return x->is_prompt;
    if (x->words != y->words)
        return x->words > y->words;
    return x->is_of_edit && !y->is_of_edit;
}

static size_t n_edited(const struct tc_departed_run *run)
{
    size_t n = 0;

    for (size_t k = 0; k < run->departures.n; k++)
        n += run->departures.items[k].kind != TC_DEPARTURE_LOOSE;
    return n;
}

/* Of the edits: of which something differs in time, or where anything does too late, or nothing. An
 * edit of which nothing tells in time needs a word, unless it is the only one. words: how much of
 * them each departure has. */
static const struct tc_departure *strongest_edit(const struct assigning *a, size_t i,
                                                 const double *words, bool in_time)
{
    const struct tc_departed_run *run = a->runs[i];
    const struct tc_group *group = &a->groups->items[i];
    const struct tc_departure *best = NULL;
    struct claim most = {0};

    for (size_t k = 0; k < run->departures.n; k++) {
        const struct tc_departure *departure = &run->departures.items[k];
        if (departure->kind == TC_DEPARTURE_LOOSE ||
            is_before(departure, group->items[0]) != in_time)
            continue;
        const struct claim claim = {
            .is_spoken_of = group_speaks_of(&run->comparison, departure, group, a->symbols),
            .is_prompt = in_time && is_prompt(departure->differences.items[0], group->items[0]),
            .words = words[k],
            .is_of_edit = in_time && departure->kind == TC_DEPARTURE_OF_EDIT,
        };
        const bool is_claimed =
            claim.is_spoken_of || claim.is_of_edit || claim.words > 0 || n_edited(run) == 1;
        if (is_claimed && (!best || is_stronger(&claim, &most))) {
            best = departure;
            most = claim;
        }
    }
    return best;
}

/* Did a call of which the group speaks come or go when it broke, and something else before? Then
 * the group has a cause of its own. */
static bool is_apart(const struct assigning *a, size_t i, const struct tc_departure *departure)
{
    const struct tc_comparison *c = &a->runs[i]->comparison;
    const struct tc_violation *head = a->groups->items[i].items[0];

    if (is_prompt(departure->differences.items[0], head))
        return false;
    for (size_t k = 0; k < c->differences.items.n; k++) {
        const struct tc_difference *d = c->differences.items.items[k];
        if (d->kind == TC_DIFFERENCE_CALLS && d->step == head->step &&
            tc_speaks_of_difference(c, d, head, a->symbols))
            return true;
    }
    return false;
}

/* What differs where nothing was edited is the last that is asked. */
static const struct tc_departure *strongest(const struct assigning *a, size_t i,
                                            const double *words)
{
    const struct tc_departed_run *run = a->runs[i];
    const struct tc_departure *best = strongest_edit(a, i, words, true);

    if (!best)
        best = strongest_edit(a, i, words, false);
    for (size_t k = 0; k < run->departures.n && !best; k++)
        if (run->departures.items[k].kind == TC_DEPARTURE_LOOSE &&
            is_before(&run->departures.items[k], a->groups->items[i].items[0]) &&
            !is_apart(a, i, &run->departures.items[k]))
            best = &run->departures.items[k];
    return best;
}

/* Of all groups of a run; group `first` is the first of them. */
static void choose_departures(struct assigning *a, size_t first)
{
    const struct tc_departed_run *run = a->runs[first];
    struct tc_map words = words_of_run(a, run);
    double *shares = tc_departures_words(run, &words);

    for (size_t i = first; i < a->groups->n; i++)
        if (a->runs[i] == run)
            a->departures[i] = strongest(a, i, shares);
    tc_free(shares);
    tc_map_release(&words);
}

/* The run of a group before this one, where both are of one trace. */
static const struct tc_departed_run *known_run(const struct assigning *a, size_t i, bool *is_known)
{
    const char *trace = a->groups->items[i].items[0]->trace;

    for (size_t k = 0; k < i; k++)
        if (!strcmp(a->groups->items[k].items[0]->trace, trace)) {
            *is_known = true;
            return a->runs[k];
        }
    *is_known = false;
    return NULL;
}

static void assign(struct assigning *a, struct tc_departures *departures, struct tc_notes *notes)
{
    bool *is_known = tc_calloc(a->groups->n + 1, sizeof(*is_known));

    for (size_t i = 0; i < a->groups->n; i++) {
        const char *trace = a->groups->items[i].items[0]->trace;
        a->runs[i] = known_run(a, i, &is_known[i]);
        if (!is_known[i])
            a->runs[i] = tc_departures_of(departures, trace, n_steps_of(a->groups, trace), notes);
    }
    for (size_t i = 0; i < a->groups->n; i++)
        if (a->runs[i] && !is_known[i])
            choose_departures(a, i);
    tc_free(is_known);
}

/* ---- groups of two causes ---------------------------------------------------------------------
 */

/* The only edit that took away the call of which the violation says how often it is made, or that
 * added it; else `usual`. */
static const struct tc_departure *own_departure(const struct assigning *a,
                                                const struct tc_departed_run *run,
                                                const struct tc_violation *v,
                                                const struct tc_departure *usual)
{
    const struct tc_fact *fact = tc_invariant_fact(v->invariant);
    const struct tc_departure *own = NULL;

    for (size_t k = 0; fact && !v->is_setting && k < run->departures.n; k++) {
        const struct tc_departure *departure = &run->departures.items[k];
        if (departure->kind != TC_DEPARTURE_OF_EDIT || fact->path != TC_NO_SYM ||
            !is_before(departure, v) ||
            !tc_departs_in_call(&run->comparison, departure, a->symbols,
                                fact->subject.fields[TC_FACT_FN]))
            continue;
        if (own)
            return usual;
        own = departure;
    }
    return own ? own : usual;
}

/* While groups are parted. */
struct parting {
    struct assigning *a;
    const struct tc_violation **all;
    TC_VEC(struct tc_group) parts;
    TC_VEC(const struct tc_departed_run *) runs;
    TC_VEC(const struct tc_departure *) departures;
    size_t n_all;
};

/* Those of a group whose departure that is; they are taken out of it. */
static void add_part(struct parting *p, size_t i, const struct tc_departure **own,
                     const struct tc_departure *departure)
{
    const struct tc_group *group = &p->a->groups->items[i];
    struct tc_group part = {.items = p->all + p->n_all};

    for (size_t k = 0; k < group->n; k++)
        if (group->items[k] && own[k] == departure) {
            part.items[part.n++] = group->items[k];
            group->items[k] = NULL;
        }
    p->n_all += part.n;
    tc_vec_push(&p->parts, part);
    tc_vec_push(&p->runs, p->a->runs[i]);
    tc_vec_push(&p->departures, departure);
}

/* What the group lies behind comes first, unless another of its violations broke before. */
static void part_group(struct parting *p, size_t i)
{
    const struct tc_departed_run *run = p->a->runs[i];
    const struct tc_group *group = &p->a->groups->items[i];
    const struct tc_departure *usual = p->a->departures[i];
    const struct tc_departure **own = tc_calloc(group->n, sizeof(*own));
    bool has_law = false, is_first = false;

    for (size_t k = 0; k < group->n; k++) {
        own[k] = run ? own_departure(p->a, run, group->items[k], usual) : usual;
        has_law |= own[k] == usual && !group->items[k]->is_setting;
        is_first |= own[k] == usual && group->items[k]->step == group->items[0]->step;
    }
    for (size_t k = 0; k < group->n && !has_law; k++)
        own[k] = usual;
    if (is_first || !has_law)
        add_part(p, i, own, usual);
    for (size_t k = 0; k < group->n; k++)
        if (group->items[k])
            add_part(p, i, own, own[k]);
    tc_free(own);
}

static void part_groups(struct assigning *a, struct tc_groups *groups)
{
    struct parting p = {.a = a, .all = tc_calloc(groups->n_all + 1, sizeof(*p.all))};

    for (size_t i = 0; i < groups->n; i++)
        part_group(&p, i);
    tc_free(groups->all);
    tc_free(groups->items);
    tc_free(a->runs);
    tc_free(a->departures);
    groups->all = p.all;
    groups->items = p.parts.items;
    groups->n = p.parts.n;
    a->runs = p.runs.items;
    a->departures = p.departures.items;
}

/* ---- laws by cause --------------------------------------------------------------------------- */

/* What lies behind an edit that computes another way is no choice of another number, unless the
 * command line chose another one. */
static void mark_laws(const struct assigning *a, struct tc_violation *const *violations, size_t n)
{
    struct tc_map laws = TC_MAP_INIT;
    uint64_t law;

    for (size_t i = 0; i < a->groups->n; i++)
        for (size_t k = 0; k < a->groups->items[i].n; k++)
            if (a->departures[i] && a->departures[i]->is_computed &&
                !tc_comparison_is_started_otherwise(&a->runs[i]->comparison))
                tc_map_put(&laws, (uintptr_t)a->groups->items[i].items[k], 1);
    for (size_t i = 0; i < n; i++)
        violations[i]->is_setting &= !tc_map_get(&laws, (uintptr_t)violations[i], &law);
    tc_map_release(&laws);
}

/* By the command line of each run. */
static void mark_chosen(const struct assigning *a, struct tc_violation *const *violations, size_t n)
{
    for (size_t i = 0; i < a->groups->n; i++)
        if (a->runs[i] && (!i || a->runs[i] != a->runs[i - 1]))
            tc_chosen_mark(&a->runs[i]->comparison, a->groups->items[i].items[0]->first.run,
                           violations, n, a->symbols);
}

/* ---- findings -------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return tc_violation_compare(*(const struct tc_violation *const *)a,
                                *(const struct tc_violation *const *)b);
}

/* How much a violation says, the least first: a law; what a call is given and gives; how often and
 * in which order calls are made; a changed setting. */
static unsigned plainness(const struct tc_violation *v)
{
    const struct tc_fact *fact = tc_invariant_fact(v->invariant);

    if (v->is_setting)
        return 3;
    if (!fact)
        return 0;
    return fact->path == TC_NO_SYM ? 2 : 1;
}

/* Which of two violations says more of an edit: that which is plainer, then one that speaks of it.
 */
static bool says_more(const struct tc_finding *f, const struct assigning *a,
                      const struct tc_departure *departure, const struct tc_violation *v,
                      const struct tc_violation *best)
{
    if (!best || plainness(v) != plainness(best))
        return !best || plainness(v) < plainness(best);
    return tc_speaks_of(f->comparison, departure, v, a->symbols) &&
           !tc_speaks_of(f->comparison, departure, best, a->symbols);
}

/* Does it say once more what leads? */
static bool repeats(const struct tc_finding *f, const struct assigning *a,
                    const struct tc_violation *v)
{
    return f->departure && !f->head &&
           tc_speaks_of_difference(f->comparison, f->departure, v, a->symbols);
}

/* Which says more beside what leads: not that once more, then what is plainer. */
static bool adds_more(const struct tc_finding *f, const struct assigning *a,
                      const struct tc_violation *v, const struct tc_violation *best)
{
    if (!best || repeats(f, a, v) != repeats(f, a, best))
        return !best || repeats(f, a, best);
    return plainness(v) < plainness(best);
}

static bool is_violation_told(const struct tc_finding *f, const struct tc_violation *v)
{
    if (f->head && !strcmp(v->seen, f->head->seen))
        return true;
    for (size_t k = 0; k < sizeof(f->told) / sizeof(*f->told) && f->told[k]; k++)
        if (!strcmp(v->seen, f->told[k]->seen))
            return true;
    return false;
}

static void choose_told(struct tc_finding *f, const struct assigning *a)
{
    const size_t n = sizeof(f->told) / sizeof(*f->told);

    for (size_t k = 0; k < n && (!k || f->told[k - 1]); k++) {
        const struct tc_violation *best = NULL;
        for (size_t i = 0; i < f->n; i++) {
            const struct tc_violation *v = f->items[i];
            if (!is_violation_told(f, v) && (!k || plainness(v) <= 1) && adds_more(f, a, v, best))
                best = v;
        }
        f->told[k] = best;
    }
}

/* The first violation leads, but how often something is called, and in which order, does not while
 * another of the same step says what is wrong. */
static void lead_by_first(struct tc_finding *f)
{
    const bool may_lead = plainness(f->items[0]) != 2;
    size_t best = 0;

    for (size_t i = 1; !may_lead && i < f->n && f->items[i]->step == f->items[0]->step; i++)
        if (plainness(f->items[i]) < plainness(f->items[best]))
            best = i;
    const struct tc_violation *head = f->items[best];
    memmove(f->items + 1, f->items, best * sizeof(*f->items));
    f->items[0] = f->head = head;
}

static void lead_by_departure(struct tc_finding *f, const struct assigning *a,
                              const struct tc_departure *departure)
{
    qsort(f->items, f->n, sizeof(*f->items), compare);
    f->departure = is_before(departure, f->items[0]) || !departure->edit
                       ? departure->differences.items[0]
                       : departure->edit;
    for (size_t i = 0; i < f->n && f->departure == departure->edit; i++)
        if (says_more(f, a, departure, f->items[i], f->head))
            f->head = f->items[i];
}

/* Take all groups of the same departure as group i, or that group alone. */
static void add_finding(struct tc_findings *out, const struct assigning *a, size_t i,
                        bool *is_taken)
{
    const struct tc_departure *departure = a->departures[i];
    struct tc_finding *f = &out->items[out->n++];

    *f = (struct tc_finding){.items = out->all + out->n_all};
    for (size_t k = i; k < a->groups->n; k++) {
        if (is_taken[k] || (k != i && (!departure || a->departures[k] != departure)))
            continue;
        is_taken[k] = true;
        for (size_t j = 0; j < a->groups->items[k].n; j++)
            out->all[out->n_all++] = a->groups->items[k].items[j];
    }
    f->n = (size_t)(out->all + out->n_all - f->items);
    if (departure) {
        f->comparison = &a->runs[i]->comparison;
        lead_by_departure(f, a, departure);
    } else {
        lead_by_first(f);
    }
    choose_told(f, a);
}

static bool is_of_settings(const struct tc_finding *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (!f->items[i]->is_setting)
            return false;
    return true;
}

static bool says_a_law_or_value(const struct tc_finding *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (plainness(f->items[i]) <= 1)
            return true;
    return false;
}

/* Did one doubtful law break alone, and no edit of the script says why? */
static bool is_in_doubt(const struct assigning *a, const struct tc_finding *f)
{
    const struct tc_violation *law = NULL;
    size_t n_laws = 0;

    for (size_t i = 0; i < f->n; i++)
        if (!f->items[i]->is_setting) {
            law = f->items[i];
            n_laws++;
        }
    return n_laws == 1 && !f->departure && law->relation->is_doubtful &&
           law->relation->is_doubtful(a->symbols, law->invariant);
}

static bool is_remark(const struct assigning *a, const struct tc_findings *findings,
                      const struct tc_finding *f)
{
    if (is_in_doubt(a, f))
        return true;
    if (!f->departure || says_a_law_or_value(f) || is_of_settings(f))
        return false;
    for (size_t i = 0; i < findings->n; i++)
        if (!strcmp(findings->items[i].items[0]->trace, f->items[0]->trace) &&
            says_a_law_or_value(&findings->items[i]))
            return true;
    return false;
}

/* Remarks come late, those of settings last, else in the order in which they are. */
static void put_in_order(const struct assigning *a, struct tc_findings *findings)
{
    struct tc_finding *all = tc_calloc(findings->n + 1, sizeof(*all));
    size_t n = 0;

    for (size_t i = 0; i < findings->n; i++)
        findings->items[i].is_remark = is_remark(a, findings, &findings->items[i]);
    memcpy(all, findings->items, findings->n * sizeof(*all));
    for (unsigned late = 0; late < 3; late++)
        for (size_t i = 0; i < findings->n; i++)
            if ((is_of_settings(&all[i]) ? 2u : all[i].is_remark) == late) {
                findings->n_settings += late == 2;
                findings->items[n++] = all[i];
            }
    tc_free(all);
}

void tc_findings_make(struct tc_findings *out, struct tc_violation *const *violations, size_t n,
                      const struct tc_strtab *symbols, struct tc_departures *departures,
                      struct tc_notes *notes)
{
    struct tc_groups groups;

    tc_groups_make(&groups, (const struct tc_violation *const *)violations, n, symbols);
    struct assigning a = {
        .symbols = symbols,
        .groups = &groups,
        .runs = tc_calloc(groups.n + 1, sizeof(*a.runs)),
        .departures = tc_calloc(groups.n + 1, sizeof(*a.departures)),
    };
    assign(&a, departures, notes);
    part_groups(&a, &groups);
    mark_laws(&a, violations, n);
    mark_chosen(&a, violations, n);
    bool *is_taken = tc_calloc(groups.n + 1, sizeof(*is_taken));
    *out = (struct tc_findings){.all = tc_calloc(n + 1, sizeof(*out->all)),
                                .items = tc_calloc(groups.n + 1, sizeof(*out->items))};
    for (size_t i = 0; i < groups.n; i++)
        if (!is_taken[i])
            add_finding(out, &a, i, is_taken);
    put_in_order(&a, out);
    tc_free(is_taken);
    tc_free(a.runs);
    tc_free(a.departures);
    tc_groups_release(&groups);
}

void tc_findings_release(struct tc_findings *findings)
{
    tc_free(findings->all);
    tc_free(findings->items);
    *findings = (struct tc_findings){0};
}
