/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tell.c - a departure in words
 *
 * Each function takes a story, in which the relation of each value to the single-device job is
 * known, and makes one finding of it: a sentence with the operators and their script lines, the
 * place, and a hint if one fits.
 */
#include "plan/tell.h"

#include <string.h>

#include "plan/rules.h"

#define MAX_WAY  32
#define MAX_TOLD 2 /* lines of a kind */

/* ", of c10d.allgather_ (train.py:45), called at train.py:58": what the forward has brought
 * together there. */
static bool add_forward_exchange(struct tc_story *s, uint32_t op, struct tc_strbuf *text)
{
    uint32_t exchange = tc_story_forward_exchange(s->program, s->nodes, op);

    if (exchange == TC_NO_OP)
        return false;
    tc_strbuf_adds(text, "; its forward reads what ranks gave each other at ");
    tc_tell_op(text, &s->program->ops.items[exchange]);
    tc_plan_add_callers(s->program, s->single->ranks[0].program, &s->program->ops.items[exchange],
                        text);
    return true;
}

static void add_partial_axes(const struct tc_story *s, const struct tc_related *r,
                             struct tc_strbuf *out)
{
    size_t before = out->size;

    for (unsigned a = 0; a < s->grid.n_axes; a++)
        if (r->axes[a].kind == TC_PARTIAL)
            tc_strbuf_addf(out, "%s%s", out->size > before ? " and " : "", s->grid.names[a]);
}

/* " or aten.div (train.py:76)": lines that one device does not have, behind that where the sum was
 * split. */
static void add_way(struct tc_story *s, uint32_t op, const struct tc_related *r,
                    struct tc_strbuf *text)
{
    uint32_t way[MAX_WAY], n = tc_story_way(s, op, r, way, MAX_WAY), n_told = 0;
    const struct tc_plan_op *ops = s->program->ops.items;
    const char *last = ops[tc_story_origin(s, op, r)].src;

    while (n-- > 0 && n_told < MAX_TOLD) {
        if (strcmp(ops[way[n]].src, last) == 0)
            continue;
        last = ops[way[n]].src;
        n_told++;
        tc_strbuf_adds(text, " or ");
        tc_tell_op(text, &ops[way[n]]);
        tc_plan_add_callers(s->program, s->single->ranks[0].program, &ops[way[n]], text);
    }
}

/* "; other gradients are summed at c10d.allreduce_ (train.py:70)" */
static void add_sum_of_others(struct tc_story *s, uint32_t op, const struct tc_related *r,
                              struct tc_strbuf *text)
{
    uint32_t origin = tc_story_origin(s, op, r);
    const struct tc_plan_op *others = tc_story_sum_of_others(s, origin, r);

    if (!add_forward_exchange(s, origin, text))
        add_forward_exchange(s, tc_story_split(s, op, r), text);
    if (*s->rank->unsummed)
        tc_strbuf_addf(text, "; %s", s->rank->unsummed);
    if (!others)
        return;
    tc_strbuf_adds(text, "; other gradients are summed at ");
    tc_tell_op(text, others);
}

/* ", before aten.addcmul_ (train.py:74)": the optimizer, or what else reads the result. */
static void add_next_reader(struct tc_story *s, const struct tc_plan_judged *judged,
                            uint32_t writer, struct tc_strbuf *text)
{
    size_t next = s->program->ops.n;

    for (size_t i = 0; i < s->rank->results.n && writer != TC_NO_OP; i++)
        if (s->rank->results.items[i].name == judged->name)
            next =
                tc_plan_next_reader(s->program, writer, s->rank->results.items[i].tensor.storage);
    if (next == s->program->ops.n)
        return;
    tc_strbuf_adds(text, ", before ");
    tc_tell_op(text, &s->program->ops.items[next]);
}

