/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - what the wanted operators of a family compute, kept while the job is evaluated
 *
 * The first pass finds what each operator reads. What is wanted, with all that it depends on, is
 * then recorded for all ranks of the family in one more evaluation. tc_story_make_room() refuses
 * what would take too much memory.
 */
#include "plan/explain_state.h"

#include "plan/eval.h"
#include "plan/fill.h"
#include "plan/rules.h"

#define MAX_BYTES ((size_t)1 << 30) /* of recorded values */

/* What lies there before the first operator; NULL: a constant, or nothing. */
static const struct tc_plan_init *init_at(const struct tc_plan_rank *rank,
                                          const struct tc_plan_tensor *t)
{
    const struct tc_plan_init *found = NULL;

    for (size_t i = 0; i < rank->inits.n; i++) {
        const struct tc_plan_init *init = &rank->inits.items[i];
        if (init->tensor.storage == t->storage && (!found || init->tensor.offset == t->offset))
            found = init;
    }
    return found;
}

static void find_reads(struct tc_story *s, const struct tc_plan_rank *rank, uint32_t i,
                       const uint32_t *last, struct tc_story_node *node)
{
    const struct tc_plan_op *op = &rank->program->ops.items[i];

    node->deps = tc_arena_alloc(&s->arena, (op->n_reads + 1) * sizeof(*node->deps));
    node->inits = tc_arena_alloc(&s->arena, (op->n_reads + 1) * sizeof(*node->inits));
    for (uint32_t k = 0; k < op->n_reads; k++) {
        if (tc_rule_reads_size_only(op, op->reads[k]))
            continue;
        uint32_t writer = last[op->reads[k]->storage];
        const struct tc_plan_init *init = writer == TC_NO_OP ? init_at(rank, op->reads[k]) : NULL;
        if (writer != TC_NO_OP)
            node->deps[node->n_deps++] = writer;
        else if (init)
            node->inits[node->n_inits++] = init;
    }
}

/* Nodes of the rank's program as it is, or by the numbers of at. */
static struct tc_story_node *find_nodes(struct tc_story *s, const struct tc_plan_rank *rank,
                                        const uint32_t *at)
{
    const struct tc_plan_program *p = rank->program;
    uint32_t *last = tc_malloc((p->n_slots + 1) * sizeof(*last));
    struct tc_story_node *nodes = tc_calloc((at ? at[p->ops.n] : p->ops.n) + 1, sizeof(*nodes));
    size_t a = 0;

    for (uint32_t i = 0; i < p->n_slots; i++)
        last[i] = TC_NO_OP;
    for (uint32_t i = 0; i < p->ops.n; i++) {
        const struct tc_plan_op *op = &p->ops.items[i];
        for (; a < p->allocs.n && p->allocs.items[a].op <= i + 1; a++)
            last[p->allocs.items[a].slot] = TC_NO_OP; /* what it held before is gone */
        uint32_t node = at ? at[i] : i;
        find_reads(s, rank, i, last, &nodes[node]);
        for (uint32_t k = node + 1; at && k < at[i + 1]; k++)
            nodes[k] = nodes[node];
        for (uint32_t k = 0, n = 0; k < op->n_outs; k++)
            if (op->outs[k])
                last[op->outs[k]->storage] = at ? node + n++ : i;
    }
    tc_free(last);
    return nodes;
}

struct tc_story_node *tc_story_find_nodes(struct tc_story *s, const struct tc_plan_rank *rank)
{
    return find_nodes(s, rank, NULL);
}

static uint32_t count_outs(const struct tc_plan_op *op)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < op->n_outs; k++)
        n += op->outs[k] != NULL;
    return n ? n : 1;
}

static void add_outs(const struct tc_plan_op *op, struct tc_plan_op *to)
{
    if (count_outs(op) == 1)
        *to = *op;
    for (uint32_t k = 0; k < op->n_outs && count_outs(op) > 1; k++) {
        if (!op->outs[k])
            continue;
        *to = *op;
        to->outs = &op->outs[k];
        to++->n_outs = 1;
    }
}

/* The rank's program with an operator for each output: what has two, as the backward of a norm,
 * is asked for each. */
