/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_match.c - calls matched by line and token first, by token alone then
 *
 * Lines of the run are translated to those of the reference by the diff of the scripts. A
 * function of the script that only one run calls is not compared, and what it calls is. A
 * function of which no call has a like is reported for all that it calls.
 */
#include "compare/call_match.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "compare/diff.h"
#include "replay/symbols.h"

/* ---- lines --------------------------------------------------------------------------------- */

/* "train.py:16" of a run as its reference has that line; a text of its own where it has none. */
static tc_sym place_in_reference(const struct tc_outline *run, tc_sym at)
{
    struct tc_strtab *symbols = run->context.symbols;
    const char *text = tc_strtab_text(symbols, at);
    size_t line;
    const struct tc_script *script = tc_scripts_at(&run->scripts, text, &line);
    struct tc_strbuf place = TC_STRBUF_INIT;
    tc_sym found;

    if (!script || !script->match)
        return at;
    if (script->match[line] == TC_UNMATCHED)
        tc_strbuf_addf(&place, "+%s", text);
    else
        tc_strbuf_addf(&place, "%s:%zu", script->other->at, script->match[line] + 1);
    found = tc_strtab_intern(symbols, place.text, place.size);
    tc_strbuf_release(&place);
    return found;
}

static tc_sym line_of_site(struct tc_outline *run, uint32_t site, bool is_reference)
{
    const tc_sym at = run->context.sites->items.items[site].at;

    if (is_reference)
        return at;
    while (run->places.n <= site)
        tc_vec_push(&run->places, TC_NO_SYM);
    if (run->places.items[site] == TC_NO_SYM)
        run->places.items[site] = place_in_reference(run, at);
    return run->places.items[site];
}

/* ---- sequences ----------------------------------------------------------------------------- */

/* How a script is cut into functions is its own affair: one that the other run never calls is not
 * compared, what it calls is. */
static void collect(struct tc_compared_calls *out, const struct tc_outline *run,
                    const struct tc_outline *other, const struct tc_course_window *window)
{
    const size_t n = window->calls.n + 1;

    out->window = window;
    out->calls = tc_malloc(n * sizeof(*out->calls));
    out->tokens = tc_malloc(n * sizeof(*out->tokens));
    out->is_alone = tc_calloc(n, sizeof(*out->is_alone));
    out->is_told = tc_calloc(n, sizeof(*out->is_told));
    for (size_t i = 0; i < window->calls.n; i++) {
        const struct tc_call_site *site =
            &run->context.sites->items.items[window->calls.items[i].site];
        if ((site->is_own && !tc_outline_calls(other, site->token)) ||
            tc_course_call_is_of_loader(&window->calls.items[i], run->context.sites))
            continue;
        out->calls[out->n] = (uint32_t)i;
        out->tokens[out->n++] = site->token;
    }
}

static void release(struct tc_compared_calls *calls)
{
    tc_free(calls->calls);
    tc_free(calls->tokens);
    tc_free(calls->is_alone);
    tc_free(calls->is_told);
}

static uint32_t *with_lines(const struct tc_compared_calls *calls, struct tc_outline *run,
                            bool is_reference)
{
    uint32_t *numbers = tc_malloc((calls->n + 1) * sizeof(*numbers));

    for (size_t i = 0; i < calls->n; i++) {
        const uint32_t site = calls->window->calls.items[calls->calls[i]].site;
        numbers[i] =
            (uint32_t)tc_hash_mix(calls->tokens[i], line_of_site(run, site, is_reference), 1);
    }
    return numbers;
}

static void mark_alone(struct tc_call_match *match)
{
    for (size_t i = 0; i < match->b.n; i++)
        match->b.is_alone[match->b.calls[i]] = true;
    for (size_t i = 0; i < match->a.n; i++) {
        if (match->match[i] == TC_UNMATCHED)
            match->a.is_alone[match->a.calls[i]] = true;
        else
            match->b.is_alone[match->b.calls[match->match[i]]] = false;
    }
}

/* ---- what stands for what ------------------------------------------------------------------ */

/*
 * A function of the script of which no call has a like is alone with all of them, and stands for
 * them; one that has kept some of its calls does not, they stand for themselves. A function that is
 * new and calls nothing that is traced is told by nobody.
 */