/* The exchange by which the elements of a value came last; TC_NO_OP: there is none. */
static uint32_t last_exchange(const struct tc_story *s, uint32_t op)
{
    uint8_t *is_before = tc_calloc(s->program->ops.n + 1, 1);
    uint32_t found = TC_NO_OP;

    is_before[op] = 1;
    for (uint32_t i = op + 1; i-- > 0 && found == TC_NO_OP;) {
        enum tc_rule_kind kind = s->program->ops.items[i].rule->kind;
        if (is_before[i] && (kind == TC_RULE_COLLECTIVE || kind == TC_RULE_RECEIVE))
            found = i;
        for (uint32_t k = 0; is_before[i] && k < s->nodes[i].n_deps; k++)
            is_before[s->nodes[i].deps[k]] = 1;
    }
    tc_free(is_before);
    return found;
}

/* "; it came by c10d.recv_ (train.py:21), called at train.py:69": a value in the wrong place. */
static void add_last_exchange(struct tc_story *s, uint32_t op, struct tc_strbuf *text)
{
    uint32_t at = op == TC_NO_OP ? TC_NO_OP : last_exchange(s, op);

    if (at == TC_NO_OP || !strcmp(s->program->ops.items[at].src, s->program->ops.items[op].src))
        return;
    tc_strbuf_adds(text, "; it came by ");
    tc_tell_op(text, &s->program->ops.items[at]);
    tc_plan_add_callers(s->program, s->single->ranks[0].program, &s->program->ops.items[at], text);
}

/* A value that one device has on its way to the result, and changes: what it does next is missing
 * here, and its line is the place. */
static bool tell_unfinished(struct tc_story *s, const struct tc_plan_judged *judged,
                            const struct tc_related *r, struct tc_strbuf *text,
                            struct tc_plan_finding *f)
{
    uint32_t next = tc_story_next_use(s, judged->name, r->op);

    if (next == TC_NO_OP)
        return false;
    const struct tc_plan_op *op = &s->single->ranks[0].program->ops.items[next];
    f->kind = "left-out";
    f->src = op->src;
    f->via = op->via;
    f->mod = op->mod;
    f->op = tc_arena_text(&s->verdict->arena, op->name, (size_t)tc_plan_short_name(op));
    tc_strbuf_addf(text, "what it is on one device before %s: that is left out here", f->op);
    f->hint = "one device goes on with this value, the parallel job does not";
    return true;
}

/* Another value of the single job, as a gradient that lacks a micro-batch; or its own, misplaced.
 */
static void tell_placement(struct tc_story *s, const struct tc_plan_judged *judged,
                           const struct tc_related *r, struct tc_strbuf *text,
                           struct tc_plan_finding *f)
{
    const struct tc_plan_program *single = s->single->ranks[0].program;

    f->kind = "placement";
    if (r->is_joined) {
        tc_strbuf_addf(text, "put together from several single-device values, last written by %s",
                       f->op);
        return;
    }
    if (tell_unfinished(s, judged, r, text, f))
        return;
    tc_relate_describe(r, &s->grid, text);
    tc_strbuf_addf(text, ", which is another place than its own, last written by %s", f->op);
    if (r->op == TC_NO_OP || r->op >= single->ops.n)
        return;
    struct tc_strbuf hint = TC_STRBUF_INIT;
    tc_strbuf_adds(&hint, "on one device it is the value of ");
    tc_tell_op(&hint, &single->ops.items[r->op]);
    f->hint = tc_plan_keep(s->verdict, &hint);
}

