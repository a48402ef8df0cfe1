/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repair.c - the change of one line that would make a wrong job right
 *
 * Where values relate to nothing on one device, as within a ring or a split softmax, no look at
 * them says which is at fault. What becomes of the job if a line did something else does.
 */
#include "plan/repair.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/pool.h"
#include "plan/degree.h"
#include "plan/eval.h"
#include "plan/explain_state.h"
#include "plan/fill.h"
#include "plan/repair_state.h"

#define BUDGET        1000000000 /* of all that is evaluated: see cost_of */
#define OVERHEAD      500        /* of an operator, in elements */
#define MAX_REFINED   8          /* attempts after one that mends all */
#define ORDERED_SEEDS 4          /* a maximum by order may hide what is wrong from one */

/* ---- before it is tried -------------------------------------------------------------------- */

static uint64_t hash_of(const struct tc_run *run, const struct tc_plan_tensor *t)
{
    tc_el *p = tc_malloc(((size_t)t->numel + 1) * sizeof(*p));
    uint64_t hash = (uint64_t)t->numel;

    tc_view_gather(run->slots[t->storage], t, p);
    for (int64_t i = 0; i < t->numel; i++) {
        tc_el x = tc_el_plain(p[i]);
        hash = tc_hash_mix(hash, x.re, x.im);
    }
    tc_free(p);
    return hash | 1;
}

static void take_hashes(void *context, const struct tc_run *run, uint32_t op)
{
    struct tc_repair *r = context;
    const struct tc_plan_op *o = &run->plan->program->ops.items[op];

    for (uint32_t k = 0; k < o->n_outs && k < TC_REPAIR_OUTS; k++)
        if (o->outs[k])
            r->hashes[run->plan->rank][(size_t)op * TC_REPAIR_OUTS + k] = hash_of(run, o->outs[k]);
}

static enum tc_status find_hashes(struct tc_repair *r, struct tc_error *err)
{
    const struct tc_plan_set *set = r->judge->parallel;
    struct tc_laws *laws = tc_laws_new(r->laws, tc_plan_seed(0));
    struct tc_world_watch watch = {.op = take_hashes, .laws = laws, .context = r};
    struct tc_world_fault fault;

    r->hashes = tc_arena_zalloc(&r->arena, set->world * sizeof(*r->hashes));
    for (uint32_t i = 0; i < set->copies.n_distinct; i++) {
        uint32_t rank = set->copies.distinct[i];
        size_t n = set->ranks[rank].program->ops.n * TC_REPAIR_OUTS;
        r->hashes[rank] = tc_arena_zalloc(&r->arena, (n + 1) * sizeof(**r->hashes));
    }
    enum tc_status status =
        tc_world_run(set, tc_plan_seed(0), r->judge->config->threads, &watch, &fault, err);
    tc_laws_free(laws);
    return status;
}

static void find_axes(struct tc_repair *r)
{
    const struct tc_plan_set *set = r->judge->parallel;

    for (uint32_t k = 0; k < set->world; k++)
        for (size_t a = 0; a < set->ranks[k].mesh.n; a++) {
            tc_sym name = set->ranks[k].mesh.items[a].name;
            size_t i = 0;
            while (i < r->axes.n && r->axes.items[i] != name)
                i++;
            if (i == r->axes.n)
                tc_vec_push(&r->axes, name);
        }
}

/* The products of elements that a product of tensors takes, as of an m x k and a k x n matrix m k
 * n: the root of the product of the three sizes. */
static uint64_t products_of(const struct tc_plan_op *op)
{
    const struct tc_degree_form *form = tc_degree_form_of(op->rule);
    int64_t most = 0, least = INT64_MAX, out = 0;
    uint32_t n = 0;

    if (!form || !form->times || form->times[0] != '1' || form->times[1] != '1' ||
        tc_degree_is_elementwise(op->rule))
        return 0;
    for (uint32_t k = 0; k < op->n_reads; k++)
        if (op->reads[k]->n_dims > 1) {
            n++;
            most = op->reads[k]->numel > most ? op->reads[k]->numel : most;
            least = op->reads[k]->numel < least ? op->reads[k]->numel : least;
        }
    for (uint32_t k = 0; k < op->n_outs; k++)
        out = op->outs[k] && op->outs[k]->numel > out ? op->outs[k]->numel : out;
    return n < 2 ? 0 : (uint64_t)sqrt((double)most * (double)least * (double)out);
}

