/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.c - the sentences about facts, by attribute and situation
 *
 * A row has what is expected, what was seen and what to look at first. Rows of an attribute stand
 * together, special situations before the usual one: of each of the three the first row counts that
 * fits and has it. Letters stand for what a sentence names; phrase.c has the words for these.
 */
#include "fact/words.h"

#include <stddef.h>
#include <string.h>

#include "fact/phrase.h"
#include "fact/phrase_list.h"

/* What a sentence is about; where nothing was seen, value is what is claimed. */
struct said {
    const struct tc_fact *fact;
    const struct tc_strtab *symbols;
    tc_sym value, at;
    struct tc_strbuf *out;
};

static const char *value_of(const struct said *s)
{
    return tc_strtab_text(s->symbols, s->value);
}

static const char *claim_of(const struct said *s)
{
    return tc_strtab_text(s->symbols, s->fact->value);
}

/* ---- situations ----------------------------------------------------------------------------- */

static bool is_value_told(const char *value)
{
    return strcmp(value, "false") && strcmp(value, "null") && strcmp(value, "\"\"");
}

static bool yes(const struct said *s)
{
    return is_value_told(value_of(s));
}

static bool none(const struct said *s)
{
    return !strcmp(value_of(s), "0");
}

static bool new (const struct said *s)
{
    return !strcmp(claim_of(s), "0");
}

/* Of a module: in which mode it is. */
static bool mode(const struct said *s)
{
    const char *path = s->fact->path == TC_NO_SYM ? "" : tc_strtab_text(s->symbols, s->fact->path);

    return !strcmp(path,
                   s->fact->subject.kind == TC_SUBJECT_VARIABLE ? "training" : "self.training");
}

static bool is_called(const struct said *s, const char *name)
{
    const tc_sym fn = s->fact->subject.fields[TC_FACT_FN];

    return fn != TC_NO_SYM && !strcmp(tc_strtab_text(s->symbols, fn), name);
}

static bool no_eval(const struct said *s)
{
    return none(s) && is_called(s, "torch.nn.Module.eval");
}

static bool no_train(const struct said *s)
{
    return none(s) && is_called(s, "torch.nn.Module.train");
}

/* Names of what an operand or a result holds, and not of all operands. */
static bool entries(const struct said *s)
{
    return strcmp(tc_strtab_text(s->symbols, s->fact->path), "args") != 0;
}

/* Are there names that the one list has alone? */
static bool has_rest(const struct said *s, tc_sym names, tc_sym others)
{
    struct tc_strbuf rest = TC_STRBUF_INIT;
    const size_t n = tc_phrase_rest(s->symbols, names, others, &rest);

    tc_strbuf_release(&rest);
    return n > 0;
}

static bool dropped(const struct said *s)
{
    return !has_rest(s, s->value, s->fact->value);
}

static bool added(const struct said *s)
{
    return s->value != s->fact->value && !has_rest(s, s->fact->value, s->value);
}

/* Is no call before it at its place? */
static bool begins(const struct said *s)
{
    return s->fact->subject.fields[TC_FACT_IN] == TC_NO_SYM;
}

/* ---- the table ------------------------------------------------------------------------------ */

/*
 * %p  the operand            %M  the module whose mode it is
 *                            %C  the call, or what else it is about     %k  where
 * %v  the value              %e  the one expected
 * %s  s unless it is 1       %n  the value as times                     %N  the one expected
 * %d  a difference of sets   %g  arguments that are gone                %m  those that are new
 * %u  names that are new and gone
 * %i  how a flow is taken    %w  what flows                             %W  as often as it does
 * %j  as often as expected   %o  the call before
 * %c  calls                  %x  those expected
 * {yes|no} by the value, <yes|no> by the one expected
 */
#define HEALTHY(words) " (healthy runs: " words ")"

