/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phrase.c - what sentences about facts name: calls, operands, flows, values
 *
 * Words of subjects and values are read as files have them, and told as a user of torch would
 * write them. Output is appended, nothing is kept.
 */
#include "fact/phrase.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fact/attribute.h"
#include "fact/phrase_list.h"
#include "invariant/describe.h"

/* What they return is reported as the parameters that it is. */
#define INITIALISERS "torch.nn.init."

static bool starts(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Without the folders of the package: "torch.nn.modules.Linear" is Linear. */
static const char *class_name(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot ? dot + 1 : name;
}

/* A method is reported with the class that was met, which may have inherited it. */
void tc_phrase_call(const struct tc_strtab *symbols, tc_sym fn, tc_sym of, struct tc_strbuf *out)
{
    const char *name = tc_strtab_text(symbols, fn), *last = class_name(name);
    const char *class = of == TC_NO_SYM ? "_" : class_name(tc_strtab_text(symbols, of));
    struct tc_strbuf plain = TC_STRBUF_INIT;

    tc_describe_call_name(name, &plain);
    if (*class == '_' || (!starts(name, "root.") && !isupper((unsigned char)*plain.text)))
        tc_strbuf_adds(out, plain.text);
    else if (!strcmp(last, "__init__"))
        tc_strbuf_addf(out, "%s()", class);
    else if (starts(name, "root."))
        tc_strbuf_addf(out, "%s.forward()", class);
    else
        tc_strbuf_addf(out, "%s.%s()", class, last);
    tc_strbuf_release(&plain);
}

static void add_api(const char *name, size_t size, struct tc_strbuf *out)
{
    struct tc_strbuf part = TC_STRBUF_INIT;

    tc_strbuf_add(&part, name, size);
    tc_describe_call_name(part.text, out);
    tc_strbuf_release(&part);
}

static void add_ordinal(const char *number, struct tc_strbuf *out)
{
    static const char *const words[] = {"first", "second", "third",   "fourth",
                                        "fifth", "sixth",  "seventh", "eighth"};
    const unsigned long n = strtoul(number, NULL, 10);

    if (n && n <= sizeof(words) / sizeof(*words))
        tc_strbuf_addf(out, "the %s ", words[n - 1]);
    else
        tc_strbuf_addf(out, "number %lu of ", n);
}

/* " on Tensor.sum()": the call that made the first operand. */
static void add_maker(const char *name, struct tc_strbuf *out)
{
    tc_strbuf_adds(out, " on ");
    if (starts(name, "outside"))
        tc_strbuf_adds(out, "untraced data");
    else if (starts(name, "root."))
        tc_strbuf_adds(out, "model()");
    else if (strchr(name, '.'))
        add_api(name, strlen(name), out);
    else
        tc_strbuf_adds(out, name);
}

static void add_changer(const struct tc_strtab *symbols, tc_sym fn, tc_sym number,
                        struct tc_strbuf *out)
{
    const char *name = fn == TC_NO_SYM ? "every call" : tc_strtab_text(symbols, fn);

    if (number != TC_NO_SYM) {
        add_ordinal(tc_strtab_text(symbols, number), out);
        tc_strbuf_adds(out, "backward() of a step");
    } else if (strchr(name, '.'))
        tc_describe_call_name(name, out);
    else if (!strcmp(name, "nobody"))
        tc_strbuf_adds(out, "code outside of all recorded calls");
    else if (!strcmp(name, "step"))
        tc_strbuf_adds(out, "the optimizer's step");
    else
        tc_strbuf_addf(out, "%s%s", name, strcmp(name, "backward") ? "" : "()");
}

/* ---- subjects ------------------------------------------------------------------------------- */

static void add_counted_call(const struct tc_strtab *symbols, const tc_sym *f,
                             struct tc_strbuf *out)
{
    const char *number =
        f[TC_FACT_NAME] == TC_NO_SYM ? "" : tc_strtab_text(symbols, f[TC_FACT_NAME]);

    if (isdigit((unsigned char)*number))
        add_ordinal(number, out);
    tc_phrase_call(symbols, f[TC_FACT_FN], f[TC_FACT_OF], out);
    if (f[TC_FACT_BY] != TC_NO_SYM)
        add_maker(tc_strtab_text(symbols, f[TC_FACT_BY]), out);
}

void tc_phrase_subject(const struct tc_strtab *symbols, const struct tc_subject *subject,
                       struct tc_strbuf *out)
{
    const tc_sym *f = subject->fields;

    switch ((enum tc_subject_kind)subject->kind) {
    case TC_SUBJECT_CHANGES:
        add_changer(symbols, f[TC_FACT_FN], f[TC_FACT_NAME], out);
        break;
    case TC_SUBJECT_VARIABLE:
    case TC_SUBJECT_USE:
        tc_strbuf_adds(out, f[TC_FACT_NAME] == TC_NO_SYM
                                ? "a variable"
                                : tc_strtab_text(symbols, f[TC_FACT_NAME]));
        break;
    case TC_SUBJECT_VARIABLES:
        tc_strbuf_adds(out, "the script");
        break;
    case TC_SUBJECT_CALL:
        add_counted_call(symbols, f, out);
        break;
    default:
        if (f[TC_FACT_FN] == TC_NO_SYM)
            tc_strbuf_adds(out, "the script");
        else
            tc_phrase_call(symbols, f[TC_FACT_FN], f[TC_FACT_OF], out);
    }
}

void tc_phrase_module(const struct tc_strtab *symbols, const struct tc_subject *subject,
                      struct tc_strbuf *out)
{
    const tc_sym name = subject->fields[TC_FACT_NAME], of = subject->fields[TC_FACT_OF];
    const char *text = name == TC_NO_SYM ? "" : tc_strtab_text(symbols, name);
    const char *dot = strrchr(text, '.');

    if (subject->kind == TC_SUBJECT_VARIABLE && dot)
        tc_strbuf_add(out, text, (size_t)(dot - text));
    else
        tc_strbuf_adds(out,
                       of == TC_NO_SYM ? "the module" : class_name(tc_strtab_text(symbols, of)));
}

/* A stage is called evaluation where a model runs that is not trained, as in a rollout. */
static void add_stage(const char *stage, bool no_grad, struct tc_strbuf *out)
{
    static const struct {
        const char *stage, *words;
    } stages[] = {
        {"training",      " in training"         },
        {"evaluation",    " outside of training" },
        {"init",          " before training"     },
        {"checkpointing", " while state is saved"},
    };
    const char *words = "";

    for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++)
        if (!strcmp(stage, stages[i].stage))
            words = stages[i].words;
    if (!*words && *stage)
        tc_strbuf_addf(out, " at %s", stage);
    else if (!no_grad || strcmp(stage, "evaluation") != 0)
        tc_strbuf_adds(out, words);
    if (no_grad)
        tc_strbuf_adds(out, " under no_grad");
}

