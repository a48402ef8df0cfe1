/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence_io.c - evidence printed as sorted lines in frames, and read back with all checks
 *
 * The order of lines, fields and words is that of their texts, so equal evidence gives equal
 * bytes. Reading trusts nothing: kinds, counts, UTF-8, size. Rows of a source that this version
 * does not know are counted and left out; words of an older schema are renamed.
 */
#include "relation/evidence_io.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/utf8.h"
#include "replay/symbols.h"
#include "trace/zio.h"
#include <traincheck/version.h>

#define MAX_TEXT ((size_t)1 << 30) /* bytes, unpacked */

/* ---- writing ------------------------------------------------------------------------------- */

/* A field and its value, side by side in one array to be sorted by field. */
struct entry {
    const char *field, *value;
};

struct tc_json *tc_evidence_situation(const struct tc_evidence *evidence, const struct tc_row *row)
{
    struct tc_json *object = tc_json_object();
    struct entry entries[TC_SITUATION_MAX];
    size_t n;
    const struct tc_pair *pairs = tc_row_situation(evidence, row, &n);

    for (size_t i = 0; i < n; i++)
        entries[i] = (struct entry){tc_strtab_text(evidence->symbols, pairs[i].field),
                                    tc_strtab_text(evidence->symbols, pairs[i].value)};
    qsort(entries, n, sizeof(*entries), tc_compare_texts); /* field stands first in an entry */
    for (size_t i = 0; i < n; i++)
        tc_json_set_string(object, entries[i].field, entries[i].value);
    return object;
}

static struct tc_json *outcome_to_json(const struct tc_evidence *evidence, const struct tc_row *row)
{
    struct tc_json *array = tc_json_array();
    size_t n;
    const tc_sym *outcome = tc_row_outcome(evidence, row, &n);
    const char **texts = tc_calloc(n + 1, sizeof(*texts));

    for (size_t i = 0; i < n; i++)
        texts[i] = tc_strtab_text(evidence->symbols, outcome[i]);
    if (tc_sources[row->source]->is_set)
        qsort(texts, n, sizeof(*texts), tc_compare_texts);
    for (size_t i = 0; i < n; i++)
        tc_json_append(array, tc_json_string(texts[i]));
    tc_free(texts);
    return array;
}

static struct tc_json *names_to_json(const struct tc_evidence *evidence, const uint32_t *pipelines,
                                     size_t n)
{
    struct tc_json *array = tc_json_array();
    const char **names = tc_calloc(n + 1, sizeof(*names));

    for (size_t i = 0; i < n; i++)
        names[i] = tc_strtab_text(evidence->symbols, evidence->pipelines.items[pipelines[i]]);
    qsort(names, n, sizeof(*names), tc_compare_texts);
    for (size_t i = 0; i < n; i++)
        tc_json_append(array, tc_json_string(names[i]));
    tc_free(names);
    return array;
}

static char *line_of_row(const struct tc_evidence *evidence, const struct tc_row *row)
{
    struct tc_json *object = tc_json_object();
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_json_set_string(object, "source", tc_sources[row->source]->name);
    tc_json_set_string(object, "key", tc_strtab_text(evidence->symbols, row->key));
    tc_json_set(object, "when", tc_evidence_situation(evidence, row));
    tc_json_set(object, "got", outcome_to_json(evidence, row));
    tc_json_set_number(object, "n", (double)row->count);
    tc_fact_windows_print(&row->windows, object);
    tc_json_set(object, "in", names_to_json(evidence, row->pipelines.items, row->pipelines.n));
    if (row->first != TC_NO_SYM)
        tc_json_set_string(object, "first", tc_strtab_text(evidence->symbols, row->first));
    tc_json_print(object, &text);
    tc_json_free(object);
    return tc_strbuf_take(&text);
}

