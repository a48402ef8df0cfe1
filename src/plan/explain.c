/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.c - where a parallel job departs from the single-device job, and how
 *
 * From a result that is wrong, back through the operators that made it: to those whose value
 * relates to no single-device value while all their operands do. There the job departs.
 */
#include "plan/explain.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plan/eval.h"
#include "plan/relate.h"

#include "base/banned.h"

#define MAX_BYTES    ((size_t)1 << 30) /* of recorded values */
#define MAX_FINDINGS 5
#define MAX_TRIES    64
#define NO_OP        UINT32_MAX

/* One operator of the family's program. */
struct node {
    uint32_t *deps; /* operators that wrote what it reads */
    uint32_t n_deps;
    bool is_wanted, is_related_known;
    struct tc_part *parts; /* of each rank of the grid, for its first output */
    struct tc_related relation;
};

struct story {
    const struct tc_plan_set *single, *parallel;
    struct tc_plan_verdict *verdict;
    const struct tc_plan_rank *rank; /* the one that is spoken of */
    const struct tc_plan_program *program;
    struct tc_grid grid;
    uint32_t *place; /* of each rank in the grid, NO_OP outside */
    struct node *nodes;
    struct tc_part **results; /* of each result of the rank, by place */
    struct tc_index index;
    struct tc_arena arena;
    uint32_t *told; /* operators that a finding is about */
    size_t n_told;
    int64_t sender; /* a rank whose message is wrong on arrival; -1: none seen */
    bool is_last;   /* a message may be what a finding is about */
};

/* ---- the family ---------------------------------------------------------------------------- */

/* Ranks that do the same to tensors of the same names. Of copies one is spoken of: along their axis
 * all values are equal. */
static uint64_t names_of(const struct tc_plan_rank *rank)
{
    uint64_t hash = rank->program->signature;

    for (size_t i = 0; i < rank->results.n; i++)
        hash = tc_hash_mix(hash, rank->results.items[i].name, i);
    return hash;
}

static bool is_kin(const struct story *s, uint32_t rank, uint64_t family)
{
    return s->parallel->copies.of[rank] == rank && names_of(&s->parallel->ranks[rank]) == family;
}

static bool is_axis(const struct story *s, const struct tc_plan_axis *axis, uint64_t family)
{
    const struct tc_plan_group *group = &s->parallel->groups.items[axis->group];

    if (axis->is_joined || group->n < 2)
        return false;
    for (uint32_t i = 0; i < group->n; i++)
        if (!is_kin(s, group->ranks[i], family))
            return false;
    return true;
}

static void find_axes(struct story *s, uint64_t family)
{
    const struct tc_plan_rank *rank = s->rank;

    s->grid.n = 1;
    for (size_t i = 0; i < rank->mesh.n && s->grid.n_axes < TC_RELATE_MAX_AXES; i++)
        if (is_axis(s, &rank->mesh.items[i], family)) {
            unsigned a = s->grid.n_axes++;
            s->grid.names[a] = tc_strtab_text(s->parallel->names, rank->mesh.items[i].name);
            s->grid.sizes[a] = s->parallel->groups.items[rank->mesh.items[i].group].n;
            s->grid.n *= s->grid.sizes[a];
        }
    if (s->grid.n_axes)
        return;
    for (uint32_t r = 0; r < s->parallel->world; r++)
        s->grid.n += is_kin(s, r, family);
    s->grid.n--;
    s->grid.n_axes = s->grid.n > 1;
    s->grid.names[0] = "ranks";
    s->grid.sizes[0] = s->grid.n;
}

/* Its place by its indices in the groups of the axes. */
static uint32_t place_of(const struct story *s, const struct tc_plan_rank *rank)
{
    uint32_t place = 0;

    for (unsigned a = 0; a < s->grid.n_axes; a++) {
        int64_t index = -1;
        for (size_t i = 0; i < rank->mesh.n; i++)
            if (!strcmp(tc_strtab_text(s->parallel->names, rank->mesh.items[i].name),
                        s->grid.names[a]))
                index = tc_plan_group_index(&s->parallel->groups.items[rank->mesh.items[i].group],
                                            rank->rank);
        if (index < 0 || index >= s->grid.sizes[a])
            return NO_OP;
        place = place * s->grid.sizes[a] + (uint32_t)index;
    }
    return place;
}