void tc_phrase_context(const struct tc_strtab *symbols, const struct tc_subject *subject,
                       struct tc_strbuf *out)
{
    const tc_sym *f = subject->fields;

    if (f[TC_FACT_IN] != TC_NO_SYM && subject->kind == TC_SUBJECT_CALL) {
        tc_strbuf_adds(out, " in ");
        tc_phrase_call(symbols, f[TC_FACT_IN], f[TC_FACT_IN_OF], out);
    }
    if (f[TC_FACT_BY] != TC_NO_SYM && subject->kind == TC_SUBJECT_VARIABLE) {
        if (strcmp(tc_strtab_text(symbols, f[TC_FACT_BY]), "nobody") != 0) {
            tc_strbuf_adds(out, " after ");
            add_changer(symbols, f[TC_FACT_BY], TC_NO_SYM, out);
        } else
            tc_strbuf_adds(out, " later on");
    } else if (f[TC_FACT_BY] != TC_NO_SYM && subject->kind == TC_SUBJECT_FLOW)
        tc_strbuf_adds(out, " for a batch");
    add_stage(f[TC_FACT_STAGE] == TC_NO_SYM ? "" : tc_strtab_text(symbols, f[TC_FACT_STAGE]),
              f[TC_FACT_GRAD] != TC_NO_SYM, out);
}

/* ---- operands ------------------------------------------------------------------------------- */

