/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_merged.c - APIArg/merged: what two thin matrices add is the same once it is merged
 *
 * An adapter maps its input to few numbers and these to its output, times a scale, beside a weight.
 * The product of its matrices is merged into that weight by the same scale, or what was trained is
 * not what is used: without the scale, or with that of one adapter for several that were stacked.
 *
 * By shapes: a call is a product of matrices if its result has the rows of one and the columns of
 * the other. Rows that are mapped from n to r < n and on to m > r are an adapter (n, r, m), times
 * all numbers on the way until it is added to something. A product of [m, r] and [r, n] that takes
 * no gradient is merged where it is added in place, or where the sum is copied.
 *
 * An example for each product that is merged, where an adapter of these sizes was seen: it holds
 * where its factor is that of one. It is broken where nothing scales it, and all of them were
 * scaled. Of a product k times as thick, as of k adapters that are stacked or on a diagonal, it is
 * also where the factor is a k-th of theirs. Any other factor may be meant: a part of an adapter.
 */
#include "relation/one_claim.h"

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_KNOWN    4096
#define MAX_ADAPTERS 64

enum thin {
    THIN_FACTOR, /* a matrix times a number */
    THIN_LOW,    /* rows that were mapped to few numbers */
    THIN_OUT,    /* and on: what an adapter adds */
    THIN_WEIGHT, /* the product of two matrices */
    THIN_SUM,    /* what it was added to */
};

/* What a tensor is. */
struct part {
    enum thin kind;
    int64_t in, rank, out;
    double factor;
};

/* Of one process. */
struct merging {
    struct tc_map parts;          /* serial → struct part * */
    TC_VEC(struct part) adapters; /* each once */
};

static void merging_release(void *of_process)
{
    struct merging *merging = of_process;

    tc_map_release_structs(&merging->parts);
    tc_vec_release(&merging->adapters);
}

static const struct part *part_of(const struct merging *merging, const struct tc_value *tensor)
{
    return tc_map_find(&merging->parts, (uint64_t)tc_serial_of(tensor));
}

static void keep(struct merging *merging, const struct tc_value *tensor, struct part part)
{
    if (merging->parts.n >= MAX_KNOWN)
        tc_map_release_structs(&merging->parts);
    *(struct part *)tc_map_struct(&merging->parts, (uint64_t)tc_serial_of(tensor), sizeof(part)) =
        part;
}

static int64_t last_of(const struct tc_value *tensor)
{
    return tc_size_of(tensor, (uint32_t)tc_n_dimensions(tensor) - 1);
}

/* ---- adapters ------------------------------------------------------------------------------- */

static void note_adapter(struct merging *merging, const struct part *part, double factor)
{
    struct part adapter = *part;

    adapter.factor *= factor;
    for (size_t i = 0; i < merging->adapters.n; i++) {
        const struct part *known = &merging->adapters.items[i];
        if (known->in == part->in && known->rank == part->rank && known->out == part->out &&
            tc_is_near(known->factor, adapter.factor))
            return;
    }
    if (merging->adapters.n < MAX_ADAPTERS)
        tc_vec_push(&merging->adapters, adapter);
}

/* How many of them are in the product side by side; 0: it is of others. */
static int64_t times_thicker(const struct part *adapter, const struct part *product)
{
    const int64_t k = product->rank / adapter->rank;

    if (product->rank % adapter->rank)
        return 0;
    return (product->in == adapter->in && product->out == adapter->out) ||
                   (product->in == adapter->out && product->out == adapter->in) ||
                   (product->in == adapter->in && product->out == k * adapter->out)
               ? k
               : 0;
}

static void judge_merge(const struct tc_hearing *h, const struct merging *merging,
                        const struct part *product, double factor)
{
    const double scale = product->factor * factor;
    bool is_known = false, holds = false, is_share = true;

    for (size_t i = 0; i < merging->adapters.n; i++) {
        const struct part *adapter = &merging->adapters.items[i];
        const int64_t k = times_thicker(adapter, product);
        if (!k)
            continue;
        is_known = true;
        holds |= tc_is_near(scale, adapter->factor);
        is_share &=
            tc_is_near(scale, 1) || (k > 1 && tc_is_near(scale * (double)k, adapter->factor));
    }
    if (is_known && (holds || is_share))
        tc_answer(h, holds);
}

/* ---- looking -------------------------------------------------------------------------------- */

/* A map of the rows of a by b, or the product of both; transposed: b is [out, in]. */
static bool on_product(struct merging *merging, const struct tc_value *a, int64_t n, int64_t m,
                       bool is_matrix, const struct tc_value *b, const struct tc_value *value)
{
    const struct part *first = part_of(merging, a), *second = part_of(merging, b);
    const double factor = (first ? first->factor : 1) * (second ? second->factor : 1);

    if (first && first->kind == THIN_LOW && m > n)
        keep(merging, value, (struct part){THIN_OUT, first->in, n, m, factor});
    else if (m < n)
        keep(merging, value, (struct part){THIN_LOW, n, m, 0, first ? factor : 1});
    else if (is_matrix && n < m && n < tc_size_of(a, 0))
        keep(merging, value, (struct part){THIN_WEIGHT, m, n, tc_size_of(a, 0), factor});
    else
        return false;
    return true;
}

