/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_form.c - which statements are proposed, with how much support, and how one holds
 *
 * Most of it is what is not proposed: defaults, bounds never met, choices of authors, coins that
 * fell the same way. Each predicate names one such reason; support_of() takes the first that
 * applies. A statement holds if the outcome has it, and breaks only if the contrary is there.
 */
#include "relation/operand_form.h"

#include <string.h>

#include "relation/form.h"
#include "replay/symbols.h"

/* ---- proposing ----------------------------------------------------------------------------- */

/* "args.dim", "args.dim.matrix": a dimension, counted from the end. */
static bool is_dimension(const struct tc_path *path)
{
    return path->root == TC_PATH_ARGUMENT &&
           (path->part == TC_PART_NONE || path->part == TC_PART_OF_MATRIX) &&
           tc_operand_is_dimension(path->name);
}

/* Does the outcome say what the operand is? */
static bool says_value(struct tc_strtab *symbols, tc_sym left, const tc_sym *outcome, size_t n)
{
    tc_sym words[3];

    for (size_t i = 0; i < n; i++)
        if (tc_strtab_split(symbols, outcome[i], words, 3) && words[0] == left &&
            words[1] == TC_SYM_IS)
            return true;
    return false;
}

/* Is the argument at its default in every outcome that says so, or, with TC_NO_SYM, that says what
 * it is? Then it says nothing; if it is something else at times, the mode may explain that, in one
 * script. */
static bool is_default_wherever(struct tc_strtab *symbols, const struct tc_outcomes *outcomes,
                                const struct tc_path *path, tc_sym statement)
{
    tc_sym operand =
        path->part == TC_PART_OF_MATRIX ? tc_symbols_str(symbols, path->owner) : path->sym;
    tc_sym is_default = TC_ATOM(symbols, TC_SYM_DEFAULT, TC_SYM_IS, operand);

    for (size_t i = 0; i < outcomes->n; i++) {
        const tc_sym *set = outcomes->outcome[i];
        size_t n = outcomes->n_outcome[i];
        bool is_meant = statement == TC_NO_SYM ? says_value(symbols, path->sym, set, n)
                                               : tc_outcome_has(set, n, statement);
        if (is_meant && !tc_outcome_has(set, n, is_default))
            return false;
    }
    return true;
}

/* Almost any size is at least a stride or a count of one: a lower bound that no result ever met is
 * a coincidence. */
static bool is_ever_reached(struct tc_strtab *symbols, const struct tc_outcomes *outcomes,
                            const struct tc_statement *s)
{
    const tc_sym reaches = TC_ATOM(symbols, s->left.sym, TC_SYM_REACHES, s->right);
    bool found = false;

    for (size_t i = 0; i < outcomes->n && !found; i++)
        found = tc_outcome_has(outcomes->outcome[i], outcomes->n_outcome[i], reaches);
    return found;
}

/* "rare": calls that load or save state come once in a run; one has to be enough.
 * "users": the user's own code, whose operands have names and meanings of their own. */
static bool call_is(struct tc_strtab *symbols, const struct tc_outcomes *outcomes, tc_sym what)
{
    const tc_sym said = TC_ATOM(symbols, TC_SYM_CALL, TC_SYM_IS, what);

    return outcomes->n && tc_outcome_has(outcomes->outcome[0], outcomes->n_outcome[0], said);
}

static bool is_about_argument(const struct tc_strtab *symbols, const struct tc_statement *s)
{
    const struct tc_path right = tc_path_read(symbols, s->right);

    return tc_path_is_argument(&s->left) || tc_path_is_argument(&right);
}

static bool is_flag(tc_sym value)
{
    return value == TC_SYM_TRUE || value == TC_SYM_FALSE;
}

/* A switch that all pipelines happen to leave in one position: as likely as a coin. That a loss has
 * something to train, and something to train it by, is no switch; nor is that a load finds what it
 * is given. */
static bool is_coin(const struct tc_statement *s)
{
    return s->left.root < TC_PATH_SOME_GRADIENT && s->verb == TC_SYM_IS && is_flag(s->right);
}

/* That two whole shapes agree is no coin that falls by chance. */
static bool is_shape_of_two(const struct tc_statement *s)
{
    return s->verb == TC_SYM_EQUALS && s->left.part == TC_PART_SHAPE;
}

static bool is_value(const struct tc_statement *s)
{
    return tc_path_is_argument(&s->left) && s->verb == TC_SYM_IS;
}

/* Flags and zeros that a script passes everywhere, and layers that never do anything, are what its
 * author wanted. */
static bool is_choice(const struct tc_statement *s)
{
    return s->left.part == TC_PART_CONTENT ||
           (is_value(s) && (is_flag(s->right) || s->right == TC_SYM_ZERO));
}

/* Of a root: where no module asks for it, eval() is often left out. */
static bool is_mode(const struct tc_statement *s)
{
    return s->left.sym == TC_SYM_F_SELF_TRAINING;
}

/* Whether gradients are enabled where no backward follows is each script's choice; that a step is
 * trained in training mode is said of windows. */
static bool is_training_mode(const struct tc_statement *s)
{
    return is_mode(s) && s->right == TC_SYM_TRUE;
}

/* A dimension that is counted from the end, but for the two of a matrix. */
static bool is_from_the_end(const struct tc_strtab *symbols, const struct tc_statement *s)
{
    return s->verb == TC_SYM_IS && is_dimension(&s->left) && s->left.part == TC_PART_NONE &&
           tc_strtab_text(symbols, s->right)[0] == '-';
}