/* The name of an operand, whose last index is a dimension. */
static void add_path(const char *path, bool is_dim, struct tc_strbuf *out)
{
    static const struct {
        const char *prefix, *words;
    } parts[] = {
        {"args.", ""            },
        {"value", "the result"  },
        {"self.", ""            },
        {"self",  "the input"   },
        {"args",  "the operands"},
    };
    const char *dim = is_dim ? strrchr(path, '[') : NULL, *words = "";

    if (dim)
        tc_strbuf_addf(out, "dim %lu of ", strtoul(dim + 1, NULL, 10));
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !*words; i++)
        if (starts(path, parts[i].prefix)) {
            words = parts[i].words;
            path += strlen(parts[i].prefix);
            if (!*words)
                break;
        }
    if (!*words && isdigit((unsigned char)*path))
        words = "argument ";
    if (*words == 't' && path != dim && *path)
        words += strlen("the "); /* "result[0]" */
    tc_strbuf_adds(out, words);
    tc_strbuf_add(out, path, dim ? (size_t)(dim - path) : strlen(path));
}

void tc_phrase_operand(const struct tc_strtab *symbols, const struct tc_fact *fact,
                       struct tc_strbuf *out)
{
    const struct tc_subject *subject = &fact->subject;
    const tc_sym of = subject->fields[TC_FACT_OF];
    const char *path = fact->path == TC_NO_SYM ? "" : tc_strtab_text(symbols, fact->path);

    if (fact->attribute == TC_ATTRIBUTE_LENGTH &&
        (!strcmp(path, "args.params") || !strcmp(path, "args.parameters")))
        tc_strbuf_adds(out, "the list of parameters");
    else
        add_path(path, fact->attribute == TC_ATTRIBUTE_DIM, out);
    if (*path)
        tc_strbuf_adds(out, " of ");
    if (starts(path, "self.") && of != TC_NO_SYM)
        tc_strbuf_adds(out, class_name(tc_strtab_text(symbols, of)));
    else
        tc_phrase_subject(symbols, subject, out);
}

/* ---- flows ---------------------------------------------------------------------------------- */

/* "result 1 of number 2 of an earlier call", as flow.c writes it; "" is the result of the call. */
static void add_which(const char *which, struct tc_strbuf *out)
{
    unsigned long n;
    bool has_result = starts(which, "result ");

    if (has_result) {
        n = strtoul(which + strlen("result "), (char **)&which, 10);
        tc_strbuf_addf(out, "result %lu of ", n);
        which += starts(which, " of ") ? strlen(" of ") : 0;
    } else
        tc_strbuf_adds(out, "the result of ");
    if (starts(which, "number "))
        add_ordinal(which + strlen("number "), out);
    if (strstr(which, "earlier"))
        tc_strbuf_adds(out, starts(which, "number ") ? "earlier " : "an earlier ");
}

void tc_phrase_start(const struct tc_strtab *symbols, const struct tc_subject *flow,
                     struct tc_strbuf *out)
{
    const char *name = tc_strtab_text(symbols, flow->fields[TC_FACT_IN]);
    const tc_sym which = flow->fields[TC_FACT_IN_OF];

    if (!strchr(name, '.')) {
        tc_strbuf_addf(out, strcmp(name, "outside") ? "a %s" : "untraced data", name);
        return;
    }
    if (starts(name, INITIALISERS))
        tc_strbuf_adds(out, "a parameter initialised by ");
    else
        add_which(which == TC_NO_SYM ? "" : tc_strtab_text(symbols, which), out);
    if (starts(name, "root."))
        tc_strbuf_adds(out, "model()");
    else
        tc_describe_call_name(name, out);
}

void tc_phrase_starts(const struct tc_strtab *symbols, const struct tc_subject *flow, const char *n,
                      struct tc_strbuf *out)
{
    const char *name = tc_strtab_text(symbols, flow->fields[TC_FACT_IN]);
    const char *s = strcmp(n, "1") ? "s" : "";

    if (starts(name, INITIALISERS)) {
        tc_strbuf_addf(out, "%s parameter%s initialised by ", n, s);
        tc_describe_call_name(name, out);
    } else if (!strchr(name, '.'))
        tc_strbuf_addf(out, "%s %s%s%s", n, strcmp(name, "outside") ? name : "tensor", s,
                       strcmp(name, "outside") ? "" : " of untraced data");
    else {
        tc_phrase_start(symbols, flow, out);
        tc_strbuf_addc(out, ' ');
        tc_phrase_times(n, out);
    }
}

