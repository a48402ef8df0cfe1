/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribute.c - the rows of attributes, and what follows from a row: form, support, setting or
 * law, sentences
 *
 * A row names the form that claims it, its nature, its support and two sentences with letters for
 * what they name. All else here reads rows; what a sentence cannot say in letters (orders of
 * calls, differences of sets) has code of its own below. Values are JSON texts, as a file has
 * them. Nothing is kept between calls.
 */
#include "fact/attribute.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fact/tensor_content.h"
#include "invariant/describe.h"
#include "replay/symbols.h"

/* What is told of an occasion stands after the verb of the expected sentence: see attribute.h. */
static const struct tc_attribute_row rows[TC_N_ATTRIBUTES] = {
#define BY(rule, name, form, nature, support, expected, seen)                   \
    [TC_ATTRIBUTE_##name] = {&tc_fact_##rule,      TC_FORM_##form, TC_##nature, \
                             TC_SUPPORT_##support, expected,       seen}
#define ROW(...) BY(one_value, __VA_ARGS__)
    ROW(VALUE, ARG_VALUE, CHOICE, ONE, "%p is %v", "%p was %v"),
    ROW(CLASS, ARG_VALUE, LAW, ONE, "%p is of %v", "%p was of %v"),
    ROW(KEYS, ARG_VALUE, LAW, ONE, "%p are named %v", "%p were named %v"),
    ROW(LENGTH, ARG_VALUE, LAW, ONE, "%p has %v element%s", "%p had %v element%s"),
    ROW(FLAG, ARG_VALUE, LAW, MOST, "%p is %v", "%p was %v"),
    BY(trend, TREND, ARG_VALUE, LAW, ONE, "%p %v", "%p %v"),
    ROW(NAMED, ARG_VALUE, LAW, ONE, "the name of %p is %v", "the name of %p was %v"),
    ROW(SLICE, ARG_VALUE, LAW, ONE, "%p is a slice %v", "%p was a slice %v"),
    ROW(TENSOR, ARG_VALUE, LAW, ONE, "%p is {a %v|no tensor}", "%p was {a %v|no tensor}"),
    ROW(DTYPE, ARG_VALUE, LAW, ONE, "%p is %v", "%p was %v"),
    ROW(NDIM, ARG_VALUE, LAW, ONE, "%p has %v dimension%s", "%p had %v dimension%s"),
    ROW(SHAPE, ARG_VALUE, SIZE, ONE, "%p has the shape %v", "%p had the shape %v"),
    ROW(DIM, ARG_VALUE, CHOICE, ONE, "the size %p is %v", "the size %p was %v"),
    ROW(REQUIRES_GRAD, ARG_VALUE, LAW, ONE, "%p requires {a|no} gradient",
        "%p required {a|no} gradient"),
    ROW(SOURCE, ARG_SOURCE, LAW, MANY, "%p comes from %v", "%p came from %v"),
    ROW(AUTOCAST, ARG_VALUE, LAW, ONE, "{under|outside of} autocast",
        "it was {under|outside of} autocast"),
    ROW(OWNED, ATTRIBUTE, LAW, ONE, "the optimizer owns %v parameter%s",
        "the optimizer owned %v parameter%s"),
    ROW(OWNED_IN_ORDER, ATTRIBUTE, LAW, ONE, "an optimizer holds, in this order, %v",
        "it held, in this order, %v"),
    ROW(COURSE, ATTRIBUTE, CHOICE, ONE, "%p is %v", "%p was %v"),
    ROW(UNCLEARED, SET, LAW, MANY, "{some|no} gradients are left from the step before",
        "{some|no} gradients were left from the step before"),
    ROW(EQUALS, OUTPUT_VALUE, LAW, ONE, "the result equals {%v|no operand}",
        "the result equalled {%v|no operand}"),
    ROW(FINITE, OUTPUT_VALUE, LAW, ONE, "the result is {|not }finite",
        "the result was {|not }finite"),
    ROW(OPERAND, OUTPUT_VALUE, LAW, ONE, "%p is {|not }one of the operands",
        "%p was {|not }one of the operands"),
    ROW(COUNT, COUNT, LAW, MANY, "it is called %v time%s in each step", "it was called %v time%s"),
    ROW(COUNT_FIRST, COUNT, LAW, ONE, "it is called %v time%s by the end of the first step",
        "it was called %v time%s"),
    ROW(COUNT_LATER, COUNT, LAW, MANY, "it is called %v time%s in each step after the first",
        "it was called %v time%s"),
    BY(how_often, RATE, COUNT, LAW, ONE,
       "in a run it is called {as|not as} often as there are steps",
       "in the run it was called {as|not as} often as there were steps"),
    BY(how_often, PRESENT, COUNT, LAW, ONE, "it is called in each run", "it was not called"),
    ROW(BEFORE, BEFORE, LAW, ONE, "it first comes {before|after} %o",
        "it first came {before|after} %o"),
    ROW(FLOWS, COUNT, LAW, MANY, "%i comes from %w %v time%s in each step",
        "%i came from %w %v time%s"),
    ROW(FLOWS_FIRST, COUNT, LAW, ONE,
        "by the end of the first step, and never later, %i comes from %w %v time%s",
        "%i came from %w %v time%s"),
    ROW(FLOWS_LATER, COUNT, LAW, MANY, "%i comes from %w %v time%s in each step after the first",
        "%i came from %w %v time%s"),
    ROW(COUNT_WHERE, COUNT, LAW, WHERE, "in a step that calls it, it is called %v time%s",
        "it was called %v time%s"),
    ROW(FLOWS_WHERE, COUNT, LAW, WHERE, "in a step where %i comes from %w it does so %v time%s",
        "%i came from %w %v time%s"),
    ROW(FLOWS_EVER, COUNT, LAW, ONE, "in each run %i comes from %w", "%i never came from %w"),
    ROW(DATA, SET, LAW, MANY, "it changes %v", "it changed %d"),
    ROW(DATA_FIRST, SET, LAW, ONE, "by the end of the first step it changes %v", "it changed %d"),
    ROW(GRADIENTS, SET, LAW, MANY, "it gives gradients to %v", "it gave gradients to %d"),
    ROW(GRADIENT_CALLS, SET, LAW, MANY, "gradients come from %v call%s in each step",
        "gradients came from %v call%s"),
    ROW(TRAINABLE, ATTRIBUTE, LAW, ONE, "in the first step a gradient is required by %v",
        "a gradient was required by %d"),
    ROW(TRAINABLE_LAST, ATTRIBUTE, LAW, ONE, "at the end a gradient is required by %v",
        "a gradient was required by %d"),
    ROW(EXIST, ATTRIBUTE, LAW, ONE, "there are %v", "there were %d"),
    ROW(CALLS, SET, LAW, MANY, "nothing is called in it but %c", "it called %c"),
    ROW(ORDER, BEFORE, LAW, CONTENT, "it calls, in this order, %c", "it called %x"),
    ROW(FIRST, ARG_VALUE, LAW, CONTENT, "the first column of %p is %v",
        "the first column of %p was %v"),
    ROW(LAST, ARG_VALUE, LAW, CONTENT, "the last column of %p is %v",
        "the last column of %p was %v"),
    ROW(UNIFORM, ARG_VALUE, LAW, CONTENT, "the elements of %p are {all|not all} the same",
        "the elements of %p were {all|not all} the same"),
    ROW(NEGATIVE, ARG_VALUE, LAW, CONTENT, "{some|no} elements of %p are negative",
        "{some|no} elements of %p were negative"),
    ROW(ZERO, ARG_VALUE, LAW, CONTENT, "%p is {|not }zero", "%p was {|not }zero"),
    ROW(ALIKE, ARG_VALUE, LAW, MANY, "of the operands {%v|no two} are equal",
        "of the operands {%v|no two} were equal"),
    ROW(COVERS, ARG_VALUE, LAW, CONTENT,
        "the largest element of %p is the last index of {%v|no operand}",
        "the largest element of %p was the last index of {%v|no operand}"),
    ROW(GIVEN, ARG_VALUE, LAW, MANY, "%p is {|not }what the model was given",
        "%p was {|not }what the model was given"),
    ROW(FACTOR, ARG_VALUE, LAW, MANY, "%p is %v", "%p was %v"),
    ROW(SEEN, OUTPUT_VALUE, LAW, MANY, "the batch was {met %v already|not met before}",
        "the batch was {met %v already|not met before}"),
    ROW(BESIDE, ARG_VALUE, LAW, MANY, "%p is about as large as in training",
        "%p was %v than in training"),
    ROW(REPEATS, OUTPUT_VALUE, LAW, MANY, "the result {repeats|differs from} an earlier one",
        "the result {repeated|differed from} an earlier one"),
    ROW(AGAIN, ARG_VALUE, LAW, MANY,
        "it is given {the same operands again|other operands each time}",
        "it was given {the same operands again|other operands}"),
    ROW(AGAIN_HERE, ARG_VALUE, LAW, MANY,
        "one receiver is given {the same operands again|other operands each time}",
        "one receiver was given {the same operands again|other operands}"),
    ROW(COUNT_EVEN, COUNT, LAW, EVEN, "in each step it is called an {even|odd} number of times",
        "it was called an {even|odd} number of times"),
    ROW(BELOW_ZERO, ARG_VALUE, LAW, MANY, "of the elements of %p %v are below zero",
        "of the elements of %p %v were below zero"),
    ROW(ABOVE_ZERO, ARG_VALUE, LAW, MANY, "of the elements of %p %v are above zero",
        "of the elements of %p %v were above zero"),
    ROW(ABOVE_ONE, ARG_VALUE, LAW, MANY, "of the elements of %p %v are above one",
        "of the elements of %p %v were above one"),
    ROW(ROWS_AGAIN, OUTPUT_VALUE, LAW, MANY, "%v of its rows came before in this pass",
        "%v of its rows came before in this pass"),
    ROW(TRAINED_ON, ARG_VALUE, LAW, MANY, "%v of the rows of %p have been trained on",
        "%v of the rows of %p had been trained on"),
    ROW(EARLIER, ARG_VALUE, LAW, MANY, "%p is {what it was|another than} in an earlier step",
        "%p was {what it was|another than} in an earlier step"),
    ROW(STILL, ARG_VALUE, LAW, MOST, "%p is {what it was|another than} the last time",
        "%p was {what it was|another than} the last time"),
    ROW(MADE_OF, ARG_SOURCE, LAW, MANY, "%p is made by {%v|no model}",
        "%p was made by {%v|no model}"),
    ROW(APART, ARG_SOURCE, LAW, MANY, "%p is of the row %v from that of the first",
        "%p was of the row %v from that of the first"),
    BY(early_number, ABOUT, ARG_VALUE, LAW, MANY, "in the first three steps %p is about as in %v",
       "%p was %v"),
    BY(varying_number, VARIES, ARG_VALUE, LAW, ONE,
       "in a run of %v calls %p is not always the same", "%p was %v"),
    BY(span, SPAN, ARG_VALUE, CHOICE, ONE, "%p is %v", "%p was %v"),
    BY(sign, SIGN, ARG_VALUE, LAW, ONE, "%p is %v", "%p was %v"),
    BY(bound, FLOOR, ARG_VALUE, BOUND, ONE, "%p is never below %v", "%p was %v"),
    BY(bound, CEILING, ARG_VALUE, BOUND, ONE, "%p is never above %v", "%p was %v"),
    BY(bound, LEAST, ARG_VALUE, LAW, ONE, "the elements of %p go down to %v, and not below",
       "the smallest element of %p was %v"),
    BY(bound, FARTHEST, ARG_VALUE, LAW, ONE,
       "the elements of %p go as far from zero as %v, and no farther",
       "the farthest element of %p from zero was %v away"),
    BY(bound, GREATEST, ARG_VALUE, LAW, ONE, "the elements of %p go up to %v, and not above",
       "the largest element of %p was %v"),
    BY(early_number, MAGNITUDE, ARG_VALUE, LAW, MANY,
       "the root mean square of %p is about as in %v", "the root mean square of %p was %v"),
    BY(early_number, DISTINCT, ARG_VALUE, LAW, MANY,
       "the number of distinct elements of %p is about as in %v", "%p had %v distinct elements"),
    BY(few_elements, ELEMENTS, ARG_VALUE, LAW, MANY, "the elements of %p are about %v",
       "the elements of %p were %v"),
    ROW(RANKS, ARG_VALUE, LAW, ONE, "%p is {the same|another one} on each rank",
        "%p was {the same on all|another one on some} ranks"),
#undef ROW
#undef BY
};

const struct tc_attribute_row *tc_attribute_row(enum tc_attribute attribute)
{
    return &rows[attribute];
}

unsigned tc_fact_support(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    const unsigned support = rows[fact->attribute].support;
    const char *value = tc_strtab_text(symbols, fact->value);

    return support == TC_SUPPORT_WHERE && strtol(value, NULL, 10) >= TC_OFTEN ? TC_SUPPORT_OFTEN
                                                                              : support;
}

static bool is_result(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    return fact->path != TC_NO_SYM &&
           !strncmp(tc_strtab_text(symbols, fact->path), "value", strlen("value"));
}

enum tc_fact_form tc_fact_form(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    enum tc_fact_form form = rows[fact->attribute].form;

    if (fact->subject.kind == TC_SUBJECT_VARIABLE)
        return TC_FORM_ATTRIBUTE;
    return form == TC_FORM_ARG_VALUE && is_result(fact, symbols) ? TC_FORM_OUTPUT_VALUE : form;
}

/* ---- setting or law ------------------------------------------------------------------------- */

/* A number or a text that the script chose. */
static bool is_choice(const char *json)
{
    return json[0] == '"' || json[0] == '-' || isdigit((unsigned char)json[0]);
}

static size_t n_dimensions(const char *shape)
{
    size_t n = shape[0] == '[' && shape[1] != ']';

    for (; *shape; shape++)
        n += *shape == ',';
    return n;
}

bool tc_fact_is_count(uint32_t attribute)
{
    switch (attribute) {
    case TC_ATTRIBUTE_COUNT:
    case TC_ATTRIBUTE_COUNT_FIRST:
    case TC_ATTRIBUTE_COUNT_LATER:
    case TC_ATTRIBUTE_COUNT_WHERE:
    case TC_ATTRIBUTE_FLOWS:
    case TC_ATTRIBUTE_FLOWS_FIRST:
    case TC_ATTRIBUTE_FLOWS_LATER:
    case TC_ATTRIBUTE_FLOWS_WHERE:
        return true;
    default:
        return false;
    }
}

/* The batches of an evaluation: see pass.c. None at all is another matter. */
static bool is_batches(const struct tc_fact *fact, const char *expected, const char *got)
{
    const tc_sym *f = fact->subject.fields;

    return tc_fact_is_count(fact->attribute) && f[TC_FACT_FN] == TC_SYM_ROOT_FORWARD &&
           f[TC_FACT_STAGE] == TC_SYM_EVALUATION && strtol(expected, NULL, 10) > 0 &&
           strtol(got, NULL, 10) > 0;
}

bool tc_fact_is_setting(const struct tc_fact *fact, const struct tc_strtab *symbols, tc_sym seen)
{
    const char *expected = tc_strtab_text(symbols, fact->value);
    const char *got = tc_strtab_text(symbols, seen);

    switch (rows[fact->attribute].nature) {
    case TC_CHOICE:
        return is_choice(expected) && is_choice(got) && (expected[0] == '"') == (got[0] == '"');
    case TC_BOUND:
        return fabs(strtod(expected, NULL)) != 1 || !strpbrk(got, ".e");
    case TC_SIZE:
        return n_dimensions(expected) == n_dimensions(got);
    case TC_LAW:
        if (fact->attribute == TC_ATTRIBUTE_CLASS)
            return is_result(fact, symbols);
        return is_batches(fact, expected, got) ||
               tc_fact_is_within_bound(fact->attribute, expected, got);
    }
    return false;
}

bool tc_fact_may_be_chance(const struct tc_fact *fact, const struct tc_strtab *symbols)
{
    const char *value = tc_strtab_text(symbols, fact->value);

    switch ((enum tc_attribute)fact->attribute) {
    case TC_ATTRIBUTE_DATA:
    case TC_ATTRIBUTE_COUNT_WHERE:
    case TC_ATTRIBUTE_FLOWS_WHERE:
        return true;
    case TC_ATTRIBUTE_COUNT:
    case TC_ATTRIBUTE_COUNT_LATER: /* a router may leave out an expert */
        return fact->subject.kind == TC_SUBJECT_USE;
    case TC_ATTRIBUTE_EARLIER:
    case TC_ATTRIBUTE_GIVEN: /* of what was left out by chance nothing may have been */
    case TC_ATTRIBUTE_STILL:
        return !strcmp(value, "false");
    case TC_ATTRIBUTE_ALIKE:
    case TC_ATTRIBUTE_EQUALS:
        return !strcmp(value, "\"\"");
    case TC_ATTRIBUTE_TRAINED_ON:
        return strcmp(value, TC_FACT_NONE) != 0;
    default:
        return rows[fact->attribute].support == TC_SUPPORT_CONTENT;
    }
}

/* ---- words ---------------------------------------------------------------------------------- */

/* Without the folders of the package: "torch.nn.modules.Linear" is Linear. */
static void add_class(struct tc_strbuf *out, const char *name)
{
    const char *dot = strrchr(name, '.');

    tc_strbuf_adds(out, dot ? dot + 1 : name);
}

static bool is_constructor(const char *fn)
{
    const char *dot = strrchr(fn, '.');

    return dot && !strcmp(dot, ".__init__");
}

/* A constructor is called as the class that is made, which may have inherited it. */
static void add_call(struct tc_strbuf *out, const struct tc_strtab *symbols, tc_sym fn, tc_sym of)
{
    if (of != TC_NO_SYM && is_constructor(tc_strtab_text(symbols, fn))) {
        add_class(out, tc_strtab_text(symbols, of));
        tc_strbuf_adds(out, "()");
        return;
    }
    tc_describe_call(symbols, fn, out);
    if (of == TC_NO_SYM)
        return;
    tc_strbuf_adds(out, " of ");
    add_class(out, tc_strtab_text(symbols, of));
}

void tc_fact_describe_api(tc_sym fn, const struct tc_strtab *symbols, struct tc_strbuf *out)
{
    add_call(out, symbols, fn, TC_NO_SYM);
}

static void add_changer(struct tc_strbuf *out, const struct tc_fact *fact,
                        const struct tc_strtab *symbols)
{
    tc_sym fn = fact->subject.fields[TC_FACT_FN], number = fact->subject.fields[TC_FACT_NAME];
    const char *name = fn == TC_NO_SYM ? "every call" : tc_strtab_text(symbols, fn);

    if (number != TC_NO_SYM)
        tc_strbuf_addf(out, "backward %s of a step", tc_strtab_text(symbols, number));
    else if (strchr(name, '.'))
        tc_describe_call_name(name, out);
    else
        tc_strbuf_addf(out, "%s%s", strcmp(name, "step") ? "" : "the optimizer's ", name);
}

/* A call, the kind of a variable, or what no call is known to have made. */
/* One call of those that made an operand, or where it came from. */
static void add_part(struct tc_strbuf *out, const char *name, size_t size)
{
    struct tc_strbuf part = TC_STRBUF_INIT;

    tc_strbuf_add(&part, name, size);
    if (strchr(part.text, '.'))
        tc_describe_call_name(part.text, out);
    else
        tc_strbuf_adds(out, strcmp(part.text, "outside") ? part.text : "what came from outside");
    tc_strbuf_release(&part);
}

static void add_maker(struct tc_strbuf *out, const char *name)
{
    if (!strchr(name, '.')) {
        tc_strbuf_addf(out, strcmp(name, "outside") ? " on a %s" : " on what came from %s", name);
        return;
    }
    tc_strbuf_adds(out, " on what ");
    for (const char *of; (of = strstr(name, TC_FACT_CHAINED));
         name = of + strlen(TC_FACT_CHAINED)) {
        add_part(out, name, (size_t)(of - name));
        tc_strbuf_adds(out, " of ");
    }
    add_part(out, name, strlen(name));
    tc_strbuf_adds(out, " made");
}

void tc_fact_describe_subject(const struct tc_fact *fact, const struct tc_strtab *symbols,
                              struct tc_strbuf *out)
{
    const tc_sym *f = fact->subject.fields;

    switch ((enum tc_subject_kind)fact->subject.kind) {
    case TC_SUBJECT_VARIABLE:
        tc_strbuf_adds(out, f[TC_FACT_NAME] == TC_NO_SYM
                                ? "a variable"
                                : tc_strtab_text(symbols, f[TC_FACT_NAME]));
        if (f[TC_FACT_BY] != TC_NO_SYM)
            tc_strbuf_addf(out, ", set by %s", tc_strtab_text(symbols, f[TC_FACT_BY]));
        if (f[TC_FACT_STAGE] != TC_NO_SYM)
            tc_strbuf_addf(out, " in %s", tc_strtab_text(symbols, f[TC_FACT_STAGE]));
        return;
    case TC_SUBJECT_VARIABLES:
        tc_strbuf_adds(out, "the variables");
        return;
    case TC_SUBJECT_CHANGES:
        add_changer(out, fact, symbols);
        return;
    case TC_SUBJECT_USE:
        tc_strbuf_addf(out, "a function of %s", tc_strtab_text(symbols, f[TC_FACT_NAME]));
        if (f[TC_FACT_STAGE] != TC_NO_SYM)
            tc_strbuf_addf(out, ", %s", tc_strtab_text(symbols, f[TC_FACT_STAGE]));
        return;
    case TC_SUBJECT_INSIDE:
        if (f[TC_FACT_FN] != TC_NO_SYM)
            break;
        tc_strbuf_addf(out, "the script in %s",
                       f[TC_FACT_STAGE] == TC_NO_SYM ? "a step"
                                                     : tc_strtab_text(symbols, f[TC_FACT_STAGE]));
        return;
    default:
        break;
    }
    add_call(out, symbols, f[TC_FACT_FN], f[TC_FACT_OF]);
    if (f[TC_FACT_IN] != TC_NO_SYM && fact->subject.kind == TC_SUBJECT_CALL) {
        tc_strbuf_adds(out, " in ");
        add_call(out, symbols, f[TC_FACT_IN], f[TC_FACT_IN_OF]);
    }
    if (f[TC_FACT_BY] != TC_NO_SYM && fact->subject.kind == TC_SUBJECT_FLOW)
        tc_strbuf_adds(out, " for a batch");
    if (f[TC_FACT_BY] != TC_NO_SYM && fact->subject.kind == TC_SUBJECT_CALL)
        add_maker(out, tc_strtab_text(symbols, f[TC_FACT_BY]));
    if (f[TC_FACT_NAME] != TC_NO_SYM && fact->subject.kind == TC_SUBJECT_CALL)
        tc_strbuf_addf(out,
                       isdigit((unsigned char)*tc_strtab_text(symbols, f[TC_FACT_NAME]))
                           ? ", number %s"
                           : " on what %s made",
                       tc_strtab_text(symbols, f[TC_FACT_NAME]));
    if (f[TC_FACT_STAGE] != TC_NO_SYM)
        tc_strbuf_addf(out, ", %s", tc_strtab_text(symbols, f[TC_FACT_STAGE]));
    if (f[TC_FACT_GRAD] != TC_NO_SYM)
        tc_strbuf_adds(out, ", without gradients");
}

/* "args.weight" is weight, "value" the result, "self" the receiver. */
static void add_operand(struct tc_strbuf *out, const struct tc_fact *fact,
                        const struct tc_strtab *symbols)
{
    static const struct {
        const char *prefix, *words;
    } parts[] = {
        {"args.",  ""             },
        {"value.", "the result's "},
        {"value",  "the result"   },
        {"self.",  "its "         },
        {"self",   "the receiver" },
        {"args",   "the operands" }
    };
    const char *path = fact->path == TC_NO_SYM ? "it" : tc_strtab_text(symbols, fact->path);

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (!strncmp(path, parts[i].prefix, strlen(parts[i].prefix))) {
            tc_strbuf_addf(out, "%s%s", parts[i].words, path + strlen(parts[i].prefix));
            return;
        }
    tc_strbuf_adds(out, path);
}

/* Few enough to be read. */
#define SHOWN_NAMES 6

static void add_names(struct tc_strbuf *out, const struct tc_json *array)
{
    size_t n = tc_json_count(array), i = 0;

    tc_strbuf_addf(out, "%zu variable%s", n, n == 1 ? "" : "s");
    for (const struct tc_json *c = tc_json_first(array); c && i < SHOWN_NAMES;
         c = tc_json_next(c), i++)
        tc_strbuf_addf(out, "%s%s", i ? ", " : ": ", tc_json_text(c) ? tc_json_text(c) : "?");
    if (n > SHOWN_NAMES)
        tc_strbuf_adds(out, ", ...");
}

static bool is_api(const struct tc_fact *fact, const char *name)
{
    return fact->attribute == TC_ATTRIBUTE_SOURCE && strchr(name, '.');
}

static void add_value(struct tc_strbuf *out, const struct tc_fact *fact,
                      const struct tc_strtab *symbols, tc_sym value)
{
    const char *raw = tc_strtab_text(symbols, value), *text;
    struct tc_json *json = NULL;

    if (!strcmp(raw, TC_FACT_A_TENSOR) || !strcmp(raw, TC_FACT_AN_OBJECT)) {
        tc_strbuf_adds(out, !strcmp(raw, TC_FACT_A_TENSOR) ? "a tensor" : "an object");
        return;
    }
    if (tc_json_parse(raw, tc_strtab_size(symbols, value), &json, NULL))
        return;
    text = tc_json_text(json);
    if (text && is_api(fact, text))
        tc_describe_call_name(text, out);
    else if (text && fact->attribute != TC_ATTRIBUTE_VALUE)
        tc_strbuf_adds(out, *text ? text : "none");
    else if (tc_json_is_array(json) && tc_json_is_string(tc_json_first(json)))
        add_names(out, json);
    else
        tc_strbuf_adds(out, raw);
    tc_json_free(json);
}

static bool has_text(const struct tc_json *array, const char *text)
{
    for (const struct tc_json *c = tc_json_first(array); c; c = tc_json_next(c))
        if (tc_json_text(c) && !strcmp(tc_json_text(c), text))
            return true;
    return false;
}

/* Of two sets what the first has alone. */
static void add_rest(struct tc_strbuf *out, const char *words, const struct tc_json *a,
                     const struct tc_json *b)
{
    size_t n = 0;

    for (const struct tc_json *c = tc_json_first(a); c; c = tc_json_next(c)) {
        if (!tc_json_text(c) || has_text(b, tc_json_text(c)) || ++n > SHOWN_NAMES)
            continue;
        tc_strbuf_addf(out, "%s%s", n == 1 ? words : ", ", tc_json_text(c));
    }
    if (n > SHOWN_NAMES)
        tc_strbuf_addf(out, " and %zu more", n - SHOWN_NAMES);
}

static void add_difference(struct tc_strbuf *out, const struct tc_fact *fact,
                           const struct tc_strtab *symbols, tc_sym seen)
{
    struct tc_json *was = NULL, *is = NULL;

    if (!tc_json_parse(tc_strtab_text(symbols, fact->value), tc_strtab_size(symbols, fact->value),
                       &was, NULL) &&
        !tc_json_parse(tc_strtab_text(symbols, seen), tc_strtab_size(symbols, seen), &is, NULL)) {
        tc_strbuf_addf(out, "%zu variables for %zu", tc_json_count(is), tc_json_count(was));
        add_rest(out, "; without ", was, is);
        add_rest(out, "; and also ", is, was);
    }
    tc_json_free(was);
    tc_json_free(is);
}

/* ---- names of calls ------------------------------------------------------------------------- */

static void add_calls(struct tc_strbuf *out, const struct tc_json *names)
{
    size_t n = 0;

    for (const struct tc_json *c = tc_json_first(names); c; c = tc_json_next(c)) {
        if (!tc_json_text(c))
            continue;
        if (++n > SHOWN_NAMES)
            break;
        tc_strbuf_adds(out, n > 1 ? ", " : "");
        tc_describe_call_name(tc_json_text(c), out);
    }
    tc_strbuf_adds(out, n > SHOWN_NAMES ? ", ..." : "");
}

/* The place of a name, n of them if it is none. */
static size_t place_in(const struct tc_json *names, const char *name)
{
    const struct tc_json *c = tc_json_first(names);
    size_t i = 0;

    for (; c && (!tc_json_text(c) || !name || strcmp(tc_json_text(c), name) != 0); i++)
        c = tc_json_next(c);
    return i;
}

/* The first call that came too late, and the one of those before it that is expected last. */
static void add_overtaken(struct tc_strbuf *out, const struct tc_json *seen,
                          const struct tc_json *expected)
{
    const char *before = NULL;

    for (const struct tc_json *c = tc_json_first(seen); c; c = tc_json_next(c)) {
        const char *name = tc_json_text(c);
        if (!before || place_in(expected, name) > place_in(expected, before)) {
            before = name;
            continue;
        }
        tc_describe_call_name(before, out);
        tc_strbuf_adds(out, " before ");
        tc_describe_call_name(name, out);
        return;
    }
    add_calls(out, seen);
}

static void add_order(const struct tc_fact *fact, const struct tc_strtab *symbols, tc_sym value,
                      bool is_seen, struct tc_strbuf *out)
{
    const tc_sym expected = fact->value;
    struct tc_json *was = NULL, *is = NULL;

    if (!tc_json_parse(tc_strtab_text(symbols, expected), tc_strtab_size(symbols, expected), &was,
                       NULL) &&
        !tc_json_parse(tc_strtab_text(symbols, value), tc_strtab_size(symbols, value), &is, NULL)) {
        if (is_seen)
            add_overtaken(out, is, was);
        else
            add_calls(out, is);
    }
    tc_json_free(was);
    tc_json_free(is);
}

/* The operand of a flow. */
static void add_end(struct tc_strbuf *out, const char *name)
{
    if (!strcmp(name, "self"))
        tc_strbuf_adds(out, "the receiver");
    else
        tc_strbuf_addf(out, "tensor %s of the operands", name);
}

/* Where it comes from: "result 1 of number 2 of tensor()". */
static void add_start(struct tc_strbuf *out, const struct tc_strtab *symbols, const tc_sym *f)
{
    const char *name = tc_strtab_text(symbols, f[TC_FACT_IN]);

    if (f[TC_FACT_IN_OF] != TC_NO_SYM)
        tc_strbuf_addf(out, "%s of ", tc_strtab_text(symbols, f[TC_FACT_IN_OF]));
    if (strchr(name, '.'))
        tc_describe_call(symbols, f[TC_FACT_IN], out);
    else
        tc_strbuf_adds(out, name);
}

void tc_fact_describe_start(const struct tc_subject *flow, const struct tc_strtab *symbols,
                            struct tc_strbuf *out)
{
    add_start(out, symbols, flow->fields);
}

/* What a sentence says of one value. */
struct sentence {
    const struct tc_fact *fact;
    const struct tc_strtab *symbols;
    tc_sym value;
    struct tc_strbuf *out;
};

static void add_word(const struct sentence *s, char which)
{
    const tc_sym *f = s->fact->subject.fields;

    switch (which) {
    case 'p':
        add_operand(s->out, s->fact, s->symbols);
        break;
    case 'v':
        add_value(s->out, s->fact, s->symbols, s->value);
        break;
    case 's':
        tc_strbuf_adds(s->out, strcmp(tc_strtab_text(s->symbols, s->value), "1") ? "s" : "");
        break;
    case 'd':
        add_difference(s->out, s->fact, s->symbols, s->value);
        break;
    case 'i':
        add_end(s->out, tc_strtab_text(s->symbols, f[TC_FACT_NAME]));
        break;
    case 'w':
        add_start(s->out, s->symbols, f);
        break;
    case 'c':
    case 'x':
        add_order(s->fact, s->symbols, s->value, which == 'x', s->out);
        break;
    case 'o':
        add_call(s->out, s->symbols, f[TC_FACT_IN], f[TC_FACT_IN_OF]);
        break;
    }
}

static bool is_yes(const struct sentence *s)
{
    const char *value = tc_strtab_text(s->symbols, s->value);

    return strcmp(value, "false") && strcmp(value, "null") && strcmp(value, "\"\"");
}

static void add_sentence(const struct sentence *s, const char *words)
{
    bool is_left_out = false;

    for (; *words; words++) {
        if (*words == '{')
            is_left_out = !is_yes(s);
        else if (*words == '|')
            is_left_out = is_yes(s);
        else if (*words == '}')
            is_left_out = false;
        else if (*words == '%' && words++ && !is_left_out)
            add_word(s, *words);
        else if (!is_left_out)
            tc_strbuf_addc(s->out, *words);
    }
}

void tc_fact_describe_claim(const struct tc_fact *fact, const struct tc_strtab *symbols,
                            struct tc_strbuf *out)
{
    const struct sentence sentence = {fact, symbols, fact->value, out};

    add_sentence(&sentence, rows[fact->attribute].expected);
}

void tc_fact_describe(const struct tc_fact *fact, const struct tc_strtab *symbols,
                      struct tc_strbuf *out)
{
    tc_fact_describe_subject(fact, symbols, out);
    tc_strbuf_adds(out, ": ");
    tc_fact_describe_claim(fact, symbols, out);
}

void tc_fact_explain(const struct tc_fact *fact, const struct tc_strtab *symbols, tc_sym seen,
                     struct tc_strbuf *out)
{
    const struct sentence sentence = {fact, symbols, seen, out};

    tc_fact_describe_subject(fact, symbols, out);
    tc_strbuf_adds(out, ": ");
    add_sentence(&sentence, rows[fact->attribute].seen);
}
