/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.c - reductions, gathers, exchanges between the ranks of a group
 *
 * Each rank gives lists of tensors and gets lists of tensors, laid flat. A coalesced collective is
 * several at once: unit u is tensor u of each list.
 */
#include "plan/collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/eval.h"

enum collective {
    ALL_REDUCE,
    ALL_GATHER,
    REDUCE_SCATTER,
    BROADCAST,
    ALL_TO_ALL,
    REDUCE,
    GATHER,
    SCATTER,
    BARRIER,
};

enum argument {
    IN,
    OUT,
    REDUCTION,
    PG,
    ROOT,
    OUT_SPLITS,
    IN_SPLITS,
};

/* Tensors of an argument, lists within lists laid flat. */
struct side {
    const struct tc_plan_tensor **items;
    size_t n;
    int64_t numel;
};

static void add_tensors(const struct tc_plan_value *v, struct side *side)
{
    if (v->kind == TC_PLAN_TENSOR) {
        side->items[side->n++] = v->tensor;
        side->numel += v->tensor->numel;
    }
    for (uint32_t i = 0; v->kind == TC_PLAN_LIST && i < v->n; i++)
        add_tensors(&v->items[i], side);
}

static struct side side_of(const struct tc_plan_op *op, enum argument which, struct tc_arena *arena)
{
    struct side s = {.items =
                         tc_arena_alloc(arena, (op->n_reads + op->n_outs + 1) * sizeof(void *))};

    if (op->args[which].kind != TC_PLAN_NONE) {
        add_tensors(&op->args[which], &s);
        return s;
    }
    for (uint32_t k = 0; which == OUT && k < op->n_outs; k++)
        if (op->outs[k]) {
            s.items[s.n++] = op->outs[k];
            s.numel += op->outs[k]->numel;
        }
    return s;
}

static int64_t whole(const struct tc_plan_value *v, int64_t fallback)
{
    return v->kind == TC_PLAN_WHOLE ? v->whole : fallback;
}

static const char *reduction_of(const struct tc_plan_op *op)
{
    return op->args[REDUCTION].kind == TC_PLAN_TEXT ? op->args[REDUCTION].text : "sum";
}

int64_t tc_collective_group(const struct tc_plan_op *op)
{
    return op->args[PG].kind == TC_PLAN_GROUP ? (int64_t)op->args[PG].group : -1;
}

int64_t tc_message_peer(const struct tc_plan_op *op)
{
    return whole(&op->args[ROOT], -1);
}

int64_t tc_message_tag(const struct tc_plan_op *op)
{
    return whole(&op->args[OUT_SPLITS], 0);
}

const struct tc_plan_tensor *tc_message_tensor(const struct tc_plan_op *op)
{
    const struct tc_plan_value *v = &op->args[IN];

    v = v->kind == TC_PLAN_LIST && v->n == 1 ? &v->items[0] : v;
    return v->kind == TC_PLAN_TENSOR ? v->tensor : NULL;
}

bool tc_collective_is_even(const struct tc_plan_op *op)
{
    enum collective kind = (enum collective)op->rule->variant;

    return kind == ALL_REDUCE || kind == ALL_GATHER || kind == BROADCAST || kind == BARRIER;
}

bool tc_collective_multiplies(const struct tc_plan_op *op)
{
    return !strcmp(reduction_of(op), "prod");
}

bool tc_collective_chooses(const struct tc_plan_op *op)
{
    return !strcmp(reduction_of(op), "max") || !strcmp(reduction_of(op), "min");
}

/* ---- do they match? ------------------------------------------------------------------------ */

static bool has_even_sizes(enum collective kind)
{
    return kind == ALL_REDUCE || kind == REDUCE_SCATTER || kind == BROADCAST || kind == REDUCE;
}

bool tc_collective_differs(const struct tc_participant *a, const struct tc_participant *b,
                           struct tc_strbuf *how)
{
    struct tc_arena arena = TC_ARENA_INIT;
    const struct tc_rule *x = a->op->rule, *y = b->op->rule;

    if (x->variant != y->variant) {
        tc_strbuf_addf(how, "different collectives");
        return true;
    }
    struct side p = side_of(a->op, IN, &arena), q = side_of(b->op, IN, &arena);
    if (has_even_sizes((enum collective)x->variant) && p.numel != q.numel)
        tc_strbuf_addf(how, "%lld and %lld elements", (long long)p.numel, (long long)q.numel);
    else if (strcmp(reduction_of(a->op), reduction_of(b->op)) != 0)
        tc_strbuf_addf(how, "reductions %s and %s", reduction_of(a->op), reduction_of(b->op));
    else if (whole(&a->op->args[ROOT], 0) != whole(&b->op->args[ROOT], 0))
        tc_strbuf_addf(how, "roots %lld and %lld", (long long)whole(&a->op->args[ROOT], 0),
                       (long long)whole(&b->op->args[ROOT], 0));
    tc_arena_release(&arena);
    return how->size > 0;
}

