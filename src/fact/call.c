/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - the facts of one call: what it is given, where that comes from, what it returns
 *
 * The order of its sections is that of a call: makers of tensors, classes of equal calls,
 * subjects, open calls, contents, the beginning, the end. A call is packed; if its bytes are known
 * the class is settled at once, else it is read, settled and remembered. What differs from call to
 * call, serials above all, must stay out of the bytes. The tables are bounded: what is forgotten
 * makes a fact have no occasion, never a breach.
 */
#include "fact/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "fact/tensor_content.h"
#include "relation/form.h"
#include "replay/symbols.h"

/* An API whose calls go on differing says the same in no two of them: they are read one by one. */
#define MAX_CLASSES 128
/* So many tensors are known by their makers before the oldest are forgotten. */
#define MAX_PRODUCERS ((size_t)1 << 19)

/* ---- where tensors come from ---------------------------------------------------------------- */

static void produce(struct tc_fact_watch *w, int64_t serial, uint64_t word)
{
    w->latest = serial > w->latest ? serial : w->latest;
    if (w->producers.n >= MAX_PRODUCERS) {
        struct tc_map old = w->old_producers;
        uint64_t known, value;
        for (size_t pos = 0; tc_map_each(&old, &pos, &known, &value);)
            w->horizon = (int64_t)known > w->horizon ? (int64_t)known : w->horizon;
        tc_map_clear(&old);
        w->old_producers = w->producers;
        w->producers = old;
        tc_map_clear(&w->choices); /* most are of tensors as old */
    }
    tc_map_put(&w->producers, (uint64_t)serial, word);
}

/* Who is asked for stays known. */
static tc_sym source_of(struct tc_facts *facts, struct tc_fact_watch *w, int64_t serial)
{
    const struct tc_variable *variable;
    uint64_t word;

    if (tc_map_get(&w->producers, (uint64_t)serial, &word))
        return (tc_sym)word;
    if (tc_map_get(&w->old_producers, (uint64_t)serial, &word)) {
        produce(w, serial, word);
        return (tc_sym)word;
    }
    variable = tc_process_variable(w->process, serial);
    if (variable)
        return variable->kind;
    return w->process->is_sampled || serial <= w->horizon || w->is_hazy
               ? TC_NO_SYM /* it may have been made by what is left out */
               : tc_strtab_intern_text(facts->table.symbols, "outside");
}

uint64_t tc_fact_producer(const struct tc_fact_watch *w, int64_t serial)
{
    uint64_t word;

    return tc_map_get(&w->producers, (uint64_t)serial, &word) ||
                   tc_map_get(&w->old_producers, (uint64_t)serial, &word)
               ? word
               : 0;
}

static bool is_computed(const struct tc_fact_watch *w, int64_t serial)
{
    const uint64_t word = tc_fact_producer(w, serial);

    return word ? (word & TC_FACT_COMPUTED) != 0 : tc_process_variable(w->process, serial) != NULL;
}

/* Which operands a model computed: their content is another one as training goes on. */
static bool find_computed(const struct tc_fact_watch *w, struct tc_fact_pack *pack, bool are_all)
{
    bool has_any = false;

    for (size_t i = 0; i < pack->n_tensors; i++) {
        pack->is_computed[i] |= are_all || is_computed(w, pack->tensors[i]);
        tc_strbuf_addc(&pack->bytes, pack->is_computed[i] ? 'c' : '-');
        has_any |= pack->is_computed[i];
    }
    return has_any;
}

/* What is computed of a model's choices alone, as how many were right, is one of them. */
static bool find_choices(const struct tc_fact_watch *w, struct tc_fact_pack *pack, bool are_all)
{
    bool is_one = pack->n_tensors > 0, has_computed = false;
    uint64_t ignored;

    for (size_t i = 0; i < pack->n_tensors; i++) {
        pack->is_choice[i] =
            are_all || tc_map_get(&w->choices, (uint64_t)pack->tensors[i], &ignored);
        tc_strbuf_addc(&pack->bytes, pack->is_choice[i] ? 'o' : '-');
        is_one &= pack->is_choice[i] || pack->is_counted[i];
        has_computed |= pack->is_computed[i];
    }
    return is_one && has_computed;
}

static void find_sources(struct tc_facts *facts, struct tc_fact_watch *w,
                         const struct tc_fact_pack *pack)
{
    facts->sources.n = 0;
    for (size_t i = 0; i < pack->n_tensors && i < TC_FACT_SOURCES; i++)
        tc_vec_push(&facts->sources, source_of(facts, w, pack->tensors[i]));
}

/* ---- classes of calls ----------------------------------------------------------------------- */

static bool may_remember(struct tc_facts *facts, uint32_t subject)
{
    bool is_new;
    uint64_t *n = tc_map_at(&facts->class_counts, subject, &is_new);

    return ++*n <= MAX_CLASSES;
}

/* The class of the packed call, or NULL if it is a new one. */
static struct tc_fact_class *class_of(struct tc_facts *facts)
{
    tc_sym number =
        tc_strtab_find(facts->class_tuples, facts->pack.bytes.text, facts->pack.bytes.size);

    return number == TC_NO_SYM ? NULL : &facts->classes.items[number];
}

/* The entries at hand become the class of the packed call: those that break first. */
static void remember(struct tc_facts *facts)
{
    const struct tc_fact_entries *all = &facts->entries;
    struct tc_fact_class class = {.n = (uint32_t)all->n};
    uint32_t at = 0;

    class.entries = tc_arena_alloc(&facts->table.arena, all->n * sizeof(*all->items) + 1);
    for (unsigned held = 0; held < 2; held++)
        for (size_t i = 0; i < all->n; i++)
            if (held ==
                !(facts->table.is_judging && tc_fact_entry_breaks(&facts->table, &all->items[i])))
                class.entries[at++] = all->items[i];
    while (class.n_broken < class.n && facts->table.is_judging &&
           tc_fact_entry_breaks(&facts->table, &class.entries[class.n_broken]))
        class.n_broken++;
    tc_strtab_intern(facts->class_tuples, facts->pack.bytes.text, facts->pack.bytes.size);
    tc_vec_push(&facts->classes, class);
}

