/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claims.c - all that a form with a table of claims does, from its rows
 *
 * Five questions, each answered by a walk over the rows: what to propose for a key, which row
 * params stand for, the key of its examples, whether one holds, and what to say. Blanks are filled
 * from the key or the params. Tables are short and static; what a row means stands in claims.h.
 */
#include "relation/claims.h"

#include "invariant/describe.h"
#include "relation/form.h"
#include "replay/symbols.h"

/* What an invariant puts in place of the blanks. */
struct blanks {
    tc_sym call, kind, other;
};

/* NULL of a word that is none. */
static tc_sym *find_blank(struct blanks *blanks, tc_sym word)
{
    return word == TC_BLANK_CALL    ? &blanks->call
           : word == TC_BLANK_KIND  ? &blanks->kind
           : word == TC_BLANK_OTHER ? &blanks->other
                                    : NULL;
}

static bool is_blank(tc_sym word)
{
    return word <= TC_BLANK_CALL && word >= TC_BLANK_OTHER;
}

static tc_sym fill_word(tc_sym word, struct blanks blanks)
{
    const tc_sym *blank = find_blank(&blanks, word);

    return blank ? *blank : word;
}

static size_t count_words(const tc_sym words[TC_CLAIM_WORDS])
{
    size_t n = 0;

    while (n < TC_CLAIM_WORDS && words[n] != TC_SYM_EMPTY)
        n++;
    return n;
}

static bool has_other(const struct tc_claim *claim)
{
    return claim->held[count_words(claim->held) - 1] == TC_BLANK_OTHER;
}

static bool is_of_any_kind(const struct tc_claim *claim)
{
    return claim->key[count_words(claim->key) - 1] == TC_BLANK_KIND;
}

/* The atom of these words, which are at least one. */
static tc_sym fill(struct tc_strtab *symbols, const tc_sym words[TC_CLAIM_WORDS],
                   const struct blanks *blanks)
{
    tc_sym filled[TC_CLAIM_WORDS];
    size_t n = count_words(words);

    for (size_t i = 0; i < n; i++)
        filled[i] = fill_word(words[i], *blanks);
    return n == 1 ? filled[0] : tc_strtab_join(symbols, filled, n);
}

/* ---- proposing ----------------------------------------------------------------------------- */

/* Does the key fit, and what is in its blanks? */
static bool read_key(struct tc_strtab *symbols, const struct tc_claim *claim, tc_sym key,
                     struct blanks *blanks)
{
    size_t n = count_words(claim->key);
    tc_sym words[TC_CLAIM_WORDS] = {key};

    *blanks = (struct blanks){TC_NO_SYM, claim->kind, TC_NO_SYM};
    if (n > 1 && !tc_strtab_split(symbols, key, words, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        tc_sym *blank = find_blank(blanks, claim->key[i]);
        if (blank)
            *blank = words[i];
        else if (claim->key[i] != words[i])
            return false;
    }
    return claim->kind == TC_BLANK_KIND || blanks->kind == claim->kind;
}

static bool was_met(const struct tc_outcomes *outcomes, tc_sym atom)
{
    for (size_t i = 0; i < outcomes->n; i++)
        if (tc_outcome_has(outcomes->outcome[i], outcomes->n_outcome[i], atom))
            return true;
    return false;
}

static void propose_one(const struct tc_strtab *symbols, const struct tc_claim *claim,
                        const struct blanks *blanks, struct tc_hypotheses *out)
{
    struct tc_hypothesis h = {.support = claim->support, .min_examples = claim->min_examples};

    for (size_t i = 0; i < claim->n_roles; i++)
        h.params[h.n_params++] =
            tc_param_call(TC_SYM_ANY, tc_symbols_role(symbols, claim->roles[i]));
    for (size_t i = 0; i < count_words(claim->calls); i++)
        h.params[h.n_params++] = tc_param_call(fill_word(claim->calls[i], *blanks), TC_SYM_EMPTY);
    if (claim->attr != TC_SYM_EMPTY)
        h.params[h.n_params++] = tc_param_of(claim->of, blanks->kind, claim->attr, claim->to);
    tc_vec_push(&out->items, h);
}

/* The other call of which an atom says so; TC_NO_SYM if it says something else. */
static tc_sym other_in(struct tc_strtab *symbols, const struct tc_claim *claim, tc_sym atom)
{
    const size_t n = count_words(claim->held);
    tc_sym words[TC_CLAIM_WORDS];

    if (n == 1)
        return tc_strtab_split(symbols, atom, words, 2) ? TC_NO_SYM : atom;
    if (!tc_strtab_split(symbols, atom, words, n))
        return TC_NO_SYM;
    for (size_t i = 0; i + 1 < n; i++)
        if (words[i] != claim->held[i])
            return TC_NO_SYM;
    return words[n - 1];
}

static void propose_others(struct tc_strtab *symbols, const struct tc_claim *claim,
                           struct blanks blanks, const struct tc_outcomes *outcomes,
                           struct tc_hypotheses *out)
{
    struct tc_map seen = TC_MAP_INIT;

