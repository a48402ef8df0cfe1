/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_margin.c - losses that ask a margin between classes, and their gradients
 *
 * A hinge max(0, h) is h * step(h), as relu is.
 */
#include "plan/eval.h"

/* torch's numbers for reduction=. */
enum reduction {
    NONE,
    MEAN,
    SUM
};

/* Scores [samples, classes], of one sample without the first dimension. */
struct scores {
    size_t samples, classes;
    const tc_el *x, *target, *weight;
    struct tc_function step;
    enum reduction how;
};

static bool scores_of(struct tc_eval *e, unsigned self, unsigned reduction, struct scores *s)
{
    const struct tc_plan_tensor *x = tc_eval_tensor(e, self), *target = tc_eval_tensor(e, self + 1);

    if (!x || !target || x->n_dims > 2 || !x->numel) {
        tc_eval_fail(e, "sizes that do not fit");
        return false;
    }
    *s = (struct scores){.samples = x->n_dims == 2 ? (size_t)x->sizes[0] : 1,
                         .classes = x->n_dims ? (size_t)x->sizes[x->n_dims - 1] : 1,
                         .x = tc_eval_read(e, x),
                         .target = tc_eval_read(e, target),
                         .step = tc_eval_function(e, TC_FN_STEP, 0, 0, 0),
                         .how = (enum reduction)tc_eval_int(e, reduction, MEAN)};
    return true;
}

/* Target k; -1 for the end of a list, and no class after a failure. */
static int64_t class_at(struct tc_eval *e, const struct scores *s, size_t k)
{
    int64_t t = tc_el_is_marked(s->target[k]) ? -2 : tc_el_to_int(s->target[k]);

    if (t < -1 || t >= (int64_t)s->classes)
        tc_eval_fail(e, "a target that is no class");
    return t;
}

/* The factor of a sample's sum over classes, and of its gradient. */
static tc_el share_of(const struct scores *s)
{
    size_t n = s->classes * (s->how == MEAN ? s->samples : 1);

    return tc_el_inv(tc_el_int((int64_t)n));
}

static void write_loss(struct tc_eval *e, const struct scores *s, const tc_el *each)
{
    tc_el sum = tc_el_sum(each, 1, s->samples);

    tc_eval_write(e, 0, s->how == NONE ? each : &sum, s->how == NONE ? s->samples : 1);
}

/* The gradient of a sample's loss from above. */
static tc_el given_to(const struct tc_plan_tensor *g, const tc_el *from, size_t sample)
{
    return from[g->numel == 1 ? 0 : sample];
}

/* ---- one class: the sum over the others of max(0, margin - x[y] + x[j]) ^ p ------------------ */

/* Of self target p margin weight reduction self is argument `first`. */
static bool margins_of(struct tc_eval *e, unsigned first, struct scores *s)
{
    const struct tc_plan_tensor *weight = tc_eval_tensor(e, first + 4),
                                *target = tc_eval_tensor(e, first + 1);

    if (!scores_of(e, first, first + 5, s))
        return false;
    s->weight = weight ? tc_eval_read(e, weight) : NULL;
    if ((size_t)target->numel != s->samples || (weight && (size_t)weight->numel != s->classes))
        tc_eval_fail(e, "targets or weights of another size");
    return !*e->failure;
}

/* The hinge of class j against class y of a sample, and its derivative. */
struct hinge {
    tc_el value, slope;
};

static struct hinge hinge_at(const struct scores *s, const tc_el *x, int64_t y, size_t j,
                             tc_el margin, int64_t p)
{
    tc_el h = tc_el_add(tc_el_sub(margin, x[y]), x[j]);
    tc_el factor = tc_el_apply(&s->step, h);

    if (s->weight)
        factor = tc_el_mul(factor, s->weight[y]);
    if (p == 1)
        return (struct hinge){tc_el_mul(factor, h), factor};
    return (struct hinge){tc_el_mul(factor, tc_el_mul(h, h)),
                          tc_el_mul(factor, tc_el_mul(tc_el_int(2), h))};
}

/* self target p margin weight reduction */
static void run_multi_margin(struct tc_eval *e)
{
    tc_el margin = tc_eval_scalar(e, 3, 1);
    int64_t p = (int64_t)tc_eval_number(e, 2, 1);
    struct scores s;

    if (!margins_of(e, 0, &s))
        return;
    tc_el *each = tc_eval_zeros(e, s.samples), share = share_of(&s);
    for (size_t i = 0; i < s.samples && !*e->failure; i++) {
        int64_t y = class_at(e, &s, i);
        for (size_t j = 0; j < s.classes && y >= 0; j++)
            if (j != (size_t)y)
                each[i] =
                    tc_el_add(each[i], hinge_at(&s, s.x + i * s.classes, y, j, margin, p).value);
        each[i] = tc_el_mul(each[i], share);
    }
    write_loss(e, &s, each);
}