static void pack_begins(struct tc_facts *facts, uint32_t subject, char phase)
{
    tc_strbuf_reset(&facts->pack.bytes);
    facts->pack.n_tensors = 0;
    facts->pack.told = SIZE_MAX;
    facts->pack.has_samples = false;
    facts->pack.has_content = facts->event->process->has_content;
    tc_strbuf_add(&facts->pack.bytes, &subject, sizeof(subject));
    tc_strbuf_addc(&facts->pack.bytes, phase);
}

/* What a call says, new or known; lead is what it follows from. */
static tc_fact_lead settle(struct tc_facts *facts, struct tc_fact_class *known, uint32_t subject,
                           tc_fact_lead cause)
{
    tc_fact_lead lead;

    if (known) {
        known->count++;
        for (uint32_t i = 0; !facts->table.is_judging && i < known->n; i++)
            tc_fact_meet_start(facts, &known->entries[i], 1);
        return tc_fact_settle(facts, known->entries, known->n_broken, 1, cause, NULL);
    }
    lead = tc_fact_settle(facts, facts->entries.items, facts->entries.n, 1, cause, NULL);
    if (may_remember(facts, subject))
        remember(facts);
    facts->entries.n = 0;
    return lead;
}

/* ---- subjects ------------------------------------------------------------------------------- */

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

static uint32_t label_of(struct tc_facts *facts, struct tc_fact_watch *w,
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

static uint32_t subject_of(struct tc_facts *facts, const struct tc_fact_watch *w,
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
    subject.fields[TC_FACT_STAGE] = tc_fact_stage_of(facts, call);
    if (call->role == TC_ROLE_MAKE)
        subject.fields[TC_FACT_NAME] = ordinal_of(facts, own->n + 1);
    if (!has_gradients(call))
        subject.fields[TC_FACT_GRAD] = tc_strtab_intern_text(facts->table.symbols, "off");
    return tc_fact_table_subject(&facts->table, &subject);
}

/* A script sets up in an order: a copy before weights are loaded, a wrapper before a layer is
 * replaced. What it computes, draws and calls of its own comes now here, now there. */
static bool is_of_set_up(enum tc_role role)
{
    return tc_role_has(role, TC_TRAIT_OUTSIDE) || !tc_role_has(role, TC_TRAIT_CLOSE);
}

/* What such a call made may be met later, without a maker. */
static void note_cut(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_call *call,
                     tc_sym fn, uint64_t n)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (!tc_role_has(call->role, TC_TRAIT_CLOSE) ||
        n < (tc_role_has(call->role, TC_TRAIT_APART) ? TC_ROLE_MAX_OF_A_FUNCTION
                                                     : TC_ROLE_MAX_AT_A_PLACE))
        return;
    tc_strbuf_add_json(&text, tc_strtab_text(facts->table.symbols, fn),
                       tc_strtab_size(facts->table.symbols, fn));
    tc_map_put(&w->cut, tc_strtab_intern(facts->table.symbols, text.text, text.size), 1);
    tc_map_put(&w->cut, fn, 1);
    tc_strbuf_release(&text);
}

/* Of a batch the first calls are told, and others where their place is new: what they are given may
 * have been made by one that was not. */
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

static void count(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_fact_open *open,
                  const struct tc_call *call)
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
    tc_fact_tally(facts, w, &subject, call, TC_NONE);
    label->n++;
    if (!w->n_windows && !label->order && is_of_set_up(call->role) &&
        (!call->parent || tc_role_has(call->parent->role, TC_TRAIT_OUTER))) {
        label->order = ++w->n_ordered;
        label->at = tc_call_at(call);
    }
    /* What a package does so often computes the data: no step of a set-up. */
    if (!w->n_windows && tc_role_has(call->role, TC_TRAIT_OUTSIDE) &&
        label->n >= TC_ROLE_MAX_OF_A_FUNCTION)
        label->order = UINT32_MAX;
}

/* ---- open calls ----------------------------------------------------------------------------- */

/* Records of calls may be lost: what stands above the parent has ended. */
static struct tc_fact_open *around(const struct tc_facts *facts, struct tc_fact_watch *w,
                                   const struct tc_call *call)
{
    const struct tc_call *parent = call->parent;

    while (parent && tc_fact_passes_over(facts, parent))
        parent = parent->parent;
    while (w->n_open && (!parent || w->open.items[w->n_open - 1].id != parent->id))
        w->n_open--;
    return w->n_open ? &w->open.items[w->n_open - 1] : NULL;
}

static struct tc_fact_open *open_one(struct tc_fact_watch *w, int64_t id)
{
    if (w->n_open == w->open.n)
        tc_vec_push(&w->open, (struct tc_fact_open){0});
    struct tc_fact_open *open = &w->open.items[w->n_open];
    *open = (struct tc_fact_open){
        .id = id, .inside = TC_FACT_NO_INSIDE, .inside_own = TC_FACT_NO_INSIDE};
    if (w->n_open++)
        open->outer = open[-1].lead ? open[-1].lead : open[-1].outer;
    return open;
}

static tc_fact_lead taint_of(const struct tc_fact_watch *w, const struct tc_fact_pack *pack)
{
    uint64_t lead;

    for (size_t i = 0; w->taints.n && i < pack->n_tensors; i++)
        if (tc_map_get(&w->taints, (uint64_t)pack->tensors[i], &lead))
            return (tc_fact_lead)lead;
    return 0;
}

/* The serial of a receiver that is no tensor and no module: an optimizer, an iterator; TC_NONE. */
static int64_t thing_of(const struct tc_call *call)
{
    const bool is_module = tc_value_get(tc_value_get(call->self, "attrs"), "training");

    return tc_value_get(call->self, "object") && !is_module
               ? tc_value_int(tc_value_get(call->self, "id"), TC_NONE)
               : TC_NONE;
}

