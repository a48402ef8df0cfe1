/* SPDX-License-Identifier: Apache-2.0 */
#include "relation/operand_form.h"

#include <string.h>

#include "base/banned.h"
#include "relation/form.h"
#include "replay/symbols.h"

bool tc_str_starts(struct tc_str text, const char *prefix)
{
    size_t n = strlen(prefix);

    return text.size >= n && !memcmp(text.text, prefix, n);
}

/* ---- proposing ----------------------------------------------------------------------------- */

static bool str_ends(struct tc_str text, const char *end)
{
    size_t n = strlen(end);

    return text.size >= n && !memcmp(text.text + text.size - n, end, n);
}

/* "args.dim", "args.dim.matrix": a dimension, counted from the end. */
static bool is_dimension(struct tc_str path)
{
    if (str_ends(path, TC_PART_MATRIX))
        path.size -= (uint32_t)strlen(TC_PART_MATRIX);
    if (!tc_str_starts(path, "args."))
        return false;
    return tc_operand_is_dimension((struct tc_str){path.text + 5, path.size - 5});
}

/* Does the outcome say what the operand is? */
static bool says_value(const struct tc_strtab *symbols, const char *left, const tc_sym *outcome,
                       size_t n)
{
    struct tc_statement s;

    for (size_t i = 0; i < n; i++)
        if (tc_statement_split(symbols, outcome[i], &s) && tc_str_is(s.left, left) &&
            tc_str_is(s.verb, "is"))
            return true;
    return false;
}

/* Is the argument at its default in every outcome that says so, or, with TC_NO_SYM, that says what
 * it is? Then it says nothing; if it is something else at times, the mode may explain that, in one
 * script. */
static bool is_default_wherever(struct tc_strtab *symbols, const struct tc_outcomes *outcomes,
                                struct tc_str path, tc_sym statement)
{
    const char *left = tc_strtab_text(symbols, tc_symbols_str(symbols, path));

    if (str_ends(path, TC_PART_MATRIX))
        path.size -= (uint32_t)strlen(TC_PART_MATRIX);
    tc_sym is_default = tc_symbols_join(symbols, "default is ", path);

    for (size_t i = 0; i < outcomes->n; i++) {
        const tc_sym *set = outcomes->outcome[i];
        size_t n = outcomes->n_outcome[i];
        bool is_meant = statement == TC_NO_SYM ? says_value(symbols, left, set, n)
                                               : tc_outcome_has(set, n, statement);
        if (is_meant && !tc_outcome_has(set, n, is_default))
            return false;
    }
    return true;
}

/* Almost any size is at least a stride or a count of one: a lower bound that no result ever met is
 * a coincidence. */
static bool is_ever_reached(struct tc_strtab *symbols, const struct tc_outcomes *outcomes,
                            tc_sym statement)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_statement s;
    bool found = false;

    if (!tc_statement_split(symbols, statement, &s))
        return false;
    tc_strbuf_addf(&text, "%.*s reaches %.*s", (int)s.left.size, s.left.text, (int)s.right.size,
                   s.right.text);
    tc_sym reaches = tc_strtab_intern(symbols, text.text, text.size);
    for (size_t i = 0; i < outcomes->n && !found; i++)
        found = tc_outcome_has(outcomes->outcome[i], outcomes->n_outcome[i], reaches);
    tc_strbuf_release(&text);
    return found;
}

/* "rare": calls that load or save state come once in a run; one has to be enough.
 * "users": the user's own code, whose operands have names and meanings of their own. */
static bool call_is(struct tc_strtab *symbols, const struct tc_outcomes *outcomes, const char *what)
{
    tc_sym said = tc_statement_intern(symbols, "call", "is", what);

    return outcomes->n && tc_outcome_has(outcomes->outcome[0], outcomes->n_outcome[0], said);
}

static bool is_about_argument(const struct tc_statement *s)
{
    return tc_str_starts(s->left, "args.") || tc_str_starts(s->right, "args.");
}

/* A switch that all pipelines happen to leave in one position: as likely as a coin. That a loss has
 * something to train is no switch. */
static bool is_coin(const struct tc_statement *s)
{
    return !tc_str_is(s->left, TC_OPERAND_SOME_GRADIENT) && tc_str_is(s->verb, "is") &&
           (tc_str_is(s->right, "true") || tc_str_is(s->right, "false"));
}

/* That two whole shapes agree is no coin that falls by chance. */
static bool is_shape_of_two(const struct tc_statement *s)
{
    return tc_str_is(s->verb, "equals") && str_ends(s->left, ".shape") &&
           str_ends(s->right, ".shape");
}

/* Flags and zeros that a script passes everywhere, and layers that never do anything, are what its
 * author wanted. */
static bool is_choice(const struct tc_statement *s)
{
    if (str_ends(s->left, ".content"))
        return true;
    return tc_str_starts(s->left, "args.") && tc_str_is(s->verb, "is") &&
           (tc_str_is(s->right, "true") || tc_str_is(s->right, "false") ||
            tc_str_is(s->right, "\"zero\""));
}

/* Of a root: where no module asks for it, eval() is often left out. */
static bool is_mode(const struct tc_statement *s)
{
    return tc_str_is(s->left, "self.training");
}

/* Whether gradients are enabled where no backward follows is each script's choice; that a step is
 * trained in training mode is said of windows. */
