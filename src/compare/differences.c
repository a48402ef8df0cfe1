/* SPDX-License-Identifier: Apache-2.0 */
/*
 * differences.c - a table of differences, each kept once with its count
 *
 * A difference is known by its kind, the site of the reference and the path. Beyond a limit further
 * ones are counted and not kept, so that a run that has nothing in common costs no more memory.
 */
#include "compare/differences.h"

#include "base/hash.h"

uint64_t tc_difference_key(const struct tc_difference *d)
{
    /* A call of the reference is one call, whatever line of the run it is. */
    const uint32_t site_b = d->site_a == TC_NO_SITE ? d->site_b : TC_NO_SITE;
    uint64_t key = tc_hash_mix(d->kind, d->what, d->path);

    return tc_hash_mix(key, d->site_a, site_b);
}

struct tc_difference *tc_differences_add(struct tc_differences *differences,
                                         const struct tc_difference *seen, bool *is_first)
{
    uint64_t *slot = tc_map_at(&differences->by_key, tc_difference_key(seen), is_first);
    struct tc_difference *d;

    if (*is_first) {
        if (differences->items.n >= TC_MAX_DIFFERENCES) {
            tc_map_remove(&differences->by_key, tc_difference_key(seen));
            differences->n_dropped++;
            return NULL;
        }
        d = tc_arena_copy(&differences->arena, seen, sizeof(*seen));
        d->n = d->n_windows = 1;
        d->last_window = seen->window;
        d->is_constant = true;
        *slot = (uint64_t)(uintptr_t)d;
        tc_vec_push(&differences->items, d);
        return d;
    }
    d = (struct tc_difference *)(uintptr_t)*slot;
    d->n++;
    d->n_windows += d->last_window != seen->window || d->rank != seen->rank;
    d->last_window = seen->window;
    d->is_constant &= d->hash_a == seen->hash_a && d->hash_b == seen->hash_b;
    return d;
}

void tc_differences_release(struct tc_differences *differences)
{
    tc_map_release(&differences->by_key);
    tc_vec_release(&differences->items);
    tc_arena_release(&differences->arena);
}

static const struct {
    const char *word, *title;
} kinds[] = {
#define X(name, word, title) {word, title},
    TC_DIFFERENCE_MAP(X)
#undef X
};

const char *tc_difference_word(enum tc_difference_kind kind)
{
    return kinds[kind].word;
}

const char *tc_difference_title(enum tc_difference_kind kind)
{
    return kinds[kind].title;
}

const char *tc_difference_what_word(enum tc_difference_what what)
{
    static const char *const words[] = {
#define X(name, word) word,
        TC_DIFFERENCE_WHAT_MAP(X)
#undef X
    };

    return words[what];
}
