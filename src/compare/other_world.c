/* SPDX-License-Identifier: Apache-2.0 */
/*
 * other_world.c - all ranks of two runs, read step by step
 *
 * The processes of a run are read side by side, one window with a step of each at a time, and what
 * they hold of rows, losses and norms is added up. Memory is that of one window a rank.
 */
#include "compare/other_world.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "compare/shards.h"
#include "replay/symbols.h"

#define DIGEST_OF_A_ROW 8 /* hex digits, as the trace format has them */

/* What all ranks of a run did in one step. */
struct step {
    struct tc_map rows; /* digest -> how often */
    uint64_t n_rows;
    uint64_t sizes;    /* of a row: equal where rows can be compared */
    bool has_sizes;    /* of different sizes: padding differs */
    double loss, norm; /* sums over ranks */
    unsigned n_losses, n_norms;
    int64_t number;
};

/* A run, read step by step. */
struct ranks {
    struct tc_course **courses;
    size_t n;
    struct tc_shards shards; /* what they hold after the step */
};

/* ---- one step ------------------------------------------------------------------------------- */

/* Rows that are padded to different lengths have different digests. */
static void note_sizes(struct step *step, const struct tc_value *shape)
{
    uint64_t sizes = 1;

    for (uint32_t i = 1; shape && shape->kind == TC_VALUE_ARRAY && i < shape->n; i++)
        sizes = tc_hash_mix(sizes, (uint64_t)tc_value_int(&shape->items[i], 0), i);
    step->has_sizes |= step->sizes && step->sizes != sizes;
    step->sizes = sizes;
}

static void add_rows(struct step *step, const struct tc_value *v)
{
    struct tc_str rows = tc_value_str(tc_value_get(v, "rows"));
    bool is_new;

    note_sizes(step, tc_value_get(v, "shape"));
    for (uint32_t i = 0; rows.text && i + DIGEST_OF_A_ROW <= rows.size; i += DIGEST_OF_A_ROW) {
        *tc_map_at(&step->rows, tc_hash64(rows.text + i, DIGEST_OF_A_ROW, 0), &is_new) += 1;
        step->n_rows++;
    }
}

/* The first tensor with rows: of a batch the inputs. Its others have the same rows. */
static bool add_first_rows(struct step *step, const struct tc_value *v, unsigned depth)
{
    if (!v || depth > 4)
        return false;
    if (tc_value_get(v, "rows")) {
        add_rows(step, v);
        return true;
    }
    for (uint32_t i = 0; v->kind == TC_VALUE_ARRAY && i < v->n; i++)
        if (add_first_rows(step, &v->items[i], depth + 1))
            return true;
    for (uint32_t i = 0; v->kind == TC_VALUE_OBJECT && i < v->n; i++)
        if (add_first_rows(step, &v->members[i].value, depth + 1))
            return true;
    return false;
}

static void add_number(const struct tc_value *tensor, double *sum, unsigned *n)
{
    double number;

    if (!tc_value_number(tc_value_get(tensor, "value"), &number) || !isfinite(number))
        return;
    *sum += number;
    *n += 1;
}

/* Batches of the first forward of the model: a loader may be ahead of the step. */
static void add_call(struct step *step, const struct tc_call_site *site,
                     const struct tc_course_call *call, bool *has_rows)
{
    if (site->role == TC_ROLE_FORWARD && site->is_user && !*has_rows)
        *has_rows = add_first_rows(step, call->begin->args, 0);
    if (site->role == TC_ROLE_BACKWARD && site->is_user)
        add_number(call->begin->self, &step->loss, &step->n_losses);
    if (site->role == TC_ROLE_CLIP && site->is_user && call->end)
        add_number(call->end->value, &step->norm, &step->n_norms);
}

static void add_window(struct step *step, const struct tc_call_sites *sites,
                       const struct tc_course_window *window)
{
    bool has_rows = false;

    for (size_t i = 0; i < window->calls.n; i++)
        add_call(step, &sites->items.items[window->calls.items[i].site], &window->calls.items[i],
                 &has_rows);
    step->number = window->step;
}