static tc_fact_lead taint_of_receiver(const struct tc_fact_watch *w, const struct tc_call *call)
{
    const int64_t thing = thing_of(call);
    uint64_t lead;

    return thing != TC_NONE && tc_map_get(&w->taints, (uint64_t)thing, &lead) ? (tc_fact_lead)lead
                                                                              : 0;
}

static void note_lead(struct tc_fact_watch *w, tc_fact_lead lead, tc_fact_lead cause)
{
    if (lead && !cause && tc_fact_lead_is_law(lead))
        w->last_lead = lead;
}

/* What breaks first by a call is what others follow from. */
static void add_lead(struct tc_fact_watch *w, struct tc_fact_open *open, tc_fact_lead lead,
                     tc_fact_lead cause)
{
    note_lead(w, lead, cause);
    open->lead = open->lead ? open->lead : lead;
}

/* ---- contents ------------------------------------------------------------------------------- */

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

/* What backward is given, by the last number with a gradient that a call returned. */
static bool print_factor(const struct tc_facts *facts, const struct tc_fact_watch *w,
                         const struct tc_call *call, struct tc_strbuf *out)
{
    const struct tc_value *value = tc_value_get(call->self, "value");

    if (call->role != TC_ROLE_BACKWARD || w->scalar_of == TC_NO_SYM || !value ||
        value->kind != TC_VALUE_FLOAT)
        return false;
    tc_fact_factor(value->number, w->scalar, tc_strtab_text(facts->table.symbols, w->scalar_of),
                   out);
    return true;
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
static void compare_operands(struct tc_facts *facts, struct tc_fact_watch *w,
                             struct tc_fact_open *open, const struct tc_call *call)
{
    const int64_t receiver = tc_value_int(tc_value_get(call->self, "id"), -1);
    const uint64_t label = w->labels.items[open->label].fn;

    if (!tc_fact_is_of_script(call))
        return;
    open->again = tc_fact_meet_operands(&w->history, label, &facts->pack);
    if (receiver >= 0 && tc_value_get(call->self, "object"))
        open->here = tc_fact_meet_operands(&w->history, tc_hash_mix(label, (uint64_t)receiver, 1),
                                           &facts->pack);
    tc_strbuf_addc(&facts->pack.bytes, (char)('0' + open->again));
    tc_strbuf_addc(&facts->pack.bytes, (char)('0' + open->here));
}

static void add_again(struct tc_fact_reader *reader, const char *path, enum tc_attribute attribute,
                      enum tc_fact_again again)
{
    if (again != TC_FACT_NEVER_ASKED)
        tc_fact_add_json(reader, path, attribute, again == TC_FACT_AGAIN ? "true" : "false");
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
                                            pack->scales[i], is_training, facts->table.is_judging);
        tc_strbuf_adds(&pack->bytes, pack->beside[i] ? pack->beside[i] : "");
    }
}

/* What a step before this one was given, or the last call: an order that is not drawn anew, an
 * environment that stands still. */
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
        if (call->is_root && pack->n_elements[i] > 1)
            pack->still[i] =
                tc_fact_meet_last(&w->history, tc_hash_mix(open->subject, i, 0), pack->digests[i]);
        tc_strbuf_adds(&pack->bytes, pack->earlier[i] ? pack->earlier[i] : "-");
        tc_strbuf_adds(&pack->bytes, pack->still[i] ? pack->still[i] : "-");
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

static void read_contents(struct tc_facts *facts, const struct tc_fact_watch *w,
                          struct tc_fact_reader *reader, const struct tc_call *call)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (print_factor(facts, w, call, &text))
        tc_fact_add_text(reader, "self", TC_ATTRIBUTE_FACTOR,
                         (struct tc_str){text.text, (uint32_t)text.size});
    tc_fact_read_covered(reader, call);
    tc_strbuf_reset(&text);
    print_pairs(call->equal, &text);
    print_pairs(call->alias, &text);
    if (facts->pack.n_tensors > 1 && !facts->pack.has_samples && !has_choice(&facts->pack))
        tc_fact_add_text(reader, NULL, TC_ATTRIBUTE_ALIKE,
                         (struct tc_str){text.text ? text.text : "", (uint32_t)text.size});
    tc_strbuf_release(&text);
}

static void pack_contents(struct tc_facts *facts, struct tc_fact_watch *w,
                          const struct tc_fact_open *open, const struct tc_call *call)
{
    if (!facts->pack.has_content)
        return;
    compare_training(facts, w, &facts->pack, open, call);
    compare_earlier(w, &facts->pack, open, call);
    match_given(w, &facts->pack, call);
    tc_fact_pack_value(&facts->pack, call->equal, 0);
    tc_fact_pack_value(&facts->pack, call->alias, 0);
    (void)print_factor(facts, w, call, &facts->pack.bytes);
    tc_fact_pack_covered(&facts->pack, call);
    if (!facts->table.is_judging)
        tc_fact_meet_covered(facts, w, open->subject, call);
}

static bool is_operand(const struct tc_fact_open *open, int64_t serial)
{
    for (size_t i = 0; i < open->operands.n_tensors; i++)
        if (open->operands.tensors[i] == serial)
            return true;
    return false;
}

/* The number that a call returned: by it backward is judged, and the same in evaluation. What it
 * writes to and hands back is none. */
static void keep_scalar(const struct tc_facts *facts, struct tc_fact_watch *w,
                        struct tc_fact_open *open, const struct tc_call *call)
{
    const struct tc_value *result = call->end->value, *value = tc_value_get(result, "value");
    const struct tc_value *grad = tc_value_get(result, "requires_grad");
    bool is_training = tc_value_is_true(grad);

