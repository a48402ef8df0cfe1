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

/* ---- as text --------------------------------------------------------------------------------- */

static enum tc_status unpack(const struct tc_json *document, struct tc_strbuf *text,
                             struct tc_error *err)
{
    struct tc_strbuf packed = TC_STRBUF_INIT;
    enum tc_status status = decode(document, &packed, err);

    if (!status)
        status = tc_evidence_unpack(&packed, text, err);
    tc_strbuf_release(&packed);
    return status;
}

/* The document takes the place of *kept. */
static enum tc_status pack(const struct tc_strbuf *text, struct tc_json **kept,
                           struct tc_error *err)
{
    struct tc_strbuf packed = TC_STRBUF_INIT, line = TC_STRBUF_INIT;
    struct tc_json *document = NULL;
    enum tc_status status = tc_evidence_pack(text, &packed, err);

    if (!status) {
        print_line(&packed, &line);
        status = tc_json_parse(line.text, line.size - 1, &document, err);
    }
    if (!status) {
        tc_json_free(*kept);
        *kept = document;
    }
    tc_strbuf_release(&packed);
    tc_strbuf_release(&line);
    return status;
}

enum tc_status tc_kept_rename(struct tc_json **kept, const struct tc_renames *renames,
                              struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT, renamed = TC_STRBUF_INIT;
    enum tc_status status = unpack(*kept, &text, err);

    if (!status) {
        tc_renames_apply(renames, text.text, text.size, &renamed);
        status = pack(&renamed, kept, err);
    }
    tc_strbuf_release(&text);
    tc_strbuf_release(&renamed);
    return status;
}

/* ---- what is accepted ------------------------------------------------------------------------ */

struct accepting {
    struct tc_strtab *keys;     /* of the rows that are replaced: source, newline, key */
    struct tc_strtab *known;    /* of all rows that were there */
    struct tc_strtab *new_keys; /* of rows that are the first of their key; NULL: left out */
    struct tc_json *header;
    TC_VEC(char *) lines;
};

static bool has(const struct tc_strtab *texts, const char *text)
{
    return tc_strtab_find(texts, text, strlen(text)) != TC_NO_SYM;
}

void tc_kept_key_of(const struct tc_invariant *x, struct tc_strtab *symbols, struct tc_strbuf *out)
{
    const struct tc_relation *relation = tc_relation_find(tc_strtab_text(symbols, x->relation));

    if (!relation || x->unchecked)
        return;
    const tc_sym key = tc_relation_key(relation, symbols, x->params, x->n_params);
    tc_strbuf_addf(out, "%s\n%s", relation->source->name, tc_strtab_text(symbols, key));
}

/* What the invariants in these lines rest on. */
static enum tc_status find_keys(const struct tc_strbuf *lines, struct tc_strtab *keys,
                                struct tc_error *err)
{
    struct tc_invariant_set set;
    struct tc_strtab *symbols = tc_symbols_new();
    enum tc_status status;

    tc_invariant_set_init(&set, symbols);
    status = tc_invariant_set_read_text(&set, lines, "accepted invariants", err);
    for (size_t i = 0; !status && i < set.items.n; i++) {
        struct tc_strbuf text = TC_STRBUF_INIT;
        tc_kept_key_of(set.items.items[i], symbols, &text);
        if (text.size)
            tc_strtab_intern(keys, text.text, text.size);
        tc_strbuf_release(&text);
    }
    tc_invariant_set_release(&set);
    tc_strtab_free(symbols);
    return status;
}

/* "source\nkey"; false: it is the header. */
static bool key_of_row(const struct tc_json *row, struct tc_strbuf *out)
{
    const char *source = tc_json_text(tc_json_get(row, "source"));
    const char *key = tc_json_text(tc_json_get(row, "key"));

    if (!source || !key)
        return false;
    tc_strbuf_addf(out, "%s\n%s", source, key);
    return true;
}

/* A row that was there: it stays unless those of its key are replaced. */
static enum tc_status take_row(void *context, const char *line, size_t size,
                               const struct tc_json *document, struct tc_error *err)
{
    struct accepting *a = context;
    struct tc_strbuf text = TC_STRBUF_INIT;

    (void)err;
    if (!key_of_row(document, &text)) {
        a->header = a->header ? a->header : tc_json_copy(document);
        return TC_OK;
    }
    tc_strtab_intern(a->known, text.text, text.size);
    if (!has(a->keys, text.text)) {
        tc_strbuf_reset(&text);
        tc_strbuf_add(&text, line, size);
        tc_vec_push(&a->lines, tc_strbuf_take(&text));
    }
    tc_strbuf_release(&text);
    return TC_OK;
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

static enum tc_status take_shown_row(void *context, const char *line, size_t size,
                                     const struct tc_json *document, struct tc_error *err)
{
    struct accepting *a = context;
    struct tc_strbuf text = TC_STRBUF_INIT;

    (void)line;
    (void)size;
    (void)err;
    if (!key_of_row(document, &text))
        return TC_OK;
    const bool is_new = a->new_keys && !has(a->known, text.text);
    if (is_new)
        tc_strtab_intern(a->new_keys, text.text, text.size);
    if (is_new || has(a->keys, text.text))
        tc_vec_push(&a->lines, line_for_all(a, document));
    tc_strbuf_release(&text);
    return TC_OK;
}

static enum tc_status take_rows(struct accepting *a, const struct tc_json *document,
                                tc_line_fn *take, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status = unpack(document, &text, err);

    if (!status)
        status = tc_each_line("its evidence", &text, take, a, err);
    tc_strbuf_release(&text);
    return status;
}

static enum tc_status pack_lines(struct accepting *a, struct tc_json **kept, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (a->header) {
        tc_json_print(a->header, &text);
        tc_strbuf_addc(&text, '\n');
    }
    if (a->lines.n)
        qsort(a->lines.items, a->lines.n, sizeof(*a->lines.items), tc_compare_texts);
    for (size_t i = 0; i < a->lines.n; i++)
        tc_strbuf_addf(&text, "%s\n", a->lines.items[i]);
    const enum tc_status status = pack(&text, kept, err);
    tc_strbuf_release(&text);
    return status;
}

enum tc_status tc_kept_accept(struct tc_json **kept, const struct tc_strbuf *broken,
                              const struct tc_json *shown, struct tc_strtab *new_keys,
                              struct tc_error *err)
{
    struct accepting a = {.keys = tc_strtab_new(), .known = tc_strtab_new(), .new_keys = new_keys};
    enum tc_status status = find_keys(broken, a.keys, err);

    if (!status)
        status = take_rows(&a, *kept, take_row, err);
    if (!status)
        status = take_rows(&a, shown, take_shown_row, err);
    if (!status)
        status = pack_lines(&a, kept, err);
    for (size_t i = 0; i < a.lines.n; i++)
        tc_free(a.lines.items[i]);
    tc_vec_release(&a.lines);
    tc_json_free(a.header);
    tc_strtab_free(a.keys);
    tc_strtab_free(a.known);
    return status;
}
