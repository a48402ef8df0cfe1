/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_placed.c - APIArg/placed: positions are counted from where a sample begins
 *
 * A model looks its positions up in a table. Rows are padded on the left, or several samples are
 * packed into a row and a mask keeps them apart; and positions are counted from the first column. A
 * sample is taught at other places than those where it stands in use, alone and without padding.
 *
 * Positions are whole numbers from zero on, one for each column, that an embedding is given; all
 * rows have the same. Rows are padded on the left if not all of the model's `attention_mask` begin
 * with a one. Samples are kept apart where the numbers of samples that the model is given are
 * compared with themselves, each with each. An example for each root forward for training with one
 * of these that looks positions up. It holds where they are others, and is broken from the tenth in
 * a row on in which they are those of the columns. Positions that nobody looks up, as those that
 * turn queries and keys, are relative, and may be counted from anywhere.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_VIEWS 1024

/* Of one process. */
struct placing {
    struct tc_map views; /* of what the open root forward was given: serial → serial of that */
    int64_t root;        /* id of the root forward that is looked at, from 1 on */
    int64_t apart;       /* over so many columns samples are kept apart in it; 0: nowhere */
    bool is_counted, is_other; /* by columns; begin anew, or later */
    int64_t columns;
    uint64_t n;          /* in a row */
    struct tc_spot spot; /* of what looked positions up, or of the line that counted them */
    struct tc_map made;  /* serial of such → struct tc_spot * of the line, outside of models */
};

static void placing_release(void *of_process)
{
    struct placing *placing = of_process;

    tc_map_release(&placing->views);
    tc_map_release_structs(&placing->made);
}

static int64_t columns_of(const struct tc_value *tensor)
{
    const int64_t n = tc_n_dimensions(tensor);

    return n == 1 || n == 2 ? tc_size_of(tensor, (uint32_t)n - 1) : -1;
}

/* 1: 0, 1, 2, ... in each row; 2: whole numbers from zero on that are not; 0: anything else. */
static int kind_of(const struct tc_value *tensor)
{
    const int64_t columns = columns_of(tensor),
                  rows = tc_n_dimensions(tensor) == 2 ? tc_size_of(tensor, 0) : 1;

    if (columns < 4 || tc_summary_int(tensor, "min", -1) != 0 ||
        tc_summary_int(tensor, "max", -1) >= columns ||
        tc_summary_int(tensor, "distinct", -1) != tc_summary_int(tensor, "max", -1) + 1)
        return 0;
    return tc_summary_int(tensor, "max", -1) != columns - 1 ||
                   tc_summary_int(tensor, "zero", -1) != rows ||
                   tc_summary_int(tensor, "one", -1) != rows
               ? 2
           : tc_n_dimensions(tensor) == 1 || (tc_summary_int(tensor, "first", -1) == 0 &&
                                              tc_summary_int(tensor, "last", -1) == columns - 1)
               ? 1
               : 0;
}

/* Do some rows begin with padding? */
static bool is_padded_left(const struct tc_value *mask)
{
    return tc_n_dimensions(mask) == 2 && tc_summary_int(mask, "min", -1) == 0 &&
           tc_summary_int(mask, "max", -1) == 1 && tc_summary_int(mask, "first", -1) != 1;
}

static void begin_root(struct placing *placing, const struct tc_call *root)
{
    if (placing->root == root->id + 1)
        return;
    placing->root = root->id + 1;
    placing->is_counted = placing->is_other = false;
    placing->apart = 0;
    tc_map_clear(&placing->views);
}

/* Is it a tensor of whole numbers of samples that the root was given? */
static bool is_given(const struct tc_call *root, int64_t serial)
{
    const struct tc_value *operand;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(root, &pos));)
        if (tc_serial_of(operand) == serial)
            return columns_of(operand) > 1 && tc_summary_int(operand, "min", -1) >= 0 &&
                   tc_summary_int(operand, "distinct", -1) > 1;
    return false;
}

static int64_t origin_of(const struct placing *placing, const struct tc_value *tensor)
{
    uint64_t origin;

    return tc_map_get(&placing->views, (uint64_t)tc_serial_of(tensor), &origin)
               ? (int64_t)origin
               : tc_serial_of(tensor);
}

