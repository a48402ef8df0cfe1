/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer.h - options and work of traincheck-infer
 */
#ifndef TC_TOOLS_INFER_H
#define TC_TOOLS_INFER_H

#include "cli/app.h"

struct infer_options {
    struct tc_opt_list traces;
    struct tc_opt_list validate, add;
    struct tc_opt_list enable, disable;
    const char *output, *evidence, *failed, *profile;
    unsigned min_support, min_pipelines, jobs, verbose;
    bool specific, lean, keep_implied, no_excerpts, no_evidence, diff, json, list_relations,
        overwrite, progress, quiet;
};

extern const struct tc_opt_tool infer_tool;

tc_app_run_fn infer_run;

#endif /* TC_TOOLS_INFER_H */
