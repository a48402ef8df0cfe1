/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carry.c - elements that carry their exponential: maxima and logs, sums of them
 */
#include "plan/carry.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"

#define MOST 4 /* atoms that a value keeps apart */

/* A number, its exponential, and the inverse of that. */
struct power {
    tc_el value, exp, inverse;
};

/* What is known of a part of a value while it is made. */
struct sum {
    struct power log; /* exp(r) = R, and 1 / R; R = 1: there is none */
    bool is_log;      /* r is the sum of logs, and not of atoms for which there was no room */
    unsigned n;
    struct power atoms[MOST];
};

/* The same as it is kept: the log, the atoms, and all of it together if it is not just one. */
struct tail {
    uint8_t n;
    bool is_log;
    struct power parts[];
};

/* What the bits of a carrying element are the address of. The other half of the element says
 * whether it is the negative: evaluations make millions of them. */
struct record {
    tc_el value;
    const struct tail *tail;
    const tc_el *chosen; /* of a free maximum: the highest by order; else NULL */
};

/* Where the records of one thread lie. */
struct place {
    pthread_t thread;
    struct tc_arena arena;
};

struct tc_laws {
    enum tc_laws_mode mode;
    double spread; /* of doubles */
    struct tc_function exp, log, max;
    pthread_mutex_t lock;
    TC_VEC(struct place *) places; /* one for each thread that entered */
};

static _Thread_local struct {
    const struct tc_laws *laws;
    struct tc_arena *arena;
} here;

/* ---- laws ---------------------------------------------------------------------------------- */

struct tc_laws *tc_laws_new(enum tc_laws_mode mode, uint64_t seed)
{
    if (mode == TC_LAWS_NONE)
        return NULL;
    struct tc_laws *laws = tc_calloc(1, sizeof(*laws));
    laws->mode = mode;
    laws->exp = tc_function_make(seed, TC_FN_EXP, 0, 0, 0);
    laws->log = tc_function_make(seed, TC_FN_LOG, 0, 0, 0);
    laws->max = tc_function_make(seed, TC_FN_MAX, 0, 0, 0);
    pthread_mutex_init(&laws->lock, NULL);
    return laws;
}

struct tc_laws *tc_laws_new_doubles(enum tc_laws_mode mode, double spread)
{
    struct tc_laws *laws = tc_laws_new(mode, 0);

    laws->spread = spread;
    return laws;
}

void tc_laws_free(struct tc_laws *laws)
{
    if (!laws)
        return;
    for (size_t i = 0; i < laws->places.n; i++) {
        tc_arena_release(&laws->places.items[i]->arena);
        tc_free(laws->places.items[i]);
    }
    tc_vec_release(&laws->places);
    pthread_mutex_destroy(&laws->lock);
    tc_free(laws);
}

static struct place *place_of_thread(struct tc_laws *laws, pthread_t thread)
{
    for (size_t i = 0; i < laws->places.n; i++)
        if (pthread_equal(laws->places.items[i]->thread, thread))
            return laws->places.items[i];
    struct place *place = tc_calloc(1, sizeof(*place));
    place->thread = thread;
    tc_vec_push(&laws->places, place);
    return place;
}

void tc_laws_enter(struct tc_laws *laws)
{
    tc_el_spread = laws ? laws->spread : 0;
    tc_el_bends = laws && laws->mode == TC_LAWS_BENT;
    here.laws = laws && laws->mode < TC_N_LAWS ? laws : NULL;
    here.arena = NULL;
    if (!here.laws)
        return;
    pthread_mutex_lock(&laws->lock);
    here.arena = &place_of_thread(laws, pthread_self())->arena;
    pthread_mutex_unlock(&laws->lock);
}

/* ---- exp and log of plain elements --------------------------------------------------------- */

/* An order of elements as they are written. */
static bool is_below(tc_el a, tc_el b)
{
    return a.re != b.re ? a.re < b.re : a.im < b.im;
}

static bool is_one(tc_el a)
{
    return tc_el_same(a, TC_EL_ONE);
}

/* Of a value of E or of a log: its degree is that of a variable, or of what is carried. */
static tc_el inverse_of(tc_el a)
{
    a = tc_el_inv(a);
    tc_el_counts.inverses--;
    return a;
}

/* E(-x) = 1 / E(x), E(0) = 1. */
static struct power atom_of(tc_el x)
{
    tc_el minus = tc_el_neg(x), hash, inverse;

    if (tc_el_same(x, TC_EL_ZERO))
        return (struct power){x, TC_EL_ONE, TC_EL_ONE};
    hash = tc_el_hash(&here.laws->exp, is_below(x, minus) ? x : minus);
    inverse = inverse_of(hash);
    return is_below(x, minus) ? (struct power){x, hash, inverse} : (struct power){x, inverse, hash};
}

