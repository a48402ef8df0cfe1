/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_pair.c - leaves of two calls, or two variables, side by side
 *
 * Two calls, or two variables, are walked leaf by leaf in the order of their records; each leaf
 * that differs becomes a difference of a kind. Variables pair by name, new ones without a like
 * by kind and shape. How a script is cut into functions and how its classes are called is no
 * difference. With another number of ranks contents and sizes are left to other_world.h.
 */
#include "compare/call_pair.h"

#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "compare/diff.h"
#include "replay/symbols.h"

/* Texts of values are cut at so many bytes. */
#define MAX_TEXT 120

/* What a comparison of leaves found. */
struct found {
    bool has_argument; /* an argument, or a number */
    bool has_content;
    int64_t tensor; /* whose content was told last: it is reported once */
};

/* Where the leaves stand. */
struct place {
    uint32_t site_a, site_b;
    tc_sym name;   /* of a variable; TC_SYM_EMPTY: leaves of a call */
    bool is_given; /* operands of a call */
};

static void part(struct tc_pair_state *s)
{
    if (s->pair->has_parted)
        return;
    s->pair->has_parted = true;
    s->pair->parted_steps = s->pair->n_step_windows;
    s->pair->parted_step = s->window_b->step;
}

/* ---- one difference ------------------------------------------------------------------------ */

static const char *text_of(struct tc_pair_state *s, const struct tc_value *v)
{
    char text[MAX_TEXT + 1];

    if (!v)
        return NULL;
    size_t size = tc_value_json(v, text, sizeof(text));
    if (size > MAX_TEXT)
        memcpy(text + MAX_TEXT - 3, "...", 3);
    return tc_arena_text(&s->out->arena, text, size < MAX_TEXT ? size : MAX_TEXT);
}

static tc_sym full_path(struct tc_pair_state *s, const struct place *place, tc_sym path)
{
    struct tc_strtab *symbols = s->comparison->symbols;
    struct tc_strbuf text = TC_STRBUF_INIT;
    tc_sym sym;

    if (place->name == TC_SYM_EMPTY)
        return path;
    tc_strbuf_addf(&text, "%s.%s", tc_strtab_text(symbols, place->name),
                   tc_strtab_text(symbols, path));
    sym = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return sym;
}

static struct tc_difference *add_difference(struct tc_pair_state *s, const struct place *place,
                                            enum tc_difference_kind kind, const struct tc_leaf *a,
                                            const struct tc_leaf *b)
{
    const struct tc_leaf *leaf = a ? a : b;
    struct tc_difference seen = tc_difference_seen(s, kind, TC_IS_OTHER);
    bool is_first;

    seen.site_a = place->site_a;
    seen.site_b = place->site_b;
    seen.path = full_path(s, place, leaf->path);
    seen.is_number = leaf->kind == TC_LEAF_NUMBER;
    seen.hash_a = a ? a->hash : 0;
    seen.hash_b = b ? b->hash : 0;
    struct tc_difference *d = tc_differences_add(s->out, &seen, &is_first);

    if (d && is_first) {
        d->was = text_of(s, a ? a->value : NULL);
        d->is = text_of(s, b ? b->value : NULL);
    }
    return d;
}

/* ---- leaves -------------------------------------------------------------------------------- */

typedef void leaf_fn(struct tc_pair_state *s, const struct place *place, const struct tc_leaf *a,
                     const struct tc_leaf *b);

static const struct tc_leaf *ahead(const struct tc_leaves *leaves, size_t from, tc_sym path)
{
    for (size_t i = from; i < leaves->n; i++)
        if (leaves->items[i].path == path)
            return &leaves->items[i];
    return NULL;
}

static const struct tc_call_site *site_of(const struct tc_pair_state *s, uint32_t site)
{
    return &s->comparison->sites.items.items[site];
}

/* Is it an operand that a collective writes into, and does not read, by the names that
 * torch.distributed gives them? Of a collective that torch makes for another one it may be padding:
 * gather_object() sends pickles of one size. */
static bool is_gathered_into(const struct tc_pair_state *s, const struct place *place,
                             const struct tc_leaf *leaf)
{
    static const char *const outputs[] = {"args.tensor_list", "args.gather_list", "args.output"};
    const char *path = tc_strtab_text(s->comparison->symbols, leaf->path);

    if (!place->is_given || place->name != TC_SYM_EMPTY ||
        site_of(s, place->site_b)->role != TC_ROLE_COLLECTIVE)
        return false;
    if (!site_of(s, place->site_b)->is_user)
        return true;
    for (size_t i = 0; i < sizeof(outputs) / sizeof(*outputs); i++)
        if (!strncmp(path, outputs[i], strlen(outputs[i])))
            return true;
    return false;
}

