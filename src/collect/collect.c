/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.c - the course of traincheck-collect: check, prepare, launch, report
 *
 * All that can fail for a reason of ours fails before the job begins, and what was made until then
 * is removed. From the launch on the exit status is the job's. If this process becomes the
 * interpreter it never comes back here: then the agent closes the run and prints the last line.
 */
#include "collect/collect.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "collect/board.h"
#include "collect/claim.h"
#include "collect/earlier.h"
#include "collect/launch.h"
#include "collect/peers.h"
#include "collect/plan_capture.h"
#include "collect/progress.h"
#include "collect/python.h"
#include "collect/recount.h"
#include "collect/select.h"
#include "trace/trim.h"

struct run {
    const struct tc_collect_config *config;
    struct tc_python python;
    char *output_dir;
    bool made_output; /* it was not there before */
    char *board;      /* path of it, for the processes below; NULL if there is none */
    char job[TC_JOB_SIZE];
    TC_VEC(char *) argv; /* borrowed strings */
};

static void release(struct run *run)
{
    tc_python_release(&run->python);
    tc_free(run->output_dir);
    tc_free(run->board);
    tc_vec_release(&run->argv);
    tc_claim_leave();
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

/* Children with another working directory need the absolute path. The folder may not be there. */
static enum tc_status name_output(struct run *run, struct tc_error *err)
{
    const struct tc_collect_config *config = run->config;
    const char *asked = config->plan ? config->plan : config->output_dir;
    char *dir = asked ? tc_strdup(asked) : default_dir(config);
    char folder[PATH_MAX];
    enum tc_status status = TC_OK;

    if (!*dir)
        status = tc_error_set(err, TC_E_USAGE, "the name of the output folder is empty");
    else if (dir[0] == '/')
        run->output_dir = tc_strdup(dir);
    else if (getcwd(folder, sizeof(folder)))
        run->output_dir = tc_fs_join(folder, dir);
    else
        status = tc_error_set(err, TC_E_IO, "the working folder: %s", strerror(errno));
    if (status == TC_OK && strchr(run->output_dir, '\n')) /* it is told in one line */
        status = tc_error_set(err, TC_E_USAGE, "the output folder has a newline in its path");
    tc_free(dir);
    return status;
}

/* Of an earlier run: it is in the way, or replaced. */
static bool is_old(const struct run *run, const char *name)
{
    if (run->config->plan)
        return tc_plan_is_file(name);
    return tc_trim_is_marks(name) ||
           (is_trace(name) && !tc_peers_is_of_job(run->output_dir, name, run->job));
}

/* Is it a file of somebody else? Folders and hidden files, as on a new volume, are not counted. */
static bool is_stranger(const struct run *run, const char *name)
{
    char *path = tc_fs_join(run->output_dir, name);
    const bool is_folder = tc_fs_is_dir(path);

    tc_free(path);
    return name[0] != '.' && !is_folder;
}

static bool is_ours(const char *name)
{
    return is_trace(name) || tc_trim_is_marks(name) || tc_plan_is_file(name);
}

/* A folder that holds other people's files alone was perhaps named by mistake. */
static enum tc_status check_folder(const struct run *run, char *const *names, size_t n,
                                   struct tc_error *err)
{
    const char *what = run->config->plan ? "plan" : "trace";
    bool has_ours = false, has_stranger = false;

    for (size_t i = 0; i < n; i++) {
        has_ours |= is_ours(names[i]);
        has_stranger |= is_stranger(run, names[i]);
    }
    if (has_ours || !has_stranger || run->config->overwrite)
        return TC_OK;
    return tc_error_set(err, TC_E_USAGE,
                        "%s holds other files and no %s; --overwrite writes the %s among them",
                        run->output_dir, what, what);
}

static enum tc_status remove_old(const struct run *run, const char *name, struct tc_error *err)
{
    char *path = tc_fs_join(run->output_dir, name);
    enum tc_status status = TC_OK;

    if (unlink(path) != 0)
        status = tc_error_set(err, TC_E_IO, "%s: %s", path, strerror(errno));
    tc_free(path);
    return status;
}

static enum tc_status clear_output(const struct run *run, struct tc_error *err)
{
    const struct tc_collect_config *config = run->config;
    char **names;
    size_t n;
    enum tc_status status = tc_fs_list(run->output_dir, &names, &n, err);

    if (status == TC_OK)
        status = check_folder(run, names, n, err);
    for (size_t i = 0; i < n && status == TC_OK; i++) {
        if (!is_old(run, names[i]))
            continue;
        if (config->overwrite)
            status = remove_old(run, names[i], err);
        else
            status = tc_error_set(err, TC_E_USAGE, "%s holds %s already; --overwrite replaces %s",
                                  run->output_dir, config->plan ? "plans" : "a trace",
                                  config->plan ? "them" : "it");
    }
    tc_fs_list_free(names, n);
    return status;
}

/* Will this process become the interpreter by exec? */
static bool is_replaced(const struct run *run)
{
    return run->config->form != TC_COLLECT_COMMAND && !run->python.library && !run->config->strict;
}

static enum tc_status prepare_output(struct run *run, struct tc_error *err)
{
    bool is_shared;
    enum tc_status status;

    run->made_output = !tc_fs_exists(run->output_dir);
    status = tc_fs_mkdirs_private(run->output_dir, err);
    if (status == TC_OK)
        status = tc_claim_folder(run->output_dir, is_replaced(run), &is_shared, err);
    if (status == TC_OK && !is_shared)
        status = clear_output(run, err);
    return status;
}

/* A launcher where a script is expected: its name has no suffix, and there is such a program. */
static bool looks_like_command(const char *name)
{
    struct tc_strbuf path = TC_STRBUF_INIT;
    const char *rest = getenv("PATH");
    bool found = false;

    for (; rest && *rest && !strpbrk(name, "./") && !found; rest += *rest == ':') {
        size_t size = strcspn(rest, ":");

        tc_strbuf_reset(&path);
        tc_strbuf_addf(&path, "%.*s/%s", (int)size, rest, name);
        found = access(path.text, X_OK) == 0;
        rest += size;
    }
    tc_strbuf_release(&path);
    return found;
}

static enum tc_status check_target(const struct tc_collect_config *config, struct tc_error *err)
{
    if (!config->n_target)
        return tc_error_set(err, TC_E_USAGE, "nothing to run");
    if (config->form == TC_COLLECT_SCRIPT && strcmp(config->target[0], "-") != 0 &&
        !tc_fs_exists(config->target[0]))
        return tc_error_set(err, TC_E_NOTFOUND, "%s: no such script%s", config->target[0],
                            looks_like_command(config->target[0])
                                ? "; to trace what a command starts, write -- before it"
                                : "");
    return TC_OK;
}

static enum tc_status check_sampling(const struct tc_collect_config *config, struct tc_error *err)
{
    if (config->budget && config->sampling_interval)
        return tc_error_set(err, TC_E_USAGE,
                            "--budget and --sampling-interval both say which steps are traced");
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

/* Is this process the interpreter, hosted or by exec? Then it closes the run itself. */
static bool is_job(const struct run *run)
{
    return run->config->form != TC_COLLECT_COMMAND && (run->python.library || is_replaced(run));
}

/* A word that a shell takes as it stands, else none: a command is told only if it can be typed. */
static bool add_word(struct tc_strbuf *out, const char *word)
{
    for (const char *p = word; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("@%+=:,./_-", *p))
            return false;
    tc_strbuf_addf(out, " %s", word);
    return true;
}

/* What was traced for invariants is judged by them; else it is learned from. The folder as it was
 * named. */
static void announce(const struct run *run)
{
    const struct tc_collect_config *config = run->config;
    const char *dir = config->output_dir ? config->output_dir : tc_fs_base(run->output_dir);
    struct tc_strbuf next = TC_STRBUF_INIT;
    struct tc_strbuf earlier = TC_STRBUF_INIT;
    const struct tc_command_words command = {config->target, config->n_target};
    bool is_check = config->n_invariants > 0, is_plain = true;

    tc_strbuf_adds(&next, is_check ? "traincheck-check" : "traincheck-infer --specific");
    if (!is_check && !config->plan && isatty(STDERR_FILENO) &&
        tc_collect_earlier(&command, dir, &earlier))
        is_plain = add_word(&next, earlier.text);
    is_plain &= add_word(&next, dir);
    tc_strbuf_adds(&next, is_check ? " -i" : " -o invariants.jsonl");
    for (size_t i = 0; i < config->n_invariants; i++)
        is_plain &= add_word(&next, config->invariants[i]);
    tc_board_announce(run->python.program, is_plain && !config->plan ? next.text : NULL);
    tc_strbuf_release(&next);
    tc_strbuf_release(&earlier);
}

static enum tc_status set_environment(struct run *run, struct tc_error *err)
{
    struct tc_strbuf settings = TC_STRBUF_INIT;
    struct tc_select_run what = {.output_dir = run->output_dir, .inject = run->python.inject};
    enum tc_status status;

    run->board = tc_board_make(is_replaced(run));
    tc_peers_name_job(run->job);
    what.board = run->board;
    what.job = run->job;
    what.main_pid = is_job(run) ? (long)getpid() : 0;
    what.is_injected = is_replaced(run);
    status = tc_select_settings(run->config, &what, &settings, err);
    if (status == TC_OK && setenv(TC_SETTINGS_VARIABLE, settings.text, 1) != 0)
        status = tc_error_set(err, TC_E_IO, "environment: %s", strerror(errno));
    tc_strbuf_release(&settings);
    return status;
}

static enum tc_status launch_child(struct run *run, int *exit_status, struct tc_error *err)
{
    enum tc_status status;

    if (run->config->progress)
        tc_progress_start();
    status = tc_launch_command(&run->python, run->argv.items, exit_status, err);
    tc_progress_stop();
    return status;
}

static enum tc_status launch(struct run *run, int *exit_status, struct tc_error *err)
{
    if (is_replaced(run))
        return tc_launch_injected(&run->python, run->argv.items, err);
    if (is_job(run))
        return tc_launch_hosted(&run->python, (int)run->argv.n - 1, run->argv.items, exit_status,
                                err);
    return launch_child(run, exit_status, err);
}

/* The processes below a command say nothing themselves. */
static void report_child(const struct run *run, int exit_status)
{
    struct tc_strbuf line = TC_STRBUF_INIT;
    struct tc_board_totals totals;

    tc_board_sum(&totals);
    tc_recount(run->output_dir, &totals);
    tc_strbuf_adds(&line, "traincheck-collect: ");
    if (run->board)
        tc_board_describe(&line, &totals);
    else
        tc_strbuf_adds(&line, "no shared memory, so nobody counted the records");
    tc_strbuf_addf(&line, " in %s", run->output_dir);
    if (run->board)
        tc_board_describe_losses(&line, &totals);
    const char *next = tc_board_next(&totals, exit_status);
    if (next)
        tc_strbuf_addf(&line, "\ntraincheck-collect: next: %s", next);
    fprintf(stderr, "%s\n", line.text);
    tc_strbuf_release(&line);
}

/* A job that ended well without a plan did not do what it was started for. */
static enum tc_status report_plans(const struct run *run, int *exit_status, struct tc_error *err)
{
    struct tc_strbuf line = TC_STRBUF_INIT;
    size_t n;
    enum tc_status status = tc_plan_describe(run->output_dir, &line, &n, err);

    if (status == TC_OK && !run->config->quiet)
        fprintf(stderr, "traincheck-collect: %s in %s\n", line.text, run->output_dir);
    if (status == TC_OK && !n && *exit_status == 0)
        *exit_status = TC_COLLECT_FAILED;
    tc_strbuf_release(&line);
    return status;
}

/* A job that failed by itself keeps its own status. */
static void apply_strict(int *exit_status)
{
    struct tc_board_totals totals;

    tc_board_sum(&totals);
    if (*exit_status == 0 && tc_board_has_losses(&totals))
        *exit_status = TC_COLLECT_FAILED;
}

static enum tc_status find_python(struct run *run, struct tc_error *err)
{
    const struct tc_collect_config *config = run->config;

    if (config->form == TC_COLLECT_COMMAND && !config->python)
        return tc_python_find_agents(&run->python, err);
    return tc_python_find(config->python, &run->python, err);
}

static void say_how(const struct run *run)
{
    const struct tc_python *python = &run->python;

    if (python->program)
        fprintf(stderr, "traincheck-collect: Python %s, %s, %s\n", python->version, python->program,
                python->library ? python->library : "no shared library");
    fprintf(stderr, "traincheck-collect: %s, trace in %s\n",
            is_job(run) && python->library ? "traced in this process"
                                           : "traced by the agent in PYTHONPATH",
            run->output_dir);
}

/* A script of ours, run by the user's interpreter, prints them. */
static enum tc_status list_apis(const struct tc_collect_config *asked, int *exit_status,
                                struct tc_error *err)
{
    struct tc_collect_config config = *asked;
    struct run run = {.config = &config};
    enum tc_status status = tc_python_find(asked->python, &run.python, err);
    char *script = NULL;
    const char *target;

    if (status == TC_OK)
        script = tc_fs_join(run.python.inject, "list_apis.py");
    target = script;
    config.form = TC_COLLECT_SCRIPT;
    config.target = &target;
    config.n_target = 1;
    if (status == TC_OK)
        status = set_environment(&run, err);
    if (status == TC_OK) {
        build_argv(&run);
        status = launch(&run, exit_status, err);
    }
    tc_free(script);
    release(&run);
    return status;
}

enum tc_status tc_collect_run(const struct tc_collect_config *config, int *exit_status,
                              struct tc_error *err)
{
    struct run run = {.config = config};
    enum tc_status status;

    if (config->list_apis)
        return list_apis(config, exit_status, err);
    status = tc_plan_check_options(config, err);
    if (status == TC_OK)
        status = check_sampling(config, err);
    if (status == TC_OK)
        status = check_target(config, err);
    if (status == TC_OK)
        status = find_python(&run, err);
    if (status == TC_OK)
        status = name_output(&run, err);
    if (status == TC_OK)
        status = set_environment(&run, err);
    if (status == TC_OK) /* last: what fails before it leaves nothing behind */
        status = prepare_output(&run, err);
    if (status != TC_OK)
        goto out;
    announce(&run);
    if (config->verbose && !config->quiet)
        say_how(&run);
    build_argv(&run);
    status = launch(&run, exit_status, err);
    if (status != TC_OK && run.made_output)
        rmdir(run.output_dir); /* nothing ran */
    if (status != TC_OK)
        goto out;
    if (!is_job(&run) && config->plan)
        status = report_plans(&run, exit_status, err);
    else if (!is_job(&run) && !config->quiet)
        report_child(&run, *exit_status);
    if (config->strict)
        apply_strict(exit_status);
out:
    release(&run);
    return status;
}
