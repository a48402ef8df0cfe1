/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.c - the verdict: every result of every rank is its part of the single-device result
 */
#include "plan/verify.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/pool.h"
#include "plan/eval.h"
#include "plan/explain.h"
#include "plan/fill.h"
#include "plan/sizes.h"

#include "base/banned.h"

/* Values that are summed over ranks before they are compared. */
struct sum {
    tc_sym name;
    uint32_t rank; /* the first that was seen */
    int64_t n, *places;
    tc_el *values;
};

/* One seed's evaluation. */
struct trial {
    struct judge *judge;
    unsigned seed; /* its number */
    struct tc_map sums;
    enum tc_status status;
    struct tc_world_fault fault;
    bool in_single; /* the fault is in the reference */
    struct tc_error err;
};

struct judge {
    const struct tc_plan_set *single, *parallel;
    const struct tc_verify_config *config;
    struct tc_plan_verdict *verdict;
    pthread_mutex_t lock;
    atomic_uint_fast64_t done;
    unsigned threads; /* for each seed */
};

/* ---- the reference ------------------------------------------------------------------------- */

static struct tc_plan_judged *judged_of(const struct tc_plan_verdict *v, tc_sym name)
{
    uint64_t i;

    return tc_map_get(&v->by_name, name, &i) ? &v->results.items[i] : NULL;
}

static enum tc_status prepare(struct judge *j, struct tc_error *err)
{
    const struct tc_plan_rank *rank = &j->single->ranks[0];
    struct tc_plan_verdict *v = j->verdict;

    for (size_t i = 0; i < rank->results.n; i++) {
        const struct tc_plan_result *r = &rank->results.items[i];
        struct tc_plan_judged result = {.name = r->name, .n = r->tensor.numel};
        for (uint32_t d = 0; d < r->place.n_global; d++)
            if (r->place.n_global != r->tensor.n_dims || r->place.global[d] != r->tensor.sizes[d])
                return tc_error_set(err, TC_E_FORMAT,
                                    "%s:%llu: the reference is the plan of one device, but its "
                                    "result '%s' is a part",
                                    rank->file, (unsigned long long)r->line,
                                    tc_strtab_text(j->single->names, r->name));
        if (judged_of(v, r->name))
            continue;
        result.values = tc_calloc(j->config->seeds, sizeof(*result.values));
        result.covered = tc_calloc((size_t)result.n + 1, 1);
        tc_map_put(&v->by_name, r->name, v->results.n);
        tc_vec_push(&v->results, result);
    }
    if (!v->results.n)
        return tc_error_set(err, TC_E_FORMAT, "%s: the plan names no results to compare",
                            j->single->folder);
    return TC_OK;
}

static void take_reference(void *context, const struct tc_run *run)
{
    struct trial *t = context;

    for (size_t i = 0; i < run->plan->results.n; i++) {
        const struct tc_plan_result *r = &run->plan->results.items[i];
        struct tc_plan_judged *judged = judged_of(t->judge->verdict, r->name);
        if (judged->values[t->seed])
            continue;
        tc_el *values = tc_malloc(((size_t)r->tensor.numel + 1) * sizeof(*values));
        tc_view_gather(run->slots[r->tensor.storage], &r->tensor, values);
        judged->values[t->seed] = values;
    }
}

/* ---- comparing ----------------------------------------------------------------------------- */

/* The rank and its copies. */
static void add_rank(struct tc_plan_judged *judged, uint32_t rank, const uint32_t *next)
{
    for (size_t i = 0; i < judged->ranks.n; i++)
        if (judged->ranks.items[i] == rank)
            return;
    for (; rank != TC_PLAN_NO_RANK; rank = next[rank])
        tc_vec_push(&judged->ranks, rank);
}

