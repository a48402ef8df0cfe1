/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accept.c - an invariant file after a change that was meant
 *
 * The runs are learned from alone, with all that others imply. First the file takes on new names of
 * functions and classes, and is judged by again. What breaks then is looked up in what was learned,
 * by what it speaks of. Of what did not break nothing is taken from the runs, as one shows too
 * little of what is chance; but calls that no run made before come in, as seen once.
 */
#include <traincheck/sets.h>

#include <string.h>

#include "base/fs.h"
#include "base/map.h"
#include "infer/kept.h"
#include "infer/seen_once.h"
#include "infer/set_file.h"
#include "infer/set_lines.h"
#include "infer/thrift.h"
#include <traincheck/infer.h>
#include <traincheck/version.h>

struct accepting {
    const struct tc_accept_config *config;
    struct tc_accept_result *result;
    struct tc_set_file file;
    struct tc_strtab *broken;       /* ids */
    struct tc_strtab *subjects;     /* of invariants, as texts */
    TC_VEC(struct tc_json *) shown; /* what the runs show */
    struct tc_map by_subject;       /* -> its place in shown, from 1 */
    struct tc_set_claims said, shown_said;
    struct tc_renames renames;
    struct tc_strbuf excerpts;  /* of the runs */
    struct tc_json *kept_shown; /* evidence of the runs */
    struct tc_strbuf replaced;  /* lines that broke */
    bool is_selective;          /* the runs lack what was not traced */
    size_t number;              /* of this entry of the header, from 1 */
};

static const char *id_of(const struct tc_json *document)
{
    const char *id = tc_json_text(tc_json_get(document, "id"));

    return id ? id : "";
}

/* ---- what broke, and what the runs show ------------------------------------------------------ */

static enum tc_status take_broken(void *context, const char *line, size_t size,
                                  const struct tc_json *document, struct tc_error *err)
{
    struct accepting *a = context;

    (void)line;
    (void)size;
    (void)err;
    tc_strtab_intern_text(a->broken, id_of(document));
    return TC_OK;
}

static void take_invariant(struct accepting *a, const struct tc_json *document)
{
    bool is_new;
    uint64_t *slot = tc_map_at(&a->by_subject, tc_subject_of_line(a->subjects, document), &is_new);

    tc_set_claims_add(&a->shown_said, document);
    if (!is_new)
        return;
    tc_vec_push(&a->shown, tc_json_copy(document));
    *slot = a->shown.n;
}

static enum tc_status take_shown(void *context, const char *line, size_t size,
                                 const struct tc_json *document, struct tc_error *err)
{
    struct accepting *a = context;
    const char *kind = tc_json_text(tc_json_get(document, "traincheck"));

    (void)err;
    if (kind && !strcmp(kind, "excerpt")) {
        tc_strbuf_add(&a->excerpts, line, size);
        tc_strbuf_addc(&a->excerpts, '\n');
    } else if (tc_is_kept_line(document)) {
        a->kept_shown = tc_json_copy(document);
    } else if (tc_is_invariant_line(document)) {
        take_invariant(a, document);
    }
    return TC_OK;
}

struct learning {
    struct tc_strbuf text;
    const struct tc_accept_config *config;
};

static void on_text(void *context, const char *text, size_t size)
{
    tc_strbuf_add(&((struct learning *)context)->text, text, size);
}

static bool on_progress(void *context, size_t i, size_t n, uint64_t bytes)
{
    const struct tc_accept_config *config = ((struct learning *)context)->config;

    return config->progress(config->context, i, n, bytes);
}

static enum tc_status learn(struct accepting *a, struct tc_notes *notes, struct tc_error *err)
{
    const struct tc_accept_config *c = a->config;
    struct learning learning = {.config = c};
    const struct tc_infer_config config = {
        .traces = c->traces,
        .n_traces = c->n_traces,
        .output = "-",
        .jobs = c->jobs,
        .specific = true,
        .selective = true,
        .min_pipelines = 1,
        .keep_implied = true,
        .write = on_text,
        .progress = c->progress ? on_progress : NULL,
        .context = &learning,
    };
    struct tc_infer_result result;
    enum tc_status status = tc_infer_run_as(&config, a->file.header, &result, notes, err);

