/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_kept.c - Consistent/kept: a weight that was trained is restored as itself
 *
 * An export leaves out what it takes for a copy: a head that is tied to the embedding. Where the
 * two were trained apart, as a tie is lost when a model is moved off the meta device, what is
 * restored has the embedding in place of the head, and a trained weight is gone.
 *
 * An example for the first forward of a model that then holds a matrix of another one of these
 * names, as the last step left it. It is broken where it holds in a matrix what one of another name
 * was left as, while the one of its own name, which was trained as well, was left otherwise.
 */
#include "relation/one_claim.h"

#include <string.h>

#include "replay/symbols.h"

static bool is_matrix(const struct tc_variable *v)
{
    return tc_is_told_matrix(v) && !v->is_sharded;
}

/* Has it been trained, to become what it did not begin as? */
static bool is_trained(const struct tc_variable *v)
{
    return is_matrix(v) && v->stepped >= 0 && v->left_data != v->first_data;
}

/* What is known of a model's matrix beside those of others. */
struct origin {
    bool is_itself; /* it holds what that of its name was left as */
    bool is_lost;   /* what another of that model was, while that of its name was left otherwise */
};

/* Does a trained matrix of that model, of another name, hold what v holds? */
static bool is_another(const struct tc_process *process, const struct tc_variable *own,
                       const struct tc_variable *v)
{
    const struct tc_variable *other;

    for (size_t pos = 0; (other = tc_map_next(&process->variables, &pos));)
        if (other->root == own->root && other != own && is_trained(other) &&
            other->left_data == v->data)
            return true;
    return false;
}

static struct origin origin_of(const struct tc_process *process, const struct tc_strtab *symbols,
                               const struct tc_variable *v)
{
    struct origin origin = {false, false};
    const struct tc_variable *own;

    for (size_t pos = 0; (own = tc_map_next(&process->variables, &pos));) {
        if (own->root == v->root || own->shape != v->shape || !is_trained(own) ||
            strcmp(tc_name_in_model(symbols, own), tc_name_in_model(symbols, v)) != 0)
            continue;
        if (own->left_data == v->data)
            origin.is_itself = true;
        else
            origin.is_lost |= is_another(process, own, v);
    }
    return origin;
}

static void kept_judge(const struct tc_hearing *h)
{
    const struct tc_process *process = h->event->process;
    const int64_t root = tc_serial_of(h->event->call->self);
    const struct tc_variable *v, *lost = NULL, *itself = NULL;
    bool is_new;

    *tc_map_at(tc_hearing_state(h), (uint64_t)root, &is_new) = 1;
    for (size_t pos = 0; is_new && (v = tc_map_next(&process->variables, &pos));) {
        if (v->root != root || !is_matrix(v))
            continue;
        const struct origin origin = origin_of(process, h->symbols, v);
        itself = origin.is_itself ? v : itself;
        lost = origin.is_lost && !origin.is_itself ? v : lost;
    }
    if (itself)
        tc_answer_of(h, !lost, (struct tc_example){.variable = lost ? lost : itself});
}

const struct tc_relation_rule tc_rule_kept = {
    TC_RULE(tc_rule_kept),
    .form.name = "Consistent/kept",
    .form.summary = "a weight that was trained is restored as itself",
    .form.hint = "Are the two weights really tied when the model is trained, or was the tie lost?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .source.name = "kept",
    .source.judged = "the first forward of a model that begins as a trained one was left",
    .source.process_size = sizeof(struct tc_map), /* roots that have run */
    .source.release_process = tc_release_map,
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_SYM_PARAMETER, TC_SYM_DATA, TC_SYM_KEPT),
    TC_CLAIM_ATOMS(TC_SYM_KEPT, TC_SYM_KEPT, TC_SYM_CHANGED),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a model that is restored has in each weight what was trained under its name",
    .claim.seen = "%v holds what another weight of the trained model was left as, and what was "
                  "trained under its own name is gone",
    .at = TC_AT_ROOT,
    .judge = kept_judge,
};
