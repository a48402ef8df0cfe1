/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces.c - values whose elements are those of a single-device value, though they are no slice
 *
 * The rows of a micro-batch, every second token, a buffer of gathered shards. Elements are random
 * numbers of 122 bits, so two neighbours are known by their ratio, which a common factor leaves as
 * it is. The elements must then stand in the single-device value in their order; those that are all
 * there in another order are told apart.
 */
#include "plan/relate.h"

#include <string.h>

#include "base/hash.h"

#define MAX_ELEMENTS ((size_t)1 << 21) /* of all values that are known by their elements */

struct place {
    uint32_t value;
    size_t at;
    struct place *next; /* of another value with these neighbours */
};

static bool is_number(tc_el a)
{
    return !tc_el_is_marked(tc_el_plain(a)) && !tc_el_same(a, TC_EL_ZERO);
}

static bool is_pair(const tc_el *p, size_t i, size_t n)
{
    return i + 1 < n && is_number(p[i]) && is_number(p[i + 1]) && !tc_el_same(p[i], p[i + 1]);
}

/* The first element that is a number; n: none. */
static size_t first_number(const tc_el *p, size_t n)
{
    size_t i = 0;

    while (i < n && !is_number(p[i]))
        i++;
    return i;
}

/* The ratio of two elements as the key of a map; what it finds is compared in full. */
static uint64_t key_of_ratio(tc_el a, tc_el inverse)
{
    tc_el ratio = tc_el_mul(tc_el_plain(a), inverse);

    return tc_hash_mix(0, ratio.re, ratio.im);
}

/* ---- the index ----------------------------------------------------------------------------- */

static bool add_pairs(struct tc_index *index, const struct tc_known_value *v, uint32_t number)
{
    tc_el *inverse = tc_malloc((v->n + 1) * sizeof(*inverse));
    bool found = false;

    memcpy(inverse, v->p, v->n * sizeof(*inverse));
    tc_el_invert(inverse, v->n);
    for (size_t i = 0; i < v->n; i++) {
        if (!is_pair(v->p, i, v->n))
            continue;
        found = true;
        uint64_t key = key_of_ratio(v->p[i + 1], inverse[i]);
        uint64_t *list = tc_map_at(&index->pairs, key, &(bool){0});
        struct place *first = (struct place *)(uintptr_t)*list;
        if (first && first->value == number)
            continue;
        struct place *place = tc_arena_alloc(&index->arena, sizeof(*place));
        *place = (struct place){number, i, first};
        *list = (uintptr_t)place;
    }
    tc_free(inverse);
    return found;
}

void tc_pieces_add(struct tc_index *index, const tc_el *p, const struct tc_plan_tensor *t,
                   const char *name, uint32_t op)
{
    size_t n = (size_t)t->numel;
    struct tc_known_value v = {name, op, NULL, n, t->n_dims, false};

    if (!n || index->n_elements + n > MAX_ELEMENTS)
        return;
    index->n_elements += n;
    tc_el *copy = tc_arena_alloc(&index->arena, n * sizeof(*copy));
    memcpy(copy, p, n * sizeof(*copy));
    v.p = copy;
    v.has_pairs = add_pairs(index, &v, (uint32_t)index->values.n);
    tc_vec_push(&index->values, v);
}

/* ---- one block in one value ---------------------------------------------------------------- */

/* By which the single-device value is multiplied, and where the block's elements lie in it. */
struct fit {
    struct tc_known_value *value;
    tc_el inverse; /* of the factor */
    bool is_mixed;
};

static bool is_at(const struct fit *fit, tc_el a, size_t at)
{
    tc_el x = tc_el_plain(a);

    if (!tc_el_is_marked(x))
        x = tc_el_mul(x, fit->inverse);
    return tc_el_same(x, fit->value->p[at]);
}

