/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.c - all ranks of a job, evaluated in lock-step
 */
#include "plan/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "plan/carry.h"
#include "plan/eval.h"
#include "plan/fill.h"
#include "plan/ledger.h"
#include "plan/world_state.h"

struct tc_str tc_plan_line_of(const struct tc_plan_op *op)
{
    const char *comma = strstr(op->src, ", in ");

    return (struct tc_str){op->src,
                           (uint32_t)(comma ? (size_t)(comma - op->src) : strlen(op->src))};
}

/* "aten.add" of "aten.add.Tensor" */
int tc_plan_short_name(const struct tc_plan_op *op)
{
    const char *dot = strchr(op->name, '.');

    return dot ? (int)(dot + 1 - op->name) + (int)strcspn(dot + 1, ".") : (int)strlen(op->name);
}

void tc_world_add_place(struct tc_strbuf *out, const struct tc_plan_op *op)
{
    struct tc_str line = tc_plan_line_of(op);

    tc_strbuf_addf(out, "%.*s", tc_plan_short_name(op), op->name);
    if (line.size)
        tc_strbuf_addf(out, " at %.*s", (int)line.size, line.text);
}

/* Under the lock. op may be NULL. */
void tc_world_fail(struct tc_world *w, enum tc_world_fault_kind kind, const struct tc_plan_op *op,
                   uint32_t rank, const char *text)
{
    if (!w->failed) {
        w->status = tc_error_set(w->err, TC_E_FORMAT, "%s", text);
        *w->fault = (struct tc_world_fault){kind, rank, op};
    }
    w->failed = true;
    pthread_cond_broadcast(&w->changed);
}

/* ---- slots --------------------------------------------------------------------------------- */

static bool is_busy(const struct tc_world_rank *rank, uint32_t slot)
{
    return rank->busy[slot] > 0;
}

/* A slot of the operator, or one it needs anew, that others have yet to fill. */
static bool busy_slot(const struct tc_world_rank *rank, const struct tc_plan_op *op, uint32_t *slot)
{
    const struct tc_plan_program *p = rank->run.plan->program;

    for (uint32_t k = 0; k < op->n_reads; k++)
        if (is_busy(rank, *slot = op->reads[k]->storage))
            return true;
    for (uint32_t k = 0; k < op->n_outs; k++)
        if (op->outs[k] && is_busy(rank, *slot = op->outs[k]->storage))
            return true;
    for (uint32_t i = rank->next_alloc; i < p->allocs.n; i++) {
        if (p->allocs.items[i].op > rank->run.pc + 1)
            break;
        if (is_busy(rank, *slot = p->allocs.items[i].slot))
            return true;
    }
    return false;
}

static void allocate(struct tc_world_rank *rank, uint32_t until)
{
    const struct tc_plan_program *p = rank->run.plan->program;

    for (; rank->next_alloc < p->allocs.n; rank->next_alloc++) {
        const struct tc_plan_alloc *a = &p->allocs.items[rank->next_alloc];
        if (a->op > until)
            break;
        tc_free(rank->run.slots[a->slot]);
        tc_el *slot = tc_malloc(((size_t)a->n + 1) * sizeof(*slot));
        for (int64_t i = 0; i < a->n && !a->is_written; i++)
            slot[i] = TC_EL_UNDEF;
        rank->run.slots[a->slot] = slot;
    }
}

/* What is busy stays until its slot is needed. */
static void release(struct tc_world_rank *rank, uint32_t until)
{
    const struct tc_plan_program *p = rank->run.plan->program;

    for (; rank->next_free < p->frees.n; rank->next_free++) {
        const struct tc_plan_free *f = &p->frees.items[rank->next_free];
        if (f->op > until)
            break;
        if (is_busy(rank, f->slot))
            continue;
        tc_free(rank->run.slots[f->slot]);
        rank->run.slots[f->slot] = NULL;
    }
}

static void start(struct tc_world *w, struct tc_world_rank *rank, uint32_t number)
{
    const struct tc_plan_rank *plan = &w->set->ranks[number];
    const struct tc_plan_program *p = plan->program;

    rank->run.plan = plan;
    rank->run.slots = tc_calloc(p->n_slots + 1, sizeof(*rank->run.slots));
    rank->busy = tc_calloc(p->n_slots + 1, 1);
    rank->met = tc_calloc(p->groups.n + 1, sizeof(*rank->met));
    allocate(rank, 0);
    tc_plan_fill(plan, w->set->names, w->seed, rank->run.slots);
}