/* ---- what they do -------------------------------------------------------------------------- */

/* The ranks that met, and one unit of what they exchange. */
struct meeting {
    const struct tc_participant *all;
    uint32_t n;
    struct side *in, *out; /* of each rank, this unit's */
    struct tc_arena *scratch;
    char *failure;
};

static void fail(struct meeting *m, const char *what)
{
    if (!*m->failure)
        snprintf(m->failure, 160, "%s", what);
}

/* Everything a rank gives, in a row. */
static tc_el *given(struct meeting *m, uint32_t rank)
{
    const struct side *s = &m->in[rank];
    tc_el *p = tc_arena_alloc(m->scratch, ((size_t)s->numel + 1) * sizeof(*p)), *to = p;

    for (size_t i = 0; i < s->n; i++) {
        tc_view_gather(m->all[rank].run->slots[s->items[i]->storage], s->items[i], to);
        to += s->items[i]->numel;
    }
    return p;
}

/* A copy of the rank before it: what that one gives and gets. */
static bool is_copy(const struct meeting *m, uint32_t rank)
{
    return rank > 0 && m->all[rank].run == m->all[rank - 1].run;
}

static uint32_t copies_from(const struct meeting *m, uint32_t rank)
{
    uint32_t n = 1;

    while (rank + n < m->n && is_copy(m, rank + n))
        n++;
    return n;
}

static void give(struct meeting *m, uint32_t rank, const tc_el *from, int64_t n)
{
    const struct side *s = &m->out[rank];

    if (is_copy(m, rank))
        return;
    if (s->numel != n) {
        fail(m, "an output whose size does not fit the inputs");
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        tc_view_scatter(m->all[rank].run->slots[s->items[i]->storage], s->items[i], from);
        from += s->items[i]->numel;
    }
}

/* Added one by one: a product loses what is known of a log. */
static tc_el added(tc_el sum, tc_el x, uint32_t times)
{
    for (uint32_t k = 0; k < times; k++)
        sum = tc_el_add(sum, x);
    return sum;
}

/* x is there `times` times. */
static void combine(const char *how, tc_el *sum, const tc_el *x, int64_t n, uint32_t times)
{
    bool is_max = !strcmp(how, "max"), is_min = !strcmp(how, "min"), is_prod = !strcmp(how, "prod");
    tc_el factor = tc_el_int(times);

    for (int64_t i = 0; i < n; i++) {
        tc_el both[2] = {sum[i], x[i]};
        if (is_max)
            sum[i] = tc_el_max_of(both, 2, 1);
        else if (is_min)
            sum[i] = tc_el_compare(x[i], sum[i]) < 0 ? x[i] : sum[i];
        else if (is_prod)
            sum[i] = tc_el_mul(sum[i], tc_el_power(x[i], times));
        else if (tc_el_carries(x[i]))
            sum[i] = added(sum[i], x[i], times);
        else
            sum[i] = tc_el_add(sum[i], times == 1 ? x[i] : tc_el_mul(x[i], factor));
    }
}

/* avg and premul_sum: sums with a factor. */
static tc_el factor_of(struct meeting *m, const char *how)
{
    if (!strcmp(how, "avg"))
        return tc_el_inv(tc_el_int(m->n));
    if (!strncmp(how, "premul_sum:", 11))
        return tc_el_number(strtod(how + 11, NULL), false);
    if (strcmp(how, "sum") != 0 && strcmp(how, "max") != 0 && strcmp(how, "min") != 0 &&
        strcmp(how, "prod") != 0)
        fail(m, "a reduction without a rule");
    return TC_EL_ONE;
}

static tc_el *reduced(struct meeting *m)
{
    const char *how = reduction_of(m->all[0].op);
    tc_el *sum = given(m, 0), factor = factor_of(m, how);
    int64_t n = m->in[0].numel;
    uint32_t times = copies_from(m, 0);

    if (times > 1)
        combine(how, sum, given(m, 0), n, times - 1);
    for (uint32_t r = times; r < m->n; r += times) {
        struct tc_arena_mark mark = tc_arena_mark(m->scratch);
        times = copies_from(m, r);
        if (m->in[r].numel != n)
            fail(m, "inputs of different sizes");
        else
            combine(how, sum, given(m, r), n, times);
        tc_arena_rewind(m->scratch, mark);
    }
    for (int64_t i = 0; i < n && !tc_el_same(factor, TC_EL_ONE); i++)
        sum[i] = tc_el_mul(sum[i], factor);
    return sum;
}

