/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_forms.c - the eight relations of the Python TrainCheck: judged here, learned there
 *
 * Keys are invariants: every one has examples of its own, which say whether it held.
 */
#include "python_tool/python_rules.h"

#include <string.h>

#include "relation/form.h"
#include "replay/symbols.h"
#include "trace/scan.h"

struct rule {
    const char *relation, *group;
    void (*judge)(struct tc_python_judge *judge);
};

static const struct rule rules[] = {
    {"ConsistencyRelation",           "var",                  tc_python_judge_consistency },
    {"APIContainRelation",            "parent_func_call_pre", tc_python_judge_contain     },
    {"FunctionCoverRelation",         "func_cover",           tc_python_judge_cover       },
    {"FunctionLeadRelation",          "func_lead",            tc_python_judge_lead        },
    {"DistinctArgumentRelation",      "distinct_arg",         tc_python_judge_distinct    },
    {"ConsistentOutputRelation",      "pre_event",            tc_python_judge_output      },
    {"ConsistentInputOutputRelation", "pre_event",            tc_python_judge_input_output},
    {"ThresholdRelation",             "pre_event",            tc_python_judge_threshold   },
};

static const struct rule *rule_of(const struct tc_value *definition)
{
    const struct tc_value *relation = tc_value_get(definition, "relation");

    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (tc_value_is(relation, rules[i].relation))
            return &rules[i];
    return NULL;
}

/* ---- the source ---------------------------------------------------------------------------- */

struct python_state {
    struct tc_python_trace trace;
    TC_VEC(const struct tc_invariant *) expected;
};

static void *open_state(void)
{
    struct python_state *state = tc_calloc(1, sizeof(*state));

    state->trace.keys = tc_strtab_new();
    state->trace.last_time = INT64_MIN;
    return state;
}

static void close_state(void *state)
{
    struct python_state *s = state;

    tc_python_trace_release(&s->trace);
    tc_vec_release(&s->expected);
    tc_free(s);
}

static void expect(void *state, struct tc_strtab *symbols, const struct tc_invariant *invariant)
{
    struct python_state *s = state;
    const struct tc_value *params = tc_value_get(invariant->foreign, "params");

    (void)symbols;
    tc_vec_push(&s->expected, invariant);
    for (uint32_t i = 0; params && params->kind == TC_VALUE_ARRAY && i < params->n; i++) {
        const struct tc_value *param = &params->items[i];
        tc_python_trace_want_function(&s->trace,
                                      tc_value_str(tc_value_get(param, "api_full_name")));
        tc_python_trace_want_type(&s->trace, tc_value_str(tc_value_get(param, "var_type")));
    }
    tc_python_when_want(&s->trace, invariant->foreign);
}

/* The last part of "torch.nn.Parameter" or "torch.float32". */
static struct tc_str last_part(struct tc_str name)
{
    for (uint32_t i = name.size; i-- > 0;)
        if (name.text[i] == '.')
            return (struct tc_str){name.text + i + 1, name.size - i - 1};
    return name;
}

/* The variable of a state change as reports tell it; false for a record of a call. */
static bool describe_variable(struct tc_strtab *symbols, const struct tc_python_record *record,
                              struct tc_variable *out)
{
    struct tc_str name = tc_value_str(tc_value_get(record->line, "var_name"));
    const struct tc_value *attributes = tc_value_get(record->line, "attributes");
    const struct tc_value *grad = tc_value_get(attributes, "grad");
    const struct tc_value *shape = tc_value_get(attributes, "shape");
    const struct tc_value *required = tc_value_get(attributes, "requires_grad");
    struct tc_str dtype = tc_value_str(tc_value_get(attributes, "dtype"));

    if (!name.text)
        return false;
    *out = (struct tc_variable){
        .name = tc_symbols_str(symbols, name),
        .kind = tc_symbols_str(symbols,
                               last_part(tc_value_str(tc_value_get(record->line, "var_type")))),
        .owner = TC_SYM_NULL,
        .training = TC_SYM_NULL,
        .grad = grad && grad->kind != TC_VALUE_NULL ? TC_SYM_NON_ZERO : TC_SYM_GRAD_NULL,
        .dtype = dtype.text ? tc_symbols_quote(symbols, last_part(dtype)) : TC_SYM_NULL,
        .shape = TC_SYM_NULL,
        .requires_grad = tc_value_is_true(required)};
    if (shape) {
        struct tc_strbuf text = TC_STRBUF_INIT;
        tc_value_print(shape, &text);
        out->shape = tc_strtab_intern(symbols, text.text, text.size);
        tc_strbuf_release(&text);
    }
    return true;
}

static void emit(struct tc_python_judge *judge, const struct tc_python_record *record,
                 enum tc_outcome outcome, const char *seen, const char *unchecked)
{
    const struct tc_value *function = record ? tc_value_get(record->line, "function") : NULL;
    const struct tc_value *stage =
        record ? tc_value_get(tc_value_get(record->line, "meta_vars"), "stage") : NULL;
    struct tc_strtab *symbols = judge->trace->symbols;
    tc_sym held = outcome == TC_HELD ? TC_SYM_TRUE : TC_SYM_FALSE;
    struct tc_situation situation = {.n = 0};
    struct tc_place place = {.file = record && record->of ? record->of->file : "",
                             .rank = record && record->of ? record->of->rank : -1,
                             .step = record ? tc_python_step(record) : -1,
                             .order = judge->order++,
                             .stage = tc_symbols_str(symbols, tc_value_str(stage)),
                             .at = TC_SYM_EMPTY,
                             .call = tc_symbols_str(symbols, tc_value_str(function))};
    struct tc_variable variable;
    bool has_variable =
        record && outcome == TC_BROKEN && describe_variable(symbols, record, &variable);

