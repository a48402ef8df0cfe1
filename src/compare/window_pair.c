/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window_pair.c - the walk over two windows: calls that have no like, and those that have
 */
#include "compare/window_pair.h"

#include "compare/call_match.h"
#include "compare/call_pair.h"
#include "compare/diff.h"
#include "replay/symbols.h"

/* One walk. */
struct walk {
    struct tc_pair_state *state;
    struct tc_call_match match;
    struct tc_map moved;              /* token -> struct alone */
    TC_VEC(struct tc_call_pair) open; /* matched calls whose end is not compared yet */
};

static uint32_t site_at(const struct tc_compared_calls *calls, size_t i)
{
    return calls->window->calls.items[calls->calls[i]].site;
}

static const struct tc_call_site *site_of(const struct walk *w, uint32_t site)
{
    return &w->state->comparison->sites.items.items[site];
}

/* ---- calls that are only moved ------------------------------------------------------------- */

struct alone {
    uint32_t n_a, n_b;         /* calls of a token in this window that have no like */
    uint32_t moved_a, moved_b; /* so many of them are each other's, and not met yet */
};

static void count_alone(struct walk *w, const struct tc_compared_calls *calls, bool is_a)
{
    for (size_t i = 0; i < calls->n; i++) {
        if (!calls->is_alone[calls->calls[i]])
            continue;
        struct alone *alone = tc_map_struct(&w->moved, calls->tokens[i], sizeof(*alone));
        *(is_a ? &alone->n_a : &alone->n_b) += 1;
    }
}

static void pair_moved(struct walk *w)
{
    struct alone *alone;

    for (size_t pos = 0; (alone = tc_map_next(&w->moved, &pos));)
        alone->moved_a = alone->moved_b = alone->n_a < alone->n_b ? alone->n_a : alone->n_b;
}

static struct alone *alone_of(struct walk *w, uint32_t token)
{
    return tc_map_struct(&w->moved, token, sizeof(struct alone));
}

/* ---- ends ---------------------------------------------------------------------------------- */

/* Calls that ended before this one began: of a or of b. NULL: all of them. */
static void end_before(struct walk *w, const struct tc_course_call *next, bool is_a)
{
    while (w->open.n) {
        const struct tc_call_pair *pair = &w->open.items[w->open.n - 1];
        const struct tc_record *end = is_a ? pair->a->end : pair->b->end;
        if (next && (!end || end->line > next->begin->line))
            return;
        w->state->order++;
        tc_call_pair_end(w->state, pair);
        w->open.n--;
    }
}

static void end_before_call(struct walk *w, const struct tc_compared_calls *calls, size_t i)
{
    end_before(w, &calls->window->calls.items[calls->calls[i]], calls == &w->match.a);
}

/* ---- what is told -------------------------------------------------------------------------- */

/* Does the other run make such a call, too, only not there or not as often? Data decides that. */
static bool is_in_other(const struct walk *w, const struct tc_compared_calls *calls, size_t i)
{
    const struct tc_outline *other = calls == &w->match.a ? w->state->b : w->state->a;

    return tc_outline_calls(other, calls->tokens[i]);
}

struct gap {
    size_t a, a_end, b, b_end;
};

/* Beyond the end of a run that is shorter nothing is missing, and nothing new. */
static struct gap within_both(const struct walk *w, struct gap gap)
{
    const struct tc_pair_state *s = w->state;

    if (s->is_last_b && !s->is_last_a && gap.b_end == w->match.b.n)
        gap.a = gap.a_end;
    if (s->is_last_a && !s->is_last_b && gap.a_end == w->match.a.n)
        gap.b = gap.b_end;
    return gap;
}

/* The difference if it was not seen before, else NULL. */
static struct tc_difference *add_if_new(struct walk *w, enum tc_difference_what what,
                                        uint32_t site_a, uint32_t site_b, bool may_be_data)
{
    struct tc_pair_state *s = w->state;
    struct tc_difference seen = tc_difference_seen(s, TC_DIFFERENCE_CALLS, what);
    bool is_first;

    seen.site_a = site_a;
    seen.site_b = site_b;
    seen.aside = seen.is_after && may_be_data ? TC_ASIDE_DATA : TC_ASIDE_NO;
    struct tc_difference *d = tc_differences_add(s->out, &seen, &is_first);
    /* What data may have decided once did not decide it another time. */
    if (d && !is_first && d->aside == TC_ASIDE_DATA && seen.aside == TC_ASIDE_NO)
        d->aside = TC_ASIDE_NO;
    return is_first ? d : NULL;
}