/* The first difference is enough. */
static void compare(struct trial *t, struct tc_plan_judged *judged, uint32_t rank,
                    const tc_el *values, const int64_t *places, int64_t n)
{
    const tc_el *reference = judged->values[t->seed];
    bool differs = false, undefined = false;

    for (int64_t i = 0; i < n && !differs; i++)
        if (places[i] >= 0 && !tc_el_same(values[i], reference[places[i]])) {
            differs = true;
            undefined = tc_el_is_undefined(values[i]) && !tc_el_is_undefined(reference[places[i]]);
        }
    for (int64_t i = 0; i < n && !differs && !undefined; i++)
        undefined = places[i] >= 0 && tc_el_is_undefined(values[i]);
    pthread_mutex_lock(&t->judge->lock);
    if (differs || undefined) {
        judged->is_wrong = true;
        judged->is_undefined = judged->is_undefined || undefined;
        add_rank(judged, rank, t->judge->parallel->copies.next);
    }
    for (int64_t i = 0; i < n && t->seed == 0; i++)
        if (places[i] >= 0)
            judged->covered[places[i]] = 1;
    pthread_mutex_unlock(&t->judge->lock);
}

/* Equal for ranks that differ in partial axes only. */
static uint64_t sum_key(const struct tc_plan_set *set, const struct tc_plan_rank *rank,
                        const struct tc_plan_result *r)
{
    uint64_t key = tc_hash_mix(1, r->name, r->n_partial);

    for (size_t i = 0; i < rank->mesh.n; i++) {
        const struct tc_plan_axis *axis = &rank->mesh.items[i];
        bool is_partial = axis->is_joined;
        for (uint32_t k = 0; k < r->n_partial; k++)
            is_partial = is_partial || r->partial[k] == axis->name;
        if (!is_partial)
            key = tc_hash_mix(
                key, axis->name,
                (uint64_t)tc_plan_group_index(&set->groups.items[axis->group], rank->rank));
    }
    return key;
}

static void add_to_sum(struct trial *t, const struct tc_plan_rank *rank,
                       const struct tc_plan_result *r, const tc_el *values, const int64_t *places)
{
    size_t n = (size_t)r->tensor.numel;
    struct sum *sum = tc_map_struct(&t->sums, sum_key(t->judge->parallel, rank, r), sizeof(*sum));

    if (!sum->values) {
        *sum =
            (struct sum){r->name, rank->rank, r->tensor.numel, tc_malloc((n + 1) * sizeof(*places)),
                         tc_malloc((n + 1) * sizeof(*values))};
        memcpy(sum->values, values, n * sizeof(*values));
        memcpy(sum->places, places, n * sizeof(*places));
        return;
    }
    for (int64_t i = 0; i < sum->n && i < r->tensor.numel; i++)
        sum->values[i] = tc_el_add(sum->values[i], values[i]);
}

/* Copies of a rank add what it adds. */
static void add_to_sums(struct trial *t, const struct tc_plan_rank *rank,
                        const struct tc_plan_result *r, const tc_el *values, const int64_t *places)
{
    const struct tc_plan_set *set = t->judge->parallel;

    pthread_mutex_lock(&t->judge->lock);
    for (uint32_t x = rank->rank; x != TC_PLAN_NO_RANK; x = set->copies.next[x])
        add_to_sum(t, &set->ranks[x], r, values, places);
    pthread_mutex_unlock(&t->judge->lock);
}

static void count_done(struct trial *t, const struct tc_plan_set *set,
                       const struct tc_plan_rank *rank)
{
    for (uint32_t x = rank->rank; x != TC_PLAN_NO_RANK; x = set->copies.next[x])
        atomic_fetch_add(&t->judge->done, rank->program->ops.n);
}

