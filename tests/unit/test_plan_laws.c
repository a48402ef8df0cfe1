/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_plan_laws.c - laws of exp and log: what they know, and that they know nothing that is wrong
 *
 * Values are computed three times side by side: in the field with two seeds, and with long
 * doubles. What the field takes for equal must be equal.
 */
#include "unit.h"

#include <math.h>

#include "base/arena.h"
#include "base/vec.h"
#include "plan/carry.h"

/* ---- values of the field and of long doubles side by side ---------------------------------- */

#define SEEDS 2

struct value {
    tc_el el[SEEDS];
    long double real;
};

static struct tc_laws *laws[SEEDS];
static uint64_t first_seed;

static void begin(enum tc_laws_mode mode, uint64_t seed)
{
    first_seed = SEEDS * seed;
    for (unsigned k = 0; k < SEEDS; k++)
        laws[k] = tc_laws_new(mode, first_seed + k);
}

static void end(void)
{
    tc_laws_enter(NULL);
    for (unsigned k = 0; k < SEEDS; k++)
        tc_laws_free(laws[k]);
}

static struct tc_function function(unsigned k, enum tc_fn fn)
{
    return tc_function_make(first_seed + k, fn, 0, fn == TC_FN_SOFTPLUS, 0);
}

/* Each seed's elements by its own laws. */
#define EACH(v, expression)                \
    for (unsigned k = 0; k < SEEDS; k++) { \
        tc_laws_enter(laws[k]);            \
        (v).el[k] = (expression);          \
    }

static struct value variable(unsigned number, long double real)
{
    struct value v = {.real = real};

    EACH(v, tc_el_apply(
                &(struct tc_function){
                    .fn = TC_FN_VARIABLE, .keys = {first_seed + k, 5}
    },
                tc_el_int((int64_t)number + 2)))
    return v;
}

static struct value number(int n, int d)
{
    struct value v = {.real = (long double)n / d};

    EACH(v, tc_el_mul(tc_el_int(n), tc_el_inv(tc_el_int(d))))
    return v;
}

static struct value minus_infinity(void)
{
    return (struct value){
        {TC_EL_MINUS, TC_EL_MINUS},
        -INFINITY
    };
}

static struct value add(struct value a, struct value b)
{
    struct value v = {.real = a.real + b.real};

    EACH(v, tc_el_add(a.el[k], b.el[k]))
    return v;
}

static struct value neg(struct value a)
{
    struct value v = {.real = -a.real};

    EACH(v, tc_el_neg(a.el[k]))
    return v;
}

static struct value sub(struct value a, struct value b)
{
    return add(a, neg(b));
}

static struct value mul(struct value a, struct value b)
{
    struct value v = {.real = a.real * b.real};

    EACH(v, tc_el_mul(a.el[k], b.el[k]))
    return v;
}

static struct value inv(struct value a)
{
    struct value v = {.real = 1 / a.real};

    EACH(v, tc_el_inv(a.el[k]))
    return v;
}

static struct value divide(struct value a, struct value b)
{
    return mul(a, inv(b));
}

static long double real_of(enum tc_fn fn, long double x)
{
    switch (fn) {
    case TC_FN_EXP:
        return expl(x);
    case TC_FN_LOG:
        return logl(x);
    case TC_FN_LOG1P:
        return log1pl(x);
    case TC_FN_SIGMOID:
        return 1 / (1 + expl(-x));
    case TC_FN_LOGSIGMOID:
        return -log1pl(expl(-x));
    default:
        return log1pl(expl(x)); /* softplus */
    }
}

static struct value apply(enum tc_fn fn, struct value a)
{
    struct value v = {.real = real_of(fn, a.real)};

    for (unsigned k = 0; k < SEEDS; k++) {
        struct tc_function f = function(k, fn);
        tc_laws_enter(laws[k]);
        v.el[k] = tc_el_apply(&f, a.el[k]);
    }
    return v;
}

static struct value highest(const struct value *p, size_t n)
{
    struct value v = {.real = -INFINITY};
    tc_el *els = tc_malloc((n + 1) * sizeof(*els));

    for (size_t i = 0; i < n; i++)
        v.real = p[i].real > v.real ? p[i].real : v.real;
    for (unsigned k = 0; k < SEEDS; k++) {
        for (size_t i = 0; i < n; i++)
            els[i] = p[i].el[k];
        tc_laws_enter(laws[k]);
        v.el[k] = tc_el_max_of(els, n, 1);
    }
    tc_free(els);
    return v;
}