static bool place_ranks(struct story *s, uint64_t family)
{
    uint32_t found = 0, next = 0;
    uint8_t *seen = tc_arena_zalloc(&s->arena, s->grid.n + 1);
    bool is_flat = s->grid.n_axes == 1 && !strcmp(s->grid.names[0], "ranks");

    s->place = tc_arena_alloc(&s->arena, s->parallel->world * sizeof(*s->place));
    for (uint32_t r = 0; r < s->parallel->world; r++) {
        const struct tc_plan_rank *rank = &s->parallel->ranks[r];
        bool fits = is_kin(s, r, family) && rank->program->ops.n == s->program->ops.n;
        s->place[r] = !fits ? NO_OP : is_flat ? next++ : place_of(s, rank);
        if (s->grid.n_axes == 0)
            s->place[r] = rank == s->rank ? 0 : NO_OP;
        if (s->place[r] < s->grid.n && !seen[s->place[r]]++)
            found++;
        else
            s->place[r] = NO_OP;
    }
    return found == s->grid.n;
}

/* ---- what depends on what ------------------------------------------------------------------ */

static void find_deps(struct story *s)
{
    const struct tc_plan_program *p = s->program;
    uint32_t *last = tc_malloc((p->n_slots + 1) * sizeof(*last));

    for (uint32_t i = 0; i < p->n_slots; i++)
        last[i] = NO_OP;
    s->nodes = tc_calloc(p->ops.n + 1, sizeof(*s->nodes));
    for (uint32_t i = 0; i < p->ops.n; i++) {
        const struct tc_plan_op *op = &p->ops.items[i];
        struct node *node = &s->nodes[i];
        node->deps = tc_arena_alloc(&s->arena, (op->n_reads + 1) * sizeof(*node->deps));
        for (uint32_t k = 0; k < op->n_reads; k++)
            if (last[op->reads[k]->storage] != NO_OP)
                node->deps[node->n_deps++] = last[op->reads[k]->storage];
        for (uint32_t k = 0; k < op->n_outs; k++)
            if (op->outs[k])
                last[op->outs[k]->storage] = i;
    }
    tc_free(last);
}

/* Who wrote the result last; NO_OP: nobody. */
static uint32_t writer_of(const struct story *s, const struct tc_plan_result *r)
{
    for (uint32_t i = (uint32_t)s->program->ops.n; i-- > 0;)
        for (uint32_t k = 0; k < s->program->ops.items[i].n_outs; k++)
            if (s->program->ops.items[i].outs[k] &&
                s->program->ops.items[i].outs[k]->storage == r->tensor.storage)
                return i;
    return NO_OP;
}

static void want(struct story *s, uint32_t op)
{
    TC_VEC(uint32_t) stack = {0};

    tc_vec_push(&stack, op);
    while (stack.n) {
        struct node *node = &s->nodes[stack.items[--stack.n]];
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

static void index_op(void *context, const struct tc_run *run, uint32_t i)
{
    struct story *s = context;
    const struct tc_plan_op *op = &run->plan->program->ops.items[i];

    for (uint32_t k = 0; k < op->n_outs; k++) {
        const struct tc_plan_tensor *t = op->outs[k];
        if (!t)
            continue;
        tc_el *p = tc_malloc(((size_t)t->numel + 1) * sizeof(*p));
        tc_view_gather(run->slots[t->storage], t, p);
        tc_index_add(&s->index, p, (size_t)t->numel, i);
        tc_free(p);
    }
}

static void record(const struct tc_run *run, const struct tc_plan_tensor *t, struct tc_part *part)
{
    tc_el *p = tc_malloc(((size_t)t->numel + 1) * sizeof(*p));

    tc_view_gather(run->slots[t->storage], t, p);
    tc_free((void *)(uintptr_t)part->p);
    *part = (struct tc_part){p, t};
}

static void record_op(void *context, const struct tc_run *run, uint32_t i)
{
    struct story *s = context;
    uint32_t place = s->place[run->plan->rank];
    const struct tc_plan_tensor *t = first_out(&run->plan->program->ops.items[i]);

    if (place != NO_OP && s->nodes[i].parts && t)
        record(run, t, &s->nodes[i].parts[place]);
}

static void record_results(void *context, const struct tc_run *run)
{
    struct story *s = context;
    uint32_t place = s->place[run->plan->rank];

    for (size_t i = 0; place != NO_OP && i < run->plan->results.n && i < s->rank->results.n; i++)
        if (s->results[i])
            record(run, &run->plan->results.items[i].tensor, &s->results[i][place]);
}

static bool make_room(struct story *s)
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

/* ---- reading the record -------------------------------------------------------------------- */

static bool has_all(const struct story *s, const struct tc_part *parts)
{
    for (uint32_t r = 0; r < s->grid.n; r++)
        if (!parts || !parts[r].p)
            return false;
    return true;
}

static const struct tc_related *relation(struct story *s, uint32_t op)
{
    struct node *node = &s->nodes[op];

    if (!node->is_related_known && has_all(s, node->parts))
        node->relation = tc_relate(&s->index, &s->grid, node->parts);
    node->is_related_known = true;
    return &node->relation;
}

static bool is_reversed(const struct story *s, const struct tc_related *r)
{
    for (unsigned a = 0; a < s->grid.n_axes && r->is_found; a++)
        if (r->axes[a].kind == TC_REVERSED)
            return true;
    return false;
}

/* What depends on nothing is as it was written: masks, zeros. */
static bool is_good(struct story *s, uint32_t op)
{
    const struct tc_plan_op *o = &s->program->ops.items[op];
    const struct tc_related *r = relation(s, op);

    if (!s->nodes[op].n_deps && !o->draws && !o->n_reads)
        return true;
    return r->is_found && !is_reversed(s, r);
}

static bool shares_partial(const struct story *s, const struct tc_related *a,
                           const struct tc_related *b)
{
    for (unsigned k = 0; k < s->grid.n_axes; k++)
        if (b->is_found && a->axes[k].kind == TC_PARTIAL && b->axes[k].kind == TC_PARTIAL)
            return true;
    return false;
}

/* Where the sum was split. */
static uint32_t origin(struct story *s, uint32_t op, const struct tc_related *r)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t k = 0; k < s->nodes[op].n_deps && !moved; k++) {
            uint32_t dep = s->nodes[op].deps[k];
            if (dep < op && shares_partial(s, r, relation(s, dep))) {
                op = dep;
                moved = true;
            }
        }
    }
    return op;
}

