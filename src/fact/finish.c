/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finish.c - what only a whole run tells; and learning, all that was seen, judging, what held
 *
 * Learning, each slot gives its values and how often they were met. Judging, missing calls break
 * their facts, and so do numbers of the whole run and facts that broke more often than chance
 * allows. The order of processes is that of their files, so results do not depend on which came
 * first.
 */
#include "fact/finish.h"

#include <string.h>

#include "fact/attribute.h"
#include "fact/between_ranks.h"
#include "fact/call_subject.h"
#include "fact/drawn.h"
#include "fact/flow.h"
#include "fact/how_often.h"
#include "fact/missing.h"
#include "fact/needs.h"
#include "fact/next.h"
#include "fact/occasion.h"
#include "fact/setting_facts.h"
#include "fact/table.h"
#include "fact/trend.h"
#include "fact/variable_facts.h"
#include "fact/window_facts.h"

/* ---- a run ---------------------------------------------------------------------------------- */

/* Judging that a call is made, learning how often. */
static void say_present(struct tc_facts *facts, const struct tc_fact_watch *w,
                        const struct tc_subject *subject, uint64_t n)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (facts->table.is_judging)
        tc_strbuf_adds(&text, "true");
    else
        tc_fact_print_how_often(n, w->n_windows, &text);
    tc_fact_say(facts, subject, TC_NO_SYM, TC_ATTRIBUTE_PRESENT, text.text);
    tc_strbuf_release(&text);
}

static void say_label(struct tc_facts *facts, const struct tc_fact_watch *w,
                      const struct tc_fact_label *label)
{
    struct tc_subject subject = tc_subject_of(TC_SUBJECT_RUN);

    subject.fields[TC_FACT_FN] = label->fn;
    subject.fields[TC_FACT_OF] = label->of;
    if (label->n || label->n_in_batches)
        say_present(facts, w, &subject, label->n + label->n_in_batches);
}

/* Its calls of one stage: what is set to zero for each evaluation is set to zero elsewhere, too. */
static void say_at_stage(struct tc_facts *facts, const struct tc_fact_watch *w,
                         const struct tc_fact_counter *c)
{
    struct tc_subject subject = c->subject;

    subject.kind = TC_SUBJECT_RUN;
    if (c->n_all)
        say_present(facts, w, &subject, c->n_all);
}

static void say_flows(struct tc_facts *facts, const struct tc_fact_watch *w,
                      const struct tc_fact_counter *c)
{
    if (!tc_fact_is_hidden(w, &c->subject) &&
        c->n_all >= (facts->table.is_judging ? 1 : TC_FACT_ENOUGH))
        tc_fact_say(facts, &c->subject, TC_NO_SYM, TC_ATTRIBUTE_FLOWS_EVER, "true");
}

static void say_runs(struct tc_facts *facts, const struct tc_fact_watch *w)
{
    for (size_t i = 0; i < w->labels.n; i++)
        say_label(facts, w, &w->labels.items[i]);
    for (size_t i = 0; i < w->counters.n; i++)
        if (w->counters.items[i].subject.kind == TC_SUBJECT_FLOW)
            say_flows(facts, w, &w->counters.items[i]);
        else if (w->counters.items[i].subject.kind == TC_SUBJECT_WINDOW)
            say_at_stage(facts, w, &w->counters.items[i]);
}

/* What is gathered while a run lasts, each with how often it was met. */
static void say_learned(struct tc_facts *facts, struct tc_fact_watch *w)
{
    tc_fact_take_back_drawn(facts, w);
    tc_fact_settle_said(facts, 1, 0, NULL);
    tc_fact_say_trends(facts, w);
    tc_fact_say_set_up(facts, w);
}

static void finish_process(struct tc_facts *facts, struct tc_fact_watch *w)
{
    const struct tc_place place = tc_fact_end_of(w);

    if (w->process->is_sampled)
        return;
    if (tc_fact_is_whole(w->process)) {
        say_runs(facts, w);
        tc_fact_say_trainable(facts, w, TC_ATTRIBUTE_EXIST);
    }
    tc_fact_settle_said(facts, 1, w->last_lead, &place);
    if (tc_fact_is_whole(w->process)) {
        (void)tc_fact_tell_strays(facts, w);
        tc_fact_say_nexts(facts, w);
    }
    if (!facts->table.is_judging && tc_fact_is_whole(w->process))
        say_learned(facts, w);
    for (size_t i = 0; !facts->table.is_judging && i < facts->all.n; i++)
        tc_fact_say_absent(facts, w, facts->all.items[i], &place);
}

/* ---- what never happened -------------------------------------------------------------------- */

static bool is_whole(const struct tc_facts *facts)
{
    for (size_t i = 0; i < facts->all.n; i++)
        if (!tc_fact_is_whole(facts->all.items[i]->process))
            return false;
    return facts->all.n > 0;
}

/* The process whose file comes first: which one was met first does not matter. */
static const struct tc_fact_watch *first_watch(const struct tc_facts *facts)
{
    const struct tc_fact_watch *first = NULL;

    for (size_t i = 0; i < facts->all.n; i++)
        if (!first || strcmp(facts->all.items[i]->process->file, first->process->file) < 0)
            first = facts->all.items[i];
    return first;
}

/* Did the operand come from elsewhere, in a call that this run made? A list that is longer than
 * usual, or a call that is gone, shows no operand to come from anywhere. */