static const struct tc_words {
    enum tc_attribute attribute;
    bool (*is_case)(const struct said *s); /* NULL: the usual one */
    const char *expected, *seen, *hint;    /* NULL: see the next row */
} table[] = {
#define ROW(name, ...)                   \
    {                                    \
        TC_ATTRIBUTE_##name, __VA_ARGS__ \
    }
    ROW(VALUE, mode, "%M is in {training|evaluation} mode%k",
        "%M is in {training|evaluation} mode, was in <training|evaluation> mode,%k",
        "Is train() or eval() called on this module where it is meant to be?"),
    ROW(VALUE, NULL, "%p is %v%k", "%p is %v, was %e,%k", ""),
    ROW(CLASS, NULL, "%p is of class %v%k", "%p is of class %v, was of %e,%k", ""),
    ROW(KEYS, entries, "%p has the entries %v%k", "%p has other entries: %u,%k",
        "Was a key renamed, or wrapped, as by DataParallel or compile()?"),
    ROW(KEYS, dropped, NULL, "%g no longer passed to %C%k",
        "Was the argument dropped on purpose? Its default holds now."),
    ROW(KEYS, added, NULL, "%m passed to %C, in no healthy run,%k", ""),
    ROW(KEYS, NULL, "%C is called with {the arguments %v|no further argument}%k",
        "%C is called with other arguments: %u,%k",
        "Was an argument renamed, or moved to another call?"),
    ROW(LENGTH, none, NULL, "%p is empty: an iterator that was used up?%k",
        "A generator, as model.parameters() gives one, can be read once: was it read before?"),
    ROW(LENGTH, NULL, "%p has %v element%s%k", "%p has %v element%s, had %e,%k", ""),
    ROW(TREND, NULL, "%p %v%k", "%p %v" HEALTHY("it %e") "%k",
        "Is it compared the right way round, and reset where it should not be?"),
    ROW(NAMED, NULL, "%p is the script's %v%k", "%p is the script's %v, was %e,%k",
        "Are two arguments swapped?"),
    ROW(TENSOR, NULL, "%p is {a %v|no tensor}%k", "%p is {a %v|no tensor}, was <a %e|none>,%k", ""),
    ROW(DTYPE, NULL, "%p is %v%k", "%p is %v, was %e,%k",
        "Which cast is new or gone: to(), half(), float(), autocast?"),
    ROW(NDIM, NULL, "%p has %v dimension%s%k", "%p has %v dimension%s, had %e,%k",
        "Is a squeeze(), an unsqueeze() or a reduction new or gone?"),
    ROW(SHAPE, NULL, "%p has the shape %v%k", "%p has the shape %v, had %e,%k", ""),
    ROW(DIM, NULL, "%p has the size %v%k", "%p has the size %v, had %e,%k",
        "Are two dimensions swapped (permute, transpose, view)?"),
    ROW(REQUIRES_GRAD, yes, NULL, "%p requires a gradient, required none,%k",
        "Is a detach(), a no_grad() or a requires_grad_(False) gone?"),
    ROW(REQUIRES_GRAD, NULL, "%p requires {a|no} gradient%k",
        "%p requires no gradient, required one,%k",
        "What cut it off: detach(), no_grad(), requires_grad_(False), a new tensor?"),
    ROW(SOURCE, NULL, "%p comes from %v%k", "%p comes from %v, came from %e,%k",
        "Is another variable passed, or was a call between the two added or removed?"),
    ROW(AUTOCAST, NULL, "%C runs {under|outside of} autocast%k",
        "%C runs {under|outside of} autocast, ran <under|outside of> it,%k",
        "Does the block of torch.autocast() enclose what it should?"),
    ROW(OWNED, NULL, "the optimizer has %v parameter%s at %C%k",
        "the optimizer has %v parameter%s at %C, had %e,%k",
        "Are all modules built when the optimizer gets their parameters?"),
    ROW(OWNED_IN_ORDER, NULL, "an optimizer has its parameters in this order: %v",
        "an optimizer has its parameters in another order: %v",
        "A saved optimizer state is loaded by place: does it still fit?"),
    ROW(UNCLEARED, NULL, "{some|no} gradients are left from the step before at %C%k",
        "{some|no} gradients are left from the step before at %C" HEALTHY("<some|none>") "%k",
        "Is zero_grad() called once for each step, before its backward()?"),
    ROW(EQUALS, yes, NULL, "the result of %C equals %v" HEALTHY("<%e|no operand>") "%k",
        "Does the call have an effect here?"),
    ROW(EQUALS, NULL, "the result of %C equals {%v|no operand}%k",
        "the result of %C equals no operand" HEALTHY("%e") "%k", ""),
    ROW(FINITE, NULL, "%p is {|not }finite%k",
        "%p {is finite, was not|holds a NaN or an infinity},%k",
        "Which operand is the first that is not finite: log(0), a division by 0, too large a step?"),
    ROW(COUNT, no_eval, NULL, "eval() is missing before the evaluation",
        "Dropout and batch norm work as in training until eval() is called."),
    ROW(COUNT, no_train, NULL, "train() is missing before the training goes on",
        "Dropout and batch norm work as in evaluation until train() is called."),
    ROW(COUNT, none, NULL, "%C is no longer called%k" HEALTHY("%N in each step"),
        "Is the line gone, or is it skipped by a condition?"),
    ROW(COUNT, new, "%C is called in no step%k", "%C is called %n in a step%k" HEALTHY("never"),
        "Which line calls it, and is it meant to?"),
    ROW(COUNT, NULL, "%C is called %n in each step%k",
        "%C is called %n in a step, was called %N,%k",
        "Does the call stand in the loop, or in the condition, that it belongs to?"),
    ROW(COUNT_FIRST, none, NULL,
        "%C is no longer called%k" HEALTHY("%N by the end of the first step"),
        "Which line of the set-up is gone?"),
    ROW(COUNT_FIRST, new, "%C is not called by the end of the first step%k",
        "%C is called %n by the end of the first step" HEALTHY("never") "%k",
        "Which line of the set-up calls it, and is it meant to?"),
    ROW(COUNT_FIRST, NULL, "%C is called %n by the end of the first step%k",
        "%C was called %n by the end of the first step, not %N,%k",
        "Is something set up more often, or less?"),
    ROW(COUNT_LATER, none, NULL,
        "%C is no longer called%k" HEALTHY("%N in each step after the first"),
        "Is it called in the first step alone, or not at all?"),
    ROW(COUNT_LATER, new, "%C is called in no step after the first%k",
        "%C is called %n in a step after the first" HEALTHY("never") "%k",
        "Is it meant for the first step, or the set-up, alone?"),
    ROW(COUNT_LATER, NULL, "%C is called %n in each step after the first%k",
        "%C is called %n in a step after the first, was called %N,%k",
        "Does the call stand in the loop that it belongs to?"),
    ROW(COUNT_WHERE, NULL, "%C is called %n in each step that calls it%k",
        "%C is called %n in a step, was called %N or not at all,%k",
        "Does the loop around the call end early, or late?"),
    ROW(PRESENT, NULL, "%C is called in each run%k",
        "%C is no longer called%k" HEALTHY("in each run"),
        "Is its line gone, or did the run not get so far?"),
    ROW(FLOWS, none, NULL, "%C is no longer %i %w%k" HEALTHY("%N in each step"),
        "What is it given instead?"),
    ROW(FLOWS, NULL, "%C is %i %W in each step%k", "%C was %i %W in a step%j,%k",
        "Is a result used twice, or is one of several left out?"),
    ROW(FLOWS_FIRST, none, NULL,
        "%C is no longer %i %w%k" HEALTHY("%N by the end of the first step"),
        "Which part of the set-up gives it something else?"),
    ROW(FLOWS_FIRST, NULL, "%C is %i %W by the end of the first step, and never later,%k",
        "%C was %i %W%j,%k", "Does the set-up do it to more, or to fewer, than it should?"),
    ROW(FLOWS_LATER, none, NULL,
        "%C is no longer %i %w%k" HEALTHY("%N in each step after the first"),
        "What does it get from the second step on?"),
    ROW(FLOWS_LATER, NULL, "%C is %i %W in each step after the first%k",
        "%C was %i %W in a step after the first%j,%k",
        "Is a result of the step before used in place of this step's?"),
    ROW(FLOWS_WHERE, NULL, "%C is %i %W in each step that does so%k", "%C was %i %W in a step%j,%k",
        "Is one of several results taken more often, or less?"),
    ROW(FLOWS_EVER, NULL, "%C is %i %w in each run%k",
        "%C is no longer %i %w%k" HEALTHY("in each run"), "What does it get in its place?"),
    ROW(DATA, NULL, "%C changes %v", "%C changed %d",
        "Does the loss reach these variables, and does the optimizer own them?"),
    ROW(DATA_FIRST, NULL, "%C changes, by the end of the first step, %v",
        "%C changed, by the end of the first step, %d",
        "Is a part of the model initialised or loaded otherwise?"),
    ROW(GRADIENTS, NULL, "%C gives gradients to %v", "%C gave gradients to %d",
        "What keeps the loss from them, or leads it there: detach(), no_grad(), another module?"),
    ROW(TRAINABLE, NULL, "in the first step a gradient is required by %v",
        "in the first step a gradient is required by %d",
        "What freezes them, or no longer does, before the first step?"),
    ROW(EXIST, NULL, "there are %v", "there are %d",
        "Is a module new, gone, or built under another name?"),
    ROW(NEXT, begins, "%C calls %c first%k", "%C calls %c first" HEALTHY("%x") "%k", NULL),
    ROW(NEXT, NULL, "%C calls %c after %o%k", "%C calls %c after %o" HEALTHY("%x") "%k",
        "Is a call new or gone, moved to another place, or in another loop?"),
    ROW(NEXT_FIRST, begins, "%C calls %c first%k", "%C calls %c first" HEALTHY("%x") "%k", NULL),
    ROW(NEXT_FIRST, NULL, "%C calls %c after %o%k", "%C calls %c after %o" HEALTHY("%x") "%k",
        "Is a call of the set-up new or gone, or moved to another place?"),
    ROW(FIRST, NULL, "the first column of %p is %v%k", "the first column of %p is %v, was %e,%k",
        "Is the sequence shifted, or its start token gone?"),
    ROW(LAST, NULL, "the last column of %p is %v%k", "the last column of %p is %v, was %e,%k",
        "Is the sequence shifted, or filled up at the other side?"),
    ROW(UNIFORM, NULL, "the elements of %p are {all|not all} the same%k",
        "the elements of %p are {all|not all} the same, were <all|not all>,%k",
        "Is the tensor filled with one value, or not written to?"),
    ROW(ZERO, NULL, "%p is {|not }zero%k", "%p is {zero, was not|not zero, was},%k",
        "What makes it zero: an empty mask, a difference of equals, a weight of 0?"),
    ROW(ALIKE, NULL, "{of the operands %v|no two operands} of %C are equal%k",
        "{%v|no two operands} of %C are equal" HEALTHY("<%e|no two>") "%k",
        "Is one tensor passed in the place of another?"),
    ROW(RANKS, yes, NULL, "%p is the same on all ranks, was another one on each,%k",
        "Does each rank draw by a seed of its own, and from a part of its own?"),
    ROW(RANKS, NULL, "%p is {the same|another one} on each rank%k",
        "%p is not the same on all ranks, was,%k",
        "Is it averaged, gathered or broadcast over the ranks?"),
#undef ROW
};

