/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_next.c - APIOutput/next: a batch is not one of the last few of its pass
 *
 * In one pass over a DataLoader a batch that comes again at once was given by another worker: a
 * stream that is not divided among them. Of 16 elements or more; broken by the third of a pass, and
 * not where all of a pass are one batch, on which a script trains on purpose.
 *
 * An example for each batch.
 */
#include "relation/claims.h"
#include "relation/form.h"

#include "base/hash.h"
#include "replay/symbols.h"

#define MAX_WORKERS  8 /* batches back that are looked at */
#define MIN_REPEATED 3

/* What one iterator has returned. */
struct pass {
    uint64_t last[MAX_WORKERS];
    uint64_t n;
    unsigned n_repeated;
    bool differs; /* not all are one batch */
};

struct next_state {
    struct tc_map passes; /* (process, iterator) → struct pass * */
};

static void next_release(void *state)
{
    tc_map_release_structs(&((struct next_state *)state)->passes);
}

/* The digest of the first tensor that has enough to tell it by: of a list, a dict, or itself. */
static struct tc_str digest_in(const struct tc_value *v, unsigned depth)
{
    const struct tc_value *dict = tc_value_get(v, "dict");
    struct tc_str digest = {0};

    if (!v || !depth)
        return digest;
    if (tc_value_get(v, "tensor"))
        return tc_count_elements(tc_value_get(v, "shape")) >= TC_MIN_ELEMENTS &&
                       (!tc_value_get(v, "summary") || tc_is_rich(v)) &&
                       !tc_value_get(v, "constant")
                   ? tc_value_str(tc_value_get(v, "digest"))
                   : digest;
    for (uint32_t i = 0; v->kind == TC_VALUE_ARRAY && i < v->n && !digest.text; i++)
        digest = digest_in(&v->items[i], depth - 1);
    for (uint32_t i = 0; dict && i < dict->n && !digest.text; i++)
        digest = digest_in(&dict->members[i].value, depth - 1);
    return digest;
}

static bool note(struct pass *pass, uint64_t content)
{
    bool is_repeated = false;

    for (size_t i = 0; i < MAX_WORKERS && i < pass->n; i++) {
        is_repeated |= pass->last[i] == content;
        pass->differs |= pass->last[i] != content;
    }
    pass->last[pass->n++ % MAX_WORKERS] = content;
    return is_repeated;
}

static void on_batch(struct pass *pass, struct tc_str digest, const struct tc_event *event,
                     const struct tc_sink *sink)
{
    const struct tc_situation none = {.n = 0};
    const bool is_repeated = note(pass, tc_hash64(digest.text, digest.size, 0)) && pass->differs;

    pass->n_repeated += is_repeated;
    if (is_repeated && pass->n_repeated < MIN_REPEATED)
        return;
    const tc_sym outcome = is_repeated ? TC_SYM_REPEATED : TC_SYM_DISTINCT;
    const struct tc_example example = {
        .key = TC_SYM_BATCH, .situation = &none, .outcome = &outcome, .n_outcome = 1};
    sink->example(sink->context, event, &example);
}

static void next_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    struct next_state *s = state;
    struct tc_str digest;

    (void)symbols;
    if (event->kind != TC_EVENT_CALL || event->process->is_worker ||
        event->call->role != TC_ROLE_DATA)
        return;
    const int64_t serial = tc_value_int(tc_value_get(event->call->self, "id"), TC_NONE);
    struct pass *pass =
        tc_map_struct(&s->passes, tc_hash64(&serial, sizeof(serial), (uintptr_t)event->process),
                      sizeof(struct pass));
    if (event->call->raised) /* the end of it: an iterator may begin again */
        *pass = (struct pass){.n = 0};
    else if ((digest = digest_in(event->call->end->value, 4)).text)
        on_batch(pass, digest, event, sink);
}

const struct tc_source tc_source_next = {.name = "next",
                                         .judged = "a batch that a loader returns",
                                         .is_set = true,
                                         .state_size = sizeof(struct next_state),
                                         .release = next_release,
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
     .expected = "a batch is not one of the last few of its pass",
     .seen = "the same batch came before, for the third time in this pass or more",
     },
};

const struct tc_relation tc_api_output_next = {
    .name = "APIOutput/next",
    .summary = "a batch is not one of the last few of its pass",
    .hint = "Is a stream divided among the workers (get_worker_info)?",
    .needs_content = true,
    .source = &tc_source_next,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