static void finish(struct tc_world *w, struct tc_world_rank *rank)
{
    const struct tc_plan_program *p = rank->run.plan->program;

    allocate(rank, UINT32_MAX); /* results that nothing wrote */
    if (w->watch->ledger && !w->failed)
        tc_ledger_done(w->watch->ledger, &rank->run);
    if (w->watch->done && !w->failed)
        w->watch->done(w->watch->context, &rank->run);
    for (uint32_t i = 0; i < p->n_slots; i++)
        tc_free(rank->run.slots[i]);
    tc_free(rank->run.slots);
    tc_free(rank->busy);
    tc_free(rank->met);
    rank->run.slots = NULL;
    rank->busy = NULL;
    rank->met = NULL;
}

/* ---- waiting for others; all under the lock ------------------------------------------------ */

void tc_world_mark(struct tc_world_rank *rank, const struct tc_plan_op *op, int by)
{
    for (uint32_t k = 0; k < op->n_reads; k++)
        rank->busy[op->reads[k]->storage] = (uint8_t)(rank->busy[op->reads[k]->storage] + by);
    for (uint32_t k = 0; k < op->n_outs; k++)
        if (op->outs[k])
            rank->busy[op->outs[k]->storage] = (uint8_t)(rank->busy[op->outs[k]->storage] + by);
    atomic_fetch_add(&rank->n_busy, (unsigned)by);
}

void tc_world_wake(struct tc_world *w, struct tc_world_rank *rank)
{
    if (rank->state != TC_WORLD_WAITING || is_busy(rank, rank->wanted))
        return;
    rank->state = TC_WORLD_READY;
    tc_vec_push(&w->ready, (uint32_t)(rank - w->ranks));
    pthread_cond_signal(&w->changed);
}

/* ---- one rank ------------------------------------------------------------------------------ */

static void evaluate(struct tc_world *w, struct tc_world_rank *rank, const struct tc_plan_op *op,
                     struct tc_arena *scratch)
{
    struct tc_eval e = {.op = op, .storages = rank->run.slots, .scratch = scratch, .seed = w->seed};
    struct tc_strbuf text = TC_STRBUF_INIT;

    op->rule->run(&e);
    tc_arena_reset(scratch);
    if (*e.failure) {
        tc_strbuf_addf(&text, "%s:%llu: ", rank->run.plan->file, (unsigned long long)op->line);
        tc_world_add_place(&text, op);
        tc_strbuf_addf(&text, ": %s; the plan cannot be judged", e.failure);
        pthread_mutex_lock(&w->lock);
        tc_world_fail(w, TC_WORLD_UNFIT, op, rank->run.plan->rank, text.text);
        pthread_mutex_unlock(&w->lock);
        tc_strbuf_release(&text);
        return;
    }
    if (w->watch->ledger)
        tc_ledger_op(w->watch->ledger, &rank->run, rank->run.pc);
    if (w->watch->op)
        w->watch->op(w->watch->context, &rank->run, rank->run.pc);
}

/* Whole numbers alone are compared: what depends on parameters is no number of the real job, and
 * others were rounded. */
static void check_value(struct tc_world *w, const struct tc_world_rank *rank,
                        const struct tc_plan_op *op)
{
    const struct tc_plan_tensor *t = op->n_reads == 1 ? op->reads[0] : NULL;

    if (!t || t->numel != 1 || !w->watch->misread || op->value != floor(op->value))
        return;
    tc_el is = tc_el_plain(rank->run.slots[t->storage][t->offset]);
    if (tc_el_is_real(is) && !tc_el_same(is, tc_el_number(op->value, false)))
        w->watch->misread(w->watch->context, &rank->run, op, tc_el_to_int(is));
}

/* False if the rank must wait. */
static bool may_go_on(struct tc_world *w, struct tc_world_rank *rank, const struct tc_plan_op *op)
{
    bool waits;

    if (!atomic_load(&rank->n_busy))
        return true;
    pthread_mutex_lock(&w->lock);
    waits = busy_slot(rank, op, &rank->wanted);
    if (waits)
        rank->state = TC_WORLD_WAITING;
    pthread_mutex_unlock(&w->lock);
    return !waits;
}

