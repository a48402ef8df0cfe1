/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_evidence.c - merging evidence in any order and grouping gives the same rows
 */
#include "unit.h"

#include "relation/evidence.h"
#include "replay/symbols.h"

/* An example as a few small numbers; each evidence interns its words in an order of its own. */
struct draw {
    uint32_t source;
    unsigned key, fields, outcome, pipeline, place;
};

static const char *word(char out[32], const char *kind, unsigned i)
{
    snprintf(out, 32, "%s%u", kind, i);
    return out;
}

static int compare_syms(const void *a, const void *b)
{
    tc_sym x = *(const tc_sym *)a, y = *(const tc_sym *)b;

    return x < y ? -1 : x > y;
}

static void add(struct tc_evidence *e, const struct draw *d)
{
    struct tc_situation situation = {.n = 0};
    tc_sym outcome[8];
    size_t n = 0;
    char text[32];

    for (unsigned i = 0; i < 4; i++)
        if (d->fields >> i & 1)
            tc_situation_set(&situation, tc_strtab_intern_text(e->symbols, word(text, "field", i)),
                             tc_symbols_bool(d->fields >> (i + 4) & 1));
    tc_situation_sort(&situation);
    for (unsigned i = 0; i < 3; i++)
        if (d->outcome >> i & 1)
            outcome[n++] = tc_strtab_intern_text(e->symbols, word(text, "outcome", i));
    if (tc_sources[d->source]->is_set)
        qsort(outcome, n, sizeof(*outcome), compare_syms);
    struct tc_example example = {.key =
                                     tc_strtab_intern_text(e->symbols, word(text, "key", d->key)),
                                 .situation = &situation,
                                 .outcome = outcome,
                                 .n_outcome = n};
    struct tc_row *row = tc_evidence_add(
        e, d->source, &example, tc_evidence_pipeline(e, word(text, "pipeline", d->pipeline)));
    tc_sym place = tc_strtab_intern_text(e->symbols, word(text, "place", d->place));
    if (row->first == TC_NO_SYM ||
        strcmp(tc_strtab_text(e->symbols, place), tc_strtab_text(e->symbols, row->first)) < 0)
        row->first = place;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Words of syms, sorted when their order means nothing. */
static void print_words(const struct tc_evidence *e, const tc_sym *syms, size_t n, bool sorted,
                        struct tc_strbuf *out)
{
    const char *texts[64];

    for (size_t i = 0; i < n; i++)
        texts[i] = tc_strtab_text(e->symbols, syms[i]);
    if (sorted)
        qsort(texts, n, sizeof(*texts), compare_texts);
    for (size_t i = 0; i < n; i++)
        tc_strbuf_addf(out, " %s", texts[i]);
}

static char *print_row(const struct tc_evidence *e, const struct tc_row *row)
{
    struct tc_strbuf out = TC_STRBUF_INIT;
    tc_sym pairs[64], names[64];
    size_t n;
    const struct tc_pair *situation = tc_row_situation(e, row, &n);

    tc_strbuf_addf(&out, "%u %s, %llu times, first %s;", row->source,
                   tc_strtab_text(e->symbols, row->key), (unsigned long long)row->count,
                   tc_strtab_text(e->symbols, row->first));
    for (size_t i = 0; i < n; i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s=%s", tc_strtab_text(e->symbols, situation[i].field),
                 tc_strtab_text(e->symbols, situation[i].value));
        pairs[i] = tc_strtab_intern_text(e->symbols, text);
    }
    print_words(e, pairs, n, true, &out);
    const tc_sym *outcome = tc_row_outcome(e, row, &n);
    tc_strbuf_addc(&out, ';');
    print_words(e, outcome, n, tc_sources[row->source]->is_set, &out);
    for (size_t i = 0; i < row->pipelines.n; i++)
        names[i] = e->pipelines.items[row->pipelines.items[i]];
    tc_strbuf_addc(&out, ';');
    print_words(e, names, row->pipelines.n, true, &out);
    return tc_strbuf_take(&out);
}

