/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_watch.c - traincheck-onlinecheck --watch: every run that appears below a folder
 *
 * Each is followed by a traincheck-onlinecheck of its own, whose findings come as lines of JSON by
 * a pipe. So a run that is large, or a check that fails, is no matter of the others; and what is
 * kept of a run that has ended is a line in a file.
 */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "report/fleet.h"
#include "report/run.h"
#include "script_of.h"

#define LOOK_MS  500                  /* between looks at the folder */
#define MAX_NEW  16                   /* runs that one look begins: of thousands most have ended */
#define PAGE_NS  UINT64_C(5000000000) /* between two versions of the page */
#define MAX_TEXT ((size_t)1 << 20)    /* of a line of a check; what is longer is not reported */

struct followed {
    char *name, *trace, *script;
    pid_t pid;
    int fd;                  /* of its stdout; -1: closed */
    struct tc_strbuf unread; /* the beginning of a line */
};

struct watch {
    struct tc_app *app;
    const struct check_options *options;
    struct script_sets sets;
    struct tc_strtab *known;      /* names that were met, now or by an earlier watch */
    TC_VEC(struct followed) runs; /* that go on */
    char *lines, *page;           /* paths of runs.jsonl and index.html */
    uint64_t page_ns, looked_ns;
    bool is_page_old;
};

/* ---- one check ----------------------------------------------------------------------------- */

typedef TC_VEC(char *) words;

static void add_word(words *argv, const char *word)
{
    tc_vec_push(argv, tc_strdup(word));
}

static void add_value(words *argv, const char *option, const char *value)
{
    if (!value)
        return;
    add_word(argv, option);
    add_word(argv, value);
}

static void add_number(words *argv, const char *option, unsigned number)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "%u", number);
    add_value(argv, option, text.text);
    tc_strbuf_release(&text);
}

/* False: no set is for its script. */
static bool add_sets(const struct watch *watch, words *argv, const char *script)
{
    const struct tc_opt_list *files = &watch->options->invariants;
    bool is_any = false;

    for (size_t i = 0; i < files->n; i++) {
        if (!script_sets_knows(&watch->sets, i, script))
            continue;
        add_value(argv, "-i", files->items[i]);
        is_any = true;
    }
    return is_any;
}

static void add_options(const struct watch *watch, words *argv, const char *output_dir)
{
    const struct check_options *o = watch->options;

    add_word(argv, "--json");
    add_word(argv, "-q");
    add_value(argv, "-o", output_dir);
    add_value(argv, "--suppress", o->suppress);
    add_value(argv, "--on-violation", o->on_violation);
    add_number(argv, "--on-violation-timeout", o->on_violation_limit_s);
    add_number(argv, "--lateness", o->lateness_s);
    add_number(argv, "--exit-on-idle", o->idle_s);
    add_number(argv, "--report-interval", o->report_interval_s);
    add_number(argv, "--hang-after", o->hang_after_s);
    if (o->no_html_report)
        add_word(argv, "--no-html-report");
    if (o->delete_checked)
        add_word(argv, "--delete-checked");
    if (o->strict)
        add_word(argv, "--strict");
}

static int spawn(struct followed *run, char *const *argv)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    int fds[2], error;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    error = posix_spawn(&run->pid, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    run->fd = fds[0];
    fcntl(run->fd, F_SETFL, O_NONBLOCK);
    if (error)
        close(run->fd);
    return error;
}

static void free_run(struct followed *run)
{
    tc_free(run->name);
    tc_free(run->trace);
    tc_free(run->script);
    tc_strbuf_release(&run->unread);
}

/* script: the run takes it. */
static void begin_run(struct watch *watch, const char *name, char *script)
{
    struct followed run = {.name = tc_strdup(name),
                           .trace = tc_fs_join(watch->options->watch, name),
                           .script = script};
    char *output_dir = tc_fs_join(watch->options->output_dir, name);
    words argv = {0};
    int error = 0;

    add_word(&argv, "traincheck-onlinecheck");
    add_word(&argv, run.trace);
    const bool is_known = add_sets(watch, &argv, run.script);
    add_options(watch, &argv, output_dir);
    tc_vec_push(&argv, NULL);
    if (is_known)
        error = spawn(&run, argv.items);
    if (!is_known)
        tc_app_say(watch->app, "%s: no set of -i is for %s: it is not followed", run.trace,
                   *run.script ? run.script : "its script, which it does not name");
    else if (error)
        tc_app_error(watch->app, "%s: no check can be started: %s", run.trace, strerror(error));
    else
        tc_app_say(watch->app, "%s: followed", run.trace);
    if (is_known && !error)
        tc_vec_push(&watch->runs, run);
    else
        free_run(&run);
    for (size_t i = 0; i < argv.n; i++)
        tc_free(argv.items[i]);
    tc_vec_release(&argv);
    tc_free(output_dir);
}

