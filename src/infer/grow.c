/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grow.c - header, excerpts, evidence and marks of a file, read in one pass and carried over
 *
 * The file is checked before anything is learned: it must keep evidence, and the run must be new
 * to it. Excerpts, marks of accepted invariants, and invariants that people wrote are carried
 * over.
 */
#include "infer/grow.h"

#include <string.h>

#include "base/fs.h"
#include "infer/kept.h"
#include "infer/set_lines.h"
#include "invariant/headings.h"

struct reading {
    struct tc_grow *grow;
    struct tc_evidence *evidence;
};

/* ---- reading --------------------------------------------------------------------------------- */

static void take_excerpt(struct tc_grow *grow, const char *line, size_t size,
                         const struct tc_json *document)
{
    const char *of = tc_json_text(tc_json_get(document, "of"));
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_add(&text, line, size);
    tc_vec_push(&grow->excerpts, ((struct tc_grow_excerpt){.path = tc_strdup(of ? of : ""),
                                                           .line = tc_strbuf_take(&text)}));
}

static void take_invariant(struct tc_grow *grow, const char *line, size_t size,
                           const struct tc_json *document)
{
    const struct tc_json *accepted = tc_json_get(document, "accepted");
    const char *id = tc_json_text(tc_json_get(document, "id"));

    if (!tc_json_get(document, "evidence")) {
        tc_strbuf_add(&grow->own, line, size);
        tc_strbuf_addc(&grow->own, '\n');
    } else if (accepted && id) {
        tc_map_put(&grow->numbers, tc_strtab_intern_text(grow->ids, id),
                   (uint64_t)tc_json_to_number(accepted, 0));
    }
}

static enum tc_status take(void *context, const char *line, size_t size,
                           const struct tc_json *document, struct tc_error *err)
{
    struct reading *reading = context;
    struct tc_grow *grow = reading->grow;
    const char *kind = tc_json_text(tc_json_get(document, "traincheck"));

    if (tc_is_kept_line(document)) {
        grow->has_evidence = true;
        return tc_kept_read(document, reading->evidence, err);
    }
    if (kind && !strcmp(kind, "excerpt")) {
        take_excerpt(grow, line, size, document);
    } else if (kind) {
        tc_json_free(grow->header);
        grow->header = tc_json_copy(document);
    } else {
        take_invariant(grow, line, size, document);
    }
    return TC_OK;
}

static bool is_named_before(const struct tc_grow *grow, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(grow->excerpts.items[i].path, path))
            return true;
    return false;
}

/* An excerpt has the last part of its trace's path; excerpts and pipelines are both sorted. */
static void find_paths(struct tc_grow *grow, const struct tc_evidence *evidence)
{
    for (size_t i = 0; i < grow->excerpts.n; i++) {
        char **path = &grow->excerpts.items[i].path;
        for (size_t j = 0; j < evidence->pipelines.n; j++) {
            const char *name = tc_strtab_text(evidence->symbols, evidence->pipelines.items[j]);
            if (strcmp(tc_fs_base(name), *path) != 0 || is_named_before(grow, i, name))
                continue;
            tc_free(*path);
            *path = tc_strdup(name);
            break;
        }
    }
}

enum tc_status tc_grow_read(const char *file, struct tc_grow *grow, struct tc_evidence *evidence,
                            struct tc_error *err)
{
    struct reading reading = {grow, evidence};
    enum tc_status status;

    *grow = (struct tc_grow){.ids = tc_strtab_new()};
    status = tc_each_invariant_of_file(file, take, &reading, err);
    if (!status && !grow->has_evidence)
        status = tc_error_set(err, TC_E_FORMAT,
                              "%s keeps no evidence, so nothing can be added to it: learn it anew "
                              "with --specific and without --no-evidence",
                              file);
    if (!status)
        find_paths(grow, evidence);
    return status;
}

