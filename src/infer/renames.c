/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renames.c - names are paired by what is said of them, whatever they are called
 *
 * What is said of a name is a set of hashes: of each claim about it, with a mark in its place
 * and another one for all names that only this set has. Two names are paired where nearly all
 * that was said of the old one is said of the new one, and neither has a better partner.
 *
 * What is left is paired by where it stands, whatever is claimed of it: a class that is stepped,
 * made or called where the old one was has its place. What says no other name is no such place.
 */
#include "infer/renames.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Of what is said of the old name this part is said of the new one, and so many claims. */
#define MIN_SHARE  0.8
#define MIN_SHARED 4
/* Of the places of the old name, and so many. */
#define MIN_SHARE_OF_PLACES 0.5
#define MIN_PLACES          3

/* ---- what is said ---------------------------------------------------------------------------- */

void tc_set_claims_init(struct tc_set_claims *claims)
{
    *claims = (struct tc_set_claims){.names = tc_strtab_new()};
}

void tc_set_claims_release(struct tc_set_claims *claims)
{
    for (size_t i = 0; i < claims->items.n; i++)
        tc_free(claims->items.items[i].text);
    tc_vec_release(&claims->items);
    tc_strtab_free(claims->names);
}

static void add_names(struct tc_strtab *names, const struct tc_json *param)
{
    static const char *const keys[] = {"call", "fn", "of", "in", "in_of"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const char *name = tc_json_text(tc_json_get(param, keys[i]));
        if (name && strchr(name, '.'))
            tc_strtab_intern_text(names, name);
    }
}

void tc_set_claims_add(struct tc_set_claims *claims, const struct tc_json *invariant)
{
    const struct tc_json *params = tc_json_get(invariant, "params");
    const char *relation = tc_json_text(tc_json_get(invariant, "relation"));
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (const struct tc_json *p = tc_json_first(params); p; p = tc_json_next(p))
        add_names(claims->names, p);
    tc_strbuf_addf(&text, "%s ", relation ? relation : "");
    if (tc_json_get(tc_json_first(params), "subject"))
        tc_json_print(tc_json_first(params), &text);
    else
        tc_json_print(params, &text);
    const size_t of = text.size;
    tc_json_print(params, &text);
    if (tc_json_count(tc_json_get(invariant, "when")))
        tc_json_print(tc_json_get(invariant, "when"), &text);
    tc_vec_push(&claims->items, ((struct tc_set_claim){tc_strbuf_take(&text), of}));
}

/* ---- names in a text ------------------------------------------------------------------------- */

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static const char *name_end(const char *at, const char *end)
{
    while (at < end && is_of_name(*at))
        at++;
    return at;
}

/* The longest of the names that the dotted word is, or begins with; *size is its length. */
static tc_sym longest_name(const struct tc_strtab *names, const char *word, const char *end,
                           size_t *size)
{
    for (const char *to = end; to > word; to--) {
        if (to != end && *to != '.')
            continue;
        const tc_sym name = tc_strtab_find(names, word, (size_t)(to - word));
        *size = (size_t)(to - word);
        if (name != TC_NO_SYM)
            return name;
    }
    return TC_NO_SYM;
}

/* Calls visit for each of the names, and copies the rest. */
typedef void visit_fn(void *context, tc_sym name, struct tc_strbuf *out);

static bool each_name(const struct tc_strtab *names, const char *text, size_t size, visit_fn *visit,
                      void *context, struct tc_strbuf *out)
{
    const char *end = text + size;
    bool has_any = false;
    size_t length;

    for (const char *at = text; at < end;) {
        const char *to = name_end(at, end);
        const tc_sym name = longest_name(names, at, to, &length);
        if (name != TC_NO_SYM) {
            visit(context, name, out);
            has_any = true;
            at += length;
        }
        to = to == at && at < end && !is_of_name(*at) ? at + 1 : to;
        tc_strbuf_add(out, at, (size_t)(to - at));
        at = to;
    }
    return has_any;
}

/* ---- what is said of a name -------------------------------------------------------------------*/

/* That a claim with the name is there. */
struct saying {
    tc_sym name;
    uint64_t hash;
};

/* Of those names that the other set has not. */
struct sayings {
    struct tc_strtab *names;
    bool are_places;             /* what claims are about, once each, and not what they claim */
    TC_VEC(struct saying) items; /* by name and hash */
};

struct masking {
    tc_sym name; /* gets a mark of its own; TC_NO_SYM: none does */
    TC_VEC(tc_sym) met;
};

static void mask(void *context, tc_sym name, struct tc_strbuf *out)
{
    struct masking *masking = context;

    tc_strbuf_addc(out, name == masking->name ? '\1' : '\2');
    for (size_t i = 0; i < masking->met.n; i++)
        if (masking->met.items[i] == name)
            return;
    tc_vec_push(&masking->met, name);
}

