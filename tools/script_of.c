/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script_of.c - the first word of the command, in the process record of a trace or of an excerpt
 */
#include "script_of.h"

#include <string.h>

#include "base/fs.h"
#include "base/vec.h"
#include "compare/excerpt.h"
#include "compare/healthy_run.h"
#include "infer/gaps.h"

static char *name_of(struct tc_str path)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_add(&text, path.text, path.size);
    char *name = tc_strdup(path.size ? tc_fs_base(text.text) : "");
    tc_strbuf_release(&text);
    return name;
}

char *script_of_trace(const char *trace, bool *has_begun)
{
    struct tc_trace_folder *folder;
    struct tc_error err;

    if (has_begun)
        *has_begun = false;
    if (tc_trace_folder_open(trace, NULL, &folder, &err) != TC_OK)
        return tc_strdup("");
    char *name = name_of(tc_folder_script(folder));
    if (has_begun)
        *has_begun = tc_folder_has_begun(folder);
    tc_trace_folder_close(folder);
    return name;
}

/* NULL if it is not reported. */
static char *script_of_excerpt(const struct tc_excerpt *excerpt)
{
    struct tc_healthy_run run;
    char *name = NULL;

    tc_healthy_run_read(&run, excerpt);
    const struct tc_value *argv = tc_value_get(&run.process, "argv");
    if (argv && argv->kind == TC_VALUE_ARRAY && argv->n && tc_value_str(&argv->items[0]).text)
        name = name_of(tc_value_str(&argv->items[0]));
    tc_healthy_run_release(&run);
    return name;
}

void script_sets_init(struct script_sets *sets, const char *const *files, size_t n)
{
    *sets = (struct script_sets){.scripts = tc_calloc(n + 1, sizeof(*sets->scripts)), .n = n};
    for (size_t i = 0; i < n; i++) {
        struct tc_excerpts excerpts = {0};
        if (tc_excerpts_are_in(files[i]) && !tc_excerpts_read(files[i], &excerpts, NULL) &&
            excerpts.items.n)
            sets->scripts[i] = script_of_excerpt(&excerpts.items.items[0]);
        tc_excerpts_release(&excerpts);
    }
}

void script_sets_release(struct script_sets *sets)
{
    for (size_t i = 0; i < sets->n; i++)
        tc_free(sets->scripts[i]);
    tc_free(sets->scripts);
    *sets = (struct script_sets){0};
}

bool script_sets_knows(const struct script_sets *sets, size_t i, const char *script)
{
    return !sets->scripts[i] || !strcmp(sets->scripts[i], script);
}
