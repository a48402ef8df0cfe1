/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_masters.c - Consistent/masters: what was loaded into a weight is not overwritten by a
 * copy that was made before
 *
 * Weights in half precision have masters in float32: copies that an optimizer steps, and that are
 * copied back. Where a checkpoint is loaded into the weights alone, the next step copies masters
 * back that were made before, and what was loaded is lost.
 *
 * A copy is what calls of one tensor alone make of a parameter, in its shape. It is refreshed where
 * something is copied into it. An example for each copy that is written into its parameter, if an
 * optimizer has stepped it, or a line has written to it, since a load changed the parameter, or its
 * model was loaded before anybody had looked at it. It is
 * broken where it was made, or refreshed, before that load. A copy that was only put aside is given
 * back on purpose.
 */
#include "relation/one_claim.h"
#include "relation/operand.h"

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_COPIES 65536

/* Of one parameter. */
struct copy {
    int64_t of;
    int64_t made;    /* id of the call that made, or refreshed, it */
    int64_t written; /* of the last call that wrote to it otherwise; 0: none */
};

/* Of one process. */
struct copies {
    struct tc_map copies; /* serial → struct copy * */
    struct tc_map loaded; /* parameter, or model → id of the last load that changed it */
};

static void copies_release(void *of_process)
{
    struct copies *copies = of_process;

    tc_map_release_structs(&copies->copies);
    tc_map_release(&copies->loaded);
}

/* The only tensor among what it is given; NULL: there are none, or more. */
static const struct tc_value *only_tensor(const struct tc_call *call)
{
    const struct tc_value *operand, *only = tc_is_tensor(call->self) ? call->self : NULL;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));) {
        if (only)
            return NULL;
        only = operand;
    }
    return only;
}

static bool has_shape_of(const struct tc_value *a, const struct tc_value *b)
{
    return tc_operand_is_same_shape(tc_value_get(a, "shape"), tc_value_get(b, "shape"));
}

static struct copy *copy_at(const struct copies *copies, const struct tc_value *tensor)
{
    return tensor ? tc_map_find(&copies->copies, (uint64_t)tc_serial_of(tensor)) : NULL;
}

static const struct tc_variable *parameter_at(const struct tc_hearing *h,
                                              const struct tc_value *tensor)
{
    const struct tc_variable *v =
        tensor ? tc_process_variable(h->event->process, tc_serial_of(tensor)) : NULL;

    return v && v->kind == TC_SYM_PARAMETER && v->root != TC_NONE ? v : NULL;
}

/* The last load that changed it; 0: none. */
static int64_t load_of(const struct copies *copies, const struct tc_variable *v)
{
    uint64_t of_it = 0, of_model = 0;

    tc_map_get(&copies->loaded, (uint64_t)v->serial, &of_it);
    tc_map_get(&copies->loaded, (uint64_t)v->root, &of_model);
    return (int64_t)(of_it > of_model ? of_it : of_model);
}

static void on_made(const struct tc_hearing *h, struct copies *copies, const struct tc_value *value,
                    const struct tc_value *from)
{
    const struct copy *before = copy_at(copies, from);
    struct copy *copy;

    if ((!before && !tc_value_is(tc_value_get(from, "tensor"), "Parameter")) ||
        copies->copies.n >= MAX_COPIES || !has_shape_of(value, from))
        return;
    const struct copy made =
        before ? *before : (struct copy){.of = tc_serial_of(from), .made = h->event->call->id};
    copy = tc_map_struct(&copies->copies, (uint64_t)tc_serial_of(value), sizeof(*copy));
    *copy = made;
}

/* A copy is written into the parameter that it is of. */
static void on_given_back(const struct tc_hearing *h, const struct copies *copies,
                          const struct tc_variable *v, const struct tc_value *from)
{
    const struct copy *copy = copy_at(copies, from);
    const int64_t loaded = load_of(copies, v);

    if (!copy || copy->of != v->serial || !loaded || copy->written <= loaded)
        return;
    tc_answer_of(h, copy->made > loaded, (struct tc_example){.variable = v});
}

