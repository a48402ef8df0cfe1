/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relate.c - how values of ranks relate to values of the single-device job
 */
#include "plan/relate.h"

#include <string.h>

#include "base/hash.h"

#define MAX_RATIO        4096
#define MAX_ATTEMPTS     256
#define MAX_SCALAR_RATIO 16
#define SAMPLE           8

/* ---- values up to a factor ----------------------------------------------------------------- */

/* A value up to a factor. A single number is itself: up to a factor all are equal. */
struct form {
    const tc_el *p;
    size_t n, first;      /* of the elements that are not 0 */
    tc_el scale, inverse; /* the first, and what to multiply by */
};

static bool find_form(const tc_el *p, size_t n, struct form *f)
{
    *f = (struct form){p, n, 0, TC_EL_ONE, TC_EL_ONE};
    while (f->first < n &&
           (tc_el_is_marked(tc_el_plain(p[f->first])) || tc_el_same(p[f->first], TC_EL_ZERO)))
        f->first++;
    if (f->first == n)
        return false;
    if (n > 1) {
        f->scale = tc_el_plain(p[f->first]);
        f->inverse = tc_el_inv(f->scale);
    }
    return true;
}

static uint64_t hash_elements(const struct form *f, size_t from, size_t to)
{
    uint64_t key = f->n;

    for (size_t i = from; i < to; i++) {
        tc_el x = tc_el_mul(tc_el_plain(f->p[i]), f->inverse);
        key = tc_hash_mix(key ^ i, x.re, x.im);
    }
    return key;
}

static uint64_t hash_whole(const struct form *f)
{
    return hash_elements(f, 0, f->n);
}

/* Nearly all that is looked up is unknown, which a few elements tell. */
static uint64_t hash_sample(const struct form *f)
{
    return hash_elements(f, f->first, f->n - f->first > SAMPLE ? f->first + SAMPLE : f->n);
}

uint32_t tc_index_add(struct tc_index *index, const tc_el *p, const struct tc_plan_tensor *t,
                      const char *name, uint32_t op)
{
    size_t n = (size_t)t->numel;
    struct tc_known *k;
    struct form f;

    if (!find_form(p, n, &f))
        return op;
    uint64_t *list = tc_map_at(&index->known, hash_whole(&f), &(bool){0});
    for (k = (struct tc_known *)(uintptr_t)*list; k; k = k->next)
        if (tc_el_same(k->scale, f.scale))
            return k->op;
    tc_map_put(&index->samples, hash_sample(&f), 1);
    k = tc_arena_alloc(&index->arena, sizeof(*k));
    *k = (struct tc_known){op, f.scale, (struct tc_known *)(uintptr_t)*list};
    *list = (uintptr_t)k;
    tc_pieces_add(index, p, t, name, op);
    return op;
}

void tc_index_release(struct tc_index *index)
{
    tc_map_release(&index->known);
    tc_map_release(&index->samples);
    tc_map_release(&index->pairs);
    tc_vec_release(&index->values);
    tc_arena_release(&index->arena);
}

bool tc_relate_ratio(tc_el v, int64_t *num, int64_t *den)
{
    for (int64_t d = 1; d <= MAX_RATIO && tc_el_is_real(v); d++) {
        int64_t n = tc_el_to_int(tc_el_mul(v, tc_el_int(d)));
        if (n >= -MAX_RATIO && n <= MAX_RATIO) {
            *num = n;
            *den = d;
            return true;
        }
    }
    return false;
}

static bool are_reducible(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a > 1;
}

/* One number is known by its contents. So is a multiple of it by a small ratio, as a norm of
 * gradients that are all twice too large; but of whole numbers all are multiples. */
static bool look_up_multiple(const struct tc_index *index, tc_el v, struct tc_related *r)
{
    uint64_t list;
    struct form f;

    if (tc_el_is_marked(tc_el_plain(v)) || tc_relate_ratio(tc_el_plain(v), &r->num, &r->den))
        return false;
    for (int64_t size = 3; size <= 2 * MAX_SCALAR_RATIO; size++)
        for (int64_t den = 1; den < size; den++) {
            int64_t num = size - den;
            if (num > MAX_SCALAR_RATIO || den > MAX_SCALAR_RATIO || are_reducible(num, den))
                continue;
            tc_el ratio = tc_el_mul(tc_el_int(den), tc_el_inv(tc_el_int(num)));
            tc_el one = tc_el_mul(tc_el_plain(v), ratio);
            if (!find_form(&one, 1, &f) || !tc_map_get(&index->known, hash_whole(&f), &list))
                continue;
            r->num = num;
            r->den = den;
            r->op = ((struct tc_known *)(uintptr_t)list)->op;
            return true;
        }
    return false;
}

