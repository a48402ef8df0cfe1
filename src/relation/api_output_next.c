/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_next.c - APIOutput/next: a batch is not the one before it in its pass
 *
 * If a batch comes again at once in one pass over a DataLoader, another worker gave it: the
 * stream is not divided among them. A batch has four rows and 16 elements or more, so that a
 * sampler does not draw it twice by chance. It is broken by the third of a pass, unless all of a
 * pass are one batch, on which a script trains on purpose.
 *
 * There is an example for each batch.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "base/hash.h"
#include "replay/symbols.h"
#include "trace/member.h"

#define MIN_ROWS 4

/* What one iterator has returned. */
struct pass {
    uint64_t last;
    unsigned n_repeated;
    bool has_last, differs; /* not all are one batch */
};

static bool tells_enough(const struct tc_value *tensor)
{
    return tc_size_of(tensor, 0) >= MIN_ROWS &&
           tc_count_elements(tc_value_get(tensor, "shape")) >= TC_MIN_ELEMENTS &&
           (!tc_value_get(tensor, "summary") || tc_is_rich(tensor)) &&
           !tc_value_get(tensor, "constant");
}

/* The digest of the first tensor that has enough to tell it by: of a list, a dict, or itself. */
static struct tc_str digest_in(const struct tc_value *v, unsigned depth)
{
    const struct tc_value *dict = tc_value_get(v, "dict");
    struct tc_str digest = {0};

    if (!v || !depth)
        return digest;
    if (tc_is_tensor(v))
        return tells_enough(v) ? tc_value_str(tc_value_get(v, "digest")) : digest;
    for (uint32_t i = 0; v->kind == TC_VALUE_ARRAY && i < v->n && !digest.text; i++)
        digest = digest_in(&v->items[i], depth - 1);
    for (uint32_t i = 0; dict && i < dict->n && !digest.text; i++)
        digest = digest_in(&dict->members[i].value, depth - 1);
    return digest;
}

static bool note(struct pass *pass, uint64_t content)
{
    const bool is_repeated = pass->has_last && pass->last == content;

    pass->differs |= pass->has_last && !is_repeated;
    pass->last = content;
    pass->has_last = true;
    return is_repeated;
}

static void on_batch(const struct tc_hearing *h, struct pass *pass, struct tc_str digest)
{
    const bool is_repeated = note(pass, tc_hash64(digest.text, digest.size, 0)) && pass->differs;

    pass->n_repeated += is_repeated;
    if (!is_repeated || pass->n_repeated >= TC_THIRD_TIME)
        tc_answer(h, !is_repeated);
}

static void next_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct pass *pass =
        tc_map_struct(tc_hearing_state(h), (uint64_t)tc_serial_of(call->self), sizeof(struct pass));
    struct tc_str digest;

    if (call->raised) /* the end of it: an iterator may begin again */
        *pass = (struct pass){.has_last = false};
    else if ((digest = digest_in(call->end->value, 4)).text)
        on_batch(h, pass, digest);
}

const struct tc_relation_rule tc_rule_next = {
    TC_RULE(tc_rule_next),
    .form.name = "APIOutput/next",
    .form.summary = "a batch is not the one before it in its pass",
    .form.hint = "Is a stream divided among the workers (get_worker_info)?",
    .form.needs_content = true,
    .source.name = "next",
    .source.judged = "a batch that a loader returns",
    .source.process_size = sizeof(struct tc_map), /* by serial of the iterator, struct pass * */
    .source.release_process = tc_release_map_of_structs,
    TC_CLAIM_ROLES(TC_ROLE_DATA),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_DISTINCT_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_BATCH, TC_SYM_DISTINCT, TC_SYM_REPEATED),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_USAGE,
    .claim.expected = "a batch is not the one before it in its pass",
    .claim.seen = "the same batch came right before, for the third time in this pass or more",
    .at = TC_AT(DATA) | TC_AT_RAISED,
    .judge = next_judge,
};
