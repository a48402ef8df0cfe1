/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interest.c - APIs and roles that invariants speak of, as two sets of names and a few flags
 *
 * Each descriptor, clause, form and fact adds what it cannot be judged without, and what would
 * excuse it: an excuse that is not traced would be an accusation. The same sets are read back from
 * a trace's selection and compared, so collecting and checking agree by construction.
 */
#include "relation/interest.h"

#include <string.h>

#include "base/hash.h"
#include "invariant/situation_field.h"
#include "relation/relation.h"
#include "replay/setting.h"
#include "replay/symbols.h"

void tc_interest_init(struct tc_interest *interest)
{
    *interest = (struct tc_interest){.apis = tc_strtab_new(), .roles = tc_strtab_new()};
}

void tc_interest_release(struct tc_interest *interest)
{
    tc_strtab_free(interest->apis);
    tc_strtab_free(interest->roles);
    tc_strtab_free(interest->left_out);
    interest->apis = interest->roles = interest->left_out = NULL;
}

void tc_interest_add_api(struct tc_interest *interest, const char *fn)
{
    tc_strtab_intern_text(interest->apis, fn);
}

/* "root.forward[train,grad]" and the like are phase calls and need no selection. */
static void add_descriptor(struct tc_interest *interest, const char *name)
{
    if (strncmp(name, "root.forward", strlen("root.forward")))
        tc_interest_add_api(interest, name);
}

/* A precondition on the enclosing call needs that call; one on what a run uses, what libraries call
 * of it. */
static void add_clause(struct tc_interest *interest, const struct tc_strtab *symbols,
                       const struct tc_clause *clause)
{
    const char *value = tc_strtab_text(symbols, clause->value);
    size_t n = strlen(value);

    if (clause->field == TC_SYM_F_IN && n > 2 && value[0] == '"') {
        struct tc_strbuf name = TC_STRBUF_INIT;
        tc_strbuf_add(&name, value + 1, n - 2);
        add_descriptor(interest, name.text);
        tc_strbuf_release(&name);
    }
    if (tc_field_is_use(tc_strtab_text(symbols, clause->field)))
        tc_strtab_intern_text(interest->roles, tc_role_text(TC_ROLE_LIBRARY));
    if (!strncmp(tc_strtab_text(symbols, clause->field), "v.", 2) ||
        clause->field == TC_SYM_F_SELF_GRADS || clause->field == TC_SYM_F_SELF_FROZEN)
        interest->variables = true;
}

/* What excuses a violation must be in the trace, or a selective one would accuse where a full one
 * does not; and so must what decides about it. */
static void add_form(struct tc_interest *interest, const struct tc_strtab *symbols,
                     const struct tc_invariant *invariant)
{
    const struct tc_relation *relation =
        tc_relation_find(tc_strtab_text(symbols, invariant->relation));

    interest->content |= relation && relation->needs_content;
    if (!relation || (relation->is_excused && !relation->is_excused(invariant->params)))
        return;
    for (unsigned role = 0; role < TC_N_ROLES; role++)
        if (relation->excused_by & 1u << role)
            tc_strtab_intern_text(interest->roles, tc_role_text((enum tc_role)role));
}

/* A call that no run learned from made can be of any role. */
static void add_every_call(struct tc_interest *interest, bool with_operators)
{
    for (unsigned role = 0; role < TC_N_ROLES; role++)
        if (with_operators || !tc_role_has((enum tc_role)role, TC_TRAIT_CLOSE))
            tc_strtab_intern_text(interest->roles, tc_role_text((enum tc_role)role));
}

/* Each name in a value, which is JSON: of one call or of several. */
static void add_quoted(struct tc_interest *interest, const char *value)
{
    struct tc_strbuf name = TC_STRBUF_INIT;
    const char *end;

    for (; (value = strchr(value, '"')) && (end = strchr(value + 1, '"')); value = end + 1) {
        tc_strbuf_reset(&name);
        tc_strbuf_add(&name, value + 1, (size_t)(end - value - 1));
        if (strchr(name.text, '.'))
            add_descriptor(interest, name.text);
    }
    tc_strbuf_release(&name);
}