    if (is_operand(open, tc_value_int(tc_value_get(result, "id"), TC_NONE)))
        return;
    if (value && value->kind == TC_VALUE_FLOAT && call->role != TC_ROLE_OPERATOR)
        open->beside = tc_fact_meet_size(&w->history, tc_hash_mix(call->descriptor, 0, 3),
                                         value->number, is_training, facts->table.is_judging);
    if (call->role == TC_ROLE_BACKWARD || call->role == TC_ROLE_OPERATOR || !value ||
        value->kind != TC_VALUE_FLOAT || !is_training)
        return;
    w->scalar = value->number;
    w->scalar_of = call->descriptor;
}

/* ---- a call begins -------------------------------------------------------------------------- */

static void read_owned(struct tc_fact_reader *reader, const struct tc_call *call)
{
    char number[32];

    if (call->role != TC_ROLE_STEP && call->role != TC_ROLE_ZERO_GRAD)
        return;
    snprintf(number, sizeof(number), "%zu", call->n_params);
    tc_fact_add_json(reader, NULL, TC_ATTRIBUTE_OWNED, number);
    if (call->role == TC_ROLE_STEP)
        tc_fact_add_json(reader, NULL, TC_ATTRIBUTE_UNCLEARED,
                         call->n_uncleared ? "true" : "false");
}

static void read_operands(struct tc_facts *facts, const struct tc_fact_watch *w,
                          const struct tc_fact_open *open, const struct tc_call *call)
{
    struct tc_fact_reader reader = {.table = &facts->table,
                                    .out = &facts->entries,
                                    .subject = open->subject,
                                    .has_content = facts->pack.has_content,
                                    .pack = &facts->pack,
                                    .sources = facts->sources.items,
                                    .n_sources = facts->sources.n,
                                    .cut = &w->cut,
                                    .stand_ins = &w->stand_ins,
                                    .made_subject = open->made_subject};

    /* What calls of torch hand to others inside follows from the release alone. */
    reader.tells_keys = tc_fact_is_of_script(call);
    reader.is_own = call->role == TC_ROLE_OWN;
    if (call->args)
        tc_fact_read_value(&reader, "args", call->args);
    reader.has_class = true;
    if (call->self)
        tc_fact_read_value(&reader, "self", call->self);
    if (facts->pack.n_tensors)
        tc_fact_add_json(&reader, NULL, TC_ATTRIBUTE_AUTOCAST,
                         tc_value_get(call->ctx, "autocast") ? "true" : "false");
    read_owned(&reader, call);
    add_again(&reader, NULL, TC_ATTRIBUTE_AGAIN, open->again);
    add_again(&reader, NULL, TC_ATTRIBUTE_AGAIN_HERE, open->here);
    if (reader.has_content)
        read_contents(facts, w, &reader, call);
    const uint32_t made_by[] = {open->by_subject, open->chain_subject};
    for (size_t i = 0; call->args && i < sizeof(made_by) / sizeof(*made_by); i++) {
        reader.subject = made_by[i];
        if (made_by[i] != UINT32_MAX)
            tc_fact_read_besides(&reader, call->args, open->first);
    }
    tc_fact_reader_release(&reader);
}

/* Of a call of the script's own: what torch hands on inside of it is the same again. */
static void meet_scalar(struct tc_facts *facts, struct tc_fact_watch *w, struct tc_fact_open *open,
                        const char *path, const struct tc_value *tensor, bool is_told)
{
    const tc_fact_lead cause = open->lead ? open->lead : open->inner ? open->inner : open->flow;
    tc_fact_lead lead;

    if (!is_told)
        return;
    lead = tc_fact_meet_scalar(facts, w, open->subject, path, tensor, cause);
    add_lead(w, open, lead, cause);
}

static void meet_trends(struct tc_facts *facts, struct tc_fact_watch *w, struct tc_fact_open *open,
                        uint32_t subject, const char *path, const struct tc_value *value)
{
    const bool is_saved = !open->is_own && subject == open->subject;
    const tc_fact_lead cause = open->lead ? open->lead : open->flow;
    const tc_fact_lead lead = tc_fact_meet_trends(facts, w, subject, path, value, is_saved, cause);

    add_lead(w, open, lead, cause);
}

/* Where the batch is another one, as of another size, its numbers are so, too. */
static void meet_batch_numbers(struct tc_facts *facts, struct tc_fact_watch *w,
                               struct tc_fact_open *open, const char *path,
                               const struct tc_value *value)
{
    if (open->lead || open->inner || open->flow || open->outer || w->process->is_sampled)
        return;
    add_lead(w, open, tc_fact_meet_batch_numbers(facts, w, open->subject, path, value), 0);
}

/* x[i] = y for each i: the writes to one tensor are one occasion of what x holds, and not many. */
static size_t find_filled(const struct tc_fact_watch *w, const struct tc_fact_open *open,
                          const struct tc_fact_pack *pack, size_t receiver)
{
    const tc_sym fn = w->labels.items[open->label].fn;
    uint64_t ignored;

    return receiver < pack->n_tensors && tc_map_get(&w->writers, fn, &ignored) &&
                   (tc_sym)tc_fact_producer(w, pack->tensors[receiver]) == fn
               ? receiver
               : SIZE_MAX;
}

/* Of so many receivers it is known that they were read in a window. */
#define MAX_READ 65536

/* for i: x[i], and x is what it was: one occasion of what x holds as well. from: where its content
 * begins among the packed bytes. */
static size_t find_read_again(struct tc_fact_watch *w, const struct tc_fact_open *open,
                              const struct tc_fact_pack *pack, size_t receiver, size_t from)
{
    bool is_new;

    if (receiver >= pack->n_tensors)
        return SIZE_MAX;
    if (w->read.n >= MAX_READ)
        tc_map_clear(&w->read);
    (void)tc_map_at(&w->read,
                    tc_hash64(pack->bytes.text + from, pack->bytes.size - from,
                              tc_hash_mix(open->subject, (uint64_t)pack->tensors[receiver], 0)),
                    &is_new);
    return is_new ? SIZE_MAX : receiver;
}