/* Operators without a relation whose operands all have one; the one with a partial operand first.
 */
static uint32_t departure(struct story *s, uint32_t start, uint32_t *partial)
{
    TC_VEC(uint32_t) stack = {0};
    uint8_t *seen = tc_calloc(s->program->ops.n + 1, 1);
    uint32_t best = NO_OP;

    *partial = NO_OP;
    tc_vec_push(&stack, start);
    while (stack.n) {
        uint32_t op = stack.items[--stack.n], culprit = NO_OP;
        bool is_front = true;
        if (seen[op]++)
            continue;
        for (uint32_t k = 0; k < s->nodes[op].n_deps; k++) {
            uint32_t dep = s->nodes[op].deps[k];
            if (!is_good(s, dep)) {
                is_front = false;
                tc_vec_push(&stack, dep);
            } else if (tc_relate_is_partial(relation(s, dep), &s->grid)) {
                culprit = dep;
            }
        }
        bool is_better = best == NO_OP || (culprit != NO_OP && *partial == NO_OP) ||
                         ((culprit != NO_OP) == (*partial != NO_OP) && op < best);
        if (is_front && is_better) {
            best = op;
            *partial = culprit;
        }
    }
    tc_vec_release(&stack);
    tc_free(seen);
    return best;
}

/* ---- words --------------------------------------------------------------------------------- */

static const char *keep(struct story *s, struct tc_strbuf *text)
{
    const char *copy = tc_arena_text(&s->verdict->arena, text->text ? text->text : "", text->size);

    tc_strbuf_release(text);
    return copy;
}

static void add_op(struct tc_strbuf *out, const struct tc_plan_op *op)
{
    struct tc_str line = tc_plan_line_of(op);

    tc_strbuf_addf(out, "%.*s", tc_plan_short_name(op), op->name);
    if (line.size)
        tc_strbuf_addf(out, " (%.*s)", (int)line.size, line.text);
}

static const char *operands(struct story *s, uint32_t op)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++) {
        uint32_t dep = s->nodes[op].deps[k];
        tc_strbuf_adds(&text, "operand from ");
        add_op(&text, &s->program->ops.items[dep]);
        tc_strbuf_adds(&text, ": ");
        tc_relate_describe(relation(s, dep), &s->grid, &text);
        tc_strbuf_addc(&text, '\n');
    }
    return keep(s, &text);
}

static void add_partial_axes(const struct story *s, const struct tc_related *r,
                             struct tc_strbuf *out)
{
    size_t before = out->size;