#define N_ROWS (sizeof(table) / sizeof(*table))

/* ---- filling -------------------------------------------------------------------------------- */

/* "called on", "given", of a second operand "given as its 2nd tensor". */
static void add_end(const struct said *s)
{
    const char *name = tc_strtab_text(s->symbols, s->fact->subject.fields[TC_FACT_NAME]);

    if (!strcmp(name, "self"))
        tc_strbuf_adds(s->out, "called on");
    else if (!strcmp(name, "1"))
        tc_strbuf_adds(s->out, "given");
    else
        tc_strbuf_addf(s->out, "given, as tensor %s,", name);
}

/* "the argument x is", "a, b are"; nothing where there are none. */
static void add_names(const struct said *s, bool is_new, const char *one, const char *several)
{
    struct tc_strbuf names = TC_STRBUF_INIT;
    const tc_sym was = s->fact->value, is = s->value;
    const size_t n = tc_phrase_rest(s->symbols, is_new ? is : was, is_new ? was : is, &names);

    if (n)
        tc_strbuf_addf(s->out, "%s%s %s", n == 1 ? one : several, names.text,
                       n == 1 ? "is" : "are");
    tc_strbuf_release(&names);
}

/* "a is new, b, c are gone" */
static void add_changed_names(const struct said *s)
{
    const bool has_new = has_rest(s, s->value, s->fact->value);
    const bool has_gone = has_rest(s, s->fact->value, s->value);

    if (has_new) {
        add_names(s, true, "", "");
        tc_strbuf_adds(s->out, has_gone ? " new, " : " new");
    }
    if (has_gone) {
        add_names(s, false, "", "");
        tc_strbuf_adds(s->out, " gone");
    }
}

