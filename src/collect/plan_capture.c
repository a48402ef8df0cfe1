/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_capture.c - which options fit --plan, and a line about the plans that a job left
 *
 * Options are checked before anything is started: each process would find the fault only when its
 * first step begins. Files are known by their names.
 */
#include "collect/plan_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"

/* Of options that mean nothing without --plan the first that was given, or NULL. */
static const char *needs_plan(const struct tc_collect_config *config)
{
    return config->plan_world    ? "--plan-world"
           : config->plan_ranks  ? "--plan-ranks"
           : config->plan_layout ? "--plan-layout"
           : config->plan_step   ? "--plan-step"
           : config->plan_jobs   ? "--jobs"
                                 : NULL;
}

/* Of options that are about traces the first that was given, or NULL. */
static const char *about_traces(const struct tc_collect_config *config)
{
    return config->output_dir          ? "--output-dir"
           : config->n_invariants      ? "--invariants"
           : config->n_instrument      ? "--instrument"
           : config->apis_file         ? "--apis"
           : config->sampling_interval ? "--sampling-interval"
           : config->budget            ? "--budget"
           : config->keep              ? "--keep"
           : config->strict            ? "--strict"
                                       : NULL;
}

/* A rank of the list, which *text is moved behind; false if there is none. */
static bool read_rank(const char **text, unsigned world, unsigned long *rank)
{
    char *end;

    if (!strchr("0123456789", **text) || !**text)
        return false;
    *rank = strtoul(*text, &end, 10);
    *text = end;
    return *rank < world;
}

/* "0-3,8" */
static bool is_rank_list(const char *text, unsigned world)
{
    unsigned long first, last;

    do {
        if (!read_rank(&text, world, &first))
            return false;
        last = first;
        if (*text == '-' && (text++, !read_rank(&text, world, &last)))
            return false;
        if (last < first)
            return false;
    } while (*text == ',' && *++text);
    return !*text;
}

static enum tc_status check_ranks(const struct tc_collect_config *config, struct tc_error *err)
{
    if (config->plan_world && config->form == TC_COLLECT_COMMAND)
        return tc_error_set(err, TC_E_USAGE,
                            "--plan-world starts the ranks itself: give it the script, not the "
                            "command that launches it");
    if (config->plan_ranks && !config->plan_world)
        return tc_error_set(err, TC_E_USAGE, "--plan-ranks needs --plan-world");
    if (config->plan_jobs && !config->plan_world)
        return tc_error_set(err, TC_E_USAGE, "--jobs needs --plan-world");
    if (config->plan_ranks && !is_rank_list(config->plan_ranks, config->plan_world))
        return tc_error_set(err, TC_E_USAGE,
                            "--plan-ranks '%s' is no list of ranks below %u, as 0-3,8",
                            config->plan_ranks, config->plan_world);
    return TC_OK;
}

/* Each process of the job reads it when its first step begins: what is wrong is told before. */
static enum tc_status check_layout(const char *path, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct stat info;
    enum tc_status status;

    if (!path)
        return TC_OK;
    if (stat(path, &info) != 0)
        return errno == ENOENT ? tc_error_set(err, TC_E_NOTFOUND, "%s: no such layout file", path)
                               : tc_error_set(err, TC_E_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return tc_error_set(err, TC_E_FORMAT, "%s: %s, not a layout file", path,
                            S_ISDIR(info.st_mode) ? "a folder" : "no regular file");
    status = tc_fs_read(path, TC_FS_MAX_SMALL, &text, err);
    tc_strbuf_release(&text);
    return status;
}

enum tc_status tc_plan_check_options(const struct tc_collect_config *config, struct tc_error *err)
{
    const char *option = config->plan ? about_traces(config) : needs_plan(config);
    enum tc_status status;

    if (option && config->plan)
        return tc_error_set(err, TC_E_USAGE, "%s is about traces; --plan writes none", option);
    if (option)
        return tc_error_set(err, TC_E_USAGE, "%s needs --plan", option);
    status = check_layout(config->plan_layout, err);
    return status == TC_OK ? check_ranks(config, err) : status;
}

bool tc_plan_is_file(const char *name)
{
    return strncmp(name, "plan-", 5) == 0 && strstr(name, ".jsonl");
}

enum tc_status tc_plan_describe(const char *dir, struct tc_strbuf *out, size_t *n,
                                struct tc_error *err)
{
    char **names;
    size_t n_names;
    enum tc_status status = tc_fs_list(dir, &names, &n_names, err);

    *n = 0;
    if (status != TC_OK)
        return status;
    for (size_t i = 0; i < n_names; i++)
        *n += tc_plan_is_file(names[i]);
    tc_fs_list_free(names, n_names);
    tc_strbuf_addf(out, "%zu plan%s", *n, *n == 1 ? "" : "s");
    return TC_OK;
}
