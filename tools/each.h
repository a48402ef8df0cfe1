/* SPDX-License-Identifier: Apache-2.0 */
/*
 * each.h - the runs of traincheck-check --each, and what an earlier check left of them
 */
#ifndef TC_TOOLS_EACH_H
#define TC_TOOLS_EACH_H

#include "base/json.h"
#include "check.h"

struct each_run {
    const char *trace;    /* as it was given; borrowed */
    char *folder;         /* of its reports, as seen from the output folder */
    char stamp[32];       /* of what it is checked by, and of names, sizes and times of its files */
    struct tc_json *line; /* of runs.jsonl; NULL: not checked yet */
    bool is_skipped;      /* the line is that of an earlier check */
};

struct each_runs {
    struct each_run *items;
    size_t n;
};

/*
 * One for each trace of the options, however often it is given, but for the output folder itself,
 * which a pattern such as ROOT/ * may name. Two traces of one name have folders NAME and NAME.2.
 * With --skip-checked those have a line of which the runs.jsonl there says that nothing has changed
 * since. Release the runs, also after an error.
 */
enum tc_status each_runs_list(struct each_runs *runs, const struct check_options *options,
                              struct tc_error *err);
void each_runs_release(struct each_runs *runs);

#endif /* TC_TOOLS_EACH_H */
