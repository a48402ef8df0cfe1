/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c - examples looked up by class, verdicts counted by invariant
 *
 * Invariants lie in groups by (source, key). An example becomes a tuple of numbers: source, key,
 * situation, outcome, excuses. The first example of a tuple is judged by all of its group, and the
 * answers are kept by the number of the tuple; each later one is counted. So nothing in an answer
 * may depend on where or when an example was met. Only a breach looks at the event.
 */
#include "check/engine.h"

#include <stdlib.h>
#include <string.h>

#include "check/consequence.h"
#include "check/coverage.h"
#include "replay/symbols.h"

/* The invariants of one (source, key). */
struct group {
    TC_VEC(uint32_t) judgements;
};

/* What one invariant says about a class of equal examples. */
struct verdict {
    uint32_t judgement;
    enum tc_outcome outcome; /* UNDECIDED: its context was never learned, or it was excused */
};

struct answer {
    TC_VEC(struct verdict) items;
};

struct tc_engine {
    struct tc_invariant_set *set;
    struct tc_strtab *symbols;
    struct tc_arena arena;
    TC_VEC(struct tc_judgement) judgements; /* one for each of the set */
    TC_VEC(uint32_t) told;                  /* judgements that results tell of */
    struct tc_map groups;                   /* (source, key) → struct group * */
    struct tc_strtab *arrays, *tuples;
    TC_VEC(struct answer) answers; /* by number of the tuple */
    void *states[TC_MAX_SOURCES];
    TC_VEC(uint32_t) used;  /* sources that an invariant asks for, in the order of tc_sources */
    TC_VEC(uint32_t) close; /* those of them that look closely */
    struct listeners {
        bool are_listed;
        TC_VEC(uint32_t) sources;
    } listeners[2 * TC_N_ROLES + TC_N_EVENT_KINDS]; /* of each sort of events */
    size_t source;                                  /* whose examples arrive */
    const char *trace;
    struct tc_timeline timeline;
    struct tc_coverage coverage;
    const char *const *lacking; /* why invariants are left alone in the process at hand, or NULL */
    bool is_sampled;            /* the traces are, as far as met */
    uint64_t run;               /* number of the trace */
    uint64_t n_example;         /* in the event at hand */
    tc_engine_found_fn *on_found;
    void *context;
};

/* Calls by their role, and whether they are a root's; then what else happens. */
static size_t sort_of(const struct tc_event *event)
{
    if (event->kind == TC_EVENT_CALL)
        return (size_t)2 * event->call->role + event->call->is_root;
    return (size_t)2 * TC_N_ROLES + event->kind;
}

static uint64_t group_id(size_t source, tc_sym key)
{
    return (uint64_t)source << 32 | key;
}

static struct group *group_at(struct tc_engine *engine, size_t source, tc_sym key)
{
    return tc_map_struct(&engine->groups, group_id(source, key), sizeof(struct group));
}

/* Whoever writes one by hand need not write the sentence. */
static void add_text(struct tc_engine *engine, const struct tc_relation *relation,
                     struct tc_invariant *invariant)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (invariant->text && *invariant->text)
        return;
    tc_relation_describe(relation, engine->symbols, invariant, &text);
    invariant->text = tc_arena_text(&engine->set->arena, text.text, text.size);
    tc_strbuf_release(&text);
}

/* The relation that judges it, and the key of its examples; NULL if the invariant stays unchecked:
 * of relations we do not know, or with params that no example could decide. */
static const struct tc_relation *judge_of(struct tc_engine *engine, struct tc_invariant *invariant,
                                          tc_sym *key)
{
    const struct tc_relation *relation;

    if (invariant->unchecked)
        return NULL;
    relation = tc_relation_find(tc_strtab_text(engine->symbols, invariant->relation));
    if (!relation) {
        invariant->unchecked = "its relation is not known to this version";
        return NULL;
    }
    *key = tc_relation_key(relation, engine->symbols, invariant->params, invariant->n_params);
    if (*key == TC_NO_SYM) {
        invariant->unchecked = "its params do not fit its relation";
        return NULL;
    }
    add_text(engine, relation, invariant);
    if (relation->undecidable)
        invariant->unchecked =
            relation->undecidable(engine->symbols, invariant->params, invariant->n_params);
    return invariant->unchecked ? NULL : relation;
}

static void add_judgement(struct tc_engine *engine, struct tc_invariant *invariant)
{
    struct tc_judgement judgement = {.invariant = invariant};
    tc_sym key;

    judgement.relation = judge_of(engine, invariant, &key);
    if (judgement.relation) {
        uint32_t source = tc_source_number(judgement.relation->source);
        struct group *group = group_at(engine, source, key);
        tc_vec_push(&group->judgements, (uint32_t)engine->judgements.n);
    }
    tc_vec_push(&engine->judgements, judgement);
}

