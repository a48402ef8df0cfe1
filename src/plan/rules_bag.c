/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_bag.c - sums, means and maxima of bags of embeddings, and their gradients
 *
 * A bag has the indices from its offset to the next one. Rows of the padding index count in none.
 * For a maximum the row of each column is an output, so a gradient needs no order of elements.
 */
#include "plan/eval.h"

/* torch's numbers for mode=. */
enum mode {
    SUM,
    MEAN,
    LARGEST
};

struct bags {
    size_t n, bags, rows, width; /* indices, bags; the table's rows and columns */
    const tc_el *index, *offsets, *weight;
    int64_t padding;
    enum mode mode;
};

/* The row of index k: -1 if it is the padding's, or after a failure. */
static int64_t row_at(struct tc_eval *e, const struct bags *b, size_t k)
{
    int64_t row = tc_eval_index(b->index[k]);

    if (row < 0 || (size_t)row >= b->rows)
        tc_eval_fail(e, "an index outside its table");
    return *e->failure || row == b->padding ? -1 : row;
}

/* Where bag i ends. */
static size_t end_of(const struct bags *b, size_t i)
{
    int64_t end = i + 1 < b->bags ? tc_el_to_int(b->offsets[i + 1]) : (int64_t)b->n;

    return end < 0 ? 0 : (size_t)end > b->n ? b->n : (size_t)end;
}

static tc_el weight_at(const struct bags *b, size_t k)
{
    return b->weight ? b->weight[k] : TC_EL_ONE;
}

/* Rows of bag i that are no padding. */
static int64_t size_of(struct tc_eval *e, const struct bags *b, size_t i, size_t begin)
{
    int64_t n = 0;

    for (size_t k = begin; k < end_of(b, i) && !*e->failure; k++)
        n += row_at(e, b, k) >= 0;
    return n;
}

/* Arguments by number: indices, offsets, mode, per_sample_weights, padding_idx. */
static bool bags_of(struct tc_eval *e, const unsigned *argument, struct bags *b)
{
    const struct tc_plan_tensor *index = tc_eval_tensor(e, argument[0]),
                                *offsets = tc_eval_tensor(e, argument[1]),
                                *weight = tc_eval_tensor(e, argument[3]);

    if (!index || !offsets || (weight && weight->numel != index->numel)) {
        tc_eval_fail(e, "sizes that do not fit");
        return false;
    }
    b->n = (size_t)index->numel;
    b->index = tc_eval_read(e, index);
    b->offsets = tc_eval_read(e, offsets);
    b->mode = (enum mode)tc_eval_int(e, argument[2], SUM);
    b->weight = weight ? tc_eval_read(e, weight) : NULL;
    b->padding = tc_eval_int(e, argument[4], -1);
    return true;
}

/* The bag's value in each column; places: rows of the largest elements. */
static void fill_bag(struct tc_eval *e, const struct bags *b, const tc_el *table, size_t i,
                     size_t begin, tc_el *to, tc_el *places)
{
    int64_t n = size_of(e, b, i, begin);
    tc_el share = b->mode == MEAN && n ? tc_el_inv(tc_el_int(n)) : TC_EL_ONE;
    bool is_first = true;

    for (size_t k = begin; k < end_of(b, i) && !*e->failure; k++) {
        int64_t row = row_at(e, b, k);
        for (size_t c = 0; c < b->width && row >= 0; c++) {
            tc_el x = tc_el_mul(table[(size_t)row * b->width + c], weight_at(b, k));
            if (b->mode != LARGEST) {
                to[c] = tc_el_add(to[c], tc_el_mul(x, share));
            } else if (is_first || tc_el_compare(x, to[c]) > 0) {
                to[c] = x;
                places[c] = tc_el_int(row);
            }
        }
        is_first = is_first && row < 0;
    }
}

/* For outputs beside the first: the bag of each index, the size of each bag. */
static void write_places(struct tc_eval *e, const struct bags *b, const tc_el *places)
{
    tc_el *bag = tc_eval_zeros(e, b->n), *sizes = tc_eval_zeros(e, b->bags);

    for (size_t i = 0, k = 0; i < b->bags; i++) {
        sizes[i] = tc_el_int(b->mode == SUM ? 0 : size_of(e, b, i, k));
        for (; k < end_of(b, i); k++)
            bag[k] = tc_el_int((int64_t)i);
    }
    tc_eval_write(e, 1, bag, tc_eval_out(e, 1) && !tc_eval_out(e, 1)->numel ? 0 : b->n);
    tc_eval_write(e, 2, sizes, b->bags);
    tc_eval_write(e, 3, b->mode == LARGEST ? places : sizes,
                  b->mode == LARGEST ? b->bags * b->width : b->bags);
}

