/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.c - hash map from uint64 to uint64: linear probing, at most 3/4 full
 */
#include "base/map.h"

#include <string.h>

#include "base/arena.h"
#include "base/vec.h"

enum slot_state {
    SLOT_FREE,
    SLOT_USED,
    SLOT_DELETED
};

#define MIN_CAP ((size_t)16)

/* The finalizer of MurmurHash3: keys are often small consecutive numbers. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

/* The slot of key, else the slot to put it into. There is always a free slot. */
static size_t find_slot(const struct tc_map *map, uint64_t key)
{
    size_t mask = map->cap - 1, i = (size_t)mix(key) & mask, deleted = map->cap;

    for (; map->state[i] != SLOT_FREE; i = (i + 1) & mask) {
        if (map->state[i] == SLOT_USED && map->slots[i].key == key)
            return i;
        if (map->state[i] == SLOT_DELETED && deleted == map->cap)
            deleted = i;
    }
    return deleted < map->cap ? deleted : i;
}

static void rehash(struct tc_map *map, size_t cap)
{
    struct tc_map old = *map;

    map->slots = tc_calloc(cap, sizeof(*map->slots));
    map->state = tc_calloc(cap, 1);
    map->cap = cap;
    map->used = map->n;
    for (size_t i = 0; i < old.cap; i++) {
        size_t slot;

        if (old.state[i] != SLOT_USED)
            continue;
        slot = find_slot(map, old.slots[i].key);
        map->state[slot] = SLOT_USED;
        map->slots[slot] = old.slots[i];
    }
    tc_map_release(&old);
}

/* Room for one more. Doubles only if live keys fill half: else deleted slots were the load. */
static void make_room(struct tc_map *map)
{
    if (map->cap && map->used + 1 <= map->cap / 4 * 3)
        return;
    if (!map->cap)
        rehash(map, MIN_CAP);
    else
        rehash(map, map->n + 1 > map->cap / 2 ? map->cap * 2 : map->cap);
}

void tc_map_release(struct tc_map *map)
{
    tc_free(map->slots);
    tc_free(map->state);
    *map = (struct tc_map)TC_MAP_INIT;
}

void tc_map_clear(struct tc_map *map)
{
    if (map->cap)
        memset(map->state, SLOT_FREE, map->cap);
    map->n = map->used = 0;
}

bool tc_map_get(const struct tc_map *map, uint64_t key, uint64_t *value)
{
    size_t mask, i;

    if (!map->n)
        return false;
    mask = map->cap - 1;
    for (i = (size_t)mix(key) & mask; map->state[i] != SLOT_FREE; i = (i + 1) & mask)
        if (map->slots[i].key == key && map->state[i] == SLOT_USED) {
            *value = map->slots[i].value;
            return true;
        }
    return false;
}

void tc_map_put(struct tc_map *map, uint64_t key, uint64_t value)
{
    bool is_new;

    *tc_map_at(map, key, &is_new) = value;
}

uint64_t *tc_map_at(struct tc_map *map, uint64_t key, bool *is_new)
{
    size_t i;

    make_room(map);
    i = find_slot(map, key);
    *is_new = map->state[i] != SLOT_USED;
    if (*is_new) {
        map->used += map->state[i] == SLOT_FREE;
        map->n++;
        map->state[i] = SLOT_USED;
        map->slots[i] = (struct tc_map_slot){key, 0};
    }
    return &map->slots[i].value;
}

void *tc_map_struct(struct tc_map *map, uint64_t key, size_t size)
{
    bool is_new;
    uint64_t *slot = tc_map_at(map, key, &is_new);

    if (is_new)
        *slot = (uintptr_t)tc_calloc(1, size);
    return (void *)(uintptr_t)*slot;
}

void *tc_map_find(const struct tc_map *map, uint64_t key)
{
    uint64_t value;

    return tc_map_get(map, key, &value) ? (void *)(uintptr_t)value : NULL;
}

void tc_map_remember(struct tc_map *map, size_t max, uint64_t key, uint64_t value)
{
    if (map->n >= max)
        tc_map_clear(map);
    tc_map_put(map, key, value);
}

bool tc_map_remove(struct tc_map *map, uint64_t key)
{
    size_t i;

    if (!map->n)
        return false;
    i = find_slot(map, key);
    if (map->state[i] != SLOT_USED)
        return false;
    map->state[i] = SLOT_DELETED;
    map->n--;
    return true;
}

bool tc_map_each(const struct tc_map *map, size_t *pos, uint64_t *key, uint64_t *value)
{
    for (; *pos < map->cap; ++*pos) {
        if (map->state[*pos] != SLOT_USED)
            continue;
        *key = map->slots[*pos].key;
        *value = map->slots[*pos].value;
        ++*pos;
        return true;
    }
    return false;
}

void *tc_map_next(const struct tc_map *map, size_t *pos)
{
    uint64_t key, value;

    return tc_map_each(map, pos, &key, &value) ? (void *)(uintptr_t)value : NULL;
}

void tc_map_release_structs(struct tc_map *map)
{
    void *item;

    for (size_t pos = 0; (item = tc_map_next(map, &pos));)
        tc_free(item);
    tc_map_release(map);
}
