/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.c - all ranks of a job, evaluated in lock-step
 */
#include "plan/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/pool.h"
#include "plan/collective.h"
#include "plan/eval.h"
#include "plan/fill.h"

#include "base/banned.h"

enum state {
    NEW,
    RUNNING,
    WAITING, /* for a slot that others fill */
    READY,
    DONE
};

/* What a rank has begun and others must finish: the slots of these operators are busy. */
struct rank {
    struct tc_run run;
    enum state state;
    atomic_uint n_busy;
    uint8_t *busy; /* for each slot, how many wait for it */
    uint32_t *met; /* for each group of the program: collectives so far */
    uint32_t next_alloc, next_free;
    uint32_t wanted; /* slot it waits for */
};

/* Ranks on their way to one collective. */
struct gathering {
    uint32_t group, arrived;
    struct tc_participant *all; /* in the order of the group; run is NULL before it came */
    uint32_t number;
};

/* A message on its way, or a receive that was posted. */
struct message {
    struct message *next;
    uint32_t rank, op;
    tc_el *data; /* of a send */
    int64_t n;
};

struct channel {
    uint64_t key;
    struct message *sent, *posted; /* oldest first; only one of the two has some */
};

struct world {
    const struct tc_plan_set *set;
    const struct tc_world_watch *watch;
    uint64_t seed;
    struct rank *ranks;
    uint32_t n_started, n_done, n_running;
    TC_VEC(uint32_t) ready;
    struct tc_map gatherings, channels;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_bool failed;
    enum tc_status status;
    struct tc_world_fault *fault;
    struct tc_error *err;
};

static const struct tc_plan_op *op_at(const struct rank *rank, uint32_t pc)
{
    return &rank->run.plan->program->ops.items[pc];
}

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

static void add_place(struct tc_strbuf *out, const struct tc_plan_op *op)
{
    struct tc_str line = tc_plan_line_of(op);

    tc_strbuf_addf(out, "%.*s", tc_plan_short_name(op), op->name);
    if (line.size)
        tc_strbuf_addf(out, " at %.*s", (int)line.size, line.text);
}