static struct value higher(struct value a, struct value b)
{
    const struct value both[] = {a, b};

    return highest(both, 2);
}

static bool is_equal(struct value a, struct value b)
{
    for (unsigned k = 0; k < SEEDS; k++)
        if (!tc_el_agree(a.el[k], b.el[k]))
            return false;
    return true;
}

/* ---- what is known ------------------------------------------------------------------------- */

#define N 6

struct row {
    struct value s[N], c, third;
};

static struct row row(void)
{
    struct row r = {.third = number(1, 3)};

    for (unsigned i = 0; i < N; i++)
        r.s[i] = variable(i, 0.3L * i - 0.7L);
    return r;
}

/* exp(s - m), summed over [from, to). */
static struct value sum_of_exp(const struct value *s, unsigned from, unsigned to, struct value m)
{
    struct value sum = number(0, 1);

    for (unsigned i = from; i < to; i++)
        sum = add(sum, apply(TC_FN_EXP, sub(s[i], m)));
    return sum;
}

static struct value lse(const struct value *s, unsigned from, unsigned to)
{
    return apply(TC_FN_LOG, sum_of_exp(s, from, to, number(0, 1)));
}

static void check_merges(const struct row *r)
{
    struct value a = lse(r->s, 0, 3), b = lse(r->s, 3, N), all = lse(r->s, 0, N);
    struct value d = sub(b, a), high = higher(a, b);

    assert_true(is_equal(all, sub(a, apply(TC_FN_LOGSIGMOID, neg(d)))));
    assert_true(is_equal(all, add(a, apply(TC_FN_SOFTPLUS, d))));
    assert_true(is_equal(apply(TC_FN_EXP, sub(b, all)), apply(TC_FN_SIGMOID, d)));
    assert_true(is_equal(all, add(high, apply(TC_FN_LOG, add(apply(TC_FN_EXP, sub(a, high)),
                                                             apply(TC_FN_EXP, sub(b, high)))))));
}

static void check_shifts(const struct row *r)
{
    struct value m = highest(r->s, N), old = highest(r->s, 3);
    struct value new = higher(old, highest(r->s + 3, 3)), zero = number(0, 1);
    struct value whole = sum_of_exp(r->s, 0, N, zero), shifted = sum_of_exp(r->s, 0, N, m);
    struct value online = add(mul(sum_of_exp(r->s, 0, 3, old), apply(TC_FN_EXP, sub(old, new))),
                              sum_of_exp(r->s, 3, N, new));
    struct value masked[] = {minus_infinity(), r->s[1], minus_infinity()};

    assert_true(is_equal(divide(apply(TC_FN_EXP, r->s[0]), whole),
                         divide(apply(TC_FN_EXP, sub(r->s[0], m)), shifted)));
    assert_true(is_equal(lse(r->s, 0, N), add(m, apply(TC_FN_LOG, shifted))));
    assert_true(
        is_equal(sub(lse(r->s, 0, N), r->s[2]), sub(apply(TC_FN_LOG, shifted), sub(r->s[2], m))));
    assert_true(is_equal(online, sum_of_exp(r->s, 0, N, new)));
    assert_true(is_equal(
        divide(apply(TC_FN_EXP, mul(r->s[0], r->third)), apply(TC_FN_EXP, mul(m, r->third))),
        apply(TC_FN_EXP, mul(sub(r->s[0], m), r->third))));
    assert_true(is_equal(highest(masked, 3), r->s[1]));
    assert_false(is_equal(m, r->s[0]) && is_equal(m, r->s[1]));
}

static void check_logs(const struct row *r)
{
    struct value a = r->s[0], log_a = apply(TC_FN_LOG, a), exp_a = apply(TC_FN_EXP, a);

    assert_true(is_equal(apply(TC_FN_EXP, log_a), a));
    assert_true(is_equal(apply(TC_FN_EXP, neg(a)), inv(exp_a)));
    assert_true(is_equal(apply(TC_FN_LOG, inv(a)), neg(log_a)));
    assert_true(is_equal(apply(TC_FN_LOG1P, a), apply(TC_FN_LOG, add(a, number(1, 1)))));
    assert_true(is_equal(apply(TC_FN_EXP, minus_infinity()), number(0, 1)));
    assert_false(is_equal(exp_a, apply(TC_FN_EXP, r->s[1])));
    assert_false(is_equal(apply(TC_FN_EXP, sub(log_a, r->s[1])), a));
}

