/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_packed.c - APIArg/packed: where positions begin anew, attention does
 *
 * Several samples are packed into a row, and their positions begin at zero again. Where attention
 * is causal over the whole row all the same, each sample sees those that stand before it, which it
 * has nothing to do with.
 *
 * By counts: rows of whole numbers are positions that begin anew if all of them begin with zero,
 * each number up to the largest is there, and there are more zeros than rows, and as many ones, but
 * for rows that end with a zero: half of them at most. A mask over them is causal and no more if
 * half of it is visible, with the diagonal; or if it comes of a triangle, by lines that change its
 * shape, or join it with a mask of nothing.
 *
 * An example for the first attention over as many places in each root forward for training that
 * embeds such numbers, or is given them. It holds where a mask leaves out more. It is broken from
 * the tenth on in a row, each with other numbers than the one before: the columns of an image are
 * the same each time, and words have as many ones as zeros by chance alone.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_MASKS 256

/* Of one process. */
struct packing {
    int64_t root, judged; /* ids of the last root forwards with positions, and with attention, from
                             1 on */
    int64_t columns;
    uint64_t content, before; /* of its positions; of those of the forward before */
    uint64_t n;               /* in a row */
    struct tc_map causal;     /* serials of masks too large for a summary → 1 */
};

static void packing_release(void *of_process)
{
    tc_map_release(&((struct packing *)of_process)->causal);
}

static int64_t number_of(const struct tc_value *summary, const char *name)
{
    return tc_value_int(tc_value_get(summary, name), -1);
}

/* [rows, columns] or [columns]: positions that begin anew within a row. */
static bool begins_anew(const struct tc_value *tensor)
{
    const struct tc_value *summary = tc_value_get(tensor, "summary");
    const int64_t n = tc_n_dimensions(tensor), zeros = number_of(summary, "zero"),
                  most = number_of(summary, "max"), rows = n == 2 ? tc_size_of(tensor, 0) : 1,
                  n_cut = zeros - number_of(summary, "one");

    return summary && (n == 1 || n == 2) && number_of(summary, "min") == 0 && most > 1 &&
           number_of(summary, "distinct") == most + 1 && zeros > rows && n_cut >= 0 &&
           n_cut <= (rows + 1) / 2 && (n == 1 || number_of(summary, "first") == 0);
}

static void on_numbers(struct packing *packing, const struct tc_call *root,
                       const struct tc_value *tensor)
{
    uint64_t content;

    if (!tc_value_get(tensor, "summary") || !begins_anew(tensor) ||
        !(content = tc_rich_content(tensor)))
        return;
    packing->root = root->id + 1;
    packing->columns = tc_size_of(tensor, (uint32_t)tc_n_dimensions(tensor) - 1);
    packing->content = content;
}

static void on_operands(struct packing *packing, const struct tc_call *root,
                        const struct tc_call *call)
{
    const struct tc_value *operand;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));)
        on_numbers(packing, root, operand);
}

/* Does half of the mask, with the diagonal, show what is visible, and what it shows not the rest?
 */
static bool is_causal_mask(const struct tc_value *mask, int64_t columns)
{
    const struct tc_value *summary = tc_value_get(mask, "summary");
    const int64_t shown = number_of(summary, "true"), hidden = number_of(summary, "false"),
                  more = shown > hidden ? shown : hidden, less = shown + hidden - more;

    return summary && more * (columns - 1) == less * (columns + 1);
}

static bool is_square(const struct tc_value *mask, int64_t columns)
{
    const int64_t n = tc_n_dimensions(mask);

    return n >= 2 && columns > 1 && tc_size_of(mask, (uint32_t)n - 1) == columns &&
           tc_size_of(mask, (uint32_t)n - 2) == columns;
}

static bool is_causal(const struct packing *packing, const struct tc_value *mask, int64_t columns)
{
    uint64_t one;

    return is_square(mask, columns) &&
           (is_causal_mask(mask, columns) ||
            tc_map_get(&packing->causal, (uint64_t)tc_serial_of(mask), &one));
}

/* Does it hide nothing? */
static bool is_all(const struct tc_value *mask)
{
    return number_of(tc_value_get(mask, "summary"), "false") == 0 ||
           number_of(tc_value_get(mask, "summary"), "min") == 1;
}

/* A large mask is made of one that is causal, and of one that hides nothing. */
static void on_operator(struct packing *packing, const struct tc_call *call)
{
    const struct tc_value *value = call->end->value, *other = tc_value_get(call->args, "other");
    const int64_t n = tc_n_dimensions(value),
                  columns = n > 2 ? tc_size_of(value, (uint32_t)n - 1) : 0;

    if (!is_square(value, columns) || tc_value_get(value, "summary") || !tc_is_tensor(other))
        return;
    if ((is_causal(packing, call->self, columns) && is_all(other)) ||
        (is_causal(packing, other, columns) && is_all(call->self)))
        tc_map_remember(&packing->causal, MAX_MASKS, (uint64_t)tc_serial_of(value), 1);
}

/* Is it causal over those places, by a flag or a mask (2), or has it a mask of another kind (1)? 0:
 * it is over others, or open. */
static int kind_of(const struct packing *packing, const struct tc_call *call)
{
    const struct tc_value *mask = tc_value_get(call->args, "attn_mask");

    if (!mask || mask->kind == TC_VALUE_NULL)
        return tc_value_is_true(tc_value_get(call->args, "is_causal")) ? 2 : 0;
    if (is_causal(packing, mask, packing->columns))
        return 2;
    return is_square(mask, packing->columns) && tc_value_get(mask, "summary") ? 1 : 0;
}

static void on_attention(const struct tc_hearing *h, struct packing *packing,
                         const struct tc_call *root)
{
    const struct tc_call *call = h->event->call;
    int kind;

    if (packing->judged == root->id + 1 || !tc_is_training_forward(root))
        return;
    if (packing->root != root->id + 1)
        on_operands(packing, root, root);
    if (packing->root != root->id + 1 || !(kind = kind_of(packing, call)))
        return;
    const bool is_new = packing->content != packing->before;
    packing->judged = root->id + 1;
    packing->before = packing->content;
    packing->n = tc_in_a_row(packing->n, kind == 2 && is_new);
    if (kind == 1 || packing->n >= TC_TENTH_TIME)
        tc_answer(h, kind == 1);
}

static void packed_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call, *root = tc_root_around(call);

    if (!root)
        return;
    if (call->role == TC_ROLE_OPERATOR)
        on_operator(tc_hearing_state(h), call);
    else if (tc_value_get(call->args, "attn_mask"))
        on_attention(h, tc_hearing_state(h), root);
    else if (tc_value_get(call->args, "padding_idx"))
        on_operands(tc_hearing_state(h), root, call);
}

const struct tc_relation_rule tc_rule_packed = {
    TC_RULE(tc_rule_packed),
    .form.name = "APIArg/packed",
    .form.summary = "where positions begin anew, attention does",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.hint = "Does the mask keep the samples of a packed row apart?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "packed",
    .source.judged =
        "the first attention of a forward for training, over positions that begin anew",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct packing),
    .source.release_process = packing_release,
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_FUNCTION, TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_ATTENTION, TC_SYM_IS, TC_SYM_APART_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_ATTENTION, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "where positions begin anew within a row, attention does",
    .claim.seen = "positions begin anew within the rows, and attention is causal over the whole of "
                  "them: samples see those before them in their row, in a tenth forward in a row%p",
    .at = TC_AT(FUNCTION) | TC_AT(OPERATOR),
    .judge = packed_judge,
};
