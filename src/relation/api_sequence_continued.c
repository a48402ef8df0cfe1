/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_continued.c - APISequence/continued: a pass that is taken up again has what was left
 *
 * A run that is cut in the middle of a pass over its data leaves out, when it resumes, as many
 * batches as were done. If the order is that of another epoch, rows come a second time in the pass,
 * and as many never; if the batches are left out in each pass that follows, their rows never come.
 *
 * By rows: those of each batch that a loader returned and a model was given for training. A pass
 * ends with the iterator. It is cut where another iterator goes on before that, behind a load. An
 * example for the end of each pass that was cut and has as many rows as the whole one before: it is
 * broken where rows came twice in it. One more for each pass after that, which is broken where it
 * lacks as many rows as the cut one had. A script that begins the pass anew has more rows in it.
 * Nothing is said where rows come twice in a whole pass: they may be drawn, or be equal.
 */
#include "relation/batch_rows.h"
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

/* Of one process. */
struct passes {
    struct tc_map batches; /* that no model was given yet: batch_rows.h */
    struct tc_map seen;    /* rows of this pass */
    int64_t iterator;      /* of the last batch; 0: none yet */
    bool has_loaded;       /* since the last batch */
    bool is_off;           /* rows come twice, or are too many */
    uint64_t n, n_twice;   /* rows in this pass */
    uint64_t n_cut;        /* those before the cut; 0: it was not */
    uint64_t n_whole;      /* in a whole pass; 0: there was none */
    uint64_t n_left_out;   /* what the cut pass had, from its end on */
};

static void passes_release(void *of_process)
{
    struct passes *passes = of_process;

    tc_map_release_structs(&passes->batches);
    tc_map_release(&passes->seen);
}

static void begin_pass(struct passes *passes)
{
    tc_map_clear(&passes->seen);
    passes->n = passes->n_twice = passes->n_cut = 0;
}

/* Another iterator goes on before the last one has ended. */
static void change_iterator(struct passes *passes, int64_t iterator)
{
    if (passes->n && passes->has_loaded && !passes->n_cut)
        passes->n_cut = passes->n;
    else
        begin_pass(passes);
    passes->iterator = iterator;
}

/* A model is given a batch for training; the same batch counts once. */
static void on_forward(struct passes *passes, const struct tc_call *call)
{
    struct tc_batch_rows *batch = tc_batch_rows_take(&passes->batches, call);
    bool is_new;

    if (!batch)
        return;
    if (batch->iterator != passes->iterator)
        change_iterator(passes, batch->iterator);
    for (size_t i = 0; i < batch->n; i++) {
        tc_map_at(&passes->seen, batch->rows[i], &is_new);
        passes->n_twice += !is_new;
    }
    passes->n += batch->n;
    passes->is_off |= passes->n > TC_MAX_ROWS;
    passes->has_loaded = false;
    tc_free(batch);
}

static void on_end(const struct tc_hearing *h, struct passes *passes)
{
    const bool is_whole = passes->n == passes->n_whole;

    if (passes->n_cut && is_whole) {
        tc_answer(h, passes->n_twice < TC_THIRD_TIME);
        passes->n_left_out = passes->n_cut;
    } else if (!passes->n_cut && passes->n_left_out) {
        if (is_whole || passes->n + passes->n_left_out == passes->n_whole)
            tc_answer(h, is_whole);
    } else if (!passes->n_cut) {
        passes->is_off |= passes->n_twice >= TC_THIRD_TIME;
        passes->n_whole = passes->n;
    }
    begin_pass(passes);
    passes->iterator = 0;
}

static void continued_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct passes *passes = tc_hearing_state(h);

    if (passes->is_off)
        return;
    if (call->role == TC_ROLE_LOAD) {
        passes->has_loaded |= !call->raised;
    } else if (call->role == TC_ROLE_DATA) {
        const int64_t iterator = tc_serial_of(call->self);
        if (!call->raised)
            tc_batch_rows_note(&passes->batches, call->end->value, iterator);
        else if (iterator == passes->iterator && passes->n)
            on_end(h, passes);
    } else if (!call->raised && tc_is_training_forward(call)) {
        on_forward(passes, call);
    }
}

const struct tc_relation_rule tc_rule_continued = {
    TC_RULE(tc_rule_continued),
    .form.name = "APISequence/continued",
    .form.summary = "a pass that is taken up again has the rows that were left",
    .form.hint =
        "Is the order that of the epoch that was cut, and are batches left out in it alone?",
    .form.needs_content = true,
    .source.name = "continued",
    .source.judged = "the end of a pass that was cut by a resume, and of those after it",
    .source.process_size = sizeof(struct passes),
    .source.release_process = passes_release,
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_LOAD, TC_ROLE_DATA),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_LEFT),
    TC_CLAIM_ATOMS(TC_SYM_BATCH, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a pass over the data that is taken up again has the rows that were left, "
                      "each once",
    .claim.seen = "a pass that was cut by a resume had rows a second time, or those after it leave "
                  "out as many as it had: the order, or the number, is that of another epoch%p",
    .at = TC_AT_ROOT | TC_AT(DATA) | TC_AT(LOAD) | TC_AT_RAISED,
    .judge = continued_judge,
};