static void print_header(const struct tc_evidence *evidence, struct tc_strbuf *out)
{
    struct tc_json *object = tc_json_object();
    uint32_t *all = tc_malloc(evidence->pipelines.n * sizeof(*all) + 1);

    for (uint32_t i = 0; i < evidence->pipelines.n; i++)
        all[i] = i;
    tc_json_set_string(object, "traincheck", "evidence");
    tc_json_set_number(object, "schema", TC_EVIDENCE_SCHEMA);
    tc_json_set_string(object, "made_by", "traincheck-infer " TC_VERSION);
    tc_json_set(object, "pipelines", names_to_json(evidence, all, evidence->pipelines.n));
    tc_json_print_line(object, out);
    tc_free(all);
}

static void print_rows(const struct tc_evidence *evidence, struct tc_strbuf *out)
{
    size_t n = evidence->rows.n;
    char **lines = tc_calloc(n + 1, sizeof(*lines));

    for (size_t i = 0; i < n; i++)
        lines[i] = line_of_row(evidence, &evidence->rows.items[i]);
    qsort(lines, n, sizeof(*lines), tc_compare_texts);
    for (size_t i = 0; i < n; i++) {
        tc_strbuf_adds(out, lines[i]);
        tc_strbuf_addc(out, '\n');
        tc_free(lines[i]);
    }
    tc_free(lines);
}

#define FRAME_SIZE ((size_t)8 << 20)

enum tc_status tc_evidence_pack(const struct tc_strbuf *lines, struct tc_strbuf *packed,
                                struct tc_error *err)
{
    struct tc_zio *zio = tc_zio_new();
    enum tc_status status = TC_OK;

    tc_zio_set_level(zio, TC_ZIO_LEVEL_KEPT);
    for (size_t at = 0; at < lines->size && !status; at += FRAME_SIZE) {
        const size_t left = lines->size - at;
        status =
            tc_zio_pack(zio, lines->text + at, left < FRAME_SIZE ? left : FRAME_SIZE, packed, err);
    }
    tc_zio_free(zio);
    return status;
}

enum tc_status tc_evidence_print(const struct tc_evidence *evidence, struct tc_strbuf *packed,
                                 struct tc_error *err)
{
    struct tc_strbuf lines = TC_STRBUF_INIT;
    enum tc_status status;

    print_header(evidence, &lines);
    print_rows(evidence, &lines);
    status = tc_evidence_pack(&lines, packed, err);
    tc_strbuf_release(&lines);
    return status;
}

enum tc_status tc_evidence_write(const struct tc_evidence *evidence, const char *path,
                                 struct tc_error *err)
{
    struct tc_strbuf packed = TC_STRBUF_INIT;
    enum tc_status status = tc_evidence_print(evidence, &packed, err);

    if (!status)
        status = tc_fs_write(path, packed.text, packed.size, err);
    tc_strbuf_release(&packed);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* A file being read. */
struct reading {
    struct tc_evidence *evidence;
    double schema;
    uint64_t *n_unknown;
};

static enum tc_status missing(struct tc_error *err, const char *field)
{
    return tc_error_set(err, TC_E_FORMAT, "field \"%s\" is missing or of the wrong kind", field);
}

static enum tc_status read_situation(struct tc_evidence *evidence, const struct tc_json *when,
                                     struct tc_row *row, struct tc_error *err)
{
    struct tc_situation situation = {.n = 0};

