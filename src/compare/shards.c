/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards.c - the last sketch of each variable on each rank, and sums over ranks
 */
#include "compare/shards.h"

#include <math.h>
#include <string.h>

struct shard {
    bool has_sketch, is_sharded, has_begin;
    int64_t begin;
    double sketch[TC_N_SKETCH];
};

void tc_shards_init(struct tc_shards *shards, size_t n_ranks)
{
    shards->n = n_ranks;
    shards->ranks = tc_calloc(n_ranks + 1, sizeof(*shards->ranks));
}

void tc_shards_release(struct tc_shards *shards)
{
    for (size_t i = 0; i < shards->n; i++)
        tc_map_release_structs(&shards->ranks[i]);
    tc_free(shards->ranks);
    *shards = (struct tc_shards){0};
}

/* "model.module.0.weight" -> "model.0.weight" */
static tc_sym plain_name(struct tc_strtab *symbols, tc_sym name)
{
    static const char wrapper[] = ".module.";
    const char *text = tc_strtab_text(symbols, name), *at = strstr(text, wrapper);
    struct tc_strbuf plain = TC_STRBUF_INIT;

    if (!at)
        return name;
    tc_strbuf_add(&plain, text, (size_t)(at - text));
    tc_strbuf_adds(&plain, at + sizeof(wrapper) - 2);
    name = tc_strtab_intern(symbols, plain.text, plain.size);
    tc_strbuf_release(&plain);
    return name;
}

static void note(struct shard *shard, const struct tc_value *attrs)
{
    const struct tc_value *sharded = tc_value_get(attrs, "sharded");

    if (sharded) {
        shard->is_sharded = tc_value_is_true(sharded);
        shard->begin = tc_value_int(tc_value_get(attrs, "begin"), TC_NONE);
        shard->has_begin = shard->begin != TC_NONE;
    }
    const struct tc_value *data = tc_value_get(attrs, "data");
    if (data && data->kind == TC_VALUE_NULL && shard->has_begin) { /* a part without elements */
        shard->has_sketch = true;
        memset(shard->sketch, 0, sizeof(shard->sketch));
    } else if (data) {
        shard->has_sketch = tc_sketch_read(tc_value_get(attrs, "sketch"), shard->sketch);
    }
}

void tc_shards_note(struct tc_shards *shards, struct tc_strtab *symbols, size_t rank,
                    const struct tc_course_window *window)
{
    for (size_t i = 0; i < window->variables.n; i++) {
        const struct tc_course_variable *v = &window->variables.items[i];
        const tc_sym name = plain_name(symbols, v->name);
        note(tc_map_struct(&shards->ranks[rank], name, sizeof(struct shard)), v->record->attrs);
    }
}

bool tc_shards_next(const struct tc_shards *shards, size_t *pos, tc_sym *name)
{
    uint64_t key, value;

    if (!shards->n || !tc_map_each(&shards->ranks[0], pos, &key, &value))
        return false;
    *name = (tc_sym)key;
    return true;
}

static const struct shard *shard_of(const struct tc_shards *shards, size_t rank, tc_sym name)
{
    return tc_map_find(&shards->ranks[rank], name);
}

static void add_part(double *sketch, const struct shard *shard)
{
    sketch[0] = hypot(sketch[0], shard->sketch[0]);
    for (size_t k = 1; k < TC_N_SKETCH; k++)
        sketch[k] += shard->sketch[k];
}

enum tc_total tc_shards_total(const struct tc_shards *shards, tc_sym name, double *sketch)
{
    struct tc_map begins = TC_MAP_INIT; /* of the parts that are added */
    enum tc_total total = shards->n ? TC_TOTAL_KNOWN : TC_TOTAL_NONE;
    bool is_whole = false, is_new;

    memset(sketch, 0, TC_N_SKETCH * sizeof(*sketch));
    for (size_t i = 0; i < shards->n && total == TC_TOTAL_KNOWN && !is_whole; i++) {
        const struct shard *shard = shard_of(shards, i, name);
        if (!shard || !shard->has_sketch) {
            total = TC_TOTAL_NONE;
        } else if (!shard->is_sharded) {
            memcpy(sketch, shard->sketch, TC_N_SKETCH * sizeof(*sketch));
            is_whole = true;
        } else if (!shard->has_begin) {
            total = TC_TOTAL_PARTS;
        } else {
            tc_map_at(&begins, (uint64_t)shard->begin, &is_new);
            if (is_new)
                add_part(sketch, shard);
        }
    }
    tc_map_release(&begins);
    return total;
}