/* ---- what checks say ----------------------------------------------------------------------- */

static void tell_line(const struct watch *watch, const struct followed *run, const char *text,
                      size_t size)
{
    struct tc_json *line;
    struct tc_strbuf out = TC_STRBUF_INIT;

    if (tc_json_parse(text, size, &line, NULL) != TC_OK)
        return;
    if (tc_json_get(line, "sentence") && !tc_json_to_bool(tc_json_get(line, "last"), false)) {
        if (watch->options->json)
            tc_strbuf_addf(&out, "%.*s\n", (int)size, text);
        else
            tc_fleet_finding(run->trace, line, &out);
        tc_app_write(watch->app, out.text, out.size);
    }
    tc_strbuf_release(&out);
    tc_json_free(line);
}

static void tell_lines(const struct watch *watch, struct followed *run)
{
    struct tc_strbuf *unread = &run->unread;
    size_t begin = 0;
    const char *end;

    while (unread->size > begin &&
           (end = memchr(unread->text + begin, '\n', unread->size - begin)) != NULL) {
        const size_t size = (size_t)(end - (unread->text + begin));
        tell_line(watch, run, unread->text + begin, size);
        begin += size + 1;
    }
    if (begin)
        memmove(unread->text, unread->text + begin, unread->size - begin);
    unread->size -= begin;
    if (unread->size > MAX_TEXT)
        tc_strbuf_reset(unread);
}

/* Until nothing more is there. */
static void listen_to(const struct watch *watch, struct followed *run)
{
    char text[4096];
    ssize_t n = 1;

    while (run->fd >= 0 && n > 0) {
        n = read(run->fd, text, sizeof(text));
        if (n > 0) {
            tc_strbuf_add(&run->unread, text, (size_t)n);
            tell_lines(watch, run);
        } else if (n == 0) {
            close(run->fd);
            run->fd = -1;
        }
    }
}

/* ---- runs that have ended ------------------------------------------------------------------ */

static uint64_t number(const struct tc_json *object, const char *key)
{
    return (uint64_t)tc_json_to_number(tc_json_get(object, key), 0);
}

/* The line of runs.jsonl, from the summary of its reports. */
static struct tc_json *line_of(const struct followed *run, int status,
                               const struct tc_json *summary)
{
    const struct tc_json *counts = tc_json_get(summary, "counts");
    const struct tc_json *only = tc_json_first(tc_json_get(summary, "runs"));
    const struct tc_check_result result = {
        .n_findings = number(counts, "findings"),
        .n_failed = number(counts, "failed"),
        .n_passed = number(counts, "passed"),
        .n_not_triggered = number(counts, "not_triggered"),
        .n_unchecked = number(counts, "unchecked"),
        .n_suppressed = number(counts, "suppressed"),
        .n_windows = number(summary, "windows"),
        .exit_status = (int)number(only, "exit"),
        .damaged = tc_json_to_bool(tc_json_get(summary, "damaged"), false),
    };

    return tc_fleet_run(run->trace, run->script, status, &result,
                        tc_json_first(tc_json_get(summary, "findings")), run->name);
}

static struct tc_json *summary_of(const struct watch *watch, const struct followed *run)
{
    char *folder = tc_fs_join(watch->options->output_dir, run->name);
    char *path = tc_fs_join(folder, "violations_summary.json");
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_json *summary = NULL;

    if (tc_fs_read(path, TC_FS_MAX_LARGE, &text, NULL) == TC_OK &&
        tc_json_parse(text.text, text.size, &summary, NULL) != TC_OK)
        summary = NULL;
    tc_strbuf_release(&text);
    tc_free(path);
    tc_free(folder);
    return summary;
}

static void append_line(struct watch *watch, const struct tc_json *line)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    const int fd = open(watch->lines, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

    tc_json_print(line, &text);
    tc_strbuf_addc(&text, '\n');
    if (fd < 0 || tc_fs_write_all(fd, text.text, text.size) != TC_OK)
        tc_app_error(watch->app, "%s: %s", watch->lines, strerror(errno));
    if (fd >= 0)
        close(fd);
    tc_strbuf_release(&text);
    watch->is_page_old = true;
}

static void end_run(struct watch *watch, struct followed *run, int how)
{
    const int status = WIFEXITED(how) ? WEXITSTATUS(how) : TC_APP_FAILED;
    struct tc_json *summary = summary_of(watch, run);
    struct tc_json *line = summary ? line_of(run, status, summary)
                                   : tc_fleet_unread(run->trace, TC_APP_FAILED,
                                                     "its check failed, and left no report");
    struct tc_strbuf text = TC_STRBUF_INIT;

    listen_to(watch, run);
    if (run->fd >= 0)
        close(run->fd);
    tc_fleet_text(line, &text);
    tc_app_say(watch->app, "ended: %.*s", (int)(text.size - 1), text.text);
    append_line(watch, line);
    tc_strbuf_release(&text);
    tc_json_free(line);
    tc_json_free(summary);
    free_run(run);
}

