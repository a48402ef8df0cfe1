/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deleting.c - one trimmer for each file of a folder
 *
 * Findings are reported once a step was judged, so a frame goes only when all its steps were, and
 * with some distance: what surrounds a finding stays.
 */
#include "online/deleting.h"

#include "base/vec.h"
#include "trace/trim.h"

#define HEAD ((uint64_t)16 << 20) /* most bytes that stay for the first steps of a file */

struct tc_deleting {
    const struct tc_trace_folder *folder;
    const struct tc_found_steps *found;
    TC_VEC(struct tc_trim *) files; /* NULL: not begun */
    uint64_t freed;
};

struct tc_deleting *tc_deleting_new(const struct tc_trace_folder *folder,
                                    const struct tc_found_steps *found)
{
    struct tc_deleting *d = tc_calloc(1, sizeof(*d));

    d->folder = folder;
    d->found = found;
    return d;
}

void tc_deleting_free(struct tc_deleting *deleting)
{
    if (!deleting)
        return;
    for (size_t i = 0; i < deleting->files.n; i++)
        tc_trim_close(deleting->files.items[i]);
    tc_vec_release(&deleting->files);
    tc_free(deleting);
}

/* An order to the trimmer of one file. */
struct asked {
    const struct tc_deleting *deleting;
    int64_t before; /* this step */
};

static bool keeps(void *context, int64_t first_step, int64_t last_step, bool *ends)
{
    const struct asked *asked = context;
    const struct tc_found_steps *found = asked->deleting->found;

    *ends = last_step != TC_NONE && last_step + TC_TRIM_AROUND >= asked->before;
    return *ends || tc_trim_is_near(found->items.items, found->items.n, first_step, last_step);
}

static enum tc_status trim_file(struct tc_deleting *d, size_t i, int64_t step, struct tc_error *err)
{
    const struct tc_trace_progress progress = tc_trace_folder_progress(d->folder, i);
    const char *path = tc_trace_file_path(tc_trace_folder_file(d->folder, i));
    struct asked asked = {d, progress.step < step ? progress.step : step};
    const struct tc_trim_order order = {UINT64_MAX, UINT64_MAX, keeps, &asked};
    struct tc_trim **trim = &d->files.items[i];
    enum tc_status status = TC_OK;
    uint64_t freed = 0;

    if (!*trim && asked.before <= TC_TRIM_HEAD_STEPS + TC_TRIM_AROUND)
        return TC_OK;
    if (!*trim)
        status = tc_trim_open(path, HEAD, trim, err);
    if (!status)
        status = tc_trim_run(*trim, &order, &freed, err);
    d->freed += freed;
    return status;
}

enum tc_status tc_deleting_run(struct tc_deleting *d, int64_t step, struct tc_error *err)
{
    enum tc_status status = TC_OK;

    while (d->files.n < tc_trace_folder_n_files(d->folder))
        tc_vec_push(&d->files, NULL);
    for (size_t i = 0; i < d->files.n && !status; i++)
        status = trim_file(d, i, step, err);
    return status;
}

uint64_t tc_deleting_freed(const struct tc_deleting *deleting)
{
    return deleting->freed;
}
