/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closeness.c - how far apart the values of two runs are, window by window
 */
#include "compare/closeness.h"

#include <math.h>

/* Limits as powers of two. */
#define LIMIT_F32  (-18)
#define LIMIT_F16  (-9)
#define LIMIT_BF16 (-6)

/* ---- two leaves ---------------------------------------------------------------------------- */

static int limit_of(const struct tc_leaf *leaf)
{
    const struct tc_str dtype = tc_value_str(tc_value_get(leaf->of, "dtype"));

    return tc_str_is(dtype, "bfloat16")  ? LIMIT_BF16
           : tc_str_is(dtype, "float16") ? LIMIT_F16
                                         : LIMIT_F32;
}

bool tc_sketch_read(const struct tc_value *sketch, double *out)
{
    if (!sketch || sketch->kind != TC_VALUE_ARRAY || sketch->n != TC_N_SKETCH)
        return false;
    for (uint32_t i = 0; i < TC_N_SKETCH; i++)
        if (!tc_value_number(&sketch->items[i], &out[i]))
            return false;
    return true;
}

static bool is_digest(const struct tc_leaf *leaf)
{
    return leaf->value == tc_value_get(leaf->of, "digest") ||
           leaf->value == tc_value_get(leaf->of, "data");
}

/* By hypot, as squares of large numbers are no doubles. */
double tc_sketch_distance(const double *x, const double *y)
{
    double distance = 0;
    const double norm = fmax(x[0], y[0]);

    for (int i = 1; i < TC_N_SKETCH; i++)
        distance = hypot(distance, x[i] - y[i]);
    return norm > 0 ? distance / 2 / norm : 0;
}

static double distance_of_numbers(double x, double y)
{
    const double most = fmax(fabs(x), fabs(y));

    return most > 0 ? fabs(x - y) / most : 0;
}

bool tc_leaf_distance(const struct tc_leaf *a, const struct tc_leaf *b, struct tc_distance *out)
{
    double x[TC_N_SKETCH], y[TC_N_SKETCH];

    out->limit = limit_of(a) > limit_of(b) ? limit_of(a) : limit_of(b);
    if (tc_sketch_read(tc_value_get(a->of, "sketch"), x) &&
        tc_sketch_read(tc_value_get(b->of, "sketch"), y)) {
        out->relative = tc_sketch_distance(x, y);
        return is_digest(a) && is_digest(b) && isfinite(out->relative);
    }
    if (!tc_value_number(a->value, x) || !tc_value_number(b->value, y))
        return false;
    out->relative = distance_of_numbers(*x, *y);
    return isfinite(out->relative);
}

/* ---- a window ------------------------------------------------------------------------------ */

/* counts[i] is of those from 2^(i - LEAST) on; the first has what is below, too. */
static size_t bin_of(double relative)
{
    const int exponent = relative > 0 ? ilogb(relative) : -TC_CLOSENESS_LEAST;

    return exponent <= -TC_CLOSENESS_LEAST ? 0
           : exponent > 1                  ? TC_CLOSENESS_LEAST + 1
                                           : (size_t)(exponent + TC_CLOSENESS_LEAST);
}

void tc_closeness_note(struct tc_closeness *c, const struct tc_closeness_place *place,
                       const struct tc_leaf *a, const struct tc_leaf *b)
{
    struct tc_distance distance;

    if (!tc_leaf_distance(a, b, &distance)) {
        c->n_unknown++;
        return;
    }
    c->is_known = true;
    if (!c->limit || distance.limit > c->limit)
        c->limit = distance.limit;
    if (!c->has_first_far && distance.relative >= ldexp(1, c->limit)) {
        c->has_first_far = true;
        c->first_far = *place;
    }
    c->worst = fmax(c->worst, distance.relative);
    c->counts[bin_of(distance.relative)]++;
    c->n++;
}

/* The power of two that half of the values are beyond. */
static int median(const struct tc_closeness *c)
{
    uint64_t n_beyond = c->n;
    int i = 0;

    while (i < TC_CLOSENESS_LEAST + 1 && 2 * (n_beyond - c->counts[i]) >= c->n)
        n_beyond -= c->counts[i++];
    return i - TC_CLOSENESS_LEAST;
}

/* ---- the course ---------------------------------------------------------------------------- */

static void merge(struct tc_closeness_entry *out, const struct tc_closeness_entry *other)
{
    out->typical = fmax(out->typical, other->typical);
    out->worst = fmax(out->worst, other->worst);
    out->n_windows += other->n_windows;
}

static void halve(struct tc_closeness *c)
{
    for (size_t i = 0; i < TC_CLOSENESS_ENTRIES / 2; i++) {
        c->entries[i] = c->entries[2 * i];
        merge(&c->entries[i], &c->entries[2 * i + 1]);
    }
    c->n_entries = TC_CLOSENESS_ENTRIES / 2;
    c->per_entry *= 2;
}

static void keep(struct tc_closeness *c, int64_t step, int typical)
{
    const struct tc_closeness_entry entry = {step, ldexp(1, typical), c->worst, 1};

    if (!c->per_entry)
        c->per_entry = 1;
    if (c->n_entries && c->entries[c->n_entries - 1].n_windows < c->per_entry) {
        merge(&c->entries[c->n_entries - 1], &entry);
        return;
    }
    if (c->n_entries == TC_CLOSENESS_ENTRIES)
        halve(c);
    c->entries[c->n_entries++] = entry;
}

static void take_far(struct tc_closeness *c, int64_t step)
{
    if (c->is_far && c->far.step <= step)
        return;
    c->is_far = true;
    c->far = c->first_far;
    c->far.step = step;
    c->near_until = step - 1;
}

static void clear_window(struct tc_closeness *c)
{
    c->n = c->n_unknown = 0;
    c->worst = 0;
    c->has_first_far = false;
    for (size_t i = 0; i < sizeof(c->counts) / sizeof(*c->counts); i++)
        c->counts[i] = 0;
}

void tc_closeness_close(struct tc_closeness *c, int64_t step)
{
    const int typical = median(c);

    if (c->n)
        keep(c, step, typical);
    if (c->n && typical >= c->limit)
        take_far(c, step);
    else if (!c->is_far && step > c->near_until && (c->n || !c->n_unknown))
        c->near_until = step;
    clear_window(c);
}
