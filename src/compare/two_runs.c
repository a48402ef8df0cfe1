/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_runs.c - outlines of all runs, then the processes of two of them side by side
 */
#include "compare/two_runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "compare/diff.h"
#include "compare/other_world.h"
#include "compare/resume.h"
#include "compare/set_aside.h"
#include "compare/settings_pair.h"
#include "compare/window_pair.h"
#include "replay/symbols.h"

/* So many windows of the reference wait for their like at most; those beyond are not compared. */
#define MAX_WAITING 64

/* ---- windows of two processes, in turns ----------------------------------------------------- */

struct turns {
    struct tc_comparison *comparison;
    struct tc_pair_state state;
    struct tc_course *a, *b;
    size_t *match;                    /* window of b -> window of a */
    struct tc_map wanted;             /* window of a -> 1 + that of b */
    struct tc_map compared;           /* pairs of windows that excerpts repeat: a set */
    struct tc_course_window *waiting; /* of a */
    size_t n_a, n_b;                  /* windows of the two */
    size_t n_waiting, n_read;         /* windows of a that were read */
    uint64_t read_before;
};

static bool go_on(struct turns *t, struct tc_error *err)
{
    const struct tc_compare_config *config = t->comparison->config;

    if (!config->progress ||
        config->progress(config->context,
                         t->read_before + tc_course_json_bytes(t->a) + tc_course_json_bytes(t->b)))
        return true;
    tc_error_set(err, TC_E_INTERRUPTED, "interrupted");
    return false;
}

static struct tc_course_window *take_waiting(struct turns *t, size_t number)
{
    for (struct tc_course_window **at = &t->waiting; *at; at = &(*at)->next) {
        struct tc_course_window *window = *at;
        if (window->number != number)
            continue;
        *at = window->next;
        t->n_waiting--;
        return window;
    }
    return NULL;
}

static void keep_if_wanted(struct turns *t, struct tc_course_window *window)
{
    uint64_t of_b;

    if (!tc_map_get(&t->wanted, window->number, &of_b) || t->n_waiting == MAX_WAITING) {
        tc_course_window_free(window);
        return;
    }
    window->next = t->waiting;
    t->waiting = window;
    t->n_waiting++;
}

/* Window `number` of a; *out is NULL if it waited beyond the limit. */
static enum tc_status window_of_a(struct turns *t, size_t number, struct tc_course_window **out,
                                  struct tc_error *err)
{
    enum tc_status status = TC_OK;

    *out = take_waiting(t, number);
    while (!*out && t->n_read <= number && !status) {
        struct tc_course_window *window;
        status = tc_course_next(t->a, &window, err);
        if (status)
            break;
        t->n_read++;
        if (window->number == number)
            *out = window;
        else
            keep_if_wanted(t, window);
    }
    return status == TC_END ? TC_OK : status;
}

/* Two windows that excerpts repeat differ once. */
static bool is_new_pair(struct turns *t, const struct tc_course_window *a,
                        const struct tc_course_window *b)
{
    bool is_new = true;

    if (a->copy_of && b->copy_of)
        tc_map_at(&t->compared, tc_hash_mix(a->copy_of, b->copy_of, 1), &is_new);
    return is_new;
}

static enum tc_status next_pair(struct turns *t, size_t i, struct tc_error *err)
{
    struct tc_course_window *a = NULL, *b;
    enum tc_status status = tc_course_next(t->b, &b, err);

    if (status)
        return status;
    if (t->match[i] != TC_UNMATCHED)
        status = window_of_a(t, t->match[i], &a, err);
    t->state.is_last_a = t->match[i] + 1 == t->n_a;
    t->state.is_last_b = i + 1 == t->n_b;
    if (a && is_new_pair(t, a, b))
        tc_window_pair_compare(&t->state, a, b);
    tc_course_window_free(a);
    tc_course_window_free(b);
    if (!status && !go_on(t, err))
        return TC_E_INTERRUPTED;
    return status;
}

/* From which windows on the two are each other's like. */
static enum tc_status find_begin(struct turns *t, struct tc_matched_windows *windows,
                                 struct tc_error *err)
{
    struct tc_comparison *c = t->comparison;
    struct tc_resume resume;

