/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_run.c - APISequence over a whole run and over its set-up sections
 *
 *   run      before the training loop begins there is an Ia
 *   follow   after Ia, which loads state, comes Ib, which loads as well, before the next root
 *            forward
 *
 * A process gives one example of `run`, when its loop begins; of `follow` one for each load when
 * the next root forward comes. Calls made by torch's own constructors count for neither.
 */
#include "relation/form.h"
#include "relation/loaded.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "invariant/describe.h"
#include "replay/symbols.h"

/* A call that returned, of the thread that trains. */
static bool is_of_the_script(const struct tc_strtab *symbols, const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    return event->kind == TC_EVENT_CALL && !call->raised && call->th == 0 &&
           !event->process->is_worker && !tc_is_by_torch(symbols, call);
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

/* ---- run ----------------------------------------------------------------------------------- */

#define MAX_MARKS 64
#define MAX_USES  16

struct course {
    /* What the script called before the loop, what libraries did ("done API"), and which packages
     * are known. */
    tc_sym marks[MAX_MARKS];
    size_t n;
    struct tc_situation uses; /* of classes that a library called on its own account */
    bool is_running;          /* the loop has begun, at this place */
    struct tc_place begin;
    bool is_told;
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

static bool is_loop(const struct tc_call *call)
{
    return call->is_root || call->role == TC_ROLE_BACKWARD || call->role == TC_ROLE_STEP;
}

/* Calls that prepare a loop. Modules are born in training mode and without gradients: to set the
 * one and to clear the others is a habit. Whether there is state to load is each script's business;
 * which loads belong together is what `follow` says. */
static bool is_preparation(const struct tc_call *call)
{
    return tc_role_has(call->role, TC_TRAIT_MEMBER) && call->role != TC_ROLE_ZERO_GRAD;
}

/* "known accelerate" of the API accelerate.Accelerator.prepare. */
static tc_sym known_package(struct tc_strtab *symbols, tc_sym fn)
{
    const char *name = tc_strtab_text(symbols, fn);
    tc_sym package = tc_strtab_intern(symbols, name, strcspn(name, "."));

    return tc_token_of(symbols, "known", package);
}

/* Of several objects of a class one that has the flag set is enough. */
static void set_use(struct course *course, tc_sym field, tc_sym value)
{
    for (size_t i = 0; i < course->uses.n; i++)
        if (course->uses.pairs[i].field == field && course->uses.pairs[i].value == TC_SYM_TRUE)
            return;
    if (course->uses.n < MAX_USES)
        tc_situation_set(&course->uses, field, value);
}

/* The class of the method fn is in use, on an object with these flags. */
static void add_use(struct course *course, struct tc_strtab *symbols, const struct tc_call *call)
{
    const struct tc_value *attrs = tc_value_get(call->self, "attrs");
    tc_sym class = tc_class_of(symbols, "uses_of.", call->fn);

    set_use(course, tc_class_of(symbols, "uses.", call->fn), TC_SYM_TRUE);
    for (uint32_t i = 0; attrs && attrs->kind == TC_VALUE_OBJECT && i < attrs->n; i++) {
        const struct tc_member *flag = &attrs->members[i];
        struct tc_strbuf prefix = TC_STRBUF_INIT;
        if (flag->value.kind != TC_VALUE_BOOL)
            continue;
        tc_strbuf_addf(&prefix, "%s.", tc_strtab_text(symbols, class));
        set_use(course, tc_symbols_join(symbols, prefix.text, flag->key),
                tc_symbols_bool(flag->value.boolean));
        tc_strbuf_release(&prefix);
    }
}

static struct course *course_of(struct run_state *s, const struct tc_process *process)
{
    return tc_map_struct(&s->courses, (uintptr_t)process, sizeof(struct course));
}

static void on_call(struct course *course, struct tc_strtab *symbols, const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    if (call->role == TC_ROLE_LIBRARY) {
        add_unique(course->marks, &course->n, MAX_MARKS, known_package(symbols, call->fn));
        if (!tc_is_by_the_user(symbols, call))
            add_use(course, symbols, call);
    }
    if (course->is_running)
        return;
    if (is_loop(call)) {
        course->is_running = true;
        tc_place_of(event, &course->begin);
    } else if (is_preparation(call)) {
        bool is_own = tc_is_by_the_user(symbols, call);
        add_unique(course->marks, &course->n, MAX_MARKS,
                   is_own ? call->descriptor : tc_token_of(symbols, "done", call->descriptor));
    }
}

static void run_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                        const struct tc_sink *sink)
{
    if (!event->process)
        return;
    struct course *course = course_of(state, event->process);
    if (course->is_told)
        return;
    /* Once sampling has left out a step, what came before is not known. */
    if (event->process->n_gaps) {
        tc_sink_excuse(sink, TC_SYM_ROOT_FORWARD, TC_EXCUSE_GAP);
        course->is_told = true;
        return;
    }
    if (is_of_the_script(symbols, event))
        on_call(course, symbols, event);
    if (!tc_is_step_window(event) || !course->is_running)
        return;
    course->is_told = true;
    struct tc_situation situation = course->uses;
    tc_situation_set(&situation, TC_SYM_F_WORLD,
                     event->process->world > 1 ? TC_SYM_MANY : TC_SYM_ONE);
    tc_situation_sort(&situation);
    struct tc_example example = {.key = TC_SYM_ROOT_FORWARD,
                                 .situation = &situation,
                                 .outcome = course->marks,
                                 .n_outcome = course->n,
                                 .place = &course->begin};
    sink->example(sink->context, event, &example);
}

/* ---- follow -------------------------------------------------------------------------------- */

struct load {
    tc_sym descriptor;
    struct tc_situation situation;
    struct tc_loaded loaded;
};

struct section {
    TC_VEC(struct load) loads; /* since the last root forward */
    unsigned n_gaps;           /* of the process when the section began */
    tc_sym saved[MAX_MARKS];   /* "known CLASS" of all whose state was saved so far */
    size_t n_saved;
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
        tc_vec_release(&((struct section *)(uintptr_t)section)->loads);
    free_values(&s->sections);
    tc_free(s);
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

/* What came after load i, up to the next call of the same API; and what was saved before. */
static size_t followers(const struct section *section, size_t i, tc_sym out[MAX_MARKS])
{
    size_t n = section->n_saved;

    memcpy(out, section->saved, n * sizeof(*out));
    for (size_t j = i + 1; j < section->loads.n; j++) {
        if (section->loads.items[j].descriptor == section->loads.items[i].descriptor)
            break;
        add_unique(out, &n, MAX_MARKS, section->loads.items[j].descriptor);
    }
    return n;
}

static void judge_section(const struct section *section, const struct tc_strtab *symbols,
                          const struct tc_event *event, const struct tc_sink *sink)
{
    for (size_t i = 0; i < section->loads.n; i++) {
        if (tc_loaded_is_data(&section->loads.items[i].loaded, symbols, event->process)) {
            tc_sink_excuse(sink, section->loads.items[i].descriptor, TC_EXCUSE_DATA_SET);
            continue;
        }
        tc_sym outcome[MAX_MARKS];
        struct tc_example example = {.key = section->loads.items[i].descriptor,
                                     .situation = &section->loads.items[i].situation,
                                     .outcome = outcome,
                                     .n_outcome = followers(section, i, outcome)};
        sink->example(sink->context, event, &example);
    }
}

static void begin_section(struct section *section, const struct tc_process *process)
{
    section->loads.n = 0;
    section->n_gaps = process->n_gaps;
}

/* What followed the loads may have been left out. */
static void excuse_section(struct section *section, const struct tc_process *process,
                           const struct tc_sink *sink)
{
    for (size_t i = 0; i < section->loads.n; i++)
        tc_sink_excuse(sink, section->loads.items[i].descriptor, TC_EXCUSE_GAP);
    begin_section(section, process);
}

static struct section *section_of(struct follow_state *s, const struct tc_process *process)
{
    return tc_map_struct(&s->sections, (uintptr_t)process, sizeof(struct section));
}

#define MAX_SECTION 256

static void follow_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    if (!is_of_the_script(symbols, event))
        return;
    if (event->call->role == TC_ROLE_SAVE) {
        struct section *section = section_of(state, event->process);
        add_unique(section->saved, &section->n_saved, MAX_MARKS,
                   tc_class_of(symbols, "known ", event->call->fn));
        return;
    }
    bool is_load = event->call->role == TC_ROLE_LOAD && !event->call->parent &&
                   tc_is_by_the_user(symbols, event->call);
    if (!is_load && !event->call->is_root)
        return;
    struct section *section = section_of(state, event->process);
    if (section->n_gaps != event->process->n_gaps)
        excuse_section(section, event->process, sink);
    if (event->call->is_root) {
        if (tc_is_training_forward(event->call))
            judge_section(section, symbols, event, sink);
        begin_section(section, event->process);
    } else if (section->loads.n < MAX_SECTION) {
        struct load load = {.descriptor = event->call->descriptor};
        set_situation(&load.situation, symbols, event);
        tc_loaded_read(&load.loaded, symbols, event->call->end->value);
        tc_vec_push(&section->loads, load);
    }
}

/* ---- both ---------------------------------------------------------------------------------- */

static bool is_known(const struct tc_strtab *symbols, tc_sym mark)
{
    return !strncmp(tc_strtab_text(symbols, mark), "known ", strlen("known "));
}

/* No call of the script: nothing is claimed of it. */
static bool is_aside(const struct tc_strtab *symbols, tc_sym mark)
{
    return is_known(symbols, mark) ||
           !strncmp(tc_strtab_text(symbols, mark), "done ", strlen("done "));
}

static void propose_calls(const struct tc_strtab *symbols, tc_sym key,
                          const struct tc_outcomes *outcomes, bool key_first,
                          struct tc_hypotheses *out)
{
    struct tc_map seen = TC_MAP_INIT;

    for (size_t i = 0; i < outcomes->n; i++) {
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++) {
            tc_sym other = outcomes->outcome[i][j];
            struct tc_hypothesis h = {.n_params = 2,
                                      /* The code of one pipeline decides about order. That what was
                                       * saved is restored is no coin. */
                                      .support = key_first ? TC_SUPPORT_USAGE : TC_SUPPORT_COIN,
                                      .min_examples = 1};
            if (!tc_is_first(&seen, other) || is_aside(symbols, other))
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
    propose_calls(symbols, key, outcomes, false, out);
}

static void follow_propose(struct tc_strtab *symbols, tc_sym key,
                           const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    propose_calls(symbols, key, outcomes, true, out);
}

static bool are_two_calls(const struct tc_param *params, size_t n)
{
    return n == 2 && params[0].kind == TC_PARAM_CALL && params[1].kind == TC_PARAM_CALL;
}

static tc_sym run_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    (void)symbols;
    return are_two_calls(params, n_params) && params[1].name == TC_SYM_ROOT_FORWARD
               ? TC_SYM_ROOT_FORWARD
               : TC_NO_SYM;
}

static tc_sym follow_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    (void)symbols;
    return are_two_calls(params, n_params) ? params[0].name : TC_NO_SYM;
}