/* The elements in their order. */
static bool follow_elements(const struct fit *fit, const struct tc_block *b)
{
    size_t at = 0;

    for (size_t i = 0; i < b->n; i++, at++) {
        while (at < fit->value->n && !is_at(fit, b->p[i], at))
            at++;
        if (at == fit->value->n)
            return false;
    }
    return true;
}

/* Every element is somewhere in the value. Each is looked for from the last one's place on, so few
 * long runs are found quickly; many short ones are given up. */
static bool is_somewhere(const struct fit *fit, const struct tc_block *b)
{
    size_t at = 0, n = fit->value->n, left = 256 * n;

    if (b->n > n)
        return false;
    for (size_t i = 0; i < b->n; i++, at++) {
        size_t tried = 0;
        while (tried < n && !is_at(fit, b->p[i], at % n)) {
            at++;
            tried++;
        }
        if (tried == n || tried > left)
            return false;
        left -= tried;
    }
    return true;
}

static bool is_same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "."), m = n + 1 + (a[n] ? strcspn(a + n + 1, "._") : 0);

    return a[n] && !strncmp(a, b, m) && (b[m] == '.' || b[m] == '_' || !b[m]);
}

static bool fits(struct fit *fit, const struct tc_block *b, const struct place *place, size_t i,
                 struct tc_index *index)
{
    tc_el factor;
    int64_t num, den;

    fit->value = &index->values.items[place->value];
    factor = tc_el_mul(tc_el_plain(b->p[i]), tc_el_inv(fit->value->p[place->at]));
    if (!tc_relate_ratio(factor, &num, &den))
        return false;
    fit->inverse = tc_el_inv(factor);
    fit->is_mixed = false;
    if (follow_elements(fit, b))
        return true;
    fit->is_mixed = true;
    return is_somewhere(fit, b);
}

/* A number, or many equal ones and zeros: those of an operator of the same name, up to a factor. */
static bool find_equal(struct tc_index *index, const struct tc_block *b, const char *name,
                       struct fit *fit)
{
    size_t i = first_number(b->p, b->n);
    int64_t num, den;

    for (size_t k = 0; k < index->values.n && i < b->n; k++) {
        struct tc_known_value *v = &index->values.items[k];
        size_t at = first_number(v->p, v->n);
        if (v->has_pairs || at == v->n || v->n < b->n || !is_same_name(v->name, name))
            continue;
        tc_el factor = tc_el_mul(tc_el_plain(b->p[i]), tc_el_inv(v->p[at]));
        *fit = (struct fit){v, tc_el_inv(factor), false};
        if (tc_relate_ratio(factor, &num, &den) && num > 0 && num <= 64 && den <= 64 &&
            follow_elements(fit, b))
            return true;
    }
    return false;
}

/* Of several values that hold the block, one of an operator of the same name, then one in order. */
static bool find_block(struct tc_index *index, const struct tc_block *b, const char *name,
                       struct fit *found)
{
    struct fit fit;
    uint64_t list;
    size_t i = 0;
    int best = -1;

    while (i < b->n && !is_pair(b->p, i, b->n))
        i++;
    if (i == b->n)
        return find_equal(index, b, name, found);
    if (!tc_map_get(&index->pairs, key_of_ratio(b->p[i + 1], tc_el_inv(tc_el_plain(b->p[i]))),
                    &list))
        return false;
    for (const struct place *p = (struct place *)(uintptr_t)list; p; p = p->next) {
        if (!fits(&fit, b, p, i, index))
            continue;
        int rank = 2 * !fit.is_mixed + is_same_name(fit.value->name, name);
        if (rank > best) {
            best = rank;
            *found = fit;
        }
    }
    return best >= 0;
}

/* ---- one block in several values ----------------------------------------------------------- */

#define MIN_RUN 2 /* elements: a single one may be anything */

/* How many elements from `i` on follow each other in the value from `at` on, times a factor. */
static size_t run_length(const struct fit *fit, const struct tc_block *b, size_t i, size_t at)
{
    size_t n = 0;

    while (i + n < b->n && at + n < fit->value->n && is_at(fit, b->p[i + n], at + n))
        n++;
    return n;
}