    if (!tc_json_is_object(when))
        return missing(err, "when");
    for (const struct tc_json *c = tc_json_first(when); c; c = tc_json_next(c)) {
        const char *value = tc_json_text(c);
        if (!value)
            return missing(err, "when");
        tc_situation_set(&situation, tc_strtab_intern_text(evidence->symbols, tc_json_key(c)),
                         tc_strtab_intern_text(evidence->symbols, value));
    }
    tc_situation_sort(&situation);
    row->situation =
        tc_strtab_intern(evidence->arrays, situation.pairs, situation.n * sizeof(*situation.pairs));
    return TC_OK;
}

/* What schema 2 renamed: words of the outcomes of these sources. */
static const struct {
    const char *source, *before, *now;
} renamed[] = {
    {"contents", "looked",             "observed"            },
    {"contents", "fresh",              "grad_absent"         },
    {"contents", "laden",              "grad_present"        },
    {"contents", "idle",               "no_update"           },
    {"sets",     "astray param_group", "set_idle param_group"},
};

static const char *current_word(const struct reading *reading, const struct tc_row *row,
                                const char *text)
{
    for (size_t i = 0; reading->schema < 2 && i < sizeof(renamed) / sizeof(*renamed); i++)
        if (!strcmp(tc_sources[row->source]->name, renamed[i].source) &&
            !strcmp(text, renamed[i].before))
            return renamed[i].now;
    return text;
}

static enum tc_status read_outcome(const struct reading *reading, const struct tc_json *got,
                                   struct tc_row *row, struct tc_error *err)
{
    struct tc_evidence *evidence = reading->evidence;
    TC_VEC(tc_sym) outcome = {0};
    bool is_array = tc_json_is_array(got);

    for (const struct tc_json *c = is_array ? tc_json_first(got) : NULL; c; c = tc_json_next(c)) {
        const char *text = tc_json_text(c);
        is_array = is_array && text;
        tc_vec_push(&outcome, tc_strtab_intern_text(evidence->symbols,
                                                    text ? current_word(reading, row, text) : ""));
    }
    if (tc_sources[row->source]->is_set && outcome.n)
        qsort(outcome.items, outcome.n, sizeof(*outcome.items), tc_sym_compare);
    row->outcome =
        tc_strtab_intern(evidence->arrays, outcome.items, outcome.n * sizeof(*outcome.items));
    tc_vec_release(&outcome);
    return is_array ? TC_OK : missing(err, "got");
}

static enum tc_status read_pipelines(struct tc_evidence *evidence, const struct tc_json *in,
                                     struct tc_row *row, struct tc_error *err)
{
    if (!tc_json_is_array(in) || !tc_json_count(in))
        return missing(err, "in");
    for (const struct tc_json *c = tc_json_first(in); c; c = tc_json_next(c)) {
        if (!tc_json_text(c))
            return missing(err, "in");
        tc_row_add_pipeline(row, tc_evidence_pipeline(evidence, tc_json_text(c)));
    }
    return TC_OK;
}

static enum tc_status read_row(const struct reading *reading, const struct tc_json *object,
                               uint32_t source, struct tc_error *err)
{
    struct tc_evidence *evidence = reading->evidence;
    struct tc_row row = {.source = source, .first = TC_NO_SYM};
    const char *key = tc_json_text(tc_json_get(object, "key"));
    const char *first = tc_json_text(tc_json_get(object, "first"));
    double n = tc_json_to_number(tc_json_get(object, "n"), 0);
    enum tc_status status;

    if (!key)
        return missing(err, "key");
    if (!(n >= 1) || n > 9e15)
        return missing(err, "n");
    row.key = tc_strtab_intern_text(evidence->symbols, key);
    row.count = (uint64_t)n;
    if (!tc_fact_windows_read(object, &row.windows))
        return missing(err, "windows");
    if (first)
        row.first = tc_strtab_intern_text(evidence->symbols, first);
    status = read_situation(evidence, tc_json_get(object, "when"), &row, err);
    if (!status)
        status = read_outcome(reading, tc_json_get(object, "got"), &row, err);
    if (!status)
        status = read_pipelines(evidence, tc_json_get(object, "in"), &row, err);
    if (!status)
        tc_evidence_add_row(evidence, &row);
    tc_vec_release(&row.pipelines);
    return status;
}

static enum tc_status read_header(struct reading *reading, const struct tc_json *object,
                                  struct tc_error *err)
{
    const char *what = tc_json_text(tc_json_get(object, "traincheck"));
    const struct tc_json *names = tc_json_get(object, "pipelines");

