/* SPDX-License-Identifier: Apache-2.0 */
/*
 * found_steps.c - steps of violations, in memory and as a file beside the traces
 */
#include "online/found_steps.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "check/engine.h"
#include "trace/trim.h"

void tc_found_steps_take(struct tc_found_steps *found, const struct tc_engine *engine)
{
    size_t n;
    struct tc_violation **violations = tc_engine_violations(engine, &n);

    found->items.n = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < violations[i]->n_steps; k++)
            tc_vec_push(&found->items, violations[i]->steps[k]);
        if (violations[i]->last_step >= 0)
            tc_vec_push(&found->items, violations[i]->last_step);
    }
    tc_free(violations);
}

void tc_found_steps_release(struct tc_found_steps *found)
{
    tc_vec_release(&found->items);
}

/* Path of the first file that asks for it; NULL: none does. */
static const char *find_kept(const struct tc_trace_folder *folder)
{
    for (size_t i = 0; i < tc_trace_folder_n_files(folder); i++) {
        struct tc_trace_file *file = tc_trace_folder_file(folder, i);
        if (tc_value_get(tc_trace_file_process(file)->object, "keep"))
            return tc_trace_file_path(file);
    }
    return NULL;
}

static void name_file(const char *beside, struct tc_strbuf *out)
{
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    tc_strbuf_add(out, beside, (size_t)(tc_fs_base(beside) - beside));
    tc_strbuf_addf(out, TC_TRIM_MARKS_BEGIN "%s_%ld" TC_TRIM_MARKS_END, host, (long)getpid());
}

enum tc_status tc_found_steps_mark(struct tc_found_steps *found,
                                   const struct tc_trace_folder *folder, struct tc_error *err)
{
    const char *kept = found->items.n > found->n_marked ? find_kept(folder) : NULL;
    struct tc_strbuf path = TC_STRBUF_INIT, text = TC_STRBUF_INIT;

    if (!kept)
        return TC_OK;
    for (size_t i = 0; i < found->items.n; i++)
        tc_strbuf_addf(&text, "%" PRId64 "\n", found->items.items[i]);
    name_file(kept, &path);
    const enum tc_status status = tc_fs_write(path.text, text.text, text.size, err);
    if (!status)
        found->n_marked = found->items.n;
    tc_strbuf_release(&path);
    tc_strbuf_release(&text);
    return status;
}