/* weight indices offsets mode per_sample_weights padding_idx include_last_offset */
static void run_bag(struct tc_eval *e)
{
    static const unsigned arguments[] = {1, 2, 3, 4, 5};
    const struct tc_plan_tensor *table = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    struct bags b = {0};

    if (!table || !out || table->n_dims != 2 || !bags_of(e, arguments, &b))
        return;
    b.rows = (size_t)table->sizes[0];
    b.width = (size_t)table->sizes[1];
    b.bags = (size_t)tc_eval_tensor(e, 2)->numel - tc_eval_bool(e, 6, false);
    const tc_el *from = tc_eval_read(e, table);
    tc_el *to = tc_eval_zeros(e, b.bags * b.width), *places = tc_eval_zeros(e, b.bags * b.width);
    for (size_t i = 0, begin = 0; i < b.bags; begin = end_of(&b, i++))
        fill_bag(e, &b, from, i, begin, to + i * b.width, places + i * b.width);
    tc_eval_write(e, 0, to, b.bags * b.width);
    write_places(e, &b, places);
}

/* The gradient of one bag to the rows of its indices. */
static void spread_bag(struct tc_eval *e, const struct bags *b, const tc_el *from, size_t i,
                       size_t begin, tc_el *to)
{
    int64_t n = size_of(e, b, i, begin);
    tc_el share = b->mode == MEAN && n ? tc_el_inv(tc_el_int(n)) : TC_EL_ONE;

    for (size_t k = begin; k < end_of(b, i) && !*e->failure; k++) {
        int64_t row = row_at(e, b, k);
        tc_el weight = tc_el_mul(share, weight_at(b, k));
        for (size_t c = 0; c < b->width && row >= 0; c++) {
            tc_el *add = &to[(size_t)row * b->width + c];
            *add = tc_el_add(*add, tc_el_mul(weight, from[i * b->width + c]));
        }
    }
}

/* Maxima give their gradient to the rows that the forward chose. */
static void spread_largest(struct tc_eval *e, const struct bags *b, const tc_el *from,
                           const struct tc_plan_tensor *places, tc_el *to)
{
    if (!places || (size_t)places->numel != b->bags * b->width) {
        tc_eval_fail(e, "places of another size");
        return;
    }
    const tc_el *at = tc_eval_read(e, places);
    for (size_t i = 0; i < b->bags * b->width; i++) {
        int64_t row = tc_eval_index(at[i]);
        if (row < 0 || (size_t)row >= b->rows) {
            tc_eval_fail(e, "a place outside its table");
            return;
        }
        tc_el *add = &to[(size_t)row * b->width + i % b->width];
        *add = tc_el_add(*add, from[i]);
    }
}

/* grad indices offsets mode per_sample_weights padding_idx maximum_indices scale_grad_by_freq */
static void run_bag_backward(struct tc_eval *e)
{
    static const unsigned arguments[] = {1, 2, 3, 4, 5};
    const struct tc_plan_tensor *g = tc_eval_tensor(e, 0), *out = tc_eval_out(e, 0);
    struct bags b = {0};

    if (!g || !out || out->n_dims != 2 || g->n_dims != 2 || g->sizes[1] != out->sizes[1] ||
        !bags_of(e, arguments, &b) || tc_eval_bool(e, 7, false)) {
        tc_eval_fail(e, "sizes that do not fit, or scale_grad_by_freq");
        return;
    }
    b.rows = (size_t)out->sizes[0];
    b.width = (size_t)out->sizes[1];
    b.bags = (size_t)g->sizes[0];
    if ((size_t)tc_eval_tensor(e, 2)->numel < b.bags) {
        tc_eval_fail(e, "fewer offsets than bags");
        return;
    }
    const tc_el *from = tc_eval_read(e, g);
    tc_el *to = tc_eval_zeros(e, (size_t)out->numel);
    if (b.mode == LARGEST)
        spread_largest(e, &b, from, tc_eval_tensor(e, 6), to);
    for (size_t i = 0, begin = 0; i < b.bags && b.mode != LARGEST; begin = end_of(&b, i++))
        spread_bag(e, &b, from, i, begin, to);
    tc_eval_write(e, 0, to, (size_t)out->numel);
}

#define BAG_ARGS "indices offsets mode per_sample_weights padding_idx "

const struct tc_rule tc_rules_bag[] = {
    {"aten._embedding_bag", "weight " BAG_ARGS "include_last_offset", run_bag, TC_RULE_PLAIN, 0, 0},
    {"aten._embedding_bag_forward_only",              "weight " BAG_ARGS "include_last_offset", run_bag,
     TC_RULE_PLAIN, 0, 0},
    {"aten._embedding_bag_backward",                    "grad " BAG_ARGS "maximum_indices scale_grad_by_freq",
     run_bag_backward, TC_RULE_PLAIN, 0, 0},
    {0                    },
};
