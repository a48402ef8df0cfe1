/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.c - an evidence file, packed as it is, in the letters of base64
 *
 * What is accepted is replaced row by row in the text of the evidence, by source and key: the rows
 * of a key stand or fall together, and those of the accepted run speak for all runs before it.
 */
#include "infer/kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/vec.h"
#include "infer/set_lines.h"
#include "invariant/invariant.h"
#include "relation/evidence_io.h"
#include "relation/relation.h"
#include <traincheck/version.h>

bool tc_is_kept_line(const struct tc_json *document)
{
    const char *kind = tc_json_text(tc_json_get(document, "traincheck"));

    return kind && !strcmp(kind, "evidence");
}

/* ---- a line -------------------------------------------------------------------------------- */

static void print_line(const struct tc_strbuf *packed, struct tc_strbuf *out)
{
    struct tc_strbuf letters = TC_STRBUF_INIT;

    tc_base64_add(&letters, packed->text, packed->size);
    tc_strbuf_addf(out, "{\"traincheck\":\"evidence\",\"schema\":%d,\"zstd\":\"",
                   TC_EVIDENCE_SCHEMA);
    tc_strbuf_add(out, letters.text, letters.size);
    tc_strbuf_adds(out, "\"}\n");
    tc_strbuf_release(&letters);
}

enum tc_status tc_kept_add(const struct tc_evidence *evidence, struct tc_strbuf *out,
                           uint64_t *bytes, struct tc_error *err)
{
    struct tc_strbuf packed = TC_STRBUF_INIT;
    const size_t before = out->size;
    enum tc_status status = tc_evidence_print(evidence, &packed, err);

    if (!status)
        print_line(&packed, out);
    *bytes = out->size - before;
    tc_strbuf_release(&packed);
    return status;
}

static enum tc_status decode(const struct tc_json *document, struct tc_strbuf *packed,
                             struct tc_error *err)
{
    const char *letters = tc_json_text(tc_json_get(document, "zstd"));

    if (tc_json_to_number(tc_json_get(document, "schema"), 0) > TC_EVIDENCE_SCHEMA)
        return tc_error_set(err, TC_E_VERSION,
                            "its evidence has a newer schema than %d, the newest this version "
                            "reads",
                            TC_EVIDENCE_SCHEMA);
    if (!letters)
        return tc_error_set(err, TC_E_FORMAT, "field \"zstd\" is missing or no string");
    return tc_base64_decode(letters, strlen(letters), packed, err);
}

enum tc_status tc_kept_read(const struct tc_json *document, struct tc_evidence *evidence,
                            struct tc_error *err)
{
    uint64_t n_unknown = 0;
    struct tc_strbuf packed = TC_STRBUF_INIT;
    enum tc_status status = decode(document, &packed, err);

    if (!status)
        status = tc_evidence_parse(evidence, &packed, "its evidence", &n_unknown, err);
    tc_strbuf_release(&packed);
    return status;
}

/* ---- what is accepted ------------------------------------------------------------------------ */

struct accepting {
    struct tc_strtab *keys; /* of the rows that are replaced: source, newline, key */
    bool takes_keys;        /* those rows, or all others */
    struct tc_json *header; /* of the first */
    TC_VEC(char *) lines;
};

static bool has(const struct tc_strtab *texts, const char *text)
{
    return tc_strtab_find(texts, text, strlen(text)) != TC_NO_SYM;
}

/* What the invariants with these ids rest on. */
static enum tc_status find_keys(const char *file, const struct tc_strtab *ids,
                                struct tc_strtab *keys, struct tc_error *err)
{
    struct tc_invariant_set set;
    struct tc_strtab *symbols = tc_symbols_new();
    enum tc_status status;

