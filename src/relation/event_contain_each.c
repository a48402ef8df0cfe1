/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_each.c - EventContain/each: what a call does, it does to every variable that its
 * receiver owns
 *
 * For an optimizer step these are the parameters that require a gradient. For a root forward
 * these are the model's buffers, with those of frozen modules apart, and in evaluation mode those
 * that forwards in training mode have moved. It is judged when the call returns, variable by
 * variable.
 */
#include "relation/claims.h"
#include "relation/form.h"
#include "relation/frozen.h"
#include "relation/third_time.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "replay/symbols.h"

/* Only the third call in a row without a change counts as "unchanged": once can be rounding. Of
 * what earlier steps have changed it is the tenth: near the end of a schedule, or where an
 * optimizer rounds to few values, several steps in a row are too small to show. */
#define STEPS_AFTER_A_CHANGE 10

/* A parameter without a gradient may rest, as the head of a task that has no turn: it counts only
 * if so many steps have never changed it. So does a matrix whose gradient was computed to be zero:
 * units die and biases cancel, but a whole matrix has something to learn now and then. */
#define STEPS_FROM_THE_START 10
/* And so many if another one like it, of a name that differs in a part, has had its turn: of
 * several heads one may come once in a while. */
#define STEPS_BESIDE_OTHERS 40
/* A first phase may leave it out as well, as a last layer that waits, or a mode that comes later,
 * and no step tells how long that lasts: it is reported when the run is over, of what no step of it
 * has changed; or after so many, lest a long run is reported too late. */
#define STEPS_OF_A_PHASE 1000

/* A parameter that no step has changed, for want of a gradient; told when the run is over. */
struct resting {
    const struct tc_process *process;
    tc_sym key, object; /* of the example; class of the optimizer */
    uint64_t steps;     /* that left it as it was */
    struct tc_situation situation;
    struct tc_variable variable;
    struct tc_place place; /* where it had rested for long enough */
};

struct each_state {
    struct tc_process_states processes; /* struct owning */
    struct tc_map rests; /* (process, call, receiver, variable) → struct resting *, until it is
                            changed or told */
    struct tc_module_names modules;
};

/* Of one process: what is asked for each variable stays in few lines of cache. */
struct owning {
    struct tc_map streaks;  /* (call, receiver, variable) → calls in a row without a change */
    struct tc_map steppers; /* variable → the optimizer that stepped it last */
    struct tc_map moving;   /* variable that a forward in training mode has changed */
};

static void each_release(void *state)
{
    struct each_state *each = state;

    tc_map_release_structs(&each->rests);
    tc_module_names_release(&each->modules);
}

static void release_owning(void *of_process)
{
    struct owning *owning = of_process;

    tc_map_release(&owning->streaks);
    tc_map_release(&owning->steppers);
    tc_map_release(&owning->moving);
}

struct each_example {
    struct each_state *each;
    struct owning *owning;
    struct tc_strtab *symbols;
    const struct tc_event *event;
    const struct tc_sink *sink;
    const struct tc_situation *base; /* of the call, unsorted */
};

static bool is_uncleared(const struct tc_call *call, int64_t serial)
{
    for (size_t i = 0; i < call->n_uncleared; i++)
        if (call->uncleared[i] == serial)
            return true;
    return false;
}

/* The class of gradient that the call read: that of the last look before the change. What the step
 * calls may clear it as well; that of a closure it reads after. */
static tc_sym grad_read(const struct tc_call *call, const struct tc_variable *variable)
{
    const bool is_cleared = variable->grad == TC_SYM_GRAD_NULL || variable->grad == TC_SYM_ZERO;

    return variable->grad_cause == call->id || (variable->grad_cause > call->id && is_cleared)
               ? variable->grad_before
               : variable->grad;
}

/* (process, call, receiver, variable) */
static uint64_t place_of_variable(const struct tc_event *event, const struct tc_variable *variable)
{
    const int64_t who[] = {event->process->pid, event->call->descriptor,
                           tc_value_int(tc_value_get(event->call->self, "id"), 0),
                           variable->serial};

    return tc_hash64(who, sizeof(who), 0);
}

static uint64_t advance_streak(const struct each_example *x, const struct tc_variable *variable,
                               bool changed)
{
    bool is_new;
    uint64_t *streak =
        tc_map_at(&x->owning->streaks, place_of_variable(x->event, variable), &is_new);

    *streak = changed ? 0 : *streak + 1;
    return *streak;
}

