/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_state.c - the newest attributes of each variable, by serial
 *
 * Contents are counted besides, by what they are: a search asks at each step how many are there.
 */
#include "compare/run_state.h"

#include "base/hash.h"
#include "replay/symbols.h"

#define MAX_TEXT 100

static void count_content(struct tc_run_state *state, const struct tc_state_leaf *leaf, int more)
{
    bool is_new;

    if (leaf->kind == TC_LEAF_CONTENT)
        *tc_map_at(&state->contents, tc_hash_mix(leaf->hash, leaf->path, 1), &is_new) +=
            (uint64_t)(int64_t)more;
}

static void set_leaf(struct tc_run_state *state, int64_t serial, const struct tc_leaf *leaf)
{
    bool is_new;
    uint64_t *slot =
        tc_map_at(&state->by_key, tc_hash_mix((uint64_t)serial, leaf->path, 1), &is_new);
    char text[MAX_TEXT + 1];

    if (is_new) {
        struct tc_state_leaf *made = tc_arena_zalloc(&state->arena, sizeof(*made));
        *slot = (uint64_t)(uintptr_t)made;
        tc_vec_push(&state->leaves, made);
    }
    struct tc_state_leaf *at = (struct tc_state_leaf *)(uintptr_t)*slot;
    if (!is_new)
        count_content(state, at, -1);
    *at = (struct tc_state_leaf){serial, leaf->path, leaf->kind, leaf->hash, at->text};
    count_content(state, at, 1);
    if (leaf->kind == TC_LEAF_CONTENT) /* digests are told by none */
        return;
    size_t size = tc_value_json(leaf->value, text, sizeof(text));
    at->text = tc_arena_text(&state->arena, text, size < MAX_TEXT ? size : MAX_TEXT);
}

/* Whose state a call saves or loads: a class and its serial. */
static void note_call(struct tc_run_state *state, const struct tc_call_sites *sites,
                      const struct tc_course_call *call)
{
    const struct tc_call_site *site = &sites->items.items[call->site];
    bool is_new = false, is_save = site->role == TC_ROLE_SAVE;

    if (!site->is_user || site->class == TC_SYM_EMPTY || (!is_save && site->role != TC_ROLE_LOAD))
        return;
    const int64_t serial = tc_value_int(tc_value_get(call->begin->self, "id"), 0);
    *tc_map_at(is_save ? &state->saved : &state->loaded,
               tc_hash_mix(site->class, (uint64_t)serial, 1), &is_new) = site->class;
    if (is_new && is_save)
        tc_vec_push(&state->saves, call->site);
}

void tc_run_state_apply(struct tc_run_state *state, struct tc_leaf_reader *reader,
                        const struct tc_call_sites *sites, const struct tc_course_window *window,
                        bool only_new)
{
    struct tc_leaves leaves = {0};

    for (size_t i = 0; i < window->variables.n; i++) {
        const struct tc_course_variable *v = &window->variables.items[i];
        tc_map_put(&state->names, (uint64_t)v->record->var, v->name);
        if (only_new && !v->is_new)
            continue;
        tc_leaves_of_variable(reader, v->record, &leaves);
        for (size_t k = 0; k < leaves.n; k++)
            set_leaf(state, v->record->var, &leaves.items[k]);
    }
    for (size_t i = 0; i < window->calls.n; i++)
        note_call(state, sites, &window->calls.items[i]);
    tc_vec_release(&leaves);
}

tc_sym tc_run_state_name(const struct tc_run_state *state, int64_t serial)
{
    uint64_t name = TC_SYM_EMPTY;

    tc_map_get(&state->names, (uint64_t)serial, &name);
    return (tc_sym)name;
}

bool tc_run_state_has(const struct tc_run_state *state, const struct tc_state_leaf *content)
{
    uint64_t n = 0;

    return tc_map_get(&state->contents, tc_hash_mix(content->hash, content->path, 1), &n) && n;
}

void tc_run_state_release(struct tc_run_state *state)
{
    tc_map_release(&state->by_key);
    tc_map_release(&state->names);
    tc_map_release(&state->contents);
    tc_map_release(&state->saved);
    tc_map_release(&state->loaded);
    tc_vec_release(&state->leaves);
    tc_vec_release(&state->saves);
    tc_arena_release(&state->arena);
}