static void list_sources(struct tc_engine *engine)
{
    bool is_used[TC_MAX_SOURCES] = {false};

    for (size_t i = 0; i < engine->judgements.n; i++)
        if (engine->judgements.items[i].relation)
            is_used[tc_source_number(engine->judgements.items[i].relation->source)] = true;
    for (uint32_t i = 0; tc_sources[i]; i++) {
        if (is_used[i])
            tc_vec_push(&engine->used, i);
        if (is_used[i] && tc_sources[i]->looks_closely)
            tc_vec_push(&engine->close, i);
    }
}

struct tc_engine *tc_engine_new(struct tc_invariant_set *set, struct tc_strtab *symbols)
{
    struct tc_engine *engine = tc_calloc(1, sizeof(*engine));

    engine->set = set;
    engine->symbols = symbols;
    engine->arrays = tc_strtab_new();
    engine->tuples = tc_strtab_new();
    for (size_t i = 0; i < set->items.n; i++)
        add_judgement(engine, set->items.items[i]);
    list_sources(engine);
    for (size_t i = 0; i < engine->judgements.n; i++)
        tc_vec_push(&engine->told, (uint32_t)i);
    return engine;
}

void tc_engine_free(struct tc_engine *engine)
{
    struct group *group;

    if (!engine)
        return;
    tc_sources_close(engine->states);
    for (size_t pos = 0; (group = tc_map_next(&engine->groups, &pos));)
        tc_vec_release(&group->judgements);
    for (size_t i = 0; i < engine->answers.n; i++)
        tc_vec_release(&engine->answers.items[i].items);
    tc_vec_release(&engine->answers);
    tc_map_release_structs(&engine->groups);
    tc_timeline_release(&engine->timeline);
    tc_coverage_release(&engine->coverage);
    tc_vec_release(&engine->judgements);
    tc_vec_release(&engine->used);
    tc_vec_release(&engine->close);
    for (size_t i = 0; i < sizeof(engine->listeners) / sizeof(engine->listeners[0]); i++)
        tc_vec_release(&engine->listeners[i].sources);
    tc_vec_release(&engine->told);
    tc_strtab_free(engine->arrays);
    tc_strtab_free(engine->tuples);
    tc_arena_release(&engine->arena);
    tc_free(engine);
}

void tc_engine_on_found(struct tc_engine *engine, tc_engine_found_fn *on_found, void *context)
{
    engine->on_found = on_found;
    engine->context = context;
}

static void expect(struct tc_engine *engine, const struct tc_judgement *j)
{
    const struct tc_source *source = j->relation ? j->relation->source : NULL;

    if (source && source->expect)
        source->expect(engine->states[tc_source_number(source)], engine->symbols, j->invariant);
}

void tc_engine_begin(struct tc_engine *engine, const char *trace)
{
    tc_sources_close(engine->states);
    tc_timeline_end_run(&engine->timeline);
    tc_coverage_reset(&engine->coverage);
    engine->lacking = NULL;
    engine->run++;
    engine->trace = tc_arena_text(&engine->arena, trace, strlen(trace));
    tc_sources_open(engine->states);
    for (size_t i = 0; i < engine->judgements.n; i++)
        expect(engine, &engine->judgements.items[i]);
}

/* ---- one class of examples ----------------------------------------------------------------- */

/* The attribute that it speaks of; TC_NO_SYM: of none. */
static tc_sym attribute_of(const struct tc_invariant *x)
{
    for (size_t i = 0; i < x->n_params; i++)
        if (x->params[i].kind == TC_PARAM_CHANGE || x->params[i].kind == TC_PARAM_VARIABLE)
            return x->params[i].attr;
    return TC_NO_SYM;
}

/* What the form says, or else what excuses the whole example, whichever comes first. */
static enum tc_outcome excused_as(const struct tc_invariant *x, enum tc_outcome outcome,
                                  tc_excuses excuses)
{
    if (tc_excuse_in(outcome))
        excuses |= TC_EXCUSE_BIT(tc_excuse_in(outcome));
    return tc_excused_by(tc_excuse_first(excuses, attribute_of(x)));
}

