/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_diff.c - two invariant files side by side, by what their lines speak of
 *
 * What is new, or gone, is reported in bunches: of a part of the model ("blocks.4"), a class, a
 * call.
 */
#include <traincheck/sets.h>

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/safe.h"
#include "base/vec.h"
#include "infer/renames.h"
#include "infer/set_lines.h"

/* Of a bunch so many are reported. */
#define TOLD 3

struct entry {
    const char *id, *text, *value;
    const char *bunch;   /* what it is about: a part of the model, a class, a call */
    const char *claim;   /* the kind of value */
    struct entry *other; /* of the other file; NULL: it has none */
    struct entry *next;  /* of the same subject */
    bool is_seen_once;
};

struct set {
    struct tc_arena *arena;
    struct tc_strtab *subjects;
    const struct tc_renames *renames;   /* names that are others in the other file; or NULL */
    struct tc_map by_subject;           /* -> the first struct entry of it in the file */
    TC_VEC(struct entry *) items;       /* in the order of the file */
    TC_VEC(struct tc_json *) documents; /* invariants, as they were read */
    struct tc_set_claims claims;        /* what these say */
    TC_VEC(const char *) accepted;      /* of each entry of the header: its date, and its note */
};

/* ---- reading --------------------------------------------------------------------------------- */

static const char *copy(struct set *set, const char *text)
{
    return tc_arena_text(set->arena, text ? text : "", text ? strlen(text) : 0);
}

/* "blocks.4" of "model.blocks.4.weight": a variable's module, without the first name and the last;
 * "optimizer.param_groups[0]" of "optimizer.param_groups[0][31]". */
static const char *part_of(struct set *set, const char *name)
{
    const char *first = strchr(name, '.'), *last = strrchr(name, '.');
    const char *index = strstr(name, "][");

    if (index)
        return tc_arena_text(set->arena, name, (size_t)(index + 1 - name));
    if (!first || last <= first)
        return copy(set, name);
    return tc_arena_text(set->arena, first + 1, (size_t)(last - first - 1));
}

static const char *bunch_of(struct set *set, const struct tc_json *document)
{
    static const char *const keys[] = {"in_of", "of", "fn", "call", "variable", "change"};
    const struct tc_json *subject = tc_json_first(tc_json_get(document, "params"));
    const char *kind = tc_json_text(tc_json_get(subject, "subject"));
    const char *name = tc_json_text(tc_json_get(subject, "name"));

    if (kind && name && (!strcmp(kind, "variable") || !strcmp(kind, "use")))
        return part_of(set, name);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const char *text = tc_json_text(tc_json_get(subject, keys[i]));
        if (text)
            return copy(set, text);
    }
    return copy(set, tc_json_text(tc_json_get(document, "relation")));
}

/* What kind of value it claims: "shape", or of what is no fact its relation. */
static const char *claim_of(struct set *set, const struct tc_json *document)
{
    const struct tc_json *claim = tc_json_next(tc_json_first(tc_json_get(document, "params")));
    const char *attribute = tc_json_text(tc_json_get(claim, "attribute"));

    return copy(set, attribute ? attribute : tc_json_text(tc_json_get(document, "relation")));
}

/* What it claims, as JSON. */
static const char *value_of(struct set *set, const struct tc_json *document)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (const struct tc_json *p = tc_json_first(tc_json_get(document, "params")); p;
         p = tc_json_next(p))
        if (tc_json_get(p, "is"))
            tc_json_print(tc_json_get(p, "is"), &text);
    const char *value = tc_arena_text(set->arena, text.text ? text.text : "", text.size);
    tc_strbuf_release(&text);
    return value;
}

static void append(struct entry *first, struct entry *entry)
{
    while (first->next)
        first = first->next;
    first->next = entry;
}