/* Does the run make call p of the reference on the other side of its call k than the reference
 * does, whose call i is the same as k? */
static bool is_passed(const struct walk *w, size_t p, size_t i, size_t k)
{
    const size_t match = w->match.match[p];

    return match != TC_UNMATCHED && (p < i) == (match > k) &&
           site_of(w, site_at(&w->match.a, p))->is_user;
}

/* Call k of the run is only moved: which calls of the script stand between its two places? */
static void note_passed(const struct walk *w, struct tc_difference *d, size_t k)
{
    const struct tc_compared_calls *a = &w->match.a;
    const uint32_t token = w->match.b.tokens[k];
    size_t i = 0, first = a->n, last = a->n;

    while (i < a->n && (a->tokens[i] != token || !a->is_alone[a->calls[i]]))
        i++;
    for (size_t p = 0; i < a->n && p < a->n; p++)
        if (is_passed(w, p, i, k)) {
            first = first < a->n ? first : p;
            last = p;
        }
    if (first == a->n)
        return;
    d->passed.is_later = first > i;
    d->passed.was = site_at(a, d->passed.is_later ? first : last);
    d->passed.is = site_at(a, d->passed.is_later ? last : first);
}

/* Would a healthy run make call i of the run after the two before it? i may be the end. */
static bool is_known_transition(const struct walk *w, size_t i)
{
    const struct tc_comparison *c = w->state->comparison;
    const struct tc_compared_calls *b = &w->match.b;
    uint32_t last[2] = {0, 0}, token = 0;

    while (i < b->n && site_of(w, site_at(b, i))->is_own)
        i++;
    if (i < b->n)
        token = b->tokens[i];
    for (size_t k = i, n = 0; k-- > 0 && n < 2;)
        if (!site_of(w, site_at(b, k))->is_own)
            last[n++] = b->tokens[k];
    const uint64_t transition = tc_transition(w->state->window_b->stage, last[1], last[0], token);
    bool is_known = tc_outline_has_transition(&c->reference, transition);
    for (size_t k = 0; k < c->healthy.n && !is_known; k++)
        is_known = tc_outline_has_transition(&c->healthy.items[k], transition);
    return is_known;
}

/* The next call of a gap that is reported: not inner, and not told as moved; the end if there is
 * none.
 */
static size_t next_told(struct walk *w, const struct tc_compared_calls *calls, size_t i, size_t end,
                        bool is_a)
{
    for (; i < end; i++) {
        struct alone *alone = alone_of(w, calls->tokens[i]);
        if (!calls->is_told[calls->calls[i]])
            continue;
        if (!is_a || !alone->moved_a)
            return i;
        alone->moved_a--; /* it is reported where the run makes it */
    }
    return end;
}

/* Is call k of the run where call i of the reference was? Without sources nobody knows better. */
static bool is_same_place(const struct walk *w, size_t i, size_t k)
{
    const struct tc_strtab *symbols = w->state->comparison->symbols;
    const char *at_a = tc_strtab_text(symbols, site_of(w, site_at(&w->match.a, i))->at);
    const char *at_b = tc_strtab_text(symbols, site_of(w, site_at(&w->match.b, k))->at);
    size_t line_a, line_b;
    const struct tc_script *a = tc_scripts_at(&w->state->a->scripts, at_a, &line_a);
    const struct tc_script *b = tc_scripts_at(&w->state->b->scripts, at_b, &line_b);

    return !a || !b || !a->match || (a->other == b && tc_script_is_same_hunk(a, line_a, b, line_b));
}