/* Of one evaluation. */
static uint64_t cost_of(const struct tc_plan_set *set)
{
    uint64_t cost = 0;

    for (uint32_t i = 0; i < set->copies.n_distinct; i++) {
        const struct tc_plan_program *p = set->ranks[set->copies.distinct[i]].program;
        for (size_t k = 0; k < p->ops.n; k++) {
            cost += OVERHEAD + products_of(&p->ops.items[k]);
            for (uint32_t t = 0; t < p->ops.items[k].n_reads; t++)
                cost += (uint64_t)p->ops.items[k].reads[t]->numel;
        }
    }
    return cost;
}

/* ---- one after the other ------------------------------------------------------------------- */

struct batch {
    struct tc_repair *repair;
    size_t from;
};

static void try_one(void *context, size_t i)
{
    struct batch *b = context;

    tc_repair_try(b->repair, &b->repair->attempts.items[b->from + i]);
}

static bool is_better(const struct tc_attempt *a, const struct tc_attempt *than)
{
    return !a->n_broken && a->n_mended && (!than || a->n_mended > than->n_mended);
}

/* The first that mends all; else one that mends the most. NULL: none mends any. */
static const struct tc_attempt *try_all(struct tc_repair *r, size_t most)
{
    unsigned threads = r->judge->config->threads;
    size_t n = r->attempts.n < most ? r->attempts.n : most;
    const struct tc_attempt *best = NULL;

    for (size_t from = 0; from < n && !(best && !best->n_left); from += threads) {
        struct batch b = {r, from};
        size_t size = n - from < threads ? n - from : threads;
        tc_pool_run(size, threads, try_one, &b);
        for (size_t i = 0; i < size; i++)
            if (is_better(&r->attempts.items[from + i], best))
                best = &r->attempts.items[from + i];
    }
    return best;
}

static int64_t size_of(const struct tc_repair *r, const struct tc_attempt *a)
{
    const struct tc_plan_op *op = tc_repair_first(r, &r->sites.items[a->site]);

    return op->outs[a->patch.out]->numel;
}

static size_t place_of(const struct tc_repair *r, const struct tc_attempt *a)
{
    size_t op;

    tc_repair_rank(r, &r->sites.items[a->site], &op);
    return op;
}

/* What reads the value next, but for a copy. */
static size_t next_but_copies(const struct tc_plan_program *p, const struct tc_plan_op *op)
{
    size_t next = (size_t)(op - p->ops.items);
    uint32_t storage = op->reads[0]->storage;

    do {
        next = tc_plan_next_reader(p, next, storage);
        op = next < p->ops.n ? &p->ops.items[next] : NULL;
        storage = op && op->n_outs && op->outs[0] ? op->outs[0]->storage : storage;
    } while (op && !strcmp(op->rule->name, "aten.clone"));
    return next;
}

/* Of several in a row, as two sums, the last is the one too many. */
static const struct tc_attempt *last_of(struct tc_repair *r, const struct tc_attempt *best)
{
    for (size_t i = 0; i < r->attempts.n; i++) {
        struct tc_attempt *a = &r->attempts.items[i];
        const struct tc_plan_op *op = tc_repair_first(r, &r->sites.items[best->site]);
        if (a->patch.kind != TC_PATCH_LEFT_OUT || a->patch.operand != best->patch.operand ||
            !op->n_reads ||
            next_but_copies(tc_repair_program(r, &r->sites.items[best->site]), op) !=
                place_of(r, a))
            continue;
        tc_repair_try(r, a);
        best = is_better(a, NULL) && !a->n_left ? a : best;
    }
    return best;
}

/* A sum that is right may be so before and after what adds rows: it belongs where it is smallest.
 */
static const struct tc_attempt *refine(struct tc_repair *r, const struct tc_attempt *best)
{
    const struct tc_attempt *from = best;
    unsigned n = 0;

    if (!best->n_left && best->patch.kind == TC_PATCH_LEFT_OUT)
        return last_of(r, best);
    if (best->n_left || best->patch.kind != TC_PATCH_SUM)
        return best;
    for (size_t i = 0; i < r->attempts.n && n < MAX_REFINED; i++) {
        struct tc_attempt *a = &r->attempts.items[i];
        if (a->site <= from->site || a->patch.kind != TC_PATCH_SUM ||
            a->patch.axis != best->patch.axis || size_of(r, a) >= size_of(r, best))
            continue;
        n++;
        tc_repair_try(r, a);
        if (is_better(a, NULL) && !a->n_left)
            best = a;
    }
    return best;
}

/* ---- in words ------------------------------------------------------------------------------ */

