/*
 * api_sequence_run.c - APISequence over a whole run and over its set-up sections
 *
 *   run      the first Ib of a run has an Ia before it
 *   follow   after Ia, which loads state, comes Ib before the next root forward
 *
 * Both have one example each time the later call, or the next root forward, comes. Calls made by
 * torch's own constructors count for neither.
 */
#include "relation/form.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "invariant/describe.h"
#include "replay/symbols.h"

/* Calls that mark the course of a run; layers and functions do not. */
static bool is_mark(const struct tc_strtab *symbols, const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    if (event->kind != TC_EVENT_CALL || call->raised || call->th != 0 || event->process->is_worker)
        return false;
    return !tc_is_by_torch(symbols, call) &&
           (call->is_root || call->role == TC_ROLE_LOAD || call->role == TC_ROLE_MODE ||
            tc_role_has(call->role, TC_TRAIT_MEMBER));
}

static void add_unique(tc_sym *set, size_t *n, size_t max, tc_sym sym)
{
    size_t i = 0;

    while (i < *n && set[i] < sym)
        i++;
    if ((i < *n && set[i] == sym) || *n == max)
        return;
    memmove(&set[i + 1], &set[i], (*n - i) * sizeof(*set));
    set[i] = sym;
    ++*n;
}

static void set_situation(struct tc_situation *situation, struct tc_strtab *symbols,
                          const struct tc_event *event)
{
    const struct tc_value *strict = tc_value_get(event->call->args, "strict");

    situation->n = 0;
    if (strict && tc_value_class(symbols, strict) != TC_NO_SYM)
        tc_situation_set(situation, tc_strtab_intern_text(symbols, "args.strict"),
                         tc_value_class(symbols, strict));
}

/* ---- run ----------------------------------------------------------------------------------- */

#define MAX_MARKS 64

struct course {
    tc_sym seen[MAX_MARKS], before[MAX_MARKS]; /* all marks; those that may be the first of two */
    size_t n, n_before;
    bool is_running; /* the loop has begun */
};

struct run_state {
    struct tc_map courses; /* process → struct course * */
};

static void *run_open(void)
{
    return tc_calloc(1, sizeof(struct run_state));
}

static void free_values(struct tc_map *map)
{
    uint64_t key, value;

    for (size_t pos = 0; tc_map_each(map, &pos, &key, &value);)
        tc_free((void *)(uintptr_t)value);
    tc_map_release(map);
}

static void run_close(void *state)
{
    free_values(&((struct run_state *)state)->courses);
    tc_free(state);
}

/* What every step does is ordered by its window: the first such call stands for the loop, and none
 * is the first of two. What comes before a change of mode is no rule. */
static bool is_every_steps(const struct tc_call *call)
{
    return call->is_root || call->role == TC_ROLE_BACKWARD || call->role == TC_ROLE_STEP ||
           call->role == TC_ROLE_ZERO_GRAD;
}

static void run_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                        const struct tc_sink *sink)
{
    struct run_state *s = state;
    struct tc_situation situation;
    bool is_new;

    /* Once sampling has left out a step, what came before is not known. */
    if (!is_mark(symbols, event) || event->process->n_gaps)
        return;
    uint64_t *slot = tc_map_at(&s->courses, (uintptr_t)event->process, &is_new);
    if (is_new)
        *slot = (uintptr_t)tc_calloc(1, sizeof(struct course));
    struct course *course = (struct course *)(uintptr_t)*slot;
    if (tc_outcome_has(course->seen, course->n, event->call->descriptor))
        return;
    set_situation(&situation, symbols, event);
    struct tc_example example = {.key = event->call->descriptor,
                                 .situation = &situation,
                                 .outcome = course->before,
                                 .n_outcome = course->n_before};
    bool is_loop = is_every_steps(event->call);
    if (event->call->role != TC_ROLE_MODE && !(is_loop && course->is_running))
        sink->example(sink->context, event, &example);
    add_unique(course->seen, &course->n, MAX_MARKS, event->call->descriptor);
    if (!is_loop)
        add_unique(course->before, &course->n_before, MAX_MARKS, event->call->descriptor);
    course->is_running |= is_loop;
}

/* ---- follow -------------------------------------------------------------------------------- */

struct section_call {
    tc_sym descriptor;
    bool is_load;
    struct tc_situation situation;
};

struct section {
    TC_VEC(struct section_call) calls; /* since the last root forward */
    bool has_load;
    unsigned n_gaps; /* of the process when the section began */
};

