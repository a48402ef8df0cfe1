/* SPDX-License-Identifier: Apache-2.0 */
/*
 * invariant.c - a set of invariants: adding, identity, names, order
 *
 * The identity is a text of the relation and its params; the id is a hash of it with the initials
 * of the family, so it stays the same from one learning to the next, whatever the precondition.
 * The order of a file is that of identity and precondition. A fact's value is no part of its
 * identity: another value breaks it, and makes no other fact.
 */
#include "invariant/invariant.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static const struct {
    const char *text, *option;
} needs[TC_N_NEEDS] = {
#define X(name, text, option) [TC_NEED_##name] = {text, option},
    TC_NEED_MAP(X)
#undef X
};

const char *tc_need_text(enum tc_need need)
{
    return needs[need].text;
}

const char *tc_need_option(enum tc_need need)
{
    return needs[need].option;
}

void tc_invariant_set_init(struct tc_invariant_set *set, struct tc_strtab *symbols)
{
    *set = (struct tc_invariant_set){.symbols = symbols};
}

void tc_invariant_set_release(struct tc_invariant_set *set)
{
    for (size_t i = 0; i < set->items.n; i++)
        tc_json_free(set->items.items[i]->document);
    tc_vec_release(&set->items);
    tc_json_free(set->header);
    tc_json_free(set->heading);
    for (size_t i = 0; i < set->files.n; i++)
        tc_strtab_free(set->files.items[i]->left_out);
    tc_vec_release(&set->files);
    tc_map_release(&set->known);
    tc_arena_release(&set->arena);
}

static bool are_equal(const struct tc_strtab *a, const struct tc_strtab *b)
{
    return tc_strtab_count(a) == tc_strtab_count(b) && tc_strtab_has_all(b, a);
}

enum tc_status tc_invariant_set_left_out(const struct tc_invariant_set *set,
                                         const struct tc_strtab **out, struct tc_error *err)
{
    const struct tc_invariant_file *first = NULL;

    for (size_t i = 0; i < set->files.n; i++) {
        const struct tc_invariant_file *file = set->files.items[i];
        if (!file->left_out)
            continue;
        if (first && !are_equal(first->left_out, file->left_out))
            return tc_error_set(err, TC_E_USAGE,
                                "%s and %s were learned with --lean and leave out other calls: "
                                "give one of them",
                                first->name, file->name);
        first = file;
    }
    *out = first ? first->left_out : NULL;
    return TC_OK;
}

struct tc_invariant *tc_invariant_add(struct tc_invariant_set *set)
{
    struct tc_invariant *invariant = tc_arena_zalloc(&set->arena, sizeof(*invariant));

    tc_vec_push(&set->items, invariant);
    return invariant;
}

void tc_invariant_set_drop(struct tc_invariant_set *set, const bool *drop)
{
    size_t kept = 0;

    for (size_t i = 0; i < set->items.n; i++)
        if (!drop[i])
            set->items.items[kept++] = set->items.items[i];
    set->items.n = kept;
}

static void add_sym(struct tc_strbuf *out, const struct tc_strtab *symbols, tc_sym sym)
{
    if (sym != TC_NO_SYM)
        tc_strbuf_add(out, tc_strtab_text(symbols, sym), tc_strtab_size(symbols, sym));
    tc_strbuf_addc(out, '\n');
}

struct tc_param tc_param_fact(const struct tc_fact *fact)
{
    return (struct tc_param){.kind = TC_PARAM_FACT,
                             .name = TC_NO_SYM,
                             .role = TC_NO_SYM,
                             .attr = TC_NO_SYM,
                             .from = TC_NO_SYM,
                             .to = TC_NO_SYM,
                             .fact = fact};
}

const struct tc_fact *tc_invariant_fact(const struct tc_invariant *invariant)
{
    return invariant->n_params && invariant->params[0].kind == TC_PARAM_FACT
               ? invariant->params[0].fact
               : NULL;
}

/* What identifies an invariant, as text; also its order in a file. A fact keeps its identity when
 * its value is another. */
