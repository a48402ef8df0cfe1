/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.c - one line of a plan file: head, const, init, op or result
 *
 * The first key names the kind. read_value.c reads tensors, arguments and places. Unknown keys
 * are skipped; an error names the file, the line and the field.
 */
#include "plan/read_value.h"

#include <string.h>

#include "plan/read_op.h"
#include "trace/scan.h"

/* ---- head ---------------------------------------------------------------------------------- */

static enum tc_status read_axis(struct tc_plan_reader *r, const struct tc_value *v)
{
    struct tc_str name = tc_value_str(tc_value_get(v, "name"));
    struct tc_plan_axis axis = {.is_joined = tc_value_get(v, "of") != NULL};

    if (!name.size)
        return tc_error_set(r->err, TC_E_FORMAT, "field 'mesh': an axis without a name");
    enum tc_status status =
        tc_read_ranks(r, tc_value_get(v, "ranks"), r->set->world, "ranks", &axis.group);
    if (status)
        return status;
    if (tc_plan_group_index(&r->set->groups.items[axis.group], r->rank->rank) < 0)
        return tc_error_set(r->err, TC_E_FORMAT,
                            "field 'mesh': rank %u is not in its group of %.*s", r->rank->rank,
                            (int)name.size, name.text);
    axis.name = tc_strtab_intern(r->set->names, name.text, name.size);
    tc_vec_push(&r->rank->mesh, axis);
    return TC_OK;
}

static void read_notes(struct tc_plan_reader *r, const struct tc_value *notes)
{
    for (uint32_t i = 0; notes && notes->kind == TC_VALUE_ARRAY && i < notes->n; i++) {
        const char *text = tc_read_text(r, tc_value_str(&notes->items[i]));
        bool is_known = !*text;
        for (size_t k = 0; k < r->set->notes.n; k++)
            is_known = is_known || r->set->notes.items[k] == text;
        if (!is_known)
            tc_vec_push(&r->set->notes, text);
    }
}

/* The first head tells the world. */
static enum tc_status take_rank(struct tc_plan_reader *r, int64_t rank, int64_t world)
{
    struct tc_plan_set *set = r->set;

    if (world < 1 || world > TC_PLAN_MAX_WORLD || rank < 0 || rank >= world)
        return tc_error_set(r->err, TC_E_FORMAT,
                            "fields 'rank', 'world': expected 0 <= rank < world");
    if (!set->world) {
        set->world = (uint32_t)world;
        set->ranks = tc_calloc(set->world, sizeof(*set->ranks));
    }
    if (world != (int64_t)set->world)
        return tc_error_set(r->err, TC_E_FORMAT, "field 'world': %lld, but other plans say %u",
                            (long long)world, set->world);
    r->rank = &set->ranks[rank];
    if (r->rank->file)
        return tc_error_set(r->err, TC_E_FORMAT,
                            "field 'rank': a plan of rank %lld is already in %s", (long long)rank,
                            r->rank->file);
    r->rank->rank = (uint32_t)rank;
    r->rank->owns_program = true;
    r->rank->program = tc_arena_zalloc(&set->arena, sizeof(*r->rank->program));
    return TC_OK;
}

static enum tc_status read_head(struct tc_plan_reader *r, const struct tc_value *v,
                                const char *file, uint64_t number)
{
    const struct tc_value *mesh = tc_value_get(v, "mesh");
    int64_t schema = tc_value_int(tc_value_get(v, "plan"), -1);
    enum tc_status status;

    if (schema != TC_PLAN_SCHEMA)
        return tc_error_set(r->err, TC_E_VERSION, "plan schema %lld; this program reads %d",
                            (long long)schema, TC_PLAN_SCHEMA);
    status = take_rank(r, tc_value_int(tc_value_get(v, "rank"), -1),
                       tc_value_int(tc_value_get(v, "world"), -1));
    if (status)
        return status;
    r->rank->file = tc_read_text(r, (struct tc_str){file, (uint32_t)strlen(file)});
    r->rank->line = number;
    r->rank->like = tc_value_int(tc_value_get(v, "like"), -1);
    r->rank->script = tc_read_text(r, tc_value_str(tc_value_get(v, "script")));
    r->rank->unsummed = tc_read_text(r, tc_value_str(tc_value_get(v, "unsummed")));
    for (uint32_t i = 0; mesh && mesh->kind == TC_VALUE_ARRAY && i < mesh->n && !status; i++)
        status = read_axis(r, &mesh->items[i]);
    read_notes(r, tc_value_get(v, "notes"));
    return status;
}

/* ---- const, init, result ------------------------------------------------------------------- */

static enum tc_status read_const(struct tc_plan_reader *r, const struct tc_value *v)
{
    int64_t storage = tc_value_int(tc_value_get(v, "const"), -1);
    struct tc_plan_const c = {.n = tc_value_int(tc_value_get(v, "n"), -1)};
    const struct tc_value *data = tc_value_get(v, "data");
    struct tc_plan_program *program = r->rank->program;
    enum tc_plan_type type;
    enum tc_status status;

