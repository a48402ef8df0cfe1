#include "replay/event.h"

#include <string.h>

#include "base/banned.h"
#include "replay/symbols.h"

int64_t tc_process_wall_time(const struct tc_process *process, int64_t t)
{
    int64_t sum;

    if (!process->unix_ns || __builtin_add_overflow(process->unix_ns, t, &sum))
        return 0;
    return sum;
}

static void set_call(struct tc_place *place, const struct tc_event *event)
{
    const struct tc_call *call = event->call, *top = call;

    while (top->parent && top->at == TC_SYM_EMPTY)
        top = top->parent;
    place->step = call->step;
    place->window = call->window;
    place->stage = call->stage;
    place->at = top->at;
    place->call = call->descriptor;
    place->unix_ns = tc_process_wall_time(event->process, call->end_t);
}

/* A window has no line of its own: that of its optimizer step is where the reader looks. */
static void set_window(struct tc_place *place, const struct tc_event *event)
{
    const struct tc_window *window = event->window;

    place->step = window->step;
    place->window = window->number;
    place->stage = window->stage;
    place->at = TC_SYM_EMPTY;
    place->call = TC_SYM_EMPTY;
    place->unix_ns = tc_process_wall_time(event->process, window->t);
    for (size_t i = 0; i < window->members.n; i++) {
        const struct tc_member_call *member = &window->members.items[i];
        if (!member->is_void && (member->role == TC_ROLE_STEP || place->at == TC_SYM_EMPTY))
            place->at = member->at;
    }
}

void tc_place_of(const struct tc_event *event, struct tc_place *out)
{
    const struct tc_process *process = event->process;

    *out = (struct tc_place){.file = process->file,
                             .rank = process->rank,
                             .order = event->order,
                             .n_before = process->n_recent};
    memcpy(out->before, process->recent, sizeof(out->before));
    if (event->call)
        set_call(out, event);
    else
        set_window(out, event);
}