/* What a call writes into may hold anything: memory that torch.empty() gave has no content yet. */
static bool is_unfilled(const struct tc_pair_state *s, const struct place *place,
                        const struct tc_leaf *leaf)
{
    uint64_t one;

    return is_gathered_into(s, place, leaf) ||
           (leaf->is_receiver && tc_map_get(&s->unfilled, (uint64_t)leaf->tensor, &one));
}

/* What a function of the script is given and gives besides values, how many there are and of what
 * classes, is a matter of how the script is cut. */
static bool is_interface(const struct tc_pair_state *s, const struct place *place,
                         const struct tc_leaf *a, const struct tc_leaf *b)
{
    if (place->site_a == TC_NO_SITE || place->name != TC_SYM_EMPTY ||
        !s->comparison->sites.items.items[place->site_a].is_own)
        return false;
    return !a || !b || a->is_class;
}

/* A class of the script's own may be called anything. */
static bool is_own_class(const struct tc_leaf *a, const struct tc_leaf *b)
{
    return a && b && a->is_class && tc_is_own_class(tc_value_str(a->value)) &&
           tc_is_own_class(tc_value_str(b->value));
}

/* On another number of ranks a batch is cut and a sum is taken in another order: content, sizes and
 * counts are not compared call by call (other_world.h). Weights that are new are. */
static bool is_of_another_world(const struct tc_pair_state *s, const struct place *place,
                                const struct tc_leaf *leaf)
{
    if (!s->has_other_world || (place->name != TC_SYM_EMPTY && s->has_new_variable))
        return false;
    return leaf->kind == TC_LEAF_CONTENT || leaf->tensor != TC_NONE || leaf->is_class ||
           leaf->value->kind == TC_VALUE_INT || leaf->value->kind == TC_VALUE_ARRAY;
}

/* What was computed: operands are results of other calls, or in an order of the script's own. */
static void note_closeness(struct tc_pair_state *s, const struct place *place,
                           const struct tc_leaf *a, const struct tc_leaf *b)
{
    const bool is_variable = place->name != TC_SYM_EMPTY;
    const struct tc_closeness_place at = {s->window_b->step, place->site_b,
                                          is_variable ? place->name : b->path};

    if (s->is_healthy || s->pair->is_worker || place->is_given)
        return;
    if (b->kind == TC_LEAF_CONTENT || (b->kind == TC_LEAF_NUMBER && !is_variable))
        tc_closeness_note(&s->comparison->closeness, &at, a, b);
}

static void compare_leaf(struct tc_pair_state *s, const struct place *place, leaf_fn *tell,
                         const struct tc_leaf *a, const struct tc_leaf *b, struct found *found)
{
    const enum tc_leaf_kind kind = (a ? a : b)->kind;

    if ((a && b && a->hash == b->hash) || is_of_another_world(s, place, a ? a : b) ||
        (s->has_other_world && (!a || !b))) /* of a wrapper of the model, and of none */
        return;
    if (kind == TC_LEAF_CONTENT && s->has_no_content)
        return;
    /* What is known of content depends on what was recorded, and of a variable only what changed.
     */
    if ((kind == TC_LEAF_CONTENT || place->name != TC_SYM_EMPTY) && (!a || !b))
        return;
    if (kind == TC_LEAF_CONTENT && is_unfilled(s, place, b))
        return;
    if (is_interface(s, place, a, b) || is_own_class(a, b))
        return;
    *(kind == TC_LEAF_CONTENT ? &found->has_content : &found->has_argument) = true;
    const bool is_told =
        kind == TC_LEAF_CONTENT && b->tensor != TC_NONE && b->tensor == found->tensor;
    if (kind == TC_LEAF_CONTENT)
        found->tensor = b->tensor;
    if (a && b)
        note_closeness(s, place, a, b);
    if (!is_told)
        tell(s, place, a, b);
}

/* tell is called for each leaf that differs, in order. */
static struct found compare_leaves(struct tc_pair_state *s, const struct place *place,
                                   leaf_fn *tell)
{
    const struct tc_leaves *a = &s->leaves_a, *b = &s->leaves_b;
    struct found found = {.tensor = TC_NONE};
    size_t i = 0, k = 0;

    while (i < a->n || k < b->n) {
        const struct tc_leaf *x = i < a->n ? &a->items[i] : NULL;
        const struct tc_leaf *y = k < b->n ? &b->items[k] : NULL;
        if (x && y && x->path == y->path) {
            compare_leaf(s, place, tell, x, y, &found);
            i++;
            k++;
        } else if (x && !ahead(b, k, x->path)) {
            compare_leaf(s, place, tell, x, NULL, &found);
            i++;
        } else {
            compare_leaf(s, place, tell, NULL, y, &found);
            k++;
        }
    }
    return found;
}