/* The longest run that begins with two neighbours; 0: none. Of equal ones that of an operator of
 * the same name, then one without a factor. inverse: of the factor of the runs before it, if there
 * are some. */
static size_t longest_run(struct tc_index *index, const struct tc_block *b, size_t i,
                          const char *name, const tc_el *inverse, struct fit *best)
{
    size_t most = 0;
    int best_rank = -1;
    uint64_t list;
    int64_t num = 1, den = 1;

    if (!is_pair(b->p, i, b->n) ||
        !tc_map_get(&index->pairs, key_of_ratio(b->p[i + 1], tc_el_inv(tc_el_plain(b->p[i]))),
                    &list))
        return 0;
    for (const struct place *p = (struct place *)(uintptr_t)list; p; p = p->next) {
        struct fit fit = {.value = &index->values.items[p->value]};
        tc_el factor = tc_el_mul(tc_el_plain(b->p[i]), tc_el_inv(fit.value->p[p->at]));
        fit.inverse = tc_el_inv(factor);
        if (inverse ? !tc_el_same(fit.inverse, *inverse) : !tc_relate_ratio(factor, &num, &den))
            continue;
        size_t n = run_length(&fit, b, i, p->at);
        int rank = 2 * is_same_name(fit.value->name, name) + (num == den);
        if (n > most || (n == most && rank > best_rank)) {
            most = n;
            best_rank = rank;
            *best = fit;
        }
    }
    return most;
}

/* All elements are in runs of single-device values with one factor; zeros pad. */
static bool is_joined(struct tc_index *index, const struct tc_block *b, const char *name,
                      struct fit *first)
{
    struct fit fit;
    bool has_first = first->value != NULL;

    for (size_t i = 0; i < b->n;) {
        if (tc_el_same(b->p[i], TC_EL_ZERO)) {
            i++;
            continue;
        }
        size_t n = longest_run(index, b, i, name, has_first ? &first->inverse : NULL, &fit);
        if (n < MIN_RUN)
            return false;
        if (!has_first)
            *first = fit;
        has_first = true;
        i += n;
    }
    return has_first;
}

static bool are_joined(struct tc_index *index, const struct tc_block *blocks, uint32_t n,
                       const char *name, struct fit *fit)
{
    *fit = (struct fit){0};
    for (uint32_t k = 0; k < n; k++)
        if (!is_joined(index, &blocks[k], name, fit))
            return false;
    return n > 0;
}

/* ---- the blocks of all ranks --------------------------------------------------------------- */

/* All blocks in one value with one factor. */
static bool find_all(struct tc_index *index, const struct tc_block *blocks, uint32_t n,
                     const char *name, struct fit *fit)
{
    bool is_mixed;

    if (!blocks[0].n || !find_block(index, &blocks[0], name, fit))
        return false;
    is_mixed = fit->is_mixed;
    for (uint32_t k = 1; k < n; k++) {
        bool in_order = follow_elements(fit, &blocks[k]);
        if (!in_order && !is_somewhere(fit, &blocks[k]))
            return false;
        is_mixed = is_mixed || !in_order;
    }
    fit->is_mixed = is_mixed;
    return true;
}

static uint32_t stride_of(const struct tc_grid *grid, unsigned axis)
{
    uint32_t stride = 1;

    for (unsigned a = axis + 1; a < grid->n_axes; a++)
        stride *= grid->sizes[a];
    return stride;
}