static tc_el exponential(tc_el x)
{
    tc_el minus = tc_el_neg(x);

    if (tc_el_same(x, TC_EL_ZERO))
        return TC_EL_ONE;
    if (is_below(x, minus))
        return tc_el_hash(&here.laws->exp, x);
    return inverse_of(tc_el_hash(&here.laws->exp, minus));
}

/* L(1 / R) = -L(R), L(1) = 0. */
static tc_el logarithm(tc_el R, tc_el inverse)
{
    if (is_one(R))
        return TC_EL_ZERO;
    if (is_below(R, inverse))
        return tc_el_hash(&here.laws->log, R);
    return tc_el_neg(tc_el_hash(&here.laws->log, inverse));
}

/* ---- records ------------------------------------------------------------------------------- */

static const struct record *record_of(tc_el a)
{
    return (const struct record *)(uintptr_t)(a.re & ~TC_MARK_CARRY);
}

static bool is_negative(tc_el a)
{
    return a.im;
}

tc_el tc_el_carried(tc_el a)
{
    tc_el value = record_of(a)->value;

    return is_negative(a) ? tc_el_neg(value) : value;
}

static struct power turned(struct power a)
{
    return (struct power){tc_el_neg(a.value), a.inverse, a.exp};
}

static tc_el carrying(tc_el value, const struct tail *tail, bool is_negative, const tc_el *chosen)
{
    struct record *record = tc_arena_alloc(here.arena, sizeof(*record));

    *record = (struct record){is_negative ? tc_el_neg(value) : value, tail, chosen};
    return (tc_el){TC_MARK_CARRY | (uintptr_t)record, is_negative};
}

/* The log is 0, the atoms follow; all of it together is part of_all(). */
static struct power part(tc_el a, unsigned i)
{
    struct power p = record_of(a)->tail->parts[i];

    return is_negative(a) ? turned(p) : p;
}

static bool has_log(const struct tail *tail)
{
    return !is_one(tail->parts[0].exp);
}

static bool is_one_part(unsigned n, bool has_log)
{
    return n + has_log < 2;
}

static struct power of_all(tc_el a)
{
    const struct tail *tail = record_of(a)->tail;

    return part(a, is_one_part(tail->n, has_log(tail)) ? tail->n : tail->n + 1u);
}

static struct sum opened(tc_el a)
{
    const struct tail *tail = record_of(a)->tail;
    struct sum sum = {.log = part(a, 0), .is_log = tail->is_log, .n = tail->n};

    for (unsigned i = 0; i < sum.n; i++)
        sum.atoms[i] = part(a, i + 1);
    return sum;
}

static struct power multiplied(struct power a, struct power b)
{
    return (struct power){tc_el_add(a.value, b.value), tc_el_mul(a.exp, b.exp),
                          tc_el_mul(a.inverse, b.inverse)};
}

static const struct tail *kept(const struct sum *sum)
{
    bool is_short = is_one_part(sum->n, !is_one(sum->log.exp));
    size_t n = sum->n + (is_short ? 1u : 2u);
    struct tail *tail = tc_arena_alloc(here.arena, sizeof(*tail) + n * sizeof(*tail->parts));
    struct power all = sum->log;

    tail->n = (uint8_t)sum->n;
    tail->is_log = sum->is_log;
    tail->parts[0] = sum->log;
    for (unsigned i = 0; i < sum->n; i++) {
        tail->parts[i + 1] = sum->atoms[i];
        all = multiplied(all, sum->atoms[i]);
    }
    if (!is_short)
        tail->parts[n - 1] = all;
    return tail;
}

/* What is carried may have cancelled. */
static tc_el made(tc_el value, const struct sum *sum)
{
    if (!sum->n && is_one(sum->log.exp))
        return value;
    return carrying(value, kept(sum), false, NULL);
}

static const struct power nothing = {
    {0, 0},
    {1, 0},
    {1, 0}
};

static tc_el with_atom(tc_el value, const tc_el *chosen)
{
    struct sum sum = {.log = nothing, .n = 1, .atoms = {atom_of(value)}};

    return carrying(value, kept(&sum), false, chosen);
}

/* ---- sums and products --------------------------------------------------------------------- */

/* An atom and its negative cancel; one for which there is no room is taken into R. */
static void add_atom(struct sum *sum, struct power a)
{
    tc_el minus = tc_el_neg(a.value);

    for (unsigned i = 0; i < sum->n; i++)
        if (tc_el_same(sum->atoms[i].value, minus)) {
            memmove(sum->atoms + i, sum->atoms + i + 1, (--sum->n - i) * sizeof(*sum->atoms));
            return;
        }
    if (sum->n == MOST) {
        sum->log = multiplied(sum->log, sum->atoms[0]);
        memmove(sum->atoms, sum->atoms + 1, --sum->n * sizeof(*sum->atoms));
    }
    sum->atoms[sum->n++] = a;
}