/* ---- calls --------------------------------------------------------------------------------- */

/* Of the leaves of the run's result: which tensors came without content. */
static void note_results(struct tc_pair_state *s)
{
    for (size_t i = 0; i < s->leaves_b.n; i++)
        if (s->leaves_b.items[i].tensor != TC_NONE) {
            if (s->leaves_b.items[i].kind == TC_LEAF_CONTENT)
                tc_map_remove(&s->unfilled, (uint64_t)s->leaves_b.items[i].tensor);
            else
                tc_map_put(&s->unfilled, (uint64_t)s->leaves_b.items[i].tensor, 1);
        }
}

/* An operand. Content that differs is where values are seen to part, if they have not. */
static void tell_input(struct tc_pair_state *s, const struct place *place, const struct tc_leaf *a,
                       const struct tc_leaf *b)
{
    const struct tc_call_site *site = site_of(s, place->site_a);
    const enum tc_leaf_kind kind = (a ? a : b)->kind;
    struct tc_difference *d;

    if (kind != TC_LEAF_CONTENT) {
        const bool is_seed = site->role == TC_ROLE_SEED;
        d = add_difference(s, place, is_seed ? TC_DIFFERENCE_DRAWS : TC_DIFFERENCE_ARGUMENTS, a, b);
        if (d)
            d->is_seed = is_seed;
        if (is_seed) /* nothing that is drawn from here on is the same, told or not */
            part(s);
        return;
    }
    if (site->role == TC_ROLE_FORWARD && site->is_user)
        add_difference(s, place, TC_DIFFERENCE_DATA, a, b);
    else if (!s->pair->has_parted)
        add_difference(s, place, TC_DIFFERENCE_RESULTS, a, b);
}

static bool has_content(const struct tc_leaves *leaves)
{
    for (size_t i = 0; i < leaves->n; i++)
        if (leaves->items[i].kind == TC_LEAF_CONTENT)
            return true;
    return false;
}

static bool is_draw(const struct tc_pair_state *s, const struct tc_call_site *site)
{
    if (site->role == TC_ROLE_DRAW || site->role == TC_ROLE_SEED || site->role == TC_ROLE_INIT)
        return true;
    return site->role == TC_ROLE_FUNCTION && !s->leaves_a.has_unknown && !has_content(&s->leaves_a);
}

static void tell_draw(struct tc_pair_state *s, const struct place *place, const struct tc_leaf *a,
                      const struct tc_leaf *b)
{
    add_difference(s, place, TC_DIFFERENCE_DRAWS, a, b);
}

static void tell_batch(struct tc_pair_state *s, const struct place *place, const struct tc_leaf *a,
                       const struct tc_leaf *b)
{
    add_difference(s, place, TC_DIFFERENCE_DATA, a, b);
}

/* Equal operands give another result. */
static void tell_result(struct tc_pair_state *s, const struct place *place, const struct tc_leaf *a,
                        const struct tc_leaf *b)
{
    struct tc_difference *d = add_difference(s, place, TC_DIFFERENCE_RESULTS, a, b);

    if (d)
        d->has_equal_operands = true;
}

/* A result of which it is not known whether its operands were equal: told where it is the first
 * value that differs. */
static void tell_value(struct tc_pair_state *s, const struct place *place, const struct tc_leaf *a,
                       const struct tc_leaf *b)
{
    const struct tc_leaf *leaf = a ? a : b;

    if (!s->pair->has_parted && leaf->kind == TC_LEAF_CONTENT)
        add_difference(s, place, TC_DIFFERENCE_RESULTS, a, b);
}

struct tc_call_pair tc_call_pair_begin(struct tc_pair_state *s, const struct tc_course_call *a,
                                       const struct tc_course_call *b)
{
    const struct place place = {a->site, b->site, TC_SYM_EMPTY, true};
    const struct tc_call_site *site = site_of(s, a->site);

    tc_leaves_of_call(&s->comparison->reader, a->begin, &s->leaves_a);
    tc_leaves_of_call(&s->comparison->reader, b->begin, &s->leaves_b);
    struct found inputs = compare_leaves(s, &place, tell_input);
    if (inputs.has_content && site->role != TC_ROLE_SAVE) /* nothing follows from what is saved */
        part(s);
    /* Of parameters that come from an iterator it is not known what they are. */
    const bool is_known = (site->is_own || has_content(&s->leaves_a)) && !s->leaves_a.has_unknown &&
                          !s->leaves_b.has_unknown;
    return (struct tc_call_pair){
        .a = a,
        .b = b,
        .is_equal = is_known && !inputs.has_argument && !inputs.has_content,
        .is_draw = is_draw(s, site),
    };
}