static const char *axis_name(const struct tc_repair *r, const struct tc_attempt *a)
{
    return a->patch.axis == TC_NO_SYM ? ""
                                      : tc_strtab_text(r->judge->parallel->names, a->patch.axis);
}

/* ", before aten.log (train.py:52)" */
static void add_next_reader(const struct tc_repair *r, const struct tc_attempt *a,
                            struct tc_strbuf *text)
{
    const struct tc_plan_op *op = tc_repair_first(r, &r->sites.items[a->site]);
    const struct tc_plan_program *p = tc_repair_program(r, &r->sites.items[a->site]);
    size_t next = tc_plan_next_line(p, (size_t)(op - p->ops.items), a->patch.out);

    if (next == p->ops.n)
        return;
    struct tc_str line = tc_plan_line_of(&p->ops.items[next]);
    tc_strbuf_addf(text, ", before %.*s (%.*s)", tc_plan_short_name(&p->ops.items[next]),
                   p->ops.items[next].name, (int)line.size, line.text);
}

/* "summed over tp" */
static void add_change(const struct tc_repair *r, const struct tc_attempt *a,
                       struct tc_strbuf *text)
{
    const struct tc_patch *c = &a->patch;

    if (c->kind == TC_PATCH_SUM) {
        tc_strbuf_addf(text, "summed over %s after it", axis_name(r, a));
        add_next_reader(r, a, text);
    } else if (c->kind == TC_PATCH_MAX)
        tc_strbuf_addf(text, "with the maximum over %s after it", axis_name(r, a));
    else if (c->kind == TC_PATCH_SCALE && c->num == -1)
        tc_strbuf_adds(text, "with the other sign");
    else if (c->kind == TC_PATCH_SCALE)
        tc_strbuf_addf(text, c->den == 1 ? "times %lld" : "times %lld/%lld", (long long)c->num,
                       (long long)c->den);
    else if (c->kind == TC_PATCH_LEFT_OUT)
        tc_strbuf_adds(text, "without it");
    else if (c->kind == TC_PATCH_GROUP)
        tc_strbuf_addf(text, "over %s", axis_name(r, a));
    else
        tc_strbuf_adds(text, "in reverse order");
}

/* "summed over tp after it all 12 wrong results are right" */
static void add_effect(const struct tc_repair *r, const struct tc_attempt *a,
                       struct tc_strbuf *text)
{
    uint32_t n = a->n_mended + a->n_left;

    add_change(r, a, text);
    if (a->n_left)
        tc_strbuf_addf(text, ", %u of the %u wrong results are right", a->n_mended, n);
    else
        tc_strbuf_addf(
            text, n == 1 ? ", the wrong result is right" : ", all %u wrong results are right", n);
}

static const char *kind_of(const struct tc_patch *c)
{
    static const char *const kinds[] = {"missing-reduction", "missing-reduction", "factor",
                                        "needless",          "wrong-group",       "shard-order"};

    return kinds[c->kind];
}

/* The finding that is about the operators of the site; the number of findings: none. */
static size_t finding_of(const struct tc_repair *r, const struct tc_site *site)
{
    const struct tc_plan_verdict *v = r->judge->verdict;
    const struct tc_plan_op *op = tc_repair_first(r, site);
    size_t i = 0;

    while (i < v->findings.n && !tc_repair_is_about(&v->findings.items[i], op))
        i++;
    return i;
}

/* A multiple, or a part of a sum, is known for what it is; and its place with it. */
static bool is_open(const struct tc_plan_verdict *v)
{
    static const char *const sure[] = {"factor", "missing-reduction", "left-out", "placement",
                                       "unread-message"};

    for (size_t i = 0; i < sizeof(sure) / sizeof(*sure) && v->findings.n; i++)
        if (!strcmp(v->findings.items[0].kind, sure[i]))
            return false;
    return true;
}

static const struct tc_plan_judged *first_wrong(const struct tc_plan_verdict *v)
{
    for (size_t i = 0; i < v->results.n; i++)
        if (v->results.items[i].is_wrong)
            return &v->results.items[i];
    return NULL;
}

static void add_callers(const struct tc_repair *r, const struct tc_attempt *a,
                        const struct tc_plan_op *op, struct tc_strbuf *text)
{
    tc_plan_add_callers(tc_repair_program(r, &r->sites.items[a->site]),
                        r->judge->single->ranks[0].program, op, text);
}

