/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.c - degrees of storages, functions applied, values inverted, while a job is evaluated
 */
#include "plan/ledger.h"

#include <math.h>
#include <string.h>

#include "plan/collective.h"
#include "plan/eval.h"
#include "plan/ledger_state.h"

struct tc_ledger *tc_ledger_new(const struct tc_plan_set *set, enum tc_laws_mode mode)
{
    struct tc_ledger *l = tc_calloc(1, sizeof(*l));
    const struct tc_rule *rule;

    l->set = set;
    l->mode = mode;
    l->ranks = tc_calloc(set->world + 1, sizeof(*l->ranks));
    for (size_t i = 0; (rule = tc_rule_get(i)); i++)
        tc_map_put(&l->forms, (uintptr_t)rule, (uintptr_t)tc_degree_form_of(rule));
    tc_map_put(&l->forms, (uintptr_t)&tc_rule_unknown, (uintptr_t)tc_degree_form_of_unknown());
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

static void drop(struct tracked *t)
{
    tc_free(t->slots);
    tc_free(t->is_late);
    *t = (struct tracked){0};
}

void tc_ledger_free(struct tc_ledger *l)
{
    if (!l)
        return;
    for (uint32_t r = 0; r < l->set->world; r++)
        drop(&l->ranks[r]);
    tc_free(l->ranks);
    tc_map_release(&l->forms);
    pthread_mutex_destroy(&l->lock);
    tc_free(l);
}

/* ---- degrees ------------------------------------------------------------------------------- */

static struct tc_degree times(struct tc_degree a, double n)
{
    return (struct tc_degree){n * a.own, n * a.inverses, n > 0 ? a.level : 0};
}

static void multiply_by(struct tc_degree *a, struct tc_degree b)
{
    a->own += b.own;
    a->inverses += b.inverses;
    a->level = a->level > b.level ? a->level : b.level;
}

static void hold(struct held *a, const struct held *b)
{
    tc_degree_raise(&a->value, b->value);
    tc_degree_raise(&a->square, b->square);
    tc_degree_raise(&a->carried, b->carried);
    a->late = fmax(a->late, b->late);
}

/* What a factor may bring into a product. */
static struct tc_degree as_factor(const struct held *a)
{
    struct tc_degree d = a->value;

    tc_degree_raise(&d, a->square);
    return d;
}

/* ---- storages ------------------------------------------------------------------------------ */

/* Drawn elements are variables; the contents of masks and indices are numbers. */
static void begin(struct tracked *t, const struct tc_plan_rank *rank)
{
    t->is_late = tc_degree_find_late(rank->program);
    t->slots = tc_calloc(rank->program->n_slots + 1, sizeof(*t->slots));
    for (size_t i = 0; i < rank->inits.n; i++)
        if (!rank->inits.items[i].data && rank->inits.items[i].tensor.storage != TC_PLAN_NO_SLOT)
            t->slots[rank->inits.items[i].tensor.storage].value.own = 1;
    for (size_t i = 0; i < rank->consts.n; i++) /* numbers that are no ratios */
        if (rank->consts.items[i].storage != TC_PLAN_NO_SLOT)
            tc_degree_raise(&t->slots[rank->consts.items[i].storage].value,
                            (struct tc_degree){1, 0, 0});
}

/* The storages that live once an operator has run. */
static struct held *slots_of(struct tc_ledger *l, const struct tc_run *run, uint32_t op)
{
    struct tracked *t = &l->ranks[run->plan->rank];
    const struct tc_plan_program *p = run->plan->program;

    if (!t->slots)
        begin(t, run->plan);
    for (; t->next_alloc < p->allocs.n; t->next_alloc++) {
        const struct tc_plan_alloc *a = &p->allocs.items[t->next_alloc];
        if (a->op > op + 1)
            break;
        if (a->op > 0) /* others are there from the start */
            t->slots[a->slot] = (struct held){0};
        t->slots[a->slot].n = (double)a->n;
    }
    return t->slots;
}

static uint32_t number_of_op(const struct tc_run *run, const struct tc_plan_op *op)
{
    return (uint32_t)(op - run->plan->program->ops.items);
}

static void put(struct held *slots, const struct tc_plan_tensor *t, const struct held *what)
{
    struct held *slot = &slots[t->storage];

    if ((double)t->numel >= slot->n) {
        slot->value = what->value;
        slot->square = what->square;
        slot->carried = what->carried;
        slot->late = what->late;
    } else {
        hold(slot, what);
    }
}

static struct held of_value(const struct held *slots, const struct tc_plan_value *v)
{
    struct held all = {0};

