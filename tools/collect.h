/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.h - options and work of traincheck-collect
 */
#ifndef TC_TOOLS_COLLECT_H
#define TC_TOOLS_COLLECT_H

#include <limits.h>

#include "cli/app.h"
#include "collect/collect.h"

#define TC_CONTENT_NOT_GIVEN UINT_MAX

struct collect_options {
    struct tc_opt_list target;       /* the script, module or command, and its arguments */
    const char *module;              /* -m */
    const char *pyscript, *shscript; /* the same, as the Python tool spells it */
    struct tc_opt_list invariants, instrument, models;
    unsigned overflow;               /* enum tc_collect_overflow */
    unsigned argv;                   /* enum tc_collect_argv */
    unsigned content;                /* the place in off|batches|full, or TC_CONTENT_NOT_GIVEN */
    struct tc_collect_config config; /* all else; completed by collect_run */
    bool dashes;                     /* the target stood after -- */
    bool use_config;                 /* of the Python tool: no meaning here */
    bool operators;                  /* what is the default without it */
};

extern const struct tc_opt_tool collect_tool;

tc_app_run_fn collect_run;

/* For --version: the interpreter that would be used. */
void collect_version(struct tc_strbuf *out);

#endif /* TC_TOOLS_COLLECT_H */