void tc_call_pair_end(struct tc_pair_state *s, const struct tc_call_pair *pair)
{
    const struct place place = {pair->a->site, pair->b->site, TC_SYM_EMPTY, false};
    const enum tc_role role = site_of(s, pair->a->site)->role;
    leaf_fn *tell = role == TC_ROLE_DATA ? tell_batch
                    : pair->is_draw      ? tell_draw
                    : pair->is_equal     ? tell_result
                                         : tell_value;

    if (!pair->a->end || !pair->b->end)
        return;
    tc_leaves_of_end(&s->comparison->reader, pair->a->end, &s->leaves_a);
    tc_leaves_of_end(&s->comparison->reader, pair->b->end, &s->leaves_b);
    const struct found results = compare_leaves(s, &place, tell);
    /* A number may be drawn; and what is loaded has effect where it is given to something. */
    if ((results.has_content && role != TC_ROLE_LOAD) || (pair->is_draw && results.has_argument))
        part(s);
    note_results(s);
}

/* ---- variables ----------------------------------------------------------------------------- */

/* The site of the call in which a variable changed. */
static uint32_t cause_of(const struct tc_course_window *window, const struct tc_course_variable *v)
{
    return v->cause == TC_NO_CALL ? TC_NO_SITE : window->calls.items[v->cause].site;
}

static bool has_data(const struct tc_course_variable *v)
{
    return tc_value_get(v->record->attrs, "data") != NULL;
}

static void tell_variable(struct tc_pair_state *s, const struct place *place,
                          const struct tc_leaf *a, const struct tc_leaf *b)
{
    const bool is_content = (a ? a : b)->kind == TC_LEAF_CONTENT;

    add_difference(s, place,
                   !is_content           ? TC_DIFFERENCE_ARGUMENTS
                   : s->has_new_variable ? TC_DIFFERENCE_WEIGHTS
                                         : TC_DIFFERENCE_VARIABLES,
                   a, b);
}

/* Does the process of one of the runs hold a part of it? On another number of ranks that is another
 * part, or the whole: all ranks together compare (shards.h). */
static bool is_part(const struct tc_pair_state *s, const struct tc_course_variable *a,
                    const struct tc_course_variable *b)
{
    struct tc_comparison *c = s->comparison;
    uint64_t one;

    if (c->reference.world == c->run.world)
        return false;
    if (tc_value_is_true(tc_value_get(a->record->attrs, "sharded")) ||
        tc_value_is_true(tc_value_get(b->record->attrs, "sharded")))
        tc_map_put(&c->parts, a->name, 1);
    return tc_map_get(&c->parts, a->name, &one);
}

static void compare_variable(struct tc_pair_state *s, const struct tc_course_variable *a,
                             const struct tc_course_variable *b)
{
    const struct place place = {cause_of(s->window_a, a), cause_of(s->window_b, b), a->name, false};

    s->order++;
    if (is_part(s, a, b))
        return;
    tc_leaves_of_variable(&s->comparison->reader, a->record, &s->leaves_a);
    tc_leaves_of_variable(&s->comparison->reader, b->record, &s->leaves_b);
    s->comparison->has_values |= has_data(a) && has_data(b);
    s->has_new_variable = a->is_new && b->is_new;
    if (compare_leaves(s, &place, tell_variable).has_content)
        part(s);
}

/* A variable that one of the runs changes alone, or has alone. */
static void tell_alone(struct tc_pair_state *s, const struct tc_course_variable *v, bool is_a)
{
    const uint32_t cause = cause_of(is_a ? s->window_a : s->window_b, v);
    bool is_first;

    s->order++;
    if (!has_data(v) || s->has_other_world)
        return;
    struct tc_difference seen = tc_difference_seen(s, TC_DIFFERENCE_VARIABLES,
                                                   !v->is_new ? TC_IS_KEPT
                                                   : is_a     ? TC_IS_MISSING
                                                              : TC_IS_NEW);
    *(is_a ? &seen.site_a : &seen.site_b) = cause;
    seen.path = v->name;
    tc_differences_add(s->out, &seen, &is_first);
    part(s);
}

