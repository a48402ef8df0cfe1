/* SPDX-License-Identifier: Apache-2.0 */
/*
 * implied.c - facts that follow from others, and are left out
 *
 * A script gives thousands of facts, most of which say one thing in several places. What is left
 * out is implied: a run that breaks it breaks what implies it as well. Each rule is a row with its
 * reason; implication never goes round in a circle, as a rule goes from results to operands, from
 * outer calls to inner ones, or from a part to the whole.
 */
#include "fact/implied.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fact/attribute.h"

/* The facts by what identifies them, and the calls by the one around them. */
struct facts_index {
    struct tc_strtab *symbols;
    const struct tc_invariant_set *set;
    struct tc_strtab *keys;     /* subject, path and attribute, as bytes; */
    TC_VEC(uint32_t) items;     /* by their number the place in the set */
    struct tc_strtab *calls;    /* subjects of which something is claimed */
    tc_sym init, training;      /* stages */
    struct tc_strtab *subjects; /* of calls */
    struct tc_map children;     /* (IN, IN_OF, STAGE, GRAD) → 1 + subject of the only call inside;
                                   MANY */
    struct tc_strtab *outers;   /* such tuples */
};

#define MANY UINT64_MAX

struct fact_key {
    struct tc_subject subject;
    tc_sym path;
    uint32_t attribute;
};

static struct fact_key key_of_claim(const struct tc_subject *subject, tc_sym path,
                                    enum tc_attribute attribute)
{
    struct fact_key key;

    memset(&key, 0, sizeof(key));
    key.subject = *subject;
    key.path = path;
    key.attribute = (uint32_t)attribute;
    return key;
}

/* The invariant that claims it, or NULL. */
static const struct tc_invariant *find_claim(const struct facts_index *x,
                                             const struct tc_subject *subject, tc_sym path,
                                             enum tc_attribute attribute)
{
    const struct fact_key key = key_of_claim(subject, path, attribute);
    tc_sym number = tc_strtab_find(x->keys, &key, sizeof(key));

    return number == TC_NO_SYM ? NULL : x->set->items.items[x->items.items[number]];
}

static bool has(const struct facts_index *x, const struct tc_subject *subject, tc_sym path,
                enum tc_attribute attribute)
{
    return find_claim(x, subject, path, attribute) != NULL;
}

static bool has_same(const struct facts_index *x, const struct tc_subject *subject,
                     const struct tc_fact *fact)
{
    const struct tc_invariant *other =
        find_claim(x, subject, fact->path, (enum tc_attribute)fact->attribute);

    return other && tc_invariant_fact(other)->value == fact->value;
}

static const char *path_of(const struct facts_index *x, const struct tc_fact *fact)
{
    return fact->path == TC_NO_SYM ? "" : tc_strtab_text(x->symbols, fact->path);
}

/* ---- calls inside calls --------------------------------------------------------------------- */

struct outer {
    tc_sym fn, of, stage, grad;
};

static struct outer outer_of(const struct tc_subject *call)
{
    const tc_sym *f = call->fields;

    return (struct outer){f[TC_FACT_FN], f[TC_FACT_OF], f[TC_FACT_STAGE], f[TC_FACT_GRAD]};
}

static struct outer around(const struct tc_subject *call)
{
    const tc_sym *f = call->fields;

    return (struct outer){f[TC_FACT_IN], f[TC_FACT_IN_OF], f[TC_FACT_STAGE], f[TC_FACT_GRAD]};
}

static void add_child(struct facts_index *x, const struct tc_subject *call)
{
    const struct outer outer = around(call);
    tc_sym subject = tc_strtab_intern(x->subjects, call, sizeof(*call));
    bool is_new;
    uint64_t *child =
        tc_map_at(&x->children, tc_strtab_intern(x->outers, &outer, sizeof(outer)), &is_new);

    if (is_new)
        *child = (uint64_t)subject + 1;
    else if (*child != (uint64_t)subject + 1)
        *child = MANY;
}

/* 0: it has none; MANY; or one more than the number of the only one. */
static uint64_t child_of(const struct facts_index *x, const struct tc_subject *call)
{
    const struct outer own = outer_of(call);
    tc_sym outer = tc_strtab_find(x->outers, &own, sizeof(own));
    uint64_t child = 0;

    if (outer != TC_NO_SYM)
        tc_map_get(&x->children, outer, &child);
    return child;
}

