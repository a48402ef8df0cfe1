/* SPDX-License-Identifier: Apache-2.0 */
/*
 * course_window.c - windows, and the memory that several of them share
 */
#include "compare/course_window.h"

#include "replay/symbols.h"

struct tc_course_window *tc_course_window_new(struct tc_window_memory *memory)
{
    struct tc_course_window *window = tc_calloc(1, sizeof(*window));

    window->memory = memory ? memory : tc_calloc(1, sizeof(*memory));
    window->memory->n_windows++;
    window->step = -1;
    window->stage = TC_SYM_EMPTY;
    return window;
}

void tc_window_memory_release(struct tc_window_memory *memory)
{
    if (--memory->n_windows)
        return;
    tc_arena_release(&memory->arena);
    tc_free(memory);
}

void tc_course_window_free(struct tc_course_window *window)
{
    if (!window)
        return;
    tc_window_memory_release(window->memory);
    tc_vec_release(&window->calls);
    tc_vec_release(&window->variables);
    tc_free(window);
}

bool tc_course_window_is_of_loader(const struct tc_course_window *window,
                                   const struct tc_call_sites *sites, uint32_t i)
{
    const struct tc_course_call *call = &window->calls.items[i];

    if (sites->items.items[call->site].is_user || sites->items.items[call->site].is_own)
        return false;
    for (uint32_t p = call->parent; p != TC_NO_CALL; p = window->calls.items[p].parent)
        if (sites->items.items[window->calls.items[p].site].role == TC_ROLE_DATA)
            return true;
    return false;
}