/* A script that multiplies twice does so by numbers of their own, in one context: what made the
 * first operand tells such calls apart. */
static uint32_t subject_by(struct tc_facts *facts, const struct tc_fact_open *open,
                           const struct tc_call *call, size_t first)
{
    struct tc_subject subject;

    if (first >= facts->sources.n || facts->sources.items[first] == TC_NO_SYM ||
        (!tc_fact_is_of_script(call) && !tc_fact_is_of_batch(call)))
        return UINT32_MAX;
    subject = tc_fact_table_subject_at(&facts->table, open->subject);
    subject.fields[TC_FACT_BY] = facts->sources.items[first];
    return tc_fact_table_subject(&facts->table, &subject);
}

static void pack_operands(struct tc_facts *facts, struct tc_fact_watch *w,
                          struct tc_fact_open *open, const struct tc_call *call)
{
    struct tc_fact_pack *pack = &facts->pack;
    const size_t counts[2] = {call->n_params, call->n_uncleared > 0};

    size_t n_args, from;

    pack_begins(facts, open->subject, 'b');
    pack->has_content &= call->role != TC_ROLE_COLLECTIVE; /* it may be memory still to be filled */
    tc_fact_pack_value(pack, call->args, 0);
    n_args = pack->n_tensors;
    from = pack->bytes.size;
    tc_fact_pack_value(pack, call->self, 0);
    pack->told = find_filled(w, open, pack, n_args);
    if (pack->told == SIZE_MAX)
        pack->told = find_read_again(w, open, pack, n_args, from);
    tc_strbuf_addc(&pack->bytes, pack->told == SIZE_MAX ? '-' : 't');
    tc_fact_pack_value(pack, call->ctx, 0);
    find_sources(facts, w, pack);
    if (facts->sources.n)
        tc_strbuf_add(&pack->bytes, facts->sources.items,
                      facts->sources.n * sizeof(*facts->sources.items));
    open->first = n_args < pack->n_tensors ? n_args : 0;
    open->by_subject = subject_by(facts, open, call, open->first);
    tc_fact_chain_begins(facts, w, open, call, open->first);
    open->is_computed = find_computed(w, pack, false) || call->is_root;
    open->is_choice = find_choices(w, pack, false);
    tc_strbuf_add(&pack->bytes, counts, sizeof(counts));
    compare_operands(facts, w, open, call);
    if (tc_fact_is_of_script(call) || tc_fact_is_of_batch(call))
        tc_fact_flow(facts, w, &w->labels.items[open->label], call, n_args);
    tc_fact_made(facts, w, open, call, n_args);
    tc_fact_use(facts, w, call);
    pack_contents(facts, w, open, call);
}

static void keep_operands(const struct tc_fact_pack *pack, const struct tc_fact_watch *w,
                          struct tc_fact_open *open)
{
    memcpy(open->operands.tensors, pack->tensors, pack->n_tensors * sizeof(*pack->tensors));
    open->operands.n_tensors = pack->n_tensors;
    open->flow = taint_of(w, &open->operands);
}

/* It is counted; *outer becomes the one around it, or NULL. */
static struct tc_fact_open *open_call(struct tc_facts *facts, struct tc_fact_watch *w,
                                      const struct tc_call *call, struct tc_fact_open **outer)
{
    const size_t depth = around(facts, w, call) ? w->n_open : 0;
    struct tc_fact_open *open = open_one(w, call->id);

    if (facts->table.is_judging)
        tc_fact_set_up(facts, w, call);
    if (call->role == TC_ROLE_STEP)
        tc_fact_say_start(facts, w, call);
    *outer = depth ? &w->open.items[depth - 1] : NULL; /* opening may have moved it */
    open->latest = w->latest;
    open->label = label_of(facts, w, call);
    open->subject = subject_of(facts, w, open, *outer, call);
    if (tc_role_has(call->role, TC_TRAIT_FOREIGN) || call->role == TC_ROLE_BACKWARD)
        tc_map_put(&facts->own, call->descriptor, 1);
    count(facts, w, open, call);
    if (tc_fact_is_of_script(call) || tc_fact_is_of_batch(call))
        open->row = tc_fact_place_in_row(w, open);
    w->n_backwards += call->role == TC_ROLE_BACKWARD;
    if (call->is_root && w->begun_in == TC_NO_SYM)
        w->begun_in = call->stage;
    if (call->role == TC_ROLE_STEP)
        tc_fact_step_begins(facts, w, call);
    return open;
}

void tc_fact_call_begins(struct tc_facts *facts, struct tc_fact_watch *w,
                         const struct tc_call *call)
{
    struct tc_fact_open *outer, *open = open_call(facts, w, call, &outer);
    struct tc_fact_class *known;
    tc_fact_lead cause;

    pack_operands(facts, w, open, call);
    keep_operands(&facts->pack, w, open);
    open->flow = open->flow ? open->flow : taint_of_receiver(w, call);
    cause = open->flow ? open->flow : open->outer;
    if (tc_fact_is_of_script(call) || tc_fact_is_of_batch(call))
        open->lead = tc_fact_call_inside(facts, w, outer, call, cause);
    note_lead(w, open->lead, cause);
    cause = cause ? cause : open->lead;
    known = class_of(facts);
    if (!known)
        read_operands(facts, w, open, call);
    add_lead(w, open, settle(facts, known, open->subject, cause), cause);
    if (call->is_root)
        meet_batch_numbers(facts, w, open, "args", call->args);
    tc_fact_meet_ranks(facts, w, open->subject, call, "args", call->args);
    tc_fact_meet_ranks(facts, w, open->subject, call, "self", call->self);
    meet_scalar(facts, w, open, "self", call->self, call->role == TC_ROLE_BACKWARD);
    if (call->role == TC_ROLE_SAVE && tc_fact_is_of_script(call))
        meet_trends(facts, w, open, open->subject, "args", call->args);
    else if (open->by_subject != UINT32_MAX && tc_fact_is_of_script(call))
        meet_trends(facts, w, open, open->by_subject, "args", call->args);
}