/* ---- rules ---------------------------------------------------------------------------------- */

static bool from_shape(const struct facts_index *x, const struct tc_fact *fact)
{
    const char *path = path_of(x, fact), *bracket = strrchr(path, '[');

    if (fact->attribute == TC_ATTRIBUTE_NDIM)
        return has(x, &fact->subject, fact->path, TC_ATTRIBUTE_SHAPE);
    if (fact->attribute != TC_ATTRIBUTE_DIM || !bracket)
        return false;
    tc_sym whole = tc_strtab_find(x->symbols, path, (size_t)(bracket - path));
    return whole != TC_NO_SYM && has(x, &fact->subject, whole, TC_ATTRIBUTE_SHAPE);
}

/* A layer hands its operand to the one function inside it, under the same name; the result is that
 * of the function. */
static bool from_inside(const struct facts_index *x, const struct tc_fact *fact)
{
    uint64_t child;

    if (fact->subject.kind != TC_SUBJECT_CALL ||
        (strncmp(path_of(x, fact), "args.", 5) && strncmp(path_of(x, fact), "value", 5)))
        return false;
    child = child_of(x, &fact->subject);
    return child && child != MANY &&
           has_same(x, (const void *)tc_strtab_text(x->subjects, (tc_sym)(child - 1)), fact);
}

/* What a function of torch returns follows from what it is given. Whose operands have no names is
 * not of torch; a call with others inside is not the function itself. */
static bool from_operands(const struct facts_index *x, const struct tc_fact *fact)
{
    size_t n_tensors = 0;

    if (fact->subject.kind != TC_SUBJECT_CALL || strncmp(path_of(x, fact), "value", 5) ||
        !tc_attribute_row(fact->attribute)->is_of_kind || child_of(x, &fact->subject))
        return false;
    for (size_t i = 0; i < x->set->items.n; i++) {
        const struct tc_fact *other = tc_invariant_fact(x->set->items.items[i]);
        const char *path = path_of(x, other);
        if (memcmp(&other->subject, &fact->subject, sizeof(fact->subject)) != 0 ||
            strncmp(path, "args.", 5) != 0)
            continue;
        if (isdigit((unsigned char)path[5]))
            return false;
        if (other->attribute != TC_ATTRIBUTE_TENSOR)
            continue;
        n_tensors++;
        if (!has(x, &fact->subject, other->path, TC_ATTRIBUTE_SHAPE) ||
            !has(x, &fact->subject, other->path, TC_ATTRIBUTE_DTYPE) ||
            !has(x, &fact->subject, other->path, TC_ATTRIBUTE_REQUIRES_GRAD))
            return false;
    }
    return n_tensors > 0;
}

/* Autocast goes on within a call only by a context of its own; where it is on, each call says so.
 */
static bool from_around(const struct facts_index *x, const struct tc_fact *fact)
{
    struct tc_subject outer;

    if (fact->attribute != TC_ATTRIBUTE_AUTOCAST || fact->subject.fields[TC_FACT_IN] == TC_NO_SYM ||
        strcmp(tc_strtab_text(x->symbols, fact->value), "false") != 0)
        return false;
    for (size_t i = 0; i < x->set->items.n; i++) {
        const struct tc_fact *other = tc_invariant_fact(x->set->items.items[i]);
        outer = other->subject;
        const struct outer own = outer_of(&outer), wanted = around(&fact->subject);
        if (other->attribute == fact->attribute && other->value == fact->value &&
            !memcmp(&own, &wanted, sizeof(own)))
            return true;
    }
    return false;
}

/* A parameter that comes from a variable is one. */
static bool from_source(const struct facts_index *x, const struct tc_fact *fact)
{
    const struct tc_invariant *source;

    if (fact->attribute != TC_ATTRIBUTE_TENSOR)
        return false;
    source = find_claim(x, &fact->subject, fact->path, TC_ATTRIBUTE_SOURCE);
    return source && tc_invariant_fact(source)->value == fact->value;
}

static bool from_count(const struct facts_index *x, const struct tc_fact *fact)
{
    return (fact->attribute == TC_ATTRIBUTE_COUNT_FIRST ||
            fact->attribute == TC_ATTRIBUTE_COUNT_LATER) &&
           has(x, &fact->subject, TC_NO_SYM, TC_ATTRIBUTE_COUNT);
}