static void answer_for(struct tc_engine *engine, const struct group *group,
                       const struct tc_example *example, struct answer *answer)
{
    const struct tc_situation *s = example->situation;

    for (size_t i = 0; i < group->judgements.n; i++) {
        uint32_t number = group->judgements.items[i];
        const struct tc_judgement *j = &engine->judgements.items[number];
        const struct tc_invariant *x = j->invariant;
        enum tc_outcome outcome =
            tc_relation_holds(j->relation, engine->symbols, x->params, x->n_params,
                              example->outcome, example->n_outcome);
        const bool is_decided = !tc_is_undecided(outcome);
        if (!is_decided)
            outcome = excused_as(x, outcome, example->excuses);
        if (outcome == TC_UNDECIDED || !tc_when_holds(x->when, x->n_when, s->pairs, s->n))
            continue;
        if (!tc_context_is_known(j->relation, engine->symbols, x, s->pairs, s->n)) {
            if (!is_decided)
                continue;
            outcome = TC_UNDECIDED;
        }
        tc_vec_push(&answer->items, ((struct verdict){number, outcome}));
    }
}

static const struct answer *look_up(struct tc_engine *engine, const struct group *group,
                                    const struct tc_example *example)
{
    const struct tc_situation *s = example->situation;
    const tc_sym tuple[] = {(tc_sym)engine->source,
                            example->key,
                            tc_strtab_intern(engine->arrays, s->pairs, s->n * sizeof(*s->pairs)),
                            tc_strtab_intern(engine->arrays, example->outcome,
                                             example->n_outcome * sizeof(*example->outcome)),
                            (tc_sym)example->excuses,
                            (tc_sym)(example->excuses >> 32)};
    tc_sym number = tc_strtab_intern(engine->tuples, tuple, sizeof(tuple));

    if (number == engine->answers.n) {
        struct answer answer = {0};
        answer_for(engine, group, example, &answer);
        tc_vec_push(&engine->answers, answer);
    }
    return &engine->answers.items[number];
}

static void break_invariant(struct tc_engine *engine, struct tc_judgement *j,
                            const struct tc_event *event, const struct tc_example *example)
{
    const struct tc_breach breach = {.event = event,
                                     .example = example,
                                     .trace = engine->trace,
                                     .run = engine->run,
                                     .n = engine->n_example};

    if (j->violation) {
        tc_violation_repeat(j->violation, engine->symbols, &breach);
        return;
    }
    j->violation =
        tc_violation_new(&engine->arena, engine->symbols, j->invariant, j->relation, &breach);
    if (engine->on_found)
        engine->on_found(engine->context, j->violation);
}

static void leave_unchecked(struct tc_engine *engine, const struct group *group, const char *why)
{
    for (size_t i = 0; i < group->judgements.n; i++)
        engine->judgements.items[group->judgements.items[i]].unchecked = why;
}

static void excuse(struct tc_engine *engine, struct tc_judgement *j, enum tc_excuse why, uint64_t n)
{
    if (!j->excused) {
        const size_t size = TC_N_EXCUSES * sizeof(*j->excused);
        j->excused = tc_arena_alloc(&engine->arena, size);
        memset(j->excused, 0, size);
    }
    j->excused[why] += n;
}

/* No example tells whether the precondition of each was met. */
static void on_excused(void *context, tc_sym key, enum tc_excuse why)
{
    struct tc_engine *engine = context;
    const struct group *group = tc_map_find(&engine->groups, group_id(engine->source, key));

    for (size_t i = 0; group && i < group->judgements.n; i++) {
        uint32_t number = group->judgements.items[i];
        struct tc_judgement *j = &engine->judgements.items[number];
        if (tc_excuse_covers(why, attribute_of(j->invariant)) &&
            !(engine->lacking && engine->lacking[number]))
            excuse(engine, j, why, 1);
    }
}

static void on_example(void *context, const struct tc_event *event,
                       const struct tc_example *example)
{
    struct tc_engine *engine = context;
    const uint64_t n = tc_example_times(example);
    struct group *group = tc_map_find(&engine->groups, group_id(engine->source, example->key));

    engine->n_example++;
    if (!group)
        return;
    if (example->unchecked) {
        leave_unchecked(engine, group, example->unchecked);
        return;
    }
    const struct answer *answer = look_up(engine, group, example);
    for (size_t i = 0; i < answer->items.n; i++) {
        uint32_t number = answer->items.items[i].judgement;
        struct tc_judgement *j = &engine->judgements.items[number];
        enum tc_outcome outcome = answer->items.items[i].outcome;
        if (engine->lacking && engine->lacking[number])
            continue;
        j->held += outcome == TC_HELD ? n : 0;
        j->broken += outcome == TC_BROKEN ? n : 0;
        j->out_of_context += outcome == TC_UNDECIDED ? n : 0;
        if (outcome > TC_UNDECIDED)
            excuse(engine, j, tc_excuse_in(outcome), n);
        if (outcome == TC_BROKEN)
            break_invariant(engine, j, event, example);
    }
}

