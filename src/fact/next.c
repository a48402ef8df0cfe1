/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next.c - which call the script makes right after which, at its top or inside of one call
 *
 * Of each call all that ever came next is one value, which two runs have alike or nothing is
 * claimed. So what a script never does is known without a list of calls: another call, another
 * order, a call that is gone, all are a pair that no healthy run has. What a function of the script
 * calls comes after it, as if its caller called it.
 */
#include "fact/next.h"

#include "fact/name_list.h"
#include "fact/occasion.h"
#include "fact/table.h"
#include "fact/tensor_content.h"

/* Of a call that more others follow nothing is said. */
#define MAX_NEXT 8
/* So many calls out of place are kept until there is a step. */
#define MAX_STRAYS 64
/* In place of a name, where no further call came inside of one. */
#define END "nothing"

/* ---- pairs ---------------------------------------------------------------------------------- */

static enum tc_attribute attribute_of(const struct tc_fact_pair *pair)
{
    return tc_fact_is_init(pair->subject.fields[TC_FACT_STAGE]) ? TC_ATTRIBUTE_NEXT_FIRST
                                                                : TC_ATTRIBUTE_NEXT;
}

static bool has_next(const struct tc_fact_pair *pair, tc_sym fn)
{
    for (size_t i = 0; i < pair->next.n; i++)
        if (pair->next.items[i] == fn)
            return true;
    return false;
}

/* Judging, what is expected to come next. */
static void expect(struct tc_facts *facts, struct tc_fact_pair *pair)
{
    const uint32_t subject = tc_fact_table_subject(&facts->table, &pair->subject);
    struct tc_json *json = NULL;

    pair->slot = tc_fact_table_slot(&facts->table, subject, TC_NO_SYM, attribute_of(pair));
    if (pair->slot == UINT32_MAX || !facts->table.is_judging)
        return;
    const tc_sym value = facts->table.slots.items[pair->slot].fact.value;
    if (tc_json_parse(tc_strtab_text(facts->table.symbols, value),
                      tc_strtab_size(facts->table.symbols, value), &json, NULL))
        return;
    for (const struct tc_json *c = tc_json_first(json); c; c = tc_json_next(c))
        if (tc_json_text(c))
            tc_vec_push(&pair->next, tc_strtab_intern_text(facts->table.symbols, tc_json_text(c)));
    tc_json_free(json);
}

static struct tc_fact_pair *pair_of(struct tc_facts *facts, struct tc_fact_nexts *nexts,
                                    const struct tc_subject *subject)
{
    if (!nexts->tuples)
        nexts->tuples = tc_strtab_new();
    const uint32_t number = tc_strtab_intern(nexts->tuples, subject, sizeof(*subject));

    if (number == nexts->pairs.n) {
        tc_vec_push(&nexts->pairs, (struct tc_fact_pair){.subject = *subject});
        expect(facts, &nexts->pairs.items[number]);
    }
    return &nexts->pairs.items[number];
}

/* ---- a pair is met -------------------------------------------------------------------------- */

/* A call that never came there in the runs learned from. */
static tc_fact_lead tell(struct tc_facts *facts, const struct tc_fact_stray *stray,
                         const struct tc_place *place)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_fact_print_names(facts->table.symbols, &stray->fn, 1, &text);
    tc_fact_table_add(&facts->table, stray->slot, text.text, text.size, &facts->entries);
    tc_strbuf_release(&text);
    return tc_fact_settle_said(facts, 1, stray->cause, place);
}

/* A process that does not train, as one that reads data, is none of those learned from: it is told
 * once there is a step. */
static tc_fact_lead judge(struct tc_facts *facts, struct tc_fact_watch *w,
                          const struct tc_fact_pair *pair, tc_sym fn, tc_fact_lead cause)
{
    struct tc_fact_stray stray = {.slot = pair->slot, .fn = fn, .cause = cause};

    if (w->n_windows)
        return tell(facts, &stray, NULL);
    tc_place_of(facts->event, &stray.place);
    if (w->nexts.strays.n < MAX_STRAYS)
        tc_vec_push(&w->nexts.strays, stray);
    return 0;
}

tc_fact_lead tc_fact_tell_strays(struct tc_facts *facts, struct tc_fact_watch *w)
{
    tc_fact_lead first = 0;

    for (size_t i = 0; i < w->nexts.strays.n; i++) {
        const tc_fact_lead lead =
            tell(facts, &w->nexts.strays.items[i], &w->nexts.strays.items[i].place);
        first = first ? first : lead;
    }
    w->nexts.strays.n = 0;
    return first;
}