/* Two tensors whose shapes say that they were multiplied as matrices. */
static bool on_matrices(struct merging *merging, const struct tc_value *a, const struct tc_value *b,
                        const struct tc_value *value)
{
    const int64_t dims = tc_n_dimensions(a), n = dims ? last_of(a) : 0, m = last_of(value);

    if (dims < 2 || tc_n_dimensions(b) != 2 || tc_n_dimensions(value) != dims || n == m)
        return false;
    if (tc_size_of(b, 0) == n && tc_size_of(b, 1) == m)
        return on_product(merging, a, n, m, dims == 2, b, value);
    if (tc_size_of(b, 0) == m && tc_size_of(b, 1) == n)
        return on_product(merging, a, n, m, false, b, value);
    return false;
}

/* One of them is what an adapter adds, or a product, and the other of its shape. */
static void on_sum(const struct tc_hearing *h, struct merging *merging, const struct tc_value *a,
                   const struct tc_value *b)
{
    const struct tc_value *value = h->event->call->end->value;
    const struct part *part = part_of(merging, b);
    double factor = 1;

    if (part && part->kind >= THIN_OUT)
        tc_value_number(tc_value_get(h->event->call->args, "alpha"), &factor);
    else
        part = part_of(merging, a);
    if (!part || part->kind < THIN_OUT || last_of(value) != last_of(b))
        return;
    if (part->kind == THIN_OUT || (part->kind == THIN_WEIGHT && tc_requires_gradient(value))) {
        note_adapter(merging, part, factor);
    } else if (part->kind == THIN_WEIGHT && tc_serial_of(value) == tc_serial_of(a)) {
        judge_merge(h, merging, part, factor);
    } else {
        struct part sum = *part;
        sum.kind = THIN_SUM;
        sum.factor *= part->kind == THIN_WEIGHT ? factor : 1;
        keep(merging, value, sum);
    }
}

/* What is multiplied by a number, or only stands elsewhere. */
static void on_one(struct merging *merging, const struct tc_call *call, const struct tc_value *a)
{
    const struct tc_value *value = call->end->value;
    const struct part *known = part_of(merging, a);
    struct part part = known ? *known : (struct part){.kind = THIN_FACTOR, .factor = 1};
    double number = 1;
    const bool is_scaled = tc_value_number(tc_value_get(call->args, "other"), &number);

    if (tc_count_elements(tc_value_get(a, "shape")) !=
            tc_count_elements(tc_value_get(value, "shape")) ||
        (!known && !(is_scaled && tc_n_dimensions(a) == 2)))
        return;
    part.factor *= number;
    keep(merging, value, part);
}

static void merged_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *value = call->end->value, *operands[3] = {NULL};
    struct merging *merging = tc_hearing_state(h);
    uint32_t pos = 0, n = 0;

    if (tc_is_tensor(call->self))
        operands[n++] = call->self;
    while (n < 3 && (operands[n] = tc_call_next_tensor(call, &pos)))
        n++;
    if (call->role == TC_ROLE_FILL) {
        const struct part *sum = n == 2 ? part_of(merging, operands[1]) : NULL;
        if (sum && sum->kind == THIN_SUM)
            judge_merge(h, merging, sum, 1);
        return;
    }
    if (!n || !tc_is_tensor(value) || !tc_n_dimensions(value))
        return;
    if (call->role == TC_ROLE_LAYER) {
        const int64_t from = last_of(operands[0]), to = last_of(value);
        if (n == 1 && tc_n_dimensions(operands[0]) == tc_n_dimensions(value) && from != to)
            on_product(merging, operands[0], from, to, false, NULL, value);
    } else if (n == 1) {
        on_one(merging, call, operands[0]);
    } else if (n == 2 && !on_matrices(merging, operands[0], operands[1], value)) {
        on_sum(h, merging, operands[0], operands[1]);
    }
}

const struct tc_relation_rule tc_rule_merged = {
    TC_RULE(tc_rule_merged),
    .form.name = "APIArg/merged",
    .form.summary = "what two thin matrices add is the same once it is merged",
    .form.hint = "Is the product scaled as the adapter is in forward(), by the rank that it has?",
    .form.needs_operators = true,
    .source.name = "merged",
    .source.judged = "a product of two thin matrices that is added to a weight",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct merging),
    .source.release_process = merging_release,
    TC_CLAIM_ROLES(TC_ROLE_LAYER, TC_ROLE_OPERATOR, TC_ROLE_FILL),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SELF, TC_SYM_IS, TC_SYM_SCALED),
    TC_CLAIM_ATOMS(TC_SYM_SCALED, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected =
        "the product of an adapter's matrices is merged by the scale that the adapter "
        "has",
    .claim.seen = "a product of two thin matrices was merged into a weight without the scale that "
                  "what they add has%p",
    .at = TC_AT(LAYER) | TC_AT(OPERATOR) | TC_AT(FUNCTION) | TC_AT(FILL),
    .judge = merged_judge,
};