static void on_call(const struct tc_hearing *h, struct copies *copies)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *value = call->end->value, *to = tc_first_tensor(call), *only, *operand,
                          *from = NULL;
    struct copy *copy;

    if ((!copy_at(copies, to) && !tc_value_is(tc_value_get(to, "tensor"), "Parameter")) ||
        !tc_is_tensor(value))
        return;
    if (tc_serial_of(value) != tc_serial_of(to)) {
        if ((only = only_tensor(call)))
            on_made(h, copies, value, only);
        return;
    }
    /* It was written to. */
    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));)
        from = operand == to ? from : operand;
    if ((copy = copy_at(copies, to)) && call->role == TC_ROLE_FILL && from)
        copy->made = call->id;
    else if (copy)
        copy->written = call->id;
    else if (call->role == TC_ROLE_FILL && from && parameter_at(h, to))
        on_given_back(h, copies, parameter_at(h, to), from);
}

static void on_step(const struct tc_hearing *h, struct copies *copies)
{
    const struct tc_call *call = h->event->call;
    struct copy *copy;

    for (size_t i = 0; i < call->n_params; i++)
        if ((copy = tc_map_find(&copies->copies, (uint64_t)call->params[i])))
            copy->written = call->id;
}

static void on_change(const struct tc_hearing *h, struct copies *copies)
{
    const struct tc_call *call = h->event->call;

    if (call && call->role == TC_ROLE_LOAD && h->event->variable->kind == TC_SYM_PARAMETER)
        tc_map_put(&copies->loaded, (uint64_t)h->event->variable->serial, (uint64_t)call->id);
}

/* Variables of a model that was never called are not known yet. */
static void on_load(struct copies *copies, const struct tc_event *event)
{
    const int64_t model = tc_serial_of(event->call->self);
    const struct tc_variable *v;

    if (!tc_value_get(tc_value_get(event->call->self, "attrs"), "training"))
        return;
    for (size_t pos = 0; (v = tc_map_next(&event->process->variables, &pos));)
        if (v->root == model)
            return;
    tc_map_put(&copies->loaded, (uint64_t)model, (uint64_t)event->call->id);
}

static void masters_judge(const struct tc_hearing *h)
{
    struct copies *copies = tc_hearing_state(h);

    if (h->event->kind == TC_EVENT_CHANGE)
        on_change(h, copies);
    else if (h->event->call->role == TC_ROLE_STEP)
        on_step(h, copies);
    else if (h->event->call->role == TC_ROLE_LOAD)
        on_load(copies, h->event);
    else if (!h->event->call->is_root)
        on_call(h, copies);
}

const struct tc_relation_rule tc_rule_masters = {
    TC_RULE(tc_rule_masters),
    .form.name = "Consistent/masters",
    .form.summary = "what was loaded into a weight is not overwritten by a copy made before",
    .form.hint = "Are the masters made anew, or loaded, where the weights are?",
    .form.needs_operators = true,
    .source.name = "masters",
    .source.judged = "a copy of a parameter that is written back, after a load",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct copies),
    .source.release_process = copies_release,
    TC_CLAIM_ROLES(TC_ROLE_LOAD, TC_ROLE_STEP, TC_ROLE_FILL),
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_SYM_PARAMETER, TC_SYM_DATA, TC_SYM_KEPT),
    TC_CLAIM_ATOMS(TC_SYM_SELF, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "what was loaded into a weight is not overwritten by a copy of it that was "
                      "made before",
    .claim.seen = "%v was loaded, and then overwritten by a copy that was made before and stepped "
                  "since: what was loaded is lost%p",
    .at =
        TC_AT_CHANGE | TC_AT(STEP) | TC_AT(LOAD) | TC_AT(FILL) | TC_AT(OPERATOR) | TC_AT(FUNCTION),
    .judge = masters_judge,
};