    if (v->kind == TC_PLAN_TENSOR)
        hold(&all, &slots[v->tensor->storage]);
    else if (v->kind == TC_PLAN_NUMBER)
        all.value.own = 1; /* it may be no ratio */
    for (uint32_t i = 0; v->kind == TC_PLAN_LIST && i < v->n; i++) {
        struct held item = of_value(slots, &v->items[i]);
        hold(&all, &item);
    }
    return all;
}

static struct held of_reads(const struct held *slots, const struct tc_plan_op *op)
{
    struct held all = {0};

    for (uint32_t k = 0; k < op->n_reads; k++)
        hold(&all, &slots[op->reads[k]->storage]);
    return all;
}

/* ---- operators ----------------------------------------------------------------------------- */

/* Elements of one product along the rows of an operator that multiplies them. */
static double row_of(const struct tc_plan_op *op)
{
    return op->n_reads ? (double)op->reads[0]->numel : 1;
}

/* How often argument i is a factor; a number is one at least once. */
static double factors(const struct tc_plan_op *op, const char *counts, uint32_t i)
{
    double n = 0;

    if (strlen(counts) > i)
        n = counts[i] == 'n' ? row_of(op) : counts[i] - '0';
    return op->args[i].kind == TC_PLAN_NUMBER ? fmax(n, 1) : n;
}

/* A product with the factors that the text counts. Two roots may be the square of one. */
static struct tc_degree product(const struct held *slots, const struct tc_plan_op *op,
                                const char *counts)
{
    struct tc_degree all = {0};
    double n_roots = 0;

    for (uint32_t i = 0; i < op->n_args; i++)
        if (of_value(slots, &op->args[i]).square.own > 0)
            n_roots += factors(op, counts, i);
    for (uint32_t i = 0; i < op->n_args; i++) {
        struct held arg = of_value(slots, &op->args[i]);
        multiply_by(&all, times(n_roots > 1 ? as_factor(&arg) : arg.value, factors(op, counts, i)));
    }
    return all;
}

/* A sum: of it all, times the numbers among the arguments. */
static struct held sum(const struct held *slots, const struct tc_plan_op *op)
{
    struct held all = {0};
    double n_numbers = 0;