    if (!status)
        status = tc_each_invariant("what the runs show", &learning.text, take_shown, a, err);
    a->is_selective = result.n_selective > 0;
    tc_strbuf_release(&learning.text);
    return status;
}

/* ---- new names ------------------------------------------------------------------------------- */

/* What breaks with the new names, by a check that is made into a folder beside the reports. */
static enum tc_status judge_again(struct accepting *a, struct tc_error *err)
{
    const struct tc_accept_config *c = a->config;
    const size_t size = (size_t)(tc_fs_base(c->violations) - c->violations);
    struct tc_strbuf text = TC_STRBUF_INIT, folder = TC_STRBUF_INIT;

    tc_strbuf_add(&folder, c->violations, size);
    tc_strbuf_adds(&folder, "renamed");
    char *file = tc_fs_join(folder.text, "invariants.jsonl");
    char *violations = tc_fs_join(folder.text, "violations.jsonl");
    enum tc_status status = tc_fs_mkdirs(folder.text, err);
    if (!status)
        status = tc_set_file_print(&a->file, &text, err);
    if (!status)
        status = tc_fs_write(file, text.text ? text.text : "", text.size, err);
    if (!status)
        status = c->judge(c->context, file, folder.text, err);
    tc_strtab_free(a->broken);
    a->broken = tc_strtab_new();
    if (!status)
        status = tc_each_line_of_file(violations, take_broken, a, err);
    tc_free(file);
    tc_free(violations);
    tc_strbuf_release(&folder);
    tc_strbuf_release(&text);
    return status;
}

static enum tc_status rename_all(struct accepting *a, struct tc_error *err)
{
    enum tc_status status;

    for (size_t i = 0; i < a->file.lines.n; i++)
        if (tc_is_invariant_line(a->file.lines.items[i].document))
            tc_set_claims_add(&a->said, a->file.lines.items[i].document);
    if (!a->config->judge)
        return TC_OK;
    tc_renames_find(&a->said, &a->shown_said, &a->renames);
    a->result->n_renamed = a->renames.items.n;
    if (!a->renames.items.n)
        return TC_OK;
    for (size_t i = 0; a->config->renamed && i < a->renames.items.n; i++)
        a->config->renamed(a->config->context, a->renames.items.items[i].from,
                           a->renames.items.items[i].to);
    status = tc_set_file_rename(&a->file, &a->renames, err);
    return status ? status : judge_again(a, err);
}

/* ---- what broke ------------------------------------------------------------------------------ */

static enum tc_status replace_line(struct accepting *a, size_t i, const struct tc_json *shown,
                                   struct tc_error *err)
{
    struct tc_json *document = tc_json_copy(shown);
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_json_set_number(document, "accepted", (double)a->number);
    tc_json_print(document, &text);
    const enum tc_status status = tc_set_file_replace(&a->file, i, text.text, err);
    a->result->n_replaced++;
    tc_json_free(document);
    tc_strbuf_release(&text);
    return status;
}

static enum tc_status take_the_place(struct accepting *a, struct tc_error *err)
{
    enum tc_status status = TC_OK;
    uint64_t shown;

    for (size_t i = 0; i < a->file.lines.n && !status; i++) {
        const struct tc_set_line *line = &a->file.lines.items[i];
        const char *id = line->text ? id_of(line->document) : "";
        if (!*id || !tc_is_invariant_line(line->document) ||
            tc_strtab_find(a->broken, id, strlen(id)) == TC_NO_SYM)
            continue;
        tc_strbuf_addf(&a->replaced, "%s\n", line->text);
        if (tc_map_get(&a->by_subject, tc_subject_of_line(a->subjects, line->document), &shown)) {
            status = replace_line(a, i, a->shown.items[shown - 1], err);
        } else {
            status = tc_set_file_replace(&a->file, i, NULL, err);
            a->result->n_removed++;
        }
    }
    return status;
}

/* A call that was not traced looks like one that was not made: then nothing is new. */
static enum tc_status take_what_is_new(struct accepting *a, struct tc_error *err)
{
    struct tc_strtab *new_keys = a->is_selective ? NULL : tc_strtab_new();
    enum tc_status status = TC_OK;

