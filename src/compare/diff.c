/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.c - patience first, then Myers with a bound
 *
 * A diff works on a range of both sequences: equal ends are taken off, anchors cut what is left
 * into smaller ranges. All of it is safe for any numbers; nothing is kept between two calls.
 */
#include "compare/diff.h"

#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

/* Anchors are searched for in ranges within ranges, so deep. */
#define MAX_DEPTH 24
/* Edits after which the search takes what it has. Its table has the square of this. */
#define MAX_EDITS 192

struct diff {
    const uint32_t *a, *b;
    size_t *match;
};

struct range {
    size_t a, a_end, b, b_end;
};

/* ---- anchors ------------------------------------------------------------------------------- */

/* Where a number stands in a range, and how often, at most twice. */
struct occurrence {
    uint32_t n_a, n_b;
    size_t a, b;
};

struct anchor {
    size_t a, b;
    size_t before; /* the anchor before it in the longest chain, or TC_UNMATCHED */
};

struct anchors {
    struct anchor *items;
    size_t n, cap;
};

static void count_line(struct tc_map *map, uint32_t number, size_t place, bool is_a)
{
    struct occurrence *o = tc_map_struct(map, number, sizeof(*o));

    *(is_a ? &o->n_a : &o->n_b) += 1;
    *(is_a ? &o->a : &o->b) = place;
}

/* Numbers that occur once in both, in the order of a. */
static void find_anchors(const struct diff *d, struct range r, struct anchors *out)
{
    struct tc_map map = TC_MAP_INIT;
    uint64_t pointer;

    for (size_t i = r.a; i < r.a_end; i++)
        count_line(&map, d->a[i], i, true);
    for (size_t i = r.b; i < r.b_end; i++)
        if (tc_map_get(&map, d->b[i], &pointer))
            count_line(&map, d->b[i], i, false);
    for (size_t i = r.a; i < r.a_end; i++) {
        const struct occurrence *o = tc_map_struct(&map, d->a[i], sizeof(*o));
        const struct anchor anchor = {i, o->b, TC_UNMATCHED};
        if (o->n_a == 1 && o->n_b == 1)
            tc_vec_push(out, anchor);
    }
    tc_map_release_structs(&map);
}

/* The longest chain of anchors that rises in b (patience sorting); returns its last, and marks the
 * others by `before`. */
static size_t longest_chain(struct anchors *anchors)
{
    size_t *tops = tc_malloc(anchors->n * sizeof(*tops)), n_piles = 0, last;

    for (size_t i = 0; i < anchors->n; i++) {
        size_t low = 0, high = n_piles;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (anchors->items[tops[middle]].b < anchors->items[i].b)
                low = middle + 1;
            else
                high = middle;
        }
        anchors->items[i].before = low ? tops[low - 1] : TC_UNMATCHED;
        tops[low] = i;
        n_piles += low == n_piles;
    }
    last = tops[n_piles - 1];
    tc_free(tops);
    return last;
}

/* ---- the shortest edit --------------------------------------------------------------------- */

/* How far each diagonal of a - b reaches after so many edits, for all numbers of edits. */
struct reach {
    size_t *far; /* of d edits the 2 d + 1 diagonals from -d on, at d * d */
    size_t n_edits;
    ptrdiff_t diagonal; /* on which it ended */
};

static size_t *far_of(const struct reach *reach, size_t n_edits, ptrdiff_t diagonal)
{
    return &reach->far[n_edits * n_edits + (size_t)(diagonal + (ptrdiff_t)n_edits)];
}

/* Does the path with one edit more come to this diagonal by an item of a that is left out? */
static bool comes_from_a(const struct reach *reach, size_t n_edits, ptrdiff_t diagonal)
{
    const ptrdiff_t d = (ptrdiff_t)n_edits;

    if (diagonal == -d)
        return false;
    if (diagonal == d)
        return true;
    return *far_of(reach, n_edits - 1, diagonal - 1) >= *far_of(reach, n_edits - 1, diagonal + 1);
}

static size_t begin_of(const struct reach *reach, size_t n_edits, ptrdiff_t diagonal)
{
    if (n_edits == 0)
        return 0;
    return comes_from_a(reach, n_edits, diagonal) ? *far_of(reach, n_edits - 1, diagonal - 1) + 1
                                                  : *far_of(reach, n_edits - 1, diagonal + 1);
}

/* One diagonal with n_edits edits; true if it reaches both ends. */
static bool extend(const struct diff *d, struct range r, struct reach *reach, size_t n_edits,
                   ptrdiff_t diagonal)
{
    const size_t n_a = r.a_end - r.a, n_b = r.b_end - r.b;
    size_t x = begin_of(reach, n_edits, diagonal);
    size_t y = (size_t)((ptrdiff_t)x - diagonal);

    while (x < n_a && y < n_b && d->a[r.a + x] == d->b[r.b + y]) {
        x++;
        y++;
    }
    *far_of(reach, n_edits, diagonal) = x;
    return x >= n_a && y >= n_b;
}