static void note_sampling(struct tc_engine *engine)
{
    engine->is_sampled = true;
    for (size_t i = 0; i < engine->judgements.n; i++)
        engine->judgements.items[i].is_sampled = true;
}

/* What comes from no process, of ranks that waited, is judged by what the last one traced. */
static void note_coverage(struct tc_engine *engine, const struct tc_process *process)
{
    bool is_new;

    engine->lacking =
        tc_coverage_of(&engine->coverage, process, engine->set, &engine->arena, &is_new);
    for (size_t i = 0; is_new && i < engine->judgements.n; i++)
        if (engine->lacking[i])
            engine->judgements.items[i].unchecked = engine->lacking[i];
}

/* The sources that have something to say of such an event: a rule names what it is asked about. */
static const struct listeners *listeners_of(struct tc_engine *engine, const struct tc_event *event)
{
    const bool is_close = tc_event_is_close(event);
    const uint32_t *all = is_close ? engine->close.items : engine->used.items;
    const size_t n = is_close ? engine->close.n : engine->used.n;
    struct listeners *listeners = &engine->listeners[sort_of(event)];

    for (size_t i = 0; !listeners->are_listed && i < n; i++)
        if (tc_source_hears(tc_sources[all[i]], event))
            tc_vec_push(&listeners->sources, all[i]);
    listeners->are_listed = true;
    return listeners;
}

void tc_engine_judge(void *context, const struct tc_event *event)
{
    struct tc_engine *engine = context;
    const struct tc_sink sink = {on_example, on_excused, engine};

    engine->n_example = 0;
    if (event->process && event->process->is_sampled && !engine->is_sampled)
        note_sampling(engine);
    if (event->process)
        note_coverage(engine, event->process);
    const struct listeners *listeners = listeners_of(engine, event);
    for (size_t i = 0; i < listeners->sources.n; i++) {
        engine->source = listeners->sources.items[i];
        tc_source_observe(tc_sources[engine->source], engine->states[engine->source],
                          engine->symbols, event, &sink);
    }
    tc_timeline_observe(&engine->timeline, engine->symbols, engine->trace, event);
}

bool tc_engine_looks_closely(const struct tc_engine *engine)
{
    return engine->close.n > 0;
}

size_t tc_engine_held(const struct tc_engine *engine)
{
    size_t sum = 0;

    for (size_t i = 0; i < engine->used.n; i++) {
        const uint32_t source = engine->used.items[i];
        if (tc_sources[source]->held)
            sum += tc_sources[source]->held(engine->states[source]);
    }
    return sum;
}

/* ---- results ------------------------------------------------------------------------------- */

void tc_engine_tell_of(struct tc_engine *engine, tc_engine_wanted_fn *is_wanted, void *context)
{
    engine->told.n = 0;
    for (size_t i = 0; i < engine->judgements.n; i++)
        if (is_wanted(context, &engine->judgements.items[i]))
            tc_vec_push(&engine->told, (uint32_t)i);
}

size_t tc_engine_count(const struct tc_engine *engine)
{
    return engine->told.n;
}

const struct tc_judgement *tc_engine_judgement(const struct tc_engine *engine, size_t i)
{
    return &engine->judgements.items[engine->told.items[i]];
}

enum tc_verdict tc_engine_verdict(const struct tc_judgement *judgement)
{
    if (!judgement->relation)
        return TC_VERDICT_UNCHECKED;
    if (judgement->broken)
        return TC_VERDICT_FAILED;
    if (judgement->unchecked)
        return TC_VERDICT_UNCHECKED;
    if (judgement->held)
        return TC_VERDICT_PASSED;
    return judgement->is_sampled && !judgement->out_of_context ? TC_VERDICT_UNCHECKED
                                                               : TC_VERDICT_NOT_TRIGGERED;
}

static int compare_violations(const void *a, const void *b)
{
    return tc_violation_compare(*(const struct tc_violation *const *)a,
                                *(const struct tc_violation *const *)b);
}

struct tc_violation **tc_engine_violations(const struct tc_engine *engine, size_t *n)
{
    struct tc_violation **list = tc_calloc(engine->judgements.n + 1, sizeof(*list));

    *n = 0;
    for (size_t i = 0; i < engine->judgements.n; i++) {
        const struct tc_judgement *j = &engine->judgements.items[i];
        if (!j->violation)
            continue;
        j->violation->held = j->held;
        list[(*n)++] = j->violation;
    }
    tc_consequences_mark(list, *n, NULL, 0, engine->symbols);
    qsort(list, *n, sizeof(*list), compare_violations);
    return list;
}

const struct tc_timeline *tc_engine_timeline(const struct tc_engine *engine)
{
    return &engine->timeline;
}