static bool tells_next(const struct tc_fact *fact)
{
    return fact->attribute == TC_ATTRIBUTE_NEXT || fact->attribute == TC_ATTRIBUTE_NEXT_FIRST;
}

/* Calls by name, those around them and those that operands come from; variables. */
static void add_fact(struct tc_interest *interest, const struct tc_strtab *symbols,
                     const struct tc_fact *fact)
{
    static const enum tc_fact_field names[] = {TC_FACT_FN, TC_FACT_IN, TC_FACT_BY};
    const char *value = tc_strtab_text(symbols, fact->value);

    interest->variables |= fact->subject.kind >= TC_SUBJECT_CHANGES;
    /* A parameter group and a scaler are known by their names alone. */
    interest->settings |= fact->subject.kind == TC_SUBJECT_VARIABLE;
    if (fact->subject.kind == TC_SUBJECT_VARIABLE &&
        fact->subject.fields[TC_FACT_STAGE] != TC_NO_SYM) /* as the first step finds them */
        tc_strtab_intern_text(interest->roles, "step");
    interest->content |= fact->attribute >= TC_ATTRIBUTE_CONTENT;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const tc_sym sym = fact->subject.fields[names[i]];
        const char *name = sym == TC_NO_SYM ? "" : tc_strtab_text(symbols, sym);
        if (strchr(name, '.')) /* neither "outside" nor "step" is a call */
            add_descriptor(interest, name);
    }
    if (fact->attribute == TC_ATTRIBUTE_SOURCE || tells_next(fact))
        add_quoted(interest, value);
}

/* Can any call break it, also one of an API that it does not name? What uses a module is whatever
 * is given its variables. */
static bool needs_every_call(const struct tc_fact *fact)
{
    return tells_next(fact) || fact->subject.kind == TC_SUBJECT_USE;
}

void tc_interest_add(struct tc_interest *interest, const struct tc_strtab *symbols,
                     const struct tc_invariant *invariant)
{
    for (size_t i = 0; i < invariant->n_params; i++) {
        const struct tc_param *param = &invariant->params[i];
        if (param->kind == TC_PARAM_FACT) {
            add_fact(interest, symbols, param->fact);
            if (needs_every_call(param->fact))
                add_every_call(interest, invariant->needs & TC_NEED_BIT(TC_NEED_OPERATORS));
        }
        interest->variables |= param->name == TC_SYM_F_SELF_REQUIRES_GRAD;
        if (param->kind == TC_PARAM_OPERAND || param->kind == TC_PARAM_FACT)
            continue;
        if (param->name == TC_SYM_ANY)
            tc_strtab_intern_text(interest->roles, tc_strtab_text(symbols, param->role));
        else if (param->kind == TC_PARAM_CALL)
            add_descriptor(interest, tc_strtab_text(symbols, param->name));
        else if (tc_setting_is_kind(tc_symbols_text(symbols, param->name)))
            interest->settings = true;
        else
            interest->variables = true;
        interest->owners |= param->attr == TC_SYM_OWNED;
        interest->content |= param->name == TC_SYM_BATCH;
        if (param->name == TC_SYM_SAMPLER)
            tc_strtab_intern_text(interest->roles, tc_role_text(TC_ROLE_LIBRARY));
        if (param->attr == TC_SYM_KEPT) /* what loads write is meant */
            tc_strtab_intern_text(interest->roles, tc_role_text(TC_ROLE_LOAD));
    }
    add_form(interest, symbols, invariant);
    for (size_t i = 0; i < invariant->n_when; i++)
        add_clause(interest, symbols, &invariant->when[i]);
    interest->content |= (invariant->needs & TC_NEED_BIT(TC_NEED_CONTENT)) != 0;
    interest->full_content |= (invariant->needs & TC_NEED_BIT(TC_NEED_CONTENT_FULL)) != 0;
    interest->digest = tc_hash64(invariant->id, strlen(invariant->id), interest->digest);
}