static void step(struct tc_world *w, struct tc_world_rank *rank, const struct tc_plan_op *op,
                 struct tc_arena *scratch)
{
    allocate(rank, rank->run.pc + 1);
    if (op->rule->kind <= TC_RULE_ELEMENTWISE) {
        evaluate(w, rank, op, scratch);
    } else if (op->has_value) {
        check_value(w, rank, op);
    } else if (op->rule->kind != TC_RULE_SKIP) {
        pthread_mutex_lock(&w->lock);
        if (op->rule->kind == TC_RULE_COLLECTIVE)
            tc_gathering_arrive(w, rank, op, scratch);
        else
            tc_channel_post(w, rank, op);
        pthread_mutex_unlock(&w->lock);
        tc_arena_reset(scratch);
    }
    if (atomic_load(&rank->n_busy)) {
        pthread_mutex_lock(&w->lock);
        release(rank, rank->run.pc + 1);
        pthread_mutex_unlock(&w->lock);
    } else {
        release(rank, rank->run.pc + 1);
    }
}

/* Until it waits or ends. */
static void go(struct tc_world *w, struct tc_world_rank *rank, struct tc_arena *scratch)
{
    size_t n = rank->run.plan->program->ops.n;

    while (rank->run.pc < n && !w->failed) {
        const struct tc_plan_op *op = tc_world_op(rank, rank->run.pc);
        if (!may_go_on(w, rank, op))
            return;
        step(w, rank, op, scratch);
        rank->run.pc++;
    }
    pthread_mutex_lock(&w->lock);
    bool is_done = w->failed || !atomic_load(&rank->n_busy);
    if (!is_done) { /* for what it posted and never reads */
        rank->state = TC_WORLD_WAITING;
        for (rank->wanted = 0; !is_busy(rank, rank->wanted);)
            rank->wanted++;
    }
    pthread_mutex_unlock(&w->lock);
    if (!is_done || w->failed)
        return;
    finish(w, rank);
    pthread_mutex_lock(&w->lock);
    rank->state = TC_WORLD_DONE;
    w->n_done++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* ---- threads ------------------------------------------------------------------------------- */

/* A rank to go on with: one that others waited for before one that has not begun. Under the lock.
 */
static struct tc_world_rank *next_rank(struct tc_world *w, bool *is_new)
{
    uint32_t number;

    *is_new = !w->ready.n;
    if (!w->ready.n && w->n_started == w->set->copies.n_distinct)
        return NULL;
    number = w->ready.n ? w->ready.items[--w->ready.n] : w->set->copies.distinct[w->n_started++];
    w->ranks[number].state = TC_WORLD_RUNNING;
    return &w->ranks[number];
}

static void work(void *context, size_t i)
{
    struct tc_world *w = context;
    struct tc_arena scratch = TC_ARENA_INIT;
    bool is_new;

    (void)i;
    tc_el_counts = (struct tc_el_counts){0}; /* of another evaluation, on this thread */
    tc_laws_enter(w->watch->laws);
    pthread_mutex_lock(&w->lock);
    while (!w->failed && w->n_done < w->set->copies.n_distinct) {
        struct tc_world_rank *rank = next_rank(w, &is_new);
        if (!rank && !w->n_running)
            tc_world_tell_deadlock(w);
        else if (!rank)
            pthread_cond_wait(&w->changed, &w->lock);
        if (!rank)
            continue;
        w->n_running++;
        pthread_mutex_unlock(&w->lock);
        if (is_new)
            start(w, rank, (uint32_t)(rank - w->ranks));
        go(w, rank, &scratch);
        bool goes_on = !w->watch->tick || w->watch->tick(w->watch->context);
        pthread_mutex_lock(&w->lock);
        w->n_running--;
        if (!goes_on) {
            w->failed = true;
            w->status = tc_error_set(w->err, TC_E_INTERRUPTED, "interrupted");
        }
        if (!w->n_running)
            pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    tc_laws_enter(NULL);
    tc_arena_release(&scratch);
}

static void release_world(struct tc_world *w)
{
    for (uint32_t i = 0; i < w->set->world; i++)
        if (w->ranks[i].run.slots)
            finish(w, &w->ranks[i]);
    tc_gatherings_release(w);
    tc_channels_release(w);
    tc_vec_release(&w->ready);
    tc_free(w->ranks);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
}

enum tc_status tc_world_run(const struct tc_plan_set *set, uint64_t seed, unsigned threads,
                            const struct tc_world_watch *watch, struct tc_world_fault *fault,
                            struct tc_error *err)
{
    struct tc_world w = {.set = set,
                         .watch = watch,
                         .seed = seed,
                         .ranks = tc_calloc(set->world, sizeof(*w.ranks)),
                         .fault = fault,
                         .err = err};

    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    threads = threads ? threads : 1;
    threads = threads > set->copies.n_distinct ? set->copies.n_distinct : threads;
    tc_pool_run(threads, threads, work, &w);
    if (!w.failed && tc_channel_has_unread(&w))
        tc_world_tell_deadlock(&w);
    release_world(&w);
    return w.status;
}
