/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_saved.c - Consistent/saved: training resumes from the weights that were trained
 *
 * A checkpoint is written while an average is in the place of the trained weights. Who resumes from
 * it goes on from the average, with the moments of other weights, and each resume throws the
 * training back.
 *
 * What a model saves is known by its content: as the last step, or load, had left it, or another
 * one that was copied in. An example for the first step of an optimizer whose state was loaded, if
 * before it a model of training was given what another had saved. It is broken where that was
 * copied in. What is saved for evaluation, or trained on by a fresh optimizer, says nothing.
 */
#include "relation/one_claim.h"

#include "replay/symbols.h"

#define MAX_KNOWN 65536

enum saved {
    SAVED_TRAINED = 1,
    SAVED_COPIED
};

/* Of one process. */
struct saving {
    struct tc_map saved;   /* content of a matrix → enum saved */
    struct tc_map models;  /* root since its weights were loaded → enum saved, 0: not known yet */
    struct tc_map loaded;  /* optimizers whose state was loaded, until their next step */
    struct tc_spot copied; /* where what was copied in was saved last */
};

static void saving_release(void *of_process)
{
    struct saving *saving = of_process;

    tc_map_release(&saving->saved);
    tc_map_release(&saving->models);
    tc_map_release(&saving->loaded);
}

/* A matrix of the model, at pos or after it. */
static const struct tc_variable *next_matrix(const struct tc_process *process, int64_t root,
                                             size_t *pos)
{
    const struct tc_variable *v;

    while ((v = tc_map_next(&process->variables, pos)))
        if (v->root == root && v->is_matrix && v->has_data && v->kind == TC_SYM_PARAMETER)
            return v;
    return NULL;
}

/* What is wrong is when it is saved: where the script calls the function that does. */
static struct tc_spot spot_of_helper(const struct tc_event *event)
{
    const struct tc_spot spot = tc_spot_of(event);

    return spot.in == TC_NO_SYM ? spot
                                : (struct tc_spot){spot.in, spot.in_at, TC_NO_SYM, TC_NO_SYM};
}

static void on_save(struct saving *saving, const struct tc_event *event)
{
    const struct tc_variable *v;

    for (size_t pos = 0;
         (v = next_matrix(event->process, tc_serial_of(event->call->self), &pos));) {
        if (v->left_step == TC_NONE)
            continue;
        const enum saved as = v->data == v->left_data ? SAVED_TRAINED : SAVED_COPIED;
        uint64_t known = 0;
        tc_map_get(&saving->saved, v->data, &known);
        if (known != SAVED_TRAINED)
            tc_map_remember(&saving->saved, MAX_KNOWN, v->data, as);
        if (as == SAVED_COPIED)
            saving->copied = spot_of_helper(event);
    }
}

/* A forward of training shows what the model was given. */
static void on_forward(struct saving *saving, const struct tc_event *event)
{
    const int64_t root = tc_serial_of(event->call->self);
    const struct tc_variable *v;
    uint64_t as;

    if (!tc_map_get(&saving->models, (uint64_t)root, &as) || as)
        return;
    for (size_t pos = 0; (v = next_matrix(event->process, root, &pos));)
        if (tc_map_get(&saving->saved, v->data, &as))
            tc_map_put(&saving->models, (uint64_t)root, as);
}

static void on_step(const struct tc_hearing *h, struct saving *saving)
{
    const struct tc_call *call = h->event->call;
    struct tc_place place;
    uint64_t as = 0;

    if (!tc_map_remove(&saving->loaded, (uint64_t)tc_serial_of(call->self)))
        return;
    for (size_t i = 0; i < call->n_params && !as; i++) {
        const struct tc_variable *v = tc_process_variable(h->event->process, call->params[i]);
        if (v && v->root != TC_NONE)
            tc_map_get(&saving->models, (uint64_t)v->root, &as);
    }
    tc_place_of(h->event, &place);
    if (as == SAVED_COPIED)
        tc_place_move(&place, &saving->copied);
    if (as)
        tc_answer_of(h, as == SAVED_TRAINED, (struct tc_example){.place = &place});
}

static void saved_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct saving *saving = tc_hearing_state(h);
    const struct tc_value *attrs = tc_value_get(call->self, "attrs");

    if (call->is_root && tc_is_training_forward(call))
        on_forward(saving, h->event);
    else if (call->role == TC_ROLE_STEP)
        on_step(h, saving);
    else if (call->role == TC_ROLE_SAVE)
        on_save(saving, h->event);
    else if (call->role == TC_ROLE_LOAD && tc_value_get(attrs, "lr"))
        tc_map_put(&saving->loaded, (uint64_t)tc_serial_of(call->self), 1);
    else if (call->role == TC_ROLE_LOAD && tc_value_get(attrs, "training"))
        tc_map_put(&saving->models, (uint64_t)tc_serial_of(call->self), 0);
}

const struct tc_relation_rule tc_rule_saved = {
    TC_RULE(tc_rule_saved),
    .form.name = "Consistent/saved",
    .form.summary = "training resumes from the weights that were trained",
    .form.hint = "Are the trained weights restored before the checkpoint is written?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .source.name = "saved",
    .source.judged = "the first step of an optimizer whose state was loaded, after its model's",
    .source.process_size = sizeof(struct saving),
    .source.release_process = saving_release,
    TC_CLAIM_ROLES(TC_ROLE_SAVE, TC_ROLE_LOAD, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_SYM_PARAMETER, TC_SYM_DATA, TC_SYM_KEPT),
    TC_CLAIM_ATOMS(TC_SYM_F_SELF_LR, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "training resumes from weights that were trained, and not from what was "
                      "copied in for an evaluation",
    .claim.seen = "training resumed from weights that were saved while others, such as an average "
                  "(EMA), stood in the place of the trained ones%p",
    .at = TC_AT_ROOT | TC_AT(STEP) | TC_AT(SAVE) | TC_AT(LOAD),
    .judge = saved_judge,
};