/* The value is a single-device value in another relation than it must be. */
struct tc_plan_finding tc_story_tell_related(struct tc_story *s,
                                             const struct tc_plan_judged *judged,
                                             const struct tc_related *r, uint32_t writer)
{
    bool is_partial = tc_relate_is_partial(r, &s->grid);
    bool is_factor = !is_partial && r->is_found && (r->num != 1 || r->den != 1);
    uint32_t at = writer;
    struct tc_strbuf text = TC_STRBUF_INIT, axes = TC_STRBUF_INIT;

    if (writer != TC_NO_OP && is_partial)
        at = tc_story_origin(s, writer, r);
    else if (writer != TC_NO_OP && is_factor)
        at = tc_tell_factor_origin(s, writer, r);
    struct tc_plan_finding f = tc_tell_new(s, judged, at);

    tc_plan_describe_result(s->single, judged->name, &text);
    tc_strbuf_adds(&text, " is ");
    if (is_partial) {
        add_partial_axes(s, r, &axes);
        tc_strbuf_addf(&text,
                       "Partial(sum) over %s, must be Replicate: a reduction is missing after %s",
                       axes.text, f.op);
        if (writer != TC_NO_OP)
            add_way(s, writer, r, &text);
        add_next_reader(s, judged, writer, &text);
        if (writer != TC_NO_OP)
            add_sum_of_others(s, writer, r, &text);
        f.kind = "missing-reduction";
        f.axis = tc_plan_keep(s->verdict, &axes);
        f.hint = "sum it over these ranks before it is used";
    } else if (is_factor) {
        tc_strbuf_addf(&text, r->den == 1 ? "%lld times" : "%lld/%lld times", (long long)r->num,
                       (long long)r->den);
        tc_strbuf_addf(&text, " the single-device value: a factor of %s", f.op);
        tc_tell_number(s, at, &text);
        if (writer != at) {
            tc_strbuf_adds(&text, ", last written by ");
            tc_tell_op(&text, &s->program->ops.items[writer]);
        }
        tc_tell_loss(s, &text);
        if (writer != TC_NO_OP)
            tc_tell_steps(s, writer, at, &text);
        f.kind = "factor";
        f.hint = "a mean over ranks or micro-batches is a sum, or the other way round";
    } else {
        tell_placement(s, judged, r, &text, &f);
        add_last_exchange(s, at, &text);
        if (at != TC_NO_OP)
            tc_tell_made(s, at, &text);
    }
    if (at != TC_NO_OP) {
        f.details = is_factor ? tc_tell_factors(s, writer) : tc_tell_operands(s, at);
        f.drawing = tc_story_draw(s, judged, is_factor ? writer : at, TC_NO_OP);
    }
    tc_tell_keep(s, &f, &text);
    return f;
}

static bool reads_norms(const struct tc_plan_op *op)
{
    return strstr(op->name, "norm") && !strstr(op->name, "layer_norm") &&
           !strstr(op->name, "rms_norm");
}

/* "on one device the value of aten.scatter_add (train.py:30) is used by aten.add (train.py:31)" */
static const char *other_use(struct tc_story *s, uint32_t op)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (uint32_t k = 0; k < s->nodes[op].n_deps && !text.size; k++) {
        uint32_t dep = s->nodes[op].deps[k], user = tc_story_other_use(s, op, dep);
        if (user == TC_NO_OP)
            continue;
        tc_strbuf_adds(&text, "on one device the value of ");
        tc_tell_op(&text, &s->program->ops.items[dep]);
        tc_strbuf_adds(&text, " is used by ");
        tc_tell_op(&text, &s->single->ranks[0].program->ops.items[user]);
        tc_strbuf_adds(&text, ": something between them is left out");
    }
    return tc_plan_keep(s->verdict, &text);
}

static void add_hint(struct tc_story *s, uint32_t op, struct tc_plan_finding *f)
{
    const struct tc_plan_op *o = &s->program->ops.items[op];

    if (o->draws) {
        f->kind = "random";
        f->hint = "ranks draw different random numbers, or others than the single device";
    } else if (tc_story_is_reversed(s, tc_story_relation(s, op))) {
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
    } else {
        f->hint = other_use(s, op);
    }
}

static bool runs(const struct tc_plan_program *p, const struct tc_plan_op *op)
{
    for (size_t i = 0; i < p->ops.n; i++)
        if (!strcmp(p->ops.items[i].src, op->src) && !strcmp(p->ops.items[i].name, op->name))
            return true;
    return false;
}

/* A rank that is not searched with these, has the result, too, and runs what is missing here: a
 * stage that shares a parameter. TC_NO_OP: none. */
static uint32_t other_holder(const struct tc_story *s, const struct tc_plan_judged *judged,
                             const struct tc_plan_op *missing)
{
    for (uint32_t r = 0; r < s->parallel->world; r++) {
        const struct tc_plan_rank *rank = &s->parallel->ranks[r];
        if (s->place[r] != TC_NO_OP || !runs(rank->program, missing))
            continue;
        for (size_t i = 0; i < rank->results.n; i++)
            if (rank->results.items[i].name == judged->name)
                return r;
    }
    return TC_NO_OP;
}