/* Subject and value as the other file has them. */
static void keep_entry(struct set *set, const struct tc_json *document,
                       const struct tc_json *as_in_other)
{
    bool is_new;
    uint64_t *slot =
        tc_map_at(&set->by_subject, tc_subject_of_line(set->subjects, as_in_other), &is_new);

    struct entry *entry = tc_arena_zalloc(set->arena, sizeof(*entry));
    *entry = (struct entry){.id = copy(set, tc_json_text(tc_json_get(document, "id"))),
                            .text = copy(set, tc_json_text(tc_json_get(document, "text"))),
                            .bunch = bunch_of(set, document),
                            .claim = claim_of(set, document),
                            .value = value_of(set, as_in_other),
                            .is_seen_once = tc_json_get(document, "seen") != NULL};
    if (is_new)
        *slot = (uint64_t)(uintptr_t)entry;
    else
        append((struct entry *)(uintptr_t)*slot, entry);
    tc_vec_push(&set->items, entry);
}

static void keep_history(struct set *set, const struct tc_json *header)
{
    const struct tc_json *entries = tc_json_get(header, "accepted");

    for (const struct tc_json *e = tc_json_first(entries); e; e = tc_json_next(e)) {
        const char *date = tc_json_text(tc_json_get(e, "date"));
        const char *note = tc_json_text(tc_json_get(e, "note"));
        struct tc_strbuf text = TC_STRBUF_INIT;
        tc_strbuf_addf(&text, "%s  %s", date ? date : "", note ? note : "without a note");
        tc_vec_push(&set->accepted, copy(set, text.text));
        tc_strbuf_release(&text);
    }
}

static enum tc_status take(void *context, const char *line, size_t size,
                           const struct tc_json *document, struct tc_error *err)
{
    struct set *set = context;

    (void)line;
    (void)size;
    (void)err;
    if (!tc_is_invariant_line(document)) {
        keep_history(set, document);
        return TC_OK;
    }
    tc_set_claims_add(&set->claims, document);
    tc_vec_push(&set->documents, tc_json_copy(document));
    return TC_OK;
}

/* The invariant with the names that the other file has; NULL: it has no other ones. */
static struct tc_json *renamed(const struct tc_renames *renames, const struct tc_json *document)
{
    struct tc_strbuf text = TC_STRBUF_INIT, other = TC_STRBUF_INIT;
    struct tc_json *copy = NULL;

    tc_json_print(document, &text);
    if (tc_renames_apply(renames, text.text, text.size, &other) &&
        tc_json_parse(other.text, other.size, &copy, NULL))
        copy = NULL;
    tc_strbuf_release(&text);
    tc_strbuf_release(&other);
    return copy;
}

static void keep_entries(struct set *set)
{
    for (size_t i = 0; i < set->documents.n; i++) {
        const struct tc_json *document = set->documents.items[i];
        struct tc_json *other = set->renames ? renamed(set->renames, document) : NULL;
        keep_entry(set, document, other ? other : document);
        tc_json_free(other);
    }
}

static enum tc_status read_both(const struct tc_sets_diff_config *config, struct set *before,
                                struct set *after, struct tc_error *err)
{
    enum tc_status status = tc_each_invariant_of_file(config->before, take, before, err);

    return status ? status : tc_each_invariant_of_file(config->after, take, after, err);
}

static void init(struct set *set, struct tc_arena *arena, struct tc_strtab *subjects)
{
    *set = (struct set){.arena = arena, .subjects = subjects};
    tc_set_claims_init(&set->claims);
}

static void release(struct set *set)
{
    for (size_t i = 0; i < set->documents.n; i++)
        tc_json_free(set->documents.items[i]);
    tc_vec_release(&set->documents);
    tc_set_claims_release(&set->claims);
    tc_map_release(&set->by_subject);
    tc_vec_release(&set->items);
    tc_vec_release(&set->accepted);
}

/* One subject may have several claims, which differ in their values: these that are equal are
 * pairs, then those that are left, in order. */
static void pair_entries(struct entry *first, struct entry *others, bool by_value)
{
    for (struct entry *x = first; x; x = x->next)
        for (struct entry *y = others; y && !x->other; y = y->next)
            if (!y->other && (!by_value || !strcmp(x->value, y->value))) {
                x->other = y;
                y->other = x;
            }
}

static void pair(const struct set *a, const struct set *b)
{
    uint64_t subject, of_a, of_b;

    for (size_t pos = 0; tc_map_each(&a->by_subject, &pos, &subject, &of_a);)
        if (tc_map_get(&b->by_subject, subject, &of_b)) {
            struct entry *x = (struct entry *)(uintptr_t)of_a, *y = (struct entry *)(uintptr_t)of_b;
            pair_entries(x, y, true);
            pair_entries(x, y, false);
        }
}