static void split_outs(struct tc_story *s)
{
    const tc_plan_ops *from = &s->rank->program->ops;
    uint32_t *at = tc_arena_alloc(&s->arena, (from->n + 1) * sizeof(*at)), n = 0;
    struct tc_plan_program *p = tc_arena_copy(&s->arena, s->rank->program, sizeof(*p));

    for (size_t i = 0; i < from->n; i++) {
        at[i] = n;
        n += count_outs(&from->items[i]);
    }
    at[from->n] = n;
    p->ops.items = tc_arena_alloc(&s->arena, ((size_t)n + 1) * sizeof(*p->ops.items));
    p->ops.n = p->ops.cap = n;
    for (size_t i = 0; i < from->n; i++)
        add_outs(&from->items[i], &p->ops.items[at[i]]);
    s->program = p;
    s->outs_at = at;
}

static void find_constants(struct tc_story *s)
{
    for (size_t i = 0; i < s->program->ops.n; i++) {
        struct tc_story_node *node = &s->nodes[i];
        const struct tc_plan_op *op = &s->program->ops.items[i];
        node->is_constant = !node->n_inits && !op->draws && op->rule->kind != TC_RULE_RECEIVE;
        for (uint32_t k = 0; k < node->n_deps; k++)
            node->is_constant = node->is_constant && s->nodes[node->deps[k]].is_constant;
    }
}

void tc_story_find_deps(struct tc_story *s)
{
    split_outs(s);
    s->nodes = find_nodes(s, s->rank, s->outs_at);
    find_constants(s);
    if (s->sent != TC_NO_OP)
        s->sent = s->outs_at[s->sent];
    s->singles = tc_story_find_nodes(s, &s->single->ranks[0]);
    s->first =
        tc_arena_zalloc(&s->arena, (s->single->ranks[0].program->ops.n + 1) * sizeof(*s->first));
}

/* Who wrote the result last; TC_NO_OP: nobody. */
uint32_t tc_story_writer(const struct tc_story *s, const struct tc_plan_result *r)
{
    for (uint32_t i = (uint32_t)s->program->ops.n; i-- > 0;)
        if (tc_plan_writes(&s->program->ops.items[i], r->tensor.storage))
            return i;
    return TC_NO_OP;
}

void tc_story_want(struct tc_story *s, uint32_t op)
{
    TC_VEC(uint32_t) stack = {0};

    tc_vec_push(&stack, op);
    while (stack.n) {
        struct tc_story_node *node = &s->nodes[stack.items[--stack.n]];
        if (node->is_wanted)
            continue;
        node->is_wanted = true;
        for (uint32_t k = 0; k < node->n_deps; k++)
            tc_vec_push(&stack, node->deps[k]);
    }
    tc_vec_release(&stack);
}

/* ---- recording ----------------------------------------------------------------------------- */

static const struct tc_plan_tensor *first_out(const struct tc_plan_op *op)
{
    for (uint32_t k = 0; k < op->n_outs; k++)
        if (op->outs[k])
            return op->outs[k];
    return NULL;
}

/* Values alone: what they carry does not outlive the evaluation. */
static void gather(const struct tc_run *run, const struct tc_plan_tensor *t, tc_el *to)
{
    tc_view_gather(run->slots[t->storage], t, to);
    for (int64_t i = 0; i < t->numel; i++)
        if (tc_el_carries(to[i]))
            to[i] = tc_el_plain(to[i]);
}

static void index_op(void *context, const struct tc_run *run, uint32_t i)
{
    struct tc_story *s = context;
    const struct tc_plan_op *op = &run->plan->program->ops.items[i];

    for (uint32_t k = 0; k < op->n_outs; k++) {
        const struct tc_plan_tensor *t = op->outs[k];
        if (!t)
            continue;
        tc_el *p = tc_malloc(((size_t)t->numel + 1) * sizeof(*p));
        gather(run, t, p);
        uint32_t first = tc_index_add(&s->index, p, t, op->name, i);
        if (t == first_out(op))
            s->first[i] = first == TC_NO_OP ? i : first;
        tc_free(p);
    }
}

/* Parameters and state as they are before the step: what is gathered from them is known, too. */
static void index_inits(struct tc_story *s)
{
    const struct tc_plan_rank *rank = &s->single->ranks[0];

    for (size_t i = 0; i < rank->inits.n; i++) {
        const struct tc_plan_init *init = &rank->inits.items[i];
        if (init->data)
            continue;
        tc_el *p = tc_malloc(((size_t)init->tensor.numel + 1) * sizeof(*p));
        tc_plan_draw_init(init, s->single->names, tc_plan_seed(0), p);
        tc_index_add(&s->index, p, &init->tensor, "", TC_NO_OP);
        tc_free(p);
    }
}