static tc_fact_lead meet(struct tc_facts *facts, struct tc_fact_watch *w,
                         const struct tc_subject *subject, tc_sym fn, tc_fact_lead cause)
{
    struct tc_fact_pair *pair = pair_of(facts, &w->nexts, subject);
    const bool is_known = has_next(pair, fn);

    if (pair->slot == UINT32_MAX)
        return 0;
    if (facts->table.is_judging && !is_known)
        return judge(facts, w, pair, fn, cause);
    if (!is_known && pair->next.n <= MAX_NEXT)
        tc_vec_push(&pair->next, fn);
    pair->n += !pair->n || pair->window != w->n_windows;
    pair->window = w->n_windows;
    return 0;
}

/* Where a step has more calls than the trace tells, what comes next is not known. */
static bool is_cut(const struct tc_fact_watch *w)
{
    return w->cut.n && w->cut_in == w->n_windows;
}

/* What comes after the last call at a place belongs to the stage of that. */
static struct tc_subject subject_of(const struct tc_fact_watch *w,
                                    const struct tc_fact_open *around, struct tc_fact_last last,
                                    tc_sym stage)
{
    struct tc_subject subject = tc_subject_of(TC_SUBJECT_INSIDE);

    if (around) {
        subject.fields[TC_FACT_FN] = w->labels.items[around->label].fn;
        subject.fields[TC_FACT_OF] = w->labels.items[around->label].of;
    }
    subject.fields[TC_FACT_STAGE] = last.fn == TC_NO_SYM ? stage : last.stage;
    subject.fields[TC_FACT_IN] = last.fn;
    return subject;
}

tc_fact_lead tc_fact_next(struct tc_facts *facts, struct tc_fact_watch *w,
                          struct tc_fact_open *around, const struct tc_call *call,
                          tc_fact_lead cause)
{
    struct tc_fact_last *last = around ? &around->last : &w->nexts.last;
    const bool is_lost = call->parent && !around;

    /* Of the items of a batch not all calls are told. */
    if (is_lost || tc_fact_is_of_batch(call) || is_cut(w))
        return 0;
    const struct tc_fact_last before = *last;
    *last = (struct tc_fact_last){call->descriptor, call->stage};
    if (!around && before.fn == TC_NO_SYM) /* processes begin otherwise */
        return 0;
    const struct tc_subject subject = subject_of(w, around, before, call->stage);
    return meet(facts, w, &subject, call->descriptor, cause);
}

void tc_fact_next_ends(struct tc_facts *facts, struct tc_fact_watch *w, struct tc_fact_open *open,
                       const struct tc_call *call)
{
    if (open->last.fn == TC_NO_SYM || call->raised || is_cut(w))
        return;
    const struct tc_subject subject = subject_of(w, open, open->last, open->last.stage);
    (void)meet(facts, w, &subject, tc_strtab_intern_text(facts->table.symbols, END), open->lead);
}

/* ---- the end of a run ----------------------------------------------------------------------- */

void tc_fact_say_nexts(struct tc_facts *facts, struct tc_fact_watch *w)
{
    struct tc_strtab *symbols = facts->table.symbols;
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (w->process->selection && !facts->table.is_judging)
        return; /* other calls may have come between */
    for (size_t i = 0; i < w->nexts.pairs.n; i++) {
        struct tc_fact_pair *pair = &w->nexts.pairs.items[i];
        if (!pair->n || pair->slot == UINT32_MAX)
            continue;
        tc_strbuf_reset(&text);
        if (facts->table.is_judging)
            tc_strbuf_adds(
                &text, tc_strtab_text(symbols, facts->table.slots.items[pair->slot].fact.value));
        else if (pair->next.n > MAX_NEXT)
            tc_strbuf_adds(&text, TC_FACT_MANY);
        else {
            (void)tc_fact_sort_names(symbols, pair->next.items, pair->next.n);
            tc_fact_print_names(symbols, pair->next.items, pair->next.n, &text);
        }
        tc_fact_table_add(&facts->table, pair->slot, text.text, text.size, &facts->entries);
        tc_fact_settle_said(facts, pair->n, 0, NULL);
    }
    tc_strbuf_release(&text);
}