/* Where the count of each step is known, that of those with a call is. */
static bool from_each(const struct facts_index *x, const struct tc_fact *fact)
{
    const tc_sym none = TC_NO_SYM;

    if (fact->attribute == TC_ATTRIBUTE_COUNT_WHERE)
        return has(x, &fact->subject, none, TC_ATTRIBUTE_COUNT) ||
               has(x, &fact->subject, none, TC_ATTRIBUTE_COUNT_LATER);
    if (fact->attribute == TC_ATTRIBUTE_FLOWS_WHERE || fact->attribute == TC_ATTRIBUTE_FLOWS_EVER)
        return has(x, &fact->subject, none, TC_ATTRIBUTE_FLOWS) ||
               has(x, &fact->subject, none, TC_ATTRIBUTE_FLOWS_LATER);
    return false;
}

static bool varies_later(const struct facts_index *x, const struct tc_fact *count)
{
    return count->attribute == TC_ATTRIBUTE_COUNT_FIRST &&
           !has(x, &count->subject, TC_NO_SYM, TC_ATTRIBUTE_COUNT_LATER) &&
           !has(x, &count->subject, TC_NO_SYM, TC_ATTRIBUTE_COUNT);
}

/* How often a call is made in the first step is chance where it varies in later ones, in whatever
 * stage: two runs may have drawn alike. */
static bool is_chance(const struct facts_index *x, const struct tc_fact *fact)
{
    const tc_sym *f = fact->subject.fields;

    if (fact->attribute != TC_ATTRIBUTE_COUNT_FIRST && fact->attribute != TC_ATTRIBUTE_FLOWS_FIRST)
        return false;
    for (size_t i = 0; i < x->set->items.n; i++) {
        const struct tc_fact *other = tc_invariant_fact(x->set->items.items[i]);
        if (varies_later(x, other) && other->subject.fields[TC_FACT_FN] == f[TC_FACT_FN] &&
            other->subject.fields[TC_FACT_OF] == f[TC_FACT_OF])
            return true;
    }
    return false;
}

/* A call that each run makes in some stage, each run makes. */
static bool from_stages(const struct facts_index *x, const struct tc_fact *fact)
{
    const tc_sym *f = fact->subject.fields;

    if (fact->attribute != TC_ATTRIBUTE_PRESENT || f[TC_FACT_STAGE] != TC_NO_SYM)
        return false;
    for (size_t i = 0; i < x->set->items.n; i++) {
        const struct tc_fact *other = tc_invariant_fact(x->set->items.items[i]);
        if (other->attribute == TC_ATTRIBUTE_PRESENT &&
            other->subject.fields[TC_FACT_STAGE] != TC_NO_SYM &&
            other->subject.fields[TC_FACT_FN] == f[TC_FACT_FN] &&
            other->subject.fields[TC_FACT_OF] == f[TC_FACT_OF])
            return true;
    }
    return false;
}

/* A call that is counted, and not only as never made, is missed by that count. */
static bool from_counts(const struct facts_index *x, const struct tc_fact *fact)
{
    const tc_sym *f = fact->subject.fields;

    if (fact->attribute != TC_ATTRIBUTE_PRESENT)
        return false;
    for (size_t i = 0; i < x->set->items.n; i++) {
        const struct tc_fact *other = tc_invariant_fact(x->set->items.items[i]);
        if (other->subject.kind == TC_SUBJECT_WINDOW &&
            other->subject.fields[TC_FACT_FN] == f[TC_FACT_FN] &&
            other->subject.fields[TC_FACT_OF] == f[TC_FACT_OF] &&
            (f[TC_FACT_STAGE] == TC_NO_SYM ||
             other->subject.fields[TC_FACT_STAGE] == f[TC_FACT_STAGE]) &&
            other->attribute != TC_ATTRIBUTE_COUNT_WHERE &&
            strcmp(tc_strtab_text(x->symbols, other->value), "0") != 0)
            return true;
    }
    return false;
}

/* Has a step several results of the call, of which another one may be meant: an earlier one, or the
 * second half of what one call splits? */