static void test_what_is_shifted_and_shifted_back_is_known(void **state)
{
    (void)state;
    for (enum tc_laws_mode mode = TC_LAWS_FREE; mode < TC_N_LAWS; mode++) {
        begin(mode, 3);
        struct row r = row();
        check_merges(&r);
        check_shifts(&r);
        check_logs(&r);
        end();
    }
}

/* The lower of two logs beside the higher: their sum is known if both are chosen by order. */
static void test_the_lower_of_two_logs_fits_the_higher(void **state)
{
    (void)state;
    for (enum tc_laws_mode mode = TC_LAWS_LOGS_ORDERED; mode < TC_N_LAWS; mode++) {
        begin(mode, 3);
        struct row r = row();
        struct value a = lse(r.s, 0, 3), b = lse(r.s, 3, N), high = higher(a, b), low;
        low = is_equal(high, a) ? b : a;
        for (unsigned k = 0; k < SEEDS; k++)
            low.el[k] = tc_el_compare(a.el[k], b.el[k]) < 0 ? a.el[k] : b.el[k];
        struct value back = apply(TC_FN_LOG1P, apply(TC_FN_EXP, sub(low, high)));
        assert_true(is_equal(lse(r.s, 0, N), add(high, back)));
        end();
    }
}

static void test_a_free_maximum_compares_as_the_highest(void **state)
{
    (void)state;
    begin(TC_LAWS_FREE, 3);
    struct row r = row();
    struct value m = highest(r.s, N);
    for (unsigned k = 0; k < SEEDS; k++) {
        unsigned equal = 0;
        for (unsigned i = 0; i < N; i++) {
            assert_true(tc_el_compare(m.el[k], r.s[i].el[k]) >= 0);
            equal += tc_el_compare(m.el[k], r.s[i].el[k]) == 0;
            assert_false(tc_el_same(m.el[k], r.s[i].el[k]));
        }
        assert_int_equal(equal, 1);
    }
    end();
}

/* ---- nothing is known that is wrong -------------------------------------------------------- */

#define POOL 400

struct pool {
    struct value items[POOL + 8];
    size_t n;
    uint64_t drawn;
};

static uint64_t draw(struct pool *p, uint64_t below)
{
    p->drawn = p->drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (p->drawn >> 33) % below;
}

static struct value pick(struct pool *p)
{
    return p->items[draw(p, p->n)];
}

static void keep(struct pool *p, struct value v)
{
    for (unsigned k = 0; k < SEEDS; k++)
        if (tc_el_is_marked(tc_el_plain(v.el[k])))
            return;
    if (isfinite((double)v.real) && fabsl(v.real) <= 30)
        p->items[p->n++] = v;
}

static bool is_far_from_0(struct value a)
{
    return fabsl(a.real) > 1e-3L && !is_equal(a, number(0, 1));
}

/* By order each evaluation may choose another one than the doubles do: not drawn there. */
static void grow(struct pool *p, bool is_free)
{
    struct value a = pick(p), b = pick(p), three[] = {a, b, pick(p)};

    switch (draw(p, 14)) {
    case 0:
        keep(p, add(a, b));
        break;
    case 1:
    case 2:
        keep(p, sub(a, b));
        break;
    case 3:
        keep(p, mul(a, b));
        break;
    case 4:
    case 5:
        keep(p, apply(TC_FN_EXP, a));
        break;
    case 6:
    case 7:
        if (a.real > 1e-3L)
            keep(p, apply(draw(p, 2) ? TC_FN_LOG : TC_FN_LOG1P, a));
        break;
    case 8:
    case 9:
        if (is_free)
            keep(p, highest(three, 2 + draw(p, 2)));
        break;
    case 10:
        keep(p, mul(a, number(1, 2 + (int)draw(p, 2))));
        break;
    case 11:
        keep(p, neg(a));
        break;
    case 12:
        if (is_far_from_0(a))
            keep(p, inv(a));
        break;
    default:
        if (tc_el_carries(a.el[0]))
            keep(p, apply(draw(p, 2) ? TC_FN_SIGMOID : TC_FN_LOGSIGMOID, a));
    }
}