/* ---- a call ends ---------------------------------------------------------------------------- */

/* Does it cut a piece out, which may be the whole of a short one? */
static bool has_slice(const struct tc_value *v, unsigned depth)
{
    if (!v || !depth)
        return false;
    if (tc_value_is(tc_value_get(v, "object"), "slice"))
        return true;
    for (uint32_t i = 0; v->kind == TC_VALUE_ARRAY && i < v->n; i++)
        if (has_slice(&v->items[i], depth - 1))
            return true;
    for (uint32_t i = 0; v->kind == TC_VALUE_OBJECT && i < v->n; i++)
        if (has_slice(&v->members[i].value, depth - 1))
            return true;
    return false;
}

/* Whether they are operands, 'y' or 'n'; '-' where a slice may have left that to chance. */
static void pack_aliases(struct tc_fact_pack *pack, struct tc_fact_open *open,
                         const struct tc_call *call)
{
    const bool is_cut = pack->n_tensors && has_slice(call->args, 3);

    for (size_t i = 0; i < pack->n_tensors && i < TC_FACT_ALIASES; i++) {
        open->aliases[i] = is_cut ? '-' : is_operand(open, pack->tensors[i]) ? 'y' : 'n';
        tc_strbuf_addc(&pack->bytes, open->aliases[i]);
    }
}

/* Whether a result equals an operand is told of neither where it may do so by chance. */
static bool has_many(const struct tc_fact_pack *result)
{
    for (size_t i = 0; i < result->n_tensors; i++)
        if (result->n_elements[i] >= TC_MIN_EQUAL)
            return true;
    return false;
}

static void read_result(struct tc_facts *facts, const struct tc_fact_open *open,
                        const struct tc_record *end)
{
    struct tc_fact_reader reader = {.table = &facts->table,
                                    .out = &facts->entries,
                                    .subject = open->subject,
                                    .is_own = open->is_own,
                                    .is_result = true,
                                    .pack = &facts->pack};
    struct tc_strbuf same = TC_STRBUF_INIT;

    reader.has_content = facts->pack.has_content;
    if (end->value && !open->is_chance)
        tc_fact_read_value(&reader, "value", end->value);
    for (uint32_t i = 0; end->same && end->same->kind == TC_VALUE_ARRAY && i < end->same->n; i++) {
        struct tc_str name = tc_value_str(&end->same->items[i]);
        tc_strbuf_adds(&same, i ? "," : "");
        tc_strbuf_add(&same, name.text, name.size);
    }
    if (has_many(&facts->pack) && !open->is_own)
        tc_fact_add_text(&reader, "value", TC_ATTRIBUTE_EQUALS,
                         (struct tc_str){same.text ? same.text : "", (uint32_t)same.size});
    if (end->finite >= 0)
        tc_fact_add_json(&reader, "value", TC_ATTRIBUTE_FINITE, end->finite ? "true" : "false");
    for (size_t i = 0; i < facts->pack.n_tensors && i < TC_FACT_ALIASES; i++)
        if (open->aliases[i] != '-')
            tc_fact_add_json(&reader, i ? "value[1]" : "value", TC_ATTRIBUTE_OPERAND,
                             open->aliases[i] == 'y' ? "true" : "false");
    if (open->seen)
        tc_fact_add_text(&reader, "value", TC_ATTRIBUTE_SEEN,
                         (struct tc_str){open->seen, (uint32_t)strlen(open->seen)});
    if (open->beside)
        tc_fact_add_text(&reader, "value", TC_ATTRIBUTE_BESIDE,
                         (struct tc_str){open->beside, (uint32_t)strlen(open->beside)});
    if (open->rows)
        tc_fact_add_json(&reader, "value", TC_ATTRIBUTE_ROWS_AGAIN, open->rows);
    add_again(&reader, "value", TC_ATTRIBUTE_REPEATS, open->drawn);
    tc_strbuf_release(&same);
    tc_fact_reader_release(&reader);
}

static void meet_batch(struct tc_fact_watch *w, const struct tc_fact_pack *pack,
                       struct tc_fact_open *open, int64_t iterator)
{
    for (size_t i = 0; i < pack->n_tensors; i++)
        tc_fact_keep_rows(&w->history, pack->digests[i], pack->rows[i]);
    open->seen = tc_fact_meet_batch(&w->history, pack, iterator);
    open->rows = tc_fact_meet_rows(&w->history, pack, iterator);
}

/* Of what a generator gives the next run has another one; of arrays there are shapes. */
static bool is_drawn_number(const struct tc_call *call)
{
    return call->role == TC_ROLE_DRAW && call->end->value &&
           call->end->value->kind < TC_VALUE_ARRAY;
}

static void pack_result(struct tc_facts *facts, struct tc_fact_watch *w, struct tc_fact_open *open,
                        const struct tc_call *call)
{
    struct tc_fact_pack *pack = &facts->pack;
    const struct tc_record *end = call->end;

    pack_begins(facts, open->subject, 'e');
    open->is_chance = is_drawn_number(call);
    if (!open->is_chance)
        tc_fact_pack_value(pack, end->value, 0);
    (void)find_computed(w, pack, open->is_computed);
    (void)find_choices(w, pack, open->is_choice);
    tc_strbuf_addc(&pack->bytes, (char)('1' + end->finite));
    tc_fact_pack_value(pack, end->same, 0);
    pack_aliases(pack, open, call);
    if (!pack->has_content)
        return;
    if (call->role == TC_ROLE_DATA)
        meet_batch(w, pack, open, tc_value_int(tc_value_get(call->self, "id"), 0));
    else if (!open->operands.n_tensors && pack->n_tensors)
        open->drawn = tc_fact_meet_draw(&w->history, call->descriptor, end->value);
    keep_scalar(facts, w, open, call);
    tc_strbuf_adds(&pack->bytes, open->seen ? open->seen : "");
    tc_strbuf_adds(&pack->bytes, open->rows ? open->rows : "");
    tc_strbuf_adds(&pack->bytes, open->beside ? open->beside : "");
    tc_strbuf_addc(&pack->bytes, (char)('0' + open->drawn));
}

