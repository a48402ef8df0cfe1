/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_alias.c - Consistent/alias: two variables of one process that started with equal
 * content keep it equal
 *
 * Candidates are pairs of matrices that began with one digest. Vectors and zeros begin alike by
 * custom, clones of a template go ways of their own, and a copy of a whole model is no tie
 * unless one step moves both.
 */
#include "relation/consistent.h"
#include "relation/one_claim.h"

#include <stdlib.h>
#include <string.h>

#include "base/nh64.h"
#include "replay/symbols.h"

/* More equal beginnings than these are a constant initialiser at work. */
#define MAX_ALIASES 64

/* Two variables, by serial. */
struct alias {
    int64_t a, b;
};

/* Of one process. */
struct aliases {
    TC_VEC(struct alias) items;
    bool are_known;
};

static void aliases_release(void *of_process)
{
    tc_vec_release(&((struct aliases *)of_process)->items);
}

/* Vectors start as constants (biases, norms), and equal constants are no copies; no more are two
 * matrices of zeros. */
static bool may_be_alias(const struct tc_variable *v)
{
    return v->kind == TC_SYM_PARAMETER && v->is_matrix && v->has_first && !v->is_sampled &&
           v->first_shape != TC_NO_SYM;
}

#define MAX_DIMS 64

/* Sizes of the shape, written as "[3,4]". Returns how many; MAX_DIMS + 1 if there are more. */
static size_t read_shape(const char *text, int64_t *sizes)
{
    size_t n = 0;
    char *end;

    for (text += *text == '['; n <= MAX_DIMS; text = end + (*end == ',')) {
        const int64_t size = strtoll(text, &end, 10);
        if (end == text)
            break;
        if (n < MAX_DIMS)
            sizes[n] = size;
        n++;
    }
    return n;
}

/* Bytes of an element by the bits that a type's name tells, as bfloat16 and float8_e5m2 do; 0 if it
 * tells none. */
static size_t element_size(const char *dtype)
{
    return strtoul(dtype + strcspn(dtype, "0123456789"), NULL, 10) / 8;
}

/* The digest of zeros; size in bytes. The type's name is quoted. */
static uint64_t digest_of_zeros(const char *dtype, size_t size, const int64_t *shape, size_t n_dims)
{
    dtype += *dtype == '"';
    return tc_nh64_of_zeros(size, tc_nh64_seed(dtype, strcspn(dtype, "\""), shape, n_dims));
}

/* Of a process so many bytes are asked for zeros, which takes some milliseconds. */
#define MAX_ZEROS ((size_t)1 << 30)

/* May all of it have been zero at first, as the second factor of a low-rank adapter is? What is
 * beyond `left` may. */
static bool may_be_zero(const struct tc_variable *v, const struct tc_strtab *symbols, size_t *left)
{
    const char *dtype = tc_strtab_text(symbols, v->first_dtype);
    const size_t element = element_size(dtype);
    int64_t shape[MAX_DIMS];
    const size_t n_dims = read_shape(tc_strtab_text(symbols, v->first_shape), shape);
    size_t size = element;

    if (element == 0 || n_dims > MAX_DIMS)
        return false;
    for (size_t i = 0; i < n_dims; i++)
        if (shape[i] <= 0 || __builtin_mul_overflow(size, (size_t)shape[i], &size))
            return false;
    if (size > *left)
        return true;
    *left -= size;
    return v->first_data == digest_of_zeros(dtype, size, shape, n_dims);
}

/* Content that two have, and no third: what many share is a constant or a template. */
struct twins {
    int64_t a, b;
    size_t n;
};

static void find_aliases(struct aliases *aliases, const struct tc_process *process,
                         const struct tc_strtab *symbols)
{
    struct tc_map by_content = TC_MAP_INIT; /* content to the index into all */
    TC_VEC(struct twins) all = {0};
    const struct tc_variable *v;
    size_t left = MAX_ZEROS;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));) {
        bool is_new;
        if (!may_be_alias(v))
            continue;
        uint64_t *place = tc_map_at(&by_content, v->first_data, &is_new);
        if (is_new) {
            *place = all.n;
            tc_vec_push(&all, ((struct twins){.a = v->serial}));
        }
        struct twins *twins = &all.items[*place];
        twins->b = v->serial;
        twins->n++;
    }
    for (size_t i = 0, n = 0; i < all.n && n < MAX_ALIASES; i++) {
        if (all.items[i].n != 2 ||
            may_be_zero(tc_process_variable(process, all.items[i].a), symbols, &left))
            continue;
        tc_vec_push(&aliases->items, ((struct alias){all.items[i].a, all.items[i].b}));
        n++;
    }
    tc_vec_release(&all);
    tc_map_release(&by_content);
}

