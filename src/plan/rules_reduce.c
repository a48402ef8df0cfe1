/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_reduce.c - sums, means, norms, maxima over dimensions; softmax; running sums
 *
 * Lines of elements along the reduced dimensions are combined one after the other. Sums and
 * means are exact, the norm of order 2 is a root. A rule's variant says which operator it
 * serves.
 */
#include "plan/eval.h"

#include <string.h>

enum reduction {
    SUM,
    MEAN,
    AMAX,
    AMIN,
    PROD,
    ANY,
    ALL,
    NORM,
    VAR,
    LOGSUMEXP,
};

static tc_el extreme(const tc_el *p, size_t n, int sign)
{
    tc_el best = n ? p[0] : TC_EL_UNDEF;

    if (sign > 0)
        return tc_el_max_of(p, n, 1);
    for (size_t i = 1; i < n; i++)
        if (tc_el_compare(p[i], best) < 0)
            best = p[i];
    return best;
}

static tc_el truth_of(const tc_el *p, size_t n, bool any)
{
    for (size_t i = 0; i < n; i++)
        if (!tc_el_same(p[i], TC_EL_ZERO) == any)
            return any ? TC_EL_ONE : TC_EL_ZERO;
    return any ? TC_EL_ZERO : TC_EL_ONE;
}

static tc_el product(const tc_el *p, size_t n)
{
    tc_el r = TC_EL_ONE;

    for (size_t i = 0; i < n; i++)
        r = tc_el_mul(r, p[i]);
    return r;
}

static tc_el variance(const tc_el *p, size_t n, double correction)
{
    tc_el inverse = tc_el_inv(tc_el_int((int64_t)n)), sum = TC_EL_ZERO;
    tc_el mean = tc_el_mul(tc_el_sum(p, 1, n), inverse);

    for (size_t i = 0; i < n; i++) {
        tc_el d = tc_el_sub(p[i], mean);
        sum = tc_el_add(sum, tc_el_mul(d, d));
    }
    return tc_el_mul(sum, tc_el_inv(tc_el_number((double)n - correction, false)));
}

static tc_el sum_of_squares(const tc_el *p, size_t n)
{
    tc_el sum = TC_EL_ZERO;

    for (size_t i = 0; i < n; i++)
        sum = tc_el_add(sum, tc_el_square(p[i]));
    return sum;
}

/* The norm of order 2 is a root; the others are sums or maxima of magnitudes. */
static tc_el norm(struct tc_eval *e, const tc_el *p, size_t n, double order)
{
    struct tc_function f = tc_eval_function(e, TC_FN_ABS, 0, 0, 0);
    struct tc_function root = tc_eval_function(e, TC_FN_SQRT, 0, 0, 0);
    tc_el sum = TC_EL_ZERO;

    if (order == 2)
        return tc_el_sqrt(&root, sum_of_squares(p, n));
    if (order != 1 && order <= 1e300)
        tc_eval_fail(e, "a norm of order %g", order);
    for (size_t i = 0; i < n; i++) {
        tc_el x = tc_el_apply(&f, p[i]);
        if (order == 1)
            sum = tc_el_add(sum, x);
        else if (i == 0 || tc_el_compare(x, sum) > 0)
            sum = x;
    }
    return sum;
}

static tc_el log_sum_exp(struct tc_eval *e, const tc_el *p, size_t n)
{
    struct tc_function to_exp = tc_eval_function(e, TC_FN_EXP, 0, 0, 0);
    struct tc_function to_log = tc_eval_function(e, TC_FN_LOG, 0, 0, 0);
    tc_el sum = TC_EL_ZERO;

    for (size_t i = 0; i < n; i++)
        sum = tc_el_add(sum, tc_el_apply(&to_exp, p[i]));
    return tc_el_apply(&to_log, sum);
}

static double correction_of(const struct tc_eval *e)
{
    return tc_eval_arg(e, 3)->kind == TC_PLAN_TRUTH ? tc_eval_bool(e, 3, true)
                                                    : tc_eval_number(e, 3, 1);
}

static tc_el reduced(struct tc_eval *e, enum reduction how, const tc_el *p, size_t n)
{
    switch (how) {
    case SUM:
        return tc_el_sum(p, 1, n);
    case MEAN:
        return tc_el_mul(tc_el_sum(p, 1, n), tc_el_inv(tc_el_int((int64_t)n)));
    case AMAX:
    case AMIN:
        return extreme(p, n, how == AMAX ? 1 : -1);
    case PROD:
        return product(p, n);
    case ANY:
    case ALL:
        return truth_of(p, n, how == ANY);
    case NORM:
        return norm(e, p, n, tc_eval_number(e, 3, 2));
    case VAR:
        return variance(p, n, correction_of(e));
    case LOGSUMEXP:
        return log_sum_exp(e, p, n);
    }
    return TC_EL_UNDEF;
}