/* Rows or columns: there is a use for either. */
static bool is_axis_of_matrix(const struct tc_statement *s)
{
    return s->verb == TC_SYM_IS && is_dimension(&s->left) && s->left.part == TC_PART_OF_MATRIX;
}

/* What is known of a key: how its calls were met, and what is usual for the form. */
struct subject {
    struct tc_strtab *symbols;
    const struct tc_outcomes *outcomes;
    bool is_users, is_rare;
    enum tc_support usual;
};

/* The first that applies, from the one that says least. */
static enum tc_support support_of(const struct subject *x, const struct tc_statement *s)
{
    const bool is_argument = is_about_argument(x->symbols, s);

    if ((x->is_users && is_argument) || is_training_mode(s) ||
        (is_value(s) && is_default_wherever(x->symbols, x->outcomes, &s->left, s->sym)))
        return TC_SUPPORT_OWN;
    if (is_from_the_end(x->symbols, s))
        return TC_SUPPORT_EVERY;
    if (is_mode(s) || is_axis_of_matrix(s) || (is_argument && is_coin(s)))
        return TC_SUPPORT_COIN;
    return x->usual > TC_SUPPORT_USAGE && is_shape_of_two(s) ? TC_SUPPORT_USAGE : x->usual;
}

/* Left alone: a value that is a default wherever it was met, a bound that no result ever met. */
static bool says_nothing(const struct subject *x, const struct tc_statement *s)
{
    if (is_value(s) && is_default_wherever(x->symbols, x->outcomes, &s->left, TC_NO_SYM))
        return true;
    return s->verb == TC_SYM_AT_LEAST && !is_ever_reached(x->symbols, x->outcomes, s);
}

static void propose_one(const struct subject *x, tc_sym key, const struct tc_statement *s,
                        struct tc_hypotheses *out)
{
    struct tc_hypothesis h = {.n_params = 2,
                              .support = support_of(x, s),
                              .min_examples = x->is_rare ? 1 : 0,
                              .is_choice = is_choice(s)};

    h.params[0] = tc_param_call(key, TC_SYM_EMPTY);
    h.params[1] = tc_param_of(TC_PARAM_OPERAND, s->left.sym, s->verb, s->right);
    tc_vec_push(&out->items, h);
}

void tc_operand_propose(const struct tc_relation *relation, struct tc_strtab *symbols, tc_sym key,
                        const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    const struct subject x = {symbols, outcomes, call_is(symbols, outcomes, TC_SYM_USERS),
                              call_is(symbols, outcomes, TC_SYM_RARE), relation->usual};
    struct tc_map seen = TC_MAP_INIT;

    for (size_t i = 0; i < outcomes->n; i++) {
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++) {
            struct tc_statement s;
            if (tc_is_first(&seen, outcomes->outcome[i][j]) &&
                tc_statement_read(symbols, outcomes->outcome[i][j], &s) && relation->states(&s) &&
                !says_nothing(&x, &s))
                propose_one(&x, key, &s, out);
        }
    }
    tc_map_release(&seen);
}

/* ---- holding ------------------------------------------------------------------------------- */

tc_sym tc_operand_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    (void)symbols;
    if (n_params != 2 || params[0].kind != TC_PARAM_CALL || params[1].kind != TC_PARAM_OPERAND)
        return TC_NO_SYM;
    return params[0].name;
}

/* Written by hand, it may be anything; compared with what is never stated it would always differ.
 */
const char *tc_operand_undecidable(const struct tc_strtab *symbols, const struct tc_param *params,
                                   size_t n_params)
{
    const struct tc_path path = tc_path_read(symbols, params[1].name);
    const tc_sym value = params[1].to;

    (void)n_params;
    if (params[1].attr != TC_SYM_IS || is_flag(value) || value == TC_SYM_ZERO)
        return NULL;
    if (tc_strtab_text(symbols, value)[0] == '-' && is_dimension(&path))
        return NULL;
    return "it compares flags, \"zero\" and dimensions counted from the end; other numbers and texts "
           "are compared by facts, as APIArg/value";
}

enum tc_outcome tc_operand_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                 size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    const struct tc_param *p = &params[1];
    const tc_sym contrary = tc_statement_contrary(p->attr);

    (void)n_params;
    if (tc_outcome_has(outcome, n_outcome, TC_ATOM(symbols, p->name, p->attr, p->to)))
        return TC_HELD;
    bool is_broken =
        contrary == TC_NO_SYM
            ? says_value(symbols, p->name, outcome, n_outcome)
            : tc_outcome_has(outcome, n_outcome, TC_ATOM(symbols, p->name, contrary, p->to));
    return is_broken ? TC_BROKEN : TC_UNDECIDED;
}

bool tc_operand_bans(const struct tc_strtab *symbols, const struct tc_param *params,
                     size_t n_params, tc_sym field)
{
    const struct tc_path left = tc_path_read(symbols, params[1].name);

    (void)n_params;
    if (field == left.sym || field == params[1].to)
        return true;
    if (left.part == TC_PART_OF_MATRIX && tc_str_same(left.owner, tc_symbols_text(symbols, field)))
        return true;
    /* stage is made from the mode of the root; so are the modes of what is inside */
    return left.sym == TC_SYM_F_SELF_TRAINING &&
           (field == TC_SYM_F_STAGE || field == TC_SYM_F_OWNER_TRAINING || field == TC_SYM_F_IN ||
            field == TC_SYM_F_SELF_CLASS);
}

bool tc_operand_has_context(const struct tc_strtab *symbols, const struct tc_param *params,
                            tc_sym field)
{
    (void)symbols;
    (void)params;
    return field == TC_SYM_F_CTX_GRAD;
}
