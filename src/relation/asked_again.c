/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asked_again.c - counts how often one input is asked for, by model or by line of the script
 *
 * What happens inside a forward is recorded before the forward itself has returned: each event
 * moves the count on if its forward is another one than that of the event before.
 */
#include "relation/asked_again.h"

#include "base/hash.h"
#include "relation/form.h"
#include "replay/symbols.h"

/* A model, or a line. */
struct asker {
    int64_t call;   /* id of the last forward */
    int64_t input;  /* serial of what it was given */
    uint64_t n;     /* forwards in a row for that */
    bool asks_once; /* an input before was asked for once */
};

void tc_asked_again_release(struct tc_asked_again *asked)
{
    tc_map_release_structs(&asked->askers);
    tc_map_release(&asked->switched);
    tc_map_release(&asked->stepped);
    tc_map_release_structs(&asked->teachers);
}

static uint64_t key_of_asking(const struct tc_process *process, int64_t what)
{
    const int64_t who[] = {(int64_t)(uintptr_t)process, what};

    return tc_hash64(who, sizeof(who), 0);
}

static bool is_switch(const struct tc_call *call)
{
    const struct tc_value *mode = tc_value_get(call->args, "mode");

    return call->role == TC_ROLE_MODE && !call->parent && mode && mode->kind == TC_VALUE_BOOL &&
           mode->boolean && !tc_call_is_training(call);
}

void tc_asked_again_note(struct tc_asked_again *asked, const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    if (is_switch(call))
        tc_map_put(&asked->switched, key_of_asking(event->process, tc_serial_of(call->self)),
                   event->order);
    else if (call->role == TC_ROLE_STEP)
        tc_map_put(&asked->stepped, (uintptr_t)event->process, event->order);
}

/* Has the script itself put the model into training mode since the last step? */
static bool is_switched(const struct tc_asked_again *asked, const struct tc_event *event,
                        const struct tc_call *root)
{
    uint64_t switched, stepped = 0;

    tc_map_get(&asked->stepped, (uintptr_t)event->process, &stepped);
    return tc_map_get(&asked->switched, key_of_asking(event->process, tc_serial_of(root->self)),
                      &switched) &&
           switched > stepped;
}

static void note_input(struct asker *asker, const struct tc_call *call)
{
    const int64_t input = tc_serial_of(tc_call_next_tensor(call, &(uint32_t){0}));
    const bool is_another = !asker->n || input != asker->input;

    asker->asks_once |= is_another && asker->n == 1;
    asker->n = is_another ? 1 : asker->n + 1;
    asker->call = call->id;
    asker->input = input;
}

/* The forward whose input is asked for: that of the model, or a line that drops by itself. NULL:
 * nobody asks so. */
static const struct tc_call *asking(const struct tc_asked_again *asked,
                                    const struct tc_event *event)
{
    const struct tc_call *root = tc_root_around(event->call), *call = root ? root : event->call;

    if (!tc_value_get(call->ctx, "grad") || call->stage == TC_SYM_TRAINING)
        return NULL;
    if (root)
        return tc_call_is_training(root) && is_switched(asked, event, root) ? root : NULL;
    return !call->parent && tc_value_get(call->args, "training") ? call : NULL;
}

bool tc_is_asked_again(struct tc_asked_again *asked, const struct tc_event *event)
{
    const struct tc_call *call = asking(asked, event);
    struct asker *asker;

    if (!call)
        return false;
    const int64_t who = call->is_root ? tc_serial_of(call->self) : -1 - (int64_t)tc_call_at(call);
    asker = tc_map_struct(&asked->askers, key_of_asking(event->process, who), sizeof(*asker));
    if (asker->call != call->id || !asker->n)
        note_input(asker, call);
    return asker->n > 1 || !asker->asks_once;
}

/* A model that no optimizer has stepped so far. */
struct teacher {
    int64_t last; /* step in which it was asked, from 1 on */
    bool is_one;
};

static bool is_stepped(const struct tc_process *process, int64_t root)
{
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));)
        if (v->root == root && v->stepped >= 0)
            return true;
    return false;
}

bool tc_is_of_a_teacher(struct tc_asked_again *asked, const struct tc_event *event)
{
    const struct tc_call *root = tc_root_around(event->call);
    struct teacher *teacher;

    if (!root || !tc_value_get(root->ctx, "grad") || event->call->stage == TC_SYM_TRAINING)
        return false;
    const int64_t serial = tc_serial_of(root->self), now = root->step + 1;
    teacher =
        tc_map_struct(&asked->teachers, key_of_asking(event->process, serial), sizeof(*teacher));
    if (teacher->last == now)
        return teacher->is_one;
    teacher->is_one = (!teacher->last || (teacher->is_one && now <= teacher->last + 2)) &&
                      !is_stepped(event->process, serial);
    teacher->last = now;
    return teacher->is_one;
}
