/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.c - all settings of a run as text for the agent
 *
 * The order of lines is fixed. Invariants are reduced to the APIs and roles that they need
 * (relation/interest.h), so the agent reads no invariants. A name that is no dotted name is
 * refused here, with its line.
 */
#include "collect/select.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "relation/interest.h"

/* Steps that are traced before a budget is kept. */
#define DEFAULT_WARM_UP 10
#define MIN_WARM_UP     3

/*
 * A newline ends a setting; in a value, which may come from a file of others, it is escaped. No
 * JSON: to read that, the agent would import a module into the user's process.
 */
static void add_setting(struct tc_strbuf *out, const char *key, const char *value)
{
    tc_strbuf_addf(out, "%s=", key);
    for (const char *p = value; *p; p++) {
        if (*p == '\n' || *p == '%')
            tc_strbuf_addf(out, "%%%02X", (unsigned char)*p);
        else
            tc_strbuf_addc(out, *p);
    }
    tc_strbuf_addc(out, '\n');
}

static void add_number(struct tc_strbuf *out, const char *key, uint64_t value)
{
    if (value)
        tc_strbuf_addf(out, "%s=%llu\n", key, (unsigned long long)value);
}

static void add_many(struct tc_strbuf *out, const char *key, const char *const *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_setting(out, key, values[i]);
}

static void add_names(struct tc_strbuf *out, const char *key, const struct tc_strtab *names)
{
    for (size_t i = 0; i < tc_strtab_count(names); i++)
        add_setting(out, key, tc_strtab_text(names, (tc_sym)i));
}

static void add_interest(const struct tc_interest *interest, struct tc_strbuf *out)
{
    if (interest->left_out) {
        add_names(out, "leave_out", interest->left_out);
        return;
    }
    add_setting(out, "mode", "selective");
    add_setting(out, "variables", interest->variables ? "1" : "0");
    add_setting(out, "settings", interest->settings ? "1" : "0");
    add_names(out, "api", interest->apis);
    add_names(out, "role", interest->roles);
}

static enum tc_status add_selection(const struct tc_collect_config *config, struct tc_strbuf *out,
                                    struct tc_error *err)
{
    struct tc_interest interest;
    enum tc_status status;

    tc_interest_init(&interest);
    status = tc_interest_read(config->invariants, config->n_invariants, &interest, err);
    if (status == TC_OK) {
        add_interest(&interest, out);
        if (config->content == TC_COLLECT_CONTENT_DEFAULT)
            add_setting(out, "content",
                        interest.full_content                   ? "full"
                        : interest.content || interest.left_out ? "batches"
                                                                : "off");
        tc_strbuf_addf(out, "digest=%016llx\n", (unsigned long long)interest.digest);
    }
    tc_interest_release(&interest);
    return status;
}

/* "package.module.name" */
static bool is_dotted_name(const char *name, size_t n)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    size_t n_parts = 0;

    for (size_t i = 0; i <= n; n_parts++) {
        size_t start = i;

        while (i < n && (strchr(letters, name[i]) || (i > start && strchr("0123456789", name[i]))))
            i++;
        if (i == start || (i < n && name[i] != '.'))
            return false;
        i++;
    }
    return n_parts > 1;
}

/* One dotted name a line; blank lines and what follows a # do not count. */
static enum tc_status add_lines(const char *path, const char *text, struct tc_strbuf *out,
                                struct tc_error *err)
{
    size_t number = 1;