static void tell_gap(struct walk *w, struct gap gap)
{
    const struct tc_compared_calls *a = &w->match.a, *b = &w->match.b;
    const bool is_missed_by_data = is_known_transition(w, gap.b_end);
    gap = within_both(w, gap);
    size_t i = next_told(w, a, gap.a, gap.a_end, true);
    size_t k = next_told(w, b, gap.b, gap.b_end, false);

    while (i < gap.a_end || k < gap.b_end) {
        if (k < gap.b_end)
            end_before_call(w, b, k);
        else
            end_before_call(w, a, i);
        const bool may_be_data = k < gap.b_end ? is_known_transition(w, k) || is_in_other(w, b, k)
                                               : is_missed_by_data || is_in_other(w, a, i);
        struct alone *alone = k < gap.b_end ? alone_of(w, b->tokens[k]) : NULL;
        w->state->order++;
        if (alone && alone->moved_b) {
            alone->moved_b--;
            struct tc_difference *d =
                add_if_new(w, TC_IS_MOVED, TC_NO_SITE, site_at(b, k), may_be_data);
            if (d)
                note_passed(w, d, k);
            k++;
        } else if (i < gap.a_end && k < gap.b_end && is_same_place(w, i, k)) {
            add_if_new(w, TC_IS_REPLACED, site_at(a, i++), site_at(b, k++), may_be_data);
        } else if (i < gap.a_end) {
            add_if_new(w, TC_IS_MISSING, site_at(a, i++), TC_NO_SITE, may_be_data);
        } else {
            add_if_new(w, TC_IS_NEW, TC_NO_SITE, site_at(b, k++), may_be_data);
        }
        i = next_told(w, a, i, gap.a_end, true);
        k = next_told(w, b, k, gap.b_end, false);
    }
}

/* ---- the walk ------------------------------------------------------------------------------ */

static void note_matched(struct tc_comparison *c, uint32_t site)
{
    while (c->matched.n <= site)
        tc_vec_push(&c->matched, 0);
    c->matched.items[site]++;
}

static void compare_match(struct walk *w, size_t i, size_t k)
{
    struct tc_pair_state *s = w->state;
    const struct tc_compared_calls *a = &w->match.a, *b = &w->match.b;

    end_before_call(w, b, k);
    s->order++;
    s->pair->n_calls++;
    if (!s->is_healthy)
        note_matched(s->comparison, site_at(a, i));
    const struct tc_call_pair pair = tc_call_pair_begin(s, &a->window->calls.items[a->calls[i]],
                                                        &b->window->calls.items[b->calls[k]]);
    tc_vec_push(&w->open, pair);
}

static void walk_calls(struct walk *w)
{
    const struct tc_call_match *m = &w->match;

    for (size_t i = 0, k = 0; i < m->a.n || k < m->b.n;) {
        struct gap gap = {i, i, k, m->b.n};
        while (gap.a_end < m->a.n && m->match[gap.a_end] == TC_UNMATCHED)
            gap.a_end++;
        if (gap.a_end < m->a.n)
            gap.b_end = m->match[gap.a_end];
        if (gap.a < gap.a_end || gap.b < gap.b_end)
            tell_gap(w, gap);
        i = gap.a_end;
        k = gap.b_end;
        if (i < m->a.n)
            compare_match(w, i++, k++);
    }
}

void tc_window_pair_compare(struct tc_pair_state *state, const struct tc_course_window *a,
                            const struct tc_course_window *b)
{
    struct walk w = {.state = state, .moved = TC_MAP_INIT};

    state->window_a = a;
    state->window_b = b;
    tc_call_match_make(&w.match, state->a, state->b, a, b);
    count_alone(&w, &w.match.a, true);
    count_alone(&w, &w.match.b, false);
    pair_moved(&w);
    walk_calls(&w);
    end_before(&w, NULL, false);
    tc_variables_compare(state);
    state->pair->n_windows++;
    state->pair->n_step_windows += b->has_step;
    tc_map_release_structs(&w.moved);
    tc_vec_release(&w.open);
    tc_call_match_release(&w.match);
}

void tc_pair_state_release(struct tc_pair_state *state)
{
    tc_map_release(&state->renamed);
    tc_map_release(&state->unfilled);
    tc_vec_release(&state->leaves_a);
    tc_vec_release(&state->leaves_b);
}