static bool comes_from_elsewhere(const struct tc_facts *facts, const struct tc_subject *flow)
{
    for (size_t i = 0; i < facts->all.n; i++)
        if (tc_fact_is_hidden(facts->all.items[i], flow))
            return false;
    for (size_t i = 0; i < facts->all.n; i++)
        for (size_t j = 0; j < facts->all.items[i]->counters.n; j++) {
            struct tc_subject other = facts->all.items[i]->counters.items[j].subject;
            other.fields[TC_FACT_IN] = flow->fields[TC_FACT_IN];
            other.fields[TC_FACT_IN_OF] = flow->fields[TC_FACT_IN_OF];
            if (facts->all.items[i]->counters.items[j].n_all &&
                !memcmp(&other, flow, sizeof(other)))
                return true;
        }
    return false;
}

static void miss_calls(struct tc_facts *facts)
{
    const struct tc_fact_watch *w = first_watch(facts);

    for (size_t i = 0; is_whole(facts) && i < facts->table.slots.n; i++) {
        const struct tc_fact_slot *slot = &facts->table.slots.items[i];
        struct tc_place place = tc_fact_end_of(w);
        if ((slot->fact.attribute != TC_ATTRIBUTE_PRESENT &&
             slot->fact.attribute != TC_ATTRIBUTE_FLOWS_EVER) ||
            slot->held || slot->broken ||
            (slot->fact.attribute == TC_ATTRIBUTE_FLOWS_EVER &&
             !comes_from_elsewhere(facts, &slot->fact.subject)))
            continue;
        tc_fact_say(facts, &slot->fact.subject, TC_NO_SYM, (enum tc_attribute)slot->fact.attribute,
                    "false");
        place.at = tc_fact_find_place(facts, w, &slot->fact.subject);
        tc_fact_settle_said(facts, 1, w->last_lead, &place);
        facts->has_origin = false;
    }
}

/* ---- results -------------------------------------------------------------------------------- */

static void count_classes(struct tc_facts *facts)
{
    for (size_t i = 0; i < facts->classes.n; i++) {
        const struct tc_fact_class *class = &facts->classes.items[i];
        for (uint32_t j = class->n_broken; class->count && j < class->n; j++)
            tc_fact_table_count(&facts->table, &class->entries[j], class->count);
    }
}

static const struct tc_fact_windows no_windows = {0, 0};

static void tell_example(struct tc_facts *facts, tc_sym key, tc_sym value, uint64_t n,
                         const struct tc_fact_windows *windows)
{
    const struct tc_example example = {.key = key,
                                       .situation = &tc_no_situation,
                                       .outcome = &value,
                                       .n_outcome = 1,
                                       .n = n,
                                       .windows = *windows};

    facts->sink->example(facts->sink->context, facts->event, &example);
}

/* The windows of one process, the longest, and how many do the same. */
struct extent {
    uint64_t n_windows, n_processes;
};

static struct extent extent_of(const struct tc_facts *facts)
{
    struct extent run = {0, 0};

    for (size_t i = 0; i < facts->all.n; i++) {
        const struct tc_fact_watch *w = facts->all.items[i];
        const uint64_t n = w->last.window + 1;
        run.n_processes += w->n_windows > 0;
        run.n_windows = n > run.n_windows ? n : run.n_windows;
    }
    return run;
}

/* Learning, the windows in which the slot was met, of those that there were. */
static struct tc_fact_windows windows_of(const struct tc_fact_slot *slot, const struct extent *run)
{
    const uint64_t n = run->n_processes > 1 ? run->n_processes : 1;
    uint64_t met = (slot->n_windows + n - 1) / n;

    met = met < run->n_windows ? met : run->n_windows;
    return (struct tc_fact_windows){met ? met : 1, run->n_windows};
}

static void tell_learned(struct tc_facts *facts, const struct tc_fact_slot *slot,
                         const struct extent *run)
{
    const tc_sym key = tc_fact_key_symbol(&slot->fact, facts->table.symbols);
    const struct tc_fact_windows windows = windows_of(slot, run);

    for (unsigned i = 0; i < slot->n_values; i++) /* what varies was not met for each value */
        tell_example(facts, key, slot->values[i], slot->n[i],
                     slot->n_values > 1 ? &no_windows : &windows);
}

/* Judging, once all calls are counted: what is rare. */
static void judge_rare(struct tc_facts *facts)
{
    const struct tc_fact_watch *w = first_watch(facts);

    for (size_t i = 0; is_whole(facts) && i < facts->table.slots.n; i++)
        tc_fact_tell_rare(facts, (uint32_t)i, w->last_lead);
}

void tc_fact_finish(struct tc_facts *facts)
{
    for (size_t i = 0; i < facts->all.n; i++)
        finish_process(facts, facts->all.items[i]);
    tc_fact_compare_ranks(facts);
    if (facts->table.is_judging)
        miss_calls(facts);
    count_classes(facts);
    if (facts->table.is_judging)
        judge_rare(facts);
    for (size_t i = 0; !facts->table.is_judging && i < facts->all.n; i++)
        tc_fact_tell_needs(facts, facts->all.items[i]);
    const struct extent run = extent_of(facts);
    for (size_t i = 0; i < facts->table.slots.n; i++) {
        const struct tc_fact_slot *slot = &facts->table.slots.items[i];
        if (!facts->table.is_judging)
            tell_learned(facts, slot, &run);
        else if (slot->held > slot->told)
            tell_example(facts, slot->key, slot->fact.value, slot->held - slot->told, &no_windows);
    }
}
