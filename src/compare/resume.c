/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume.c - the step that a run goes on from, and what is not as it was there
 *
 * The reference is read twice: once to find the step with the most equal contents, once for its
 * state there. Names of variables come later than their contents, so the search needs none.
 */
#include "compare/resume.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "compare/run_state.h"
#include "replay/symbols.h"

/* ---- reading up to a window ------------------------------------------------------------------ */

/* Called before each window with a step; false ends the reading there. */
typedef bool before_step_fn(void *context, const struct tc_run_state *state,
                            const struct tc_course_window *window);

static enum tc_status read_state(struct tc_comparison *c, const struct tc_process_outline *process,
                                 struct tc_run_state *state, before_step_fn *before_step,
                                 void *context, struct tc_error *err)
{
    struct tc_course *course;
    struct tc_course_window *window;
    enum tc_status status = tc_process_course_open(process, &c->context, &course, err);
    bool goes_on = true;

    if (status)
        return status;
    while (goes_on && (status = tc_course_next(course, &window, err)) == TC_OK) {
        if (window->has_step) {
            tc_run_state_apply(state, &c->reader, &c->sites, window, true);
            goes_on = before_step(context, state, window);
        }
        if (goes_on)
            tc_run_state_apply(state, &c->reader, &c->sites, window, false);
        tc_course_window_free(window);
    }
    tc_course_close(course);
    return status == TC_END ? TC_OK : status;
}

static bool stop_at_first(void *context, const struct tc_run_state *state,
                          const struct tc_course_window *window)
{
    *(size_t *)context = window->number;
    (void)state;
    return false;
}

/* ---- the step that it goes on from ----------------------------------------------------------- */

struct search {
    const struct tc_run_state *of_b;
    int64_t from_step; /* or TC_NONE */
    size_t window;
    int64_t step;
    size_t n_equal; /* variables whose content is equal there */
    bool is_found;
};

static size_t n_equal(const struct tc_run_state *a, const struct tc_run_state *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->leaves.n; i++)
        n += b->leaves.items[i]->kind == TC_LEAF_CONTENT && tc_run_state_has(a, b->leaves.items[i]);
    return n;
}

/* The last step with the most equal variables: those that do not train are equal at all. */
static bool look_for_step(void *context, const struct tc_run_state *state,
                          const struct tc_course_window *window)
{
    struct search *search = context;
    const size_t n = n_equal(state, search->of_b);

    if (search->from_step != TC_NONE ? window->step != search->from_step : n < search->n_equal)
        return true;
    *search =
        (struct search){search->of_b, search->from_step, window->number, window->step, n, true};
    return search->from_step == TC_NONE;
}

static bool stop_at(void *context, const struct tc_run_state *state,
                    const struct tc_course_window *window)
{
    (void)state;
    return window->number != ((const struct tc_resume *)context)->window_a;
}

static enum tc_status find_step(struct tc_comparison *c, const struct tc_process_outline *a,
                                const struct tc_run_state *of_b, int64_t from_step,
                                struct tc_resume *out, struct tc_error *err)
{
    struct search search = {.of_b = of_b, .from_step = from_step};
    struct tc_run_state state = {0};
    enum tc_status status = read_state(c, a, &state, look_for_step, &search, err);

    tc_run_state_release(&state);
    if (status)
        return status;
    if (!search.is_found && from_step != TC_NONE)
        return tc_error_set(err, TC_E_FORMAT, "%s has no step %" PRId64, c->reference.name,
                            from_step);
    if (!search.is_found || (from_step == TC_NONE && !search.n_equal))
        return tc_error_set(err, TC_E_FORMAT,
                            "at no step of %s are variables as %s begins with them: what is its "
                            "first step there? (--from-step N)",
                            c->reference.name, c->run.name);
    out->window_a = search.window;
    out->step_a = search.step;
    return TC_OK;
}

/* ---- what is not as it was --------------------------------------------------------------------
 */

static struct tc_difference at_begin(const struct tc_pair_state *s, int kind, int what)
{
    return (struct tc_difference){
        .kind = (enum tc_difference_kind)kind,
        .what = (enum tc_difference_what)what,
        .site_a = TC_NO_SITE,
        .site_b = TC_NO_SITE,
        .path = TC_SYM_EMPTY,
        .stage = TC_SYM_EMPTY,
        .rank = s->pair->rank,
        .is_worker = s->pair->is_worker,
    };
}

