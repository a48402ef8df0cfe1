#include "collect/collect.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/fs.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "collect/launch.h"
#include "collect/python.h"
#include "collect/select.h"

struct run {
    const struct tc_collect_config *config;
    struct tc_python python;
    char *output_dir;
    TC_VEC(char *) argv; /* borrowed strings */
};

static void release(struct run *run)
{
    tc_python_release(&run->python);
    tc_free(run->output_dir);
    tc_vec_release(&run->argv);
}

/* traincheck_<script>_<date-time> */
static char *default_dir(const struct tc_collect_config *config)
{
    const char *base = tc_fs_base(config->target[0]);
    size_t n = strlen(base);
    struct tc_strbuf name = TC_STRBUF_INIT;
    time_t now = time(NULL);
    struct tm local;
    char stamp[32];

    if (n > 3 && strcmp(base + n - 3, ".py") == 0)
        n -= 3;
    localtime_r(&now, &local);
    strftime(stamp, sizeof(stamp), "%Y-%m-%d_%H-%M-%S", &local);
    tc_strbuf_addf(&name, "traincheck_%.*s_%s", (int)n, base, stamp);
    return tc_strbuf_take(&name);
}

static bool is_trace(const char *name)
{
    return strncmp(name, "trace_", 6) == 0;
}

/* Children with another working directory need the absolute path. */
static enum tc_status make_absolute(struct run *run, const char *dir, struct tc_error *err)
{
    char path[PATH_MAX];

    if (!realpath(dir, path))
        return tc_error_set(err, TC_E_IO, "%s: %s", dir, strerror(errno));
    run->output_dir = tc_strdup(path);
    return TC_OK;
}

static enum tc_status remove_traces(const char *dir, char **names, size_t n, struct tc_error *err)
{
    for (size_t i = 0; i < n; i++) {
        char *path = is_trace(names[i]) ? tc_fs_join(dir, names[i]) : NULL;

        if (path && unlink(path) != 0) {
            tc_error_set(err, TC_E_IO, "%s: %s", path, strerror(errno));
            tc_free(path);
            return TC_E_IO;
        }
        tc_free(path);
    }
    return TC_OK;
}

static enum tc_status clear_traces(const char *dir, bool overwrite, struct tc_error *err)
{
    char **names;
    size_t n, n_traces = 0;
    enum tc_status status = tc_fs_list(dir, &names, &n, err);

    if (status != TC_OK)
        return status;
    for (size_t i = 0; i < n; i++)
        n_traces += is_trace(names[i]);
    if (n_traces && !overwrite)
        status =
            tc_error_set(err, TC_E_USAGE, "%s holds a trace already; --overwrite replaces it", dir);
    else if (n_traces)
        status = remove_traces(dir, names, n, err);
    tc_fs_list_free(names, n);
    return status;
}

static enum tc_status prepare_output(struct run *run, struct tc_error *err)
{
    const struct tc_collect_config *config = run->config;
    char *dir = config->output_dir ? tc_strdup(config->output_dir) : default_dir(config);
    enum tc_status status = tc_fs_mkdirs(dir, err);

    if (status == TC_OK)
        status = clear_traces(dir, config->overwrite, err);
    if (status == TC_OK)
        status = make_absolute(run, dir, err);
    tc_free(dir);
    return status;
}

static enum tc_status check_target(const struct tc_collect_config *config, struct tc_error *err)
{
    if (!config->n_target)
        return tc_error_set(err, TC_E_USAGE, "nothing to run");
    if (config->form == TC_COLLECT_SCRIPT && !tc_fs_exists(config->target[0]))
        return tc_error_set(err, TC_E_NOTFOUND, "%s: no such script", config->target[0]);
    return TC_OK;
}

static void build_argv(struct run *run)
{
    const struct tc_collect_config *config = run->config;

    if (config->form != TC_COLLECT_COMMAND)
        tc_vec_push(&run->argv, run->python.program);
    if (config->form == TC_COLLECT_MODULE)
        tc_vec_push(&run->argv, (char *)"-m");
    for (size_t i = 0; i < config->n_target; i++)
        tc_vec_push(&run->argv, (char *)config->target[i]);
    tc_vec_push(&run->argv, NULL);
}

static enum tc_status set_environment(const struct run *run, struct tc_error *err)
{
    struct tc_strbuf settings = TC_STRBUF_INIT;
    bool is_command = run->config->form == TC_COLLECT_COMMAND;
    enum tc_status status = tc_select_settings(run->config, run->output_dir, run->python.inject,
                                               is_command ? 0 : (long)getpid(), &settings, err);

    if (status == TC_OK && !is_command && !run->python.library)
        tc_strbuf_adds(&settings, "injected=1\n");
    if (status == TC_OK && setenv(TC_SETTINGS_VARIABLE, settings.text, 1) != 0)
        status = tc_error_set(err, TC_E_IO, "environment: %s", strerror(errno));
    tc_strbuf_release(&settings);
    return status;
}

static enum tc_status launch(struct run *run, int *exit_status, struct tc_error *err)
{
    if (run->config->form == TC_COLLECT_COMMAND)
        return tc_launch_command(&run->python, run->argv.items, exit_status, err);
    if (!run->python.library)
        return tc_launch_injected(&run->python, run->argv.items, err);
    return tc_launch_hosted(&run->python, (int)run->argv.n - 1, run->argv.items, exit_status, err);
}

/* The processes below a command say nothing themselves. */
static void report_command(const struct run *run)
{
    char **names;
    size_t n, n_files = 0;

    if (run->config->quiet || tc_fs_list(run->output_dir, &names, &n, NULL) != TC_OK)
        return;
    for (size_t i = 0; i < n; i++)
        n_files += is_trace(names[i]);
    tc_fs_list_free(names, n);
    fprintf(stderr, "traincheck-collect: %zu processes traced, in %s%s\n", n_files, run->output_dir,
            n_files ? "" : "; nothing was traced: no Python process imported torch");
}

enum tc_status tc_collect_run(const struct tc_collect_config *config, int *exit_status,
                              struct tc_error *err)
{
    struct run run = {.config = config};
    enum tc_status status = check_target(config, err);

    if (status == TC_OK)
        status = tc_python_find(config->python, &run.python, err);
    if (status == TC_OK)
        status = prepare_output(&run, err);
    if (status == TC_OK)
        status = set_environment(&run, err);
    if (status != TC_OK)
        goto out;
    build_argv(&run);
    status = launch(&run, exit_status, err);
    if (status == TC_OK && config->form == TC_COLLECT_COMMAND)
        report_command(&run);
out:
    release(&run);
    return status;
}