static struct tc_str part_of_name(const struct tc_strtab *symbols, tc_sym name, bool last)
{
    struct tc_str text = tc_symbols_text(symbols, name);
    const char *dot = last ? strrchr(text.text, '.') : strchr(text.text, '.');

    if (!dot)
        return text;
    if (!last)
        return (struct tc_str){text.text, (uint32_t)(dot - text.text)};
    return (struct tc_str){dot + 1, (uint32_t)(text.text + text.size - dot - 1)};
}

static const char *skip_digits(const char *text)
{
    while (*text >= '0' && *text <= '9')
        text++;
    return text;
}

/* "blocks.0.fc.weight" and "blocks.1.fc.weight": made from one template, as clones are, which go
 * ways of their own. */
static bool differ_in_numbers_only(const char *a, const char *b)
{
    for (;; a++, b++) {
        const char *x = skip_digits(a), *y = skip_digits(b);
        if ((x > a) != (y > b))
            return false;
        a = x;
        b = y;
        if (*a != *b || !*a)
            return *a == *b;
    }
}

/* It requires a gradient and has had one. */
static bool is_trained(const struct tc_variable *v)
{
    return v->requires_grad && (v->grad_cause >= 0 || v->grad != TC_SYM_GRAD_NULL);
}

/* A copy of a whole model, kept or trained beside it, is no tie unless one step moves both. */
static bool are_trained_apart(const struct tc_variable *a, const struct tc_variable *b)
{
    return a->root != b->root && a->stepped != b->stepped;
}

static void judge_alias(const struct tc_hearing *h, const struct alias *alias)
{
    struct tc_strtab *symbols = h->symbols;
    const struct tc_variable *a = tc_process_variable(h->event->process, alias->a);
    const struct tc_variable *b = tc_process_variable(h->event->process, alias->b);
    const struct tc_snapshot x = tc_snapshot_of(a), y = tc_snapshot_of(b);
    struct tc_situation s = {.n = 0};

    if (differ_in_numbers_only(tc_strtab_text(symbols, a->name),
                               tc_strtab_text(symbols, b->name)) ||
        are_trained_apart(a, b)) {
        tc_answer_excused(h, a, TC_EXCUSE_CLONES);
        return;
    }
    if (!tc_snapshots_compare(&x, &y) || !is_trained(a) || !is_trained(b) ||
        (x.data == a->first_data && y.data == b->first_data))
        return;
    tc_situation_set(&s, tc_strtab_intern_text(symbols, "v.same_name"),
                     tc_symbols_bool(tc_str_same(part_of_name(symbols, a->name, true),
                                                 part_of_name(symbols, b->name, true))));
    tc_situation_set(&s, tc_strtab_intern_text(symbols, "v.same_owner"),
                     tc_symbols_bool(a->owner == b->owner));
    tc_situation_set(&s, tc_strtab_intern_text(symbols, "v.same_root"),
                     tc_symbols_bool(a->root == b->root));
    tc_consistent_framework(&s, a);
    tc_consistent_framework(&s, b);
    tc_situation_sort(&s);
    tc_answer_of(h, x.data == y.data, (struct tc_example){.variable = b, .situation = &s});
}

static void alias_judge(const struct tc_hearing *h)
{
    struct aliases *aliases = tc_hearing_state(h);

    if (!aliases->are_known)
        find_aliases(aliases, h->event->process, h->symbols);
    aliases->are_known = true;
    for (size_t i = 0; i < aliases->items.n; i++)
        judge_alias(h, &aliases->items.items[i]);
}

const struct tc_relation_rule tc_rule_alias = {
    TC_RULE(tc_rule_alias),
    .form.name = "Consistent/alias",
    .form.summary = "two parameters that start as copies stay copies",
    .form.hint = "Are the two weights meant to be tied, and are both gradients summed?",
    .source.name = "alias",
    .source.judged = "the end of a step window, once the content is another than at first",
    .source.process_size = sizeof(struct aliases),
    .source.release_process = aliases_release,
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_BLANK_KIND, TC_SYM_DATA, TC_SYM_EQUAL),
    TC_CLAIM_ATOMS(TC_BLANK_KIND, TC_WORDS(TC_SYM_DATA, TC_SYM_EQUAL),
                   TC_WORDS(TC_SYM_DATA, TC_SYM_DIFFERS)),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_LAW,
    .claim.expected = "%a of each %k that started as a copy of another stays equal to it",
    .claim.seen = "%a of %v is no longer that of its copy: the two weights drift",
    .at = TC_AT_WINDOW,
    .judge = alias_judge,
};