    if (!what || strcmp(what, "evidence"))
        return tc_error_set(err, TC_E_FORMAT, "this is no evidence file");
    reading->schema = tc_json_to_number(tc_json_get(object, "schema"), 0);
    if (reading->schema > TC_EVIDENCE_SCHEMA)
        return tc_error_set(err, TC_E_VERSION,
                            "evidence schema %g is newer than %d, the newest this version reads",
                            reading->schema, TC_EVIDENCE_SCHEMA);
    for (const struct tc_json *c = tc_json_first(names); c; c = tc_json_next(c))
        if (tc_json_text(c))
            tc_evidence_pipeline(reading->evidence, tc_json_text(c));
    return TC_OK;
}

/* Written, all bytes that are not UTF-8 are one character: names that differ would become one. */
static enum tc_status check_utf8(const char *line, size_t size, struct tc_error *err)
{
    const char *other = tc_utf8_find_other(line, line + size);

    return other ? tc_error_set(err, TC_E_FORMAT, "byte %zu: not UTF-8", (size_t)(other - line))
                 : TC_OK;
}

static enum tc_status read_line(struct reading *reading, const char *line, size_t size,
                                bool is_first, struct tc_error *err)
{
    struct tc_json *object = NULL;
    enum tc_status status = check_utf8(line, size, err);
    const char *name;

    if (!status)
        status = tc_json_parse(line, size, &object, err);
    if (status)
        return status;
    name = tc_json_text(tc_json_get(object, "source"));
    if (is_first)
        status = read_header(reading, object, err);
    else if (!name)
        status = missing(err, "source");
    else if (tc_source_find(name) == UINT32_MAX)
        ++*reading->n_unknown;
    else
        status = read_row(reading, object, tc_source_find(name), err);
    tc_json_free(object);
    return status;
}

enum tc_status tc_evidence_unpack(const struct tc_strbuf *packed, struct tc_strbuf *lines,
                                  struct tc_error *err)
{
    struct tc_zio *zio = tc_zio_new();
    enum tc_status status = packed->size ? TC_OK : tc_error_set(err, TC_E_FORMAT, "it is empty");

    for (size_t at = 0, used; at < packed->size && !status; at += used) {
        status = tc_zio_unpack(zio, packed->text + at, packed->size - at, lines, &used, err);
        if (!status && lines->size > MAX_TEXT)
            status = tc_error_set(err, TC_E_FORMAT,
                                  "more than %zu MiB when unpacked, which is the most that is read",
                                  MAX_TEXT >> 20);
    }
    if (status == TC_END)
        status = tc_error_set(err, TC_E_FORMAT, "it is cut off");
    tc_zio_free(zio);
    return status;
}

enum tc_status tc_evidence_parse(struct tc_evidence *evidence, const struct tc_strbuf *packed,
                                 const char *name, uint64_t *n_unknown, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct reading reading = {.evidence = evidence, .n_unknown = n_unknown};
    enum tc_status status = tc_evidence_unpack(packed, &text, err);
    unsigned line = 0;

    if (status)
        tc_error_prefix(err, "%s", name);
    for (size_t at = 0; !status && at < text.size;) {
        const char *start = text.text + at, *end = memchr(start, '\n', text.size - at);
        size_t size = end ? (size_t)(end - start) : text.size - at;
        status = read_line(&reading, start, size, ++line == 1, err);
        if (status)
            tc_error_prefix(err, "%s:%u", name, line);
        at += size + 1;
    }
    tc_strbuf_release(&text);
    return status;
}

enum tc_status tc_evidence_read(struct tc_evidence *evidence, const char *path, uint64_t *n_unknown,
                                struct tc_error *err)
{
    struct tc_strbuf packed = TC_STRBUF_INIT;
    enum tc_status status = tc_fs_read(path, TC_FS_MAX_LARGE, &packed, err);

    if (!status)
        status = tc_evidence_parse(evidence, &packed, path, n_unknown, err);
    tc_strbuf_release(&packed);
    return status;
}