static void mark_functions(struct tc_compared_calls *calls, const struct tc_call_sites *sites)
{
    const struct tc_course_window *window = calls->window;
    const size_t n = window->calls.n;
    uint32_t *n_inner = tc_calloc(2 * (n + 1), sizeof(*n_inner)), *n_alone = n_inner + n + 1;

    for (size_t i = 0; i < n; i++) {
        if (sites->items.items[window->calls.items[i].site].is_own ||
            tc_course_call_is_of_loader(&window->calls.items[i], sites))
            continue;
        for (uint32_t f = window->calls.items[i].own; f != TC_NO_CALL;
             f = window->calls.items[f].own) {
            n_inner[f]++;
            n_alone[f] += calls->is_alone[i];
        }
    }
    for (size_t i = 0; i < n; i++)
        if (n_inner[i])
            calls->is_alone[i] = n_alone[i] == n_inner[i];
    tc_free(n_inner);
}

static void mark_told(struct tc_compared_calls *calls)
{
    const struct tc_course_window *window = calls->window;

    for (size_t i = 0; i < window->calls.n; i++) {
        const struct tc_course_call *call = &window->calls.items[i];
        calls->is_told[i] = calls->is_alone[i] &&
                            (call->parent == TC_NO_CALL || !calls->is_alone[call->parent]) &&
                            (call->own == TC_NO_CALL || !calls->is_alone[call->own]);
    }
}

/* The calls that are reported, and those that have a like, in the order of the window. */
static void with_functions(struct tc_compared_calls *calls, const struct tc_call_sites *sites)
{
    const struct tc_course_window *window = calls->window;
    uint32_t *all = tc_malloc((window->calls.n + 1) * sizeof(*all));
    uint32_t *tokens = tc_malloc((window->calls.n + 1) * sizeof(*tokens));
    size_t n = 0;

    for (size_t i = 0, k = 0; i < window->calls.n; i++) {
        const bool is_compared = k < calls->n && calls->calls[k] == i;
        k += is_compared;
        if (!is_compared && !calls->is_told[i])
            continue;
        all[n] = (uint32_t)i;
        tokens[n++] = sites->items.items[window->calls.items[i].site].token;
    }
    tc_free(calls->calls);
    tc_free(calls->tokens);
    calls->calls = all;
    calls->tokens = tokens;
    calls->n = n;
}

/* Where each compared call of the window stands in the sequence. */
static uint32_t *places_of(const struct tc_compared_calls *calls)
{
    uint32_t *places = tc_malloc((calls->window->calls.n + 1) * sizeof(*places));

    for (size_t i = 0; i < calls->n; i++)
        places[calls->calls[i]] = (uint32_t)i;
    return places;
}

static void add_functions(struct tc_call_match *match, const struct tc_call_sites *sites)
{
    const size_t n = match->a.n;
    uint32_t *like = tc_malloc((n + 1) * sizeof(*like)); /* call of b of each call of a */
    uint32_t *of_a = tc_malloc((n + 1) * sizeof(*of_a));

    for (size_t i = 0; i < n; i++) {
        of_a[i] = match->a.calls[i];
        like[i] = match->match[i] == TC_UNMATCHED ? TC_NO_CALL : match->b.calls[match->match[i]];
    }
    with_functions(&match->a, sites);
    with_functions(&match->b, sites);
    uint32_t *places_a = places_of(&match->a), *places_b = places_of(&match->b);
    match->match = tc_realloc(match->match, (match->a.n + 1) * sizeof(*match->match));
    for (size_t i = 0; i < match->a.n; i++)
        match->match[i] = TC_UNMATCHED;
    for (size_t i = 0; i < n; i++)
        if (like[i] != TC_NO_CALL)
            match->match[places_a[of_a[i]]] = places_b[like[i]];
    tc_free(places_a);
    tc_free(places_b);
    tc_free(like);
    tc_free(of_a);
}

void tc_call_match_make(struct tc_call_match *match, struct tc_outline *run_a,
                        struct tc_outline *run_b, const struct tc_course_window *a,
                        const struct tc_course_window *b)
{
    *match = (struct tc_call_match){0};
    collect(&match->a, run_a, run_b, a);
    collect(&match->b, run_b, run_a, b);
    match->match = tc_malloc((match->a.n + 1) * sizeof(*match->match));
    uint32_t *lines_a = with_lines(&match->a, run_a, true);
    uint32_t *lines_b = with_lines(&match->b, run_b, false);
    tc_diff(lines_a, match->a.n, lines_b, match->b.n, match->match);
    tc_diff_rest(match->a.tokens, match->a.n, match->b.tokens, match->b.n, match->match);
    tc_free(lines_a);
    tc_free(lines_b);
    mark_alone(match);
    mark_functions(&match->a, run_a->context.sites);
    mark_functions(&match->b, run_b->context.sites);
    mark_told(&match->a);
    mark_told(&match->b);
    add_functions(match, run_a->context.sites);
}

void tc_call_match_release(struct tc_call_match *match)
{
    release(&match->a);
    release(&match->b);
    tc_free(match->match);
}
