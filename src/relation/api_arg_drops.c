/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_drops.c - APIArg/drops: a model that nothing trains drops nothing
 *
 * A reference, a teacher or an encoder that stays the same has one answer for each input. In
 * training mode its dropout adds noise: eval() was forgotten, or the mode of the whole was set
 * again.
 *
 * There is an example for each dropout inside a root forward without gradients, of a model whose
 * parameters have not changed since its first call, ten steps of others or more ago. The example
 * says whether it drops. It is broken from the third on that drops. An average may drop, as its
 * weights move.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MIN_STEPS 10

/* Of one root. */
struct asked {
    int64_t first_step; /* when it was first asked, from 1 on */
    int64_t looked;     /* the last step in which its parameters were looked at, from 1 on */
    bool stands;        /* so far none of them has moved */
};

/* Of one process. */
struct drops {
    struct tc_map roots; /* serial → struct asked * */
    uint64_t n_dropped;
};

static void drops_release(void *of_process)
{
    tc_map_release_structs(&((struct drops *)of_process)->roots);
}

/* Are all parameters of the root as they were, and are there any? */
static bool stands(const struct tc_process *process, int64_t root)
{
    const struct tc_variable *v;
    size_t n = 0;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));) {
        if (v->root != root || v->kind != TC_SYM_PARAMETER)
            continue;
        if (v->stepped >= 0 || !v->has_data || !v->has_first || v->data != v->first_data)
            return false;
        n++;
    }
    return n > 0;
}

/* Has the root stood for long enough, while others took steps? */
static bool is_left_alone(struct drops *drops, const struct tc_event *event,
                          const struct tc_call *root)
{
    const int64_t serial = tc_serial_of(root->self), now = event->call->step + 1;
    struct asked *asked = tc_map_struct(&drops->roots, (uint64_t)serial, sizeof(*asked));

    if (!asked->first_step) {
        asked->first_step = now;
        asked->stands = true;
    }
    if (now - asked->first_step < MIN_STEPS)
        return false;
    if (asked->stands && asked->looked != now)
        asked->stands = stands(event->process, serial);
    asked->looked = now;
    return asked->stands;
}

static void drops_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call, *root = tc_root_around(call);
    const struct tc_value *training = tc_value_get(call->args, "training");
    struct drops *drops = tc_hearing_state(h);
    double p;

    if (!root || !training || training->kind != TC_VALUE_BOOL ||
        !tc_value_number(tc_value_get(call->args, "p"), &p) || p <= 0 ||
        !tc_value_get(root->ctx, "grad") || !is_left_alone(drops, h->event, root))
        return;
    drops->n_dropped += training->boolean;
    if (!training->boolean || drops->n_dropped >= TC_THIRD_TIME)
        tc_answer(h, !training->boolean);
}

const struct tc_relation_rule tc_rule_drops = {
    TC_RULE(tc_rule_drops),
    .form.name = "APIArg/drops",
    .form.summary = "a model that nothing trains drops nothing",
    .form.hint = "Is the reference, the teacher or the frozen part put into evaluation mode?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .source.name = "drops",
    .source.judged = "a dropout of a model that stays as it is",
    .source.process_size = sizeof(struct drops),
    .source.release_process = drops_release,
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_FUNCTION),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_SELF_TRAINING, TC_SYM_IS, TC_SYM_OFF),
    TC_CLAIM_ATOMS(TC_SYM_F_SELF_TRAINING, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a model that nothing trains drops nothing while others are trained",
    .claim.seen =
        "a model dropped at random, though nothing has changed it for " TC_TEXT(MIN_STEPS) " steps",
    .at = TC_AT(FUNCTION),
    .judge = drops_judge,
};
