/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_value.c - tensors, arguments and places of a line of a plan
 *
 * Every number is checked before it is used: sizes and strides, a view against the end of its
 * storage, a block against the whole tensor. An error names the file, the line and the field.
 */
#include "plan/read_value.h"

#include <math.h>
#include <string.h>

#define MAX_ELEMENTS (INT64_C(1) << 32)
#define MAX_STORAGES (1u << 24)

static enum tc_status wrong(struct tc_plan_reader *r, const char *field, const char *expected)
{
    return tc_error_set(r->err, TC_E_FORMAT, "field '%s': expected %s", field, expected);
}

const char *tc_read_text(struct tc_plan_reader *r, struct tc_str s)
{
    struct tc_strtab *texts = r->set->texts;

    return tc_strtab_text(texts, tc_strtab_intern(texts, s.text ? s.text : "", s.size));
}

enum tc_status tc_read_type(struct tc_plan_reader *r, struct tc_str name, const char *field,
                            enum tc_plan_type *out)
{
    static const struct {
        const char *name;
        enum tc_plan_type type;
    } types[] = {
        {"float32",       TC_PLAN_SINGLE},
        {"float64",       TC_PLAN_FLOAT },
        {"bfloat16",      TC_PLAN_SINGLE},
        {"float16",       TC_PLAN_SINGLE},
        {"int64",         TC_PLAN_INT   },
        {"int32",         TC_PLAN_INT   },
        {"int16",         TC_PLAN_INT   },
        {"int8",          TC_PLAN_INT   },
        {"uint8",         TC_PLAN_INT   },
        {"uint64",        TC_PLAN_INT   },
        {"uint32",        TC_PLAN_INT   },
        {"uint16",        TC_PLAN_INT   },
        {"bool",          TC_PLAN_BOOL  },
        {"float8_e4m3fn", TC_PLAN_SINGLE},
        {"float8_e5m2",   TC_PLAN_SINGLE},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (tc_str_is(name, types[i].name)) {
            *out = types[i].type;
            return TC_OK;
        }
    return tc_error_set(r->err, TC_E_FORMAT, "field '%s': no dtype of a plan is '%.*s'", field,
                        (int)name.size, name.text ? name.text : "");
}

/* ---- lists of integers --------------------------------------------------------------------- */

static enum tc_status read_ints(struct tc_plan_reader *r, const struct tc_value *v,
                                const char *field, int64_t most, const int64_t **out, uint32_t *n)
{
    if (!v || v->kind != TC_VALUE_ARRAY || v->n > TC_PLAN_MAX_DIMS)
        return wrong(r, field, "a list of up to 16 integers");
    int64_t *items = tc_arena_alloc(&r->set->arena, (v->n + 1) * sizeof(*items));
    for (uint32_t i = 0; i < v->n; i++) {
        items[i] = tc_value_int(&v->items[i], -1);
        if (items[i] < 0 || items[i] > most)
            return wrong(r, field, "integers from 0 to 2^32");
    }
    *out = items;
    *n = v->n;
    return TC_OK;
}

static enum tc_status count_elements(struct tc_plan_reader *r, const char *field,
                                     const int64_t *sizes, uint32_t n, int64_t *out)
{
    int64_t numel = 1;

    for (uint32_t d = 0; d < n; d++)
        if (__builtin_mul_overflow(numel, sizes[d], &numel) || numel > MAX_ELEMENTS)
            return wrong(r, field, "at most 2^32 elements");
    *out = numel;
    return TC_OK;
}

/* ---- tensors ------------------------------------------------------------------------------- */

bool tc_read_is_tensor(const struct tc_value *v)
{
    return v && v->kind == TC_VALUE_ARRAY && v->n == 6 && tc_value_is(&v->items[0], "t");
}

static bool is_contiguous(const struct tc_plan_tensor *t)
{
    int64_t step = 1;

    for (unsigned d = t->n_dims; d-- > 0;) {
        if (t->sizes[d] != 1 && t->strides[d] != step)
            return t->numel == 0;
        step *= t->sizes[d];
    }
    return true;
}

/* The storage must reach as far as the view. */
static void reach(struct tc_plan_program *program, const struct tc_plan_tensor *t, int64_t end)
{
    while (program->storages.n <= t->storage)
        tc_vec_push(&program->storages, (struct tc_plan_storage){0});
    if (program->storages.items[t->storage].n < end)
        program->storages.items[t->storage].n = end;
}

static enum tc_status check_reach(struct tc_plan_reader *r, const char *field,
                                  const struct tc_plan_tensor *t)
{
    int64_t last = t->offset;

    for (unsigned d = 0; d < t->n_dims && t->numel; d++) {
        int64_t step;
        if (__builtin_mul_overflow(t->sizes[d] - 1, t->strides[d], &step) ||
            __builtin_add_overflow(last, step, &last))
            return wrong(r, field, "a view of at most 2^32 elements");
    }
    if (last >= MAX_ELEMENTS)
        return wrong(r, field, "a view of at most 2^32 elements");
    reach(r->rank->program, t, t->numel ? last + 1 : 0);
    return TC_OK;
}

enum tc_status tc_read_tensor(struct tc_plan_reader *r, const struct tc_value *v, const char *field,
                              struct tc_plan_tensor *out)
{
    enum tc_status status;
    int64_t storage;
    uint32_t n_strides;