static void print_identity(const struct tc_invariant *invariant, const struct tc_strtab *symbols,
                           struct tc_strbuf *out)
{
    add_sym(out, symbols, invariant->relation);
    for (size_t i = 0; i < invariant->n_params; i++) {
        const struct tc_param *param = &invariant->params[i];
        if (param->kind == TC_PARAM_FACT) {
            tc_fact_key(param->fact, symbols, out);
            continue;
        }
        tc_strbuf_addf(out, "%d%d ", (int)param->kind, param->given);
        add_sym(out, symbols, param->name);
        if (param->kind == TC_PARAM_CALL && !strcmp(tc_strtab_text(symbols, param->name), "*"))
            add_sym(out, symbols, param->role); /* any API of that role */
        if (param->kind == TC_PARAM_CALL)
            continue;
        add_sym(out, symbols, param->attr);
        add_sym(out, symbols, param->from);
        add_sym(out, symbols, param->to);
    }
}

static void print_when(const struct tc_invariant *invariant, const struct tc_strtab *symbols,
                       struct tc_strbuf *out)
{
    for (size_t i = 0; i < invariant->n_when; i++) {
        add_sym(out, symbols, invariant->when[i].field);
        tc_strbuf_adds(out, invariant->when[i].negated ? "!" : "=");
        add_sym(out, symbols, invariant->when[i].value);
    }
}

/* The initials of the family: "EventContain/some" gives "EC", "APISequence/window" gives "AS". */
static void initials(const char *relation, char out[8])
{
    size_t n = 0;

    for (const char *p = relation; *p && *p != '/' && n < 4; p++)
        if (isupper((unsigned char)*p) && (p == relation || islower((unsigned char)p[1])))
            out[n++] = *p;
    out[n] = '\0';
}

void tc_invariant_name(struct tc_invariant *invariant, const struct tc_strtab *symbols)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    char prefix[8];

    print_identity(invariant, symbols, &text);
    initials(tc_strtab_text(symbols, invariant->relation), prefix);
    snprintf(invariant->id, sizeof(invariant->id), "%s-%08x", prefix,
             (unsigned)(tc_hash64(text.text, text.size, 0) >> 32));
    tc_strbuf_release(&text);
}

bool tc_invariant_same_when(const struct tc_invariant *a, const struct tc_invariant *b)
{
    if (a->n_when != b->n_when)
        return false;
    for (size_t i = 0; i < a->n_when; i++)
        if (a->when[i].field != b->when[i].field || a->when[i].value != b->when[i].value ||
            a->when[i].negated != b->when[i].negated)
            return false;
    return true;
}

uint64_t tc_invariant_digest(const struct tc_invariant *invariant, const struct tc_strtab *symbols)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    print_identity(invariant, symbols, &text);
    print_when(invariant, symbols, &text);
    if (tc_invariant_fact(invariant))
        add_sym(&text, symbols, tc_invariant_fact(invariant)->value);
    uint64_t digest = tc_hash64(text.text, text.size, 0);
    tc_strbuf_release(&text);
    return digest;
}

/* qsort has no context: the keys are made first. */
struct sort_row {
    char *key;
    struct tc_invariant *invariant;
};

static int compare_rows(const void *a, const void *b)
{
    return strcmp(((const struct sort_row *)a)->key, ((const struct sort_row *)b)->key);
}

void tc_invariant_set_sort(struct tc_invariant_set *set)
{
    struct sort_row *rows = tc_calloc(set->items.n + 1, sizeof(*rows));

    for (size_t i = 0; i < set->items.n; i++) {
        struct tc_strbuf text = TC_STRBUF_INIT;
        print_identity(set->items.items[i], set->symbols, &text);
        print_when(set->items.items[i], set->symbols, &text);
        rows[i] = (struct sort_row){tc_strbuf_take(&text), set->items.items[i]};
    }
    qsort(rows, set->items.n, sizeof(*rows), compare_rows);
    for (size_t i = 0; i < set->items.n; i++) {
        set->items.items[i] = rows[i].invariant;
        tc_free(rows[i].key);
    }
    tc_free(rows);
}