static void reap(struct watch *watch)
{
    size_t n = 0;
    int how;

    for (size_t i = 0; i < watch->runs.n; i++) {
        struct followed *run = &watch->runs.items[i];
        listen_to(watch, run);
        if (waitpid(run->pid, &how, WNOHANG) == run->pid)
            end_run(watch, run, how);
        else
            watch->runs.items[n++] = *run;
    }
    watch->runs.n = n;
}

/* ---- the page ------------------------------------------------------------------------------ */

/* Calls take with each line of runs.jsonl that is JSON; take owns it. */
static void each_line(const struct watch *watch, void (*take)(void *context, struct tc_json *line),
                      void *context)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_json *line;

    if (tc_fs_read(watch->lines, TC_FS_MAX_LARGE, &text, NULL) == TC_OK && text.size)
        for (const char *p = text.text; *p; p += strcspn(p, "\n"), p += *p == '\n')
            if (tc_json_parse(p, strcspn(p, "\n"), &line, NULL) == TC_OK)
                take(context, line);
    tc_strbuf_release(&text);
}

/* The last line of each run. */
struct run_lines {
    TC_VEC(struct tc_json *) all;
    struct tc_strtab *runs; /* a symbol is an index into all */
};

static void keep(void *context, struct tc_json *line)
{
    struct run_lines *lines = context;
    const char *run = tc_json_text(tc_json_get(line, "run"));
    const size_t i = tc_strtab_intern_text(lines->runs, run ? run : "");

    if (i == lines->all.n) {
        tc_vec_push(&lines->all, line);
        return;
    }
    tc_json_free(lines->all.items[i]);
    lines->all.items[i] = line;
}

static void write_page(struct watch *watch)
{
    struct run_lines lines = {.runs = tc_strtab_new()};
    struct tc_strbuf page = TC_STRBUF_INIT;
    struct tc_error err;

    each_line(watch, keep, &lines);
    tc_fleet_page(lines.all.items, lines.all.n, &page);
    if (tc_fs_write(watch->page, page.text, page.size, &err) != TC_OK)
        tc_app_error(watch->app, "%s", err.text);
    for (size_t i = 0; i < lines.all.n; i++)
        tc_json_free(lines.all.items[i]);
    tc_vec_release(&lines.all);
    tc_strtab_free(lines.runs);
    tc_strbuf_release(&page);
    watch->is_page_old = false;
    watch->page_ns = tc_clock_ns();
}

/* ---- all of it ----------------------------------------------------------------------------- */

static bool meet_name(struct watch *watch, const char *name)
{
    const size_t n = tc_strtab_count(watch->known);

    tc_strtab_intern_text(watch->known, name);
    return tc_strtab_count(watch->known) > n;
}

/* A run that no check could judge, as the disk was full for one, is followed again. */
static void meet_again(void *context, struct tc_json *line)
{
    const char *trace = tc_json_text(tc_json_get(line, "run"));
    const char *verdict = tc_json_text(tc_json_get(line, "verdict"));

    if (trace && !(verdict && !strcmp(verdict, "unread")))
        meet_name(context, tc_fs_base(trace));
    tc_json_free(line);
}