    if (!c->config->resumed || t->state.is_healthy || windows->b->is_worker)
        return TC_OK;
    enum tc_status status =
        tc_resume_compare(&t->state, windows->a, windows->b, c->config->from_step, &resume, err);
    if (status)
        return status;
    windows->from_a = resume.window_a;
    windows->from_b = resume.window_b;
    c->resumed_at = resume.step_a;
    t->state.resumes = true;
    t->state.resumed_window = resume.window_b;
    return TC_OK;
}

static void want(struct turns *t, size_t n_b)
{
    for (size_t i = 0; i < n_b; i++)
        if (t->match[i] != TC_UNMATCHED)
            tc_map_put(&t->wanted, t->match[i], i + 1);
}

static void release_turns(struct turns *t)
{
    while (t->waiting) {
        struct tc_course_window *window = t->waiting;
        t->waiting = window->next;
        tc_course_window_free(window);
    }
    tc_map_release(&t->wanted);
    tc_map_release(&t->compared);
    tc_free(t->match);
    tc_course_close(t->a);
    tc_course_close(t->b);
    tc_pair_state_release(&t->state);
}

/* ---- processes ----------------------------------------------------------------------------- */

static void count_unmatched(struct tc_process_pair *pair, const struct turns *t,
                            const struct tc_process_outline *a, const struct tc_process_outline *b)
{
    pair->only_b = b->windows.n - t->wanted.n;
    pair->only_a = a->windows.n - t->wanted.n;
}

static enum tc_status compare_processes(struct tc_comparison *c, struct tc_outline *run_a,
                                        struct tc_outline *run_b, struct tc_differences *out,
                                        const struct tc_process_outline *a,
                                        const struct tc_process_outline *b, struct tc_error *err)
{
    struct tc_process_pair pair = {.rank = b->rank, .is_worker = b->is_worker};
    struct turns t = {
        .comparison = c,
        .read_before = c->reference.json_bytes + c->run.json_bytes,
        .state = {.comparison = c, .a = run_a, .b = run_b, .out = out, .pair = &pair}
    };
    struct tc_matched_windows windows = {.a = a, .b = b};
    t.state.is_healthy = run_b != &c->run;
    t.state.has_other_world = run_a->world != run_b->world;
    /* Of an excerpt it is not known where values part: as with another seed, at the begin. */
    t.state.has_no_content = pair.has_parted = run_a->is_excerpt;
    enum tc_status status = find_begin(&t, &windows, err);

    t.match = tc_malloc((b->windows.n + 1) * sizeof(*t.match));
    tc_match_windows(windows, t.match);
    t.n_a = a->windows.n;
    t.n_b = b->windows.n;
    want(&t, b->windows.n);
    count_unmatched(&pair, &t, a, b);
    if (!status)
        status = tc_process_course_open(a, &c->context, &t.a, err);
    if (!status)
        status = tc_process_course_open(b, &c->context, &t.b, err);
    for (size_t i = 0; i < b->windows.n && !status; i++)
        status = next_pair(&t, i, err);
    release_turns(&t);
    if (!t.state.is_healthy)
        tc_vec_push(&c->pairs, pair);
    return status == TC_END ? TC_OK : status;
}

/* The first process of a that is not taken and is like this one: of its rank, and, if so asked, one
 * that trains if this does, which a launcher does not. a->n_processes if there is none. */
static size_t like_of(const struct tc_outline *a, const bool *is_taken,
                      const struct tc_process_outline *b, bool trains_alike)
{
    for (size_t i = 0; i < a->n_processes; i++) {
        const struct tc_process_outline *p = &a->processes[i];
        if (!is_taken[i] && p->is_worker == b->is_worker && p->rank == b->rank &&
            (!trains_alike || p->makes_steps == b->makes_steps))
            return i;
    }
    return a->n_processes;
}