    for (uint32_t i = 0; i < op->n_args; i++) {
        struct held arg = of_value(slots, &op->args[i]);
        hold(&all, &arg);
        n_numbers += op->args[i].kind == TC_PLAN_NUMBER;
    }
    all.value.own += n_numbers;
    all.square.own += all.square.own > 0 ? 2 * n_numbers : 0;
    return all;
}

/* What one result is, apart from what is inverted. */
static struct held result_of(const struct held *slots, const struct tc_plan_op *op,
                             const struct tc_degree_form *form, const char *counts)
{
    struct held made = {0};

    if (!counts)
        made = sum(slots, op);
    else
        made.value = product(slots, op, counts);
    made.value.own += form->functions;
    if (form->square)
        made.square = product(slots, op, form->square);
    else if (counts && op->n_reads == 1) /* a root times a number may stay a root */
        made.square = of_reads(slots, op).square;
    return made;
}

static void count_inverted(struct tc_ledger *l, struct tc_degree what, double n, unsigned *level)
{
    *level = what.level + 1;
    if (*level > TC_DEGREE_LEVELS) {
        *level = TC_DEGREE_LEVELS;
        l->is_too_deep = true;
    }
    l->levels[*level].own += n * what.own;
    l->levels[*level].inverses += n * what.inverses;
}

/* The inverses in each product of the results. */
static struct tc_degree inverses_of(struct tc_ledger *l, const struct held *slots,
                                    const struct tc_plan_op *op, const struct tc_degree_form *form,
                                    double n)
{
    struct tc_degree what = {3, 0, 0}; /* of a root: with a factor, and an eps beside it */
    struct tc_degree all = {0, form->inverses, 0};

    if (form->inverted == TC_DEGREE_NONE)
        return (struct tc_degree){0};
    if (form->inverted >= 0) {
        if ((uint32_t)form->inverted >= op->n_args)
            return (struct tc_degree){0};
        what = of_value(slots, &op->args[form->inverted]).value;
        if (op->args[form->inverted].kind == TC_PLAN_NUMBER || (what.own < 1 && what.inverses < 1))
            return (struct tc_degree){0}; /* a number */
    }
    count_inverted(l, what, n, &all.level);
    return all;
}

/* A sigmoid is a silu by its argument, which the rule need not divide. */
static uint64_t n_inverted(const struct tc_degree_form *form, const struct tc_el_counts *counts)
{
    uint64_t n_sigmoids = form->inverted >= 0 ? counts->functions[TC_FN_SIGMOID] : 0;

    return counts->inverses > n_sigmoids ? counts->inverses : n_sigmoids;
}

#define LATE_MOST 4 /* that a rule has for one element */

static double applications(bool is_late, uint64_t n)
{
    return is_late && n > LATE_MOST ? LATE_MOST : (double)n;
}

static void count_functions(struct tc_ledger *l, const struct held *slots,
                            const struct tc_plan_op *op, const struct tc_degree_form *form,
                            const struct tc_el_counts *counts, bool is_late)
{
    struct tc_degree argument = product(slots, op, form->arguments);

    if (op->rule == &tc_rule_unknown)
        argument = of_reads(slots, op).value;
    argument.own = fmax(argument.own + 2, 1); /* an eps, a scale */
    for (int f = TC_FN_RANDOM + 1; f < TC_N_FN; f++) {
        struct applied *all = &l->functions[f];
        if (!counts->functions[f])
            continue;
        tc_degree_raise(is_late ? &all->late_argument : &all->argument, argument);
        all->has_late = all->has_late || is_late;
        all->n += is_late ? 0 : (double)counts->functions[f];
    }
}

/* In one element, with those of what it is made of. */
static double late_applications(const struct held *slots, const struct tc_plan_op *op,
                                const struct tc_el_counts *counts, bool is_late)
{
    double n = 0;

    for (uint32_t k = 0; k < op->n_reads; k++)
        n += slots[op->reads[k]->storage].late;
    for (int f = TC_FN_RANDOM + 1; f < TC_N_FN && is_late; f++)
        n += applications(is_late, counts->functions[f]);
    return n;
}

/* ---- laws of exp and log ------------------------------------------------------------------- */

#define ATOMS 4 /* that a value carries */

static struct tc_degree with(struct tc_degree a, struct tc_degree b)
{
    multiply_by(&a, b);
    return a;
}

/* What all arguments carry, one added to the other. */
static struct tc_degree carried_by(const struct held *slots, const struct tc_plan_op *op)
{
    struct tc_degree all = {0};

    for (uint32_t i = 0; i < op->n_args; i++)
        multiply_by(&all, of_value(slots, &op->args[i]).carried);
    return all;
}

/* How many elements an operator adds up to one, at most. */
static double summed(const struct tc_plan_op *op)
{
    double n = op->n_outs && op->outs[0] ? (double)op->outs[0]->numel : 1;

    return op->n_reads ? fmax((double)op->reads[0]->numel / fmax(n, 1), 1) : 1;
}

/* A log keeps what it is taken of; it is a hash of that. */
static struct tc_degree logged(struct tc_ledger *l, struct tc_degree of)
{
    tc_degree_raise(&l->functions[TC_FN_LOG].argument, times(of, 2));
    return of;
}

/* How many exponentials a log is taken of, or their sum divides. */
static double row_of_logs(const struct tc_plan_op *op, const struct tc_degree_form *form,
                          const struct tc_el_counts *counts)
{
    double n_exp = (double)counts->functions[TC_FN_EXP];

    if (counts->functions[TC_FN_LOG])
        return fmax(n_exp / (double)counts->functions[TC_FN_LOG], 1);
    return form->inverted == TC_DEGREE_HASHED ? row_of(op) : 1;
}

/*
 * What carries logs has an exponential N / M, of polynomials no higher than what is held for it,
 * times those of its atoms. A value of E may be the inverse of a variable: that counts as the
 * variable does (docs/plans.md). A log is a value of a function, a maximum one of its operands:
 * what they carry is no factor of them.
 */
static void account_laws(struct tc_ledger *l, const struct held *slots, const struct tc_plan_op *op,
                         const struct tc_degree_form *form, const struct tc_el_counts *counts,
                         struct held *first, struct held *more)
{
    struct tc_degree carried = carried_by(slots, op), made, whole;
    bool has_exp = counts->functions[TC_FN_EXP] > 0, has_log = counts->functions[TC_FN_LOG] > 0;
    bool gives_log = has_log && (form->more || form->inverted == TC_DEGREE_NONE);