static void reset(struct step *step)
{
    tc_map_release(&step->rows);
    *step = (struct step){.rows = TC_MAP_INIT};
}

/* The next window with a step of each rank; TC_END when a rank has no more. */
static enum tc_status read_step(struct tc_comparison *c, struct ranks *ranks, struct step *step,
                                struct tc_error *err)
{
    reset(step);
    for (size_t i = 0; i < ranks->n; i++) {
        struct tc_course_window *window;
        bool has_step = false;
        while (!has_step) {
            enum tc_status status = tc_course_next(ranks->courses[i], &window, err);
            if (status)
                return status;
            has_step = window->has_step;
            tc_shards_note(&ranks->shards, c->symbols, i, window);
            if (has_step)
                add_window(step, &c->sites, window);
            tc_course_window_free(window);
        }
    }
    return TC_OK;
}

static enum tc_status open_ranks(struct tc_comparison *c, const struct tc_outline *run,
                                 struct ranks *out, struct tc_error *err)
{
    enum tc_status status = TC_OK;

    out->courses = tc_calloc(run->n_processes + 1, sizeof(struct tc_course *));
    for (size_t i = 0; i < run->n_processes && !status; i++) {
        const struct tc_process_outline *process = &run->processes[i];
        if (process->makes_steps)
            status = tc_process_course_open(process, &c->context, &out->courses[out->n++], err);
    }
    tc_shards_init(&out->shards, out->n);
    return status;
}

static void close_ranks(struct ranks *ranks)
{
    for (size_t i = 0; i < ranks->n; i++)
        tc_course_close(ranks->courses[i]);
    tc_free(ranks->courses);
    tc_shards_release(&ranks->shards);
}

/* ---- two steps ------------------------------------------------------------------------------ */

static void add_step_difference(struct tc_comparison *c, struct tc_differences *out,
                                enum tc_difference_kind kind, const char *what,
                                const struct step *step, const char *said)
{
    bool is_first;
    const struct tc_difference seen = {
        .kind = kind,
        .what = TC_IS_OTHER,
        .site_a = TC_NO_SITE,
        .site_b = TC_NO_SITE,
        .path = tc_strtab_intern_text(c->symbols, what),
        .step = step->number,
        .stage = TC_SYM_TRAINING,
        .window = (uint64_t)step->number,
    };
    struct tc_difference *d = tc_differences_add(out, &seen, &is_first);

    if (d && is_first)
        d->said = tc_arena_text(&out->arena, said, strlen(said));
}

/* Rows of a that b has less often. */
static uint64_t n_missing(const struct step *a, const struct step *b)
{
    uint64_t key, n_a, n_b, n = 0;

    for (size_t pos = 0; tc_map_each(&a->rows, &pos, &key, &n_a);) {
        n_b = 0;
        tc_map_get(&b->rows, key, &n_b);
        n += n_a > n_b ? n_a - n_b : 0;
    }
    return n;
}

static void compare_rows(struct tc_comparison *c, struct tc_differences *out, const struct step *a,
                         const struct step *b)
{
    const uint64_t n = n_missing(a, b);
    struct tc_strbuf said = TC_STRBUF_INIT;

    if (!a->n_rows || !b->n_rows)
        return;
    if (a->n_rows != b->n_rows)
        tc_strbuf_addf(&said,
                       "all ranks together take %" PRIu64 " rows in a step, those of the reference "
                       "take %" PRIu64,
                       b->n_rows, a->n_rows);
    else if (n && !a->has_sizes && !b->has_sizes && a->sizes == b->sizes)
        tc_strbuf_addf(&said,
                       "%" PRIu64 " of %" PRIu64 " rows of the reference's batch are in no rank's "
                       "batch of that step",
                       n, a->n_rows);
    if (said.size)
        add_step_difference(c, out, TC_DIFFERENCE_DATA, a->n_rows != b->n_rows ? "rows" : "batch",
                            b, said.text);
    tc_strbuf_release(&said);
}