/* Atoms that meet a log are taken into it: b + a + log R = b + log(R * exp(a)). */
static tc_el meet_log(tc_el value, struct sum *sum)
{
    tc_el b = tc_el_sub(value, sum->log.value);

    for (unsigned i = 0; i < sum->n; i++) {
        b = tc_el_sub(b, sum->atoms[i].value);
        sum->log = multiplied(sum->log, sum->atoms[i]);
    }
    sum->n = 0;
    sum->log.value = logarithm(sum->log.exp, sum->log.inverse);
    sum->is_log = true;
    return made(tc_el_add(b, sum->log.value), sum);
}

tc_el tc_carry_add(tc_el a, tc_el b)
{
    tc_el value = tc_el_add(tc_el_plain(a), tc_el_plain(b));

    if (!here.laws)
        return value;
    if (!tc_el_carries(a) || !tc_el_carries(b)) {
        tc_el carries = tc_el_carries(a) ? a : b;
        return carrying(value, record_of(carries)->tail, is_negative(carries), NULL);
    }
    struct sum x = opened(a), y = opened(b), sum = x;
    sum.log = multiplied(x.log, y.log);
    sum.is_log = x.is_log || y.is_log;
    for (unsigned i = 0; i < y.n; i++)
        add_atom(&sum, y.atoms[i]);
    if (!sum.is_log)
        return made(value, &sum);
    if (sum.n || (x.is_log != y.is_log && !is_one(x.log.exp) && !is_one(y.log.exp)))
        return meet_log(value, &sum);
    if (is_one(sum.log.exp)) /* the logs cancel: what is left of them is 0 */
        return tc_el_sub(value, sum.log.value);
    return made(value, &sum);
}

tc_el tc_carry_neg(tc_el a)
{
    return here.laws ? (tc_el){a.re, !a.im} : tc_el_neg(tc_el_carried(a));
}

static tc_el scaled(tc_el value, tc_el a, tc_el by)
{
    struct sum to = opened(a);

    for (unsigned i = 0; i < to.n; i++)
        to.atoms[i] = atom_of(tc_el_mul(to.atoms[i].value, by));
    to.log = nothing;
    to.is_log = false;
    return made(value, &to);
}

/* By a number: 1 and -1 leave all that is known, others the atoms. */
tc_el tc_carry_mul(tc_el a, tc_el b)
{
    tc_el carries = tc_el_carries(a) ? a : b, by = tc_el_carries(a) ? b : a;
    tc_el value = tc_field_mul(tc_el_plain(a), tc_el_plain(b));

    if (!here.laws || tc_el_carries(by) || !tc_el_is_real(by) || tc_el_same(by, TC_EL_ZERO))
        return value;
    if (is_one(by))
        return carries;
    if (tc_el_same(by, tc_el_int(-1)))
        return tc_carry_neg(carries);
    return has_log(record_of(carries)->tail) ? value : scaled(value, carries, by);
}

/* ---- functions ----------------------------------------------------------------------------- */

static tc_el law_exp(tc_el x)
{
    tc_el value = tc_el_plain(x);

    if (tc_el_is_marked(value))
        return tc_el_same(value, TC_EL_MINUS) ? TC_EL_ZERO : value;
    if (!tc_el_carries(x))
        return exponential(value);
    struct power all = of_all(x);
    return tc_el_mul(exponential(tc_el_sub(value, all.value)), all.exp);
}

static tc_el law_log(tc_el y)
{
    tc_el R = tc_el_plain(y), inverse;

    if (tc_el_is_marked(R))
        return tc_el_same(R, TC_EL_PLUS) ? R : TC_EL_UNDEF;
    if (tc_el_same(R, TC_EL_ZERO))
        return TC_EL_MINUS;
    inverse = inverse_of(R);
    struct sum sum = {
        .log = {logarithm(R, inverse), R, inverse},
          .is_log = true
    };
    return made(sum.log.value, &sum);
}

/* log(1 + exp(x)) */
static tc_el law_softplus(tc_el x)
{
    return law_log(tc_el_add(TC_EL_ONE, law_exp(x)));
}

