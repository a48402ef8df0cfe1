#include "relation/operand_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "invariant/describe.h"
#include "relation/form.h"
#include "replay/symbols.h"

bool tc_str_starts(struct tc_str text, const char *prefix)
{
    size_t n = strlen(prefix);

    return text.size >= n && !memcmp(text.text, prefix, n);
}

/* ---- proposing ----------------------------------------------------------------------------- */

/* An argument that is at its default wherever it was given says nothing. */
static bool is_always_default(struct tc_strtab *symbols, const struct tc_outcomes *outcomes,
                              struct tc_str path, tc_sym statement)
{
    tc_sym is_default = tc_symbols_join(symbols, "default is ", path);

    for (size_t i = 0; i < outcomes->n; i++) {
        const tc_sym *set = outcomes->outcome[i];
        size_t n = outcomes->n_outcome[i];
        if (tc_outcome_has(set, n, statement) && !tc_outcome_has(set, n, is_default))
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

static bool str_ends(struct tc_str text, const char *end)
{
    size_t n = strlen(end);

    return text.size >= n && !memcmp(text.text + text.size - n, end, n);
}

/* That two whole shapes agree is no coin that falls by chance. */
static bool is_shape_of_two(const struct tc_statement *s)
{
    return tc_str_is(s->verb, "equals") && str_ends(s->left, ".shape") &&
           str_ends(s->right, ".shape");
}

void tc_operand_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                        tc_statement_filter *filter, unsigned min_pipelines,
                        struct tc_hypotheses *out)
{
    const unsigned min_support = call_is(symbols, outcomes, "rare") ? 1 : 0;
    const bool is_users = call_is(symbols, outcomes, "users");
    struct tc_map seen = TC_MAP_INIT;