    made = times(carried, row_of_logs(op, form, counts));
    made.own += ATOMS + 1;
    whole = made;
    if (has_exp && !*form->arguments) /* of maxima: what it applies functions to is not said */
        tc_degree_raise(&l->functions[TC_FN_EXP].argument, sum(slots, op).value);
    if (has_exp && !form->chooses && (!gives_log || form->more)) {
        if (carried.own > 0) {
            count_inverted(l, made, (double)counts->functions[TC_FN_EXP], &whole.level);
            whole.inverses++;
        }
        if (form->inverted != TC_DEGREE_NONE) /* a sum of exponentials, and of 1 */
            count_inverted(l, made, (double)counts->inverses, &whole.level);
        multiply_by(&first->value, whole);
        if (!gives_log)
            multiply_by(&more->value, whole);
    }
    if (counts->functions[TC_FN_MAX])
        tc_degree_raise(&l->functions[TC_FN_MAX].argument, sum(slots, op).value);
    if (has_log)
        made = logged(l, has_exp ? made : with(made, product(slots, op, form->arguments)));
    if (gives_log)
        more->carried = made;
    else if (!form->functions && (!form->times || tc_degree_is_elementwise(op->rule)))
        more->carried = times(carried, summed(op));
    if (!form->more)
        first->carried = more->carried;
}

/* Free maxima are not chosen by an order. */
static bool is_free_maximum(const struct tc_ledger *l, const struct tc_plan_op *op)
{
    const char *name = op->rule->name;

    return l->mode == TC_LAWS_FREE && (!strcmp(name, "aten.maximum") || !strcmp(name, "aten.amax"));
}

static bool depends(const struct held *slots, const struct tc_plan_op *op)
{
    struct held all = of_reads(slots, op);

    return all.value.own > 1 || all.value.inverses > 0 || all.square.own > 0;
}

/* The first result that is not an argument written in place, as running statistics are. */
static bool is_first(const struct tc_plan_op *op, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++) {
        bool is_read = !op->outs[i];
        for (uint32_t r = 0; r < op->n_reads && !is_read; r++)
            is_read = op->reads[r]->storage == op->outs[i]->storage;
        if (!is_read)
            return false;
    }
    return true;
}

static void account(struct tc_ledger *l, const struct tc_run *run, const struct tc_plan_op *op,
                    const struct tc_degree_form *form, const struct tc_el_counts *counts)
{
    struct held *slots = slots_of(l, run, number_of_op(run, op));
    bool is_late = l->ranks[run->plan->rank].is_late[number_of_op(run, op)];
    struct held first = result_of(slots, op, form, form->times), more = first;
    struct tc_degree inverses =
        inverses_of(l, slots, op, form, applications(is_late, n_inverted(form, counts)));

    if (form->more)
        more = result_of(slots, op, form, form->more);
    multiply_by(&first.value, inverses);
    if (!form->more || *form->more) /* else it is a value of a function alone */
        multiply_by(&more.value, inverses);
    if (l->mode != TC_LAWS_NONE)
        account_laws(l, slots, op, form, counts, &first, &more);
    count_functions(l, slots, op, form, counts, is_late);
    first.late = more.late = late_applications(slots, op, counts, is_late);
    if (form->chooses && depends(slots, op) && !is_free_maximum(l, op)) {
        l->choice = l->choice ? l->choice : op;
        l->n_choices++;
    }
    for (uint32_t k = 0; k < op->n_outs; k++)
        if (op->outs[k])
            put(slots, op->outs[k], form->more && !is_first(op, k) ? &more : &first);
}