/* What the fact is about. */
static bool add_name(const struct said *s, char which)
{
    const struct tc_subject *subject = &s->fact->subject;

    if (which == 'p')
        tc_phrase_operand(s->symbols, s->fact, s->out);
    else if (which == 'M')
        tc_phrase_module(s->symbols, subject, s->out);
    else if (which == 'C')
        tc_phrase_subject(s->symbols, subject, s->out);
    else if (which == 'k')
        tc_phrase_context(s->symbols, subject, s->out);
    else if (which == 'i')
        add_end(s);
    else if (which == 'w')
        tc_phrase_start(s->symbols, subject, s->out);
    else if (which == 'o')
        tc_phrase_call(s->symbols, subject->fields[TC_FACT_IN], subject->fields[TC_FACT_IN_OF],
                       s->out);
    else
        return false;
    return true;
}

/* What is said of it. */
static void add_value(const struct said *s, char which)
{
    const tc_sym claimed = s->fact->value;

    if (which == 'v' || which == 'e')
        tc_phrase_value(s->symbols, s->fact, which == 'v' ? s->value : claimed, s->out);
    else if (which == 's')
        tc_strbuf_adds(s->out, strcmp(value_of(s), "1") ? "s" : "");
    else if (which == 'n' || which == 'N')
        tc_phrase_times(which == 'n' ? value_of(s) : claim_of(s), s->out);
    else if (which == 'd')
        tc_phrase_difference(s->symbols, claimed, s->value, s->out);
    else if (which == 'g' || which == 'm')
        add_names(s, which == 'm', "the argument ", "the arguments ");
    else if (which == 'u')
        add_changed_names(s);
    else if (which == 'W')
        tc_phrase_starts(s->symbols, &s->fact->subject, value_of(s), s->out);
    else if (which == 'j')
        tc_phrase_not_starts(s->symbols, &s->fact->subject, claim_of(s), s->out);
    else if (which == 'c')
        tc_phrase_calls(s->symbols, s->value, s->out);
    else
        tc_phrase_calls(s->symbols, claimed, s->out);
}

