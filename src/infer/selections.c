/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selections.c - interests of selective traces, by the names of their pipelines
 *
 * There are few of them: a list is searched.
 */
#include "infer/selections.h"

#include <string.h>

static const struct tc_value *selection_of(const struct tc_trace_folder *folder)
{
    for (size_t i = 0; i < tc_trace_folder_n_files(folder); i++) {
        const struct tc_record *process = tc_trace_file_process(tc_trace_folder_file(folder, i));
        const struct tc_value *selection =
            process ? tc_value_get(process->object, "selection") : NULL;
        if (selection)
            return selection;
    }
    return NULL;
}

bool tc_folder_is_selective(const struct tc_trace_folder *folder)
{
    return selection_of(folder) != NULL;
}

void tc_selections_add(struct tc_selections *selections, const struct tc_trace_folder *folder,
                       const char *pipeline)
{
    const struct tc_value *selection = selection_of(folder);
    struct tc_selection added;

    if (!selection)
        return;
    added.pipeline = tc_strdup(pipeline);
    tc_interest_init(&added.traced);
    tc_interest_add_selection(&added.traced, selection);
    tc_vec_push(&selections->items, added);
}

void tc_selections_move(struct tc_selections *into, struct tc_selections *from)
{
    for (size_t i = 0; i < from->items.n; i++)
        tc_vec_push(&into->items, from->items.items[i]);
    from->items.n = 0;
    tc_vec_release(&from->items);
}

void tc_selections_release(struct tc_selections *selections)
{
    for (size_t i = 0; i < selections->items.n; i++) {
        tc_free(selections->items.items[i].pipeline);
        tc_interest_release(&selections->items.items[i].traced);
    }
    tc_vec_release(&selections->items);
}

static const struct tc_selection *selection_of_pipeline(const struct tc_selections *selections,
                                                        const char *pipeline)
{
    for (size_t i = 0; i < selections->items.n; i++)
        if (!strcmp(selections->items.items[i].pipeline, pipeline))
            return &selections->items.items[i];
    return NULL;
}

bool tc_selections_tell(const struct tc_selections *selections, const char *pipeline,
                        const struct tc_strtab *symbols, const struct tc_invariant *invariant)
{
    const struct tc_selection *selection = selection_of_pipeline(selections, pipeline);
    struct tc_strbuf what = TC_STRBUF_INIT;
    struct tc_interest needed;
    bool tells;

    if (!selection)
        return true;
    tc_interest_init(&needed);
    tc_interest_add(&needed, symbols, invariant);
    tells = !tc_interest_is_lacking(&selection->traced, &needed, &what);
    tc_interest_release(&needed);
    tc_strbuf_release(&what);
    return tells;
}
