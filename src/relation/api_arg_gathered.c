/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_gathered.c - APIArg/gathered: labels among gathered columns are those of the rank
 *
 * Each rank compares its own rows with the rows of all ranks: its scores have columns for each
 * rank, one rank after another. The label of a row is its own column, behind those of the ranks
 * before. Without that offset all ranks but the first take rows of the first for their own.
 *
 * An example for each loss on a rank past the first, of scores with more columns than rows, as many
 * for each rank. Its labels are numbers that follow each other, one for each row. Gathered tensors
 * were joined in the order of ranks since the last step: each one at its place but that of the rank
 * itself, where its own tensor with a gradient may stand. It is broken from the third in a row on
 * whose labels are not all among the columns of the rank.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MAX_KNOWN 4096

/* Of one process. */
struct gathering {
    struct tc_map places; /* serial of a tensor that was gathered → its rank, from 1 on */
    int64_t columns;      /* rows of what was joined in order since the last step; 0: nothing */
    uint64_t n_of_others; /* losses in a row */
};

static void gathering_release(void *of_process)
{
    tc_map_release(&((struct gathering *)of_process)->places);
}

/* The first list of as many tensors as there are ranks. */
static const struct tc_value *list_of_ranks(const struct tc_call *call, int64_t world)
{
    for (uint32_t i = 0; call->args && i < call->args->n; i++) {
        const struct tc_value *list = &call->args->members[i].value;
        if (list->kind == TC_VALUE_ARRAY && list->n == (uint64_t)world &&
            tc_n_dimensions(&list->items[0]) > 0)
            return list;
    }
    return NULL;
}

static void on_collective(struct gathering *gathering, const struct tc_call *call, int64_t world)
{
    const struct tc_value *list = list_of_ranks(call, world), *value = call->end->value;

    list = !list && value && value->kind == TC_VALUE_ARRAY && value->n == (uint64_t)world ? value
                                                                                          : list;
    if (gathering->places.n + (uint64_t)world >= MAX_KNOWN)
        tc_map_clear(&gathering->places);
    for (uint32_t i = 0; list && i < list->n; i++)
        tc_map_put(&gathering->places, (uint64_t)tc_serial_of(&list->items[i]), i + 1);
}

/* Joined one rank after another? */
static void on_joined(struct gathering *gathering, const struct tc_call *call,
                      const struct tc_process *process)
{
    const struct tc_value *list = list_of_ranks(call, process->world);
    uint64_t place;

    for (uint32_t i = 0; list && i < list->n; i++)
        if ((int64_t)i != process->rank &&
            (!tc_map_get(&gathering->places, (uint64_t)tc_serial_of(&list->items[i]), &place) ||
             place != i + 1))
            return;
    if (list)
        gathering->columns = tc_size_of(call->end->value, 0);
}

static void on_loss(const struct tc_hearing *h, struct gathering *gathering)
{
    const struct tc_call *call = h->event->call;
    const struct tc_process *process = h->event->process;
    const struct tc_value *target = tc_value_get(call->args, "target"),
                          *input = tc_value_get(call->args, "input"),
                          *summary = tc_value_get(target, "summary");
    const int64_t rows = tc_size_of(input, 0), columns = tc_size_of(input, 1),
                  width = columns / process->world;
    double least, most, distinct;

    if (tc_n_dimensions(input) != 2 || columns != gathering->columns || columns % process->world ||
        rows > width || rows < 2 || !tc_value_number(tc_value_get(summary, "min"), &least) ||
        !tc_value_number(tc_value_get(summary, "max"), &most) ||
        !tc_value_number(tc_value_get(summary, "distinct"), &distinct) ||
        (int64_t)distinct != rows || (int64_t)(most - least) != rows - 1)
        return;
    const bool is_own =
        least >= (double)(process->rank * width) && most < (double)((process->rank + 1) * width);
    gathering->n_of_others = tc_in_a_row(gathering->n_of_others, !is_own);
    if (is_own || gathering->n_of_others >= TC_THIRD_TIME)
        tc_answer(h, is_own);
}

static void gathered_judge(const struct tc_hearing *h)
{
    const struct tc_process *process = h->event->process;
    const struct tc_call *call = h->event->call;
    struct gathering *gathering = tc_hearing_state(h);

    if (process->world < 2 || process->rank < 1)
        return;
    if (call->role == TC_ROLE_COLLECTIVE)
        on_collective(gathering, call, process->world);
    else if (call->role == TC_ROLE_STEP)
        gathering->columns = 0;
    else if (tc_value_get(call->args, "target"))
        on_loss(h, gathering);
    else
        on_joined(gathering, call, process);
}

const struct tc_relation_rule tc_rule_gathered = {
    TC_RULE(tc_rule_gathered),
    .form.name = "APIArg/gathered",
    .form.summary = "labels among gathered columns are those of the rank",
    .form.hint = "Are labels shifted by the columns of the ranks before?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "gathered",
    .source.judged = "a loss on a rank past the first, of scores with columns of all ranks",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct gathering),
    .source.release_process = gathering_release,
    TC_CLAIM_ROLES(TC_ROLE_COLLECTIVE, TC_ROLE_FUNCTION),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_TARGET, TC_SYM_IS, TC_SYM_DISTINCT_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_F_TARGET, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "labels among the columns of all ranks are those of the rank itself",
    .claim.seen = "labels were columns of another rank, for the third time in a row: rows of that "
                  "one are taken for the own",
    .at = TC_AT(COLLECTIVE) | TC_AT(STEP) | TC_AT(OPERATOR) | TC_AT(FUNCTION),
    .judge = gathered_judge,
};
