/*
 * rules_loss.c - the negative log likelihood of a class, which cross_entropy ends in
 */
#include "plan/eval.h"

#include "base/banned.h"

enum {
    NONE,
    MEAN,
    SUM
}; /* reduction */

/* Rows of log-probabilities [n][classes][inner] with one target for each (row, inner). */
struct likelihood {
    const tc_el *target, *weight;
    size_t n, classes, inner;
    int64_t ignored;
    int reduction;
};

/* self target weight reduction ignore_index are the arguments from number first on. */
static bool likelihood_of(struct tc_eval *e, unsigned first, struct likelihood *l)
{
    const struct tc_plan_tensor *self = tc_eval_tensor(e, first),
                                *target = tc_eval_tensor(e, first + 1);

    if (!self || !target || !self->n_dims) {
        tc_eval_fail(e, "no classes");
        return false;
    }
    unsigned d = self->n_dims > 1 ? 1 : 0;
    *l = (struct likelihood){.n = d ? (size_t)self->sizes[0] : 1,
                             .classes = (size_t)self->sizes[d],
                             .inner = tc_eval_span(self, d + 1, self->n_dims),
                             .ignored = tc_eval_int(e, first + 4, -100),
                             .reduction = (int)tc_eval_int(e, first + 3, MEAN)};
    l->target = tc_eval_read(e, target);
    l->weight = tc_eval_in(e, first + 2);
    if ((size_t)target->numel != l->n * l->inner)
        tc_eval_fail(e, "sizes that do not fit");
    return !*e->failure;
}

/* The class of target i; -1 if it does not count or after a failure. */
static int64_t class_of(struct tc_eval *e, const struct likelihood *l, size_t i)
{
    int64_t class = tc_el_is_marked(l->target[i]) ? -1 : tc_el_to_int(l->target[i]);

    if (class == l->ignored)
        return -1;
    if (class >= 0 && class < (int64_t)l->classes)
        return class;
    tc_eval_fail(e, "a target that is no class");
    return -1;
}

static tc_el weight_of(const struct likelihood *l, int64_t class)
{
    return class < 0 ? TC_EL_ZERO : l->weight ? l->weight[class] : TC_EL_ONE;
}

/* Where the class of target i stands among the log-probabilities. */
static size_t place(const struct likelihood *l, size_t i, int64_t class)
{
    return (i / l->inner * l->classes + (size_t) class) * l->inner + i % l->inner;
}

static tc_el total_of(struct tc_eval *e, const struct likelihood *l)
{
    tc_el total = TC_EL_ZERO;

    for (size_t i = 0; i < l->n * l->inner; i++)
        total = tc_el_add(total, weight_of(l, class_of(e, l, i)));
    return total;
}

static void run_forward(struct tc_eval *e)
{
    struct likelihood l;

    if (!likelihood_of(e, 0, &l))
        return;
    size_t n = l.n * l.inner;
    const tc_el *from = tc_eval_in(e, 0);
    tc_el *each = tc_eval_new(e, n + 1), total = total_of(e, &l), sum = TC_EL_ZERO, inverse = total;
    for (size_t i = 0; i < n; i++) {
        int64_t class = class_of(e, &l, i);
        tc_el x = class < 0 ? TC_EL_ZERO : from[place(&l, i, class)];
        each[i] = tc_el_neg(tc_el_mul(weight_of(&l, class), x));
        sum = tc_el_add(sum, each[i]);
    }
    if (l.reduction == MEAN) {
        tc_el_invert(&inverse, 1);
        sum = tc_el_mul(sum, inverse);
    }
    tc_eval_write(e, 0, l.reduction == NONE ? each : &sum, l.reduction == NONE ? n : 1);
    tc_eval_write(e, 1, &total, 1);
}

static void run_backward(struct tc_eval *e)
{
    struct likelihood l;
    const tc_el *grad = tc_eval_in(e, 0);

    if (!grad || !likelihood_of(e, 1, &l))
        return;
    size_t n = l.n * l.inner, size = n * l.classes;
    tc_el *to = tc_eval_new(e, size + 1), scale = TC_EL_ONE;
    if (l.reduction == MEAN) {
        scale = total_of(e, &l);
        tc_el_invert(&scale, 1);
    }
    for (size_t i = 0; i < size; i++)
        to[i] = TC_EL_ZERO;
    for (size_t i = 0; i < n; i++) {
        int64_t class = class_of(e, &l, i);
        tc_el g = tc_el_mul(l.reduction == NONE ? grad[i] : grad[0], scale);
        if (class >= 0)
            to[place(&l, i, class)] = tc_el_neg(tc_el_mul(g, weight_of(&l, class)));
    }
    tc_eval_write(e, 0, to, size);
}

#define FORWARD  "self target weight reduction ignore_index"
#define BACKWARD "grad_output self target weight reduction ignore_index total_weight"

const struct tc_rule tc_rules_loss[] = {
    {"aten.nll_loss_forward", FORWARD, run_forward, TC_RULE_PLAIN, 0, 0},
    {"aten.nll_loss_backward",            BACKWARD, run_backward, TC_RULE_PLAIN, 0, 0},
    {"aten.nll_loss2d_forward",                      FORWARD, run_forward, TC_RULE_PLAIN, 0, 0},
    {"aten.nll_loss2d_backward",                       BACKWARD, run_backward, TC_RULE_PLAIN, 0, 0},
    {0   },
};