static int by_element(const void *a_, const void *b_)
{
    const struct value *a = a_, *b = b_;
    tc_el x = tc_el_plain(a->el[0]), y = tc_el_plain(b->el[0]);

    if (x.re != y.re)
        return x.re < y.re ? -1 : 1;
    return (x.im > y.im) - (x.im < y.im);
}

/* How many are equal to the one before; fails where the doubles are not. */
static size_t check_classes(struct pool *p)
{
    size_t equal = 0;

    qsort(p->items, p->n, sizeof(*p->items), by_element);
    for (size_t i = 1; i < p->n; i++) {
        const struct value *a = &p->items[i - 1], *b = &p->items[i];
        if (!is_equal(*a, *b))
            continue;
        equal++;
        if (fabsl(a->real - b->real) > 1e-8L * (1 + fabsl(a->real)))
            fail_msg("taken for equal: %.12Lf and %.12Lf", a->real, b->real);
    }
    return equal;
}

static void test_what_is_taken_for_equal_is(void **state)
{
    size_t n = 0, equal = 0;

    (void)state;
    for (unsigned seed = 0; n < 1000000; seed++) {
        enum tc_laws_mode mode = TC_LAWS_FREE + seed % 3;
        struct pool p = {.drawn = seed};
        begin(mode, 1000 + seed);
        for (unsigned i = 0; i < 4; i++)
            keep(&p, variable(i, 0.2L + 0.45L * (draw(&p, 1000) / 1000.0L + i)));
        for (unsigned i = 0; i < POOL; i++)
            grow(&p, mode == TC_LAWS_FREE);
        n += p.n;
        equal += check_classes(&p);
        end();
    }
    assert_true(equal > n / 20); /* there was something to be wrong */
}

/* ---- one call changed ---------------------------------------------------------------------- */

/* The calls of a job that is split are counted; one of them is changed. */
static struct {
    unsigned calls, at, how;
} mutant;

static bool is_hit(void)
{
    return mutant.calls++ == mutant.at;
}

static struct value changed(enum tc_fn fn, struct value x)
{
    if (!is_hit())
        return apply(fn, x);
    if (mutant.how == 0)
        return mul(apply(fn, x), number(2, 1));
    if (mutant.how == 1)
        return fn == TC_FN_LOG ? add(apply(fn, x), number(1, 1)) : apply(fn, neg(x));
    return add(apply(fn, x), number(1, 1));
}

static struct value changed_highest(const struct value *p, size_t n)
{
    if (!is_hit())
        return highest(p, n);
    return mutant.how % 2 ? highest(p, n - 1) : highest(p + 1, n - 1);
}

#define RESULTS 4

/* A query with 2 x 3 keys, a token with 6 classes: an output, two weights, a loss. */
static void whole_job(const struct value *s, const struct value *v, struct value *to)
{
    struct value all = number(0, 1), out = all;

    for (unsigned i = 0; i < N; i++)
        all = add(all, apply(TC_FN_EXP, s[i]));
    for (unsigned i = 0; i < N; i++)
        out = add(out, mul(divide(apply(TC_FN_EXP, s[i]), all), v[i]));
    to[0] = out;
    to[1] = divide(apply(TC_FN_EXP, s[1]), all);
    to[2] = divide(apply(TC_FN_EXP, s[4]), all);
    to[3] = sub(apply(TC_FN_LOG, all), s[2]);
}

/* Attention online over two blocks, whose lse gives the weights; the loss with a shift. */
static void split_online(const struct value *s, const struct value *v, struct value *to)
{
    struct value m = minus_infinity(), sum = number(0, 1), out = sum;

    for (unsigned block = 0; block < N; block += 3) {
        struct value seen[] = {m, s[block], s[block + 1], s[block + 2]};
        struct value new = changed_highest(seen, 4);
        struct value scale = changed(TC_FN_EXP, sub(m, new));
        sum = mul(sum, scale);
        out = mul(out, scale);
        for (unsigned i = block; i < block + 3; i++) {
            struct value e = changed(TC_FN_EXP, sub(s[i], new));
            sum = add(sum, e);
            out = add(out, mul(e, v[i]));
        }
        m = new;
    }
    struct value log_sum = add(m, changed(TC_FN_LOG, sum));
    to[0] = divide(out, sum);
    to[1] = changed(TC_FN_EXP, sub(s[1], log_sum));
    to[2] = changed(TC_FN_EXP, sub(s[4], log_sum));
    to[3] = sub(changed(TC_FN_LOG, sum), sub(s[2], m));
}