    if (!tc_read_is_tensor(v))
        return wrong(r, field, "[\"t\",storage,offset,[sizes],[strides],dtype]");
    storage = tc_value_int(&v->items[1], -1);
    out->offset = tc_value_int(&v->items[2], -1);
    if (storage < 0 || storage >= MAX_STORAGES || out->offset < 0 || out->offset > MAX_ELEMENTS)
        return wrong(r, field, "a storage below 2^24 and an offset up to 2^32");
    out->storage = (uint32_t)storage;
    out->is_in_slot = false;
    status = read_ints(r, &v->items[3], field, MAX_ELEMENTS, &out->sizes, &out->n_dims);
    if (!status)
        status = read_ints(r, &v->items[4], field, MAX_ELEMENTS, &out->strides, &n_strides);
    if (status)
        return status;
    if (n_strides != out->n_dims)
        return wrong(r, field, "as many strides as sizes");
    status = tc_read_type(r, tc_value_str(&v->items[5]), field, &out->type);
    if (!status)
        status = count_elements(r, field, out->sizes, out->n_dims, &out->numel);
    out->is_contiguous = !status && is_contiguous(out);
    return status ? status : check_reach(r, field, out);
}

/* ---- groups -------------------------------------------------------------------------------- */

static bool has_rank_twice(const uint32_t *ranks, uint32_t n)
{
    struct tc_map seen = TC_MAP_INIT;
    bool is_new = true;

    for (uint32_t i = 0; i < n && is_new; i++)
        tc_map_at(&seen, ranks[i], &is_new);
    tc_map_release(&seen);
    return !is_new;
}

enum tc_status tc_read_ranks(struct tc_plan_reader *r, const struct tc_value *v, uint32_t world,
                             const char *field, uint32_t *group)
{
    if (!v || v->kind != TC_VALUE_ARRAY || v->n == 0 || v->n > world)
        return wrong(r, field, "a list of ranks of this world");
    uint32_t *ranks = tc_arena_alloc(&r->set->line, v->n * sizeof(*ranks));
    for (uint32_t i = 0; i < v->n; i++) {
        int64_t rank = tc_value_int(&v->items[i], -1);
        if (rank < 0 || rank >= (int64_t)world)
            return wrong(r, field, "ranks of this world");
        ranks[i] = (uint32_t)rank;
    }
    size_t known = r->set->groups.n;
    *group = tc_plan_group(r->set, ranks, v->n);
    if (*group == known && has_rank_twice(ranks, v->n))
        return wrong(r, field, "ranks that differ");
    return TC_OK;
}

/* The number that the program has for a group. */
static uint32_t program_group(struct tc_plan_program *p, uint32_t group)
{
    for (uint32_t i = 0; i < p->groups.n; i++)
        if (p->groups.items[i] == group)
            return i;
    tc_vec_push(&p->groups, group);
    return (uint32_t)p->groups.n - 1;
}

/* ---- arguments ----------------------------------------------------------------------------- */

static enum tc_status read_text_argument(struct tc_plan_reader *r, const struct tc_value *v,
                                         struct tc_plan_value *out)
{
    *out = (struct tc_plan_value){.kind = TC_PLAN_NUMBER};
    if (tc_value_is(v, "inf") || tc_value_is(v, "-inf"))
        out->number = v->n == 3 ? INFINITY : -INFINITY;
    else if (tc_value_is(v, "nan"))
        out->number = NAN;
    else
        *out = (struct tc_plan_value){.kind = TC_PLAN_TEXT,
                                      .n = v->n,
                                      .text = tc_read_text(r, (struct tc_str){v->text, v->n})};
    return TC_OK;
}

static enum tc_status read_list(struct tc_plan_reader *r, const struct tc_value *v,
                                const char *field, struct tc_plan_value *out)
{
    struct tc_plan_value *items = tc_arena_alloc(&r->set->arena, (v->n + 1) * sizeof(*items));
    enum tc_status status = TC_OK;

    for (uint32_t i = 0; i < v->n && !status; i++)
        status = tc_read_argument(r, &v->items[i], field, &items[i]);
    *out = (struct tc_plan_value){.kind = TC_PLAN_LIST, .n = v->n, .items = items};
    return status;
}

static enum tc_status read_array(struct tc_plan_reader *r, const struct tc_value *v,
                                 const char *field, struct tc_plan_value *out)
{
    enum tc_status status;
    uint32_t group = 0;

    if (tc_read_is_tensor(v)) {
        struct tc_plan_tensor *t = tc_arena_alloc(&r->set->arena, sizeof(*t));
        *out = (struct tc_plan_value){.kind = TC_PLAN_TENSOR, .tensor = t};
        return tc_read_tensor(r, v, field, t);
    }
    if (v->n == 2 && tc_value_is(&v->items[0], "pg")) {
        status = tc_read_ranks(r, &v->items[1], r->set->world, field, &group);
        *out = (struct tc_plan_value){.kind = TC_PLAN_GROUP};
        if (!status)
            out->group = program_group(r->rank->program, group);
        return status;
    }
    return read_list(r, v, field, out);
}

enum tc_status tc_read_argument(struct tc_plan_reader *r, const struct tc_value *v,
                                const char *field, struct tc_plan_value *out)
{
    switch (v->kind) {
    case TC_VALUE_NULL:
        *out = (struct tc_plan_value){.kind = TC_PLAN_NONE};
        return TC_OK;
    case TC_VALUE_BOOL:
        *out = (struct tc_plan_value){.kind = TC_PLAN_TRUTH, .truth = v->boolean};
        return TC_OK;
    case TC_VALUE_INT:
        *out = (struct tc_plan_value){.kind = TC_PLAN_WHOLE, .whole = v->integer};
        return TC_OK;
    case TC_VALUE_FLOAT:
        *out = (struct tc_plan_value){.kind = TC_PLAN_NUMBER, .number = v->number};
        return TC_OK;
    case TC_VALUE_STR:
        return read_text_argument(r, v, out);
    case TC_VALUE_ARRAY:
        return read_array(r, v, field, out);
    case TC_VALUE_OBJECT:
        break;
    }
    return wrong(r, field, "a tensor, number, text or list");
}

/* ---- contents ------------------------------------------------------------------------------ */

enum tc_status tc_read_data(struct tc_plan_reader *r, const struct tc_value *v, int64_t n,
                            bool may_fill, enum tc_plan_type type, const tc_el **out)
{
    if (!v || v->kind != TC_VALUE_ARRAY || (v->n != n && !(may_fill && v->n == 1)))
        return tc_error_set(r->err, TC_E_FORMAT, "field 'data': expected %lld numbers%s",
                            (long long)n, may_fill ? ", or one for all" : "");
    tc_el *data = tc_arena_alloc(&r->set->arena, ((size_t)v->n + 1) * sizeof(*data));
    for (uint32_t i = 0; i < v->n; i++) {
        struct tc_plan_value x;
        enum tc_status status = tc_read_argument(r, &v->items[i], "data", &x);
        if (status)
            return status;
        if (x.kind == TC_PLAN_WHOLE || x.kind == TC_PLAN_TRUTH)
            data[i] = tc_el_int(x.kind == TC_PLAN_WHOLE ? x.whole : x.truth);
        else if (x.kind == TC_PLAN_NUMBER)
            data[i] = tc_el_number(x.number, type == TC_PLAN_SINGLE);
        else
            return wrong(r, "data", "numbers");
    }
    *out = data;
    return TC_OK;
}

/* ---- places -------------------------------------------------------------------------------- */

static bool is_block_inside(const int64_t *at, const int64_t *sizes, const int64_t *whole,
                            uint32_t n)
{
    for (uint32_t d = 0; d < n; d++)
        if (at[d] > whole[d] || sizes[d] > whole[d] - at[d])
            return false;
    return true;
}

static enum tc_status read_piece(struct tc_plan_reader *r, const struct tc_value *v,
                                 const struct tc_plan_tensor *t, const struct tc_plan_place *place,
                                 struct tc_plan_piece *out)
{
    const int64_t **lists[3] = {&out->local, &out->sizes, &out->at};
    uint32_t n[3];

