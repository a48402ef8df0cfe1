/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_awaited.c - APISequence/awaited: an engine whose window is over is stepped before
 * the next backward
 *
 * An engine that counts micro-batches reduces gradients in the backward of the last of a window,
 * and steps in its next step(). Where it shards gradients or the states of its optimizer (ZeRO 1
 * and 2), another backward before that begins a new sum, and what was reduced is lost. So a script
 * that counts micro-batches as well, and calls step() after the last alone, trains on a part of
 * them.
 *
 * The engine says in its attributes how many micro-batches it has counted, and the dict that it was
 * made with, how many are a window and what is sharded. A script that sets the end of a window
 * itself is left alone. There is an example for each backward at the end of a window. It is broken
 * from the third one on that follows another one without a step.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

/* Of one engine. */
struct engine {
    int64_t window;   /* micro-batches */
    bool is_sharded;  /* so that it begins a new sum */
    bool is_by_hand;  /* the script says where a window ends */
    bool has_counted; /* a backward was met */
    int64_t counted;  /* micro-batches then */
    int64_t call;     /* id of the call of the engine around it */
    uint64_t n_lost;
};

/* The members of a dict, as a trace has it. */
static const struct tc_value *in_dict(const struct tc_value *dict, const char *name)
{
    return tc_value_get(tc_value_get(dict, "dict"), name);
}

/* What the call was given to make an engine of; NULL: nothing that says what is sharded. */
static const struct tc_value *plan_of(const struct tc_call *call)
{
    for (uint32_t i = 0; call->args && i < call->args->n; i++)
        if (in_dict(&call->args->members[i].value, "zero_optimization"))
            return &call->args->members[i].value;
    return NULL;
}

static void on_made(struct tc_map *engines, const struct tc_call *call)
{
    const struct tc_value *plan = plan_of(call), *made = call->end->value,
                          *managed = in_dict(plan, "managed_gradient_accumulation");
    struct engine *engine;

    if (!plan || !made || made->kind != TC_VALUE_ARRAY || !made->n)
        return;
    const int64_t stage = tc_value_int(in_dict(in_dict(plan, "zero_optimization"), "stage"), 0);
    engine = tc_map_struct(engines, (uint64_t)tc_serial_of(&made->items[0]), sizeof(*engine));
    *engine =
        (struct engine){.window = tc_value_int(in_dict(plan, "gradient_accumulation_steps"), 1),
                        .is_sharded = stage == 1 || stage == 2,
                        .is_by_hand = managed && !tc_value_is_true(managed)};
}

/* The call of an engine around the backward, which was given what is propagated; NULL: none. */
static const struct tc_call *engine_around(const struct tc_call *backward)
{
    const struct tc_call *around = backward->parent;

    while (around && (around->role != TC_ROLE_LIBRARY ||
                      !tc_value_get(tc_value_get(around->self, "attrs"), "micro_steps")))
        around = around->parent;
    return around && tc_call_next_tensor(around, &(uint32_t){0}) ? around : NULL;
}

static void on_backward(const struct tc_hearing *h, const struct tc_map *engines)
{
    const struct tc_call *around = engine_around(h->event->call);
    struct engine *engine =
        around ? tc_map_find(engines, (uint64_t)tc_serial_of(around->self)) : NULL;

    if (!engine || !engine->is_sharded || engine->is_by_hand || engine->window < 1)
        return;
    const int64_t counted =
        tc_value_int(tc_value_get(tc_value_get(around->self, "attrs"), "micro_steps"), -1);
    const bool is_over = counted >= 0 && (counted + 1) % engine->window == 0,
               is_again =
                   engine->has_counted && engine->counted == counted && engine->call != around->id;
    engine->has_counted = true;
    engine->counted = counted;
    engine->call = around->id;
    engine->n_lost += is_over && is_again;
    if (is_over && (!is_again || engine->n_lost >= TC_THIRD_TIME))
        tc_answer(h, !is_again);
}

static void awaited_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct tc_map *engines = tc_hearing_state(h);
    struct engine *engine;

    if (call->role == TC_ROLE_BACKWARD) {
        on_backward(h, engines);
    } else if (tc_value_get(call->args, "is_boundary")) {
        engine = tc_map_find(engines, (uint64_t)tc_serial_of(call->self));
        if (engine)
            engine->is_by_hand = true;
    } else {
        on_made(engines, call);
    }
}

const struct tc_relation_rule tc_rule_awaited = {
    TC_RULE(tc_rule_awaited),
    .form.name = "APISequence/awaited",
    .form.summary = "an engine whose window is over is stepped before the next backward",
    .form.hint =
        "Does the script count micro-batches beside the engine? Then it calls step() after "
        "each backward, or says where a window ends.",
    .form.excused_by = 1u << TC_ROLE_LIBRARY,
    .source.name = "awaited",
    .source.judged = "a backward by an engine at the end of its window",
    .source.process_size = sizeof(struct tc_map),
    .source.release_process = tc_release_map_of_structs,
    TC_CLAIM_ROLES(TC_ROLE_LIBRARY, TC_ROLE_BACKWARD, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SELF, TC_SYM_IS, TC_SYM_NEXT),
    TC_CLAIM_ATOMS(TC_SYM_NEXT, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "an engine that shards gradients, and whose window of micro-batches is over, "
                      "is stepped before the next backward",
    .claim.seen =
        "another backward followed the one that ended the window of the engine, without a "
        "step between them, for the third time or more: what was reduced is lost%p",
    .at = TC_AT(LIBRARY) | TC_AT(BACKWARD),
    .judge = awaited_judge,
};