/* Of several single values the one with the simplest factor. */
static bool look_up(const struct tc_index *index, const tc_el *p, size_t n, struct tc_related *r)
{
    uint64_t list;
    struct form f;
    int64_t num, den, best = INT64_MAX;

    if (!find_form(p, n, &f))
        return false;
    if (!tc_map_get(&index->samples, hash_sample(&f), &list) ||
        !tc_map_get(&index->known, hash_whole(&f), &list))
        return n == 1 && look_up_multiple(index, p[0], r);
    for (const struct tc_known *k = (struct tc_known *)(uintptr_t)list; k; k = k->next) {
        if (!tc_relate_ratio(tc_el_mul(f.scale, tc_el_inv(k->scale)), &num, &den))
            continue;
        int64_t size = den + (num < 0 ? -num : num);
        if (size < best) {
            best = size;
            r->num = num;
            r->den = den;
            r->op = k->op;
        }
    }
    r->is_exact = r->num == 1 && r->den == 1 && best != INT64_MAX;
    return best != INT64_MAX;
}

/* ---- putting parts together ---------------------------------------------------------------- */

struct search {
    const struct tc_index *index;
    const struct tc_grid *grid;
    struct tc_arena arena;
    struct tc_related *found;
    unsigned attempts;
};

static size_t count_block(const struct tc_block *b, unsigned from, unsigned to)
{
    size_t n = 1;

    for (unsigned d = from; d < to; d++)
        n *= (size_t)b->sizes[d];
    return n;
}

static bool is_same(const struct tc_block *a, const struct tc_block *b)
{
    size_t n = count_block(a, 0, a->n_dims);

    if (n != count_block(b, 0, b->n_dims))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!tc_el_same(a->p[i], b->p[i]))
            return false;
    return true;
}

static bool sum_blocks(struct search *s, const struct tc_block *const *parts, uint32_t n,
                       struct tc_block *to)
{
    size_t numel = count_block(parts[0], 0, parts[0]->n_dims);
    tc_el *p = tc_arena_alloc(&s->arena, (numel + 1) * sizeof(*p));

    *to = *parts[0];
    memcpy(p, parts[0]->p, numel * sizeof(*p));
    for (uint32_t k = 1; k < n; k++) {
        if (count_block(parts[k], 0, parts[k]->n_dims) != numel)
            return false;
        for (size_t i = 0; i < numel; i++)
            p[i] = tc_el_add(p[i], parts[k]->p[i]);
    }
    to->p = p;
    return true;
}

static bool are_alike_but(unsigned dim, const struct tc_block *a, const struct tc_block *b)
{
    for (unsigned d = 0; d < a->n_dims; d++)
        if (d != dim && a->sizes[d] != b->sizes[d])
            return false;
    return a->n_dims == b->n_dims && dim < a->n_dims;
}

/* Slices of dimension `dim`; with split, of each of so many blocks of it. */
static bool join_blocks(struct search *s, const struct tc_block *const *parts, uint32_t n,
                        struct tc_placement how, struct tc_block *to)
{
    unsigned d = how.dim;
    size_t outer = count_block(parts[0], 0, d) * how.split, whole = 0, at = 0;

    *to = *parts[0];
    to->sizes[d] = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (!are_alike_but(d, parts[0], parts[k]) || parts[k]->sizes[d] % how.split)
            return false;
        to->sizes[d] += parts[k]->sizes[d];
        whole += count_block(parts[k], 0, parts[k]->n_dims);
    }
    tc_el *p = tc_arena_alloc(&s->arena, (whole + 1) * sizeof(*p));
    size_t row = outer ? whole / outer : 0;
    for (uint32_t k = 0; k < n; k++) {
        const struct tc_block *b = parts[how.kind == TC_REVERSED ? n - 1 - k : k];
        size_t part = outer ? count_block(b, 0, b->n_dims) / outer : 0;
        for (size_t o = 0; o < outer; o++)
            memcpy(p + o * row + at, b->p + o * part, part * sizeof(*p));
        at += part;
    }
    to->p = p;
    return true;
}

static bool try_axis(struct search *s, unsigned axis, const struct tc_block *blocks);

/* Each line of blocks along the axis becomes one block. */
static bool put_together(struct search *s, unsigned axis, const struct tc_block *blocks,
                         uint32_t n_lines, struct tc_placement how)
{
    uint32_t size = s->grid->sizes[axis];
    struct tc_arena_mark mark = tc_arena_mark(&s->arena);
    struct tc_block *joined = tc_arena_alloc(&s->arena, n_lines * sizeof(*joined));
    const struct tc_block **parts = tc_arena_alloc(&s->arena, size * sizeof(*parts));
    bool fits = true, found = false;

    for (uint32_t l = 0; l < n_lines && fits; l++) {
        for (uint32_t k = 0; k < size; k++)
            parts[k] = &blocks[l * size + k];
        if (how.kind == TC_REPLICATE)
            joined[l] = *parts[0];
        else if (how.kind == TC_PARTIAL)
            fits = sum_blocks(s, parts, size, &joined[l]);
        else
            fits = join_blocks(s, parts, size, how, &joined[l]);
    }
    s->found->axes[axis] = how;
    if (fits)
        found = try_axis(s, axis, joined);
    tc_arena_rewind(&s->arena, mark);
    return found;
}

