/*
 * event_contain_within.c - EventContain/within: a change happens only inside certain calls
 *
 * One example for each change of the content of a parameter in training: the innermost call around
 * it that has a business in a training loop, or none. Calls around whole loops explain nothing.
 */
#include "relation/consistent.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "invariant/describe.h"
#include "replay/symbols.h"

/* ---- examples ------------------------------------------------------------------------------ */

static tc_sym key_sym(struct tc_strtab *symbols)
{
    return tc_strtab_intern_text(symbols, "change Parameter data");
}

static bool may_change_weights(const struct tc_call *call)
{
    return call->is_root || call->role == TC_ROLE_INIT ||
           (tc_role_has(call->role, TC_TRAIT_SUBJECT) && !tc_role_has(call->role, TC_TRAIT_OUTER));
}

static const struct tc_call *call_around(const struct tc_call *call)
{
    while (call && !may_change_weights(call))
        call = call->parent;
    return call;
}

/* "ROLE NAME" */
static tc_sym token_of(struct tc_strtab *symbols, const char *role, tc_sym name)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "%s %s", role, tc_strtab_text(symbols, name));
    tc_sym token = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return token;
}

static bool is_in_training(const struct tc_strtab *symbols, const struct tc_event *event)
{
    return !strcmp(tc_strtab_text(symbols, event->window->stage), "training");
}

static void within_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    struct tc_situation situation;
    tc_sym outcome[1];

    (void)state;
    if (event->kind != TC_EVENT_CHANGE || event->variable->kind != TC_SYM_PARAMETER ||
        !is_in_training(symbols, event))
        return;
    const struct tc_call *around = call_around(event->call);
    if (around)
        outcome[0] = token_of(symbols, tc_role_text(around->role), around->descriptor);
    tc_consistent_situation(&situation, event->variable);
    struct tc_example example = {.key = key_sym(symbols),
                                 .situation = &situation,
                                 .outcome = outcome,
                                 .n_outcome = around != NULL,
                                 .variable = event->variable};
    sink->example(sink->context, event, &example);
}

/* ---- one claim: inside the calls that were seen -------------------------------------------- */

/* A rule of where the weights change is one of style until so many pipelines share it. */
#define MIN_PIPELINES 4

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Distinct tokens as texts, in order; more than max: max + 1. */
static size_t collect_tokens(const struct tc_strtab *symbols, const struct tc_outcomes *outcomes,
                             const char **texts, size_t max)
{
    struct tc_map seen = TC_MAP_INIT;
    size_t n = 0;

    for (size_t i = 0; i < outcomes->n && n <= max; i++) {
        if (!outcomes->n_outcome[i] || !tc_is_first(&seen, outcomes->outcome[i][0]))
            continue;
        if (n < max)
            texts[n] = tc_strtab_text(symbols, outcomes->outcome[i][0]);
        n++;
    }
    tc_map_release(&seen);
    if (n <= max)
        qsort(texts, n, sizeof(*texts), compare_texts);
    return n;
}

static void within_propose(struct tc_strtab *symbols, tc_sym key,
                           const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    struct tc_hypothesis h = {.n_params = 1, .min_pipelines = MIN_PIPELINES};
    const char *texts[TC_MAX_PARAMS - 1];
    size_t n = collect_tokens(symbols, outcomes, texts, TC_MAX_PARAMS - 1);

    (void)key;
    if (!n || n > TC_MAX_PARAMS - 1)
        return;
    h.params[0] = tc_param_of(TC_PARAM_CHANGE, TC_SYM_PARAMETER, TC_SYM_DATA, TC_SYM_CHANGED);
    for (size_t i = 0; i < n; i++) {
        const char *space = strchr(texts[i], ' ');
        tc_sym role = tc_strtab_intern(symbols, texts[i], (size_t)(space - texts[i]));
        h.params[h.n_params++] = tc_param_call(tc_strtab_intern_text(symbols, space + 1), role);
    }
    tc_vec_push(&out->items, h);
}

static tc_sym within_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    if (n_params < 2 || params[0].kind != TC_PARAM_CHANGE || params[0].name != TC_SYM_PARAMETER ||
        params[0].attr != TC_SYM_DATA)
        return TC_NO_SYM;
    for (size_t i = 1; i < n_params; i++)
        if (params[i].kind != TC_PARAM_CALL)
            return TC_NO_SYM;
    return key_sym(symbols);
}

static enum tc_outcome within_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                    size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    for (size_t i = 1; n_outcome && i < n_params; i++)
        if (outcome[0] ==
            token_of(symbols, tc_strtab_text(symbols, params[i].role), params[i].name))
            return TC_HELD;
    return TC_BROKEN;
}

/* ---- words --------------------------------------------------------------------------------- */

static void within_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                            size_t n_params, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "in training, data of a %s changes only inside ",
                   tc_strtab_text(symbols, params[0].name));
    for (size_t i = 1; i < n_params; i++) {
        tc_strbuf_adds(out, i == 1 ? "" : i + 1 == n_params ? " or " : ", ");
        tc_describe_call(symbols, params[i].name, out);
    }
}

static void within_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                           const struct tc_event *event, const struct tc_example *example,
                           struct tc_strbuf *out)
{
    const struct tc_call *around = call_around(event->call);

    (void)invariant;
    tc_strbuf_addf(out, "%s changed ", tc_strtab_text(symbols, example->variable->name));
    if (around) {
        tc_strbuf_adds(out, "inside ");
        tc_describe_call(symbols, around->descriptor, out);
    } else if (event->call) {
        tc_strbuf_adds(out, "by ");
        tc_describe_call(symbols, event->call->descriptor, out);
    } else {
        tc_strbuf_adds(out, "between two calls, by the script itself");
    }
}

const struct tc_source tc_source_changes = {
    .name = "changes",
    .is_set = true,
    .observe = within_observe,
};

const struct tc_relation tc_event_contain_within = {
    .name = "EventContain/within",
    .summary = "in training, weights change only inside these calls",
    .hint = "Who writes to the weights besides the optimizer: were others swapped in, or copied "
            "back?",
    .source = &tc_source_changes,
    .propose = within_propose,
    .key = within_key,
    .holds = within_holds,
    .describe = within_describe,
    .explain = within_explain,
};