/* Was the gradient computed to be zero, as that of a bias which a difference cancels, and not made
 * zero to clear it? */
static bool is_computed_zero(const struct tc_variable *variable, tc_sym grad)
{
    return grad == TC_SYM_ZERO && variable->grad == TC_SYM_ZERO && variable->is_zero_computed;
}

/* "heads.a.weight" and "heads.b.weight" differ in one part, which is no number and not the last. */
static bool differ_in_a_part(const char *a, const char *b)
{
    const char *end_a, *end_b;

    while (*a && *a == *b) {
        a++;
        b++;
    }
    end_a = strchr(a, '.');
    end_b = strchr(b, '.');
    return *a != '.' && *b != '.' && end_a && end_b && !strcmp(end_a, end_b) &&
           !isdigit((unsigned char)*a) && !isdigit((unsigned char)*b);
}

/* Is it one of several heads, of which another has had its turn? */
static bool is_one_of_several(const struct each_example *x, const struct tc_variable *v)
{
    const struct tc_strtab *symbols = x->symbols;
    const struct tc_variable *other;

    for (size_t pos = 0; (other = tc_map_next(&x->event->process->variables, &pos));)
        if (other != v && other->kind == v->kind && other->root == v->root &&
            other->owner == v->owner && other->data != other->first_data &&
            differ_in_a_part(tc_strtab_text(symbols, v->name),
                             tc_strtab_text(symbols, other->name)))
            return true;
    return false;
}

/* So many calls in a row without a change are more than rounding. */
static unsigned calls_that_count(const struct tc_variable *variable)
{
    return variable->data == variable->first_data ? TC_THIRD_TIME : STEPS_AFTER_A_CHANGE;
}

/* A bias before a norm has a gradient of rounding alone, now tiny and now a little larger: times a
 * small rate that is lost as well. */
static bool is_next_to_rounding(const struct tc_variable *variable)
{
    return variable->was_tiny && !variable->is_matrix;
}

/* Has no step so far changed it, for want of a gradient, and were they more than a few? */
static bool rests_from_the_start(const struct each_example *x, const struct tc_variable *variable,
                                 tc_sym grad, uint64_t streak)
{
    if (streak < STEPS_FROM_THE_START || variable->data != variable->first_data)
        return false;
    if (grad == TC_SYM_GRAD_NULL)
        return streak >= STEPS_BESIDE_OTHERS || !is_one_of_several(x, variable);
    return is_computed_zero(variable, grad) && variable->is_matrix;
}

/* Why a parameter may have stayed as it was; TC_EXCUSE_NONE if it should have changed. Rounding
 * explains it when the gradient or the learning rate is next to nothing. */
static enum tc_excuse excuse_of_rest(const struct each_example *x,
                                     const struct tc_variable *variable, tc_sym grad,
                                     uint64_t streak)
{
    if (tc_has_no_rate(x->base))
        return TC_EXCUSE_NO_RATE;
    if (grad == TC_SYM_TINY || is_next_to_rounding(variable))
        return TC_EXCUSE_TINY_GRADIENT;
    if (streak >= STEPS_OF_A_PHASE && rests_from_the_start(x, variable, grad, streak))
        return TC_EXCUSE_NONE;
    if (is_computed_zero(variable, grad))
        return TC_EXCUSE_ZERO_GRADIENT;
    if (grad == TC_SYM_GRAD_NULL)
        return TC_EXCUSE_NO_GRADIENT;
    return streak >= calls_that_count(variable) ? TC_EXCUSE_NONE : TC_EXCUSE_ONCE;
}

/* The same of whatever the call may change. */
static enum tc_excuse excuse_of(const struct each_example *x, const struct tc_variable *variable,
                                tc_sym grad, uint64_t streak)
{
    const struct tc_call *call = x->event->call;

    if (call->is_pause)
        return TC_EXCUSE_PAUSE;
    if (!variable->has_data)
        return TC_EXCUSE_UNREADABLE;
    if (call->role == TC_ROLE_STEP)
        return excuse_of_rest(x, variable, grad, streak);
    return streak >= TC_THIRD_TIME ? TC_EXCUSE_NONE : TC_EXCUSE_ONCE;
}