static char *print(const struct tc_evidence *e)
{
    char **rows = calloc(e->rows.n + 1, sizeof(*rows));
    struct tc_strbuf out = TC_STRBUF_INIT;

    for (size_t i = 0; i < e->rows.n; i++)
        rows[i] = print_row(e, &e->rows.items[i]);
    qsort(rows, e->rows.n, sizeof(*rows), compare_texts);
    for (size_t i = 0; i < e->rows.n; i++) {
        tc_strbuf_addf(&out, "%s\n", rows[i]);
        free(rows[i]);
    }
    free(rows);
    return tc_strbuf_take(&out);
}

#define MAX_PARTS 6

/* Merge neighbours at random until one is left: any tree over any order. */
static void merge_all(struct tc_evidence *parts, size_t n, uint64_t *seed)
{
    while (n > 1) {
        size_t into = unit_random(seed) % n, from = unit_random(seed) % n;
        if (into == from)
            continue;
        tc_evidence_merge(&parts[into], &parts[from]);
        tc_evidence_release(&parts[from]);
        parts[from] = parts[--n];
        if (into == n)
            into = from;
    }
}

static void any_split_and_order_gives_the_same_rows(void **state)
{
    uint64_t seed = 4711;

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct tc_evidence whole, parts[MAX_PARTS];
        size_t n_parts = 1 + unit_random(&seed) % MAX_PARTS, n = unit_random(&seed) % 120;
        tc_evidence_init(&whole);
        for (size_t i = 0; i < n_parts; i++)
            tc_evidence_init(&parts[i]);
        for (size_t i = 0; i < n; i++) {
            struct draw d = {.source = (uint32_t)(unit_random(&seed) % 3),
                             .key = (unsigned)(unit_random(&seed) % 3),
                             .fields = (unsigned)(unit_random(&seed) % 256),
                             .outcome = (unsigned)(unit_random(&seed) % 8),
                             .pipeline = (unsigned)(unit_random(&seed) % 4),
                             .place = (unsigned)(unit_random(&seed) % 50)};
            d.fields &= (unsigned)(unit_random(&seed) % 256); /* so that rows repeat */
            add(&whole, &d);
            add(&parts[unit_random(&seed) % n_parts], &d);
        }
        merge_all(parts, n_parts, &seed);
        char *want = print(&whole), *got = print(&parts[0]);
        assert_string_equal(got, want);
        free(want);
        free(got);
        tc_evidence_release(&whole);
        tc_evidence_release(&parts[0]);
    }
}

static void equal_examples_are_one_row(void **state)
{
    struct tc_evidence e;

    (void)state;
    tc_evidence_init(&e);
    for (unsigned i = 0; i < 1000; i++)
        add(&e, &(struct draw){.key = 1, .fields = 0x33, .outcome = 3, .pipeline = i % 2});
    assert_int_equal(e.rows.n, 1);
    assert_int_equal(e.rows.items[0].count, 1000);
    assert_int_equal(e.rows.items[0].pipelines.n, 2);
    tc_evidence_release(&e);
}

static void merging_nothing_changes_nothing(void **state)
{
    struct tc_evidence e, empty;

    (void)state;
    tc_evidence_init(&e);
    tc_evidence_init(&empty);
    add(&e, &(struct draw){.key = 1, .fields = 0x33, .outcome = 3});
    char *before = print(&e);
    tc_evidence_merge(&e, &empty);
    char *after = print(&e);
    assert_string_equal(after, before);
    tc_evidence_merge(&empty, &e);
    char *copy = print(&empty);
    assert_string_equal(copy, before);
    free(before);
    free(after);
    free(copy);
    tc_evidence_release(&e);
    tc_evidence_release(&empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_split_and_order_gives_the_same_rows),
        cmocka_unit_test(equal_examples_are_one_row),
        cmocka_unit_test(merging_nothing_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