static void tell_leaf(struct tc_pair_state *s, tc_sym name, const struct tc_state_leaf *a,
                      const struct tc_state_leaf *b)
{
    struct tc_strtab *symbols = s->comparison->symbols;
    const bool is_content = a->kind == TC_LEAF_CONTENT;
    struct tc_difference seen =
        at_begin(s, is_content ? TC_DIFFERENCE_WEIGHTS : TC_DIFFERENCE_ARGUMENTS, TC_IS_OTHER);
    struct tc_strbuf path = TC_STRBUF_INIT;
    bool is_first;

    tc_strbuf_addf(&path, "%s.%s", tc_strtab_text(symbols, name), tc_strtab_text(symbols, a->path));
    seen.path = tc_strtab_intern(symbols, path.text, path.size);
    seen.was = a->text ? tc_arena_text(&s->out->arena, a->text, strlen(a->text)) : NULL;
    seen.is = b->text ? tc_arena_text(&s->out->arena, b->text, strlen(b->text)) : NULL;
    tc_differences_add(s->out, &seen, &is_first);
    tc_strbuf_release(&path);
}

/* (name, path) -> leaf */
static void index_by_name(const struct tc_run_state *state, struct tc_map *by_name)
{
    for (size_t i = 0; i < state->leaves.n; i++) {
        const struct tc_state_leaf *leaf = state->leaves.items[i];
        tc_map_put(by_name, tc_hash_mix(tc_run_state_name(state, leaf->serial), leaf->path, 1),
                   (uint64_t)(uintptr_t)leaf);
    }
}

static void compare_states(struct tc_pair_state *s, const struct tc_run_state *a,
                           const struct tc_run_state *b)
{
    struct tc_map by_name = TC_MAP_INIT;

    index_by_name(a, &by_name);
    for (size_t i = 0; i < b->leaves.n; i++) {
        const struct tc_state_leaf *of_b = b->leaves.items[i];
        const tc_sym name = tc_run_state_name(b, of_b->serial);
        const struct tc_state_leaf *of_a = tc_map_find(&by_name, tc_hash_mix(name, of_b->path, 1));
        if (of_a && of_a->hash != of_b->hash)
            tell_leaf(s, name, of_a, of_b);
    }
    tc_map_release(&by_name);
}

static size_t n_of_class(const struct tc_map *map, tc_sym class)
{
    uint64_t key, value;
    size_t n = 0;

    for (size_t pos = 0; tc_map_each(map, &pos, &key, &value);)
        n += value == class;
    return n;
}

/* The reference saved more objects of a class than the run loads. */
static void tell_unrestored(struct tc_pair_state *s, const struct tc_run_state *a,
                            const struct tc_run_state *b)
{
    for (size_t i = 0; i < a->saves.n; i++) {
        const tc_sym class = s->comparison->sites.items.items[a->saves.items[i]].class;
        struct tc_difference seen = at_begin(s, TC_DIFFERENCE_CALLS, TC_IS_UNRESTORED);
        bool is_first;
        if (n_of_class(&a->saved, class) <= n_of_class(&b->loaded, class))
            continue;
        seen.site_a = a->saves.items[i];
        tc_differences_add(s->out, &seen, &is_first);
    }
}

enum tc_status tc_resume_compare(struct tc_pair_state *s, const struct tc_process_outline *a,
                                 const struct tc_process_outline *b, int64_t from_step,
                                 struct tc_resume *out, struct tc_error *err)
{
    struct tc_comparison *c = s->comparison;
    struct tc_run_state of_a = {0}, of_b = {0};
    enum tc_status status = TC_OK;

    *out = (struct tc_resume){.window_b = SIZE_MAX};
    status = read_state(c, b, &of_b, stop_at_first, &out->window_b, err);
    if (!status && out->window_b == SIZE_MAX)
        status = tc_error_set(err, TC_E_FORMAT, "%s makes no step", c->run.name);
    if (!status)
        status = find_step(c, a, &of_b, from_step, out, err);
    if (!status)
        status = read_state(c, a, &of_a, stop_at, out, err);
    if (!status) {
        compare_states(s, &of_a, &of_b);
        tell_unrestored(s, &of_a, &of_b);
    }
    tc_run_state_release(&of_a);
    tc_run_state_release(&of_b);
    return status;
}