    if (storage < 0 || storage >= 1 << 24 || c.n < 0 || c.n > INT64_C(1) << 32)
        return tc_error_set(r->err, TC_E_FORMAT,
                            "fields 'const', 'n': expected a storage and its size");
    status = tc_read_type(r, tc_value_str(tc_value_get(v, "dtype")), "dtype", &type);
    if (!status)
        status = tc_read_data(r, data, c.n, true, type, &c.data);
    if (status)
        return status;
    c.storage = (uint32_t)storage;
    c.is_fill = data->n == 1;
    while (program->storages.n <= c.storage)
        tc_vec_push(&program->storages, (struct tc_plan_storage){0});
    if (program->storages.items[storage].n < c.n)
        program->storages.items[storage].n = c.n;
    tc_vec_push(&r->rank->consts, c);
    return TC_OK;
}

static enum tc_status read_init(struct tc_plan_reader *r, const struct tc_value *v, uint64_t number)
{
    static const char *const kinds[] = {"param", "buffer", "input", "state"};
    const struct tc_value *kind = tc_value_get(v, "init"), *data = tc_value_get(v, "data");
    struct tc_str name = tc_value_str(tc_value_get(v, "name"));
    struct tc_plan_init init = {.line = number};
    enum tc_status status;
    unsigned k = 0;

    while (k < 4 && !tc_value_is(kind, kinds[k]))
        k++;
    if (k == 4)
        return tc_error_set(r->err, TC_E_FORMAT,
                            "field 'init': expected param, buffer, input or state");
    if (!name.size)
        return tc_error_set(r->err, TC_E_FORMAT, "field 'name': expected a text");
    init.kind = (enum tc_plan_init_kind)k;
    init.name = tc_strtab_intern(r->set->names, name.text, name.size);
    status = tc_read_tensor(r, tc_value_get(v, "t"), "t", &init.tensor);
    if (!status)
        status = tc_read_place(r, v, &init.tensor, &init.place);
    if (!status && data)
        status = tc_read_data(r, data, init.tensor.numel, false, init.tensor.type, &init.data);
    if (!status)
        tc_vec_push(&r->rank->inits, init);
    return status;
}

static enum tc_status read_result(struct tc_plan_reader *r, const struct tc_value *v,
                                  uint64_t number)
{
    struct tc_str name = tc_value_str(tc_value_get(v, "result"));
    const struct tc_value *partial = tc_value_get(v, "partial");
    struct tc_plan_result result = {.line = number};
    enum tc_status status;

    if (!name.size)
        return tc_error_set(r->err, TC_E_FORMAT, "field 'result': expected a text");
    result.name = tc_strtab_intern(r->set->names, name.text, name.size);
    status = tc_read_tensor(r, tc_value_get(v, "t"), "t", &result.tensor);
    if (!status)
        status = tc_read_place(r, v, &result.tensor, &result.place);
    if (!status && partial && partial->kind == TC_VALUE_ARRAY) {
        tc_sym *axes = tc_arena_alloc(&r->set->arena, (partial->n + 1) * sizeof(*axes));
        for (uint32_t i = 0; i < partial->n; i++) {
            struct tc_str axis = tc_value_str(&partial->items[i]);
            axes[i] = tc_strtab_intern(r->set->names, axis.text ? axis.text : "", axis.size);
        }
        result.partial = axes;
        result.n_partial = partial->n;
    }
    if (!status)
        tc_vec_push(&r->rank->results, result);
    return status;
}

enum tc_status tc_plan_read_line(struct tc_plan_set *set, const char *file,
                                 struct tc_plan_rank **rank, const char *line, size_t size,
                                 uint64_t number, struct tc_error *err)
{
    struct tc_plan_reader r = {.set = set, .rank = *rank, .err = err};
    struct tc_value v;
    enum tc_status status;

    tc_arena_reset(&set->line);
    status = tc_scan(line, size, &set->line, &v, err);
    if (status)
        return status;
    if (v.kind != TC_VALUE_OBJECT || v.n == 0)
        return tc_error_set(err, TC_E_FORMAT, "expected an object");
    struct tc_str first = v.members[0].key;
    if (tc_str_is(first, "plan")) {
        status = read_head(&r, &v, file, number);
        *rank = r.rank;
        return status;
    }
    if (!r.rank)
        return tc_error_set(err, TC_E_FORMAT, "expected a head, a line that starts with \"plan\"");
    if (tc_str_is(first, "op"))
        return tc_plan_read_op(&r, &v, number);
    if (tc_str_is(first, "const"))
        return read_const(&r, &v);
    if (tc_str_is(first, "init"))
        return read_init(&r, &v, number);
    if (tc_str_is(first, "result"))
        return read_result(&r, &v, number);
    return tc_error_set(err, TC_E_FORMAT, "no line of a plan starts with '%.*s'", (int)first.size,
                        first.text);
}