/* Numbers that one device counts before the step, as tokens: ranks have parts of them, and sum
 * these. */
static void index_numbers(struct tc_story *s)
{
    const struct tc_plan_rank *rank = &s->single->ranks[0];
    const struct tc_plan_tensor number = {.numel = 1};

    for (size_t i = 0; i < rank->consts.n; i++)
        if (rank->consts.items[i].n == 1)
            tc_index_add(&s->index, rank->consts.items[i].data, &number, "", TC_NO_OP);
}

static void record(const struct tc_run *run, const struct tc_plan_tensor *t, struct tc_part *part)
{
    tc_el *p = tc_malloc(((size_t)t->numel + 1) * sizeof(*p));

    gather(run, t, p);
    tc_free((void *)(uintptr_t)part->p);
    *part = (struct tc_part){p, t};
}

static void record_op(void *context, const struct tc_run *run, uint32_t i)
{
    struct tc_story *s = context;
    uint32_t place = s->place[run->plan->rank];
    const struct tc_plan_op *op = &run->plan->program->ops.items[i];
    const uint32_t *known_as = s->known_as[run->plan->rank];

    i = known_as ? known_as[i] : i;
    if (place == TC_NO_OP || i == TC_NO_OP)
        return;
    for (uint32_t k = 0, at = s->outs_at[i]; k < op->n_outs && at < s->outs_at[i + 1]; k++) {
        if (op->outs[k] && s->nodes[at].parts)
            record(run, op->outs[k], &s->nodes[at].parts[place]);
        at += op->outs[k] != NULL;
    }
}

static void record_results(void *context, const struct tc_run *run)
{
    struct tc_story *s = context;
    uint32_t place = s->place[run->plan->rank];

    for (size_t i = 0; place != TC_NO_OP && i < run->plan->results.n && i < s->rank->results.n; i++)
        if (s->results[i])
            record(run, &run->plan->results.items[i].tensor, &s->results[i][place]);
}

bool tc_story_make_room(struct tc_story *s)
{
    size_t bytes = 0;

    for (size_t i = 0; i < s->program->ops.n; i++) {
        const struct tc_plan_tensor *t = first_out(&s->program->ops.items[i]);
        if (s->nodes[i].is_wanted && t)
            bytes += (size_t)t->numel * sizeof(tc_el) * s->grid.n;
    }
    if (bytes > MAX_BYTES)
        return false;
    for (size_t i = 0; i < s->program->ops.n; i++)
        if (s->nodes[i].is_wanted && first_out(&s->program->ops.items[i]))
            s->nodes[i].parts = tc_calloc(s->grid.n, sizeof(*s->nodes[i].parts));
    return true;
}

enum tc_status tc_story_record(struct tc_story *s, const struct tc_verify_config *config,
                               struct tc_error *err)
{
    struct tc_laws *laws = tc_laws_new(s->verdict->laws, tc_plan_seed(0));
    struct tc_world_watch watch = {.op = index_op, .laws = laws, .context = s};
    struct tc_world_fault fault;

    index_inits(s);
    index_numbers(s);
    enum tc_status status = tc_world_run(s->single, tc_plan_seed(0), 1, &watch, &fault, err);

    watch.op = record_op;
    watch.done = record_results;
    if (!status)
        status = tc_world_run(s->parallel, tc_plan_seed(0), config->threads, &watch, &fault, err);
    tc_laws_free(laws);
    return status;
}

void tc_story_release(struct tc_story *s)
{
    for (size_t i = 0; s->nodes && i < s->program->ops.n; i++) {
        for (uint32_t r = 0; s->nodes[i].parts && r < s->grid.n; r++)
            tc_free((void *)(uintptr_t)s->nodes[i].parts[r].p);
        tc_free(s->nodes[i].parts);
    }
    for (size_t i = 0; s->results && i < s->rank->results.n; i++) {
        for (uint32_t r = 0; s->results[i] && r < s->grid.n; r++)
            tc_free((void *)(uintptr_t)s->results[i][r].p);
        tc_free(s->results[i]);
    }
    tc_free(s->nodes);
    tc_free(s->singles);
    tc_index_release(&s->index);
    tc_map_release(&s->parts);
    tc_arena_release(&s->arena);
}