static void add_sentence(const struct said *s, const char *words)
{
    const bool by_value = yes(s), by_claim = is_value_told(claim_of(s));
    bool is_left_out = false;

    for (const char *p = words; *p; p++) {
        if (*p == '{' || *p == '<')
            is_left_out = !(*p == '{' ? by_value : by_claim);
        else if (*p == '|')
            is_left_out = !is_left_out;
        else if (*p == '}' || *p == '>')
            is_left_out = false;
        else if (*p == '%' && p++ && !is_left_out) {
            if (!add_name(s, *p))
                add_value(s, *p);
        } else if (!is_left_out)
            tc_strbuf_addc(s->out, *p);
    }
    /* Of a place that is reported nowhere the comma before it is left. */
    if (s->out->size && s->out->text[s->out->size - 1] == ',')
        s->out->text[--s->out->size] = '\0';
}

static const char *find_member(const struct said *s, size_t member)
{
    const char *words = NULL;

    for (size_t i = 0; i < N_ROWS && !words; i++)
        if (table[i].attribute == (enum tc_attribute)s->fact->attribute &&
            (!table[i].is_case || table[i].is_case(s)))
            memcpy(&words, (const char *)&table[i] + member, sizeof(words));
    return words ? words : "";
}

void tc_fact_describe(const struct tc_fact *fact, const struct tc_strtab *symbols,
                      struct tc_strbuf *out)
{
    const struct said said = {fact, symbols, fact->value, TC_NO_SYM, out};

    add_sentence(&said, find_member(&said, offsetof(struct tc_words, expected)));
}

void tc_fact_explain(const struct tc_fact *fact, const struct tc_strtab *symbols, tc_sym seen,
                     tc_sym at, struct tc_strbuf *out)
{
    const struct said said = {fact, symbols, seen, at, out};

    add_sentence(&said, find_member(&said, offsetof(struct tc_words, seen)));
}

const char *tc_fact_hint(const struct tc_fact *fact, const struct tc_strtab *symbols, tc_sym seen)
{
    const struct said said = {fact, symbols, seen, TC_NO_SYM, NULL};

    return find_member(&said, offsetof(struct tc_words, hint));
}
