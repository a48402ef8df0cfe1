/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accept.c - an invariant file after a change that was meant
 *
 * The runs are learned from alone, with all that others imply, and what broke is looked up there by
 * what it speaks of. Nothing that did not break is taken from them: one
 * run shows too little of what is chance.
 */
#include <traincheck/sets.h>

#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "infer/kept.h"
#include "infer/set_lines.h"
#include <traincheck/infer.h>

struct accepting {
    const struct tc_accept_config *config;
    struct tc_accept_result *result;
    struct tc_strtab *broken;       /* ids */
    struct tc_strtab *subjects;     /* of invariants, as texts */
    TC_VEC(struct tc_json *) shown; /* what the runs show */
    struct tc_map by_subject;       /* -> its place in shown, from 1 */
    struct tc_strbuf excerpts;
    struct tc_json *kept_shown;  /* evidence of the runs */
    struct tc_strbuf head, rest; /* the new file */
    bool keeps_excerpts;         /* those of the runs would lack what was not traced */
    size_t number;               /* of this entry of the header, from 1 */
};

static const char *kind_of(const struct tc_json *document)
{
    const char *kind = tc_json_text(tc_json_get(document, "traincheck"));

    return kind ? kind : "";
}

static const char *id_of(const struct tc_json *document)
{
    const char *id = tc_json_text(tc_json_get(document, "id"));

    return id ? id : "";
}

static bool has(const struct tc_strtab *ids, const char *id)
{
    return tc_strtab_find(ids, id, strlen(id)) != TC_NO_SYM;
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

static enum tc_status take_shown(void *context, const char *line, size_t size,
                                 const struct tc_json *document, struct tc_error *err)
{
    struct accepting *a = context;

    bool is_new;

    (void)err;
    if (!strcmp(kind_of(document), "excerpt")) {
        tc_strbuf_add(&a->excerpts, line, size);
        tc_strbuf_addc(&a->excerpts, '\n');
    } else if (tc_is_kept_line(document)) {
        a->kept_shown = tc_json_copy(document);
    } else if (tc_is_invariant_line(document)) {
        uint64_t *slot =
            tc_map_at(&a->by_subject, tc_subject_of_line(a->subjects, document), &is_new);
        if (!is_new)
            return TC_OK;
        tc_vec_push(&a->shown, tc_json_copy(document));
        *slot = a->shown.n;
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
    enum tc_status status = tc_infer_run(&config, &result, notes, err);

    if (!status)
        status = tc_each_line("what the runs show", &learning.text, take_shown, a, err);
    a->keeps_excerpts = result.n_selective > 0;
    if (a->keeps_excerpts)
        tc_strbuf_reset(&a->excerpts);
    tc_strbuf_release(&learning.text);
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

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
    tc_json_set_number(entry, "replaced", (double)a->result->n_replaced);
    tc_json_set_number(entry, "removed", (double)a->result->n_removed);
    tc_free(runs);
    return entry;
}

/* The header that was there; its entries are counted before the lines below it are met. */
static enum tc_status take_header(struct accepting *a, const struct tc_json *document)
{
    a->number = tc_json_count(tc_json_get(document, "accepted")) + 1;
    tc_strbuf_reset(&a->head);
    tc_json_print(document, &a->head);
    return TC_OK;
}

static void add_replaced(struct accepting *a, const struct tc_json *shown)
{
    struct tc_json *document = tc_json_copy(shown);

    tc_json_set_number(document, "accepted", (double)a->number);
    tc_json_print_line(document, &a->rest);
    a->result->n_replaced++;
}

static enum tc_status take_excerpt(struct accepting *a, const char *line, size_t size)
{
    if (a->keeps_excerpts) {
        tc_strbuf_add(&a->excerpts, line, size);
        tc_strbuf_addc(&a->excerpts, '\n');
    }
    return TC_OK;
}

static enum tc_status take_line(void *context, const char *line, size_t size,
                                const struct tc_json *document, struct tc_error *err)
{
    struct accepting *a = context;

    uint64_t shown;

    if (!strcmp(kind_of(document), "invariants"))
        return take_header(a, document);
    if (!strcmp(kind_of(document), "excerpt"))
        return take_excerpt(a, line, size);
    if (tc_is_kept_line(document) && a->kept_shown)
        return tc_kept_accept(a->config->file, a->broken, document, a->kept_shown, &a->rest, err);
    if (!tc_is_invariant_line(document) || !has(a->broken, id_of(document))) {
        tc_strbuf_add(&a->rest, line, size);
        tc_strbuf_addc(&a->rest, '\n');
    } else if (tc_map_get(&a->by_subject, tc_subject_of_line(a->subjects, document), &shown)) {
        add_replaced(a, a->shown.items[shown - 1]);
    } else {
        a->result->n_removed++;
    }
    return TC_OK;
}

static enum tc_status write_file(struct accepting *a, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_json *header = NULL;
    enum tc_status status = tc_json_parse(a->head.text ? a->head.text : "{}",
                                          a->head.text ? a->head.size : 2, &header, err);

    if (status)
        return status;
    const struct tc_json *before = tc_json_get(header, "accepted");
    struct tc_json *entries = before ? tc_json_copy(before) : tc_json_array();
    tc_json_append(entries, entry_of(a));
    tc_json_set(header, "accepted", entries);
    tc_json_print_line(header, &text);
    tc_strbuf_add(&text, a->excerpts.text, a->excerpts.size);
    tc_strbuf_add(&text, a->rest.text, a->rest.size);
    status = tc_fs_write(a->config->file, text.text, text.size, err);
    tc_strbuf_release(&text);
    return status;
}

enum tc_status tc_accept_run(const struct tc_accept_config *config, struct tc_accept_result *result,
                             struct tc_notes *notes, struct tc_error *err)
{
    struct accepting a = {.config = config,
                          .result = result,
                          .broken = tc_strtab_new(),
                          .subjects = tc_strtab_new(),
                          .number = 1};

    *result = (struct tc_accept_result){0};
    enum tc_status status = tc_fs_may_write(config->file, err);
    if (!status)
        status = tc_each_line_of_file(config->violations, take_broken, &a, err);
    if (!status)
        status = learn(&a, notes, err);
    if (!status)
        status = tc_each_line_of_file(config->file, take_line, &a, err);
    if (!status)
        status = write_file(&a, err);
    for (size_t i = 0; i < a.shown.n; i++)
        tc_json_free(a.shown.items[i]);
    tc_vec_release(&a.shown);
    tc_json_free(a.kept_shown);
    tc_strtab_free(a.broken);
    tc_strtab_free(a.subjects);
    tc_map_release(&a.by_subject);
    tc_strbuf_release(&a.excerpts);
    tc_strbuf_release(&a.head);
    tc_strbuf_release(&a.rest);
    return status;
}