/* Which optimizer stepped the variable before: this one, another or, at the first step, none. */
static tc_sym change_stepper(const struct each_example *x, const struct tc_variable *variable)
{
    uint64_t optimizer = (uint64_t)tc_value_int(tc_value_get(x->event->call->self, "id"), 0);
    bool is_new;
    uint64_t *stepper = tc_map_at(&x->owning->steppers, (uint64_t)variable->serial, &is_new);
    bool is_same = *stepper == optimizer;

    *stepper = optimizer;
    return is_new ? TC_NO_SYM : tc_symbols_bool(is_same);
}

#define MAX_OUTCOMES 4

/* "data changed", "cleared true", "kept true", "optimizer true": the outcomes of one variable. */
static size_t outcome_of(const struct each_example *x, const struct tc_variable *variable,
                         enum tc_since_step since, tc_sym grad, tc_sym out[MAX_OUTCOMES],
                         tc_excuses *excuses)
{
    const struct tc_call *call = x->event->call;
    bool changed = variable->data_cause >= call->id;
    /* Content that cannot be read is neither the same nor another. */
    uint64_t streak = variable->has_data ? advance_streak(x, variable, changed) : 0;
    enum tc_excuse excuse = changed ? TC_EXCUSE_NONE : excuse_of(x, variable, grad, streak);
    size_t n = 0;
    tc_sym is_same;

    *excuses = excuse ? TC_EXCUSE_BIT(excuse) : 0;
    if (!excuse)
        out[n++] = TC_ATOM(x->symbols, TC_SYM_DATA, changed ? TC_SYM_CHANGED : TC_SYM_UNCHANGED);
    if (call->role == TC_ROLE_STEP)
        out[n++] = TC_ATOM(x->symbols, TC_SYM_CLEARED,
                           tc_symbols_bool(!is_uncleared(call, variable->serial)));
    if (call->role == TC_ROLE_STEP && (is_same = change_stepper(x, variable)) != TC_NO_SYM)
        out[n++] = TC_ATOM(x->symbols, TC_SYM_OPTIMIZER, is_same);
    if (since != TC_SINCE_UNKNOWN && !call->is_pause)
        out[n++] = TC_ATOM(x->symbols, TC_SYM_KEPT, tc_symbols_bool(since == TC_SINCE_KEPT));
    else if (call->role == TC_ROLE_STEP)
        *excuses |= TC_EXCUSE_BIT(TC_EXCUSE_NO_STEP_BEFORE);
    tc_sym_sort(out, n);
    return n;
}

/* A rest begins to count here; what it is an example of is reported when the run is over. */
static void rest_begins(struct resting *rest, const struct each_example *x, tc_sym key,
                        const struct tc_situation *situation, const struct tc_variable *variable)
{
    const struct tc_str class = tc_value_str(tc_value_get(x->event->call->self, "object"));

    *rest = (struct resting){
        .process = x->event->process, .key = key, .situation = *situation, .variable = *variable};
    rest->object = class.text ? tc_strtab_intern(x->symbols, class.text, class.size) : TC_NO_SYM;
    rest->variable.attrs = NULL;
    rest->variable.n_attrs = 0;
    tc_place_of(x->event, &rest->place);
}

/* Of a parameter of an optimizer: does it rest still? What changed it, or is reported now, ends
 * that.
 */
static void follow_rest(const struct each_example *x, tc_sym key,
                        const struct tc_situation *situation, const struct tc_variable *variable,
                        tc_sym grad, tc_excuses excuses)
{
    const tc_excuses for_now =
        TC_EXCUSE_BIT(TC_EXCUSE_NO_GRADIENT) | TC_EXCUSE_BIT(TC_EXCUSE_ZERO_GRADIENT);
    const bool is_over = !(excuses & ~TC_EXCUSE_BIT(TC_EXCUSE_NO_STEP_BEFORE));
    struct each_state *each = x->each;
    uint64_t who, known, streak;

    if (is_over ? !each->rests.n : !(excuses & for_now))
        return;
    who = place_of_variable(x->event, variable);
    const bool is_known = tc_map_get(&each->rests, who, &known);
    if (is_over) {
        if (is_known && tc_map_remove(&each->rests, who))
            tc_free((void *)(uintptr_t)known);
        return;
    }
    if (!tc_map_get(&x->owning->streaks, who, &streak) ||
        !rests_from_the_start(x, variable, grad, streak))
        return;
    struct resting *rest = tc_map_struct(&each->rests, who, sizeof(*rest));
    if (!is_known)
        rest_begins(rest, x, key, situation, variable);
    rest->steps = streak;
}