/* The diagonal on which most was passed. Beyond an end nothing is. */
static ptrdiff_t furthest(const struct reach *reach, struct range r)
{
    const ptrdiff_t d = (ptrdiff_t)reach->n_edits;
    const size_t n_a = r.a_end - r.a, n_b = r.b_end - r.b;
    ptrdiff_t best = 0;
    size_t most = 0;

    for (ptrdiff_t k = -d; k <= d; k += 2) {
        size_t x = *far_of(reach, reach->n_edits, k), y = (size_t)((ptrdiff_t)x - k);
        if (x <= n_a && y <= n_b && x + y > most) {
            most = x + y;
            best = k;
        }
    }
    return best;
}

static void search(const struct diff *d, struct range r, struct reach *reach)
{
    for (reach->n_edits = 0;; reach->n_edits++) {
        const ptrdiff_t n = (ptrdiff_t)reach->n_edits;
        for (ptrdiff_t k = -n; k <= n; k += 2)
            if (extend(d, r, reach, reach->n_edits, k)) {
                reach->diagonal = k;
                return;
            }
        if (reach->n_edits == MAX_EDITS) {
            reach->diagonal = furthest(reach, r);
            return;
        }
    }
}

/* Back along the path: mark what it matches. Returns where the path ends, so that the rest can be
 * searched. */
static struct range mark(const struct diff *d, struct range r, const struct reach *reach)
{
    ptrdiff_t k = reach->diagonal;
    size_t end_x = *far_of(reach, reach->n_edits, k);
    struct range rest = {r.a + end_x, r.a_end, r.b + (size_t)((ptrdiff_t)end_x - k), r.b_end};

    for (size_t n = reach->n_edits;; n--) {
        size_t from = begin_of(reach, n, k);
        for (size_t x = *far_of(reach, n, k); x > from; x--)
            d->match[r.a + x - 1] = r.b + (size_t)((ptrdiff_t)(x - 1) - k);
        if (n == 0)
            return rest;
        k += comes_from_a(reach, n, k) ? -1 : 1;
    }
}

static void shortest_edit(const struct diff *d, struct range r)
{
    const size_t side = MAX_EDITS + 1;
    struct reach reach = {.far = tc_malloc(side * side * sizeof(*reach.far))};

    while (r.a < r.a_end && r.b < r.b_end) {
        search(d, r, &reach);
        r = mark(d, r, &reach);
    }
    tc_free(reach.far);
}

/* ---- ranges -------------------------------------------------------------------------------- */

static struct range without_equal_ends(const struct diff *d, struct range r)
{
    while (r.a < r.a_end && r.b < r.b_end && d->a[r.a] == d->b[r.b])
        d->match[r.a++] = r.b++;
    while (r.a < r.a_end && r.b < r.b_end && d->a[r.a_end - 1] == d->b[r.b_end - 1])
        d->match[--r.a_end] = --r.b_end;
    return r;
}

static void diff_range(const struct diff *d, struct range r, unsigned depth)
{
    struct anchors anchors = {0};

    r = without_equal_ends(d, r);
    if (r.a == r.a_end || r.b == r.b_end)
        return;
    if (depth < MAX_DEPTH)
        find_anchors(d, r, &anchors);
    if (!anchors.n) {
        shortest_edit(d, r);
        return;
    }
    for (size_t i = longest_chain(&anchors); i != TC_UNMATCHED; i = anchors.items[i].before) {
        const struct anchor *at = &anchors.items[i];
        d->match[at->a] = at->b;
        diff_range(d, (struct range){at->a + 1, r.a_end, at->b + 1, r.b_end}, depth + 1);
        r.a_end = at->a;
        r.b_end = at->b;
    }
    diff_range(d, r, depth + 1);
    tc_vec_release(&anchors);
}

void tc_diff(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b, size_t *match)
{
    const struct diff d = {a, b, match};

    for (size_t i = 0; i < n_a; i++)
        match[i] = TC_UNMATCHED;
    diff_range(&d, (struct range){0, n_a, 0, n_b}, 0);
}

void tc_diff_rest(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b, size_t *match)
{
    const struct diff d = {a, b, match};
    struct range r = {0, 0, 0, 0};

    for (size_t i = 0; i <= n_a; i++) {
        if (i < n_a && match[i] == TC_UNMATCHED)
            continue;
        const size_t next = i < n_a ? match[i] + 1 : n_b;
        r.a_end = i;
        r.b_end = i < n_a ? match[i] : n_b;
        diff_range(&d, r, 0);
        r.a = i + 1;
        r.b = next;
    }
}