    for (const char *line = text; line && *line; number++) {
        const char *name = line + strspn(line, " \t");
        size_t n = strcspn(name, "\r\n#");

        while (n && (name[n - 1] == ' ' || name[n - 1] == '\t'))
            n--;
        if (n && !is_dotted_name(name, n))
            return tc_error_set(err, TC_E_FORMAT, "%s:%zu: '%.*s' is no name like torch.matmul",
                                path, number, n < 80 ? (int)n : 80, name);
        if (n)
            tc_strbuf_addf(out, "extra=%.*s\n", (int)n, name);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return TC_OK;
}

static enum tc_status add_apis_file(const char *path, struct tc_strbuf *out, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status = tc_fs_read(path, TC_FS_MAX_SMALL, &text, err);

    if (status == TC_OK)
        status = add_lines(path, text.text, out, err);
    tc_strbuf_release(&text);
    return status;
}

static void add_flag(struct tc_strbuf *out, const char *key, bool value)
{
    if (value)
        add_setting(out, key, "1");
}

static void add_run(const struct tc_select_run *run, struct tc_strbuf *out)
{
    if (run->output_dir)
        add_setting(out, "output_dir", run->output_dir);
    add_setting(out, "inject", run->inject);
    if (run->board)
        add_setting(out, "board", run->board);
    if (run->job && *run->job)
        add_setting(out, "job", run->job);
    add_number(out, "main_pid", (uint64_t)run->main_pid);
    add_flag(out, "injected", run->is_injected);
}

/* The agent then traces nothing. */
static void add_plan(const struct tc_collect_config *config, const char *dir, struct tc_strbuf *out)
{
    char layout[PATH_MAX];

    if (!config->plan)
        return;
    add_setting(out, "plan", dir);
    add_number(out, "plan_world", config->plan_world);
    add_number(out, "plan_step", config->plan_step);
    add_number(out, "plan_jobs", config->plan_jobs);
    if (config->plan_ranks)
        add_setting(out, "plan_ranks", config->plan_ranks);
    if (config->plan_layout &&
        realpath(config->plan_layout, layout)) /* the job may change its folder */
        add_setting(out, "plan_layout", layout);
    add_flag(out, "verbose", config->verbose);
}

static const char *content_word(enum tc_collect_content content)
{
    switch (content) {
    case TC_COLLECT_CONTENT_OFF:
        return "off";
    case TC_COLLECT_CONTENT_FULL:
        return "full";
    default:
        return "batches";
    }
}

/* A budget is kept by what the first steps have cost; of the first the cost is not that of others.
 */
static unsigned warm_up_steps(const struct tc_collect_config *config)
{
    const unsigned n = config->warm_up_steps;

    if (!config->budget)
        return n;
    return !n ? DEFAULT_WARM_UP : n < MIN_WARM_UP ? MIN_WARM_UP : n;
}

enum tc_status tc_select_settings(const struct tc_collect_config *config,
                                  const struct tc_select_run *run, struct tc_strbuf *out,
                                  struct tc_error *err)
{
    enum tc_status status = TC_OK;

    add_run(run, out);
    add_plan(config, run->output_dir, out);
    add_number(out, "buffer_size", config->buffer_size);
    add_number(out, "keep", config->keep);
    add_number(out, "digest_budget", config->digest_budget);
    add_number(out, "sampling_interval", config->sampling_interval);
    add_number(out, "budget", config->budget);
    add_number(out, "warm_up_steps", warm_up_steps(config));
    add_flag(out, "tensor_methods", config->tensor_methods);
    add_flag(out, "operators", !config->no_operators);
    add_flag(out, "sources", !config->no_source);
    add_number(out, "stack", config->stack_depth);
    add_flag(out, "drop", config->overflow == TC_COLLECT_DROP);
    if (config->argv != TC_COLLECT_ARGV_MASKED)
        add_setting(out, "argv", config->argv == TC_COLLECT_ARGV_FULL ? "full" : "none");
    add_flag(out, "quiet", config->quiet);
    add_flag(out, "stats", config->stats);
    add_flag(out, "list", config->list_apis);
    add_flag(out, "strict", config->strict);
    add_flag(out, "progress", config->progress);
    add_many(out, "instrument", config->instrument, config->n_instrument);
    add_many(out, "model", config->models_to_track, config->n_models_to_track);
    if (config->apis_file)
        status = add_apis_file(config->apis_file, out, err);
    if (config->content != TC_COLLECT_CONTENT_DEFAULT || !config->n_invariants)
        add_setting(out, "content", content_word(config->content));
    if (status == TC_OK && config->n_invariants)
        status = add_selection(config, out, err);
    return status;
}