static void take_results(void *context, const struct tc_run *run)
{
    struct trial *t = context;

    for (size_t i = 0; i < run->plan->results.n; i++) {
        const struct tc_plan_result *r = &run->plan->results.items[i];
        struct tc_plan_judged *judged = judged_of(t->judge->verdict, r->name);
        size_t n = (size_t)r->tensor.numel;
        if (!judged)
            continue; /* told apart from the values */
        tc_el *values = tc_malloc((n + 1) * sizeof(*values));
        int64_t *places = tc_malloc((n + 1) * sizeof(*places));
        tc_view_gather(run->slots[r->tensor.storage], &r->tensor, values);
        tc_plan_places(&r->tensor, &r->place, places);
        if (r->n_partial)
            add_to_sums(t, run->plan, r, values, places);
        else
            compare(t, judged, run->plan->rank, values, places, (int64_t)n);
        tc_free(values);
        tc_free(places);
    }
    count_done(t, t->judge->parallel, run->plan);
}

static void compare_sums(struct trial *t)
{
    uint64_t key, value;

    for (size_t pos = 0; tc_map_each(&t->sums, &pos, &key, &value);) {
        struct sum *sum = (struct sum *)(uintptr_t)value;
        if (!t->status)
            compare(t, judged_of(t->judge->verdict, sum->name), sum->rank, sum->values, sum->places,
                    sum->n);
        tc_free(sum->values);
        tc_free(sum->places);
        tc_free(sum);
    }
    tc_map_release(&t->sums);
}

/* ---- names and sizes must agree before anything is evaluated ------------------------------- */

static const char *text_of(const struct judge *j, tc_sym name)
{
    return tc_strtab_text(j->single->names, name);
}

static bool same_global(const struct tc_plan_place *a, const struct tc_plan_place *b)
{
    return a->n_global == b->n_global &&
           !memcmp(a->global, b->global, a->n_global * sizeof(*a->global));
}

static enum tc_status check_results(const struct judge *j, const struct tc_plan_rank *rank,
                                    struct tc_error *err)
{
    for (size_t i = 0; i < rank->results.n; i++) {
        const struct tc_plan_result *r = &rank->results.items[i];
        const struct tc_plan_judged *judged = judged_of(j->verdict, r->name);
        int64_t numel = 1;
        for (uint32_t d = 0; d < r->place.n_global; d++)
            numel *= r->place.global[d];
        if (!judged)
            return tc_error_set(err, TC_E_FORMAT, "%s:%llu: the reference has no result '%s'",
                                rank->file, (unsigned long long)r->line, text_of(j, r->name));
        if (numel != judged->n)
            return tc_error_set(err, TC_E_FORMAT,
                                "%s:%llu: '%s' has %lld elements in all, but %lld in the reference",
                                rank->file, (unsigned long long)r->line, text_of(j, r->name),
                                (long long)numel, (long long)judged->n);
    }
    return TC_OK;
}

static const struct tc_plan_init *init_named(const struct tc_plan_rank *rank,
                                             const struct tc_map *inits, tc_sym name)
{
    uint64_t i;

    return tc_map_get(inits, name, &i) ? &rank->inits.items[i] : NULL;
}

/* Contents that both plans name must be the same: token ids, masks. */
static int64_t first_difference(const struct tc_plan_init *a, const struct tc_plan_init *single)
{
    int64_t *places = tc_malloc(((size_t)a->tensor.numel + 1) * sizeof(*places)), at = -1;

    tc_plan_places(&a->tensor, &a->place, places);
    for (int64_t i = 0; i < a->tensor.numel && at < 0; i++)
        if (places[i] >= 0 && !tc_el_same(a->data[i], single->data[places[i]]))
            at = i;
    tc_free(places);
    return at;
}

static enum tc_status check_init(const struct judge *j, const struct tc_plan_rank *rank,
                                 const struct tc_plan_init *init, const struct tc_plan_init *single,
                                 struct tc_error *err)
{
    const char *name = text_of(j, init->name);
    unsigned long long line = init->line;