/* Each block alone, merged as torch's ring attention does. */
static void split_merged(const struct value *s, const struct value *v, struct value *to)
{
    struct value outs[2], logs[2];

    for (unsigned b = 0; b < 2; b++) {
        struct value e[3], sum = number(0, 1), out = sum;
        for (unsigned i = 0; i < 3; i++) {
            e[i] = changed(TC_FN_EXP, s[3 * b + i]);
            sum = add(sum, e[i]);
            out = add(out, mul(e[i], v[3 * b + i]));
        }
        outs[b] = divide(out, sum);
        logs[b] = changed(TC_FN_LOG, sum);
    }
    struct value w = changed(TC_FN_SIGMOID, sub(logs[1], logs[0]));
    struct value all = sub(logs[0], changed(TC_FN_LOGSIGMOID, sub(logs[0], logs[1])));
    to[0] = sub(outs[0], mul(w, sub(outs[0], outs[1])));
    to[1] = changed(TC_FN_EXP, sub(s[1], all));
    to[2] = changed(TC_FN_EXP, sub(s[4], all));
    to[3] = sub(all, s[2]);
}

static bool differs(const struct value *a, const struct value *b, bool in_reals)
{
    for (unsigned i = 0; i < RESULTS; i++)
        if (in_reals ? !(fabsl(a[i].real - b[i].real) < 1e-9L) : !is_equal(a[i], b[i]))
            return true;
    return false;
}

typedef void job_fn(const struct value *s, const struct value *v, struct value *to);

struct counts {
    unsigned wrong, refuted;
};

static unsigned run_mutant(job_fn *job, unsigned at, unsigned how, struct counts *counts)
{
    struct value s[N], v[N], one[RESULTS], other[RESULTS];
    bool is_wrong = false, is_refuted;

    begin(TC_LAWS_FREE, 50);
    mutant.at = at;
    mutant.how = how;
    for (unsigned sample = 0; sample < 4; sample++) { /* the doubles: not all choose one maximum */
        for (unsigned i = 0; i < N; i++) {
            s[i] = variable(i, sinl(7.3L * i + 1.9L * sample));
            v[i] = variable(20 + i, cosl(3.1L * i + sample));
        }
        mutant.calls = 0;
        whole_job(s, v, one);
        job(s, v, other);
        is_wrong = is_wrong || differs(one, other, true);
    }
    is_refuted = differs(one, other, false);
    counts->wrong += is_wrong;
    counts->refuted += is_wrong && is_refuted;
    end();
    return mutant.calls;
}

static void test_a_changed_call_is_seen(void **state)
{
    job_fn *const jobs[] = {split_online, split_merged};

    (void)state;
    for (unsigned j = 0; j < 2; j++) {
        struct counts none = {0}, all = {0};
        unsigned calls = run_mutant(jobs[j], UINT32_MAX, 0, &none);
        assert_int_equal(none.wrong, 0);
        for (unsigned at = 0; at < calls; at++)
            for (unsigned how = 0; how < 3; how++)
                run_mutant(jobs[j], at, how, &all);
        assert_true(all.wrong > calls);
        assert_int_equal(all.refuted, all.wrong);
    }
}

/* The job itself is verified: the test of mutants would pass if everything were refuted. */
static void test_the_split_jobs_are_the_whole_one(void **state)
{
    struct value s[N], v[N], one[RESULTS], other[RESULTS];

    (void)state;
    for (enum tc_laws_mode mode = TC_LAWS_FREE; mode < TC_N_LAWS; mode++) {
        begin(mode, 60);
        mutant.at = UINT32_MAX;
        for (unsigned i = 0; i < N; i++) {
            s[i] = variable(i, 0.1L * i);
            v[i] = variable(20 + i, 1);
        }
        whole_job(s, v, one);
        split_online(s, v, other);
        assert_false(differs(one, other, false));
        split_merged(s, v, other);
        assert_false(differs(one, other, false));
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_shifted_and_shifted_back_is_known),
        cmocka_unit_test(test_the_lower_of_two_logs_fits_the_higher),
        cmocka_unit_test(test_a_free_maximum_compares_as_the_highest),
        cmocka_unit_test(test_what_is_taken_for_equal_is),
        cmocka_unit_test(test_the_split_jobs_are_the_whole_one),
        cmocka_unit_test(test_a_changed_call_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
