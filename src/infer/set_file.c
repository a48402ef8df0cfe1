/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_file.c - lines as they were read; only those that change are written anew
 *
 * A change of a few invariants leaves all other lines as they are, byte for byte, so that a
 * review sees what changed. A rename gives new ids and sentences, as these are made of names.
 */
#include "infer/set_file.h"

#include <string.h>

#include "infer/kept.h"
#include "infer/set_lines.h"
#include "invariant/headings.h"
#include "invariant/invariant.h"
#include "relation/relation.h"

/* ---- reading --------------------------------------------------------------------------------- */

enum tc_status tc_set_file_add(struct tc_set_file *file, const char *text, size_t size,
                               struct tc_error *err)
{
    struct tc_strbuf line = TC_STRBUF_INIT;
    struct tc_json *document = NULL;
    enum tc_status status = tc_json_parse(text, size, &document, err);

    if (status)
        return status;
    tc_strbuf_add(&line, text, size);
    tc_vec_push(&file->lines, ((struct tc_set_line){tc_strbuf_take(&line), document}));
    return TC_OK;
}

static enum tc_status take(void *context, const char *line, size_t size,
                           const struct tc_json *document, struct tc_error *err)
{
    struct tc_set_file *file = context;
    const char *kind = tc_json_text(tc_json_get(document, "traincheck"));

    if (tc_is_kept_line(document)) {
        tc_json_free(file->kept);
        file->kept = tc_json_copy(document);
    } else if (kind && !strcmp(kind, "excerpt")) {
        tc_strbuf_add(&file->excerpts, line, size);
        tc_strbuf_addc(&file->excerpts, '\n');
    } else if (kind && !strcmp(kind, "invariants")) {
        if (!file->header)
            file->header = tc_json_copy(document);
    } else {
        return tc_set_file_add(file, line, size, err);
    }
    return TC_OK;
}

enum tc_status tc_set_file_read(const char *path, struct tc_set_file *file, struct tc_error *err)
{
    *file = (struct tc_set_file){0};
    return tc_each_invariant_of_file(path, take, file, err);
}

void tc_set_file_release(struct tc_set_file *file)
{
    for (size_t i = 0; i < file->lines.n; i++) {
        tc_free(file->lines.items[i].text);
        tc_json_free(file->lines.items[i].document);
    }
    tc_vec_release(&file->lines);
    tc_json_free(file->header);
    tc_json_free(file->kept);
    tc_strbuf_release(&file->excerpts);
}

/* ---- changes --------------------------------------------------------------------------------- */

enum tc_status tc_set_file_replace(struct tc_set_file *file, size_t i, const char *text,
                                   struct tc_error *err)
{
    struct tc_set_line *line = &file->lines.items[i];

    tc_free(line->text);
    tc_json_free(line->document);
    *line = (struct tc_set_line){0};
    if (!text)
        return TC_OK;
    line->text = tc_strdup(text);
    return tc_json_parse(text, strlen(text), &line->document, err);
}

/* ---- new names ------------------------------------------------------------------------------- */

/* Its id and its sentence are made of its names. */
static void print_anew(struct tc_invariant_set *set, struct tc_invariant *x, struct tc_strbuf *out)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_relation_describe(tc_relation_find(tc_strtab_text(set->symbols, x->relation)), set->symbols,
                         x, &text);
    x->text = tc_arena_text(&set->arena, text.text, text.size);
    struct tc_json *document = tc_invariant_to_json(x, set->symbols);
    tc_json_print(document, out);
    tc_json_free(document);
    tc_strbuf_release(&text);
}

static enum tc_status rename_line(struct tc_set_file *file, size_t i,
                                  const struct tc_renames *renames, struct tc_invariant_set *set,
                                  struct tc_error *err)
{
    const char *text = file->lines.items[i].text;
    struct tc_strbuf renamed = TC_STRBUF_INIT;
    const size_t n = set->items.n;
    enum tc_status status = TC_OK;

    if (!text || !tc_is_invariant_line(file->lines.items[i].document) ||
        !tc_renames_apply(renames, text, strlen(text), &renamed)) {
        tc_strbuf_release(&renamed);
        return TC_OK;
    }
    status = tc_invariant_set_read_text(set, &renamed, "a renamed invariant", err);
    struct tc_invariant *x = set->items.n > n ? set->items.items[n] : NULL;
    if (!status && x && !x->unchecked &&
        tc_relation_find(tc_strtab_text(set->symbols, x->relation))) {
        tc_strbuf_reset(&renamed);
        print_anew(set, x, &renamed);
    }
    if (!status)
        status = tc_set_file_replace(file, i, x ? renamed.text : NULL, err);
    tc_strbuf_release(&renamed);
    return status;
}

enum tc_status tc_set_file_rename(struct tc_set_file *file, const struct tc_renames *renames,
                                  struct tc_error *err)
{
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_invariant_set set;
    enum tc_status status = TC_OK;

    tc_invariant_set_init(&set, symbols);
    for (size_t i = 0; i < file->lines.n && !status; i++)
        status = rename_line(file, i, renames, &set, err);
    if (!status && file->kept)
        status = tc_kept_rename(&file->kept, renames, err);
    tc_invariant_set_release(&set);
    tc_strtab_free(symbols);
    return status;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Does it rest on evidence? What people write does not. */
static bool is_learned(const struct tc_set_line *line)
{
    return tc_is_invariant_line(line->document) && tc_json_get(line->document, "evidence");
}

static void join(const struct tc_set_file *file, bool learned, struct tc_strbuf *out)
{
    for (size_t i = 0; i < file->lines.n; i++)
        if (file->lines.items[i].text && is_learned(&file->lines.items[i]) == learned)
            tc_strbuf_addf(out, "%s\n", file->lines.items[i].text);
}

/* In the order of an invariant file. */
static enum tc_status print_learned(const struct tc_set_file *file, struct tc_strbuf *out,
                                    struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_heading_writer writer = {.out = out};
    struct tc_invariant_set set;

    join(file, true, &text);
    tc_invariant_set_init(&set, symbols);
    enum tc_status status = tc_invariant_set_read_text(&set, &text, "accepted invariants", err);
    tc_invariant_set_sort(&set);
    for (size_t i = 0; i < set.items.n; i++)
        tc_heading_writer_add(&writer, tc_json_copy(set.items.items[i]->document));
    tc_heading_writer_end(&writer);
    tc_invariant_set_release(&set);
    tc_strtab_free(symbols);
    tc_strbuf_release(&text);
    return status;
}

enum tc_status tc_set_file_print(const struct tc_set_file *file, struct tc_strbuf *out,
                                 struct tc_error *err)
{
    enum tc_status status;

    if (file->header) {
        tc_json_print(file->header, out);
        tc_strbuf_addc(out, '\n');
    }
    tc_strbuf_add(out, file->excerpts.text, file->excerpts.size);
    if (file->kept) {
        tc_json_print(file->kept, out);
        tc_strbuf_addc(out, '\n');
    }
    status = print_learned(file, out, err);
    join(file, false, out);
    return status;
}