/* The place is that of what is missing: the plan of one device has its line. */
struct tc_plan_finding tc_story_tell_left_out(struct tc_story *s,
                                              const struct tc_plan_judged *judged, uint32_t op,
                                              uint32_t missing, uint32_t user)
{
    const struct tc_plan_op *ops = s->single->ranks[0].program->ops.items;
    struct tc_plan_finding f = tc_tell_new(s, judged, op);
    struct tc_strbuf text = TC_STRBUF_INIT;

    f.src = ops[missing].src;
    f.via = ops[missing].via;
    f.mod = ops[missing].mod;
    f.op = tc_arena_text(&s->verdict->arena, ops[missing].name,
                         (size_t)tc_plan_short_name(&ops[missing]));
    f.kind = "left-out";
    tc_plan_describe_result(s->single, judged->name, &text);
    tc_strbuf_addf(&text, " lacks what %s of one device begins: it is added by ", f.op);
    tc_tell_op(&text, &ops[user]);
    tc_strbuf_adds(&text, " there, and is no part of what reaches ");
    tc_tell_op(&text, &s->program->ops.items[op]);
    f.hint = "no gradient goes this way: something is detached, or autograd knows nothing of it";
    uint32_t exchange = tc_story_unknown_exchange(s, op);
    if (exchange != TC_NO_OP) {
        tc_strbuf_adds(&text, "; nothing goes back from ");
        tc_tell_op(&text, &s->program->ops.items[exchange]);
        tc_plan_add_callers(s->program, s->single->ranks[0].program,
                            &s->program->ops.items[exchange], &text);
    }
    uint32_t holder = other_holder(s, judged, &ops[missing]);
    if (holder != TC_NO_OP) {
        tc_strbuf_addf(&text, ": rank %u, which has the parameter, too, adds it to its own",
                       holder);
        f.hint = "sum the gradient over the ranks that have the parameter";
    }
    f.details = tc_tell_operands(s, op);
    f.drawing = tc_story_draw(s, judged, op, TC_NO_OP);
    tc_tell_keep(s, &f, &text);
    return f;
}

static bool is_on_all_ranks(const struct tc_story *s, uint32_t op)
{
    return tc_story_has_all(s, s->nodes[op].parts);
}

/* "; ranks exchange what is made of it at c10d.allreduce_ (train.py:74)": too late, of what is
 * computed from gradients. */
static void add_later_exchange(struct tc_story *s, uint32_t op, struct tc_strbuf *text)
{
    uint32_t later = tc_story_later_exchange(s, op);

    if (later == TC_NO_OP)
        return;
    tc_strbuf_adds(text, "; ranks exchange what is made of it at ");
    tc_tell_op(text, &s->program->ops.items[later]);
}

/* An operand is a sum over ranks that is not taken yet. */
static void tell_partial(struct tc_story *s, uint32_t op, uint32_t partial, struct tc_strbuf *text,
                         struct tc_plan_finding *f)
{
    const struct tc_related *r = tc_story_relation(s, partial);
    struct tc_strbuf axes = TC_STRBUF_INIT;

    add_partial_axes(s, r, &axes);
    tc_strbuf_addf(text,
                   " departs at %s: it uses a value that is Partial(sum) over %s and must be "
                   "Replicate: a reduction is missing after ",
                   f->op, axes.text);
    uint32_t origin = tc_story_origin(s, partial, r);
    tc_tell_op(text, &s->program->ops.items[origin]);
    add_way(s, partial, r, text);
    add_sum_of_others(s, partial, r, text);
    add_later_exchange(s, op, text);
    tc_tell_made(s, op, text);
    f->kind = "missing-reduction";
    f->axis = tc_plan_keep(s->verdict, &axes);
    f->hint = "sum it over these ranks before it is used";
}

/* A value that one device has, but elsewhere: what reads it next may come too early. */
static void add_reader(struct tc_story *s, uint32_t op, struct tc_strbuf *text)
{
    const struct tc_plan_op *ops = s->program->ops.items;
    size_t next = tc_story_relation(s, op)->is_found && ops[op].outs[0]
                      ? tc_plan_next_line(s->program, op, 0)
                      : s->program->ops.n;

    if (next == s->program->ops.n)
        return;
    tc_strbuf_adds(text, ", before ");
    tc_tell_op(text, &ops[next]);
    tc_plan_add_callers(s->program, s->single->ranks[0].program, &ops[next], text);
}

