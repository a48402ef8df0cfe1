/*
 * operand_condense.c - fewer statements: those that a stronger one implies are left out
 */
#include "relation/operand_form.h"

#include <string.h>

#include "base/banned.h"
#include "replay/symbols.h"

/* Does a statement about `strong` of two tensors imply the same about `weak`? */
static bool is_stronger(const char *strong, const char *weak)
{
    if (!strcmp(strong, ".content"))
        return strcmp(weak, ".content") != 0;
    return !strcmp(strong, ".shape") && (!strcmp(weak, ".shape[0]") || !strcmp(weak, ".shape[-1]"));
}

static bool is_same_owner(const char *a, const char *b)
{
    size_t n = strlen(a) - strlen(tc_statement_part(a)),
           m = strlen(b) - strlen(tc_statement_part(b));

    return n == m && !memcmp(a, b, n);
}

static bool implies(const struct tc_strtab *symbols, const struct tc_invariant *x,
                    const struct tc_invariant *y)
{
    const char *xl = tc_strtab_text(symbols, x->params[1].name);
    const char *xr = tc_strtab_text(symbols, x->params[1].to);
    const char *yl = tc_strtab_text(symbols, y->params[1].name);
    const char *yr = tc_strtab_text(symbols, y->params[1].to);

    if (x->params[0].name != y->params[0].name || !tc_statement_part(xl) ||
        !tc_statement_part(xr) || !tc_statement_part(yl) || !tc_statement_part(yr))
        return false;
    if (x->n_when && !tc_invariant_same_when(x, y))
        return false;
    return is_same_owner(xl, yl) && is_same_owner(xr, yr) &&
           is_stronger(tc_statement_part(xl), tc_statement_part(yl));
}

static bool is_dtype(const char *path)
{
    const char *part = tc_statement_part(path);

    return part && !strcmp(part, ".dtype");
}

/* Equal dtypes form classes: of a circle of equalities the last is implied by the others. */
static bool closes_circle(const struct tc_invariant_set *set, size_t last)
{
    const struct tc_invariant *x = set->items.items[last];
    struct tc_map reached = TC_MAP_INIT;
    uint64_t unused;
    bool grew = x->n_when == 0 && is_dtype(tc_strtab_text(set->symbols, x->params[1].name));

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
