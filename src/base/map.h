/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - hash map from uint64 to uint64, open addressing
 *
 * Pointers are stored as uintptr_t. Iteration order depends only on the keys
 * inserted and their order, never on addresses or time.
 */
#ifndef TC_BASE_MAP_H
#define TC_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_map_slot {
    uint64_t key, value;
};

struct tc_map {
    struct tc_map_slot *slots;
    uint8_t *state; /* 0 free, 1 used, 2 deleted */
    size_t n, used, cap;
};

#define TC_MAP_INIT \
    {               \
        0           \
    }

/* Empty and usable afterwards, as of TC_MAP_INIT. */
void tc_map_release(struct tc_map *map);
void tc_map_clear(struct tc_map *map);
bool tc_map_get(const struct tc_map *map, uint64_t key, uint64_t *value);
/* Insert or replace. */
void tc_map_put(struct tc_map *map, uint64_t key, uint64_t value);
/* The address of the value of key, inserted as 0 if new (*is_new says so); valid until the next
 * insertion. */
uint64_t *tc_map_at(struct tc_map *map, uint64_t key, bool *is_new);
/* The struct of that many bytes whose address is the value of key; zeroed memory of tc_calloc if
 * new. Whoever releases the map frees them. */
void *tc_map_struct(struct tc_map *map, uint64_t key, size_t size);
/* Of a map to structs: the struct of key; NULL if there is none. */
void *tc_map_find(const struct tc_map *map, uint64_t key);
/* Put, after all others are forgotten if there are max of them: of what is asked for soon or never.
 */
void tc_map_remember(struct tc_map *map, size_t max, uint64_t key, uint64_t value);
bool tc_map_remove(struct tc_map *map, uint64_t key);
/* Of a map to structs: visit them, start with *pos = 0; NULL at the end. */
void *tc_map_next(const struct tc_map *map, size_t *pos);
/* Of a map to structs in memory of tc_calloc: free them, and release it. */
void tc_map_release_structs(struct tc_map *map);
/* Visit all: start with *pos = 0; false at the end. */
bool tc_map_each(const struct tc_map *map, size_t *pos, uint64_t *key, uint64_t *value);

#endif /* TC_BASE_MAP_H */
