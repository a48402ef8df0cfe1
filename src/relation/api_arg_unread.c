/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_unread.c - APIArg/unread: a function of the script reads what it is given
 *
 * A mask, class weights or an optimizer that a function is given and never reads has no effect,
 * whatever the line that calls it means by it.
 *
 * The agent reads it in the source (unread.py). An example for each call of a function of the
 * script. It is broken where a parameter that the function never reads is given
 *
 *   what the script reads nowhere else
 *   a tensor with dimensions, by the call of a module
 *   a module, or an optimizer, which is known when it steps, or when its own method steps another
 *
 * Other values may be there for what else they are used for.
 */
#include "relation/one_claim.h"

#include <string.h>

#include "invariant/describe.h"
#include "replay/symbols.h"

#define MAX_WAITING 1024

/* What a parameter was given that may be an optimizer. */
struct waiting {
    struct tc_place place;
    tc_sym words, class;
};

/* Of one process. */
struct unread {
    struct tc_map told;    /* words → 1 */
    struct tc_map waiting; /* serial → struct waiting * */
};

static void unread_release(void *of_process)
{
    struct unread *unread = of_process;

    tc_map_release(&unread->told);
    tc_map_release_structs(&unread->waiting);
}

/* "mask of soft_loss()" */
static tc_sym words_of(struct tc_strtab *symbols, const struct tc_call *call, tc_sym param)
{
    const struct tc_value *name = tc_value_get(call->self, "object");
    struct tc_strbuf words = {0};
    tc_sym fn = call->fn;

    if (call->role == TC_ROLE_FORWARD && name && name->kind == TC_VALUE_STR) {
        tc_strbuf_add(&words, name->text, name->n);
        tc_strbuf_adds(&words, ".forward");
        fn = tc_strtab_intern(symbols, words.text, words.size);
        words.size = 0;
    }
    tc_strbuf_adds(&words, tc_strtab_text(symbols, param));
    tc_strbuf_adds(&words, " of ");
    tc_describe_call(symbols, fn, &words);
    fn = tc_strtab_intern(symbols, words.text, words.size);
    tc_strbuf_release(&words);
    return fn;
}

static void answer(const struct tc_hearing *h, tc_sym words, const struct tc_place *place)
{
    struct unread *unread = tc_hearing_state(h);
    bool is_new;

    *tc_map_at(&unread->told, words, &is_new) = 1;
    tc_answer_of(h, false, (struct tc_example){.place = place, .detail = &words});
}

static bool is_module(const struct tc_value *value)
{
    return tc_value_get(tc_value_get(value, "attrs"), "training");
}

static tc_sym class_of(struct tc_strtab *symbols, const struct tc_value *object)
{
    const struct tc_value *name = tc_value_get(object, "object");

    return tc_symbols_str(symbols, (struct tc_str){name->text, name->n});
}

/* Whether it is broken, by one parameter. */
static bool is_given(const struct tc_hearing *h, tc_sym param, bool is_alone)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *value = tc_value_get(call->args, tc_strtab_text(h->symbols, param));
    struct unread *unread = tc_hearing_state(h);

    if (!value || value->kind == TC_VALUE_NULL)
        return false;
    if (call->role == TC_ROLE_FORWARD)
        return tc_n_dimensions(value) > 0;
    if (is_alone || is_module(value))
        return true;
    if (tc_value_get(value, "object") && unread->waiting.n < MAX_WAITING) {
        struct waiting *waiting =
            tc_map_struct(&unread->waiting, (uint64_t)tc_serial_of(value), sizeof(*waiting));
        tc_place_of(h->event, &waiting->place);
        waiting->words = words_of(h->symbols, call, param);
        waiting->class = class_of(h->symbols, value);
    }
    return false;
}

/* Is the function a method of the class? */
static bool is_method(const struct tc_strtab *symbols, tc_sym function, tc_sym class)
{
    const size_t n = tc_strtab_size(symbols, class);
    const char *text = function == TC_NO_SYM ? "" : tc_strtab_text(symbols, function);

    return !strncmp(text, tc_strtab_text(symbols, class), n) && text[n] == '.';
}

static void on_step(const struct tc_hearing *h)
{
    struct unread *unread = tc_hearing_state(h);
    const uint64_t serial = (uint64_t)tc_serial_of(h->event->call->self);
    const tc_sym in = unread->waiting.n ? tc_spot_of(h->event).in : TC_NO_SYM;
    const struct waiting *waiting;
    uint64_t told;

    for (size_t pos = 0; (waiting = tc_map_next(&unread->waiting, &pos));)
        if ((waiting == tc_map_find(&unread->waiting, serial) ||
             is_method(h->symbols, in, waiting->class)) &&
            !tc_map_get(&unread->told, waiting->words, &told))
            answer(h, waiting->words, &waiting->place);
}

static void unread_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    bool holds = true;

    if (call->role == TC_ROLE_STEP)
        on_step(h);
    if (call->role == TC_ROLE_STEP || !call->unread)
        return;
    for (uint32_t i = 0; i < call->unread->n; i++) {
        const struct tc_member *of = &call->unread->members[i];
        const tc_sym param = tc_symbols_str(h->symbols, of->key);
        if (!is_given(h, param, tc_value_is_true(&of->value)))
            continue;
        answer(h, words_of(h->symbols, call, param), NULL);
        holds = false;
    }
    if (holds)
        tc_answer(h, true);
}

const struct tc_relation_rule tc_rule_unread = {
    TC_RULE(tc_rule_unread),
    .form.name = "APIArg/unread",
    .form.summary = "a function of the script reads what it is given",
    .form.hint = "Should the function use it, or hand it on?",
    .form.needs_operators = true,
    .source.name = "unread",
    .source.judged = "the call of a function of the script, or of a module",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct unread),
    .source.release_process = unread_release,
    TC_CLAIM_ROLES(TC_ROLE_OWN, TC_ROLE_METHOD, TC_ROLE_FORWARD),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_ARGS, TC_SYM_IS, TC_SYM_READ),
    TC_CLAIM_ATOMS(TC_SYM_F_ARGS, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a function of the script reads what it is given",
    .claim.seen = "%d was given, and the function never reads it: it has no effect",
    .at = TC_AT(OWN) | TC_AT(METHOD) | TC_AT(FORWARD) | TC_AT(STEP),
    .judge = unread_judge,
};
