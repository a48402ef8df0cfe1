/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_content.c - the contents of a call's operands, beside those of calls before
 *
 * What the model was given, what it is given in evaluation beside training, and what an earlier
 * step was given (history.h).
 */
#include "fact/call_content.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "fact/call_open.h"
#include "fact/history.h"
#include "fact/operand_facts.h"
#include "fact/operand_pack.h"
#include "fact/tensor_content.h"
#include "relation/form.h"
#include "replay/symbols.h"

static bool was_given(const struct tc_fact_watch *w, uint64_t digest)
{
    for (size_t i = 0; digest && i < w->n_given; i++)
        if (w->given[i] == digest)
            return true;
    return false;
}

/* Which operands are what the model was given; and what the model is given here. */
static void match_given(struct tc_fact_watch *w, struct tc_fact_pack *pack,
                        const struct tc_call *call)
{
    for (size_t i = 0; i < pack->n_tensors; i++) {
        pack->is_given[i] = !call->is_root && was_given(w, pack->digests[i]);
        tc_strbuf_addc(&pack->bytes, pack->is_given[i] ? 'g' : '-');
    }
    if (!call->is_root)
        return;
    w->n_given = 0;
    for (size_t i = 0; i < pack->n_tensors && w->n_given < TC_FACT_GIVEN; i++)
        if (pack->digests[i])
            w->given[w->n_given++] = pack->digests[i];
}

/* "query = key" of a pair of operand names. */
static void print_pairs(const struct tc_value *pairs, struct tc_strbuf *out)
{
    for (uint32_t i = 0; pairs && pairs->kind == TC_VALUE_ARRAY && i < pairs->n; i++) {
        const struct tc_value *pair = &pairs->items[i];
        struct tc_str a, b;
        if (pair->kind != TC_VALUE_ARRAY || pair->n != 2)
            continue;
        a = tc_value_str(&pair->items[0]);
        b = tc_value_str(&pair->items[1]);
        if (a.text && b.text)
            tc_strbuf_addf(out, "%s%.*s = %.*s", out->size ? ", " : "", (int)a.size, a.text,
                           (int)b.size, b.text);
    }
}

/* What the operands are beside those of calls before. */
void tc_fact_compare_operands(struct tc_facts *facts, struct tc_fact_watch *w,
                              struct tc_fact_open *open, const struct tc_call *call)
{
    if (!tc_fact_is_of_script(call))
        return;
    open->again = tc_fact_meet_operands(&w->history, w->labels.items[open->label].fn, &facts->pack);
    tc_strbuf_addc(&facts->pack.bytes, (char)('0' + open->again));
}

/* What the model is given beside what it was given in training: how large, and which rows. */
static void compare_training(const struct tc_facts *facts, struct tc_fact_watch *w,
                             struct tc_fact_pack *pack, const struct tc_fact_open *open,
                             const struct tc_call *call)
{
    const bool is_training =
        call->stage == tc_strtab_find(facts->table.symbols, "training", strlen("training"));

    for (size_t i = 0; call->is_root && i < pack->n_tensors; i++) {
        if (!pack->rows[i].text)
            pack->rows[i] = tc_fact_rows_of(&w->history, pack->digests[i]);
        if (pack->is_varied[i]) /* rows of a mask are those of many samples */
            pack->trained[i] = tc_fact_meet_trained(&w->history, pack->rows[i], pack->n_elements[i],
                                                    i, is_training);
        tc_strbuf_adds(&pack->bytes, pack->trained[i] ? pack->trained[i] : "");
        if (isnan(pack->scales[i]))
            continue;
        pack->beside[i] = tc_fact_meet_size(&w->history, tc_hash_mix(open->label, i, 2),
                                            pack->scales[i], is_training);
        tc_strbuf_adds(&pack->bytes, pack->beside[i] ? pack->beside[i] : "");
    }
}

/* What a step before this one was given: an order that is not drawn anew. */
static void compare_earlier(struct tc_fact_watch *w, struct tc_fact_pack *pack,
                            const struct tc_fact_open *open, const struct tc_call *call)
{
    const uint64_t fn = w->labels.items[open->label].fn;

    for (size_t i = 0; tc_fact_is_of_script(call) && i < pack->n_tensors; i++) {
        if (!pack->digests[i] || pack->is_computed[i])
            continue;
        if (pack->is_varied[i])
            pack->earlier[i] = tc_fact_meet_earlier(
                &w->history, tc_hash_mix(fn, pack->digests[i], i), w->n_windows);
        tc_strbuf_adds(&pack->bytes, pack->earlier[i] ? pack->earlier[i] : "-");
    }
}

/* What a model chooses becomes what it should choose, or is it no more: whether all of a batch is
 * right says nothing. */
static bool has_choice(const struct tc_fact_pack *pack)
{
    for (size_t i = 0; i < pack->n_tensors; i++)
        if (pack->is_computed[i] && pack->is_counted[i])
            return true;
    return false;
}

void tc_fact_read_contents(const struct tc_fact_pack *pack, struct tc_fact_reader *reader,
                           const struct tc_call *call)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    print_pairs(call->equal, &text);
    print_pairs(call->alias, &text);
    if (pack->n_tensors > 1 && !has_choice(pack))
        tc_fact_add_text(reader, NULL, TC_ATTRIBUTE_ALIKE,
                         (struct tc_str){text.text ? text.text : "", (uint32_t)text.size});
    tc_strbuf_release(&text);
}

void tc_fact_pack_contents(struct tc_facts *facts, struct tc_fact_watch *w,
                           const struct tc_fact_open *open, const struct tc_call *call)
{
    if (!facts->pack.has_content)
        return;
    compare_training(facts, w, &facts->pack, open, call);
    compare_earlier(w, &facts->pack, open, call);
    match_given(w, &facts->pack, call);
    tc_fact_pack_value(&facts->pack, call->equal, 0);
    tc_fact_pack_value(&facts->pack, call->alias, 0);
}

/* A sum of few elements is small beside one of many, and each element of it is not: of that nothing
 * is said. */
static const char *compare_size(struct tc_fact_history *history, const struct tc_call *call,
                                double number, bool is_training)
{
    const struct tc_value *of = tc_first_tensor(call);
    const size_t n = of ? tc_count_elements(tc_value_get(of, "shape")) : 1;
    const char *whole =
        tc_fact_meet_size(history, tc_hash_mix(call->descriptor, 0, 3), number, is_training);
    const char *each = tc_fact_meet_size(history, tc_hash_mix(call->descriptor, 0, 4),
                                         number / (double)(n ? n : 1), is_training);

    return whole && !strcmp(whole, each) ? whole : NULL;
}

/* The number that a call returned beside those in training. What it writes to and hands back is
 * none. */
void tc_fact_compare_scalar(struct tc_fact_watch *w, struct tc_fact_open *open,
                            const struct tc_call *call)
{
    const struct tc_value *result = call->end->value, *value = tc_value_get(result, "value");
    const bool is_training = tc_value_is_true(tc_value_get(result, "requires_grad"));

    if (tc_fact_is_operand(open, tc_value_int(tc_value_get(result, "id"), TC_NONE)))
        return;
    if (value && value->kind == TC_VALUE_FLOAT && call->role != TC_ROLE_OPERATOR)
        open->beside = compare_size(&w->history, call, value->number, is_training);
}
