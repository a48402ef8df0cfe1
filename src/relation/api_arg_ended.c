/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_ended.c - APIArg/ended: a reward and the end of its episode are of one step
 *
 * What a state is worth is its reward and, if the episode goes on, a part of what the next one is
 * worth. Where the flag that ends an episode is read one step late, or early, the value of another
 * episode is passed on, and the last reward of one is not its last.
 *
 * A step of an environment is a call of the script, or of a package, that returns a vector of
 * numbers and a boolean one of its shape, or one that was made of a boolean alone: rewards, and
 * which of them end an episode. Both are followed where lines put them into a list or a tensor, one
 * for each step, take them out by number, and compute with them. They meet where a line adds what
 * was computed of a reward to what was computed of a flag. An example for each line at which they
 * have met ten times. It holds while one in ten were of one step of the environment, and is broken
 * where fewer were: a line may look at the state of a step before, where flags are stored with it.
 */
#include "relation/one_claim.h"
#include "relation/operand.h"
#include "relation/third_time.h"

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_KNOWN 16384
#define MAX_ROWS  128

/* Of which step something is; 0: of none. */
struct stamp {
    uint64_t reward, flag;
};

/* Of what holds one for each step. */
struct rows {
    size_t n;
    struct stamp stamps[MAX_ROWS];
};

/* Where rewards and flags meet in a function. */
struct line {
    uint64_t n, n_alike;
};

/* Of one process. */
struct ending {
    struct tc_map stamps; /* serial → struct stamp * */
    struct tc_map rows;   /* serial → struct rows * */
    struct tc_map lines;  /* (function, line) → struct line * */
    struct tc_map flags;  /* serials of numbers that were made of a boolean alone → 1 */
    uint64_t n_steps;     /* of environments */
};

static void ending_release(void *of_process)
{
    struct ending *ending = of_process;

    tc_map_release_structs(&ending->stamps);
    tc_map_release_structs(&ending->rows);
    tc_map_release_structs(&ending->lines);
    tc_map_release(&ending->flags);
}

static bool is_several(const struct tc_value *v)
{
    return (tc_is_tensor(v) || tc_value_get(v, "array")) && tc_value_get(v, "id");
}

static struct stamp stamp_of(const struct ending *ending, const struct tc_value *v)
{
    const struct stamp *known = v && v->kind == TC_VALUE_OBJECT
                                    ? tc_map_find(&ending->stamps, (uint64_t)tc_serial_of(v))
                                    : NULL;

    return known ? *known : (struct stamp){0};
}

static void keep(struct ending *ending, const struct tc_value *v, struct stamp stamp)
{
    if (!is_several(v) || (!stamp.reward && !stamp.flag))
        return;
    if (ending->stamps.n >= MAX_KNOWN)
        tc_map_release_structs(&ending->stamps);
    *(struct stamp *)tc_map_struct(&ending->stamps, (uint64_t)tc_serial_of(v), sizeof(stamp)) =
        stamp;
}

/* ---- where they come from ------------------------------------------------------------------- */

static bool is_flag(const struct ending *ending, const struct tc_value *v)
{
    uint64_t one;

    return is_several(v) && (tc_is_of_dtype(tc_value_get(v, "dtype"), "bool") ||
                             tc_map_get(&ending->flags, (uint64_t)tc_serial_of(v), &one));
}

static const struct tc_value *other_of_shape(const struct ending *ending,
                                             const struct tc_value *list,
                                             const struct tc_value *flag)
{
    const struct tc_value *shape = tc_value_get(flag, "shape");

    for (uint32_t i = 0; i < list->n; i++)
        if (is_several(&list->items[i]) && !is_flag(ending, &list->items[i]) &&
            tc_is_of_dtype(tc_value_get(&list->items[i], "dtype"), "float") &&
            tc_operand_is_same_shape(tc_value_get(&list->items[i], "shape"), shape))
            return &list->items[i];
    return NULL;
}

/* A step returns a reward and a flag. */
static void on_environment(struct ending *ending, const struct tc_value *returned)
{
    const struct tc_value *reward;

    if (!returned || returned->kind != TC_VALUE_ARRAY)
        return;
    for (uint32_t i = 0; i < returned->n; i++) {
        const struct tc_value *flag = &returned->items[i];
        if (!is_flag(ending, flag) || !(reward = other_of_shape(ending, returned, flag)))
            continue;
        ending->n_steps++;
        keep(ending, reward, (struct stamp){.reward = ending->n_steps});
        keep(ending, flag, (struct stamp){.flag = ending->n_steps});
        return;
    }
}

/* ---- where they go -------------------------------------------------------------------------- */

static struct rows *rows_of(struct ending *ending, const struct tc_value *v, bool makes)
{
    const uint64_t serial = (uint64_t)tc_serial_of(v);
    struct rows *rows = tc_map_find(&ending->rows, serial);

    if (rows || !makes || !is_several(v))
        return rows;
    if (ending->rows.n >= MAX_ROWS)
        tc_map_release_structs(&ending->rows);
    return tc_map_struct(&ending->rows, serial, sizeof(*rows));
}

static void note_row(struct rows *rows, int64_t i, struct stamp stamp)
{
    if (!rows || i < 0 || i >= MAX_ROWS)
        return;
    rows->stamps[i] = stamp;
    rows->n = (size_t)i >= rows->n ? (size_t)i + 1 : rows->n;
}