struct follow_state {
    struct tc_map sections; /* process → struct section * */
};

static void *follow_open(void)
{
    return tc_calloc(1, sizeof(struct follow_state));
}

static void follow_close(void *state)
{
    struct follow_state *s = state;
    uint64_t process, section;

    for (size_t pos = 0; tc_map_each(&s->sections, &pos, &process, &section);)
        tc_vec_release(&((struct section *)(uintptr_t)section)->calls);
    free_values(&s->sections);
    tc_free(s);
}

/* What came after call i, up to the next call of the same API. */
static size_t followers(const struct section *section, size_t i, tc_sym out[MAX_MARKS])
{
    size_t n = 0;

    for (size_t j = i + 1; j < section->calls.n; j++) {
        if (section->calls.items[j].descriptor == section->calls.items[i].descriptor)
            break;
        add_unique(out, &n, MAX_MARKS, section->calls.items[j].descriptor);
    }
    return n;
}

static void judge_section(const struct section *section, const struct tc_event *event,
                          const struct tc_sink *sink)
{
    for (size_t i = 0; i < section->calls.n; i++) {
        tc_sym outcome[MAX_MARKS];
        if (!section->calls.items[i].is_load)
            continue;
        struct tc_example example = {.key = section->calls.items[i].descriptor,
                                     .situation = &section->calls.items[i].situation,
                                     .outcome = outcome,
                                     .n_outcome = followers(section, i, outcome)};
        sink->example(sink->context, event, &example);
    }
}

static void begin_section(struct section *section, const struct tc_process *process)
{
    section->calls.n = 0;
    section->has_load = false;
    section->n_gaps = process->n_gaps;
}

#define MAX_SECTION 256

static void follow_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    struct follow_state *s = state;
    bool is_new;

    if (!is_mark(symbols, event) || (event->call->parent && !event->call->is_root))
        return;
    uint64_t *slot = tc_map_at(&s->sections, (uintptr_t)event->process, &is_new);
    if (is_new)
        *slot = (uintptr_t)tc_calloc(1, sizeof(struct section));
    struct section *section = (struct section *)(uintptr_t)*slot;
    if (section->n_gaps != event->process->n_gaps)
        begin_section(section, event->process);
    if (event->call->is_root) {
        if (section->has_load)
            judge_section(section, event, sink);
        begin_section(section, event->process);
        return;
    }
    if (section->calls.n == MAX_SECTION)
        return;
    struct section_call call = {.descriptor = event->call->descriptor,
                                .is_load = event->call->role == TC_ROLE_LOAD};
    set_situation(&call.situation, symbols, event);
    section->has_load |= call.is_load;
    tc_vec_push(&section->calls, call);
}

/* ---- both ---------------------------------------------------------------------------------- */

/* The code of one pipeline decides about order: it takes seven to make a rule. */
#define MIN_PIPELINES 7

static void propose_calls(tc_sym key, const struct tc_outcomes *outcomes, bool key_first,
                          struct tc_hypotheses *out)
{
    struct tc_map seen = TC_MAP_INIT;

    for (size_t i = 0; i < outcomes->n; i++) {
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++) {
            tc_sym other = outcomes->outcome[i][j];
            struct tc_hypothesis h = {
                .n_params = 2, .min_pipelines = MIN_PIPELINES, .min_support = 1};
            if (!tc_is_first(&seen, other))
                continue;
            h.params[0] = tc_param_call(key_first ? key : other, TC_SYM_EMPTY);
            h.params[1] = tc_param_call(key_first ? other : key, TC_SYM_EMPTY);
            tc_vec_push(&out->items, h);
        }
    }
    tc_map_release(&seen);
}

static void run_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                        struct tc_hypotheses *out)
{
    (void)symbols;
    propose_calls(key, outcomes, false, out);
}

static void follow_propose(struct tc_strtab *symbols, tc_sym key,
                           const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    (void)symbols;
    propose_calls(key, outcomes, true, out);
}

static bool are_two_calls(const struct tc_param *params, size_t n)
{
    return n == 2 && params[0].kind == TC_PARAM_CALL && params[1].kind == TC_PARAM_CALL;
}

static tc_sym run_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    (void)symbols;
    return are_two_calls(params, n_params) ? params[1].name : TC_NO_SYM;
}

static tc_sym follow_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    (void)symbols;
    return are_two_calls(params, n_params) ? params[0].name : TC_NO_SYM;
}