/* ---- what the evaluation tells ------------------------------------------------------------- */

/* Collectives and messages come by tc_ledger_met and tc_ledger_received. */
void tc_ledger_op(struct tc_ledger *l, const struct tc_run *run, uint32_t number)
{
    const struct tc_plan_op *op = &run->plan->program->ops.items[number];
    struct tc_el_counts counts = tc_el_counts;
    const struct tc_degree_form *form;

    if (op->rule->kind > TC_RULE_ELEMENTWISE)
        return;
    tc_el_counts = (struct tc_el_counts){0};
    pthread_mutex_lock(&l->lock);
    form = tc_map_find(&l->forms, (uintptr_t)op->rule);
    if (form) {
        struct tc_degree_form own = tc_degree_form_of_op(form, op);
        account(l, run, op, &own, &counts);
    }
    pthread_mutex_unlock(&l->lock);
}

static struct held *slots_at(struct tc_ledger *l, const struct tc_participant *p)
{
    return slots_of(l, p->run, number_of_op(p->run, p->op));
}

void tc_ledger_met(struct tc_ledger *l, const struct tc_participant *all, uint32_t n)
{
    struct held met = {0};
    struct tc_degree carried = {0};

    pthread_mutex_lock(&l->lock);
    for (uint32_t i = 0; i < n; i++) {
        struct held given = of_reads(slots_at(l, &all[i]), all[i].op);
        multiply_by(&carried, given.carried);
        if (tc_collective_multiplies(all[i].op)) {
            multiply_by(&met.value, as_factor(&given));
            continue;
        }
        if (tc_collective_chooses(all[i].op) && given.value.own > 1 && l->mode != TC_LAWS_FREE) {
            l->choice = l->choice ? l->choice : all[i].op;
            l->n_choices++;
        }
        hold(&met, &given);
    }
    met.value.own += 1; /* a factor of the reduction */
    met.carried = carried;
    if (l->mode != TC_LAWS_NONE && tc_collective_chooses(all[0].op))
        tc_degree_raise(&l->functions[TC_FN_MAX].argument, met.value);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < all[i].op->n_outs; k++)
            if (all[i].op->outs[k])
                put(slots_at(l, &all[i]), all[i].op->outs[k], &met);
    pthread_mutex_unlock(&l->lock);
}

void tc_ledger_sent(struct tc_ledger *l, const struct tc_run *from, const struct tc_plan_op *op,
                    struct tc_degrees *with)
{
    struct held given;

    pthread_mutex_lock(&l->lock);
    given = of_reads(slots_of(l, from, number_of_op(from, op)), op);
    *with = (struct tc_degrees){as_factor(&given), given.carried};
    pthread_mutex_unlock(&l->lock);
}

void tc_ledger_received(struct tc_ledger *l, const struct tc_run *to, const struct tc_plan_op *op,
                        const struct tc_degrees *with)
{
    struct held got = {.value = with->value, .carried = with->carried};

    pthread_mutex_lock(&l->lock);
    for (uint32_t k = 0; k < op->n_outs; k++)
        if (op->outs[k])
            put(slots_of(l, to, number_of_op(to, op)), op->outs[k], &got);
    pthread_mutex_unlock(&l->lock);
}

void tc_ledger_done(struct tc_ledger *l, const struct tc_run *run)
{
    pthread_mutex_lock(&l->lock);
    struct held *slots = slots_of(l, run, UINT32_MAX - 1);
    for (size_t i = 0; i < run->plan->results.n; i++) {
        const struct held *result = &slots[run->plan->results.items[i].tensor.storage];
        tc_degree_raise(&l->result, result->value);
        l->late = fmax(l->late, result->late);
    }
    drop(&l->ranks[run->plan->rank]);
    pthread_mutex_unlock(&l->lock);
}