/* A list, one for each step, becomes a tensor. */
static void on_list(struct ending *ending, const struct tc_value *list,
                    const struct tc_value *value)
{
    struct rows *rows = NULL;

    for (uint32_t i = 0; i < list->n; i++) {
        const struct stamp stamp = stamp_of(ending, &list->items[i]);
        if (!rows && (stamp.reward || stamp.flag))
            rows = rows_of(ending, value, true);
        note_row(rows, i, stamp);
    }
}

/* The number of the step: the first, where there are several. */
static int64_t first_of(const struct tc_value *index)
{
    if (index && index->kind == TC_VALUE_ARRAY && index->n)
        index = &index->items[0];
    return index && index->kind == TC_VALUE_INT ? tc_value_int(index, -1) : -1;
}

static const struct tc_value *index_of(const struct tc_call *call)
{
    const struct tc_value *index = tc_value_get(call->args, "index");

    return index ? index : tc_value_get(call->args, "indices");
}

/* What is known of the operands together, and of what is made of them; whether a reward meets a
 * flag. */
static bool meet(const struct ending *ending, const struct tc_call *call, struct stamp *met,
                 struct stamp *made)
{
    const struct tc_value *operand = call->self;
    uint32_t pos = 0, n = 0, n_flags = 0, n_rewards = 0;

    *met = (struct stamp){0};
    do {
        const struct stamp stamp = stamp_of(ending, operand);
        n += operand && operand->kind == TC_VALUE_OBJECT;
        n_rewards += stamp.reward > 0;
        n_flags += stamp.flag > 0;
        met->reward = stamp.reward ? stamp.reward : met->reward;
        met->flag = stamp.flag ? stamp.flag : met->flag;
    } while ((operand = tc_call_next_tensor(call, &pos)));
    *made = (struct stamp){n == 1 ? met->reward : 0, n_flags == 1 && !n_rewards ? met->flag : 0};
    return n_rewards == 1 && n_flags == 1;
}

static void on_met(const struct tc_hearing *h, struct ending *ending, struct stamp stamp)
{
    const uint64_t key = (uint64_t)h->event->call->descriptor << 32 | tc_call_at(h->event->call);
    struct line *line = tc_map_struct(&ending->lines, key, sizeof(*line));

    line->n++;
    line->n_alike += stamp.reward == stamp.flag;
    if (line->n >= TC_TENTH_TIME)
        tc_answer(h, line->n_alike * 10 >= line->n);
}

static void on_operator(const struct tc_hearing *h, struct ending *ending)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *value = call->end->value, *list,
                          *given = tc_value_get(call->args, "value");
    const int64_t i = first_of(index_of(call));
    struct rows *rows = rows_of(ending, call->self, false);
    struct stamp stamp, made;

    for (uint32_t k = 0; call->args && k < call->args->n; k++)
        if ((list = &call->args->members[k].value)->kind == TC_VALUE_ARRAY && list->n > 1)
            on_list(ending, list, value);
    if (index_of(call)) {
        stamp = stamp_of(ending, given);
        if (given && (rows || stamp.reward || stamp.flag))
            note_row(rows_of(ending, call->self, true), i, stamp);
        else if (!given && rows && i >= 0 && (size_t)i < rows->n)
            keep(ending, value, rows->stamps[i]);
        return;
    }
    if (meet(ending, call, &stamp, &made))
        on_met(h, ending, stamp);
    keep(ending, value, made);
}

/* Numbers are made of a boolean. */
static void note_flag(struct ending *ending, const struct tc_call *call)
{
    if (tc_is_of_dtype(tc_value_get(call->self, "dtype"), "bool") &&
        tc_is_of_dtype(tc_value_get(call->end->value, "dtype"), "float") &&
        !tc_call_next_tensor(call, &(uint32_t){0}))
        tc_map_remember(&ending->flags, MAX_KNOWN, (uint64_t)tc_serial_of(call->end->value), 1);
}

static void ended_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct ending *ending = tc_hearing_state(h);

    if (call->role == TC_ROLE_OWN || call->role == TC_ROLE_PACKAGE)
        on_environment(ending, call->end->value);
    else
        note_flag(ending, call);
    if (ending->n_steps && call->role != TC_ROLE_OWN && call->role != TC_ROLE_PACKAGE)
        on_operator(h, ending);
}

const struct tc_relation_rule tc_rule_ended = {
    TC_RULE(tc_rule_ended),
    .form.name = "APIArg/ended",
    .form.summary = "a reward and the end of its episode are of one step",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.hint = "Is the flag that of the step that gave the reward?",
    .form.needs_operators = true,
    .source.name = "ended",
    .source.judged = "a function that is given a reward and what the end of an episode has masked, "
                     "from the tenth time at its line on",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct ending),
    .source.release_process = ending_release,
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_NEXT),
    TC_CLAIM_ATOMS(TC_BLANK_CALL, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.calls = {TC_BLANK_CALL},
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "%c joins a reward with the end of an episode of its own step",
    .claim.seen = "rewards were joined with flags of other steps of the environment: where an "
                  "episode ends, the value of the next one is passed on%p",
    .at = TC_AT(OWN) | TC_AT(PACKAGE) | TC_AT(OPERATOR) | TC_AT(FUNCTION),
    .judge = ended_judge,
};