static void run_reduce(struct meeting *m, enum collective kind, int64_t root)
{
    tc_el *sum = reduced(m);
    int64_t n = m->in[0].numel, part = n / m->n;

    if (kind == REDUCE_SCATTER && n % m->n)
        fail(m, "an input that does not fall into equal parts");
    for (uint32_t r = 0; r < m->n && !*m->failure; r++) {
        if (kind == REDUCE_SCATTER)
            give(m, r, sum + r * part, part);
        else if (kind == ALL_REDUCE || r == (uint32_t)root)
            give(m, r, sum, n);
    }
}

static void run_gather(struct meeting *m, enum collective kind, int64_t root)
{
    int64_t numel = 0, at = 0;

    for (uint32_t r = 0; r < m->n; r++)
        numel += m->in[r].numel;
    tc_el *all = tc_arena_alloc(m->scratch, ((size_t)numel + 1) * sizeof(*all));
    for (uint32_t r = 0; r < m->n; r++) {
        memcpy(all + at, given(m, r), (size_t)m->in[r].numel * sizeof(*all));
        at += m->in[r].numel;
    }
    for (uint32_t r = 0; r < m->n && !*m->failure; r++)
        if (kind == ALL_GATHER || r == (uint32_t)root)
            give(m, r, all, numel);
}

static void run_from_root(struct meeting *m, enum collective kind, uint32_t root)
{
    tc_el *from = given(m, root);
    int64_t n = m->in[root].numel, part = n / m->n;

    for (uint32_t r = 0; r < m->n && !*m->failure; r++)
        give(m, r, kind == SCATTER ? from + r * part : from, kind == SCATTER ? part : n);
}

/* What rank r gives to each: lists of equal or given numbers of rows. */
static int64_t part_for(struct meeting *m, uint32_t r, uint32_t to, enum argument splits,
                        const struct side *s)
{
    const struct tc_plan_value *v = &m->all[r].op->args[splits];

    if (s->n == m->n && m->n > 1)
        return s->items[to]->numel;
    if (v->kind != TC_PLAN_LIST || v->n != m->n)
        return s->numel / m->n;
    int64_t rows = 0;
    for (uint32_t i = 0; i < v->n; i++)
        rows += whole(&v->items[i], 0);
    return rows ? whole(&v->items[to], 0) * (s->numel / rows) : 0;
}

static void run_all_to_all(struct meeting *m)
{
    tc_el **in = tc_arena_alloc(m->scratch, m->n * sizeof(*in));
    int64_t *at = tc_arena_zalloc(m->scratch, m->n * sizeof(*at));

    for (uint32_t r = 0; r < m->n; r++)
        in[r] = given(m, r);
    for (uint32_t to = 0; to < m->n && !*m->failure; to++) {
        int64_t numel = m->out[to].numel, filled = 0;
        tc_el *all = tc_arena_alloc(m->scratch, ((size_t)numel + 1) * sizeof(*all));
        for (uint32_t r = 0; r < m->n; r++) {
            int64_t n = part_for(m, r, to, IN_SPLITS, &m->in[r]);
            if (n != part_for(m, to, r, OUT_SPLITS, &m->out[to]) || filled + n > numel ||
                at[r] + n > m->in[r].numel) {
                fail(m, "parts whose sizes the two sides name differently");
                return;
            }
            memcpy(all + filled, in[r] + at[r], (size_t)n * sizeof(*all));
            at[r] += n;
            filled += n;
        }
        give(m, to, all, filled);
    }
}

static void run_unit(struct meeting *m, enum collective kind, int64_t root)
{
    if (kind == ALL_REDUCE || kind == REDUCE_SCATTER || kind == REDUCE)
        run_reduce(m, kind, root);
    else if (kind == ALL_GATHER || kind == GATHER)
        run_gather(m, kind, root);
    else if (kind == BROADCAST || kind == SCATTER)
        run_from_root(m, kind, (uint32_t)root);
    else if (kind == ALL_TO_ALL)
        run_all_to_all(m);
}

/* Tensor u of a side that has several units. */
static struct side unit_of(struct side s, size_t u)
{
    s.items += u;
    s.n = 1;
    s.numel = s.items[0]->numel;
    return s;
}

