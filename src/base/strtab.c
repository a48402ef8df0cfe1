/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strtab.c - interning
 *
 * Entries in order of appearance, and an open-addressing index into them that
 * is at most half full. The hash is kept so that growing reads no text.
 */
#include "base/strtab.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"

#include "base/banned.h"

#define MIN_CAP ((size_t)64)

struct entry {
    const char *text;
    size_t size;
    uint64_t hash;
};

struct tc_strtab {
    struct tc_arena arena;
    TC_VEC(struct entry) entries;
    tc_sym *index; /* TC_NO_SYM: free */
    size_t cap;    /* of index, a power of two */
};

static tc_sym *new_index(size_t cap)
{
    return memset(tc_malloc(cap * sizeof(tc_sym)), 0xff, cap * sizeof(tc_sym));
}

struct tc_strtab *tc_strtab_new(void)
{
    struct tc_strtab *tab = tc_calloc(1, sizeof(*tab));

    tab->cap = MIN_CAP;
    tab->index = new_index(tab->cap);
    return tab;
}

void tc_strtab_free(struct tc_strtab *tab)
{
    if (!tab)
        return;
    tc_vec_release(&tab->entries);
    tc_arena_release(&tab->arena);
    tc_free(tab->index);
    tc_free(tab);
}

/* Where these bytes are in the index, else where they belong. */
static size_t find_slot(const struct tc_strtab *tab, const void *text, size_t size, uint64_t hash)
{
    size_t mask = tab->cap - 1, i = (size_t)hash & mask;

    for (; tab->index[i] != TC_NO_SYM; i = (i + 1) & mask) {
        const struct entry *e = &tab->entries.items[tab->index[i]];

        if (e->hash == hash && e->size == size && (!size || !memcmp(e->text, text, size)))
            break;
    }
    return i;
}

static void grow(struct tc_strtab *tab)
{
    size_t mask = tab->cap * 2 - 1;

    tc_free(tab->index);
    tab->cap *= 2;
    tab->index = new_index(tab->cap);
    for (size_t n = 0; n < tab->entries.n; n++) {
        size_t i = (size_t)tab->entries.items[n].hash & mask;

        while (tab->index[i] != TC_NO_SYM)
            i = (i + 1) & mask;
        tab->index[i] = (tc_sym)n;
    }
}

tc_sym tc_strtab_intern(struct tc_strtab *tab, const void *text, size_t size)
{
    uint64_t hash = tc_hash64(text, size, 0);
    size_t i = find_slot(tab, text, size, hash);
    struct entry e = {NULL, size, hash};

    if (tab->index[i] != TC_NO_SYM)
        return tab->index[i];
    if (tab->entries.n >= TC_NO_SYM)
        tc_out_of_memory();
    if ((tab->entries.n + 1) * 2 > tab->cap) {
        grow(tab);
        i = find_slot(tab, text, size, hash);
    }
    e.text = tc_arena_text(&tab->arena, text, size);
    tab->index[i] = (tc_sym)tab->entries.n;
    tc_vec_push(&tab->entries, e);
    return tab->index[i];
}

tc_sym tc_strtab_intern_text(struct tc_strtab *tab, const char *text)
{
    return tc_strtab_intern(tab, text, strlen(text));
}

tc_sym tc_strtab_find(const struct tc_strtab *tab, const void *text, size_t size)
{
    return tab->index[find_slot(tab, text, size, tc_hash64(text, size, 0))];
}

const char *tc_strtab_text(const struct tc_strtab *tab, tc_sym sym)
{
    return tab->entries.items[sym].text;
}

size_t tc_strtab_size(const struct tc_strtab *tab, tc_sym sym)
{
    return tab->entries.items[sym].size;
}

size_t tc_strtab_count(const struct tc_strtab *tab)
{
    return tab->entries.n;
}