void tc_phrase_not_starts(const struct tc_strtab *symbols, const struct tc_subject *flow,
                          const char *n, struct tc_strbuf *out)
{
    const char *name = tc_strtab_text(symbols, flow->fields[TC_FACT_IN]);
    const char *end = tc_strtab_text(symbols, flow->fields[TC_FACT_NAME]);

    tc_strbuf_adds(out, ", not ");
    if (strchr(name, '.') && !starts(name, INITIALISERS))
        tc_phrase_times(n, out);
    else
        tc_strbuf_addf(out, "%s%s", strcmp(end, "self") ? "" : "on ", n);
}

void tc_phrase_times(const char *n, struct tc_strbuf *out)
{
    static const char *const words[] = {"never", "once", "twice"};

    if (n[0] >= '0' && n[0] <= '2' && !n[1])
        tc_strbuf_adds(out, words[n[0] - '0']);
    else
        tc_strbuf_addf(out, "%s times", n);
}

/* ---- values --------------------------------------------------------------------------------- */

/* A number as a person writes it. */
static void add_number(const char *json, struct tc_strbuf *out)
{
    if (strchr(json, '.') && strlen(json) > 8)
        tc_strbuf_addf(out, "%.6g", strtod(json, NULL));
    else
        tc_strbuf_adds(out, json);
}

/* "self = args.other": operands by their names, "self and other". */
static void add_operands(const char *text, struct tc_strbuf *out)
{
    while (*text) {
        const size_t n = strcspn(text, " ,");
        if (n == 1 && *text == '=')
            tc_strbuf_adds(out, "and");
        else if (n)
            tc_strbuf_add(out, starts(text, "args.") ? text + 5 : text,
                          starts(text, "args.") ? n - 5 : n);
        text += n;
        if (*text)
            tc_strbuf_addc(out, *text++);
    }
}

static void add_text(enum tc_attribute attribute, const char *text, struct tc_strbuf *out)
{
    if (attribute == TC_ATTRIBUTE_SOURCE && strchr(text, '.')) {
        tc_describe_call_name(text, out);
    } else if (attribute == TC_ATTRIBUTE_SOURCE)
        tc_strbuf_addf(out, strcmp(text, "outside") ? "a %s" : "untraced data", text);
    else if (attribute == TC_ATTRIBUTE_KEYS)
        tc_phrase_split(text, "", out);
    else if (attribute == TC_ATTRIBUTE_EQUALS || attribute == TC_ATTRIBUTE_ALIKE)
        add_operands(text, out);
    else
        tc_strbuf_adds(out, *text ? text : "none");
}

static void add_array(const struct tc_json *array, const char *raw, struct tc_strbuf *out)
{
    const struct tc_json *first = tc_json_first(array);
    const size_t n = tc_json_count(array);

    if (tc_json_is_string(first)) {
        tc_strbuf_addf(out, "%zu variable%s: ", n, n == 1 ? "" : "s");
        tc_phrase_names(array, false, out);
    } else
        tc_strbuf_adds(out, raw);
}

void tc_phrase_value(const struct tc_strtab *symbols, const struct tc_fact *fact, tc_sym value,
                     struct tc_strbuf *out)
{
    const enum tc_attribute attribute = (enum tc_attribute)fact->attribute;
    static const char *const words[][2] = {
        {TC_FACT_A_TENSOR,  "a tensor" },
        {TC_FACT_AN_OBJECT, "an object"},
        {"null",            "None"     },
        {"true",            "True"     },
        {"false",           "False"    },
    };
    const char *raw = tc_strtab_text(symbols, value);
    struct tc_json *json = tc_phrase_json(symbols, value);

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (!strcmp(raw, words[i][0])) {
            tc_strbuf_adds(out, words[i][1]);
            tc_json_free(json);
            return;
        }
    if (tc_json_text(json) && attribute != TC_ATTRIBUTE_VALUE)
        add_text(attribute, tc_json_text(json), out);
    else if (tc_json_is_array(json))
        add_array(json, raw, out);
    else if (tc_json_is_number(json))
        add_number(raw, out);
    else if (!json && starts(raw, "\"always {"))
        tc_strbuf_adds(out, strstr(raw, "tensor") ? "always a tensor" : "always an object");
    else
        tc_strbuf_adds(out, raw);
    tc_json_free(json);
}