static bool is_training_mode(const struct tc_statement *s)
{
    return is_mode(s) && tc_str_is(s->right, "true");
}

/* A dimension that is counted from the end, but for the two of a matrix. */
static bool is_from_the_end(const struct tc_statement *s)
{
    return tc_str_is(s->verb, "is") && is_dimension(s->left) && tc_str_starts(s->right, "-") &&
           !str_ends(s->left, TC_PART_MATRIX);
}

static bool is_value(const struct tc_statement *s)
{
    return tc_str_starts(s->left, "args.") && tc_str_is(s->verb, "is");
}

/* What is known of a key: how its calls were met, and what is usual for the form. */
struct subject {
    struct tc_strtab *symbols;
    const struct tc_outcomes *outcomes;
    bool is_users, is_rare;
    enum tc_support usual;
};

/* The first that applies, from the one that says least. */
static enum tc_support support_of(const struct subject *x, const struct tc_statement *s, tc_sym sym)
{
    if ((x->is_users && is_about_argument(s)) || is_training_mode(s) ||
        (is_value(s) && is_default_wherever(x->symbols, x->outcomes, s->left, sym)))
        return TC_SUPPORT_OWN;
    if (is_from_the_end(s))
        return TC_SUPPORT_EVERY;
    if (is_mode(s) || (is_about_argument(s) && is_coin(s)))
        return TC_SUPPORT_COIN;
    return x->usual > TC_SUPPORT_USAGE && is_shape_of_two(s) ? TC_SUPPORT_USAGE : x->usual;
}

/* Left alone: a value that is a default wherever it was met, a bound that no result ever met. */
static bool is_idle(const struct subject *x, const struct tc_statement *s, tc_sym sym)
{
    if (is_value(s) && is_default_wherever(x->symbols, x->outcomes, s->left, TC_NO_SYM))
        return true;
    return tc_str_is(s->verb, "at_least") && !is_ever_reached(x->symbols, x->outcomes, sym);
}

static void propose_one(const struct subject *x, tc_sym key, const struct tc_statement *s,
                        tc_sym sym, struct tc_hypotheses *out)
{
    struct tc_hypothesis h = {.n_params = 2,
                              .support = support_of(x, s, sym),
                              .min_examples = x->is_rare ? 1 : 0,
                              .is_choice = is_choice(s)};

    h.params[0] = tc_param_call(key, TC_SYM_EMPTY);
    h.params[1] =
        tc_param_of(TC_PARAM_OPERAND, tc_symbols_str(x->symbols, s->left),
                    tc_symbols_str(x->symbols, s->verb), tc_symbols_str(x->symbols, s->right));
    tc_vec_push(&out->items, h);
}

void tc_operand_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                        tc_statement_filter *filter, enum tc_support usual,
                        struct tc_hypotheses *out)
{
    const struct subject x = {symbols, outcomes, call_is(symbols, outcomes, "users"),
                              call_is(symbols, outcomes, "rare"), usual};
    struct tc_map seen = TC_MAP_INIT;

    for (size_t i = 0; i < outcomes->n; i++) {
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++) {
            tc_sym sym = outcomes->outcome[i][j];
            struct tc_statement s;
            if (tc_is_first(&seen, sym) && tc_statement_split(symbols, sym, &s) && filter(&s) &&
                !is_idle(&x, &s, sym))
                propose_one(&x, key, &s, sym, out);
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
    const char *value = tc_strtab_text(symbols, params[1].to);

    (void)n_params;
    if (strcmp(tc_strtab_text(symbols, params[1].attr), "is") != 0 || !strcmp(value, "true") ||
        !strcmp(value, "false") || !strcmp(value, "\"zero\""))
        return NULL;
    if (value[0] == '-' && is_dimension(tc_symbols_text(symbols, params[1].name)))
        return NULL;
    return "it compares flags, \"zero\" and dimensions counted from the end; other numbers and texts "
           "are compared by APIArg/setting";
}

enum tc_outcome tc_operand_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                 size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    const char *left = tc_strtab_text(symbols, params[1].name);
    const char *verb = tc_strtab_text(symbols, params[1].attr);
    const char *right = tc_strtab_text(symbols, params[1].to);
    const char *other = tc_statement_contrary(verb);
    tc_sym said = tc_statement_intern(symbols, left, verb, right);

    (void)n_params;
    if (tc_outcome_has(outcome, n_outcome, said))
        return TC_HELD;
    if (!other)
        return says_value(symbols, left, outcome, n_outcome) ? TC_BROKEN : TC_UNDECIDED;
    said = tc_statement_intern(symbols, left, other, right);
    return tc_outcome_has(outcome, n_outcome, said) ? TC_BROKEN : TC_UNDECIDED;
}

bool tc_operand_bans(const struct tc_strtab *symbols, const struct tc_param *params,
                     size_t n_params, tc_sym field)
{
    const char *left = tc_strtab_text(symbols, params[1].name);
    const char *right = tc_strtab_text(symbols, params[1].to);
    const char *name = tc_strtab_text(symbols, field);

    (void)n_params;
    if (!strcmp(name, left) || !strcmp(name, right))
        return true;
    if (!strncmp(name, left, strlen(name)) && !strcmp(left + strlen(name), TC_PART_MATRIX))
        return true;
    /* stage is made from the mode of the root; so are the modes of what is inside */
    return !strcmp(left, "self.training") &&
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