/* Under the lock. op may be NULL. */
static void fail(struct world *w, enum tc_world_fault_kind kind, const struct tc_plan_op *op,
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

static bool is_busy(const struct rank *rank, uint32_t slot)
{
    return rank->busy[slot] > 0;
}

/* A slot of the operator, or one it needs anew, that others have yet to fill. */
static bool busy_slot(const struct rank *rank, const struct tc_plan_op *op, uint32_t *slot)
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

static void allocate(struct rank *rank, uint32_t until)
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
static void release(struct rank *rank, uint32_t until)
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

static void start(struct world *w, struct rank *rank, uint32_t number)
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

static void finish(struct world *w, struct rank *rank)
{
    const struct tc_plan_program *p = rank->run.plan->program;

    allocate(rank, UINT32_MAX); /* results that nothing wrote */
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

static void mark(struct rank *rank, const struct tc_plan_op *op, int by)
{
    for (uint32_t k = 0; k < op->n_reads; k++)
        rank->busy[op->reads[k]->storage] = (uint8_t)(rank->busy[op->reads[k]->storage] + by);
    for (uint32_t k = 0; k < op->n_outs; k++)
        if (op->outs[k])
            rank->busy[op->outs[k]->storage] = (uint8_t)(rank->busy[op->outs[k]->storage] + by);
    atomic_fetch_add(&rank->n_busy, (unsigned)by);
}

static void wake(struct world *w, struct rank *rank)
{
    if (rank->state != WAITING || is_busy(rank, rank->wanted))
        return;
    rank->state = READY;
    tc_vec_push(&w->ready, (uint32_t)(rank - w->ranks));
    pthread_cond_signal(&w->changed);
}

/* ---- collectives --------------------------------------------------------------------------- */

static void tell_mismatch(struct world *w, const struct gathering *g,
                          const struct tc_participant *a, const struct tc_participant *b,
                          const char *how)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    const struct tc_plan_group *group = &w->set->groups.items[g->group];

    tc_strbuf_addf(&text, "collective %u of group {", g->number);
    for (uint32_t i = 0; i < group->n && i < 8; i++)
        tc_strbuf_addf(&text, "%s%u", i ? "," : "", group->ranks[i]);
    tc_strbuf_addf(&text, "%s}: rank %u ", group->n > 8 ? ",..." : "", a->run->plan->rank);
    add_place(&text, a->op);
    tc_strbuf_addf(&text, ", rank %u ", b->run->plan->rank);
    add_place(&text, b->op);
    tc_strbuf_addf(&text, ": %s", how);
    fail(w, TC_WORLD_MISMATCH, b->op, b->run->plan->rank, text.text);
    tc_strbuf_release(&text);
}

static bool is_consistent(struct world *w, const struct gathering *g,
                          const struct tc_participant *new)
{
    struct tc_strbuf how = TC_STRBUF_INIT;
    const struct tc_plan_group *group = &w->set->groups.items[g->group];
    bool differs = false;

    for (uint32_t i = 0; i < group->n && !differs; i++)
        if (g->all[i].run && g->all[i].run != new->run) {
            differs = tc_collective_differs(&g->all[i], new, &how);
            if (differs)
                /* Whoever came first, the group's order tells. */
                tell_mismatch(w, g, &g->all[i] < new ? &g->all[i] : new,
                              &g->all[i] < new ? new : &g->all[i], how.text);
            break;
        }
    tc_strbuf_release(&how);
    return !differs;
}

static struct gathering *gathering_of(struct world *w, uint32_t group, uint32_t number)
{
    uint64_t *slot = tc_map_at(&w->gatherings, (uint64_t)group << 32 | number, &(bool){0});

    if (!*slot) {
        struct gathering *g = tc_calloc(1, sizeof(*g));
        g->group = group;
        g->number = number;
        g->all = tc_calloc(w->set->groups.items[group].n, sizeof(*g->all));
        *slot = (uintptr_t)g;
    }
    return (struct gathering *)(uintptr_t)*slot;
}

static void drop(struct world *w, struct gathering *g)
{
    tc_map_remove(&w->gatherings, (uint64_t)g->group << 32 | g->number);
    tc_free(g->all);
    tc_free(g);
}

/* The last one does the work; the slots of all are its own until then. */
static void complete(struct world *w, struct gathering *g, struct tc_arena *scratch)
{
    const struct tc_plan_group *group = &w->set->groups.items[g->group];
    struct tc_strbuf text = TC_STRBUF_INIT;
    char failure[160] = "";

    pthread_mutex_unlock(&w->lock);
    tc_collective_run(g->all, group->n, scratch, failure);
    for (uint32_t i = 0; i < group->n && w->watch->op && !*failure; i++)
        w->watch->op(w->watch->context, g->all[i].run,
                     (uint32_t)(g->all[i].op - g->all[i].run->plan->program->ops.items));
    pthread_mutex_lock(&w->lock);
    if (*failure) {
        add_place(&text, g->all[0].op);
        tc_strbuf_addf(&text, " (rank %u): %s", group->ranks[0], failure);
        fail(w, TC_WORLD_MISMATCH, g->all[0].op, group->ranks[0], text.text);
        tc_strbuf_release(&text);
    }
    for (uint32_t i = 0; i < group->n; i++) {
        struct rank *rank = &w->ranks[group->ranks[i]];
        mark(rank, g->all[i].op, -1);
        wake(w, rank);
    }
    drop(w, g);
}

static void arrive(struct world *w, struct rank *rank, const struct tc_plan_op *op,
                   struct tc_arena *scratch)
{
    int64_t group_of_program = tc_collective_group(op);
    char text[300];

    if (group_of_program < 0) {
        snprintf(text, sizeof(text), "%s:%llu: field 'a': %.80s names no process group",
                 rank->run.plan->file, (unsigned long long)op->line, op->name);
        fail(w, TC_WORLD_UNFIT, op, rank->run.plan->rank, text);
        return;
    }
    uint32_t group = rank->run.plan->groups[group_of_program];
    int64_t index = tc_plan_group_index(&w->set->groups.items[group], rank->run.plan->rank);
    if (index < 0) {
        snprintf(text, sizeof(text), "%s:%llu: rank %u is not in the group of its %.80s",
                 rank->run.plan->file, (unsigned long long)op->line, rank->run.plan->rank,
                 op->name);
        fail(w, TC_WORLD_UNFIT, op, rank->run.plan->rank, text);
        return;
    }
    struct gathering *g = gathering_of(w, group, rank->met[group_of_program]++);
    g->all[index] = (struct tc_participant){&rank->run, op};
    g->arrived++;
    mark(rank, op, 1);
    if (is_consistent(w, g, &g->all[index]) && g->arrived == w->set->groups.items[group].n)
        complete(w, g, scratch);
}

/* ---- messages ------------------------------------------------------------------------------ */

/* The rank at a place of a group; of a retargeted rank the one that plays the same part for it. */
static int64_t peer_of(struct world *w, const struct rank *rank, const struct tc_plan_op *op)
{
    const struct tc_plan_rank *plan = rank->run.plan;
    const struct tc_plan_set *set = w->set;
    int64_t g = tc_collective_group(op), place = tc_message_peer(op);

    if (g < 0 || place < 0 || place >= set->groups.items[plan->groups[g]].n)
        return -1;
    uint32_t peer = set->groups.items[plan->groups[g]].ranks[place];
    if (plan->like < 0 || plan->groups[g] != plan->program->groups.items[g])
        return peer;
    const struct tc_plan_rank *from = &set->ranks[plan->like];
    for (size_t i = 0; i < from->mesh.n; i++) {
        int64_t at = from->mesh.items[i].is_joined
                         ? -1
                         : tc_plan_group_index(&set->groups.items[from->mesh.items[i].group], peer);
        for (size_t k = 0; at >= 0 && k < plan->mesh.n; k++)
            if (plan->mesh.items[k].name == from->mesh.items[i].name)
                return set->groups.items[plan->mesh.items[k].group].ranks[at];
    }
    return -1;
}

static struct channel *channel_of(struct world *w, uint32_t from, uint32_t to, int64_t tag)
{
    uint64_t key = tc_hash_mix(0, (uint64_t)from << 32 | to, (uint64_t)tag);

    return tc_map_struct(&w->channels, key, sizeof(struct channel));
}

static void append(struct message **list, struct message *m)
{
    while (*list)
        list = &(*list)->next;
    *list = m;
}

static void deliver(struct world *w, struct rank *to, const struct tc_plan_op *op,
                    struct message *m)
{
    const struct tc_plan_tensor *t = tc_message_tensor(op);
    char text[300];

    if (t && t->numel == m->n) {
        tc_view_scatter(to->run.slots[t->storage], t, m->data);
        return;
    }
    snprintf(text, sizeof(text),
             "rank %u sends %lld elements to rank %u, which receives %lld (%.*s)", m->rank,
             (long long)m->n, to->run.plan->rank, (long long)(t ? t->numel : 0),
             (int)tc_plan_line_of(op).size, op->src);
    fail(w, TC_WORLD_MISMATCH, op, to->run.plan->rank, text);
}

static void post(struct world *w, struct rank *rank, const struct tc_plan_op *op)
{
    const struct tc_plan_tensor *t = tc_message_tensor(op);
    bool is_send = op->rule->kind == TC_RULE_SEND;
    int64_t peer = peer_of(w, rank, op);
    uint32_t self = rank->run.plan->rank;
    char text[300];

    if (peer < 0 || !t) {
        snprintf(text, sizeof(text), "%s:%llu: %.80s has no peer, group or tensor",
                 rank->run.plan->file, (unsigned long long)op->line, op->name);
        fail(w, TC_WORLD_UNFIT, op, rank->run.plan->rank, text);
        return;
    }
    struct channel *c = channel_of(w, is_send ? self : (uint32_t)peer,
                                   is_send ? (uint32_t)peer : self, tc_message_tag(op));
    struct message *m = tc_calloc(1, sizeof(*m)), *met = is_send ? c->posted : c->sent;
    *m = (struct message){.rank = self, .op = rank->run.pc, .n = t->numel};
    if (is_send) {
        m->data = tc_malloc(((size_t)m->n + 1) * sizeof(*m->data));
        tc_view_gather(rank->run.slots[t->storage], t, m->data);
    }
    if (!met) {
        append(is_send ? &c->sent : &c->posted, m);
        if (!is_send)
            mark(rank, op, 1);
        return;
    }
    *(is_send ? &c->posted : &c->sent) = met->next;
    if (is_send) {
        struct rank *to = &w->ranks[met->rank];
        deliver(w, to, op_at(to, met->op), m);
        mark(to, op_at(to, met->op), -1);
        if (w->watch->op)
            w->watch->op(w->watch->context, &to->run, met->op);
        wake(w, to);
    } else {
        deliver(w, rank, op, met);
        if (w->watch->op)
            w->watch->op(w->watch->context, &rank->run, rank->run.pc);
    }
    tc_free(met->data);
    tc_free(met);
    tc_free(m->data);
    tc_free(m);
}

/* ---- one rank ------------------------------------------------------------------------------ */

static void evaluate(struct world *w, struct rank *rank, const struct tc_plan_op *op,
                     struct tc_arena *scratch)
{
    struct tc_eval e = {.op = op, .storages = rank->run.slots, .scratch = scratch, .seed = w->seed};
    struct tc_strbuf text = TC_STRBUF_INIT;

    op->rule->run(&e);
    tc_arena_reset(scratch);
    if (*e.failure) {
        tc_strbuf_addf(&text, "%s:%llu: ", rank->run.plan->file, (unsigned long long)op->line);
        add_place(&text, op);
        tc_strbuf_addf(&text, ": %s; the plan cannot be judged", e.failure);
        pthread_mutex_lock(&w->lock);
        fail(w, TC_WORLD_UNFIT, op, rank->run.plan->rank, text.text);
        pthread_mutex_unlock(&w->lock);
        tc_strbuf_release(&text);
    } else if (w->watch->op) {
        w->watch->op(w->watch->context, &rank->run, rank->run.pc);
    }
}

/* False if the rank must wait. */
static bool may_go_on(struct world *w, struct rank *rank, const struct tc_plan_op *op)
{
    bool waits;

    if (!atomic_load(&rank->n_busy))
        return true;
    pthread_mutex_lock(&w->lock);
    waits = busy_slot(rank, op, &rank->wanted);
    if (waits)
        rank->state = WAITING;
    pthread_mutex_unlock(&w->lock);
    return !waits;
}

static void step(struct world *w, struct rank *rank, const struct tc_plan_op *op,
                 struct tc_arena *scratch)
{
    allocate(rank, rank->run.pc + 1);
    if (op->rule->kind <= TC_RULE_ELEMENTWISE) {
        evaluate(w, rank, op, scratch);
    } else if (op->rule->kind != TC_RULE_SKIP) {
        pthread_mutex_lock(&w->lock);
        if (op->rule->kind == TC_RULE_COLLECTIVE)
            arrive(w, rank, op, scratch);
        else
            post(w, rank, op);
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
static void go(struct world *w, struct rank *rank, struct tc_arena *scratch)
{
    size_t n = rank->run.plan->program->ops.n;

    while (rank->run.pc < n && !w->failed) {
        const struct tc_plan_op *op = op_at(rank, rank->run.pc);
        if (!may_go_on(w, rank, op))
            return;
        step(w, rank, op, scratch);
        rank->run.pc++;
    }
    pthread_mutex_lock(&w->lock);
    bool is_done = w->failed || !atomic_load(&rank->n_busy);
    if (!is_done) { /* for what it posted and never reads */
        rank->state = WAITING;
        for (rank->wanted = 0; !is_busy(rank, rank->wanted);)
            rank->wanted++;
    }
    pthread_mutex_unlock(&w->lock);
    if (!is_done || w->failed)
        return;
    finish(w, rank);
    pthread_mutex_lock(&w->lock);
    rank->state = DONE;
    w->n_done++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* ---- deadlock ------------------------------------------------------------------------------ */

static void add_waiting(struct world *w, const struct gathering *g, struct tc_strbuf *text,
                        const struct tc_plan_op **at, uint32_t *rank)
{
    const struct tc_plan_group *group = &w->set->groups.items[g->group];
    uint32_t here = 0, away = 0;

    while (!g->all[here].run)
        here++;
    while (g->all[away].run)
        away++;
    const struct rank *other = &w->ranks[group->ranks[away]];
    *at = g->all[here].op;
    *rank = group->ranks[here];
    tc_strbuf_addf(text, "rank %u waits in collective %u of its group, ", group->ranks[here],
                   g->number);
    add_place(text, g->all[here].op);
    tc_strbuf_addf(text, ", for rank %u, which ", group->ranks[away]);
    if (other->state == DONE || other->run.pc >= w->set->ranks[group->ranks[away]].program->ops.n) {
        tc_strbuf_adds(text, "has no further one");
    } else {
        tc_strbuf_adds(text, "waits before ");
        add_place(text, op_at(other, other->run.pc));
    }
}

static void add_message(struct world *w, struct tc_strbuf *text, const struct tc_plan_op **at,
                        uint32_t *number)
{
    uint64_t key, value;

    for (size_t pos = 0; tc_map_each(&w->channels, &pos, &key, &value);) {
        const struct channel *c = (const struct channel *)(uintptr_t)value;
        const struct message *m = c->posted ? c->posted : c->sent;
        if (!m)
            continue;
        const struct tc_plan_op *op = &w->set->ranks[m->rank].program->ops.items[m->op];
        struct tc_str line = tc_plan_line_of(op);
        struct rank *rank = &w->ranks[m->rank];
        rank->run.plan = &w->set->ranks[m->rank];
        *at = op;
        *number = m->rank;
        tc_strbuf_addf(text, "%srank %u %s rank %lld %s (%.*s)", text->size ? "; " : "", m->rank,
                       c->posted ? "waits for a message from" : "sends a message to",
                       (long long)peer_of(w, rank, op),
                       c->posted ? "that is never sent" : "that is never received", (int)line.size,
                       line.text);
        return;
    }
}

/* The gathering that began first, by its ranks' positions: the others follow from it. */
static const struct gathering *first_gathering(struct world *w)
{
    const struct gathering *first = NULL;
    uint64_t key, value;

    for (size_t pos = 0; tc_map_each(&w->gatherings, &pos, &key, &value);) {
        const struct gathering *g = (const struct gathering *)(uintptr_t)value;
        if (!first || g->number < first->number ||
            (g->number == first->number && g->group < first->group))
            first = g;
    }
    return first;
}

static void tell_deadlock(struct world *w)
{
    const struct gathering *g = first_gathering(w);
    struct tc_strbuf text = TC_STRBUF_INIT;

    const struct tc_plan_op *op = NULL;
    uint32_t rank = 0;

    add_message(w, &text, &op, &rank);
    if (g) {
        if (text.size)
            tc_strbuf_adds(&text, "; ");
        add_waiting(w, g, &text, &op, &rank);
    }
    fail(w, TC_WORLD_DEADLOCK, op, rank, text.size ? text.text : "the ranks wait for each other");
    tc_strbuf_release(&text);
}

/* ---- threads ------------------------------------------------------------------------------- */

/* A rank to go on with: one that others waited for before one that has not begun. Under the lock.
 */
static struct rank *next_rank(struct world *w, bool *is_new)
{
    uint32_t number;

    *is_new = !w->ready.n;
    if (!w->ready.n && w->n_started == w->set->world)
        return NULL;
    number = w->ready.n ? w->ready.items[--w->ready.n] : w->n_started++;
    w->ranks[number].state = RUNNING;
    return &w->ranks[number];
}

static void work(void *context, size_t i)
{
    struct world *w = context;
    struct tc_arena scratch = TC_ARENA_INIT;
    bool is_new;

    (void)i;
    pthread_mutex_lock(&w->lock);
    while (!w->failed && w->n_done < w->set->world) {
        struct rank *rank = next_rank(w, &is_new);
        if (!rank && !w->n_running)
            tell_deadlock(w);
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
    tc_arena_release(&scratch);
}

static void free_messages(struct message *m)
{
    for (struct message *next; m; m = next) {
        next = m->next;
        tc_free(m->data);
        tc_free(m);
    }
}

static void release_world(struct world *w)
{
    uint64_t key, value;

    for (size_t pos = 0; tc_map_each(&w->gatherings, &pos, &key, &value);) {
        tc_free(((struct gathering *)(uintptr_t)value)->all);
        tc_free((void *)(uintptr_t)value);
    }
    for (size_t pos = 0; tc_map_each(&w->channels, &pos, &key, &value);) {
        struct channel *c = (struct channel *)(uintptr_t)value;
        free_messages(c->sent);
        free_messages(c->posted);
        tc_free(c);
    }
    for (uint32_t i = 0; i < w->set->world; i++)
        if (w->ranks[i].run.slots)
            finish(w, &w->ranks[i]);
    tc_map_release(&w->gatherings);
    tc_map_release(&w->channels);
    tc_vec_release(&w->ready);
    tc_free(w->ranks);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
}

static bool has_unread_message(const struct world *w)
{
    uint64_t key, value;

    for (size_t pos = 0; tc_map_each(&w->channels, &pos, &key, &value);)
        if (((const struct channel *)(uintptr_t)value)->sent)
            return true;
    return false;
}

enum tc_status tc_world_run(const struct tc_plan_set *set, uint64_t seed, unsigned threads,
                            const struct tc_world_watch *watch, struct tc_world_fault *fault,
                            struct tc_error *err)
{
    struct world w = {.set = set,
                      .watch = watch,
                      .seed = seed,
                      .ranks = tc_calloc(set->world, sizeof(*w.ranks)),
                      .fault = fault,
                      .err = err};

    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    threads = threads ? threads : 1;
    threads = threads > set->world ? set->world : threads;
    tc_pool_run(threads, threads, work, &w);
    if (!w.failed && has_unread_message(&w))
        tell_deadlock(&w);
    release_world(&w);
    return w.status;
}