/* Blocks of the grid without an axis, along which they are summed; NULL if they do not fit. */
static struct tc_block *sum_axis(struct tc_arena *arena, const struct tc_grid *grid,
                                 const struct tc_block *blocks, unsigned axis)
{
    uint32_t stride = stride_of(grid, axis), size = grid->sizes[axis], n = 0;
    struct tc_block *sums = tc_arena_alloc(arena, grid->n * sizeof(*sums));

    for (uint32_t r = 0; r < grid->n; r++) {
        if (r / stride % size)
            continue;
        tc_el *p = tc_arena_alloc(arena, (blocks[r].n + 1) * sizeof(*p));
        memcpy(p, blocks[r].p, blocks[r].n * sizeof(*p));
        for (uint32_t k = 1; k < size; k++) {
            const struct tc_block *other = &blocks[r + k * stride];
            if (other->n != blocks[r].n)
                return NULL;
            for (size_t i = 0; i < other->n; i++)
                p[i] = tc_el_add(p[i], other->p[i]);
        }
        sums[n] = blocks[r];
        sums[n++].p = p;
    }
    return sums;
}

static bool differ_along(const struct tc_grid *grid, const struct tc_block *blocks, unsigned axis)
{
    uint32_t stride = stride_of(grid, axis), size = grid->sizes[axis];

    for (uint32_t r = 0; r < grid->n; r++) {
        const struct tc_block *first = &blocks[r - r / stride % size * stride];
        if (first->n != blocks[r].n)
            return true;
        for (size_t i = 0; i < first->n; i++)
            if (!tc_el_same(first->p[i], blocks[r].p[i]))
                return true;
    }
    return false;
}

static void set_found(const struct tc_index *index, const struct tc_grid *grid,
                      const struct tc_block *blocks, const struct fit *fit, int summed,
                      struct tc_related *found)
{
    *found = (struct tc_related){.is_found = true, .op = fit->value->op};
    for (unsigned a = 0; a < grid->n_axes; a++)
        found->axes[a] = (struct tc_placement){(int)a == summed                ? TC_PARTIAL
                                               : differ_along(grid, blocks, a) ? TC_PIECES
                                                                               : TC_REPLICATE,
                                               0, 1};
    tc_relate_ratio(tc_el_inv(fit->inverse), &found->num, &found->den);
    found->is_exact = found->num == 1 && found->den == 1;
    found->is_mixed = fit->is_mixed;
    found->value = (uint32_t)(fit->value - index->values.items);
    size_t n = blocks[0].n;
    for (unsigned a = 0; a < grid->n_axes; a++)
        n *= found->axes[a].kind == TC_PIECES ? grid->sizes[a] : 1;
    found->n = n;
    found->is_part = fit->value->has_pairs && n < fit->value->n;
}

/* In one value, or with `joined` in several. */
static bool find_blocks(struct tc_index *index, const struct tc_block *blocks, uint32_t n,
                        const char *name, bool joined, struct fit *fit)
{
    return joined ? are_joined(index, blocks, n, name, fit) : find_all(index, blocks, n, name, fit);
}

static bool relate(struct tc_index *index, const struct tc_grid *grid,
                   const struct tc_block *blocks, const char *name, bool joined,
                   struct tc_related *found)
{
    struct tc_arena arena = TC_ARENA_INIT;
    struct fit fit;
    bool is_found = find_blocks(index, blocks, grid->n, name, joined, &fit);

    if (is_found)
        set_found(index, grid, blocks, &fit, -1, found);
    for (unsigned a = 0; a < grid->n_axes && !is_found; a++) {
        const struct tc_block *sums = sum_axis(&arena, grid, blocks, a);
        is_found = sums && find_blocks(index, sums, grid->n / grid->sizes[a], name, joined, &fit);
        if (is_found)
            set_found(index, grid, blocks, &fit, (int)a, found);
    }
    found->is_joined = is_found && joined;
    found->is_part = found->is_part && !joined;
    tc_arena_release(&arena);
    return is_found;
}

bool tc_relate_pieces(struct tc_index *index, const struct tc_grid *grid,
                      const struct tc_block *blocks, const char *name, struct tc_related *found)
{
    return relate(index, grid, blocks, name, false, found) ||
           relate(index, grid, blocks, name, true, found);
}