/* like[k]: which process of a that of b is; a->n_processes: none. Returns how many are. */
static size_t match_processes(const struct tc_outline *a, const struct tc_outline *b, size_t *like)
{
    bool *is_taken = tc_calloc(a->n_processes + 1, sizeof(*is_taken));
    size_t n = 0;

    for (size_t k = 0; k < b->n_processes; k++)
        like[k] = a->n_processes;
    for (int round = 0; round < 2; round++)
        for (size_t k = 0; k < b->n_processes; k++) {
            if (like[k] != a->n_processes)
                continue;
            like[k] = like_of(a, is_taken, &b->processes[k], round == 0);
            n += like[k] != a->n_processes;
            is_taken[like[k]] = true;
        }
    tc_free(is_taken);
    return n;
}

static enum tc_status compare_runs(struct tc_comparison *c, struct tc_outline *a,
                                   struct tc_outline *b, struct tc_differences *out,
                                   struct tc_error *err)
{
    size_t *like = tc_malloc((b->n_processes + 1) * sizeof(*like));
    const size_t n = match_processes(a, b, like);
    enum tc_status status = TC_OK;

    tc_scripts_pair(&a->scripts, &b->scripts);
    for (size_t k = 0; k < b->n_processes && !status; k++)
        if (like[k] != a->n_processes)
            status = compare_processes(c, a, b, out, &a->processes[like[k]], &b->processes[k], err);
    tc_free(like);
    c->unpaired_a = a->n_processes - n;
    c->unpaired_b = b->n_processes - n;
    return status;
}

/* ---- what healthy runs differ in ------------------------------------------------------------ */

static void set_aside_of(struct tc_comparison *c, const struct tc_differences *found)
{
    for (size_t i = 0; i < found->items.n; i++)
        tc_map_put(&c->aside, tc_difference_key(found->items.items[i]), found->items.items[i]->n);
}

static enum tc_status compare_healthy(struct tc_comparison *c, struct tc_outline *run,
                                      struct tc_error *err)
{
    struct tc_differences found = {0};
    const enum tc_status status = compare_runs(c, &c->reference, run, &found, err);

    tc_settings_compare(c, &c->reference, run, &found);
    set_aside_of(c, &found);
    tc_differences_release(&found);
    tc_scripts_unpair(&c->reference.scripts);
    return status;
}

/* ---- the healthy runs ------------------------------------------------------------------------ */

/* Those after the first are healthy runs besides; what it is read into, in both cases. */
static struct tc_outline *next_outline(struct tc_comparison *c)
{
    static const struct tc_outline blank;

    if (!c->reference.name)
        return &c->reference;
    tc_vec_push(&c->healthy, blank);
    return &c->healthy.items[c->healthy.n - 1];
}

static enum tc_status read_excerpts(struct tc_comparison *c, const char *name, struct tc_error *err)
{
    const size_t n = c->excerpts.items.n;
    enum tc_status status = tc_excerpts_read(name, &c->excerpts, err);

    if (!status && c->config->resumed)
        status = tc_error_set(err, TC_E_USAGE,
                              "%s: --resumed needs the trace of the run that was saved", name);
    if (!status && c->excerpts.items.n == n)
        status = tc_error_set(err, TC_E_FORMAT,
                              "%s: it has no excerpt of a healthy run: traincheck-infer --specific "
                              "writes them",
                              name);
    for (size_t i = n; i < c->excerpts.items.n && !status; i++)
        status =
            tc_outline_read_excerpt(next_outline(c), &c->excerpts.items.items[i], &c->context, err);
    return status;
}

static enum tc_status read_against(struct tc_comparison *c, struct tc_error *err)
{
    const struct tc_compare_config *config = c->config;
    const struct tc_outline_reading how = {config->progress, config->context, 0};
    enum tc_status status = TC_OK;

    for (size_t i = 0; i < config->n_against && !status; i++)
        status = tc_excerpts_may_be_in(config->against[i])
                     ? read_excerpts(c, config->against[i], err)
                     : tc_outline_read(next_outline(c), config->against[i], &c->context, &how, err);
    for (size_t i = 0; i < c->healthy.n && !status; i++)
        status = compare_healthy(c, &c->healthy.items[i], err);
    return status;
}

/* ---- the whole ----------------------------------------------------------------------------- */