static bool is_trace(const char *path)
{
    char **names;
    size_t n;
    bool is_one = false;

    if (!tc_fs_is_dir(path) || tc_fs_list(path, &names, &n, NULL) != TC_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        is_one |= !strncmp(names[i], "trace_", 6);
    tc_fs_list_free(names, n);
    return is_one;
}

/* A run that has not told yet what it is of is looked at again. Has one begun to be followed? */
static bool meet_run(struct watch *watch, const char *name, const char *path)
{
    const size_t n = watch->runs.n;
    bool has_begun;
    char *script = script_of_trace(path, &has_begun);

    if (has_begun && meet_name(watch, name))
        begin_run(watch, name, script);
    else
        tc_free(script);
    return watch->runs.n > n;
}

static void look(struct watch *watch)
{
    char **names;
    size_t n, n_new = 0;

    watch->looked_ns = tc_clock_ns();
    if (tc_fs_list(watch->options->watch, &names, &n, NULL) != TC_OK)
        return; /* it comes, or comes back */
    for (size_t i = 0; i < n && n_new < MAX_NEW; i++) {
        char *path = tc_fs_join(watch->options->watch, names[i]);
        const bool is_new = tc_strtab_find(watch->known, names[i], strlen(names[i])) == TC_NO_SYM;
        if (is_new && is_trace(path))
            n_new += meet_run(watch, names[i], path);
        tc_free(path);
    }
    tc_fs_list_free(names, n);
}

static void wait_a_while(const struct watch *watch)
{
    TC_VEC(struct pollfd) fds = {0};

    for (size_t i = 0; i < watch->runs.n; i++)
        tc_vec_push(&fds, ((struct pollfd){.fd = watch->runs.items[i].fd, .events = POLLIN}));
    poll(fds.items, fds.n, LOOK_MS);
    tc_vec_release(&fds);
}

/* What was found is written by each check before it ends. */
static void end_all(struct watch *watch)
{
    int how;

    for (size_t i = 0; i < watch->runs.n; i++)
        kill(watch->runs.items[i].pid, SIGTERM);
    for (size_t i = 0; i < watch->runs.n; i++) {
        struct followed *run = &watch->runs.items[i];
        while (waitpid(run->pid, &how, 0) < 0 && errno == EINTR)
            listen_to(watch, run);
        listen_to(watch, run);
        if (run->fd >= 0)
            close(run->fd);
        free_run(run);
    }
}

static void follow_all(struct watch *watch)
{
    while (!tc_app_interrupted()) {
        if (tc_clock_ns() - watch->looked_ns >= LOOK_MS * UINT64_C(1000000))
            look(watch);
        wait_a_while(watch);
        reap(watch);
        if (watch->is_page_old && !watch->options->no_html_report &&
            tc_clock_ns() - watch->page_ns > PAGE_NS)
            write_page(watch);
    }
    end_all(watch);
    if (watch->is_page_old && !watch->options->no_html_report)
        write_page(watch);
}

static enum tc_status validate(const struct check_options *o, struct tc_error *err)
{
    if (o->traces.n)
        return tc_error_set(err, TC_E_USAGE,
                            "--watch names the folder of all runs: '%s' is one more",
                            o->traces.items[0]);
    if (!o->invariants.n)
        return tc_error_set(err, TC_E_USAGE,
                            "no invariants given: -i FILE, or -i @all for the shipped ones");
    if (!o->output_dir)
        return tc_error_set(err, TC_E_USAGE, "--watch needs -o: the folder of all reports");
    if (tc_fs_exists(o->watch) && !tc_fs_is_dir(o->watch))
        return tc_error_set(err, TC_E_USAGE, "--watch names the folder of all runs: %s is none",
                            o->watch);
    if (o->state || o->metrics || o->track.n || o->formats.n)
        return tc_error_set(err, TC_E_USAGE,
                            "--watch excludes --state, --metrics, --track and --format");
    return TC_OK;
}

/* A file that no check could read would end each of them. */
static enum tc_status try_files(const struct watch *watch, struct tc_error *err)
{
    const struct tc_check_config config = check_config(watch->app, watch->options);
    struct tc_check_result result;
    struct tc_check check;
    const enum tc_status status = tc_check_open(&check, &config, &result, NULL, err);

    tc_check_close(&check);
    return status;
}

static enum tc_status begin(struct watch *watch, int *lock, struct tc_error *err)
{
    const struct check_options *o = watch->options;
    enum tc_status status = try_files(watch, err);

    if (!status)
        status = tc_fs_mkdirs(o->output_dir, err);
    if (!status)
        status = tc_fs_may_fill(o->output_dir, err);
    if (!status)
        status = tc_fs_lock(o->output_dir, lock, err);
    if (status)
        return status;
    watch->known = tc_strtab_new();
    watch->lines = tc_fs_join(o->output_dir, "runs.jsonl");
    watch->page = tc_fs_join(o->output_dir, "index.html");
    script_sets_init(&watch->sets, o->invariants.items, o->invariants.n);
    each_line(watch, meet_again, watch);
    return TC_OK;
}

enum tc_status check_watch(struct tc_app *app, const struct check_options *options,
                           struct tc_error *err)
{
    struct watch watch = {.app = app, .options = options};
    int lock = -1;
    enum tc_status status = validate(options, err);

    if (!status)
        status = begin(&watch, &lock, err);
    if (status)
        return status;
    app->quiet = options->quiet;
    tc_app_catch_signals();
    if (!tc_fs_exists(options->watch))
        tc_app_say(app, "waiting for %s", options->watch);
    follow_all(&watch);
    script_sets_release(&watch.sets);
    tc_strtab_free(watch.known);
    tc_vec_release(&watch.runs);
    tc_free(watch.lines);
    tc_free(watch.page);
    close(lock);
    return tc_error_set(err, TC_E_INTERRUPTED, "interrupted");
}