bool tc_carry_apply(enum tc_fn fn, double a, tc_el x, tc_el *y)
{
    bool is_known = here.laws && (tc_el_carries(x) || tc_el_is_marked(tc_el_plain(x)));

    if (!here.laws || tc_el_is_undefined(x))
        return false;
    if (fn == TC_FN_EXP)
        *y = law_exp(x);
    else if (fn == TC_FN_LOG || fn == TC_FN_LOG1P)
        *y = law_log(fn == TC_FN_LOG ? x : tc_el_add(TC_EL_ONE, tc_el_plain(x)));
    else if (fn == TC_FN_SIGMOID && is_known)
        *y = tc_el_inv(tc_el_add(TC_EL_ONE, law_exp(tc_el_neg(x))));
    else if (fn == TC_FN_LOGSIGMOID && is_known)
        *y = tc_el_neg(law_softplus(tc_el_neg(x)));
    else if (fn == TC_FN_SOFTPLUS && a == 1 && is_known)
        *y = law_softplus(x);
    else
        return false;
    return true;
}

/* ---- maxima -------------------------------------------------------------------------------- */

tc_el tc_carry_key(tc_el a)
{
    if (tc_el_carries(a) && !is_negative(a) && record_of(a)->chosen)
        return *record_of(a)->chosen;
    return tc_el_plain(a);
}

/* By order: it carries itself, if nothing else. */
static tc_el shift(tc_el m)
{
    if (!here.laws || tc_el_is_marked(m) || tc_el_same(m, TC_EL_ZERO))
        return m;
    return with_atom(m, NULL);
}

static int by_bits(const void *a_, const void *b_)
{
    const tc_el a = *(const tc_el *)a_, b = *(const tc_el *)b_;

    return is_below(b, a) - is_below(a, b);
}

/* The different values but for -inf, in order; *one: the place of one of them. SIZE_MAX: some is
 * no number, or a log of which the highest is taken by order. */
static size_t distinct(const tc_el *p, size_t n, size_t step, tc_el *to, size_t *one)
{
    size_t found = 0, count = 0;

    for (size_t i = 0; i < n; i++) {
        bool is_log = tc_el_carries(p[i * step]) && record_of(p[i * step])->tail->is_log;
        tc_el value = tc_el_plain(p[i * step]);
        if (tc_el_same(value, TC_EL_MINUS))
            continue;
        if (tc_el_is_marked(value) || (here.laws->mode == TC_LAWS_LOGS_ORDERED && is_log))
            return SIZE_MAX;
        to[found++] = value;
        *one = i * step;
    }
    if (found > 1)
        qsort(to, found, sizeof(*to), by_bits);
    for (size_t i = 0; i < found; i++)
        if (!count || !tc_el_same(to[count - 1], to[i]))
            to[count++] = to[i];
    return count;
}

/* A variable that the set of values alone decides. */
static tc_el free_maximum(const tc_el *values, size_t n, tc_el highest)
{
    tc_el *chosen = tc_arena_alloc(here.arena, sizeof(*chosen)), m = values[0];

    *chosen = tc_carry_key(highest);
    for (size_t i = 1; i < n; i++)
        m = tc_el_apply2(&here.laws->max, m, values[i]);
    return with_atom(m, chosen);
}

tc_el tc_el_max_of(const tc_el *p, size_t n, size_t step)
{
    tc_el best = n ? p[0] : TC_EL_UNDEF, *values;
    size_t count = SIZE_MAX, one = 0;

    for (size_t i = 1; i < n; i++)
        if (tc_el_compare(p[i * step], best) > 0)
            best = p[i * step];
    if (!here.laws || here.laws->mode == TC_LAWS_ORDERED || !n)
        return shift(best);
    values = tc_malloc(n * sizeof(*values));
    count = distinct(p, n, step, values, &one);
    if (count == 1)
        best = p[one];
    else if (count > 1)
        best = count == SIZE_MAX ? shift(best) : free_maximum(values, count, best);
    tc_free(values);
    return best;
}

/* ---- results ------------------------------------------------------------------------------- */

static bool is_log_alone(tc_el a)
{
    const struct tail *tail = tc_el_carries(a) ? record_of(a)->tail : NULL;

    return tail && tail->is_log && !tail->n;
}

/* Doubles that differ by rounding, and not by a factor of 1 + eps of some layer. */
static bool agree_as_doubles(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-13;
}

bool tc_el_agree(tc_el a, tc_el b)
{
    if (tc_el_same(a, b))
        return true;
    if (tc_el_is_double(a) || tc_el_is_double(b))
        return agree_as_doubles(tc_el_to_double(a), tc_el_to_double(b));
    if (!is_log_alone(a) || !is_log_alone(b))
        return false;
    struct power x = part(a, 0), y = part(b, 0);
    return tc_el_same(x.exp, y.exp) &&
           tc_el_same(tc_el_sub(tc_el_plain(a), x.value), tc_el_sub(tc_el_plain(b), y.value));
}
