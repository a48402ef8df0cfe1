/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_subject.c - what a call is, in its context, and how often it was made
 *
 * A label is an API with a class of receivers; a subject has the call around it, the stage and the
 * mode as well. Of each label it is counted how often it is met: in windows, in all, in batches.
 */
#include "fact/call_subject.h"

#include "fact/counter.h"
#include "fact/table.h"
#include "replay/symbols.h"

/* Of what computes with tensors whether it is a parameter, and one that is trained. */
static struct tc_str class_of_receiver(const struct tc_call *call)
{
    static const char frozen[] = "Parameter without gradient";
    const struct tc_value *grad = tc_value_get(call->self, "requires_grad");

    if (call->role != TC_ROLE_OPERATOR ||
        !tc_value_is(tc_value_get(call->self, "tensor"), "Parameter"))
        return tc_value_str(tc_value_get(call->self, "object"));
    return tc_value_is_true(grad) ? tc_value_str(tc_value_get(call->self, "tensor"))
                                  : (struct tc_str){frozen, sizeof(frozen) - 1};
}

uint32_t tc_fact_call_label(struct tc_facts *facts, struct tc_fact_watch *w,
                            const struct tc_call *call)
{
    struct tc_str class = class_of_receiver(call);
    const tc_sym pair[2] = {call->descriptor,
                            class.size ? tc_symbols_str(facts->table.symbols, class) : TC_NO_SYM};
    tc_sym label = tc_strtab_intern(w->label_tuples, pair, sizeof(pair));

    if (label == w->labels.n)
        tc_vec_push(&w->labels, ((struct tc_fact_label){
                                    .fn = pair[0],
                                    .of = pair[1],
                                    .is_operator = tc_role_has(call->role, TC_TRAIT_CLOSE)}));
    return label;
}

struct tc_fact_label *tc_fact_label_of(const struct tc_fact_watch *w,
                                       const struct tc_subject *subject)
{
    const tc_sym pair[2] = {subject->fields[TC_FACT_FN], subject->fields[TC_FACT_OF]};
    const tc_sym label = tc_strtab_find(w->label_tuples, pair, sizeof(pair));

    return label == TC_NO_SYM ? NULL : &w->labels.items[label];
}

static bool has_gradients(const struct tc_call *call)
{
    const struct tc_value *grad = tc_value_get(call->ctx, "grad");

    return !grad || grad->kind != TC_VALUE_BOOL || grad->boolean;
}

/* The loader of what is trained on and that of what is held out are made by calls of one context.
 * Further ones are, as where each epoch makes its own. */
#define MAX_ORDINAL 8

static tc_sym ordinal_of(struct tc_facts *facts, uint64_t n)
{
    const char text[2] = {(char)('0' + n), '\0'};

    return n > MAX_ORDINAL ? TC_NO_SYM : tc_strtab_intern_text(facts->table.symbols, text);
}

uint32_t tc_fact_call_subject(struct tc_facts *facts, const struct tc_fact_watch *w,
                              const struct tc_fact_open *open, const struct tc_fact_open *around,
                              const struct tc_call *call)
{
    const struct tc_fact_label *own = &w->labels.items[open->label];
    struct tc_subject subject = tc_subject_of(TC_SUBJECT_CALL);

    subject.fields[TC_FACT_FN] = own->fn;
    subject.fields[TC_FACT_OF] = own->of;
    if (around) {
        subject.fields[TC_FACT_IN] = w->labels.items[around->label].fn;
        subject.fields[TC_FACT_IN_OF] = w->labels.items[around->label].of;
    }
    subject.fields[TC_FACT_STAGE] = tc_fact_stage_of(call);
    if (call->role == TC_ROLE_MAKE)
        subject.fields[TC_FACT_NAME] = ordinal_of(facts, own->n + 1);
    if (!has_gradients(call))
        subject.fields[TC_FACT_GRAD] = tc_strtab_intern_text(facts->table.symbols, "off");
    return tc_fact_table_subject(&facts->table, &subject);
}

/* ---- how often ------------------------------------------------------------------------------- */

/* What such a call makes may be met later, without a maker. */
static void note_cut(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_call *call,
                     tc_sym fn, uint64_t n)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (!tc_role_has(call->role, TC_TRAIT_CLOSE) ||
        n < (tc_role_has(call->role, TC_TRAIT_APART) ? TC_ROLE_MAX_OF_A_FUNCTION
                                                     : TC_ROLE_MAX_AT_A_PLACE))
        return;
    w->cut_after = w->cut.n ? w->cut_after : w->latest;
    w->cut_in = w->n_windows;
    tc_strbuf_add_json(&text, tc_strtab_text(facts->table.symbols, fn),
                       tc_strtab_size(facts->table.symbols, fn));
    tc_map_put(&w->cut, tc_strtab_intern(facts->table.symbols, text.text, text.size), 1);
    tc_map_put(&w->cut, fn, 1);
    tc_strbuf_release(&text);
}

/* Of a batch the first calls are reported, and others where their place is new: what they are given
 * may have been made by one that was not. */
static void count_in_batch(struct tc_fact_watch *w, const struct tc_call *call)
{
    w->is_hazy = false;
    if (!tc_fact_is_of_batch(call) || !tc_role_has(call->role, TC_TRAIT_CLOSE))
        return;
    if (w->batch.id != call->parent->id) {
        w->batch.id = call->parent->id;
        w->batch.n_ops = w->batch.n_apart = 0;
    }
    w->is_hazy =
        w->batch.n_ops >= TC_ROLE_MAX_IN_BATCH || w->batch.n_apart >= TC_ROLE_MAX_OWN_IN_BATCH;
    ++*(tc_role_has(call->role, TC_TRAIT_APART) ? &w->batch.n_apart : &w->batch.n_ops);
}

void tc_fact_count_call(struct tc_facts *facts, struct tc_fact_watch *w,
                        const struct tc_fact_open *open, const struct tc_call *call)
{
    struct tc_fact_label *label = &w->labels.items[open->label];
    struct tc_subject subject = tc_subject_of(TC_SUBJECT_WINDOW);

    count_in_batch(w, call);
    label->n_in_window = label->window == w->n_windows ? label->n_in_window + 1 : 1;
    label->window = w->n_windows;
    note_cut(facts, w, call, label->fn, label->n_in_window);
    if (tc_fact_is_of_batch(call) && tc_role_has(call->role, TC_TRAIT_CLOSE)) {
        label->n_in_batches++;
        return;
    }
    subject.fields[TC_FACT_FN] = label->fn;
    subject.fields[TC_FACT_OF] = label->of;
    subject.fields[TC_FACT_STAGE] = call->stage;
    tc_fact_tally(w, &subject, call, TC_NONE);
    label->n++;
}