/* "; one device does not run aten.repeat (train.py:78), which it reads": lines of operands. */
static void add_own_operands(struct tc_story *s, uint32_t op, struct tc_strbuf *text)
{
    const struct tc_plan_op *ops = s->program->ops.items;
    const char *last = ops[op].src;
    unsigned n_told = 0;

    for (uint32_t k = 0; k < s->nodes[op].n_deps && n_told < MAX_TOLD; k++) {
        const struct tc_plan_op *dep = &ops[s->nodes[op].deps[k]];
        size_t size = strcspn(dep->src, ",");
        if (!size || !strcmp(dep->src, last) ||
            tc_tell_is_single_line(s, tc_arena_text(&s->arena, dep->src, size), size))
            continue;
        last = dep->src;
        tc_strbuf_adds(text, n_told++ ? ", " : "; one device does not run what it reads: ");
        tc_tell_op(text, dep);
        tc_plan_add_callers(s->program, s->single->ranks[0].program, dep, text);
    }
}

/* "; it exchanges what aten.add (train.py:89) made" */
static void add_exchanged(struct tc_story *s, uint32_t op, struct tc_strbuf *text)
{
    const struct tc_plan_op *ops = s->program->ops.items;

    if (ops[op].rule->kind != TC_RULE_COLLECTIVE || !s->nodes[op].n_deps)
        return;
    tc_strbuf_adds(text, "; it exchanges what ");
    tc_tell_op(text, &ops[s->nodes[op].deps[0]]);
    tc_strbuf_adds(text, " made");
}

struct tc_plan_finding tc_story_tell_departure(struct tc_story *s,
                                               const struct tc_plan_judged *judged, uint32_t op,
                                               uint32_t partial)
{
    struct tc_plan_finding f = tc_tell_new(s, judged, op);
    struct tc_strbuf text = TC_STRBUF_INIT;
    uint32_t factor = tc_tell_multiple_operand(s, op), user = TC_NO_OP;
    if (factor == TC_NO_OP && s->skips_running)
        factor = tc_story_odd_behind(s, op);
    bool is_whole = partial == TC_NO_OP && !judged->is_undefined;
    bool is_unlike = is_whole && factor != TC_NO_OP && tc_tell_has_unlike_factors(s, op);
    bool is_blamed = is_whole && factor != TC_NO_OP && !tc_story_factor_is_trusted(s, factor);

    if (is_unlike || is_blamed)
        return is_unlike ? tc_tell_unlike(s, judged, op) : tc_tell_multiple(s, judged, op, factor);
    uint32_t missing = is_whole ? tc_story_left_out(s, op, &user) : TC_NO_OP;
    if (missing != TC_NO_OP)
        return tc_story_tell_left_out(s, judged, op, missing, user);
    f.kind = "departure";
    tc_plan_describe_result(s->single, judged->name, &text);
    if (judged->is_undefined) {
        tc_strbuf_addf(&text, " depends on memory that nothing has written, read by %s", f.op);
        f.kind = "undefined";
    } else if (partial != TC_NO_OP) {
        tell_partial(s, op, partial, &text, &f);
    } else if (!is_on_all_ranks(s, op)) {
        tc_strbuf_addf(&text, " departs at %s, which rank %u runs and not all others do", f.op,
                       s->rank->rank);
        f.hint = "what only some ranks compute must not reach the result, or must be sent to all";
    } else {
        tc_strbuf_addf(&text, " departs at %s: its operands are single-device values, ", f.op);
        tc_story_tell_made(s, op, &text);
        add_exchanged(s, op, &text);
        if (tc_story_relation(s, op)->is_found)
            add_last_exchange(s, op, &text);
        add_own_operands(s, op, &text);
        add_forward_exchange(s, op, &text);
        tc_tell_made(s, op, &text);
        add_reader(s, op, &text);
        add_hint(s, op, &f);
    }
    f.details = tc_tell_operands(s, op);
    f.drawing = tc_story_draw(s, judged, op, partial);
    tc_tell_keep(s, &f, &text);
    return f;
}