bool tc_collective_run(const struct tc_participant *all, uint32_t n, struct tc_arena *scratch,
                       char failure[160])
{
    const struct tc_rule *rule = all[0].op->rule;
    int64_t root = whole(&all[0].op->args[ROOT], 0);
    struct side *whole_in = tc_arena_alloc(scratch, 4 * n * sizeof(*whole_in));
    struct side *whole_out = whole_in + n;
    struct meeting m = {all, n, whole_out + n, whole_out + 2 * n, scratch, failure};

    for (uint32_t r = 0; r < n; r++) {
        whole_in[r] = side_of(all[r].op, IN, scratch);
        whole_out[r] = side_of(all[r].op, OUT, scratch);
    }
    size_t units = rule->extra ? whole_in[0].n : 1;
    if (root < 0 || root >= n)
        fail(&m, "a root outside its group");
    for (size_t u = 0; u < units && !*failure; u++) {
        struct tc_arena_mark mark = tc_arena_mark(scratch);
        for (uint32_t r = 0; r < n; r++) {
            bool is_split = rule->extra && whole_in[r].n == units && whole_out[r].n == units;
            if (rule->extra && !is_split)
                fail(&m, "lists of different lengths");
            m.in[r] = is_split ? unit_of(whole_in[r], u) : whole_in[r];
            m.out[r] = is_split ? unit_of(whole_out[r], u) : whole_out[r];
        }
        if (!*failure)
            run_unit(&m, (enum collective)rule->variant, root);
        tc_arena_rewind(scratch, mark);
    }
    return !*failure;
}

/* ---- the table ----------------------------------------------------------------------------- */

/* Names of arguments in the order of enum argument. */
#define ARGS                                                                                   \
    "input|input_tensor|self|tensors|inputs|input_tensors|input_list "                         \
    "output|output_tensor|outputs|output_tensors|output_lists|out reduce_op process_group|pg " \
    "root_rank|src output_split_sizes input_split_sizes"
#define MESSAGE_ARGS "tensors - - process_group|pg dst|src tag"

#define ROW(name, kind, units)                            \
    {                                                     \
        name, ARGS, NULL, TC_RULE_COLLECTIVE, kind, units \
    }

const struct tc_rule tc_rules_collective[] = {
    ROW("c10d.allreduce_", ALL_REDUCE, 1),
    ROW("c10d.allreduce_coalesced_", ALL_REDUCE, 1),
    ROW("c10d.allgather_", ALL_GATHER, 0),
    ROW("c10d._allgather_base_", ALL_GATHER, 0),
    ROW("c10d.allgather_into_tensor_coalesced_", ALL_GATHER, 1),
    ROW("c10d.reduce_scatter_", REDUCE_SCATTER, 0),
    ROW("c10d._reduce_scatter_base_", REDUCE_SCATTER, 0),
    ROW("c10d.reduce_scatter_tensor_coalesced_", REDUCE_SCATTER, 1),
    ROW("c10d.broadcast_", BROADCAST, 1),
    ROW("c10d.alltoall_", ALL_TO_ALL, 0),
    ROW("c10d.alltoall_base_", ALL_TO_ALL, 0),
    ROW("c10d.reduce_", REDUCE, 1),
    ROW("c10d.gather_", GATHER, 0),
    ROW("c10d.scatter_", SCATTER, 0),
    ROW("c10d.barrier", BARRIER, 0),
    ROW("_c10d_functional.all_reduce", ALL_REDUCE, 0),
    ROW("_c10d_functional.all_reduce_coalesced", ALL_REDUCE, 1),
    ROW("_c10d_functional.all_gather_into_tensor", ALL_GATHER, 0),
    ROW("_c10d_functional.all_gather_into_tensor_out", ALL_GATHER, 0),
    ROW("_c10d_functional.all_gather_into_tensor_coalesced", ALL_GATHER, 1),
    ROW("_c10d_functional.reduce_scatter_tensor", REDUCE_SCATTER, 0),
    ROW("_c10d_functional.reduce_scatter_tensor_out", REDUCE_SCATTER, 0),
    ROW("_c10d_functional.reduce_scatter_tensor_coalesced", REDUCE_SCATTER, 1),
    ROW("_c10d_functional.all_to_all_single", ALL_TO_ALL, 0),
    ROW("_c10d_functional.broadcast", BROADCAST, 0),
    ROW("_c10d_functional_autograd.all_reduce", ALL_REDUCE, 0),
    ROW("_c10d_functional_autograd.all_gather_into_tensor", ALL_GATHER, 0),
    ROW("_c10d_functional_autograd.reduce_scatter_tensor", REDUCE_SCATTER, 0),
    ROW("_c10d_functional_autograd.all_to_all_single", ALL_TO_ALL, 0),
    {"c10d.send", MESSAGE_ARGS, NULL, TC_RULE_SEND, 0, 0},
    {"c10d.recv_",       MESSAGE_ARGS, NULL, TC_RULE_RECEIVE, 0, 0},
    {0         },
};