/* A tensor that was there before, and was not handed to the call: that returns it as it is, as
 * state_dict() does, and did not make it. */
static bool is_handed_out(const struct tc_fact_watch *w, const struct tc_fact_open *open,
                          int64_t serial)
{
    return serial <= open->latest && !is_operand(open, serial) && tc_fact_producer(w, serial);
}

static void produce_one(struct tc_fact_watch *w, const struct tc_fact_open *open, int64_t serial,
                        size_t i, bool is_computed)
{
    const uint64_t word = tc_fact_word(w->labels.items[open->label].fn, open->row, i) |
                          (is_computed ? TC_FACT_COMPUTED : 0) |
                          (uint64_t)open->roots << TC_FACT_ROOTS;

    produce(w, serial, word);
    tc_fact_chain_gives(w, open, serial, is_operand(open, serial));
    if (open->row)
        tc_map_put(&w->newest, word & TC_FACT_WORD, (uint64_t)serial);
}

/* What is written to by an operator that returns nothing: x[i] = y. A variable stays what it is. */
static int64_t written(const struct tc_fact_watch *w, const struct tc_call *call, size_t n_results)
{
    const int64_t serial = tc_value_get(call->self, "tensor")
                               ? tc_value_int(tc_value_get(call->self, "id"), TC_NONE)
                               : TC_NONE;

    return call->role != TC_ROLE_OPERATOR || n_results || serial < 0 ||
                   tc_process_variable(w->process, serial)
               ? TC_NONE
               : serial;
}

static void count_results(struct tc_fact_watch *w, struct tc_fact_label *label, size_t n)
{
    if (n && label->n_results && label->n_results != n)
        tc_map_put(&w->uneven, label->fn, 1);
    if (n)
        label->n_results = (uint32_t)n;
}

/* Of a list that is too long to be packed the tensors that the trace tells. */
static void give_pieces(struct tc_fact_watch *w, const struct tc_fact_open *open,
                        const struct tc_value *list)
{
    if (!list || list->kind != TC_VALUE_ARRAY || list->n <= TC_FACT_LIST)
        return;
    for (uint32_t i = 0; i < list->n; i++) {
        const int64_t serial = tc_value_get(&list->items[i], "tensor")
                                   ? tc_value_int(tc_value_get(&list->items[i], "id"), TC_NONE)
                                   : TC_NONE;
        if (serial >= 0 && !is_handed_out(w, open, serial))
            produce_one(w, open, serial, i,
                        tc_value_is_true(tc_value_get(&list->items[i], "requires_grad")));
    }
    count_results(w, &w->labels.items[open->label], list->n);
}

/* What a call gives on: to its result, to gradients and through them to parameters. */
static void give_on(const struct tc_facts *facts, struct tc_fact_watch *w,
                    const struct tc_fact_open *open, const struct tc_call *call)
{
    tc_fact_lead lead = open->lead ? open->lead : open->inner ? open->inner : open->flow;

    const int64_t target = written(w, call, facts->pack.n_tensors);
    count_results(w, &w->labels.items[open->label], facts->pack.n_tensors);
    give_pieces(w, open, call->end->value);
    for (size_t i = 0; i < facts->pack.n_tensors; i++) {
        const int64_t serial = facts->pack.tensors[i];
        if (open->is_choice)
            tc_map_put(&w->choices, (uint64_t)serial, 1);
        if (!is_handed_out(w, open, serial)) {
            produce_one(w, open, serial, i, facts->pack.is_computed[i]);
            if (facts->table.is_judging)
                tc_fact_keep_origin(w, open, call, serial);
        }
        if (lead)
            tc_map_put(&w->taints, (uint64_t)serial, lead);
    }
    if (target != TC_NONE) {
        tc_map_put(&w->writers, w->labels.items[open->label].fn, 1);
        produce_one(w, open, target, 0, open->is_computed);
        if (facts->table.is_judging)
            tc_fact_keep_origin(w, open, call, target);
        if (lead)
            tc_map_put(&w->taints, (uint64_t)target, lead);
    }
    if (thing_of(call) != TC_NONE && tc_fact_lead_is_law(lead))
        tc_map_put(&w->taints, (uint64_t)thing_of(call), lead);
    if (call->role == TC_ROLE_BACKWARD && tc_fact_lead_is_law(lead))
        w->gradient_lead = lead;
    for (size_t i = 0; call->role == TC_ROLE_STEP && w->gradient_lead && i < call->n_params; i++)
        tc_map_put(&w->taints, (uint64_t)call->params[i], w->gradient_lead);
}

void tc_fact_call_ends(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_call *call)
{
    struct tc_fact_class *known;
    struct tc_fact_open *open;
    tc_fact_lead cause;

    while (w->n_open && w->open.items[w->n_open - 1].id > call->id)
        w->n_open--;
    if (!w->n_open || w->open.items[w->n_open - 1].id != call->id)
        return;
    open = &w->open.items[w->n_open - 1];
    facts->pack.n_tensors = 0;
    if (!call->raised) {
        pack_result(facts, w, open, call);
        known = class_of(facts);
        if (!known)
            read_result(facts, open, call->end);
        cause = open->lead ? open->lead : open->inner ? open->inner : open->flow;
        add_lead(w, open, settle(facts, known, open->subject, cause), cause);
    }
    if (!call->raised)
        meet_scalar(facts, w, open, "value", call->end->value,
                    tc_fact_is_of_script(call) && call->role != TC_ROLE_OPERATOR &&
                        call->role != TC_ROLE_INIT);
    if (!call->raised && call->role == TC_ROLE_DATA)
        meet_batch_numbers(facts, w, open, "value", call->end->value);
    if (!call->raised)
        tc_fact_meet_ranks(facts, w, open->subject, call, "value", call->end->value);
    tc_fact_inside_ends(facts, w, open->inside);
    tc_fact_inside_ends(facts, w, open->inside_own);
    note_lead(w, tc_fact_settle_said(facts, 1, open->lead, NULL), open->lead);
    give_on(facts, w, open, call);
    tc_fact_give_row(w, open, call, &facts->pack);
    w->n_open--;
    if (w->n_open) {
        w->open.items[w->n_open - 1].roots |= open->roots;
        w->open.items[w->n_open - 1].is_computed |= open->is_computed;
    }
    if (w->n_open && !w->open.items[w->n_open - 1].inner)
        w->open.items[w->n_open - 1].inner = open->lead ? open->lead : open->inner;
}