static enum tc_outcome run_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                 size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    (void)n_params;
    if (tc_outcome_has(outcome, n_outcome, params[0].name))
        return TC_HELD;
    if (tc_outcome_has(outcome, n_outcome, tc_token_of(symbols, "done", params[0].name)))
        return TC_EXCUSED_BY_LIBRARY;
    if (!strncmp(tc_strtab_text(symbols, params[0].name), "torch.", strlen("torch.")))
        return TC_BROKEN;
    return tc_outcome_has(outcome, n_outcome, known_package(symbols, params[0].name))
               ? TC_BROKEN
               : TC_EXCUSED_PACKAGE_UNUSED;
}

static bool knows_any(const struct tc_strtab *symbols, const tc_sym *outcome, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_known(symbols, outcome[i]))
            return true;
    return false;
}

/* What the run itself saved it can restore, and no more; where it saved nothing, a run before it
 * did. */
static enum tc_outcome follow_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                    size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    (void)n_params;
    if (tc_outcome_has(outcome, n_outcome, params[1].name))
        return TC_HELD;
    if (!knows_any(symbols, outcome, n_outcome))
        return TC_BROKEN;
    return tc_outcome_has(outcome, n_outcome, tc_class_of(symbols, "known ", params[1].name))
               ? TC_BROKEN
               : TC_EXCUSED_NOT_SAVED;
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
    tc_strbuf_adds(out, " comes before the first root forward of a run");
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
    size_t n = 0;

    for (size_t i = 0; i < example->n_outcome; i++) {
        if (is_aside(symbols, example->outcome[i]))
            continue;
        tc_strbuf_adds(out, n++ ? ", " : "");
        tc_describe_call(symbols, example->outcome[i], out);
    }
    if (!n)
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
    .summary = "before the training loop of a run begins comes this call",
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
    .summary = "after state is loaded comes another load, before the model runs again",
    .hint = "Is a part of the state not restored?",
    .fault = TC_FAULT_MISSING,
    .source = &tc_source_follow,
    .excused_by = 1u << TC_ROLE_SAVE, /* what was not saved need not be restored */
    .propose = follow_propose,
    .key = follow_key,
    .holds = follow_holds,
    .describe = follow_describe,
    .explain = follow_explain,
};