/* A sum that is missing in a backward: of what its forward has brought together. */
static void add_forward_exchange(const struct tc_repair *r, const struct tc_attempt *a,
                                 struct tc_strbuf *text)
{
    size_t at;
    const struct tc_plan_rank *rank = tc_repair_rank(r, &r->sites.items[a->site], &at);
    struct tc_story s = {.rank = rank, .program = rank->program};
    struct tc_story_node *nodes = tc_story_find_nodes(&s, rank);
    uint32_t exchange = a->patch.kind == TC_PATCH_SUM
                            ? tc_story_forward_exchange(rank->program, nodes, (uint32_t)at)
                            : TC_NO_OP;

    if (exchange != TC_NO_OP) {
        const struct tc_plan_op *op = &rank->program->ops.items[exchange];
        struct tc_str line = tc_plan_line_of(op);
        tc_strbuf_addf(text, "; its forward reads what ranks gave each other at %.*s (%.*s)",
                       tc_plan_short_name(op), op->name, (int)line.size, line.text);
        add_callers(r, a, op, text);
    }
    tc_free(nodes);
    tc_arena_release(&s.arena);
}

static struct tc_plan_finding new_finding(const struct tc_repair *r, const struct tc_attempt *a)
{
    struct tc_plan_verdict *v = r->judge->verdict;
    const struct tc_plan_judged *judged = first_wrong(v);
    const struct tc_plan_op *op = tc_repair_first(r, &r->sites.items[a->site]);
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_plan_finding f = {.kind = kind_of(&a->patch),
                                .hint = "",
                                .src = op->src,
                                .via = op->via,
                                .mod = op->mod,
                                .axis = axis_name(r, a),
                                .details = ""};

    f.op = tc_arena_text(&v->arena, op->name, (size_t)tc_plan_short_name(op));
    f.name = tc_strtab_text(r->judge->single->names, judged->name);
    f.ranks = judged->ranks.items;
    f.n_ranks = (uint32_t)judged->ranks.n;
    tc_plan_describe_result(r->judge->single, judged->name, &text);
    tc_strbuf_addf(&text, " departs at %s: ", f.op);
    add_effect(r, a, &text);
    add_callers(r, a, op, &text);
    add_forward_exchange(r, a, &text);
    f.text = tc_plan_keep(v, &text);
    return f;
}

/* "aten.sum (train.py:51): " */
static void add_place(const struct tc_repair *r, const struct tc_attempt *a, struct tc_strbuf *text)
{
    const struct tc_plan_op *op = tc_repair_first(r, &r->sites.items[a->site]);
    struct tc_str line = tc_plan_line_of(op);

    tc_strbuf_addf(text, "%.*s (%.*s): ", tc_plan_short_name(op), op->name, (int)line.size,
                   line.text);
}

/* What mends all is told first, and what mends some beside the finding that it confirms. */
static void tell_attempt(struct tc_repair *r, const struct tc_attempt *a)
{
    struct tc_plan_verdict *v = r->judge->verdict;
    size_t i = finding_of(r, &r->sites.items[a->site]);
    struct tc_strbuf details = TC_STRBUF_INIT;
    struct tc_plan_finding f;

    if (i == v->findings.n && a->n_left)
        return;
    if (i == v->findings.n) {
        f = new_finding(r, a);
        tc_vec_push(&v->findings, f);
    } else {
        f = v->findings.items[i];
        tc_strbuf_adds(&details, f.details);
        add_place(r, a, &details);
        add_effect(r, a, &details);
        tc_strbuf_addc(&details, '\n');
        f.details = tc_plan_keep(v, &details);
    }
    if (!a->n_left)
        memmove(v->findings.items + 1, v->findings.items, i * sizeof(f));
    v->findings.items[a->n_left ? i : 0] = f;
}

enum tc_status tc_plan_find_repair(struct judge *j, enum tc_laws_mode laws, struct tc_error *err)
{
    struct tc_repair r = {.judge = j, .laws = laws, .n_seeds = 1, .is_open = is_open(j->verdict)};

    if (laws == TC_LAWS_ORDERED)
        r.n_seeds = ORDERED_SEEDS;
    uint64_t most = BUDGET / (cost_of(j->parallel) + cost_of(j->single) + 1);
    if (!most)
        return TC_OK;
    tc_repair_find_suspects(&r);
    tc_repair_find_sites(&r);
    find_axes(&r);
    enum tc_status status = find_hashes(&r, err);
    if (!status) {
        tc_repair_list_attempts(&r);
        const struct tc_attempt *best = try_all(&r, most);
        if (best)
            tell_attempt(&r, refine(&r, best));
    }
    tc_vec_release(&r.sites);
    tc_vec_release(&r.attempts);
    tc_vec_release(&r.axes);
    tc_arena_release(&r.arena);
    return status;
}