    if (record)
        place.begin_ns = place.end_ns = record->time;
    struct tc_example example = {.key = judge->key,
                                 .situation = &situation,
                                 .outcome = &held,
                                 .n_outcome = 1,
                                 .variable = has_variable ? &variable : NULL,
                                 .place = &place,
                                 .detail = seen,
                                 .unchecked = unchecked};
    judge->sink->example(judge->sink->context, judge->event, &example);
}

void tc_python_held(struct tc_python_judge *judge, const struct tc_python_record *record)
{
    emit(judge, record, TC_HELD, NULL, NULL);
}

void tc_python_broken(struct tc_python_judge *judge, const struct tc_python_record *record,
                      const char *seen)
{
    emit(judge, record, TC_BROKEN, seen, NULL);
}

int64_t tc_python_step(const struct tc_python_record *record)
{
    int64_t step = tc_value_int(tc_value_get(tc_value_get(record->line, "meta_vars"), "step"), -1);

    return step < 0 ? -1 : step;
}

struct tc_str tc_python_param(const struct tc_python_judge *judge, size_t i, const char *key)
{
    return tc_value_str(tc_python_param_value(judge, i, key));
}

const struct tc_value *tc_python_param_value(const struct tc_python_judge *judge, size_t i,
                                             const char *key)
{
    return i < judge->params->n ? tc_value_get(&judge->params->items[i], key) : NULL;
}

static void judge_invariant(struct python_state *s, const struct tc_invariant *invariant,
                            const struct tc_event *event, const struct tc_sink *sink)
{
    const struct rule *rule = rule_of(invariant->foreign);
    struct tc_python_judge judge = {.trace = &s->trace,
                                    .params = tc_value_get(invariant->foreign, "params"),
                                    .sink = sink,
                                    .event = event,
                                    .key = invariant->params[0].name};

    if (!s->trace.is_foreign)
        judge.unchecked = "it speaks of traces of the Python tool, and this is none";
    else if (!rule || !judge.params || judge.params->kind != TC_VALUE_ARRAY)
        judge.unchecked = "its relation or its params are not known to this version";
    else
        judge.unchecked =
            tc_python_when_parse(&s->trace, invariant->foreign, rule->group, &judge.when);
    if (!judge.unchecked)
        rule->judge(&judge);
    if (judge.unchecked)
        emit(&judge, NULL, TC_UNDECIDED, NULL, judge.unchecked);
    tc_python_when_release(&judge.when);
}

static void observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                    const struct tc_sink *sink)
{
    struct python_state *s = state;

    s->trace.symbols = symbols;
    if (event->kind == TC_EVENT_FOREIGN)
        tc_python_trace_add(&s->trace, event->process, event->record);
    if (event->kind != TC_EVENT_FINISH)
        return;
    s->trace.apis = s->trace.apis ? s->trace.apis : tc_torch_apis_new();
    tc_python_trace_finish(&s->trace);
    for (size_t i = 0; i < s->expected.n; i++)
        judge_invariant(s, s->expected.items[i], event, sink);
}

const struct tc_source tc_source_python = {.name = "python",
                                           .open = open_state,
                                           .close = close_state,
                                           .expect = expect,
                                           .observe = observe};

/* ---- the forms ----------------------------------------------------------------------------- */

static tc_sym key_of(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    (void)symbols;
    return n_params == 1 && params[0].kind == TC_PARAM_FOREIGN ? params[0].name : TC_NO_SYM;
}

static enum tc_outcome holds(struct tc_strtab *symbols, const struct tc_param *params,
                             size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    (void)symbols;
    (void)params;
    (void)n_params;
    return n_outcome == 1 && outcome[0] == TC_SYM_TRUE ? TC_HELD : TC_BROKEN;
}

static void describe(const struct tc_strtab *symbols, const struct tc_param *params,
                     size_t n_params, struct tc_strbuf *out)
{
    if (n_params)
        tc_strbuf_adds(out, tc_strtab_text(symbols, params[0].name));
}

static void explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                    const struct tc_event *event, const struct tc_example *example,
                    struct tc_strbuf *out)
{
    (void)symbols;
    (void)invariant;
    (void)event;
    tc_strbuf_adds(out, example->detail ? example->detail : "");
}

#define FORM(class_name, what, look)                                                    \
    &(const struct tc_relation)                                                         \
    {                                                                                   \
        .name = class_name, .summary = what, .hint = look, .source = &tc_source_python, \
        .key = key_of, .holds = holds, .describe = describe, .explain = explain,        \
    }

const struct tc_relation *const tc_python_relations[] = {
    FORM("ConsistencyRelation", "attributes of two variables stay equal",
         "What is done to one of the two variables, or on one of the processes, alone?"),
    FORM("APIContainRelation", "a call contains another call or a change",
         "Was the call inside left out, or given something that it does not act upon?"),
    FORM("FunctionCoverRelation", "before each call of one API stands another",
         "Is the earlier call missing, or made at another place?"),
    FORM("FunctionLeadRelation", "after each call of one API stands another",
         "Is the later call missing, or made at another place?"),
    FORM("DistinctArgumentRelation", "no two calls of a step have equal arguments",
         "Do several workers or loops do the same work, or share a random state?"),
    FORM("ConsistentOutputRelation", "tensors returned have a fixed property",
         "What gave the call another dtype, device or shape?"),
    FORM("ConsistentInputOutputRelation", "a property of the result is that of an argument",
         "What in the call changes this property of its input?"),
    FORM("ThresholdRelation", "a property of the result is bounded by an argument",
         "Is the argument that sets the bound taken into account?"),
    NULL,
};