    for (unsigned a = 0; a < s->grid.n_axes; a++)
        if (r->axes[a].kind == TC_PARTIAL)
            tc_strbuf_addf(out, "%s%s", out->size > before ? " and " : "", s->grid.names[a]);
}

static struct tc_plan_finding finding(struct story *s, const struct tc_plan_judged *judged,
                                      uint32_t op)
{
    struct tc_plan_finding f = {
        .hint = "", .src = "", .op = "", .mod = "", .axis = "", .details = ""};

    f.name = tc_strtab_text(s->single->names, judged->name);
    f.ranks = judged->ranks.items;
    f.n_ranks = (uint32_t)judged->ranks.n;
    if (op != NO_OP) {
        const struct tc_plan_op *o = &s->program->ops.items[op];
        f.src = o->src;
        f.mod = o->mod;
        f.op = tc_arena_text(&s->verdict->arena, o->name, (size_t)tc_plan_short_name(o));
    }
    return f;
}

/* The value is a single-device value in another relation than it must be. */
static struct tc_plan_finding tell_related(struct story *s, const struct tc_plan_judged *judged,
                                           const struct tc_related *r, uint32_t writer)
{
    bool is_partial = tc_relate_is_partial(r, &s->grid);
    uint32_t at = is_partial && writer != NO_OP ? origin(s, writer, r) : writer;
    struct tc_plan_finding f = finding(s, judged, at);
    struct tc_strbuf text = TC_STRBUF_INIT, axes = TC_STRBUF_INIT;

    tc_plan_describe_result(s->single, judged->name, &text);
    tc_strbuf_adds(&text, " is ");
    if (is_partial) {
        add_partial_axes(s, r, &axes);
        tc_strbuf_addf(&text,
                       "Partial(sum) over %s, must be Replicate: a reduction is missing after %s",
                       axes.text, f.op);
        f.kind = "missing-reduction";
        f.axis = keep(s, &axes);
        f.hint = "sum it over these ranks before it is used";
    } else if (r->is_found && (r->num != 1 || r->den != 1)) {
        tc_strbuf_addf(&text, r->den == 1 ? "%lld times" : "%lld/%lld times", (long long)r->num,
                       (long long)r->den);
        tc_strbuf_addf(&text, " the single-device value, last written by %s", f.op);
        f.kind = "factor";
        f.hint = "a mean over ranks or micro-batches is a sum, or the other way round";
    } else {
        tc_relate_describe(r, &s->grid, &text);
        tc_strbuf_addf(&text, ", which is another place than its own, last written by %s", f.op);
        f.kind = "placement";
    }
    if (at != NO_OP)
        f.details = operands(s, at);
    f.text = keep(s, &text);
    return f;
}

static bool reads_norms(const struct tc_plan_op *op)
{
    return strstr(op->name, "norm") && !strstr(op->name, "layer_norm") &&
           !strstr(op->name, "rms_norm");
}

static void add_hint(struct story *s, uint32_t op, struct tc_plan_finding *f)
{
    const struct tc_plan_op *o = &s->program->ops.items[op];

    if (o->draws) {
        f->kind = "random";
        f->hint = "ranks draw different random numbers, or others than the single device";
    } else if (is_reversed(s, relation(s, op))) {
        f->kind = "shard-order";
        f->hint = "the shards are put together in the wrong order";
    } else if (strstr(o->name, "aten.cat.") || strstr(o->name, "aten.stack.")) {
        f->kind = "shard-order";
        f->hint =
            "the parts are put together in another order or dimension than on the single device";
    } else if (reads_norms(o)) {
        f->kind = "local-norm";
        f->hint =
            "a norm over the local part: reduce the squares over the ranks that hold other parts";
    }
}

/* The operand that is a multiple of the single-device value: a linear operator would bear it. */
static uint32_t multiple(struct story *s, uint32_t op)
{
    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++) {
        const struct tc_related *r = relation(s, s->nodes[op].deps[k]);
        if (r->is_found && (r->num != 1 || r->den != 1))
            return s->nodes[op].deps[k];
    }
    return NO_OP;
}

static struct tc_plan_finding tell_multiple(struct story *s, const struct tc_plan_judged *judged,
                                            uint32_t op, uint32_t dep)
{
    const struct tc_related *r = relation(s, dep);
    struct tc_plan_finding f = finding(s, judged, dep);
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_plan_describe_result(s->single, judged->name, &text);
    tc_strbuf_addf(&text, " departs after %s: its value is %lld", f.op, (long long)r->num);
    if (r->den != 1)
        tc_strbuf_addf(&text, "/%lld", (long long)r->den);
    tc_strbuf_adds(&text, " times the single-device value, and is used by ");
    add_op(&text, &s->program->ops.items[op]);
    f.kind = "factor";
    f.hint = "a factor that depends on the number of ranks, or on a local size";
    f.details = operands(s, op);
    f.text = keep(s, &text);
    return f;
}