static bool is_changed(const struct entry *entry)
{
    return entry->other && strcmp(entry->value, entry->other->value) != 0;
}

/* ---- text --------------------------------------------------------------------------------------
 */

/* Names of a file may be attacks. */
static void add_safe(struct tc_strbuf *out, const char *text)
{
    tc_safe_add(out, TC_SAFE_LINE, text, strlen(text));
}

static void add_entry(struct tc_strbuf *out, char sign, const struct entry *entry)
{
    tc_strbuf_addf(out, "  %c ", sign);
    add_safe(out, entry->id);
    tc_strbuf_adds(out, "  ");
    add_safe(out, entry->text);
    tc_strbuf_adds(out, entry->is_seen_once ? " (seen once)\n" : "\n");
}

static int compare_in(const char *group_a, const char *group_b, const struct entry *a,
                      const struct entry *b)
{
    const int order = strcmp(group_a, group_b);

    return order ? order : strcmp(a->id, b->id);
}

static int by_bunch(const void *a_, const void *b_)
{
    const struct entry *a = *(const struct entry *const *)a_, *b = *(const struct entry *const *)b_;

    return compare_in(a->bunch, b->bunch, a, b);
}

static int by_claim(const void *a_, const void *b_)
{
    const struct entry *a = *(const struct entry *const *)a_, *b = *(const struct entry *const *)b_;

    return compare_in(a->claim, b->claim, a, b);
}

/* Those of one group, and how many they are. */
static void print_group(const struct entry *const *entries, size_t n, const char *name, char sign,
                        struct tc_strbuf *out)
{
    tc_strbuf_adds(out, "  ");
    add_safe(out, name);
    tc_strbuf_addf(out, " (%zu)\n", n);
    for (size_t i = 0; i < n && i < TOLD; i++) {
        if (entries[i]->other)
            add_entry(out, '-', entries[i]->other);
        add_entry(out, sign, entries[i]);
    }
    if (n > TOLD)
        tc_strbuf_addf(out, "    and %zu more\n", n - TOLD);
}

/* Those that the other file has not, by what they are about. */
static void print_alone(const struct set *set, const char *title, char sign, struct tc_strbuf *out)
{
    const struct entry **alone = tc_calloc(set->items.n + 1, sizeof(*alone));
    size_t n = 0;

    for (size_t i = 0; i < set->items.n; i++)
        if (!set->items.items[i]->other)
            alone[n++] = set->items.items[i];
    qsort(alone, n, sizeof(*alone), by_bunch);
    if (n)
        tc_strbuf_addf(out, "\n%s:\n", title);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !strcmp(alone[end]->bunch, alone[i]->bunch);)
            end++;
        print_group(&alone[i], end - i, alone[i]->bunch, sign, out);
    }
    tc_free(alone);
}

/* Those that have another value, by the kind of it. */
static void print_changed(const struct set *after, struct tc_strbuf *out)
{
    const struct entry **changed = tc_calloc(after->items.n + 1, sizeof(*changed));
    size_t n = 0;

    for (size_t i = 0; i < after->items.n; i++)
        if (is_changed(after->items.items[i]))
            changed[n++] = after->items.items[i];
    qsort(changed, n, sizeof(*changed), by_claim);
    if (n)
        tc_strbuf_adds(out, "\nanother value:\n");
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !strcmp(changed[end]->claim, changed[i]->claim);)
            end++;
        print_group(&changed[i], end - i, changed[i]->claim, '+', out);
    }
    tc_free(changed);
}

/* What was accepted since. */
static void print_accepted(const struct set *before, const struct set *after, struct tc_strbuf *out)
{
    for (size_t i = before->accepted.n; i < after->accepted.n; i++) {
        tc_strbuf_adds(out, i == before->accepted.n ? "\naccepted:\n  " : "  ");
        add_safe(out, after->accepted.items[i]);
        tc_strbuf_addc(out, '\n');
    }
}

static void print_renames(const struct tc_renames *renames, struct tc_strbuf *out)
{
    if (renames->items.n)
        tc_strbuf_adds(out, "\nanother name or class:\n");
    for (size_t i = 0; i < renames->items.n; i++) {
        tc_strbuf_adds(out, "  ");
        add_safe(out, renames->items.items[i].from);
        tc_strbuf_adds(out, " is ");
        add_safe(out, renames->items.items[i].to);
        tc_strbuf_adds(out, " now\n");
    }
}

