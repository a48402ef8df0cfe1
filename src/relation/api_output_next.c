/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_next.c - APIOutput/next: a batch is not the one before it in its pass
 *
 * In one pass over a DataLoader a batch that comes again at once was given by another worker: a
 * stream that is not divided among them. Of four rows and 16 elements or more, so that a sampler
 * does not draw it twice by chance; broken by the third of a pass, and not where all of a pass are
 * one batch, on which a script trains on purpose.
 *
 * An example for each batch.
 */
#include "relation/claims.h"
#include "relation/form.h"

#include "base/hash.h"
#include "replay/symbols.h"

#define MIN_ROWS     4
#define MIN_REPEATED 3

/* What one iterator has returned. */
struct pass {
    uint64_t last;
    unsigned n_repeated;
    bool has_last, differs; /* not all are one batch */
};

/* Of one process: by serial of the iterator, struct pass *. */
static void passes_release(void *of_process)
{
    tc_map_release_structs(of_process);
}

static bool tells_enough(const struct tc_value *tensor)
{
    const struct tc_value *shape = tc_value_get(tensor, "shape");

    return shape && shape->kind == TC_VALUE_ARRAY && shape->n &&
           tc_value_int(&shape->items[0], 0) >= MIN_ROWS &&
           tc_count_elements(shape) >= TC_MIN_ELEMENTS &&
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
    if (tc_value_get(v, "tensor"))
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

static void on_batch(struct pass *pass, struct tc_str digest, const struct tc_event *event,
                     const struct tc_sink *sink)
{
    const bool is_repeated = note(pass, tc_hash64(digest.text, digest.size, 0)) && pass->differs;

    pass->n_repeated += is_repeated;
    if (is_repeated && pass->n_repeated < MIN_REPEATED)
        return;
    tc_sink_word(sink, event, TC_SYM_BATCH, is_repeated ? TC_SYM_REPEATED : TC_SYM_DISTINCT);
}

static void next_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    struct tc_str digest;

    (void)symbols;
    if (event->kind != TC_EVENT_CALL || event->process->is_worker ||
        event->call->role != TC_ROLE_DATA)
        return;
    const int64_t serial = tc_value_int(tc_value_get(event->call->self, "id"), TC_NONE);
    struct pass *pass = tc_map_struct(tc_process_state(state, event->process), (uint64_t)serial,
                                      sizeof(struct pass));
    if (event->call->raised) /* the end of it: an iterator may begin again */
        *pass = (struct pass){.has_last = false};
    else if ((digest = digest_in(event->call->end->value, 4)).text)
        on_batch(pass, digest, event, sink);
}

const struct tc_source tc_source_next = {.name = "next",
                                         .judged = "a batch that a loader returns",
                                         .is_set = true,
                                         .process_size = sizeof(struct tc_map),
                                         .release_process = passes_release,
                                         .observe = next_observe};

static const struct tc_claim claims[] = {
    {
     .key = {TC_SYM_BATCH},
     .roles = {TC_ROLE_DATA},
     .n_roles = 1,
     .of = TC_PARAM_OPERAND,
     .kind = TC_SYM_VALUE,
     .attr = TC_SYM_IS,
     .to = TC_SYM_DISTINCT_VALUE,
     .held = {TC_SYM_DISTINCT},
     .broken = {TC_SYM_REPEATED},
     .if_met = true,
     .support = TC_SUPPORT_USAGE,
     .expected = "a batch is not the one before it in its pass",
     .seen = "the same batch came right before, for the third time in this pass or more",
     },
};

const struct tc_relation tc_api_output_next = {
    .name = "APIOutput/next",
    .summary = "a batch is not the one before it in its pass",
    .hint = "Is a stream divided among the workers (get_worker_info)?",
    .needs_content = true,
    .source = &tc_source_next,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