static struct tc_plan_finding tell_departure(struct story *s, const struct tc_plan_judged *judged,
                                             uint32_t op, uint32_t partial)
{
    struct tc_plan_finding f = finding(s, judged, op);
    struct tc_strbuf text = TC_STRBUF_INIT, axes = TC_STRBUF_INIT;
    uint32_t factor = multiple(s, op);

    if (partial == NO_OP && factor != NO_OP && !judged->is_undefined)
        return tell_multiple(s, judged, op, factor);
    f.kind = "departure";
    tc_plan_describe_result(s->single, judged->name, &text);
    if (judged->is_undefined) {
        tc_strbuf_addf(&text, " depends on memory that nothing has written, read by %s", f.op);
        f.kind = "undefined";
    } else if (partial != NO_OP) {
        const struct tc_related *r = relation(s, partial);
        add_partial_axes(s, r, &axes);
        tc_strbuf_addf(&text,
                       " departs at %s: it uses a value that is Partial(sum) over %s and must be "
                       "Replicate: a reduction is missing after ",
                       f.op, axes.text);
        add_op(&text, &s->program->ops.items[origin(s, partial, r)]);
        f.kind = "missing-reduction";
        f.axis = keep(s, &axes);
        f.hint = "sum it over these ranks before it is used";
    } else {
        tc_strbuf_addf(&text,
                       " departs at %s: its operands are single-device values, what it makes of "
                       "them is none",
                       f.op);
        add_hint(s, op, &f);
    }
    f.details = operands(s, op);
    f.text = keep(s, &text);
    return f;
}

/* ---- one wrong result after the other ------------------------------------------------------ */

static bool is_told(struct story *s, uint32_t op)
{
    for (size_t i = 0; i < s->n_told; i++)
        if (s->told[i] == op)
            return true;
    s->told[s->n_told++] = op;
    return false;
}

/* A parameter is wrong after the step because its gradient is. */
static bool follows_from_gradient(const struct story *s, const struct tc_plan_judged *judged)
{
    const char *name = tc_strtab_text(s->single->names, judged->name);
    struct tc_strbuf grad = TC_STRBUF_INIT;
    uint64_t number = 0;

    tc_strbuf_addf(&grad, "%s.grad", name);
    tc_sym sym = tc_strtab_find(s->single->names, grad.text, grad.size);
    tc_strbuf_release(&grad);
    return sym != TC_NO_SYM && tc_map_get(&s->verdict->by_name, sym, &number) &&
           s->verdict->results.items[number].is_wrong;
}

static void tell(struct story *s, size_t i, uint32_t writer)
{
    const struct tc_plan_result *result = &s->rank->results.items[i];
    const struct tc_plan_judged *judged = NULL;
    uint32_t partial = NO_OP;
    uint64_t number;

    if (tc_map_get(&s->verdict->by_name, result->name, &number))
        judged = &s->verdict->results.items[number];
    if (!judged || follows_from_gradient(s, judged) || !has_all(s, s->results[i]))
        return;
    struct tc_related r = tc_relate(&s->index, &s->grid, s->results[i]);
    if (r.is_found && !r.is_zero && !is_reversed(s, &r)) {
        struct tc_plan_finding f = tell_related(s, judged, &r, writer);
        uint32_t key = (uint32_t)tc_hash64(f.src, strlen(f.src), r.num + 64 * r.den) | 1u << 31;
        if (!is_told(s, key))
            tc_vec_push(&s->verdict->findings, f);
        return;
    }
    if (writer == NO_OP)
        return;
    uint32_t op = departure(s, writer, &partial);
    if (op == NO_OP)
        return;
    if (s->program->ops.items[op].rule->kind == TC_RULE_RECEIVE && !s->is_last)
        s->sender = tc_plan_peer(s->parallel, s->rank, &s->program->ops.items[op]);
    else if (!is_told(s, op))
        tc_vec_push(&s->verdict->findings, tell_departure(s, judged, op, partial));
}

struct wrong {
    size_t result;
    uint32_t writer;
};