static void print_counts(const struct tc_sets_diff_result *r, struct tc_strbuf *out)
{
    tc_strbuf_addf(out,
                   "%llu invariants as they were, %llu with another value, %llu new, %llu gone\n",
                   (unsigned long long)r->n_equal, (unsigned long long)r->n_changed,
                   (unsigned long long)r->n_new, (unsigned long long)r->n_gone);
}

/* ---- JSON --------------------------------------------------------------------------------------
 */

static void add_line(const char *what, const struct entry *before, const struct entry *after,
                     struct tc_strbuf *out)
{
    struct tc_json *object = tc_json_object();
    const struct entry *entry = after ? after : before;

    tc_json_set_string(object, "what", what);
    tc_json_set_string(object, "id", entry->id);
    tc_json_set_string(object, "text", entry->text);
    tc_json_set_string(object, "about", entry->bunch);
    if (before && after) {
        tc_json_set_string(object, "was_id", before->id);
        tc_json_set_string(object, "was", before->text);
    }
    tc_json_print_line(object, out);
}

static void add_rename(const struct tc_rename *rename, struct tc_strbuf *out)
{
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "what", "renamed");
    tc_json_set_string(object, "was", rename->from);
    tc_json_set_string(object, "is", rename->to);
    tc_json_print_line(object, out);
}

static void print_json(const struct set *before, const struct set *after, struct tc_strbuf *out)
{
    for (size_t i = 0; i < before->renames->items.n; i++)
        add_rename(&before->renames->items.items[i], out);
    for (size_t i = 0; i < after->items.n; i++) {
        const struct entry *entry = after->items.items[i];
        if (is_changed(entry))
            add_line("changed", entry->other, entry, out);
        else if (!entry->other)
            add_line("new", NULL, entry, out);
    }
    for (size_t i = 0; i < before->items.n; i++)
        if (!before->items.items[i]->other)
            add_line("gone", before->items.items[i], NULL, out);
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

static void count_changes(const struct set *before, const struct set *after,
                          struct tc_sets_diff_result *r)
{
    for (size_t i = 0; i < after->items.n; i++) {
        const struct entry *entry = after->items.items[i];
        r->n_new += !entry->other;
        r->n_changed += is_changed(entry);
        r->n_equal += entry->other && !is_changed(entry);
    }
    for (size_t i = 0; i < before->items.n; i++)
        r->n_gone += !before->items.items[i]->other;
}

static void print_diff(const struct set *before, const struct set *after, bool json,
                       const struct tc_sets_diff_result *result, struct tc_strbuf *out)
{
    if (json) {
        print_json(before, after, out);
        return;
    }
    print_counts(result, out);
    print_accepted(before, after, out);
    print_renames(before->renames, out);
    print_changed(after, out);
    print_alone(after, "new", '+', out);
    print_alone(before, "gone", '-', out);
}

enum tc_status tc_sets_diff(const struct tc_sets_diff_config *config,
                            struct tc_sets_diff_result *result, struct tc_error *err)
{
    struct tc_arena arena = {0};
    struct tc_strtab *subjects = tc_strtab_new();
    struct tc_renames renames = {0};
    struct set before, after;
    struct tc_strbuf text = TC_STRBUF_INIT;

    *result = (struct tc_sets_diff_result){0};
    init(&before, &arena, subjects);
    init(&after, &arena, subjects);
    const enum tc_status status = read_both(config, &before, &after, err);
    if (!status) {
        tc_renames_find(&before.claims, &after.claims, &renames);
        before.renames = &renames;
        keep_entries(&before);
        keep_entries(&after);
        pair(&before, &after);
        count_changes(&before, &after, result);
        result->n_renamed = renames.items.n;
        print_diff(&before, &after, config->json, result, &text);
        if (text.size)
            config->write(config->context, text.text, text.size);
    }
    release(&before);
    release(&after);
    tc_strbuf_release(&text);
    tc_renames_release(&renames);
    tc_strtab_free(subjects);
    tc_arena_release(&arena);
    return status;
}