static void add_names(struct tc_strtab *names, const struct tc_value *array)
{
    if (!array || array->kind != TC_VALUE_ARRAY)
        return;
    for (uint32_t i = 0; i < array->n; i++) {
        struct tc_str name = tc_value_str(&array->items[i]);
        if (name.text)
            tc_strtab_intern(names, name.text, name.size);
    }
}

void tc_interest_add_selection(struct tc_interest *interest, const struct tc_value *selection)
{
    add_names(interest->apis, tc_value_get(selection, "apis"));
    add_names(interest->roles, tc_value_get(selection, "roles"));
    interest->variables |= tc_value_is_true(tc_value_get(selection, "variables"));
    interest->settings |= tc_value_is_true(tc_value_get(selection, "settings"));
    interest->content |= tc_value_is_true(tc_value_get(selection, "content"));
}

/* The first of needed that is not in traced. */
static bool lacks_name(const struct tc_strtab *traced, const struct tc_strtab *needed,
                       const char *kind, struct tc_strbuf *what)
{
    for (tc_sym i = 0; i < tc_strtab_count(needed); i++) {
        if (tc_strtab_find(traced, tc_strtab_text(needed, i), tc_strtab_size(needed, i)) !=
            TC_NO_SYM)
            continue;
        tc_strbuf_addf(what, "%s%s", kind, tc_strtab_text(needed, i));
        return true;
    }
    return false;
}

bool tc_interest_is_lacking(const struct tc_interest *traced, const struct tc_interest *needed,
                            struct tc_strbuf *what)
{
    if (lacks_name(traced->apis, needed->apis, "", what) ||
        lacks_name(traced->roles, needed->roles, "every API of role ", what))
        return true;
    if (needed->variables && !traced->variables) {
        tc_strbuf_adds(what, "parameters and buffers");
        return true;
    }
    if (needed->content && !traced->content) {
        tc_strbuf_adds(what, "the content of tensors");
        return true;
    }
    if (needed->settings && !traced->settings) {
        tc_strbuf_adds(what, "settings of optimizers and scalers");
        return true;
    }
    return false;
}

bool tc_interest_is_in(const struct tc_interest *needed, const struct tc_strtab *names,
                       struct tc_strbuf *what)
{
    for (tc_sym i = 0; names && i < tc_strtab_count(names); i++) {
        if (tc_strtab_find(needed->apis, tc_strtab_text(names, i), tc_strtab_size(names, i)) ==
            TC_NO_SYM)
            continue;
        tc_strbuf_adds(what, tc_strtab_text(names, i));
        return true;
    }
    return false;
}

/* A lean set says itself what it does without. */
static enum tc_status read_left_out(struct tc_interest *interest,
                                    const struct tc_invariant_set *set, struct tc_error *err)
{
    const struct tc_strtab *names;
    enum tc_status status = tc_invariant_set_left_out(set, &names, err);

    if (status || !names)
        return status;
    interest->left_out = tc_strtab_new();
    tc_strtab_add_all(interest->left_out, names);
    return TC_OK;
}

enum tc_status tc_interest_read(const char *const *paths, size_t n_paths,
                                struct tc_interest *interest, struct tc_error *err)
{
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_invariant_set set;
    enum tc_status status = TC_OK;

    tc_invariant_set_init(&set, symbols);
    for (size_t i = 0; i < n_paths && !status; i++)
        status = tc_invariant_set_read(&set, paths[i], err);
    for (size_t i = 0; i < set.items.n && !status; i++)
        if (set.items.items[i]->foreign)
            status = tc_error_set(err, TC_E_FORMAT,
                                  "%s: invariants of the Python tool are judged on its own traces "
                                  "and select nothing to trace",
                                  set.items.items[i]->id);
        else if (!set.items.items[i]->unchecked)
            tc_interest_add(interest, symbols, set.items.items[i]);
    if (!status)
        status = read_left_out(interest, &set, err);
    tc_invariant_set_release(&set);
    tc_strtab_free(symbols);
    return status;
}
