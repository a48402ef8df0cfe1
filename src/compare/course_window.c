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

void tc_course_window_add(struct tc_course_window *window, const struct tc_call_sites *sites,
                          const struct tc_course_call *seen)
{
    struct tc_course_call call = *seen;
    const struct tc_course_call *parent =
        call.parent == TC_NO_CALL ? NULL : &window->calls.items[call.parent];

    call.is_in_loader =
        parent && (parent->is_in_loader || sites->items.items[parent->site].role == TC_ROLE_DATA);
    tc_vec_push(&window->calls, call);
}

bool tc_course_call_is_of_loader(const struct tc_course_call *call,
                                 const struct tc_call_sites *sites)
{
    const struct tc_call_site *site = &sites->items.items[call->site];

    return call->is_in_loader && !site->is_user && !site->is_own;
}