static void add_sayings(struct sayings *sayings, const struct tc_set_claim *claim)
{
    struct masking all = {.name = TC_NO_SYM}, one = {0};
    struct tc_strbuf masked = TC_STRBUF_INIT;
    const size_t size = sayings->are_places ? claim->of : strlen(claim->text);

    each_name(sayings->names, claim->text, size, mask, &all, &masked);
    const bool is_place = strchr(masked.text, '.') != NULL; /* a name that both sets have */
    for (size_t i = 0; i < all.met.n && (is_place || !sayings->are_places); i++) {
        one.name = all.met.items[i];
        tc_strbuf_reset(&masked);
        each_name(sayings->names, claim->text, size, mask, &one, &masked);
        tc_vec_push(&sayings->items,
                    ((struct saying){one.name, tc_hash64(masked.text, masked.size, 0)}));
    }
    tc_vec_release(&all.met);
    tc_vec_release(&one.met);
    tc_strbuf_release(&masked);
}

static int compare_sayings(const void *a_, const void *b_)
{
    const struct saying *a = a_, *b = b_;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

/* Sorted ones: many claims are about one thing. */
static void drop_equal(struct sayings *sayings)
{
    size_t kept = 0;

    for (size_t i = 0; i < sayings->items.n; i++)
        if (!kept || compare_sayings(&sayings->items.items[kept - 1], &sayings->items.items[i]))
            sayings->items.items[kept++] = sayings->items.items[i];
    sayings->items.n = kept;
}

static void collect(const struct tc_set_claims *set, const struct tc_set_claims *other,
                    bool are_places, struct sayings *sayings)
{
    *sayings = (struct sayings){.names = tc_strtab_new(), .are_places = are_places};
    for (size_t i = 0; i < tc_strtab_count(set->names); i++) {
        const char *name = tc_strtab_text(set->names, (tc_sym)i);
        if (*name && tc_strtab_find(other->names, name, strlen(name)) == TC_NO_SYM)
            tc_strtab_intern_text(sayings->names, name);
    }
    for (size_t i = 0; i < set->items.n; i++)
        add_sayings(sayings, &set->items.items[i]);
    if (sayings->items.n)
        qsort(sayings->items.items, sayings->items.n, sizeof(*sayings->items.items),
              compare_sayings);
    if (are_places)
        drop_equal(sayings);
}

static void release(struct sayings *sayings)
{
    tc_strtab_free(sayings->names);
    tc_vec_release(&sayings->items);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Those of a name, beginning at `at`. */
static size_t end_of_name(const struct sayings *sayings, size_t at)
{
    size_t end = at;

    while (end < sayings->items.n &&
           sayings->items.items[end].name == sayings->items.items[at].name)
        end++;
    return end;
}

static size_t n_shared(const struct saying *a, size_t n_a, const struct saying *b, size_t n_b)
{
    size_t n = 0;

    for (size_t i = 0, j = 0; i < n_a && j < n_b;) {
        n += a[i].hash == b[j].hash;
        if (a[i].hash <= b[j].hash)
            i++;
        else
            j++;
    }
    return n;
}

static const char *last_part(const char *name)
{
    return strrchr(name, '.') + 1;
}

struct pair {
    tc_sym from, to;
    size_t shared;
    bool has_same_part; /* "Block" of "__main__.Block" and "model.Block" */
};

/* The best first. */
static int compare_pairs(const void *a_, const void *b_)
{
    const struct pair *a = a_, *b = b_;

    if (a->has_same_part != b->has_same_part)
        return a->has_same_part ? -1 : 1;
    if (a->shared != b->shared)
        return a->shared > b->shared ? -1 : 1;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : (a->to > b->to) - (a->to < b->to);
}

struct pairing {
    const struct sayings *before, *after;
    TC_VEC(struct pair) pairs;
};

static bool is_enough(size_t shared, size_t of, bool are_places)
{
    if (are_places)
        return shared >= MIN_PLACES && (double)shared >= MIN_SHARE_OF_PLACES * (double)of;
    return shared >= MIN_SHARED && (double)shared >= MIN_SHARE * (double)of;
}

/* All partners of the name whose sayings begin at `at` and end before `end`. */
static void find_partners(struct pairing *pairing, size_t at, size_t end)
{
    const struct saying *old = &pairing->before->items.items[at];
    const struct saying *all = pairing->after->items.items;

    for (size_t i = 0, to; i < pairing->after->items.n; i = to) {
        to = end_of_name(pairing->after, i);
        const size_t shared = n_shared(old, end - at, &all[i], to - i);
        if (!is_enough(shared, end - at, pairing->before->are_places))
            continue;
        const char *from_part = last_part(tc_strtab_text(pairing->before->names, old->name));
        const char *to_part = last_part(tc_strtab_text(pairing->after->names, all[i].name));
        tc_vec_push(&pairing->pairs,
                    ((struct pair){old->name, all[i].name, shared, !strcmp(from_part, to_part)}));
    }
}

static bool is_taken(const struct pairing *pairing, const struct tc_renames *renames,
                     const struct pair *pair)
{
    const char *from = tc_strtab_text(pairing->before->names, pair->from);
    const char *to = tc_strtab_text(pairing->after->names, pair->to);

    for (size_t i = 0; i < renames->items.n; i++)
        if (!strcmp(renames->items.items[i].from, from) || !strcmp(renames->items.items[i].to, to))
            return true;
    return false;
}

static int compare_renames(const void *a, const void *b)
{
    return strcmp(((const struct tc_rename *)a)->from, ((const struct tc_rename *)b)->from);
}

static void choose(const struct pairing *pairing, struct tc_renames *renames)
{
    for (size_t i = 0; i < pairing->pairs.n; i++) {
        const struct pair *pair = &pairing->pairs.items[i];
        if (!is_taken(pairing, renames, pair))
            tc_vec_push(
                &renames->items,
                ((struct tc_rename){tc_strdup(tc_strtab_text(pairing->before->names, pair->from)),
                                    tc_strdup(tc_strtab_text(pairing->after->names, pair->to))}));
    }
}

/* Those that are not paired yet. */
static void find_renames(const struct tc_set_claims *before, const struct tc_set_claims *after,
                         bool are_places, struct tc_renames *renames)
{
    struct sayings old, new;
    struct pairing pairing = {.before = &old, .after = &new};

    collect(before, after, are_places, &old);
    collect(after, before, are_places, &new);
    for (size_t at = 0, end; at < old.items.n; at = end) {
        end = end_of_name(&old, at);
        find_partners(&pairing, at, end);
    }
    if (pairing.pairs.n)
        qsort(pairing.pairs.items, pairing.pairs.n, sizeof(*pairing.pairs.items), compare_pairs);
    choose(&pairing, renames);
    tc_vec_release(&pairing.pairs);
    release(&old);
    release(&new);
}

/* "torch.optim.AdamW.step" where "torch.optim.AdamW" is in the list: it has the same rest. */
static bool follows_from(const struct tc_rename *rename, const struct tc_rename *whole)
{
    const size_t from = strlen(whole->from), to = strlen(whole->to);

    return !strncmp(rename->from, whole->from, from) && rename->from[from] == '.' &&
           !strncmp(rename->to, whole->to, to) && !strcmp(rename->from + from, rename->to + to);
}

static void drop_what_follows(struct tc_renames *renames)
{
    size_t kept = 0;

    for (size_t i = 0; i < renames->items.n; i++) {
        struct tc_rename *rename = &renames->items.items[i];
        bool follows = false;
        for (size_t j = 0; j < kept && !follows; j++)
            follows = follows_from(rename, &renames->items.items[j]);
        if (!follows) {
            renames->items.items[kept++] = *rename;
            continue;
        }
        tc_free(rename->from);
        tc_free(rename->to);
    }
    renames->items.n = kept;
}

void tc_renames_find(const struct tc_set_claims *before, const struct tc_set_claims *after,
                     struct tc_renames *renames)
{
    *renames = (struct tc_renames){0};
    find_renames(before, after, false, renames);
    find_renames(before, after, true, renames);
    if (renames->items.n)
        qsort(renames->items.items, renames->items.n, sizeof(*renames->items.items),
              compare_renames); /* a class stands before its methods */
    drop_what_follows(renames);
}

void tc_renames_release(struct tc_renames *renames)
{
    for (size_t i = 0; i < renames->items.n; i++) {
        tc_free(renames->items.items[i].from);
        tc_free(renames->items.items[i].to);
    }
    tc_vec_release(&renames->items);
}

/* ---- the new names --------------------------------------------------------------------------- */

static void put_new_name(void *context, tc_sym name, struct tc_strbuf *out)
{
    const struct tc_renames *renames = context;

    tc_strbuf_adds(out, renames->items.items[name].to);
}

bool tc_renames_apply(const struct tc_renames *renames, const char *text, size_t size,
                      struct tc_strbuf *out)
{
    struct tc_strtab *names = tc_strtab_new();

    for (size_t i = 0; i < renames->items.n; i++)
        tc_strtab_intern_text(names, renames->items.items[i].from); /* its number is i */
    const bool has_any = each_name(names, text, size, put_new_name, (void *)renames, out);
    tc_strtab_free(names);
    return has_any;
}