static bool are_copies(const struct tc_block *blocks, uint32_t n_lines, uint32_t size)
{
    for (uint32_t l = 0; l < n_lines; l++)
        for (uint32_t k = 1; k < size; k++)
            if (!is_same(&blocks[l * size], &blocks[l * size + k]))
                return false;
    return true;
}

/* axis: how many axes are left. All is tried, the simplest first. */
static bool try_axis(struct search *s, unsigned axis, const struct tc_block *blocks)
{
    uint32_t n_lines = 1;

    if (axis == 0)
        return s->attempts++ < MAX_ATTEMPTS &&
               look_up(s->index, blocks[0].p, count_block(&blocks[0], 0, blocks[0].n_dims),
                       s->found);
    axis--;
    for (unsigned a = 0; a < axis; a++)
        n_lines *= s->grid->sizes[a];
    if (are_copies(blocks, n_lines, s->grid->sizes[axis]) &&
        put_together(s, axis, blocks, n_lines, (struct tc_placement){TC_REPLICATE, 0, 1}))
        return true;
    if (put_together(s, axis, blocks, n_lines, (struct tc_placement){TC_PARTIAL, 0, 1}))
        return true;
    for (int kind = TC_SHARD; kind <= TC_REVERSED; kind++)
        for (unsigned d = 0; d < blocks[0].n_dims; d++) {
            unsigned most = kind == TC_STRIDED ? (unsigned)blocks[0].sizes[d] : 2;
            for (unsigned split = kind == TC_STRIDED ? 2 : 1; split < most && split < 16; split++)
                if (put_together(s, axis, blocks, n_lines, (struct tc_placement){kind, d, split}))
                    return true;
        }
    return false;
}

static bool is_all_zero(const struct tc_part *parts, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++)
        for (int64_t i = 0; i < parts[r].t->numel; i++)
            if (!tc_el_same(parts[r].p[i], TC_EL_ZERO))
                return false;
    return true;
}

struct tc_related tc_relate(struct tc_index *index, const struct tc_grid *grid,
                            const struct tc_part *parts, const struct tc_plan_op *op)
{
    struct tc_related found = {.num = 1, .den = 1};
    struct search s = {.index = index, .grid = grid, .found = &found};

    if (is_all_zero(parts, grid->n))
        return (struct tc_related){
            .is_found = true, .is_zero = true, .is_exact = true, .num = 1, .den = 1};
    struct tc_block *blocks = tc_arena_alloc(&s.arena, grid->n * sizeof(*blocks));
    for (uint32_t r = 0; r < grid->n; r++) {
        blocks[r] = (struct tc_block){
            .p = parts[r].p, .n_dims = parts[r].t->n_dims, .n = (size_t)parts[r].t->numel};
        for (unsigned d = 0; d < parts[r].t->n_dims; d++)
            blocks[r].sizes[d] = parts[r].t->sizes[d];
    }
    found.is_found = try_axis(&s, grid->n_axes, blocks) ||
                     tc_relate_pieces(index, grid, blocks, op ? op->name : "", &found);
    tc_arena_release(&s.arena);
    return found;
}

/* ---- words --------------------------------------------------------------------------------- */

bool tc_relate_is_partial(const struct tc_related *r, const struct tc_grid *grid)
{
    for (unsigned a = 0; a < grid->n_axes && r->is_found; a++)
        if (r->axes[a].kind == TC_PARTIAL)
            return true;
    return false;
}

void tc_relate_describe(const struct tc_related *r, const struct tc_grid *grid,
                        struct tc_strbuf *out)
{
    size_t before = out->size;

    if (!r->is_found) {
        tc_strbuf_adds(out, "no part of any single-device value");
        return;
    }
    for (unsigned a = 0; a < grid->n_axes && !r->is_zero; a++) {
        const struct tc_placement *p = &r->axes[a];
        if (p->kind == TC_REPLICATE)
            continue;
        tc_strbuf_adds(out, out->size > before ? ", " : "");
        if (p->kind == TC_PARTIAL)
            tc_strbuf_adds(out, "Partial(sum)");
        else if (p->kind == TC_PIECES)
            tc_strbuf_adds(out, "pieces");
        else
            tc_strbuf_addf(out, "Shard(%u)", p->dim);
        tc_strbuf_addf(out, "%s over %s", p->kind == TC_REVERSED ? " in the wrong order" : "",
                       grid->names[a]);
    }
    if (r->is_joined)
        tc_strbuf_addf(out, "%sof several values", out->size > before ? ", " : "");
    if (r->is_part)
        tc_strbuf_addf(out, "%spart", out->size > before ? ", " : "");
    if (r->is_mixed)
        tc_strbuf_addf(out, "%snot in order", out->size > before ? ", " : "");
    if (out->size == before)
        tc_strbuf_adds(out, r->is_zero ? "0" : "Replicate");
    if (r->num != 1 || r->den != 1)
        tc_strbuf_addf(out, r->den == 1 ? ", times %lld" : ", times %lld/%lld", (long long)r->num,
                       (long long)r->den);
}