/* A last output is the mean: var_mean. */
static void run_reduce(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);

    if (!t)
        return;
    struct tc_eval_extent rows = tc_eval_rows(e, t, t->n_dims ? tc_eval_dims(e, 1, t) : 0);
    tc_el *to = tc_eval_new(e, rows.outer);
    for (size_t i = 0; i < rows.outer; i++)
        to[i] = reduced(e, (enum reduction)e->op->rule->variant, rows.p + i * rows.n, rows.n);
    tc_eval_write(e, 0, to, rows.outer);
    for (size_t i = 0; tc_eval_out(e, 1) && i < rows.outer; i++)
        to[i] = reduced(e, MEAN, rows.p + i * rows.n, rows.n);
    if (tc_eval_out(e, 1))
        tc_eval_write(e, 1, to, rows.outer);
}

/* Values and their first positions: max(dim), argmax. */
static void run_extreme(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);
    int sign = e->op->rule->variant;
    bool is_arg = e->op->rule->extra;

    if (!t)
        return;
    struct tc_eval_extent rows = tc_eval_rows(e, t, t->n_dims ? tc_eval_dims(e, 1, t) : 0);
    tc_el *values = tc_eval_new(e, rows.outer), *places = tc_eval_new(e, rows.outer);
    for (size_t i = 0; i < rows.outer; i++) {
        const tc_el *p = rows.p + i * rows.n;
        size_t k = 0;
        values[i] = extreme(p, rows.n, sign);
        while (k + 1 < rows.n && tc_el_compare(p[k], values[i]) != 0)
            k++;
        places[i] = tc_el_int((int64_t)k);
    }
    tc_eval_write(e, 0, is_arg ? places : values, rows.outer);
    if (!is_arg && tc_eval_out(e, 1))
        tc_eval_write(e, 1, places, rows.outer);
}

static void run_aminmax(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);

    if (!t)
        return;
    struct tc_eval_extent rows = tc_eval_rows(e, t, t->n_dims ? tc_eval_dims(e, 1, t) : 0);
    tc_el *lowest = tc_eval_new(e, rows.outer), *highest = tc_eval_new(e, rows.outer);
    for (size_t i = 0; i < rows.outer; i++) {
        lowest[i] = extreme(rows.p + i * rows.n, rows.n, -1);
        highest[i] = extreme(rows.p + i * rows.n, rows.n, 1);
    }
    tc_eval_write(e, 0, lowest, rows.outer);
    tc_eval_write(e, 1, highest, rows.outer);
}

/* ---- along one dimension, with an output of the same sizes --------------------------------- */

/* Rows along a dimension lie n apart in row-major order: [outer][n][inner]. */
struct lines {
    size_t outer, n, inner;
};

static struct lines lines_of(const struct tc_plan_tensor *t, int64_t dim)
{
    unsigned d = tc_eval_dim(dim, t->n_dims);

    return (struct lines){tc_eval_span(t, 0, d), t->n_dims ? (size_t)t->sizes[d] : 1,
                          tc_eval_span(t, d + 1, t->n_dims)};
}

static void softmax_line(const struct tc_function *f, tc_el *p, size_t n, size_t step, bool is_safe)
{
    tc_el sum = TC_EL_ZERO;

    for (size_t i = 0; i < n; i++) {
        p[i * step] = tc_el_apply(f, p[i * step]);
        sum = tc_el_add(sum, p[i * step]);
    }
    sum = is_safe && tc_el_same(sum, TC_EL_ZERO) ? TC_EL_ONE : sum;
    sum = tc_el_inv(sum);
    for (size_t i = 0; i < n; i++)
        p[i * step] = tc_el_mul(p[i * step], sum);
}

static void log_softmax_line(struct tc_eval *e, tc_el *p, size_t n, size_t step)
{
    struct tc_function to_exp = tc_eval_function(e, TC_FN_EXP, 0, 0, 0);
    struct tc_function to_log = tc_eval_function(e, TC_FN_LOG, 0, 0, 0);
    tc_el sum = TC_EL_ZERO;

    for (size_t i = 0; i < n; i++)
        sum = tc_el_add(sum, tc_el_apply(&to_exp, p[i * step]));
    sum = tc_el_apply(&to_log, sum);
    for (size_t i = 0; i < n; i++)
        p[i * step] = tc_el_sub(p[i * step], sum);
}

enum softmax {
    SOFTMAX,
    SAFE_SOFTMAX,
    LOG_SOFTMAX,
};

static void run_softmax(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);
    enum softmax how = (enum softmax)e->op->rule->variant;

    if (!t)
        return;
    struct lines l = lines_of(t, tc_eval_int(e, 1, -1));
    struct tc_function f = tc_eval_function(e, TC_FN_EXP, 0, 0, 0);
    tc_el *to = tc_eval_take(e, t);
    for (size_t i = 0; i < l.outer * l.inner; i++) {
        tc_el *p = to + i / l.inner * l.n * l.inner + i % l.inner;
        if (how == LOG_SOFTMAX)
            log_softmax_line(e, p, l.n, l.inner);
        else
            softmax_line(&f, p, l.n, l.inner, how == SAFE_SOFTMAX);
    }
    tc_eval_write(e, 0, to, (size_t)t->numel);
}