/* At the begin of a resumed run what is looked at for the first time was compared as a state. */
static bool is_compared(const struct tc_pair_state *s, const struct tc_course_variable *v)
{
    return !(s->resumes && s->window_b->number == s->resumed_window && v->is_new);
}

/* The how-manieth record of a variable in its window, of those that tell its content or the others.
 */
static uint64_t key_of_record(struct tc_map *counts, tc_sym name,
                              const struct tc_course_variable *v)
{
    const uint64_t key = tc_hash_mix(name, has_data(v), 1);
    bool is_new;
    uint64_t *count = tc_map_at(counts, key, &is_new);

    return tc_hash_mix(key, ++*count, 1);
}

static tc_sym name_in_a(const struct tc_pair_state *s, tc_sym name)
{
    uint64_t renamed;

    return tc_map_get(&s->renamed, name, &renamed) ? (tc_sym)renamed : name;
}

static bool is_alike(const struct tc_course_variable *a, const struct tc_course_variable *b)
{
    char x[64], y[64];

    if (!a->is_new || !b->is_new || a->kind != b->kind)
        return false;
    const struct tc_value *shape_a = tc_value_get(a->record->attrs, "shape");
    const struct tc_value *shape_b = tc_value_get(b->record->attrs, "shape");
    if (!shape_a || !shape_b)
        return shape_a == shape_b;
    tc_value_json(shape_a, x, sizeof(x));
    tc_value_json(shape_b, y, sizeof(y));
    return !strcmp(x, y);
}

/* New variables without a like of their name: one after the other, where kind and shape are equal.
 */
static void match_renamed(struct tc_pair_state *s, size_t *like)
{
    const struct tc_course_window *a = s->window_a, *b = s->window_b;
    bool *is_taken = tc_calloc(a->variables.n + 1, sizeof(*is_taken));

    for (size_t k = 0; k < b->variables.n; k++)
        if (like[k] != TC_UNMATCHED)
            is_taken[like[k]] = true;
    for (size_t k = 0, i = 0; k < b->variables.n; k++) {
        if (like[k] != TC_UNMATCHED || !b->variables.items[k].is_new ||
            !is_compared(s, &b->variables.items[k]))
            continue;
        size_t found = i;
        while (found < a->variables.n &&
               (is_taken[found] || !is_alike(&a->variables.items[found], &b->variables.items[k])))
            found++;
        if (found == a->variables.n)
            continue;
        like[k] = found;
        i = found + 1;
        tc_map_put(&s->renamed, b->variables.items[k].name, a->variables.items[found].name);
    }
    tc_free(is_taken);
}

/* like[k]: which record of a that of b is. */
static void match_variables(struct tc_pair_state *s, size_t *like)
{
    struct tc_map by_key = TC_MAP_INIT, counts = TC_MAP_INIT;
    uint64_t i;

    for (i = 0; i < s->window_a->variables.n; i++) {
        const struct tc_course_variable *a = &s->window_a->variables.items[i];
        if (is_compared(s, a))
            tc_map_put(&by_key, key_of_record(&counts, a->name, a), i);
    }
    tc_map_clear(&counts);
    for (size_t k = 0; k < s->window_b->variables.n; k++) {
        const struct tc_course_variable *b = &s->window_b->variables.items[k];
        like[k] = TC_UNMATCHED;
        if (is_compared(s, b) &&
            tc_map_get(&by_key, key_of_record(&counts, name_in_a(s, b->name), b), &i))
            like[k] = i;
    }
    tc_map_release(&by_key);
    tc_map_release(&counts);
    match_renamed(s, like);
}

void tc_variables_compare(struct tc_pair_state *s)
{
    const size_t n_a = s->window_a->variables.n, n_b = s->window_b->variables.n;
    size_t *like = tc_malloc((n_b + 1) * sizeof(*like));
    bool *has_like = tc_calloc(n_a + 1, sizeof(*has_like));

    match_variables(s, like);
    for (size_t k = 0; k < n_b; k++) {
        const struct tc_course_variable *b = &s->window_b->variables.items[k];
        if (like[k] == TC_UNMATCHED) {
            if (is_compared(s, b))
                tell_alone(s, b, false);
            continue;
        }
        has_like[like[k]] = true;
        compare_variable(s, &s->window_a->variables.items[like[k]], b);
    }
    for (size_t i = 0; i < n_a; i++)
        if (!has_like[i] && is_compared(s, &s->window_a->variables.items[i]))
            tell_alone(s, &s->window_a->variables.items[i], true);
    if (!s->is_healthy && !s->pair->is_worker)
        tc_closeness_close(&s->comparison->closeness, s->window_b->step);
    tc_free(like);
    tc_free(has_like);
}
