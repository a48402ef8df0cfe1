/* SPDX-License-Identifier: Apache-2.0 */
/*
 * each.c - which runs there are, under which names, and which of them are known from before
 *
 * Whether a run has changed is told by a digest of the names, sizes and times of its files and of
 * what it is judged by: its content is not read.
 */
#include "each.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include <traincheck/version.h>

/* ---- stamps -------------------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return tc_hash64(text, strlen(text) + 1, hash);
}

/* A file of invariants or suppressions; what ships is known by its name and the version. */
static enum tc_status hash_file(const char *path, uint64_t *hash, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status = TC_OK;

    *hash = hash_text(*hash, path);
    if (path[0] != '@' || tc_fs_exists(path))
        status = tc_fs_read(path, TC_FS_MAX_LARGE, &text, err);
    if (!status && text.size)
        *hash = tc_hash64(text.text, text.size, *hash);
    tc_strbuf_release(&text);
    return status;
}

static enum tc_status hash_rules(const struct check_options *options, uint64_t *hash,
                                 struct tc_error *err)
{
    enum tc_status status = TC_OK;

    *hash = hash_text(0, TC_VERSION);
    for (size_t i = 0; i < options->invariants.n && !status; i++)
        status = hash_file(options->invariants.items[i], hash, err);
    if (!status && options->suppress)
        status = hash_file(options->suppress, hash, err);
    return status;
}

static uint64_t hash_trace(const char *trace, uint64_t hash)
{
    char **names;
    size_t n;
    struct stat info;

    if (tc_fs_list(trace, &names, &n, NULL) != TC_OK)
        return hash;
    for (size_t i = 0; i < n; i++) {
        char *path = tc_fs_join(trace, names[i]);
        hash = hash_text(hash, names[i]);
        if (stat(path, &info) == 0) {
            const int64_t facts[] = {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
            hash = tc_hash64(facts, sizeof(facts), hash);
        }
        tc_free(path);
    }
    tc_fs_list_free(names, n);
    return hash;
}

/* ---- runs and their names ------------------------------------------------------------------ */

/* What it leads to; of one that is not there, itself. The caller frees it. */
static char *real_of(const char *path)
{
    char *real = realpath(path, NULL);

    return real ? real : tc_strdup(path);
}

/* Names that are taken, and what a list of traces was met by. */
struct naming {
    uint64_t rules;
    struct tc_strtab *seen, *taken;
    struct tc_map counts; /* of the last number behind a name, by the name in taken */
};

static bool take(struct naming *naming, const char *name)
{
    const size_t n = tc_strtab_count(naming->taken);

    tc_strtab_intern_text(naming->taken, name);
    return tc_strtab_count(naming->taken) > n;
}

/* NAME, or NAME.2 where that is taken. */
static char *name_folder(struct naming *naming, const char *real)
{
    const char *base = tc_fs_base(real);
    struct tc_strbuf name = TC_STRBUF_INIT;
    bool is_new;

    tc_strbuf_add(&name, base, strcspn(base, "/"));
    if (!take(naming, name.text)) {
        const size_t size = name.size;
        uint64_t *count =
            tc_map_at(&naming->counts, tc_strtab_intern_text(naming->taken, name.text), &is_new);
        unsigned number = is_new ? 2 : (unsigned)*count + 1;
        do {
            name.size = size;
            tc_strbuf_addf(&name, ".%u", number);
            *count = number++;
        } while (!take(naming, name.text));
    }
    return tc_strbuf_take(&name);
}

static void add_run(struct each_runs *runs, struct naming *naming, const char *trace,
                    const char *real)
{
    struct each_run *run = &runs->items[runs->n++];

    *run = (struct each_run){.trace = trace, .folder = name_folder(naming, real)};
    snprintf(run->stamp, sizeof(run->stamp), "%016llx",
             (unsigned long long)hash_trace(trace, naming->rules));
}

/* ---- an earlier check ---------------------------------------------------------------------- */

static struct each_run *run_of_line(struct each_runs *runs, const struct tc_json *line)
{
    const char *trace = tc_json_text(tc_json_get(line, "run"));
    const char *stamp = tc_json_text(tc_json_get(line, "stamp"));
    const char *folder = tc_json_text(tc_json_get(line, "reports"));

    for (size_t i = 0; trace && stamp && folder && i < runs->n; i++) {
        struct each_run *run = &runs->items[i];
        if (!strcmp(run->trace, trace) && !strcmp(run->stamp, stamp) &&
            !strcmp(run->folder, folder))
            return run;
    }
    return NULL;
}

/* Lines of another kind are passed over: then the run is checked. */
static void take_lines(struct each_runs *runs, const char *text)
{
    struct tc_json *line;

    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        if (tc_json_parse(text, strcspn(text, "\n"), &line, NULL) != TC_OK)
            continue;
        struct each_run *run = run_of_line(runs, line);
        if (run && !run->line) {
            run->line = line;
            run->is_skipped = true;
        } else {
            tc_json_free(line);
        }
    }
}

static enum tc_status read_earlier(struct each_runs *runs, const char *output_dir,
                                   struct tc_error *err)
{
    char *path = tc_fs_join(output_dir, "runs.jsonl");
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status = tc_fs_read(path, TC_FS_MAX_LARGE, &text, err);

    if (!status && text.size)
        take_lines(runs, text.text);
    tc_strbuf_release(&text);
    tc_free(path);
    return status == TC_E_NOTFOUND ? TC_OK : status;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static void list_once(struct each_runs *runs, const struct check_options *options, uint64_t rules)
{
    struct naming naming = {.rules = rules, .seen = tc_strtab_new(), .taken = tc_strtab_new()};
    char *out = real_of(options->output_dir);

    take(&naming, "runs.jsonl");
    take(&naming, "index.html");
    tc_strtab_intern_text(naming.seen, out);
    for (size_t i = 0; i < options->traces.n; i++) {
        char *real = real_of(options->traces.items[i]);
        const size_t n = tc_strtab_count(naming.seen);
        tc_strtab_intern_text(naming.seen, real);
        if (tc_strtab_count(naming.seen) > n)
            add_run(runs, &naming, options->traces.items[i], real);
        tc_free(real);
    }
    tc_map_release(&naming.counts);
    tc_strtab_free(naming.seen);
    tc_strtab_free(naming.taken);
    tc_free(out);
}

enum tc_status each_runs_list(struct each_runs *runs, const struct check_options *options,
                              struct tc_error *err)
{
    uint64_t rules;
    enum tc_status status = hash_rules(options, &rules, err);

    *runs = (struct each_runs){.items = tc_calloc(options->traces.n + 1, sizeof(*runs->items))};
    if (status)
        return status;
    list_once(runs, options, rules);
    return options->skip_checked ? read_earlier(runs, options->output_dir, err) : TC_OK;
}

void each_runs_release(struct each_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        tc_free(runs->items[i].folder);
        tc_json_free(runs->items[i].line);
    }
    tc_free(runs->items);
    *runs = (struct each_runs){0};
}