    if (!single)
        return tc_error_set(err, TC_E_FORMAT,
                            "%s:%llu: %s: no place in the single-device job is known; give "
                            "--plan-layout to traincheck-collect",
                            rank->file, line, name);
    if (!same_global(&init->place, &single->place))
        return tc_error_set(
            err, TC_E_FORMAT,
            "%s:%llu: %s: its single-device sizes ('global') are others than in the "
            "reference",
            rank->file, line, name);
    if (init->data && single->data && single->tensor.numel) {
        int64_t at = first_difference(init, single);
        if (at >= 0)
            return tc_error_set(err, TC_E_FORMAT,
                                "%s:%llu: %s: element %lld is not what the reference has there; do "
                                "both runs read the same batch?",
                                rank->file, line, name, (long long)at);
    }
    return TC_OK;
}

static enum tc_status check_names(struct judge *j, struct tc_error *err)
{
    const struct tc_plan_rank *single = &j->single->ranks[0];
    struct tc_map inits = TC_MAP_INIT;
    enum tc_status status = TC_OK;

    for (size_t i = 0; i < single->inits.n; i++)
        tc_map_put(&inits, single->inits.items[i].name, i);
    for (uint32_t r = 0; r < j->parallel->world && !status; r++) {
        const struct tc_plan_rank *rank = &j->parallel->ranks[r];
        status = check_results(j, rank, err);
        for (size_t i = 0; i < rank->inits.n && !status; i++)
            status = check_init(j, rank, &rank->inits.items[i],
                                init_named(single, &inits, rank->inits.items[i].name), err);
    }
    tc_map_release(&inits);
    return status;
}

/* ---- findings that need no values ---------------------------------------------------------- */

static const char *keep(struct tc_plan_verdict *v, struct tc_strbuf *text)
{
    const char *copy = tc_arena_text(&v->arena, text->text ? text->text : "", text->size);

    tc_strbuf_release(text);
    return copy;
}

static void add_finding(struct tc_plan_verdict *v, struct tc_plan_finding f)
{
    const char **texts[] = {&f.kind, &f.text, &f.hint, &f.src,    &f.op,
                            &f.mod,  &f.name, &f.axis, &f.details};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        *texts[i] = *texts[i] ? *texts[i] : "";
    tc_vec_push(&v->findings, f);
}

static const char *op_name(struct tc_plan_verdict *v, const struct tc_plan_op *op)
{
    return tc_arena_text(&v->arena, op->name, (size_t)tc_plan_short_name(op));
}

/* Every operator without a rule, once. */
static void find_unknown(struct judge *j, const struct tc_plan_set *set, struct tc_map *seen)
{
    struct tc_plan_verdict *v = j->verdict;

    for (uint32_t r = 0; r < set->world; r++) {
        const struct tc_plan_rank *rank = &set->ranks[r];
        for (size_t i = 0; rank->like < 0 && i < rank->program->ops.n; i++) {
            const struct tc_plan_op *op = &rank->program->ops.items[i];
            struct tc_strbuf text = TC_STRBUF_INIT;
            uint64_t key = tc_hash64(op->name, strlen(op->name), 0), known;
            if (op->rule || tc_map_get(seen, key, &known))
                continue;
            tc_map_put(seen, key, 1);
            tc_strbuf_addf(&text, "operator %s has no rule (%s:%llu); the plan cannot be judged",
                           op->name, rank->file, (unsigned long long)op->line);
            uint32_t *ranks = tc_arena_alloc(&v->arena, sizeof(*ranks));
            *ranks = r;
            add_finding(v, (struct tc_plan_finding){.kind = "no-rule",
                                                    .text = keep(v, &text),
                                                    .src = op->src,
                                                    .op = op_name(v, op),
                                                    .mod = op->mod,
                                                    .ranks = ranks,
                                                    .n_ranks = 1});
        }
    }
}