/* Another view of it, or a comparison of two of one tensor. */
static void on_operator(struct placing *placing, const struct tc_call *call,
                        const struct tc_call *root)
{
    const struct tc_value *value = call->end->value, *other = tc_value_get(call->args, "other");
    const int64_t origin = origin_of(placing, call->self), n = tc_n_dimensions(value);

    if (!tc_is_tensor(call->self) || !tc_is_tensor(value))
        return;
    if (tc_is_tensor(other)) {
        if (tc_is_of_dtype(tc_value_get(value, "dtype"), "bool") && n >= 2 &&
            tc_size_of(value, (uint32_t)n - 1) == tc_size_of(value, (uint32_t)n - 2) &&
            origin == origin_of(placing, other) && is_given(root, origin))
            placing->apart = tc_size_of(value, (uint32_t)n - 1);
    } else if (tc_count_elements(tc_value_get(value, "shape")) ==
               tc_count_elements(tc_value_get(call->self, "shape"))) {
        tc_map_remember(&placing->views, MAX_VIEWS, (uint64_t)tc_serial_of(value),
                        (uint64_t)origin);
    }
}

static void on_lookup(struct placing *placing, const struct tc_event *event)
{
    const struct tc_value *operand;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(event->call, &pos));) {
        const int kind = kind_of(operand);
        if (kind == 1) {
            placing->is_counted = true;
            placing->columns = columns_of(operand);
            const struct tc_spot *made =
                tc_map_find(&placing->made, (uint64_t)tc_serial_of(operand));
            placing->spot = made ? *made : tc_spot_of(event);
        }
        placing->is_other |= kind == 2;
    }
}

/* A line of the script counts columns, for a batch that a model is given. */
static void note_made(struct placing *placing, const struct tc_event *event)
{
    const struct tc_value *value = event->call->end->value;

    if (tc_call_at(event->call) == TC_SYM_EMPTY || kind_of(value) != 1)
        return;
    if (placing->made.n >= MAX_VIEWS)
        tc_map_release_structs(&placing->made);
    tc_spot_keep(&placing->made, value, tc_spot_of(event));
}

static void on_root(const struct tc_hearing *h, struct placing *placing)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *mask = tc_value_get(call->args, "attention_mask");
    const int64_t over = is_padded_left(mask) ? columns_of(mask) : placing->apart;
    struct tc_place place;

    if (!tc_is_training_forward(call) || placing->root != call->id + 1 || !over ||
        (!placing->is_counted && !placing->is_other))
        return;
    const bool is_wrong = placing->is_counted && placing->columns == over;
    placing->n = tc_in_a_row(placing->n, is_wrong);
    tc_place_of(h->event, &place);
    if (is_wrong)
        tc_place_move(&place, &placing->spot);
    if (!is_wrong || placing->n >= TC_TENTH_TIME)
        tc_answer_of(h, !is_wrong, (struct tc_example){.place = &place});
}

static void placed_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call, *root = tc_root_around(call);
    struct placing *placing = tc_hearing_state(h);

    if (call->is_root) {
        on_root(h, placing);
        return;
    }
    if (!root)
        note_made(placing, h->event);
    if (!root || !tc_is_training_forward(root))
        return;
    begin_root(placing, root);
    if (call->role == TC_ROLE_OPERATOR)
        on_operator(placing, call, root);
    else if (tc_value_get(call->args, "padding_idx"))
        on_lookup(placing, h->event);
}

const struct tc_relation_rule tc_rule_placed = {
    TC_RULE(tc_rule_placed),
    .form.name = "APIArg/placed",
    .form.summary = "positions are counted from where a sample begins",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.hint = "Is the model given position_ids that begin with each sample, behind its padding?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "placed",
    .source.judged = "a forward for training that looks positions up, over rows that are padded on "
                     "the left, or packed",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct placing),
    .source.release_process = placing_release,
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_FUNCTION, TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_INPUT, TC_SYM_IS, TC_SYM_APART_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_F_INPUT, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "positions are counted from where a sample begins, where rows are padded on "
                      "the left, or packed",
    .claim.seen =
        "positions were counted from the first column, over rows that are padded on the "
        "left, or hold several samples that are kept apart, in a tenth forward in a row%p",
    .at = TC_AT_ROOT | TC_AT(FUNCTION) | TC_AT(OPERATOR),
    .judge = placed_judge,
};