    for (size_t i = 0; i < outcomes->n; i++)
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++) {
            blanks.other = other_in(symbols, claim, outcomes->outcome[i][j]);
            if (blanks.other != TC_NO_SYM && tc_is_first(&seen, blanks.other))
                propose_one(symbols, claim, &blanks, out);
        }
    tc_map_release(&seen);
}

void tc_claims_propose(const struct tc_relation *relation, struct tc_strtab *symbols, tc_sym key,
                       const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    for (size_t i = 0; i < relation->n_claims; i++) {
        const struct tc_claim *claim = &relation->claims[i];
        struct blanks blanks;
        if (claim->support == TC_SUPPORT_RULE || !read_key(symbols, claim, key, &blanks))
            continue;
        if (has_other(claim))
            propose_others(symbols, claim, blanks, outcomes, out);
        else if (!claim->if_met || was_met(outcomes, fill(symbols, claim->held, &blanks)))
            propose_one(symbols, claim, &blanks, out);
    }
}

/* ---- judging ------------------------------------------------------------------------------- */

static bool have_roles(const struct tc_strtab *symbols, const struct tc_claim *claim,
                       const struct tc_param *params)
{
    for (size_t i = 0; i < claim->n_roles; i++)
        if (!tc_param_has_role(symbols, &params[i], claim->roles[i]))
            return false;
    return true;
}

static bool have_calls(const struct tc_claim *claim, const struct tc_param *params)
{
    for (size_t i = 0; i < count_words(claim->calls); i++)
        if (params[i].kind != TC_PARAM_CALL ||
            (!is_blank(claim->calls[i]) && params[i].name != claim->calls[i]))
            return false;
    return true;
}

/* The param that speaks of a variable; NULL where the claim has none. */
static const struct tc_param *variable_of(const struct tc_claim *claim,
                                          const struct tc_param *params)
{
    return claim->attr == TC_SYM_EMPTY ? NULL : &params[claim->n_roles + count_words(claim->calls)];
}

/* Do the params say this, of whatever kind of variable? */
static bool is_said(const struct tc_strtab *symbols, const struct tc_claim *claim,
                    const struct tc_param *params, size_t n_params)
{
    const struct tc_param *variable = variable_of(claim, params);
    const size_t n = claim->n_roles + count_words(claim->calls) + (variable != NULL);

    if (n_params != n || !have_roles(symbols, claim, params) ||
        !have_calls(claim, params + claim->n_roles))
        return false;
    return !variable || (variable->kind == claim->of && variable->attr == claim->attr &&
                         variable->to == claim->to);
}

const struct tc_claim *tc_claim_of(const struct tc_relation *relation,
                                   const struct tc_strtab *symbols, const struct tc_param *params,
                                   size_t n_params)
{
    const struct tc_claim *of_another = NULL;

    for (size_t i = 0; i < relation->n_claims; i++) {
        const struct tc_claim *claim = &relation->claims[i];
        if (!is_said(symbols, claim, params, n_params))
            continue;
        const struct tc_param *variable = variable_of(claim, params);
        if (!variable || claim->kind == TC_BLANK_KIND || variable->name == claim->kind)
            return claim;
        if (!of_another && is_of_any_kind(claim))
            of_another = claim;
    }
    return of_another;
}

static struct blanks blanks_of(const struct tc_claim *claim, const struct tc_param *params)
{
    const struct tc_param *variable = variable_of(claim, params);
    struct blanks blanks = {TC_NO_SYM, variable ? variable->name : TC_NO_SYM, TC_NO_SYM};

    for (size_t i = 0; i < count_words(claim->calls); i++) {
        tc_sym *blank = find_blank(&blanks, claim->calls[i]);
        if (blank)
            *blank = params[claim->n_roles + i].name;
    }
    return blanks;
}

tc_sym tc_claims_key(const struct tc_relation *relation, struct tc_strtab *symbols,
                     const struct tc_param *params, size_t n_params)
{
    const struct tc_claim *claim = tc_claim_of(relation, symbols, params, n_params);

    if (!claim)
        return TC_NO_SYM;
    const struct blanks blanks = blanks_of(claim, params);
    return fill(symbols, claim->key, &blanks);
}