static void add_fault(struct judge *j, const struct trial *t)
{
    static const char *const kinds[] = {"unfit", "mismatch", "deadlock"};
    struct tc_plan_verdict *v = j->verdict;
    const struct tc_plan_op *op = t->fault.op;
    uint32_t *ranks = tc_arena_alloc(&v->arena, sizeof(*ranks));

    *ranks = t->fault.rank;
    v->outcome =
        t->fault.kind == TC_WORLD_UNFIT || t->in_single ? TC_PLAN_UNJUDGED : TC_PLAN_REFUTED;
    add_finding(v, (struct tc_plan_finding){
                       .kind = kinds[t->fault.kind],
                       .text = tc_arena_text(&v->arena, t->err.text, strlen(t->err.text)),
                       .src = op ? op->src : "",
                       .op = op ? op_name(v, op) : "",
                       .mod = op ? op->mod : "",
                       .ranks = ranks,
                       .n_ranks = 1});
}

void tc_plan_describe_result(const struct tc_plan_set *single, tc_sym name, struct tc_strbuf *out)
{
    const char *text = tc_strtab_text(single->names, name);
    size_t n = strlen(text);
    bool is_start = false;

    if (n > 5 && !strcmp(text + n - 5, ".grad")) {
        tc_strbuf_addf(out, "gradient of %.*s", (int)n - 5, text);
        return;
    }
    for (size_t i = 0; i < single->ranks[0].inits.n; i++)
        is_start = is_start || single->ranks[0].inits.items[i].name == name;
    tc_strbuf_addf(out, "%s%s", text, is_start ? " after the step" : "");
}

static int compare_ranks(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

void tc_plan_describe_ranks(const uint32_t *ranks, size_t n, struct tc_strbuf *out)
{
    uint32_t *sorted = tc_malloc((n + 1) * sizeof(*sorted));

    if (n)
        memcpy(sorted, ranks, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare_ranks);
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && sorted[next] == sorted[next - 1] + 1;)
            next++;
        tc_strbuf_addf(out, "%s%u", i ? ", " : "", sorted[i]);
        if (next > i + 1)
            tc_strbuf_addf(out, "%s%u", next > i + 2 ? "-" : ", ", sorted[next - 1]);
    }
    tc_free(sorted);
}

static void find_missing(struct judge *j)
{
    struct tc_plan_verdict *v = j->verdict;

    for (size_t i = 0; i < v->results.n; i++) {
        struct tc_plan_judged *r = &v->results.items[i];
        struct tc_strbuf text = TC_STRBUF_INIT;
        int64_t n = 0;
        for (int64_t k = 0; k < r->n; k++)
            n += !r->covered[k];
        r->is_missing = n > 0;
        if (!n)
            continue;
        tc_plan_describe_result(j->single, r->name, &text);
        if (n == r->n)
            tc_strbuf_adds(&text, " is a result of no rank");
        else
            tc_strbuf_addf(&text, ": %lld of its %lld elements are on no rank", (long long)n,
                           (long long)r->n);
        add_finding(v, (struct tc_plan_finding){.kind = "missing-result",
                                                .text = keep(v, &text),
                                                .name = text_of(j, r->name)});
    }
}

/* ---- all of it ----------------------------------------------------------------------------- */

static bool tick(void *context)
{
    struct trial *t = context;
    const struct tc_verify_config *c = t->judge->config;
    uint64_t of = (t->judge->parallel->n_ops + t->judge->single->n_ops) * c->seeds;

    return t->seed != 0 || !c->progress ||
           c->progress(c->context, atomic_load(&t->judge->done), of);
}

uint64_t tc_plan_seed(unsigned number)
{
    return UINT64_C(0x9e3779b97f4a7c15) * (number + 1);
}

static void try(void *context, size_t seed)
{
    struct trial *t = (struct trial *)context + seed;
    struct judge *j = t->judge;
    struct tc_world_watch watch = {.done = take_reference, .tick = tick, .context = t};

    t->in_single = true;
    t->status = tc_world_run(j->single, tc_plan_seed(t->seed), 1, &watch, &t->fault, &t->err);
    if (t->status)
        return;
    t->in_single = false;
    watch.done = take_results;
    t->status =
        tc_world_run(j->parallel, tc_plan_seed(t->seed), j->threads, &watch, &t->fault, &t->err);
    compare_sums(t);
}