/* Has another optimizer stepped it later, as that of a second phase? */
static bool is_moved_later(const struct resting *rest)
{
    const struct tc_variable *now = tc_process_variable(rest->process, rest->variable.serial);

    return now && now->data != now->first_data;
}

/* The run is over: what has rested from its start is known to. */
static void tell_resting(const struct each_state *each, struct tc_strtab *symbols,
                         const struct tc_event *event, const struct tc_sink *sink)
{
    const tc_sym outcome = TC_ATOM(symbols, TC_SYM_DATA, TC_SYM_UNCHANGED);
    const struct resting *rest;

    for (size_t pos = 0; (rest = tc_map_next(&each->rests, &pos));) {
        if (is_moved_later(rest))
            continue;
        const struct tc_example example = {.key = rest->key,
                                           .situation = &rest->situation,
                                           .outcome = &outcome,
                                           .n_outcome = 1,
                                           .variable = &rest->variable,
                                           .place = &rest->place,
                                           .detail = rest};
        sink->example(sink->context, event, &example);
    }
}

static void each_variable(const struct each_example *x, const struct tc_variable *variable,
                          tc_sym kind, enum tc_since_step since)
{
    const struct tc_call *call = x->event->call;
    tc_sym grad = grad_read(call, variable);
    struct tc_situation situation = *x->base;
    tc_sym outcome[MAX_OUTCOMES], key = TC_ATOM(x->symbols, call->descriptor, kind);
    tc_excuses excuses;
    size_t n = outcome_of(x, variable, since, grad, outcome, &excuses);

    tc_situation_add_variable(&situation, variable, grad);
    tc_situation_sort(&situation);
    if (call->role == TC_ROLE_STEP && variable->has_data)
        follow_rest(x, key, &situation, variable, grad, excuses);
    if (!n) {
        tc_sink_excuse(x->sink, key, tc_excuse_first(excuses, TC_SYM_DATA));
        return;
    }
    struct tc_example example = {.key = key,
                                 .situation = &situation,
                                 .outcome = outcome,
                                 .n_outcome = n,
                                 .excuses = excuses,
                                 .variable = variable};
    x->sink->example(x->sink->context, x->event, &example);
}

/* Parameters that an optimizer steps and that require a gradient. */
static void each_owned(const struct each_example *x)
{
    const struct tc_call *call = x->event->call;

    for (size_t i = 0; i < call->n_params; i++) {
        const struct tc_variable *v = tc_process_variable(x->event->process, call->params[i]);
        if (v && v->requires_grad)
            each_variable(x, v, v->kind, call->since_step ? call->since_step[i] : TC_SINCE_UNKNOWN);
    }
}

/* An average of a model that a script keeps moves from the second step on at the latest, when what
 * it follows has. */
#define STEPS_TO_MOVE 2

/* What moves in training stands in evaluation. */
static void follow_moving(const struct each_example *x, const struct tc_variable *v)
{
    const struct tc_call *call = x->event->call;
    const uint64_t serial = (uint64_t)v->serial;
    const bool changed = v->data_cause >= call->id;

    if (tc_call_is_training(call) && changed)
        tc_map_put(&x->owning->moving, serial, 1);
    if (tc_call_is_training(call) || !v->has_data ||
        !tc_map_get(&x->owning->moving, serial, &(uint64_t){0}))
        return;
    if (x->event->process->world > 1) {
        tc_sink_excuse(x->sink, TC_ATOM(x->symbols, call->descriptor, TC_SYM_MOVING_BUFFER),
                       TC_EXCUSE_EXCHANGED);
        return;
    }
    struct tc_situation situation = *x->base;
    const tc_sym outcome =
        TC_ATOM(x->symbols, TC_SYM_DATA, changed ? TC_SYM_CHANGED : TC_SYM_UNCHANGED);
    tc_situation_add_variable(&situation, v, v->grad);
    tc_situation_sort(&situation);
    const struct tc_example example = {
        .key = TC_ATOM(x->symbols, call->descriptor, TC_SYM_MOVING_BUFFER),
        .situation = &situation,
        .outcome = &outcome,
        .n_outcome = 1,
        .variable = v};
    x->sink->example(x->sink->context, x->event, &example);
}

static enum tc_excuse excuse_of_buffer(const struct tc_event *event, bool is_frozen)
{
    if (is_frozen)
        return event->call->step < STEPS_TO_MOVE ? TC_EXCUSE_EARLY : TC_EXCUSE_NONE;
    return event->process->world > 1 ? TC_EXCUSE_EXCHANGED : TC_EXCUSE_NONE;
}