static enum tc_outcome run_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                 size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    (void)symbols;
    (void)n_params;
    return tc_outcome_has(outcome, n_outcome, params[0].name) ? TC_HELD : TC_BROKEN;
}

static enum tc_outcome follow_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                    size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    (void)symbols;
    (void)n_params;
    return tc_outcome_has(outcome, n_outcome, params[1].name) ? TC_HELD : TC_BROKEN;
}

/* a before c is implied by a before b and b before c; of two calls that each wait for the other one
 * is enough. */
static bool has_pair(const struct tc_invariant_set *set, tc_sym a, tc_sym b)
{
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        if (x->n_when == 0 && x->params[0].name == a && x->params[1].name == b)
            return true;
    }
    return false;
}

static bool is_chained(const struct tc_invariant_set *set, const struct tc_invariant *pair)
{
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_invariant *x = set->items.items[i];
        tc_sym between = x->params[1].name;
        if (x != pair && x->n_when == 0 && x->params[0].name == pair->params[0].name &&
            has_pair(set, between, pair->params[1].name) &&
            !has_pair(set, pair->params[1].name, between))
            return true;
    }
    return false;
}

static void condense(const struct tc_rows *rows, struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    (void)rows;
    tc_invariant_set_sort(set);
    for (size_t i = 0; i < set->items.n; i++)
        drop[i] = is_chained(set, set->items.items[i]);
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

static void run_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                         size_t n_params, struct tc_strbuf *out)
{
    (void)n_params;
    tc_describe_call(symbols, params[0].name, out);
    tc_strbuf_adds(out, " comes before the first ");
    if (params[1].name == TC_SYM_ROOT_FORWARD)
        tc_strbuf_adds(out, "root forward");
    else
        tc_describe_call(symbols, params[1].name, out);
    tc_strbuf_adds(out, " of a run");
}

static void follow_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                            size_t n_params, struct tc_strbuf *out)
{
    (void)n_params;
    tc_strbuf_adds(out, "after ");
    tc_describe_call(symbols, params[0].name, out);
    tc_strbuf_adds(out, " comes ");
    tc_describe_call(symbols, params[1].name, out);
    tc_strbuf_adds(out, " before the model runs again");
}

static void explain_list(struct tc_strtab *symbols, const struct tc_example *example,
                         struct tc_strbuf *out)
{
    for (size_t i = 0; i < example->n_outcome; i++) {
        tc_strbuf_adds(out, tc_describe_join(i, example->n_outcome));
        tc_describe_call(symbols, example->outcome[i], out);
    }
    if (!example->n_outcome)
        tc_strbuf_adds(out, "nothing");
}

static void run_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                        const struct tc_event *event, const struct tc_example *example,
                        struct tc_strbuf *out)
{
    (void)event;
    tc_describe_call(symbols, invariant->params[0].name, out);
    tc_strbuf_adds(out, " was not called before; what came was ");
    explain_list(symbols, example, out);
}

static void follow_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                           const struct tc_event *event, const struct tc_example *example,
                           struct tc_strbuf *out)
{
    (void)event;
    tc_describe_call(symbols, invariant->params[1].name, out);
    tc_strbuf_adds(out, " did not come; what came was ");
    explain_list(symbols, example, out);
}

const struct tc_source tc_source_run = {
    .name = "run",
    .is_set = true,
    .open = run_open,
    .close = run_close,
    .observe = run_observe,
    .condense = condense,
};

const struct tc_source tc_source_follow = {
    .name = "follow",
    .is_set = true,
    .open = follow_open,
    .close = follow_close,
    .observe = follow_observe,
    .condense = condense,
};

const struct tc_relation tc_api_sequence_run = {
    .name = "APISequence/run",
    .summary = "the first call of one API in a run has a call of another before it",
    .hint = "Is a call of the set-up missing?",
    .fault = TC_FAULT_MISSING,
    .source = &tc_source_run,
    .propose = run_propose,
    .key = run_key,
    .holds = run_holds,
    .describe = run_describe,
    .explain = run_explain,
};

const struct tc_relation tc_api_sequence_follow = {
    .name = "APISequence/follow",
    .summary = "after state is loaded comes another call, before the model runs again",
    .hint = "Is a part of the state not restored?",
    .fault = TC_FAULT_MISSING,
    .source = &tc_source_follow,
    .propose = follow_propose,
    .key = follow_key,
    .holds = follow_holds,
    .describe = follow_describe,
    .explain = follow_explain,
};