    for (size_t i = 0; i < outcomes->n; i++) {
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++) {
            tc_sym sym = outcomes->outcome[i][j];
            struct tc_statement s;
            if (!tc_is_first(&seen, sym) || !tc_statement_split(symbols, sym, &s) || !filter(&s))
                continue;
            if (tc_str_starts(s.left, "args.") && tc_str_is(s.verb, "is") &&
                is_always_default(symbols, outcomes, s.left, sym))
                continue;
            if (tc_str_is(s.verb, "at_least") && !is_ever_reached(symbols, outcomes, sym))
                continue;
            struct tc_hypothesis h = {
                .n_params = 2, .min_pipelines = min_pipelines, .min_support = min_support};
            if (h.min_pipelines > 4 && is_shape_of_two(&s))
                h.min_pipelines = 4;
            if (is_users && is_about_argument(&s))
                h.min_pipelines = TC_ONE_PIPELINE_ONLY;
            h.params[0] = tc_param_call(key, TC_SYM_EMPTY);
            h.params[1] =
                tc_param_of(TC_PARAM_OPERAND, tc_symbols_str(symbols, s.left),
                            tc_symbols_str(symbols, s.verb), tc_symbols_str(symbols, s.right));
            tc_vec_push(&out->items, h);
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

/* The verb that says the contrary; NULL for "is", which any other value contradicts. */
static const char *contrary(const char *verb)
{
    static const char *const pairs[][2] = {
        {"equals",   "differs_from"},
        {"at_most",  "exceeds"     },
        {"at_least", "below"       }
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        if (!strcmp(verb, pairs[i][0]))
            return pairs[i][1];
    return NULL;
}

static bool says_other_value(const struct tc_strtab *symbols, const char *left,
                             const tc_sym *outcome, size_t n)
{
    struct tc_statement s;

    for (size_t i = 0; i < n; i++)
        if (tc_statement_split(symbols, outcome[i], &s) && tc_str_is(s.left, left) &&
            tc_str_is(s.verb, "is"))
            return true;
    return false;
}

enum tc_outcome tc_operand_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                 size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    const char *left = tc_strtab_text(symbols, params[1].name);
    const char *verb = tc_strtab_text(symbols, params[1].attr);
    const char *right = tc_strtab_text(symbols, params[1].to);
    const char *other = contrary(verb);
    tc_sym said = tc_statement_intern(symbols, left, verb, right);

    (void)n_params;
    if (tc_outcome_has(outcome, n_outcome, said))
        return TC_HELD;
    if (!other)
        return says_other_value(symbols, left, outcome, n_outcome) ? TC_BROKEN : TC_UNDECIDED;
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
    /* stage is made from the mode of the root; so are the modes of what is inside */
    return !strcmp(left, "self.training") &&
           (field == TC_SYM_F_STAGE || field == TC_SYM_F_OWNER_TRAINING || field == TC_SYM_F_IN ||
            field == TC_SYM_F_SELF_CLASS);
}

/* ---- fewer --------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && !strcmp(text + n - m, end);
}

/* Does a statement about `strong` of two tensors imply the same about `weak`? */
static bool is_stronger(const char *strong, const char *weak)
{
    if (!strcmp(strong, ".content"))
        return strcmp(weak, ".content") != 0;
    return !strcmp(strong, ".shape") && (!strcmp(weak, ".shape[0]") || !strcmp(weak, ".shape[-1]"));
}

static const char *part_of(const char *path)
{
    static const char *const parts[] = {".content", ".shape", ".shape[0]", ".shape[-1]", ".dtype"};

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (ends_with(path, parts[i]))
            return parts[i];
    return NULL;
}

static bool is_same_owner(const char *a, const char *b)
{
    size_t n = strlen(a) - strlen(part_of(a)), m = strlen(b) - strlen(part_of(b));

    return n == m && !memcmp(a, b, n);
}

static bool implies(const struct tc_strtab *symbols, const struct tc_invariant *x,
                    const struct tc_invariant *y)
{
    const char *xl = tc_strtab_text(symbols, x->params[1].name);
    const char *xr = tc_strtab_text(symbols, x->params[1].to);
    const char *yl = tc_strtab_text(symbols, y->params[1].name);
    const char *yr = tc_strtab_text(symbols, y->params[1].to);

    if (x->params[0].name != y->params[0].name || !part_of(xl) || !part_of(xr) || !part_of(yl) ||
        !part_of(yr))
        return false;
    if (x->n_when && !tc_invariant_same_when(x, y))
        return false;
    return is_same_owner(xl, yl) && is_same_owner(xr, yr) && is_stronger(part_of(xl), part_of(yl));
}

/* Equal dtypes form classes: of a circle of equalities the last is implied by the others. */
static bool closes_circle(const struct tc_invariant_set *set, size_t last)
{
    const struct tc_invariant *x = set->items.items[last];
    struct tc_map reached = TC_MAP_INIT;
    uint64_t unused;
    bool grew =
        x->n_when == 0 && ends_with(tc_strtab_text(set->symbols, x->params[1].name), ".dtype");

    tc_map_put(&reached, x->params[1].name, 1);
    while (grew) {
        grew = false;
        for (size_t i = 0; i < last; i++) {
            const struct tc_invariant *y = set->items.items[i];
            if (y->params[0].name != x->params[0].name || y->n_when ||
                y->params[1].attr != x->params[1].attr)
                continue;
            bool a = tc_map_get(&reached, y->params[1].name, &unused);
            bool b = tc_map_get(&reached, y->params[1].to, &unused);
            if (a != b) {
                tc_map_put(&reached, a ? y->params[1].to : y->params[1].name, 1);
                grew = true;
            }
        }
    }
    bool closed = tc_map_get(&reached, x->params[1].to, &unused);
    tc_map_release(&reached);
    return closed;
}

/* Is every call of this API made by another API of the library? Then what holds between its
 * operands says nothing that a statement about the outer call does not. */
static void note_outside(void *context, const struct tc_pair *pairs, size_t n)
{
    bool *is_outside = context;

    for (size_t i = 0; i < n; i++)
        if (pairs[i].field == TC_SYM_F_IN_ROLE)
            *is_outside |= pairs[i].value == TC_SYM_TOP || pairs[i].value == TC_SYM_USER;
}

static bool is_inner(const struct tc_rows *rows, const struct tc_invariant *x)
{
    bool is_outside = false;

    rows->each(rows, x->params[0].name, note_outside, &is_outside);
    return !is_outside;
}

/* Constants of inner calls stay: they are how a mode shows. */
static bool is_constant(const struct tc_strtab *symbols, const struct tc_invariant *x)
{
    return !strcmp(tc_strtab_text(symbols, x->params[1].attr), "is") &&
           strcmp(tc_strtab_text(symbols, x->params[1].to), "\"finite\"") != 0;
}

/* Between an operand and the mode around it, or the contents of two tensors: what the user's bugs
 * break. */
static bool is_about_mode(const struct tc_strtab *symbols, const struct tc_invariant *x)
{
    const char *right = tc_strtab_text(symbols, x->params[1].to);

    return !strcmp(right, "owner.training") || !strcmp(right, "ctx.autocast");
}

static bool is_implied(const struct tc_rows *rows, const struct tc_invariant_set *set, size_t i)
{
    const struct tc_invariant *x = set->items.items[i];

    if (!is_constant(rows->symbols, x) && !is_about_mode(rows->symbols, x) && is_inner(rows, x))
        return true;
    for (size_t j = 0; j < set->items.n; j++)
        if (j != i && implies(set->symbols, set->items.items[j], x))
            return true;
    return closes_circle(set, i);
}

void tc_operand_condense(const struct tc_rows *rows, struct tc_invariant_set *set)
{
    bool *drop = tc_calloc(set->items.n + 1, sizeof(*drop));

    tc_invariant_set_sort(set);
    for (size_t i = 0; i < set->items.n; i++)
        drop[i] = is_implied(rows, set, i);
    tc_invariant_set_drop(set, drop);
    tc_free(drop);
}

/* ---- words --------------------------------------------------------------------------------- */

/* "args.input.dtype" is "dtype of input", "value.shape[1]" is "shape[1] of its result". */
static void describe_path(const char *path, struct tc_strbuf *out)
{
    const char *part = part_of(path);
    size_t n = part ? strlen(path) - strlen(part) : strlen(path);

    if (!strncmp(path, "value.shape[", strlen("value.shape["))) {
        tc_strbuf_addf(out, "%s of the result", path + strlen("value."));
        return;
    }
    if (!strcmp(path, "ctx.autocast")) {
        tc_strbuf_adds(out, "the dtype of autocast");
        return;
    }
    if (!strcmp(path, "self")) {
        tc_strbuf_adds(out, "the receiver");
        return;
    }
    if (!strcmp(path, "owner.training")) {
        tc_strbuf_adds(out, "the mode of the module it runs in");
        return;
    }
    if (part)
        tc_strbuf_addf(out, "%s of ", part + 1);
    if (n == strlen("value") && !strncmp(path, "value", n))
        tc_strbuf_adds(out, "the result");
    else if (!strncmp(path, "args.", 5))
        tc_strbuf_add(out, path + 5, n - 5);
    else
        tc_strbuf_add(out, path, n);
}

static void describe_value(const char *value, struct tc_strbuf *out)
{
    size_t n = strlen(value);

    if (n > 2 && value[0] == '"')
        tc_strbuf_add(out, value + 1, n - 2);
    else
        tc_strbuf_adds(out, value);
}

/* "len(value.missing_keys) is zero" is "missing_keys of the result is empty". */
static void describe_length(const char *path, const char *value, struct tc_strbuf *out)
{
    const char *member = path + strlen("len(value");

    if (*member == '.')
        tc_strbuf_addf(out, "%.*s of ", (int)strlen(member) - 2, member + 1);
    tc_strbuf_addf(out, "the result is %s", strcmp(value, "\"zero\"") ? "not empty" : "empty");
}

void tc_operand_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                         size_t n_params, struct tc_strbuf *out)
{
    const char *left = tc_strtab_text(symbols, params[1].name);
    const char *verb = tc_strtab_text(symbols, params[1].attr);
    const char *right = tc_strtab_text(symbols, params[1].to);

    (void)n_params;
    tc_strbuf_adds(out, "in ");
    tc_describe_call(symbols, params[0].name, out);
    tc_strbuf_adds(out, ", ");
    if (tc_str_starts((struct tc_str){left, (uint32_t)strlen(left)}, "len(value")) {
        describe_length(left, right, out);
        return;
    }
    describe_path(left, out);
    if (!strcmp(verb, "is")) {
        tc_strbuf_adds(out, " is ");
        describe_value(right, out);
        return;
    }
    tc_strbuf_adds(out, !strcmp(verb, "equals")    ? " equals "
                        : !strcmp(verb, "at_most") ? " is at most "
                                                   : " is at least ");
    describe_path(right, out);
}

/* The value of a path in the call, as it came. */
static const struct tc_value *find(const struct tc_event *event, const char *path)
{
    const struct tc_call *call = event->call;
    char name[64];
    size_t n;

    if (!strncmp(path, "self.", 5))
        return tc_value_get(tc_value_get(call->self, "attrs"), path + 5);
    if (!strncmp(path, "value", 5))
        return call->end->value;
    if (strncmp(path, "args.", 5))
        return NULL;
    n = strcspn(path + 5, ".");
    snprintf(name, sizeof(name), "%.*s", (int)n, path + 5);
    return tc_value_get(call->args, name);
}

static void print_tensor(const struct tc_value *v, struct tc_strbuf *out)
{
    struct tc_str dtype = tc_value_str(tc_value_get(v, "dtype"));
    const struct tc_value *shape = tc_value_get(v, "shape");

    tc_strbuf_addf(out, "%.*s[", (int)dtype.size, dtype.text ? dtype.text : "");
    for (uint32_t i = 0; shape && shape->kind == TC_VALUE_ARRAY && i < shape->n; i++)
        tc_strbuf_addf(out, "%s%lld", i ? "," : "", (long long)tc_value_int(&shape->items[i], 0));
    tc_strbuf_addc(out, ']');
}

static void explain_path(const struct tc_event *event, const char *path, struct tc_strbuf *out)
{
    const struct tc_value *v = find(event, path);

    tc_strbuf_addf(out, "%s", path);
    if (!v)
        return;
    if (tc_value_get(v, "tensor")) {
        tc_strbuf_adds(out, " (");
        print_tensor(v, out);
        tc_strbuf_addc(out, ')');
    } else if (v->kind == TC_VALUE_BOOL) {
        tc_strbuf_addf(out, " = %s", v->boolean ? "true" : "false");
    } else if (v->kind == TC_VALUE_INT) {
        tc_strbuf_addf(out, " = %lld", (long long)v->integer);
    } else if (v->kind == TC_VALUE_FLOAT) {
        tc_strbuf_addf(out, " = %g", v->number);
    }
}

void tc_operand_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                        const struct tc_event *event, const struct tc_example *example,
                        struct tc_strbuf *out)
{
    const struct tc_param *p = &invariant->params[1];
    const char *verb = tc_strtab_text(symbols, p->attr);
    const char *other = contrary(verb);

    (void)example;
    tc_describe_call(symbols, invariant->params[0].name, out);
    tc_strbuf_adds(out, ": ");
    explain_path(event, tc_strtab_text(symbols, p->name), out);
    if (!other) {
        if (!strcmp(tc_strtab_text(symbols, p->to), "\"finite\""))
            tc_strbuf_adds(out, " holds a NaN or an infinity");
        return;
    }
    tc_strbuf_adds(out, !strcmp(other, "differs_from") ? " differs from "
                        : !strcmp(other, "exceeds")    ? " exceeds "
                                                       : " is below ");
    explain_path(event, tc_strtab_text(symbols, p->to), out);
}
