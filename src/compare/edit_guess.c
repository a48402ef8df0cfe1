/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit_guess.c - edits of the sources, weighed by the words of a difference
 */
#include "compare/edit_guess.h"

#include "compare/edited_line.h"
#include "compare/script_edit.h"
#include "compare/two_runs.h"

struct edit {
    struct tc_edited_lines lines;
    struct tc_map words;
};

struct edits {
    TC_VEC(struct edit) items;
};

static void add_edit(void *edits, const struct tc_script_edit *edit,
                     const struct tc_edited_lines *lines)
{
    struct edit item = {.lines = *lines, .words = tc_words_of_edit(edit)};

    item.lines.is_guess = true;
    tc_vec_push(&((struct edits *)edits)->items, item);
}

static void add_words_of_site(const struct tc_comparison *c, const struct tc_scripts *scripts,
                              uint32_t site, struct tc_map *words)
{
    if (site == TC_NO_SITE)
        return;
    const struct tc_call_site *s = &c->sites.items.items[site];
    tc_words_of_text(words, tc_short_name(tc_strtab_text(c->symbols, s->fn)));
    tc_words_of_place(words, scripts, tc_strtab_text(c->symbols, s->at));
}

static struct tc_map words_of_difference(const struct tc_comparison *c,
                                         const struct tc_difference *d)
{
    struct tc_map words = TC_MAP_INIT;

    add_words_of_site(c, &c->reference.scripts, d->site_a, &words);
    add_words_of_site(c, &c->run.scripts, d->site_b, &words);
    tc_words_of_text(&words, tc_strtab_text(c->symbols, d->path));
    return words;
}

static const struct edit *likeliest(const struct tc_comparison *c, const struct edits *edits,
                                    const struct tc_map *n_lines, const struct tc_difference *d)
{
    const struct edit *best = NULL;
    double most = 0;

    if (edits->items.n == 1)
        return &edits->items.items[0];
    struct tc_map words = words_of_difference(c, d);
    for (size_t i = 0; i < edits->items.n; i++) {
        const double share = tc_words_share(&edits->items.items[i].words, &words, n_lines);
        if (share > most) {
            most = share;
            best = &edits->items.items[i];
        }
    }
    tc_map_release(&words);
    return best;
}

/* Something else than the sources may be the reason. */
static bool has_other_reason(const struct tc_comparison *c)
{
    for (size_t i = 0; i < c->differences.items.n; i++)
        if (c->differences.items.items[i]->is_seed)
            return true;
    return tc_comparison_is_started_otherwise(c);
}

static void guess(const struct tc_comparison *c, struct tc_difference *d)
{
    struct edits edits = {0};
    struct tc_map n_lines = tc_words_by_line(&c->run.scripts);

    tc_script_edits_each(&c->run.scripts, add_edit, &edits);
    const struct edit *edit = likeliest(c, &edits, &n_lines, d);
    if (edit)
        d->edited = edit->lines;
    for (size_t i = 0; i < edits.items.n; i++)
        tc_map_release(&edits.items.items[i].words);
    tc_vec_release(&edits.items);
    tc_map_release(&n_lines);
}

void tc_edit_guess(struct tc_comparison *c)
{
    struct tc_difference *first = tc_comparison_first(c);

    if (first && first->aside == TC_ASIDE_NO && !tc_is_edited(&first->edited) &&
        !has_other_reason(c))
        guess(c, first);
}