/* Buffers of a root that ran, the call's own or one inside of it. */
static void each_buffer_of(const struct each_example *x, int64_t root, bool is_own)
{
    struct tc_modules modules;
    const struct tc_variable *v;

    tc_modules_find(&x->each->modules, x->symbols, x->event->process, root, x->event->call->step,
                    &modules);
    for (size_t pos = 0; (v = tc_map_next(&x->event->process->variables, &pos));) {
        if (v->kind != TC_SYM_BUFFER || v->root != root)
            continue;
        if (is_own)
            follow_moving(x, v);
        bool is_frozen = tc_modules_rest(&modules, &x->each->modules, x->symbols, v) &&
                         !tc_modules_are_fresh(&modules, &x->each->modules, x->symbols, v);
        tc_sym kind = is_frozen ? TC_SYM_FROZEN_BUFFER : v->kind;
        enum tc_excuse excuse = excuse_of_buffer(x->event, is_frozen);
        if (!is_own && !is_frozen)
            continue;
        if (excuse)
            tc_sink_excuse(x->sink, TC_ATOM(x->symbols, x->event->call->descriptor, kind), excuse);
        else
            each_variable(x, v, kind, TC_SINCE_UNKNOWN);
    }
    tc_modules_release(&modules);
}

/* A root that trained for itself before may stand inside of another one now, as a teacher beside
 * its student: it ran where one of its buffers has changed. */
static void each_buffer(const struct each_example *x)
{
    const struct tc_call *call = x->event->call;
    const int64_t root = tc_serial_of(call->self);
    struct tc_map inside = TC_MAP_INIT;
    const struct tc_variable *v;
    bool is_new;

    each_buffer_of(x, root, true);
    for (size_t pos = 0; (v = tc_map_next(&x->event->process->variables, &pos));) {
        if (v->kind != TC_SYM_BUFFER || v->root == root || v->root == TC_NONE ||
            v->data_cause < call->id)
            continue;
        tc_map_at(&inside, (uint64_t)v->root, &is_new);
        if (is_new)
            each_buffer_of(x, v->root, false);
    }
    tc_map_release(&inside);
}

static void each_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    struct tc_situation base;
    struct each_example x = {state, NULL, symbols, event, sink, &base};

    if (event->kind == TC_EVENT_FINISH)
        tell_resting(state, symbols, event, sink);
    if (!tc_is_subject(event) || (event->call->role != TC_ROLE_STEP && !event->call->is_root))
        return;
    x.owning = tc_process_state(state, event->process);
    tc_situation_of_call(&base, symbols, event->process, event->call, false);
    if (event->call->role == TC_ROLE_STEP)
        each_owned(&x);
    else
        each_buffer(&x);
}

/* Of each variable of a kind, an attribute; an optimizer that is built anew for a second stage is a
 * choice. A value that is still the same is explained by what is known of the variable, see
 * each_explain(). */
#define CLAIM(kind_, attr_, to_, other_, of_, support_, expected_, seen_)             \
    {                                                                                 \
        .key = {TC_BLANK_CALL, TC_BLANK_KIND}, .calls = {TC_BLANK_CALL}, .of = (of_), \
        .kind = (kind_), .attr = (attr_), .to = (to_), .held = {(attr_), (to_)},      \
        .broken = {(attr_), (other_)}, .if_met = true, .support = (support_),         \
        .expected = (expected_), .seen = (seen_)                                      \
    }

