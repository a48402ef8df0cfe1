/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_scale.c - APIArg/scale: a gradient scaler finds a scale
 *
 * A scaler halves its scale after each step whose gradients overflow, and leaves out the step.
 * From the usual 65536 a few steps are enough. Below a thousandth every scale overflows: some
 * gradient is never finite, each step is left out, and nothing is trained.
 *
 * There is an example for each step of a scaler.
 */
#include "relation/one_claim.h"

#include <string.h>

#include "replay/symbols.h"

#define MIN_SCALE 0.001

/* The smallest scale of those that the process has; 0 for none. */
static double smallest_scale(const struct tc_hearing *h)
{
    const struct tc_settings *settings;
    double smallest = 0;

    for (size_t pos = 0; (settings = tc_map_next(&h->event->process->settings, &pos));) {
        if (strcmp(tc_strtab_text(h->symbols, settings->kind), "scaler") != 0)
            continue;
        for (size_t i = 0; i < settings->items.n; i++) {
            const struct tc_setting *setting = &settings->items.items[i];
            if (setting->attr == TC_SYM_SCALE && setting->number > 0 &&
                (smallest == 0 || setting->number < smallest))
                smallest = setting->number;
        }
    }
    return smallest;
}

static void scale_judge(const struct tc_hearing *h)
{
    const double scale = smallest_scale(h);

    if (scale > 0)
        tc_answer(h, scale >= MIN_SCALE);
}

const struct tc_relation_rule tc_rule_scale = {
    TC_RULE(tc_rule_scale),
    .form.name = "APIArg/scale",
    .form.summary = "a gradient scaler finds a scale",
    .form.hint = "Which gradient is never finite: is a loss NaN, or does a layer overflow in half "
                 "precision?",
    .source.name = "scale",
    .source.judged = "the step of a gradient scaler",
    TC_CLAIM_ROLES(TC_ROLE_SCALER),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SCALE, TC_SYM_IS, TC_SYM_NOT_ZERO),
    TC_CLAIM_ATOMS(TC_SYM_SCALE, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "the scale of a gradient scaler does not fall below a thousandth",
    .claim.seen = "the scale has fallen below a thousandth: each step overflows, and is left out",
    .at = TC_AT(SCALER),
    .judge = scale_judge,
};