static int by_writer(const void *a_, const void *b_)
{
    const struct wrong *a = a_, *b = b_;

    return (a->writer > b->writer) - (a->writer < b->writer);
}

static size_t find_wrong(struct story *s, struct wrong *list)
{
    size_t n = 0;
    uint64_t number;

    for (size_t i = 0; i < s->rank->results.n; i++) {
        const struct tc_plan_result *r = &s->rank->results.items[i];
        if (tc_map_get(&s->verdict->by_name, r->name, &number) &&
            s->verdict->results.items[number].is_wrong)
            list[n++] = (struct wrong){i, writer_of(s, r)};
    }
    qsort(list, n, sizeof(*list), by_writer);
    return n;
}

/* The lowest rank on which something is wrong. */
static const struct tc_plan_rank *first_rank(const struct story *s)
{
    uint32_t first = NO_OP;

    for (size_t i = 0; i < s->verdict->results.n; i++) {
        const struct tc_plan_judged *r = &s->verdict->results.items[i];
        if (r->is_wrong && r->ranks.n && r->ranks.items[0] < first)
            first = r->ranks.items[0];
    }
    return first == NO_OP ? NULL : &s->parallel->ranks[first];
}

static enum tc_status evaluate(struct story *s, const struct tc_verify_config *config,
                               struct tc_error *err)
{
    struct tc_world_watch watch = {.op = index_op, .context = s};
    struct tc_world_fault fault;
    enum tc_status status = tc_world_run(s->single, tc_plan_seed(0), 1, &watch, &fault, err);

    watch.op = record_op;
    watch.done = record_results;
    if (!status)
        status = tc_world_run(s->parallel, tc_plan_seed(0), config->threads, &watch, &fault, err);
    return status;
}

static void release(struct story *s)
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
    tc_index_release(&s->index);
    tc_arena_release(&s->arena);
}

static void warn(struct story *s, const char *text)
{
    tc_vec_push(&s->verdict->warnings, text);
}

/* All findings about the family of one rank. */
static enum tc_status explain_family(struct story *s, const struct tc_verify_config *config,
                                     struct tc_error *err)
{
    enum tc_status status = TC_OK;

    s->program = s->rank->program;
    find_axes(s, names_of(s->rank));
    if (!place_ranks(s, names_of(s->rank))) {
        warn(s,
             "the ranks run different programs on one tensor: where they depart is not searched");
        return TC_OK;
    }
    find_deps(s);
    struct wrong *list = tc_arena_alloc(&s->arena, (s->rank->results.n + 1) * sizeof(*list));
    size_t n = find_wrong(s, list), shown = n < MAX_TRIES ? n : MAX_TRIES;
    s->told = tc_arena_alloc(&s->arena, (shown + 1) * sizeof(*s->told));
    s->results = tc_arena_zalloc(&s->arena, (s->rank->results.n + 1) * sizeof(*s->results));
    for (size_t i = 0; i < shown; i++) {
        s->results[list[i].result] = tc_calloc(s->grid.n, sizeof(**s->results));
        if (list[i].writer != NO_OP)
            want(s, list[i].writer);
    }
    if (!make_room(s))
        warn(s, "too large to search where it departs: verify a smaller layout with the same bug");
    else
        status = evaluate(s, config, err);
    for (size_t i = 0; i < shown && !status && s->verdict->findings.n < MAX_FINDINGS; i++)
        tell(s, list[i].result, list[i].writer);
    return status;
}

/* Along a pipeline: if all that is wrong came with a message, to the rank that sent it. */
enum tc_status tc_plan_explain(const struct tc_plan_set *single, const struct tc_plan_set *parallel,
                               const struct tc_verify_config *config,
                               struct tc_plan_verdict *verdict, struct tc_error *err)
{
    struct story first = {.single = single, .parallel = parallel, .verdict = verdict, .sender = -1};
    struct tc_map seen = TC_MAP_INIT;
    enum tc_status status = TC_OK;
    uint64_t known;

    first.rank = first_rank(&first);
    for (const struct tc_plan_rank *at = first.rank; at && !status;) {
        struct story s = first;
        s.rank = at;
        s.is_last = tc_map_get(&seen, at->rank, &known);
        tc_map_put(&seen, at->rank, 1);
        status = explain_family(&s, config, err);
        release(&s);
        bool goes_on = !verdict->findings.n && s.sender >= 0 && !s.is_last;
        at = goes_on ? &parallel->ranks[parallel->copies.of[s.sender]] : NULL;
    }
    tc_map_release(&seen);
    return status;
}