/* softmax: y * (g - sum(g * y)); log_softmax: g - exp(y) * sum(g). */
static void run_softmax_backward(struct tc_eval *e)
{
    const struct tc_plan_tensor *g = tc_eval_tensor(e, 0), *y = tc_eval_tensor(e, 1);
    bool is_log = e->op->rule->variant == LOG_SOFTMAX;

    if (!g || !y || g->numel != y->numel)
        return;
    struct lines l = lines_of(g, tc_eval_int(e, 2, -1));
    struct tc_function f = tc_eval_function(e, TC_FN_EXP, 0, 0, 0);
    tc_el *to = tc_eval_take(e, g);
    const tc_el *out = tc_eval_read(e, y);
    for (size_t i = 0; i < l.outer * l.inner; i++) {
        size_t at = i / l.inner * l.n * l.inner + i % l.inner;
        tc_el sum = is_log ? tc_el_sum(to + at, l.inner, l.n)
                           : tc_el_dot(to + at, l.inner, out + at, l.inner, l.n);
        for (size_t k = at; k < at + l.n * l.inner; k += l.inner) {
            if (is_log)
                to[k] = tc_el_sub(to[k], tc_el_mul(tc_el_apply(&f, out[k]), sum));
            else
                to[k] = tc_el_mul(out[k], tc_el_sub(to[k], sum));
        }
    }
    tc_eval_write(e, 0, to, (size_t)g->numel);
}

static void run_cumsum(struct tc_eval *e)
{
    const struct tc_plan_tensor *t = tc_eval_tensor(e, 0);
    bool is_product = e->op->rule->variant;

    if (!t)
        return;
    struct lines l = lines_of(t, tc_eval_int(e, 1, 0));
    tc_el *to = tc_eval_take(e, t);
    for (size_t i = 0; i < l.outer * l.inner; i++) {
        tc_el *p = to + i / l.inner * l.n * l.inner + i % l.inner;
        for (size_t k = 1; k < l.n; k++) {
            tc_el before = p[(k - 1) * l.inner], x = p[k * l.inner];
            p[k * l.inner] = is_product ? tc_el_mul(before, x) : tc_el_add(before, x);
        }
    }
    tc_eval_write(e, 0, to, (size_t)t->numel);
}

#define REDUCE(op, args, how)                                       \
    {                                                               \
        "aten." op, "self " args, run_reduce, TC_RULE_PLAIN, how, 0 \
    }

const struct tc_rule tc_rules_reduce[] = {
    REDUCE("sum", "dim", SUM),
    REDUCE("mean", "dim", MEAN),
    REDUCE("amax", "dim", AMAX),
    REDUCE("amin", "dim", AMIN),
    REDUCE("prod", "dim", PROD),
    REDUCE("any", "dim", ANY),
    REDUCE("all", "dim", ALL),
    REDUCE("logsumexp", "dim", LOGSUMEXP),
    REDUCE("linalg_vector_norm", "dim - ord", NORM),
    REDUCE("norm", "dim - p", NORM),
    REDUCE("_foreach_norm", "- - ord", NORM),
    REDUCE("var", "dim - correction|unbiased", VAR),
    REDUCE("var_mean", "dim - correction|unbiased", VAR),
    {"aten.max",     "self dim", run_extreme, TC_RULE_PLAIN, 1, 0},
    {"aten.min",   "self dim", run_extreme, TC_RULE_PLAIN, -1, 0},
    {"aten.aminmax",             "self dim", run_aminmax, TC_RULE_PLAIN, 0, 0},
    {"aten.argmax",              "self dim", run_extreme, TC_RULE_PLAIN, 1, 1},
    {"aten.argmin",  "self dim", run_extreme, TC_RULE_PLAIN, -1, 1},
    {"aten._softmax", "self dim", run_softmax, TC_RULE_PLAIN, SOFTMAX, 0},
    {"aten.softmax",             "self dim", run_softmax, TC_RULE_PLAIN, SOFTMAX, 0},
    {"aten._safe_softmax", "self dim", run_softmax, TC_RULE_PLAIN, SAFE_SOFTMAX, 0},
    {"aten._log_softmax",   "self dim", run_softmax, TC_RULE_PLAIN, LOG_SOFTMAX, 0},
    {"aten.log_softmax",             "self dim", run_softmax, TC_RULE_PLAIN, LOG_SOFTMAX, 0},
    {"aten._softmax_backward_data",              "grad_output output dim", run_softmax_backward, TC_RULE_PLAIN,
                                                    SOFTMAX, 0},
    {"aten._log_softmax_backward_data","grad_output output dim", run_softmax_backward,
                                                    TC_RULE_PLAIN, LOG_SOFTMAX, 0},
    {"aten.cumsum", "self dim", run_cumsum, TC_RULE_PLAIN, 0, 0},
    {"aten.cumprod",             "self dim", run_cumsum, TC_RULE_PLAIN, 1, 0},
    {0 },
};