static bool has_many(const struct facts_index *x, tc_sym fn)
{
    for (size_t i = 0; i < x->set->items.n; i++) {
        const struct tc_fact *count = tc_invariant_fact(x->set->items.items[i]);
        const char *n = tc_strtab_text(x->symbols, count->value);
        if (count->subject.kind == TC_SUBJECT_CALL && count->subject.fields[TC_FACT_FN] == fn &&
            !strncmp(path_of(x, count), "value[1]", strlen("value[1]")))
            return true;
        if (count->subject.kind == TC_SUBJECT_WINDOW && count->subject.fields[TC_FACT_FN] == fn &&
            (count->attribute == TC_ATTRIBUTE_COUNT ||
             count->attribute == TC_ATTRIBUTE_COUNT_LATER) &&
            strcmp(n, "0") != 0 && strcmp(n, "1") != 0)
            return true;
    }
    return false;
}

/* Where all calls of a step have an operand from one call, its source and their count say so; */
static bool from_flow(const struct facts_index *x, const struct tc_fact *fact)
{
    const struct tc_invariant *calls;
    struct tc_subject window = tc_subject_of(TC_SUBJECT_WINDOW);

    if (fact->attribute == TC_ATTRIBUTE_FLOWS_LATER &&
        has(x, &fact->subject, TC_NO_SYM, TC_ATTRIBUTE_FLOWS))
        return true;
    if (fact->subject.kind != TC_SUBJECT_FLOW || fact->subject.fields[TC_FACT_IN_OF] != TC_NO_SYM ||
        fact->attribute == TC_ATTRIBUTE_FLOWS_FIRST)
        return false;
    window.fields[TC_FACT_FN] = fact->subject.fields[TC_FACT_FN];
    window.fields[TC_FACT_OF] = fact->subject.fields[TC_FACT_OF];
    window.fields[TC_FACT_STAGE] = fact->subject.fields[TC_FACT_STAGE];
    calls = find_claim(x, &window, TC_NO_SYM,
                       fact->attribute == TC_ATTRIBUTE_FLOWS         ? TC_ATTRIBUTE_COUNT
                       : fact->attribute == TC_ATTRIBUTE_FLOWS_LATER ? TC_ATTRIBUTE_COUNT_LATER
                                                                     : TC_ATTRIBUTE_COUNT_WHERE);
    return calls && tc_invariant_fact(calls)->value == fact->value &&
           !has_many(x, fact->subject.fields[TC_FACT_IN]);
}

/* A number that a call is always given it is given whatever made its first operand; what else is
 * known of it is reported again where all calls of a run are those. */
static bool from_call(const struct facts_index *x, const struct tc_fact *fact)
{
    struct tc_subject whole = fact->subject;

    if (fact->subject.kind != TC_SUBJECT_CALL || fact->subject.fields[TC_FACT_BY] == TC_NO_SYM)
        return false;
    whole.fields[TC_FACT_BY] = TC_NO_SYM;
    return has_same(x, &whole, fact);
}

/* The set of those that require a gradient names each. */
static bool from_set(const struct facts_index *x, const struct tc_fact *fact)
{
    const struct tc_subject all = tc_subject_of(TC_SUBJECT_VARIABLES);

    return fact->subject.kind == TC_SUBJECT_VARIABLE &&
           fact->attribute == TC_ATTRIBUTE_REQUIRES_GRAD &&
           fact->subject.fields[TC_FACT_BY] == TC_NO_SYM &&
           has(x, &all, TC_NO_SYM, TC_ATTRIBUTE_TRAINABLE);
}

/* What an object is set to is said once a context, of the call that is met most; then of the first
 * by name. */
static bool from_receiver(const struct facts_index *x, const struct tc_fact *fact)
{
    const struct tc_invariant *own =
        find_claim(x, &fact->subject, fact->path, (enum tc_attribute)fact->attribute);

    if (strncmp(path_of(x, fact), "self.", 5) != 0 || fact->subject.fields[TC_FACT_OF] == TC_NO_SYM)
        return false;
    for (size_t i = 0; i < x->set->items.n; i++) {
        const struct tc_invariant *other = x->set->items.items[i];
        struct tc_subject like = tc_invariant_fact(other)->subject;
        const char *name = tc_strtab_text(x->symbols, like.fields[TC_FACT_FN] == TC_NO_SYM
                                                          ? fact->subject.fields[TC_FACT_FN]
                                                          : like.fields[TC_FACT_FN]);
        int order = strcmp(tc_strtab_text(x->symbols, fact->subject.fields[TC_FACT_FN]), name);
        like.fields[TC_FACT_FN] = fact->subject.fields[TC_FACT_FN];
        if (order && tc_invariant_fact(other)->path == fact->path &&
            tc_invariant_fact(other)->attribute == fact->attribute &&
            tc_invariant_fact(other)->value == fact->value &&
            !memcmp(&like, &fact->subject, sizeof(like)) &&
            (other->held > own->held || (other->held == own->held && order > 0)))
            return true;
    }
    return false;
}