    if (v->kind != TC_VALUE_ARRAY || v->n != 3)
        return wrong(r, "pieces", "[[offset],[sizes],[offset in global]]");
    for (int i = 0; i < 3; i++) {
        enum tc_status status = read_ints(r, &v->items[i], "pieces", MAX_ELEMENTS, lists[i], &n[i]);
        if (status)
            return status;
        if (n[i] != t->n_dims || n[i] != place->n_global)
            return wrong(r, "pieces", "as many dimensions as the tensor has");
    }
    if (!is_block_inside(out->local, out->sizes, t->sizes, t->n_dims) ||
        !is_block_inside(out->at, out->sizes, place->global, t->n_dims))
        return wrong(r, "pieces", "blocks inside the tensor and inside 'global'");
    return TC_OK;
}

static enum tc_status read_pieces(struct tc_plan_reader *r, const struct tc_value *list,
                                  const struct tc_plan_tensor *t, struct tc_plan_place *out)
{
    enum tc_status status = TC_OK;

    if (list->kind != TC_VALUE_ARRAY)
        return wrong(r, "pieces", "a list");
    struct tc_plan_piece *pieces = tc_arena_alloc(&r->set->arena, (list->n + 1) * sizeof(*pieces));
    for (uint32_t i = 0; i < list->n && !status; i++)
        status = read_piece(r, &list->items[i], t, out, &pieces[i]);
    out->pieces = pieces;
    out->n_pieces = list->n;
    return status;
}

static enum tc_status read_block(struct tc_plan_reader *r, const struct tc_value *at,
                                 const struct tc_plan_tensor *t, struct tc_plan_place *out)
{
    struct tc_plan_piece *piece = tc_arena_zalloc(&r->set->arena, sizeof(*piece));
    int64_t *zeros = tc_arena_zalloc(&r->set->arena, (t->n_dims + 1) * sizeof(*zeros));
    uint32_t n;
    enum tc_status status = read_ints(r, at, "at", MAX_ELEMENTS, &piece->at, &n);

    if (status)
        return status;
    if (n != out->n_global || n != t->n_dims)
        return wrong(r, "at", "as many dimensions as the tensor and 'global' have");
    piece->local = zeros;
    piece->sizes = t->sizes;
    if (!is_block_inside(piece->at, t->sizes, out->global, n))
        return wrong(r, "at", "a block inside 'global'");
    out->pieces = piece;
    out->n_pieces = 1;
    return TC_OK;
}

enum tc_status tc_read_place(struct tc_plan_reader *r, const struct tc_value *line,
                             const struct tc_plan_tensor *t, struct tc_plan_place *out)
{
    const struct tc_value *pieces = tc_value_get(line, "pieces");
    int64_t numel = 0;
    enum tc_status status = read_ints(r, tc_value_get(line, "global"), "global", MAX_ELEMENTS,
                                      &out->global, &out->n_global);

    if (!status)
        status = count_elements(r, "global", out->global, out->n_global, &numel);
    if (status)
        return status;
    out->flat = tc_value_int(tc_value_get(line, "flat"), -1);
    out->n_pieces = 0;
    if (out->flat >= 0)
        return t->n_dims != 1 || out->flat > numel - t->numel
                   ? wrong(r, "flat", "a stretch inside 'global'")
                   : TC_OK;
    if (pieces)
        return read_pieces(r, pieces, t, out);
    return read_block(r, tc_value_get(line, "at"), t, out);
}
