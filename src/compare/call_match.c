/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_match.c - calls matched by line and token first, by token alone then
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
    size_t line, size = tc_place_split(text, &line);
    const struct tc_script *script = size ? tc_scripts_find(&run->scripts, text, size) : NULL;
    struct tc_strbuf place = TC_STRBUF_INIT;
    tc_sym found;

    if (!script || !script->match || line > script->n_lines)
        return at;
    if (script->match[line - 1] == TC_UNMATCHED)
        tc_strbuf_addf(&place, "+%s", text);
    else
        tc_strbuf_addf(&place, "%s:%zu", script->other->at, script->match[line - 1] + 1);
    found = tc_strtab_intern(symbols, place.text, place.size);
    tc_strbuf_release(&place);
    return found;
}

static tc_sym place_of(struct tc_outline *run, uint32_t site, bool is_reference)
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
    for (size_t i = 0; i < window->calls.n; i++) {
        const struct tc_call_site *site =
            &run->context.sites->items.items[window->calls.items[i].site];
        if (site->is_own && !tc_outline_calls_own(other, site->token))
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
}

static uint32_t *with_lines(const struct tc_compared_calls *calls, struct tc_outline *run,
                            bool is_reference)
{
    uint32_t *numbers = tc_malloc((calls->n + 1) * sizeof(*numbers));

    for (size_t i = 0; i < calls->n; i++) {
        const uint32_t site = calls->window->calls.items[calls->calls[i]].site;
        numbers[i] = (uint32_t)tc_hash_mix(calls->tokens[i], place_of(run, site, is_reference), 1);
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
}

void tc_call_match_release(struct tc_call_match *match)
{
    release(&match->a);
    release(&match->b);
    tc_free(match->match);
}