/* What is given before the first step, and varies in training, two runs may have drawn alike. */
static bool of_varying_training(const struct facts_index *x, const struct tc_fact *fact)
{
    struct tc_subject training = fact->subject;

    if (fact->subject.kind != TC_SUBJECT_CALL || fact->subject.fields[TC_FACT_STAGE] != x->init)
        return false;
    training.fields[TC_FACT_STAGE] = x->training;
    return fact->path != TC_NO_SYM &&
           tc_strtab_find(x->calls, &training, sizeof(training)) != TC_NO_SYM &&
           !has(x, &training, fact->path, (enum tc_attribute)fact->attribute);
}

static const struct {
    const char *why; /* for the reader of this table */
    bool (*is_implied)(const struct facts_index *x, const struct tc_fact *fact);
} rules[] = {
    {"each dimension, and their number, from the shape",               from_shape         },
    {"a layer's operands and result from the one function inside it",  from_inside        },
    {"the kind of a function's result from its operands",              from_operands      },
    {"autocast that is off from the call around",                      from_around        },
    {"a parameter from the variable that it is",                       from_source        },
    {"the count of the first step and of the others from that of all", from_count         },
    {"no rule: what the first step counts where later ones vary",      is_chance          },
    {"no rule: what is given first of what varies in training",        of_varying_training},
    {"presence from that in a stage",                                  from_stages        },
    {"presence from the count in a step",                              from_counts        },
    {"the count of a step that has the call from that of each step",   from_each          },
    {"where all operands of a call in a step come from by its source", from_flow          },
    {"a number of calls by their first operand from that of all",      from_call          },
    {"one variable that requires a gradient from the set of them",     from_set           },
    {"the settings of a receiver from another call of it",             from_receiver      },
};

/* ---- all ------------------------------------------------------------------------------------ */

static void open_index(struct facts_index *x, struct tc_strtab *symbols,
                       const struct tc_invariant_set *set)
{
    *x = (struct facts_index){.symbols = symbols,
                              .set = set,
                              .keys = tc_strtab_new(),
                              .calls = tc_strtab_new(),
                              .init = tc_strtab_intern_text(symbols, "init"),
                              .training = tc_strtab_intern_text(symbols, "training"),
                              .subjects = tc_strtab_new(),
                              .outers = tc_strtab_new()};
    for (size_t i = 0; i < set->items.n; i++) {
        const struct tc_fact *fact = tc_invariant_fact(set->items.items[i]);
        const struct fact_key key =
            key_of_claim(&fact->subject, fact->path, (enum tc_attribute)fact->attribute);
        tc_strtab_intern(x->keys, &key, sizeof(key));
        tc_vec_push(&x->items, (uint32_t)i);
        tc_strtab_intern(x->calls, &fact->subject, sizeof(fact->subject));
        if (fact->subject.kind == TC_SUBJECT_CALL &&
            fact->subject.fields[TC_FACT_IN] != TC_NO_SYM &&
            fact->subject.fields[TC_FACT_BY] == TC_NO_SYM)
            add_child(x, &fact->subject);
    }
}

static void close_index(struct facts_index *x)
{
    tc_strtab_free(x->keys);
    tc_strtab_free(x->calls);
    tc_strtab_free(x->subjects);
    tc_strtab_free(x->outers);
    tc_map_release(&x->children);
    tc_vec_release(&x->items);
}

void tc_fact_condense(const struct tc_rows *rows, struct tc_invariant_set *accepted)
{
    bool *drop = tc_calloc(accepted->items.n + 1, sizeof(*drop));
    struct facts_index x;

    open_index(&x, rows->symbols, accepted);
    for (size_t i = 0; i < accepted->items.n; i++)
        for (size_t r = 0; r < sizeof(rules) / sizeof(*rules) && !drop[i]; r++)
            drop[i] = rules[r].is_implied(&x, tc_invariant_fact(accepted->items.items[i]));
    close_index(&x);
    tc_invariant_set_drop(accepted, drop);
    tc_free(drop);
}