static void compare_numbers(struct tc_comparison *c, struct tc_differences *out, const char *what,
                            const struct step *step, double a, double b)
{
    const double most = fmax(fabs(a), fabs(b)), relative = most > 0 ? fabs(a - b) / most : 0;
    struct tc_strbuf said = TC_STRBUF_INIT;

    if (relative <= TC_RANKS_ROUNDING)
        return;
    tc_strbuf_addf(&said, "the %s is %.6g in the mean of the ranks, was %.6g", what, b, a);
    add_step_difference(c, out, TC_DIFFERENCE_RESULTS, what, step, said.text);
    tc_strbuf_release(&said);
}

/* What all ranks hold after a step. */
struct held {
    size_t n, n_far,
        n_parts; /* variables that compare; that are far apart; whose parts do not add up */
    double farthest;
    tc_sym name; /* of the farthest */
};

static void compare_variable(struct held *held, const struct tc_shards *a,
                             const struct tc_shards *b, tc_sym name)
{
    double x[TC_N_SKETCH], y[TC_N_SKETCH];
    const enum tc_total of_a = tc_shards_total(a, name, x), of_b = tc_shards_total(b, name, y);

    held->n_parts += of_a == TC_TOTAL_PARTS || of_b == TC_TOTAL_PARTS;
    if (of_a != TC_TOTAL_KNOWN || of_b != TC_TOTAL_KNOWN)
        return;
    const double distance = tc_sketch_distance(x, y);
    held->n++;
    held->n_far += distance > TC_RANKS_ROUNDING;
    if (distance > held->farthest) {
        held->farthest = distance;
        held->name = name;
    }
}

static void compare_variables(struct tc_comparison *c, struct tc_differences *out,
                              const struct ranks *a, const struct ranks *b, const struct step *step)
{
    struct held held = {0};
    struct tc_strbuf said = TC_STRBUF_INIT;
    tc_sym name;

    for (size_t pos = 0; tc_shards_next(&a->shards, &pos, &name);)
        compare_variable(&held, &a->shards, &b->shards, name);
    c->n_parts_of_ranks = held.n_parts;
    if (!held.n_far || 2 * held.n_far < held.n)
        return;
    tc_strbuf_addf(&said,
                   "%zu of %zu variables of all ranks together are other than those of the "
                   "reference, %s by %.2g of its norm",
                   held.n_far, held.n, tc_strtab_text(c->symbols, held.name), held.farthest);
    add_step_difference(c, out, TC_DIFFERENCE_VARIABLES, "all ranks", step, said.text);
    tc_strbuf_release(&said);
}

static void compare_step(struct tc_comparison *c, struct tc_differences *out, const struct step *a,
                         const struct step *b)
{
    compare_rows(c, out, a, b);
    if (a->n_losses && b->n_losses)
        compare_numbers(c, out, "loss", b, a->loss / a->n_losses, b->loss / b->n_losses);
    if (a->n_norms && b->n_norms)
        compare_numbers(c, out, "norm of the gradients", b, a->norm / a->n_norms,
                        b->norm / b->n_norms);
}

enum tc_status tc_ranks_compare(struct tc_comparison *c, struct tc_differences *out,
                                struct tc_error *err)
{
    struct ranks of_a = {0}, of_b = {0};
    struct step a = {.rows = TC_MAP_INIT}, b = {.rows = TC_MAP_INIT};
    enum tc_status status = open_ranks(c, &c->reference, &of_a, err);

    if (!status)
        status = open_ranks(c, &c->run, &of_b, err);
    while (!status && of_a.n && of_b.n) {
        status = read_step(c, &of_a, &a, err);
        if (!status)
            status = read_step(c, &of_b, &b, err);
        if (!status) {
            compare_step(c, out, &a, &b);
            compare_variables(c, out, &of_a, &of_b, &b);
        }
        c->n_steps_of_ranks += !status;
    }
    reset(&a);
    reset(&b);
    close_ranks(&of_a);
    close_ranks(&of_b);
    return status == TC_END ? TC_OK : status;
}