enum tc_status tc_comparison_make(struct tc_comparison *c, const struct tc_compare_config *config,
                                  struct tc_notes *notes, struct tc_error *err)
{
    *c = (struct tc_comparison){.config = config, .symbols = tc_symbols_new(), .resumed_at = -1};
    c->sites.symbols = c->reader.symbols = c->symbols;
    c->closeness.near_until = -1;
    c->context =
        (struct tc_course_context){.symbols = c->symbols, .sites = &c->sites, .notes = notes};
    const struct tc_outline_reading how = {config->progress, config->context, config->n_steps};
    enum tc_status status = tc_outline_read(&c->run, config->run, &c->context, &how, err);
    /* Of what an excerpt has, a selective trace can lack a call that was made. */
    if (c->run.is_selective)
        c->context.recorded = &c->run.recorded;
    if (!status)
        status = read_against(c, err);
    if (!status)
        status = tc_settings_comparable(&c->reference, &c->run, err);
    if (status)
        return status;
    c->has_other_seed = c->reference.is_excerpt;
    tc_settings_compare(c, &c->reference, &c->run, &c->differences);
    status = compare_runs(c, &c->reference, &c->run, &c->differences, err);
    if (!status && c->reference.world != c->run.world)
        status = tc_ranks_compare(c, &c->differences, err);
    tc_set_aside(c);
    return status;
}

void tc_comparison_release(struct tc_comparison *c)
{
    tc_outline_release(&c->reference);
    tc_outline_release(&c->run);
    for (size_t i = 0; i < c->healthy.n; i++)
        tc_outline_release(&c->healthy.items[i]);
    tc_vec_release(&c->healthy);
    tc_excerpts_release(&c->excerpts);
    tc_map_release(&c->aside);
    tc_map_release(&c->parts);
    tc_vec_release(&c->matched);
    tc_vec_release(&c->pairs);
    tc_differences_release(&c->differences);
    tc_leaf_reader_release(&c->reader);
    tc_call_sites_release(&c->sites);
    tc_strtab_free(c->symbols);
}

/* What is set aside comes last, what is set aside for having no effect before the rest of it; the
 * environment first, then as it was seen. */
static int by_rank(const void *a_, const void *b_)
{
    const struct tc_difference *a = *(const struct tc_difference *const *)a_;
    const struct tc_difference *b = *(const struct tc_difference *const *)b_;
    const bool before_a = a->kind <= TC_DIFFERENCE_COMMAND,
               before_b = b->kind <= TC_DIFFERENCE_COMMAND;

    if ((a->aside != TC_ASIDE_NO) != (b->aside != TC_ASIDE_NO))
        return a->aside != TC_ASIDE_NO ? 1 : -1;
    if ((a->aside == TC_ASIDE_SILENT) != (b->aside == TC_ASIDE_SILENT))
        return a->aside == TC_ASIDE_SILENT ? -1 : 1;
    if (before_a != before_b)
        return before_a ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->is_worker != b->is_worker)
        return a->is_worker ? 1 : -1;
    return a->order < b->order ? -1 : a->order > b->order;
}

struct tc_difference *tc_comparison_first(const struct tc_comparison *c)
{
    struct tc_difference *const *items = c->differences.items.items, *const *first = items;

    for (size_t i = 1; i < c->differences.items.n; i++)
        if (by_rank(&items[i], first) < 0)
            first = &items[i];
    return c->differences.items.n ? *first : NULL;
}

const struct tc_difference **tc_comparison_order(const struct tc_comparison *c)
{
    const struct tc_difference **order = tc_calloc(c->differences.items.n + 1, sizeof(*order));

    for (size_t i = 0; i < c->differences.items.n; i++)
        order[i] = c->differences.items.items[i];
    qsort(order, c->differences.items.n, sizeof(*order), by_rank);
    return order;
}

bool tc_comparison_is_started_otherwise(const struct tc_comparison *c)
{
    if (c->reference.world != c->run.world || c->resumed_at >= 0)
        return true;
    for (size_t i = 0; i < c->differences.items.n; i++) {
        const struct tc_difference *d = c->differences.items.items[i];
        if (d->kind <= TC_DIFFERENCE_COMMAND && !d->is_seed && d->aside == TC_ASIDE_NO)
            return true;
    }
    return false;
}