void tc_grow_release(struct tc_grow *grow)
{
    for (size_t i = 0; i < grow->excerpts.n; i++) {
        tc_free(grow->excerpts.items[i].path);
        tc_free(grow->excerpts.items[i].line);
    }
    tc_vec_release(&grow->excerpts);
    tc_json_free(grow->header);
    if (grow->ids)
        tc_strtab_free(grow->ids);
    tc_map_release(&grow->numbers);
    tc_strbuf_release(&grow->own);
}

/* ---- what is carried over -------------------------------------------------------------------- */

/* Slashes at its end are no part of a name. */
static bool is_pipeline(const char *trace, const char *name)
{
    size_t size = strlen(trace);

    while (size > 1 && trace[size - 1] == '/')
        size--;
    return !strncmp(trace, name, size) && !name[size];
}

enum tc_status tc_grow_check(const struct tc_infer_config *config,
                             const struct tc_evidence *evidence, struct tc_error *err)
{
    for (size_t i = 0; i < config->n_traces; i++)
        for (size_t j = 0; j < evidence->pipelines.n; j++)
            if (is_pipeline(config->traces[i],
                            tc_strtab_text(evidence->symbols, evidence->pipelines.items[j])))
                return tc_error_set(err, TC_E_USAGE,
                                    "%s was learned from already; another run needs another path",
                                    config->traces[i]);
    return TC_OK;
}

void tc_grow_history(const struct tc_grow *grow, const struct tc_infer_config *config,
                     struct tc_json *header)
{
    const struct tc_json *accepted = tc_json_get(grow->header, "accepted");
    const struct tc_json *before = tc_json_get(grow->header, "added");
    struct tc_json *added = before ? tc_json_copy(before) : tc_json_array();
    struct tc_json *entry = tc_json_object(), *runs = tc_json_array();

    for (size_t i = 0; i < config->n_traces; i++)
        tc_json_append(runs, tc_json_string(tc_fs_base(config->traces[i])));
    tc_json_set_string(entry, "date", config->date);
    tc_json_set(entry, "runs", runs);
    tc_json_append(added, entry);
    if (accepted)
        tc_json_set(header, "accepted", tc_json_copy(accepted));
    tc_json_set(header, "added", added);
}

bool tc_grow_was_accepted(const struct tc_grow *grow)
{
    return tc_json_get(grow->header, "accepted") != NULL;
}

const char *tc_grow_excerpt_of(const struct tc_grow *grow, const char *trace)
{
    for (size_t i = 0; i < grow->excerpts.n; i++)
        if (!strcmp(grow->excerpts.items[i].path, trace))
            return grow->excerpts.items[i].line;
    return NULL;
}

struct printing {
    struct tc_grow *grow;
    struct tc_heading_writer writer;
};

static enum tc_status print_line(void *context, const char *line, size_t size,
                                 const struct tc_json *document, struct tc_error *err)
{
    struct printing *printing = context;
    struct tc_grow *grow = printing->grow;
    const char *id = tc_json_text(tc_json_get(document, "id"));
    const tc_sym known = tc_strtab_find(grow->ids, id ? id : "", id ? strlen(id) : 0);
    struct tc_json *marked = tc_json_copy(document);
    uint64_t number;

    (void)line;
    (void)size;
    (void)err;
    if (known != TC_NO_SYM && tc_map_get(&grow->numbers, known, &number))
        tc_json_set_number(marked, "accepted", (double)number);
    tc_heading_writer_add(&printing->writer, marked);
    return TC_OK;
}

enum tc_status tc_grow_print(struct tc_grow *grow, const struct tc_strbuf *lines,
                             struct tc_strbuf *out, struct tc_error *err)
{
    struct printing printing = {grow, {.out = out}};
    enum tc_status status =
        tc_each_invariant("what was learned", lines, print_line, &printing, err);

    tc_heading_writer_end(&printing.writer);
    if (grow->own.size)
        tc_strbuf_add(out, grow->own.text, grow->own.size);
    return status;
}
