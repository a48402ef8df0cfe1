/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_apart.c - Consistent/apart: what parameter groups of one optimizer differ in at its
 * first step, they go on differing in
 *
 * A schedule scales what the groups began with, or keeps it. A schedule written by hand may give
 * all of them the same. They may also meet in the end, at the lowest rate of a schedule: they
 * count as one when they have had a third value in common. A warm-up may lead them to one rate:
 * settings that came closer in several steps, and were as close as that step leads, have met on
 * purpose.
 *
 * There is an example for each setting in each step of its optimizer.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include <string.h>

#include "base/hash.h"
#include "replay/symbols.h"

/* How much further than the last step that led groups to one value did they may come at once, where
 * they meet. */
#define MAX_LEAP 2

/* One setting of all groups of one optimizer, in the step at hand and since. */
struct contrast {
    uint64_t value; /* in the group met first */
    uint64_t last;  /* that they last had in common */
    unsigned n_common;
    size_t n_groups;   /* in this step */
    bool differs;      /* in this step */
    bool differed;     /* in the first one */
    bool was_met;      /* before this step */
    double low, high;  /* in this step */
    double gap, leap;  /* in the last step in which they differed; how much it had closed last */
    uint64_t n_closer; /* times in a row that it closed */
    bool has_converged;
    int64_t serial; /* of the group met first */
    tc_sym group, attr;
};

/* Of one process. */
struct contrasts {
    struct tc_map items; /* (optimizer, attribute) → struct contrast * */
};

static void contrasts_release(void *of_process)
{
    tc_map_release_structs(&((struct contrasts *)of_process)->items);
}

/* "optimizer" of "optimizer.param_groups[0]"; no text where it has no such name. */
static struct tc_str owner_of(const struct tc_strtab *symbols, tc_sym group)
{
    const char *name = tc_strtab_text(symbols, group), *end = strstr(name, ".param_groups[");

    return (struct tc_str){end ? name : NULL, end ? (uint32_t)(end - name) : 0};
}

static struct contrast *contrast_of(struct contrasts *contrasts, struct tc_str owner, tc_sym attr)
{
    return tc_map_struct(&contrasts->items, tc_hash64(owner.text, owner.size, attr),
                         sizeof(struct contrast));
}

static void meet_setting(struct contrast *contrast, const struct tc_settings *group,
                         const struct tc_setting *setting)
{
    if (!contrast->n_groups++) {
        contrast->value = setting->used;
        contrast->serial = group->serial;
        contrast->group = group->name;
        contrast->attr = setting->attr;
        contrast->differs = false;
        contrast->low = contrast->high = setting->used_number;
    }
    contrast->low = setting->used_number < contrast->low ? setting->used_number : contrast->low;
    contrast->high = setting->used_number > contrast->high ? setting->used_number : contrast->high;
    contrast->differs |= contrast->value != setting->used;
}

/* How have the groups come to be as far from each other as they are? */
static void follow_contrast(struct contrast *contrast)
{
    const double gap = contrast->high - contrast->low;

    if (!contrast->differs) {
        contrast->has_converged =
            contrast->n_closer >= TC_THIRD_TIME && contrast->gap <= MAX_LEAP * contrast->leap;
        return;
    }
    if (contrast->was_met && gap != contrast->gap) {
        contrast->leap = contrast->gap - gap;
        contrast->n_closer = tc_in_a_row(contrast->n_closer, contrast->leap > 0);
    }
    contrast->gap = gap;
}

static void judge_contrast(const struct tc_hearing *h, struct contrast *contrast)
{
    const struct tc_variable group = {.serial = contrast->serial,
                                      .name = contrast->group,
                                      .kind = TC_SYM_PARAM_GROUP,
                                      .is_setting = true};

    if (!contrast->differs && (!contrast->n_common || contrast->last != contrast->value)) {
        contrast->n_common++;
        contrast->last = contrast->value;
    }
    if (!contrast->differs && contrast->n_common < TC_THIRD_TIME)
        return;
    if (!contrast->differs && contrast->has_converged)
        tc_answer_excused(h, &group, TC_EXCUSE_CONVERGED);
    else
        tc_answer_of(h, contrast->differs, (struct tc_example){.variable = &group});
}

static void meet_all(const struct tc_hearing *h)
{
    const struct tc_settings *group;

    for (size_t pos = 0; (group = tc_map_next(&h->event->process->settings, &pos));) {
        const struct tc_str owner = owner_of(h->symbols, group->name);
        for (size_t i = 0; owner.text && i < group->items.n; i++)
            if (group->items.items[i].has_used)
                meet_setting(contrast_of(tc_hearing_state(h), owner, group->items.items[i].attr),
                             group, &group->items.items[i]);
    }
}

static void apart_judge(const struct tc_hearing *h)
{
    struct contrasts *contrasts = tc_hearing_state(h);
    struct contrast *contrast;

    meet_all(h);
    for (size_t pos = 0; (contrast = tc_map_next(&contrasts->items, &pos));) {
        if (!contrast->was_met && contrast->n_groups)
            contrast->differed = contrast->differs;
        if (contrast->n_groups > 1)
            follow_contrast(contrast);
        if (contrast->n_groups > 1 && contrast->differed)
            judge_contrast(h, contrast);
        contrast->was_met |= contrast->n_groups > 0;
        contrast->n_groups = 0;
    }
}

const struct tc_relation_rule tc_rule_apart = {
    TC_RULE(tc_rule_apart),
    .form.name = "Consistent/apart",
    .form.summary = "what parameter groups differ in at the first step, they go on differing in",
    .form.hint = "Is one rate written into every group, where each should be scaled?",
    .source.name = "apart",
    .source.judged = "the end of a step window, for each setting",
    .source.process_size = sizeof(struct contrasts),
    .source.release_process = contrasts_release,
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_SYM_PARAM_GROUP, TC_SYM_SETTINGS, TC_SYM_DIFFERS),
    TC_CLAIM_ATOMS(TC_SYM_PARAM_GROUP, TC_WORDS(TC_SYM_SETTINGS, TC_SYM_DIFFERS),
                   TC_WORDS(TC_SYM_SETTINGS, TC_SYM_EQUAL)),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_LAW,
    .claim.expected =
        "settings in which the groups of an optimizer differ at its first step go on differing",
    .claim.seen =
        "a setting that %v had of its own is now the same in all groups, at a third value "
        "in a row",
    .at = TC_AT(STEP),
    .judge = apart_judge,
};