static void conclude(struct judge *j)
{
    struct tc_plan_verdict *v = j->verdict;

    find_missing(j);
    for (size_t i = 0; i < v->results.n; i++) {
        struct tc_plan_judged *r = &v->results.items[i];
        if (r->ranks.n)
            qsort(r->ranks.items, r->ranks.n, sizeof(*r->ranks.items), compare_ranks);
        v->n_wrong += r->is_wrong || r->is_missing;
    }
    v->n_verified = v->results.n - v->n_wrong;
    v->outcome = v->n_wrong ? TC_PLAN_REFUTED : TC_PLAN_VERIFIED;
}

static enum tc_status evaluate(struct judge *j, struct tc_error *err)
{
    unsigned seeds = j->config->seeds;
    struct trial *trials = tc_calloc(seeds, sizeof(*trials));
    enum tc_status status = TC_OK;
    unsigned failed = seeds;

    for (unsigned i = 0; i < seeds; i++)
        trials[i] = (struct trial){.judge = j, .seed = i};
    j->threads = j->config->threads > seeds ? j->config->threads / seeds : 1;
    tc_pool_run(seeds, j->config->threads, try, trials);
    for (unsigned i = 0; i < seeds && failed == seeds; i++)
        if (trials[i].status)
            failed = i;
    if (failed < seeds && trials[failed].status != TC_E_FORMAT)
        status = tc_error_set(err, trials[failed].status, "%s", trials[failed].err.text);
    else if (failed < seeds)
        add_fault(j, &trials[failed]);
    else
        conclude(j);
    tc_free(trials);
    return status;
}

enum tc_status tc_plan_verify(const struct tc_plan_set *single, const struct tc_plan_set *parallel,
                              const struct tc_verify_config *config,
                              struct tc_plan_verdict *verdict, struct tc_error *err)
{
    struct judge j = {single, parallel, config, verdict, .threads = 1};
    struct tc_map seen = TC_MAP_INIT;
    enum tc_status status;

    *verdict = (struct tc_plan_verdict){.n_seeds = config->seeds, .error_bits = 40 * config->seeds};
    if (single->world != 1)
        return tc_error_set(err, TC_E_FORMAT,
                            "%s: the reference is the plan of one device, but its world has %u",
                            single->folder, single->world);
    pthread_mutex_init(&j.lock, NULL);
    status = prepare(&j, err);
    if (!status)
        status = check_names(&j, err);
    if (!status) {
        find_unknown(&j, single, &seen);
        find_unknown(&j, parallel, &seen);
        if (verdict->findings.n)
            verdict->outcome = TC_PLAN_UNJUDGED;
        else
            status = evaluate(&j, err);
    }
    if (!status && verdict->outcome == TC_PLAN_VERIFIED)
        tc_plan_warn_sizes(single, parallel, verdict);
    if (!status && verdict->outcome == TC_PLAN_REFUTED && verdict->n_wrong && config->explain)
        status = tc_plan_explain(single, parallel, config, verdict, err);
    tc_map_release(&seen);
    pthread_mutex_destroy(&j.lock);
    return status;
}

void tc_plan_verdict_release(struct tc_plan_verdict *v)
{
    for (size_t i = 0; i < v->results.n; i++) {
        struct tc_plan_judged *r = &v->results.items[i];
        for (unsigned s = 0; s < v->n_seeds; s++)
            tc_free(r->values[s]);
        tc_free(r->values);
        tc_free(r->covered);
        tc_vec_release(&r->ranks);
    }
    tc_vec_release(&v->results);
    tc_vec_release(&v->findings);
    tc_vec_release(&v->warnings);
    tc_map_release(&v->by_name);
    tc_arena_release(&v->arena);
}
