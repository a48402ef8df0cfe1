/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_lines.c - each line a JSON document; subjects are texts without values
 *
 * Lines below a heading are given as the whole invariants that they are together with it, or as
 * they stand in the file. A line that cannot be read ends the walk, with file and line.
 */
#include "infer/set_lines.h"

#include "base/fs.h"
#include "invariant/headings.h"

enum tc_status tc_each_line(const char *path, const struct tc_strbuf *text, tc_line_fn *take,
                            void *context, struct tc_error *err)
{
    enum tc_status status = TC_OK;
    unsigned number = 0;

    for (size_t at = 0, size; at < text->size && !status; at += size + 1) {
        const char *line = text->text + at, *end = memchr(line, '\n', text->size - at);
        struct tc_json *document = NULL;
        size = end ? (size_t)(end - line) : text->size - at;
        number++;
        if (!size)
            continue;
        status = tc_json_parse(line, size, &document, err);
        if (!status)
            status = take(context, line, size, document, err);
        if (status)
            tc_error_prefix(err, "%s:%u", path, number);
        tc_json_free(document);
    }
    return status;
}

typedef enum tc_status each_fn(const char *path, const struct tc_strbuf *text, tc_line_fn *take,
                               void *context, struct tc_error *err);

static enum tc_status each_of_file(const char *path, each_fn *each, tc_line_fn *take, void *context,
                                   struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status = tc_fs_read(path, TC_FS_MAX_LARGE, &text, err);

    if (!status)
        status = each(path, &text, take, context, err);
    tc_strbuf_release(&text);
    return status;
}

enum tc_status tc_each_line_of_file(const char *path, tc_line_fn *take, void *context,
                                    struct tc_error *err)
{
    return each_of_file(path, tc_each_line, take, context, err);
}

/* ---- lines below headings -------------------------------------------------------------------- */

struct joining {
    struct tc_json *heading; /* NULL: none yet */
    tc_line_fn *take;
    void *context;
};

static enum tc_status take_joined(struct joining *joining, const struct tc_json *line,
                                  struct tc_error *err)
{
    struct tc_json *whole = tc_heading_join(joining->heading, line);
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_json_print(whole, &text);
    const enum tc_status status = joining->take(joining->context, text.text, text.size, whole, err);
    tc_strbuf_release(&text);
    tc_json_free(whole);
    return status;
}

static enum tc_status join(void *context, const char *line, size_t size,
                           const struct tc_json *document, struct tc_error *err)
{
    struct joining *joining = context;

    if (tc_is_heading(document)) {
        tc_json_free(joining->heading);
        joining->heading = tc_json_copy(document);
        return TC_OK;
    }
    if (joining->heading && tc_is_below_heading(document))
        return take_joined(joining, document, err);
    return joining->take(joining->context, line, size, document, err);
}

enum tc_status tc_each_invariant(const char *path, const struct tc_strbuf *text, tc_line_fn *take,
                                 void *context, struct tc_error *err)
{
    struct joining joining = {.take = take, .context = context};
    const enum tc_status status = tc_each_line(path, text, join, &joining, err);

    tc_json_free(joining.heading);
    return status;
}

enum tc_status tc_each_invariant_of_file(const char *path, tc_line_fn *take, void *context,
                                         struct tc_error *err)
{
    return each_of_file(path, tc_each_invariant, take, context, err);
}

/* ---- what a line is ----------------------------------------------------------------------------
 */

bool tc_is_invariant_line(const struct tc_json *document)
{
    return tc_json_is_string(tc_json_get(document, "relation")) &&
           tc_json_is_array(tc_json_get(document, "params")) && tc_json_get(document, "when");
}

tc_sym tc_subject_of_line(struct tc_strtab *subjects, const struct tc_json *document)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_adds(&text, tc_json_text(tc_json_get(document, "relation")));
    for (const struct tc_json *p = tc_json_first(tc_json_get(document, "params")); p;
         p = tc_json_next(p))
        for (const struct tc_json *m = tc_json_first(p); m; m = tc_json_next(m)) {
            if (!strcmp(tc_json_key(m), "is"))
                continue;
            tc_strbuf_addf(&text, " %s=", tc_json_key(m));
            tc_json_print(m, &text);
        }
    tc_strbuf_addc(&text, ' ');
    tc_json_print(tc_json_get(document, "when"), &text);
    const tc_sym subject = tc_strtab_intern(subjects, text.text, text.size);
    tc_strbuf_release(&text);
    return subject;
}
