/* SPDX-License-Identifier: Apache-2.0 */
/*
 * family.c - the ranks that are searched together, as a grid
 *
 * Ranks whose programs are equal, or nearly so, and whose tensors have the same names are one
 * family. The axes along which they differ are the grid; of copies one stands for all.
 */
#include "plan/explain_state.h"

#include <string.h>

#include "base/hash.h"

/* Ranks that have tensors of the same names. Of copies one is spoken of: along their axis all
 * values are equal. */
static uint64_t names_of(const struct tc_plan_rank *rank)
{
    uint64_t hash = rank->results.n;

    for (size_t i = 0; i < rank->results.n; i++)
        hash = tc_hash_mix(hash, rank->results.items[i].name, i);
    return hash;
}

static bool is_kin(const struct tc_story *s, uint32_t rank, uint64_t family)
{
    return s->parallel->copies.of[rank] == rank && s->families[rank] == family;
}

/* A rank of another program that is much like the first rank's belongs to its family. */
static void find_families(struct tc_story *s, uint64_t family)
{
    const struct tc_plan_set *set = s->parallel;

    s->families = tc_arena_zalloc(&s->arena, set->world * sizeof(*s->families));
    s->known_as = tc_arena_zalloc(&s->arena, set->world * sizeof(*s->known_as));
    for (uint32_t r = 0; r < set->world; r++) {
        const struct tc_plan_rank *rank = &set->ranks[r];
        if (set->copies.of[r] != r || names_of(rank) != family)
            continue;
        bool is_same = rank->program->signature == s->program->signature &&
                       rank->program->ops.n == s->program->ops.n;
        for (uint32_t k = 0; k < r && !is_same && !s->known_as[r]; k++)
            if (set->ranks[k].program == rank->program)
                s->known_as[r] = s->known_as[k];
        if (!is_same && !s->known_as[r])
            s->known_as[r] = tc_story_align(s, rank);
        s->families[r] = is_same || s->known_as[r] ? family : ~family;
    }
}

static bool is_axis(const struct tc_story *s, const struct tc_plan_axis *axis, uint64_t family)
{
    const struct tc_plan_group *group = &s->parallel->groups.items[axis->group];

    if (axis->is_joined || group->n < 2)
        return false;
    for (uint32_t i = 0; i < group->n; i++)
        if (!is_kin(s, group->ranks[i], family))
            return false;
    return true;
}

static void find_axes(struct tc_story *s, uint64_t family)
{
    const struct tc_plan_rank *rank = s->rank;

    s->grid.n = 1;
    for (size_t i = 0; i < rank->mesh.n && s->grid.n_axes < TC_RELATE_MAX_AXES; i++)
        if (is_axis(s, &rank->mesh.items[i], family)) {
            unsigned a = s->grid.n_axes++;
            s->grid.names[a] = tc_strtab_text(s->parallel->names, rank->mesh.items[i].name);
            s->grid.sizes[a] = s->parallel->groups.items[rank->mesh.items[i].group].n;
            s->grid.n *= s->grid.sizes[a];
        }
    if (s->grid.n_axes)
        return;
    for (uint32_t r = 0; r < s->parallel->world; r++)
        s->grid.n += is_kin(s, r, family);
    s->grid.n--;
    s->grid.n_axes = s->grid.n > 1;
    s->grid.names[0] = "world";
    s->grid.sizes[0] = s->grid.n;
}

/* Its place by its indices in the groups of the axes. */
static uint32_t place_in_grid(const struct tc_story *s, const struct tc_plan_rank *rank)
{
    uint32_t place = 0;

    for (unsigned a = 0; a < s->grid.n_axes; a++) {
        int64_t index = -1;
        for (size_t i = 0; i < rank->mesh.n; i++)
            if (!strcmp(tc_strtab_text(s->parallel->names, rank->mesh.items[i].name),
                        s->grid.names[a]))
                index = tc_plan_group_index(&s->parallel->groups.items[rank->mesh.items[i].group],
                                            rank->rank);
        if (index < 0 || index >= s->grid.sizes[a])
            return TC_NO_OP;
        place = place * s->grid.sizes[a] + (uint32_t)index;
    }
    return place;
}

static bool place_ranks(struct tc_story *s, uint64_t family)
{
    uint32_t found = 0, next = 0;
    uint8_t *seen = tc_arena_zalloc(&s->arena, s->grid.n + 1);
    bool is_flat = s->grid.n_axes == 1 && !strcmp(s->grid.names[0], "world");

    s->place = tc_arena_alloc(&s->arena, s->parallel->world * sizeof(*s->place));
    for (uint32_t r = 0; r < s->parallel->world; r++) {
        const struct tc_plan_rank *rank = &s->parallel->ranks[r];
        s->place[r] = !is_kin(s, r, family) ? TC_NO_OP : is_flat ? next++ : place_in_grid(s, rank);
        if (s->grid.n_axes == 0)
            s->place[r] = rank == s->rank ? 0 : TC_NO_OP;
        if (s->place[r] < s->grid.n && !seen[s->place[r]]++)
            found++;
        else
            s->place[r] = TC_NO_OP;
    }
    return found == s->grid.n;
}

bool tc_story_find_family(struct tc_story *s)
{
    uint64_t family = names_of(s->rank);

    find_families(s, family);
    find_axes(s, family);
    return place_ranks(s, family);
}