    if (a->file.kept && a->kept_shown)
        status = tc_kept_accept(&a->file.kept, &a->replaced, a->kept_shown, new_keys, err);
    if (!status && a->file.kept && a->kept_shown && new_keys)
        status = tc_seen_once_add(&a->file, new_keys, a->number, &a->result->n_new, err);
    tc_strtab_free(new_keys);
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

static struct tc_json *renames_to_json(const struct tc_renames *renames)
{
    struct tc_json *object = tc_json_object();

    for (size_t i = 0; i < renames->items.n; i++)
        tc_json_set_string(object, renames->items.items[i].from, renames->items.items[i].to);
    return object;
}

static struct tc_json *entry_of(const struct accepting *a)
{
    struct tc_json *entry = tc_json_object();
    const char **runs = tc_calloc(a->config->n_traces + 1, sizeof(*runs));

    for (size_t i = 0; i < a->config->n_traces; i++)
        runs[i] = tc_fs_base(a->config->traces[i]);
    tc_json_set_string(entry, "date", a->config->date);
    if (a->config->note)
        tc_json_set_string(entry, "note", a->config->note);
    tc_json_set(entry, "runs", tc_json_strings(runs, a->config->n_traces));
    if (a->renames.items.n)
        tc_json_set(entry, "renamed", renames_to_json(&a->renames));
    tc_json_set_number(entry, "replaced", (double)a->result->n_replaced);
    tc_json_set_number(entry, "removed", (double)a->result->n_removed);
    tc_json_set_number(entry, "new", (double)a->result->n_new);
    tc_free(runs);
    return entry;
}

static void add_entry(struct accepting *a)
{
    if (!a->file.header) {
        a->file.header = tc_json_object();
        tc_json_set_string(a->file.header, "traincheck", "invariants");
    }
    tc_json_set_number(a->file.header, "schema", TC_INVARIANT_SCHEMA); /* as it is written now */
    const struct tc_json *before = tc_json_get(a->file.header, "accepted");
    struct tc_json *entries = before ? tc_json_copy(before) : tc_json_array();
    tc_json_append(entries, entry_of(a));
    tc_json_set(a->file.header, "accepted", entries);
}

static enum tc_status write_file(struct accepting *a, struct tc_error *err)
{
    const struct tc_accept_result *r = a->result;
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (!(r->n_replaced || r->n_removed || r->n_renamed || r->n_new))
        return TC_OK;
    add_entry(a);
    if (!a->is_selective) {
        tc_strbuf_reset(&a->file.excerpts);
        tc_strbuf_add(&a->file.excerpts, a->excerpts.text, a->excerpts.size);
    }
    enum tc_status status = tc_set_file_print(&a->file, &text, err);
    if (!status)
        status = tc_fs_write(a->config->file, text.text, text.size, err);
    tc_strbuf_release(&text);
    return status;
}

static void release(struct accepting *a)
{
    for (size_t i = 0; i < a->shown.n; i++)
        tc_json_free(a->shown.items[i]);
    tc_vec_release(&a->shown);
    tc_set_file_release(&a->file);
    tc_set_claims_release(&a->said);
    tc_set_claims_release(&a->shown_said);
    tc_renames_release(&a->renames);
    tc_json_free(a->kept_shown);
    tc_strtab_free(a->broken);
    tc_strtab_free(a->subjects);
    tc_map_release(&a->by_subject);
    tc_strbuf_release(&a->excerpts);
    tc_strbuf_release(&a->replaced);
}

enum tc_status tc_accept_run(const struct tc_accept_config *config, struct tc_accept_result *result,
                             struct tc_notes *notes, struct tc_error *err)
{
    struct accepting a = {
        .config = config, .result = result, .broken = tc_strtab_new(), .subjects = tc_strtab_new()};

    *result = (struct tc_accept_result){0};
    tc_set_claims_init(&a.said);
    tc_set_claims_init(&a.shown_said);
    enum tc_status status = tc_fs_may_write(config->file, err);
    if (!status)
        status = tc_set_file_read(config->file, &a.file, err);
    a.number = tc_json_count(tc_json_get(a.file.header, "accepted")) + 1;
    if (!status)
        status = tc_each_line_of_file(config->violations, take_broken, &a, err);
    if (!status)
        status = learn(&a, notes, err);
    if (!status)
        status = rename_all(&a, err);
    if (!status)
        status = take_the_place(&a, err);
    if (!status)
        status = take_what_is_new(&a, err);
    if (!status)
        status = write_file(&a, err);
    release(&a);
    return status;
}