/* grad_output self target p margin weight reduction */
static void run_multi_margin_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *g = tc_eval_tensor(e, 0);
    tc_el margin = tc_eval_scalar(e, 4, 1);
    int64_t p = (int64_t)tc_eval_number(e, 3, 1);
    struct scores s;

    if (!g || !margins_of(e, 1, &s))
        return;
    const tc_el *from = tc_eval_read(e, g);
    tc_el *to = tc_eval_zeros(e, s.samples * s.classes), share = share_of(&s);
    for (size_t i = 0; i < s.samples && !*e->failure; i++) {
        int64_t y = class_at(e, &s, i);
        tc_el *row = to + i * s.classes, given = tc_el_mul(share, given_to(g, from, i));
        for (size_t j = 0; j < s.classes && y >= 0; j++) {
            if (j == (size_t)y)
                continue;
            row[j] = tc_el_mul(given, hinge_at(&s, s.x + i * s.classes, y, j, margin, p).slope);
            row[y] = tc_el_sub(row[y], row[j]);
        }
    }
    tc_eval_write(e, 0, to, s.samples * s.classes);
}

/* ---- several classes: the targets of a sample end at the first -1 ---------------------------- */

/* Which classes of each sample are targets, as the operator's second output has it. */
static tc_el *targets_of(struct tc_eval *e, const struct scores *s)
{
    tc_el *is_target = tc_eval_zeros(e, s->samples * s->classes);

    for (size_t i = 0; i < s->samples && !*e->failure; i++)
        for (size_t k = 0; k < s->classes; k++) {
            int64_t y = class_at(e, s, i * s->classes + k);
            if (y < 0 || *e->failure)
                break;
            is_target[i * s->classes + (size_t)y] = TC_EL_ONE;
        }
    return is_target;
}

static bool label_scores_of(struct tc_eval *e, unsigned self, unsigned reduction, struct scores *s)
{
    if (!scores_of(e, self, reduction, s))
        return false;
    if ((size_t)tc_eval_tensor(e, self + 1)->numel != s->samples * s->classes)
        tc_eval_fail(e, "targets of another size");
    return !*e->failure;
}

/* Each pair of a target and a class that is none, of a sample; given: NULL in the forward. */
static tc_el visit_pairs(struct tc_eval *e, const struct scores *s, size_t sample,
                         const tc_el *is_target, tc_el *row, tc_el given)
{
    const tc_el *x = s->x + sample * s->classes;
    tc_el sum = TC_EL_ZERO;

    for (size_t k = 0; k < s->classes; k++) {
        int64_t y = class_at(e, s, sample * s->classes + k);
        if (y < 0 || *e->failure)
            break;
        for (size_t j = 0; j < s->classes; j++) {
            if (!tc_el_same(is_target[sample * s->classes + j], TC_EL_ZERO))
                continue;
            struct hinge h = hinge_at(s, x, y, j, TC_EL_ONE, 1);
            sum = tc_el_add(sum, h.value);
            tc_el slope = tc_el_mul(given, h.slope);
            row[j] = tc_el_add(row[j], slope);
            row[y] = tc_el_sub(row[y], slope);
        }
    }
    return sum;
}

/* self target reduction; outputs the loss and which classes are targets */
static void run_multilabel(struct tc_eval *e)
{
    struct scores s;

    if (!label_scores_of(e, 0, 2, &s))
        return;
    tc_el *is_target = targets_of(e, &s), *each = tc_eval_zeros(e, s.samples);
    tc_el *unused = tc_eval_zeros(e, s.classes), share = share_of(&s);
    for (size_t i = 0; i < s.samples && !*e->failure; i++)
        each[i] = tc_el_mul(share, visit_pairs(e, &s, i, is_target, unused, TC_EL_ZERO));
    write_loss(e, &s, each);
    tc_eval_write(e, 1, is_target, s.samples * s.classes);
}

/* grad_output self target reduction */
static void run_multilabel_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *g = tc_eval_tensor(e, 0);
    struct scores s;

    if (!g || !label_scores_of(e, 1, 3, &s))
        return;
    const tc_el *from = tc_eval_read(e, g);
    tc_el *is_target = targets_of(e, &s), share = share_of(&s);
    tc_el *to = tc_eval_zeros(e, s.samples * s.classes);
    for (size_t i = 0; i < s.samples && !*e->failure; i++)
        visit_pairs(e, &s, i, is_target, to + i * s.classes,
                    tc_el_mul(share, given_to(g, from, i)));
    tc_eval_write(e, 0, to, s.samples * s.classes);
}

const struct tc_rule tc_rules_margin[] = {
    {"aten.multi_margin_loss",                             "self target p margin weight reduction", run_multi_margin,
     TC_RULE_PLAIN, 0, 0},
    {"aten.multi_margin_loss_backward",                                    "grad_output self target p margin weight reduction",
     run_multi_margin_backward, TC_RULE_PLAIN, 0, 0},
    {"aten.multilabel_margin_loss_forward",                                                   "self target reduction", run_multilabel, TC_RULE_PLAIN,
     0, 0},
    {"aten.multilabel_margin_loss_backward",                                                    "grad_output self target reduction",
     run_multilabel_backward, TC_RULE_PLAIN, 0, 0},
    {0},
};