static const struct tc_claim claims[] = {
    CLAIM(TC_SYM_PARAMETER, TC_SYM_DATA, TC_SYM_CHANGED, TC_SYM_UNCHANGED, TC_PARAM_CHANGE,
          TC_SUPPORT_LAW, "%c changes data of each %k that requires a gradient", NULL),
    CLAIM(TC_SYM_PARAMETER, TC_SYM_CLEARED, TC_SYM_TRUE, TC_SYM_FALSE, TC_PARAM_VARIABLE,
          TC_SUPPORT_LAW,
          "before %c the gradient of each %k was cleared (zero_grad) since the last step",
          "%v still had the gradient of the step before: it was added to, not replaced%r"),
    CLAIM(TC_SYM_PARAMETER, TC_SYM_KEPT, TC_SYM_TRUE, TC_SYM_FALSE, TC_PARAM_VARIABLE,
          TC_SUPPORT_HABIT, "between two calls of %c data of each %k is not written to",
          "%v was written to since the step before, by no call that loads weights%r%w"),
    CLAIM(TC_SYM_PARAMETER, TC_SYM_OPTIMIZER, TC_SYM_TRUE, TC_SYM_FALSE, TC_PARAM_VARIABLE,
          TC_SUPPORT_OWN, "%c of one optimizer alone changes each %k",
          "%v was stepped by another optimizer before%r"),
    CLAIM(TC_SYM_BUFFER, TC_SYM_DATA, TC_SYM_UNCHANGED, TC_SYM_CHANGED, TC_PARAM_CHANGE,
          TC_SUPPORT_LAW, "%c leaves data of each %k as it is", "%v changed%r"),
    CLAIM(TC_SYM_FROZEN_BUFFER, TC_SYM_DATA, TC_SYM_UNCHANGED, TC_SYM_CHANGED, TC_PARAM_CHANGE,
          TC_SUPPORT_LAW, "%c leaves data of each buffer of a frozen module as it is",
          "%v changed%r"),
    CLAIM(TC_SYM_MOVING_BUFFER, TC_SYM_DATA, TC_SYM_UNCHANGED, TC_SYM_CHANGED, TC_PARAM_CHANGE,
          TC_SUPPORT_LAW,
          "%c in evaluation mode leaves data of each buffer that training moves as it is",
          "%v changed%r"),
};

/* What buffers are for depends on their module: a mask stays, statistics need not. What training
 * moves is no mask. */
static bool each_has_context(const struct tc_strtab *symbols, const struct tc_param *params,
                             tc_sym field)
{
    (void)symbols;
    return params[1].kind == TC_PARAM_CHANGE && field == TC_SYM_F_V_OWNER &&
           params[1].name != TC_SYM_PARAMETER && params[1].name != TC_SYM_MOVING_BUFFER;
}

/* A dtype of half the digits, whose steps may be wider than an update; else NULL. */
static const char *half_of(const struct tc_strtab *symbols, tc_sym dtype)
{
    static const char *const halves[] = {"bfloat16", "float16"};
    const char *text = dtype == TC_NO_SYM ? "" : tc_strtab_text(symbols, dtype);

    for (size_t i = 0; i < sizeof(halves) / sizeof(*halves); i++)
        if (strstr(text, halves[i]))
            return halves[i];
    return NULL;
}

/* Why it did not change, as far as its gradient tells. */
static void each_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                         const struct tc_event *event, const struct tc_example *example,
                         struct tc_strbuf *out)
{
    const struct tc_variable *v = example->variable;
    const struct resting *rest = example->detail;
    const uint64_t steps = rest ? rest->steps : STEPS_OF_A_PHASE;

    (void)invariant;
    tc_strbuf_adds(out, tc_strtab_text(symbols, v->name));
    if (v->grad == TC_SYM_GRAD_NULL)
        tc_strbuf_addf(out, " has no gradient, and %llu steps have not changed it",
                       (unsigned long long)steps);
    else if (is_computed_zero(v, TC_SYM_ZERO))
        tc_strbuf_addf(out, " has had a gradient of zero alone, and %llu steps have not changed it",
                       (unsigned long long)steps);
    else
        tc_strbuf_addf(out, " stayed the same for %u calls in a row", calls_that_count(v));
    if (half_of(symbols, v->dtype))
        tc_strbuf_addf(out, ", in torch.%s, which rounds small steps away",
                       half_of(symbols, v->dtype));
    if (!rest)
        tc_explain_receiver(event, out);
    else if (rest->object != TC_NO_SYM)
        tc_strbuf_addf(out, " (%s)", tc_strtab_text(symbols, rest->object));
}

const struct tc_source tc_source_owned = {
    .name = "owned",
    .judged = "the return of an optimizer step or of a root forward, for each variable; of what "
              "no step changes, the end of the run",
    .is_set = true,
    .state_size = sizeof(struct each_state),
    .release = each_release,
    .process_size = sizeof(struct owning),
    .release_process = release_owning,
    .observe = each_observe,
};

const struct tc_relation tc_event_contain_each = {
    .name = "EventContain/each",
    .summary = "a call changes every variable its receiver owns, or finds every gradient cleared",
    .hint = "Does this variable get a gradient, is it the tensor the model uses, and is zero_grad "
            "called in every step?",
    .lag = STEPS_AFTER_A_CHANGE - 1,
    .source = &tc_source_owned,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
    .has_context = each_has_context,
    .explain = each_explain,
};
