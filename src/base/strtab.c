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
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define MIN_CAP ((size_t)64)

struct entry {
    const char *text;
    size_t size;
    uint64_t hash;
    const tc_sym *words; /* NULL: it was not made of any */
    size_t n_words;
};

struct tc_strtab {
    struct tc_arena arena;
    TC_VEC(struct entry) entries;
    tc_sym *index;        /* TC_NO_SYM: free */
    size_t cap;           /* of index, a power of two */
    struct tc_map joined; /* hash of words → the text they make */
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
    tc_map_release(&tab->joined);
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
    struct entry e = {.size = size, .hash = hash};

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

/* ---- words --------------------------------------------------------------------------------- */

static void keep_words(struct tc_strtab *tab, tc_sym sym, const tc_sym *words, size_t n)
{
    struct entry *e = &tab->entries.items[sym];

    if (e->words)
        return;
    e->words = tc_arena_copy(&tab->arena, words, n * sizeof(*words));
    e->n_words = n;
}

static tc_sym join_texts(struct tc_strtab *tab, const tc_sym *words, size_t n)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (size_t i = 0; i < n; i++) {
        const struct entry *word = &tab->entries.items[words[i]];
        if (i)
            tc_strbuf_addc(&text, ' ');
        tc_strbuf_add(&text, word->text, word->size);
    }
    tc_sym sym = tc_strtab_intern(tab, text.text, text.size);
    tc_strbuf_release(&text);
    return sym;
}

tc_sym tc_strtab_join(struct tc_strtab *tab, const tc_sym *words, size_t n)
{
    bool is_new;
    uint64_t *slot = tc_map_at(&tab->joined, tc_hash64(words, n * sizeof(*words), n), &is_new);
    const struct entry *e = &tab->entries.items[*slot];

    if (!is_new && e->n_words == n && !memcmp(e->words, words, n * sizeof(*words)))
        return (tc_sym)*slot;
    tc_sym sym = join_texts(tab, words, n);
    keep_words(tab, sym, words, n);
    *slot = sym;
    return sym;
}

bool tc_strtab_split(struct tc_strtab *tab, tc_sym sym, tc_sym *words, size_t n)
{
    const struct entry e = tab->entries.items[sym];
    const char *at = e.text, *end = e.text + e.size, *stops[8];
    size_t i = 0;

    if (e.n_words == n) {
        memcpy(words, e.words, n * sizeof(*words));
        return true;
    }
    while (i + 1 < n && (stops[i] = memchr(at, ' ', (size_t)(end - at))))
        at = stops[i++] + 1;
    if (i + 1 < n)
        return false;
    stops[i] = end;
    at = e.text;
    for (i = 0; i < n; at = stops[i++] + 1)
        words[i] = tc_strtab_intern(tab, at, (size_t)(stops[i] - at));
    keep_words(tab, sym, words, n);
    return true;
}

const tc_sym *tc_strtab_words(const struct tc_strtab *tab, tc_sym sym, size_t *n)
{
    *n = tab->entries.items[sym].n_words;
    return tab->entries.items[sym].words;
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

void tc_strtab_add_all(struct tc_strtab *to, const struct tc_strtab *from)
{
    for (tc_sym i = 0; i < tc_strtab_count(from); i++)
        tc_strtab_intern(to, tc_strtab_text(from, i), tc_strtab_size(from, i));
}

bool tc_strtab_has_all(const struct tc_strtab *tab, const struct tc_strtab *of)
{
    for (tc_sym i = 0; i < tc_strtab_count(of); i++)
        if (tc_strtab_find(tab, tc_strtab_text(of, i), tc_strtab_size(of, i)) == TC_NO_SYM)
            return false;
    return true;
}

int tc_compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int tc_compare_symbols(const void *a, const void *b, void *tab)
{
    return strcmp(tc_strtab_text(tab, *(const tc_sym *)a), tc_strtab_text(tab, *(const tc_sym *)b));
}
