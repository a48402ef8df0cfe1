/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_padding.c - APIArg/padding: a padding mask leaves out what fills rows up
 *
 * torch's layers leave out the places at which a key_padding_mask is true. What fills rows up
 * stands at their end, or at their beginning, and one row of a batch is full. A mask that is true
 * at the first place of all rows and at the last of none leaves out the words: it was turned round.
 * Broken by the third such mask of a process, if none was otherwise, as rows may all be filled up
 * at the left.
 *
 * An example for each call of a layer with such a mask of two dimensions.
 */
#include "relation/claims.h"
#include "relation/form.h"

#include <string.h>

#include "replay/symbols.h"

#define MIN_TURNED 3

/* Of one process. */
struct masks {
    unsigned n_turned; /* before one was otherwise */
    bool has_sound;
};

static bool ends_with(struct tc_str text, const char *end)
{
    const size_t n = strlen(end);

    return text.size >= n && !memcmp(text.text + text.size - n, end, n);
}

/* The mask among the operands; NULL if there is none that can be told of. */
static const struct tc_value *mask_of(const struct tc_call *call)
{
    for (uint32_t i = 0; call->args && call->args->kind == TC_VALUE_OBJECT && i < call->args->n;
         i++) {
        const struct tc_member *member = &call->args->members[i];
        const struct tc_value *shape = tc_value_get(&member->value, "shape");
        if (ends_with(member->key, "key_padding_mask") && shape && shape->kind == TC_VALUE_ARRAY &&
            shape->n == 2 && tc_value_is(tc_value_get(&member->value, "dtype"), "bool"))
            return tc_value_get(&member->value, "summary");
    }
    return NULL;
}

static bool is_turned(const struct tc_value *summary)
{
    const struct tc_value *last = tc_value_get(summary, "last");

    return tc_value_is_true(tc_value_get(summary, "first")) && last &&
           last->kind == TC_VALUE_BOOL && !last->boolean;
}

static void padding_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                            const struct tc_sink *sink)
{
    const struct tc_value *summary;

    (void)symbols;
    if (event->kind != TC_EVENT_CALL || event->process->is_worker || event->call->raised ||
        event->call->role != TC_ROLE_LAYER || !(summary = mask_of(event->call)))
        return;
    const bool turned = is_turned(summary);
    struct masks *masks = tc_process_state(state, event->process);
    if (!turned)
        masks->has_sound = true;
    else if (masks->has_sound || ++masks->n_turned < MIN_TURNED)
        return;
    tc_sink_word(sink, event, TC_SYM_OUTSIDE, turned ? TC_SYM_BETWEEN : TC_SYM_OUTSIDE);
}

const struct tc_source tc_source_padding = {.name = "padding",
                                            .judged =
                                                "a call of a layer that is given a padding mask",
                                            .is_set = true,
                                            .process_size = sizeof(struct masks),
                                            .observe = padding_observe};

static const struct tc_claim claims[] = {
    {
     .key = {TC_SYM_OUTSIDE},
     .roles = {TC_ROLE_LAYER},
     .n_roles = 1,
     .of = TC_PARAM_OPERAND,
     .kind = TC_SYM_F_PADDING_MASK,
     .attr = TC_SYM_IS,
     .to = TC_SYM_NOT_ZERO,
     .held = {TC_SYM_OUTSIDE},
     .broken = {TC_SYM_BETWEEN},
     .if_met = true,
     .support = TC_SUPPORT_LAW,
     .expected =
            "the padding mask of a layer does not leave out the first place of all rows and "
            "the last of none", .seen = "the mask is true where words are, in all masks so far",
     },
};

const struct tc_relation tc_api_arg_padding = {
    .name = "APIArg/padding",
    .summary = "a padding mask leaves out what fills rows up",
    .hint = "Is the mask true where it should be false? True places are left out.",
    .fault = TC_FAULT_AT_BEGIN,
    .needs_content = true,
    .source = &tc_source_padding,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