/* ---- functions that the script defines ------------------------------------------------------ */

/* Whatever computes with its operands inside of it is told of for itself. */
static void pack_own_operands(struct tc_facts *facts, struct tc_fact_watch *w,
                              struct tc_fact_open *open, const struct tc_call *call)
{
    struct tc_fact_pack *pack = &facts->pack;

    pack_begins(facts, open->subject, 'b');
    pack->has_content = false;
    tc_fact_pack_value(pack, call->args, 0);
    const size_t n_args = pack->n_tensors;
    tc_fact_pack_value(pack, call->self, 0);
    tc_fact_pack_value(pack, call->ctx, 0);
    find_sources(facts, w, pack);
    if (facts->sources.n)
        tc_strbuf_add(&pack->bytes, facts->sources.items,
                      facts->sources.n * sizeof(*facts->sources.items));
    open->is_computed = find_computed(w, pack, false);
    compare_operands(facts, w, open, call);
    if (tc_fact_is_of_script(call))
        tc_fact_flow(facts, w, &w->labels.items[open->label], call, n_args);
    keep_operands(pack, w, open);
}

void tc_fact_own_begins(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_call *call)
{
    struct tc_fact_open *outer = around(facts, w, call), *open;
    struct tc_fact_class *known;
    tc_fact_lead cause;

    tc_vec_push(&w->own, ((struct tc_fact_open){.id = call->id,
                                                .inside = TC_FACT_NO_INSIDE,
                                                .made_subject = UINT32_MAX,
                                                .by_subject = UINT32_MAX,
                                                .chain_subject = UINT32_MAX,
                                                .is_own = true}));
    open = &w->own.items[w->own.n - 1];
    open->outer = outer ? outer->lead ? outer->lead : outer->outer : 0;
    open->latest = w->latest;
    open->label = label_of(facts, w, call);
    open->subject = subject_of(facts, w, open, outer, call);
    count(facts, w, open, call);
    if (tc_fact_is_of_script(call) || tc_fact_is_of_batch(call))
        (void)tc_fact_call_inside(facts, w, outer, call, 0);
    pack_own_operands(facts, w, open, call);
    cause = open->flow ? open->flow : open->outer;
    known = class_of(facts);
    if (!known)
        read_operands(facts, w, open, call);
    add_lead(w, open, settle(facts, known, open->subject, cause), cause);
    if (tc_fact_is_of_script(call))
        meet_trends(facts, w, open, open->subject, "args", call->args);
    tc_fact_meet_ranks(facts, w, open->subject, call, "args", call->args);
}

/* Tensors are made by what it calls; what none of that shows is its own: an array, and what a
 * package computes. */
static void give_on_own(struct tc_fact_watch *w, const struct tc_fact_open *open,
                        const struct tc_call *call)
{
    const struct tc_value *value = call->end->value;
    const int64_t serial = tc_value_int(tc_value_get(value, "id"), TC_NONE);
    const bool is_made = tc_value_get(value, "array") ||
                         (call->role == TC_ROLE_PACKAGE && tc_value_get(value, "tensor"));

    if (!is_made || serial <= open->latest || tc_fact_producer(w, serial))
        return;
    tc_map_put(&w->stand_ins, w->labels.items[open->label].fn, 1);
    produce(w, serial,
            tc_fact_word(w->labels.items[open->label].fn, 0, 0) |
                (open->is_computed ? TC_FACT_COMPUTED : 0));
}

static void settle_own_result(struct tc_facts *facts, struct tc_fact_watch *w,
                              struct tc_fact_open *open, const struct tc_call *call)
{
    const tc_fact_lead cause = open->lead ? open->lead : open->flow;
    struct tc_fact_class *known;

    pack_begins(facts, open->subject, 'e');
    facts->pack.has_content = false;
    tc_fact_pack_value(&facts->pack, call->end->value, 0);
    (void)find_computed(w, &facts->pack, open->is_computed);
    pack_aliases(&facts->pack, open, call);
    known = class_of(facts);
    if (!known)
        read_result(facts, open, call->end);
    add_lead(w, open, settle(facts, known, open->subject, cause), cause);
    meet_scalar(facts, w, open, "value", call->end->value, tc_fact_is_of_script(call));
    if (tc_fact_is_of_script(call))
        meet_trends(facts, w, open, open->subject, "value", call->end->value);
    tc_fact_meet_ranks(facts, w, open->subject, call, "value", call->end->value);
    note_lead(w, tc_fact_settle_said(facts, 1, open->lead, NULL), open->lead);
    give_on_own(w, open, call);
}

void tc_fact_own_ends(struct tc_facts *facts, struct tc_fact_watch *w, const struct tc_call *call)
{
    struct tc_fact_open open;

    while (w->own.n && w->own.items[w->own.n - 1].id > call->id)
        w->own.n--;
    if (!w->own.n || w->own.items[w->own.n - 1].id != call->id)
        return;
    open = w->own.items[--w->own.n];
    if (!call->raised)
        settle_own_result(facts, w, &open, call);
}