    tc_invariant_set_init(&set, symbols);
    status = tc_invariant_set_read_file(&set, file, file, false, err);
    for (size_t i = 0; !status && i < set.items.n; i++) {
        const struct tc_invariant *x = set.items.items[i];
        const struct tc_relation *relation = tc_relation_find(tc_strtab_text(symbols, x->relation));
        struct tc_strbuf text = TC_STRBUF_INIT;
        if (!relation || x->unchecked || !has(ids, x->id))
            continue;
        const tc_sym key = tc_relation_key(relation, symbols, x->params, x->n_params);
        tc_strbuf_addf(&text, "%s\n%s", relation->source->name, tc_strtab_text(symbols, key));
        tc_strtab_intern_text(keys, text.text);
        tc_strbuf_release(&text);
    }
    tc_invariant_set_release(&set);
    tc_strtab_free(symbols);
    return status;
}

/* The row of an accepted run speaks for all runs that were learned from. */
static char *line_for_all(const struct accepting *a, const struct tc_json *document)
{
    struct tc_json *row = tc_json_copy(document);
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_json_set(row, "in", tc_json_copy(tc_json_get(a->header, "pipelines")));
    tc_json_print(row, &text);
    tc_json_free(row);
    return tc_strbuf_take(&text);
}

static enum tc_status take_row(void *context, const char *line, size_t size,
                               const struct tc_json *document, struct tc_error *err)
{
    struct accepting *a = context;
    const char *source = tc_json_text(tc_json_get(document, "source"));
    const char *key = tc_json_text(tc_json_get(document, "key"));
    struct tc_strbuf text = TC_STRBUF_INIT;

    (void)err;
    if (!source || !key) {
        a->header = a->header ? a->header : tc_json_copy(document);
        return TC_OK;
    }
    tc_strbuf_addf(&text, "%s\n%s", source, key);
    if (has(a->keys, text.text) != a->takes_keys) {
        tc_strbuf_release(&text);
        return TC_OK;
    }
    tc_strbuf_reset(&text);
    tc_strbuf_add(&text, line, size);
    tc_vec_push(&a->lines, a->takes_keys ? line_for_all(a, document) : tc_strdup(text.text));
    tc_strbuf_release(&text);
    return TC_OK;
}

static enum tc_status take_rows(struct accepting *a, const struct tc_json *document,
                                bool takes_keys, struct tc_error *err)
{
    struct tc_strbuf packed = TC_STRBUF_INIT, text = TC_STRBUF_INIT;
    enum tc_status status = decode(document, &packed, err);

    if (!status)
        status = tc_evidence_unpack(&packed, &text, err);
    a->takes_keys = takes_keys;
    if (!status)
        status = tc_each_line("its evidence", &text, take_row, a, err);
    tc_strbuf_release(&packed);
    tc_strbuf_release(&text);
    return status;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum tc_status print_accepted(struct accepting *a, struct tc_strbuf *out,
                                     struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT, packed = TC_STRBUF_INIT;
    enum tc_status status;

    if (a->header)
        tc_json_print_line(a->header, &text);
    a->header = NULL; /* printed, and freed */
    if (a->lines.n)
        qsort(a->lines.items, a->lines.n, sizeof(*a->lines.items), compare_lines);
    for (size_t i = 0; i < a->lines.n; i++)
        tc_strbuf_addf(&text, "%s\n", a->lines.items[i]);
    status = tc_evidence_pack(&text, &packed, err);
    if (!status)
        print_line(&packed, out);
    tc_strbuf_release(&text);
    tc_strbuf_release(&packed);
    return status;
}

enum tc_status tc_kept_accept(const char *file, const struct tc_strtab *ids,
                              const struct tc_json *kept, const struct tc_json *shown,
                              struct tc_strbuf *out, struct tc_error *err)
{
    struct accepting a = {.keys = tc_strtab_new()};
    enum tc_status status = find_keys(file, ids, a.keys, err);

    if (!status)
        status = take_rows(&a, kept, false, err);
    if (!status)
        status = take_rows(&a, shown, true, err);
    if (!status)
        status = print_accepted(&a, out, err);
    for (size_t i = 0; i < a.lines.n; i++)
        tc_free(a.lines.items[i]);
    tc_vec_release(&a.lines);
    tc_json_free(a.header);
    tc_strtab_free(a.keys);
    return status;
}