enum tc_outcome tc_claims_holds(const struct tc_relation *relation, struct tc_strtab *symbols,
                                const struct tc_param *params, size_t n_params,
                                const tc_sym *outcome, size_t n_outcome)
{
    const struct tc_claim *claim = tc_claim_of(relation, symbols, params, n_params);
    const struct blanks blanks = blanks_of(claim, params);

    enum tc_excuse excuse = TC_EXCUSE_NONE;

    if (tc_outcome_has(outcome, n_outcome, fill(symbols, claim->held, &blanks)))
        return TC_HELD;
    if (claim->excuse && (excuse = claim->excuse(symbols, blanks.other, outcome, n_outcome)))
        return tc_excused_by(excuse);
    return claim->broken[0] == TC_SYM_EMPTY ||
                   tc_outcome_has(outcome, n_outcome, fill(symbols, claim->broken, &blanks))
               ? TC_BROKEN
               : TC_UNDECIDED;
}

/* ---- words --------------------------------------------------------------------------------- */

/* What a sentence may name; event and example NULL where nothing was seen. */
struct said {
    const struct tc_strtab *symbols;
    const struct tc_claim *claim;
    const struct tc_param *params;
    const struct tc_event *event;
    const struct tc_example *example;
};

/* What else stands where the other call is looked for: ", but A(), B() came", or nothing. */
static void list_others(const struct said *said, struct tc_strbuf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < said->example->n_outcome; i++) {
        if (tc_atom_first(said->symbols, said->example->outcome[i]) != TC_NO_SYM)
            continue;
        tc_strbuf_adds(out, n++ ? ", " : ", but ");
        tc_describe_call(said->symbols, said->example->outcome[i], out);
    }
    if (n)
        tc_strbuf_adds(out, " came");
}

static void say_place(const struct said *said, struct tc_strbuf *out)
{
    struct tc_place place;

    if (!said->example->place)
        tc_place_of(said->event, &place);
    tc_explain_place(said->symbols, said->example->place ? said->example->place : &place, out);
}

static void add_name(const struct said *said, char letter, struct tc_strbuf *out)
{
    const struct blanks blanks = blanks_of(said->claim, said->params);

    if (letter == 'c')
        tc_describe_call(said->symbols, blanks.call, out);
    else if (letter == 'o')
        tc_describe_call(said->symbols, blanks.other, out);
    else if (letter == 'l')
        list_others(said, out);
    else if (letter == 'k')
        tc_strbuf_adds(out, tc_strtab_text(said->symbols, blanks.kind));
    else if (letter == 'a')
        tc_strbuf_adds(out, tc_strtab_text(said->symbols, said->claim->attr));
    else if (letter == 'v')
        tc_strbuf_adds(out, tc_strtab_text(said->symbols, said->example->variable->name));
    else if (letter == 'm')
        tc_describe_call(said->symbols, said->example->member->descriptor, out);
    else if (letter == 'd')
        tc_strbuf_adds(out, tc_strtab_text(said->symbols, *(const tc_sym *)said->example->detail));
    else if (letter == 'b' && said->example->detail)
        tc_explain_place(said->symbols, said->example->detail, out);
    else if (letter == 'b')
        return;
    else if (letter == 'p')
        say_place(said, out);
    else if (letter == 'w')
        tc_explain_writer(said->symbols, said->event, said->example->variable, out);
    else
        tc_explain_receiver(said->event, out);
}

static void say_sentence(const struct said *said, const char *sentence, struct tc_strbuf *out)
{
    for (const char *p = sentence; *p; p++)
        if (*p == '%')
            add_name(said, *++p, out);
        else
            tc_strbuf_addc(out, *p);
}

void tc_claims_describe(const struct tc_relation *relation, const struct tc_strtab *symbols,
                        const struct tc_param *params, size_t n_params, struct tc_strbuf *out)
{
    const struct tc_claim *claim = tc_claim_of(relation, symbols, params, n_params);
    const struct said said = {symbols, claim, params, NULL, NULL};

    say_sentence(&said, claim->expected, out);
}

void tc_claims_explain(const struct tc_relation *relation, struct tc_strtab *symbols,
                       const struct tc_invariant *invariant, const struct tc_event *event,
                       const struct tc_example *example, struct tc_strbuf *out)
{
    const struct tc_claim *claim =
        tc_claim_of(relation, symbols, invariant->params, invariant->n_params);
    const struct said said = {symbols, claim, invariant->params, event, example};

    if (claim->seen)
        say_sentence(&said, claim->seen, out);
    else
        relation->explain(symbols, invariant, event, example, out);
}
