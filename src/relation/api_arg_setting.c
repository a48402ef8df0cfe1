/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_setting.c - APIArg/setting: a call is always made with this very number or text
 *
 * How much a number is and what a text says are the script's own choice: facts of one script,
 * learned only where all traces are runs of it. Of calls that the script or its modules make
 * themselves, as what a library hands on follows from that; with the settings of the layer or the
 * optimizer that is called.
 */
#include "relation/operand_form.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/strbuf.h"
#include "relation/form.h"
#include "replay/symbols.h"

#define MAX_SETTINGS 64
#define MAX_TEXT     64

/* One call being read. */
struct settings {
    struct tc_strtab *symbols;
    tc_sym said[MAX_SETTINGS];
    size_t n;
};

static void say(struct settings *s, tc_sym left, tc_sym right)
{
    if (s->n < MAX_SETTINGS)
        s->said[s->n++] = TC_ATOM(s->symbols, left, TC_SYM_IS, right);
}

static bool is_setting(const struct tc_value *v)
{
    return v->kind == TC_VALUE_INT || (v->kind == TC_VALUE_FLOAT && isfinite(v->number)) ||
           (v->kind == TC_VALUE_STR && v->n <= MAX_TEXT);
}

/* As it comes back from an invariant file, which has one kind of number. */
static void print_setting(const struct tc_value *v, struct tc_strbuf *out)
{
    if (v->kind == TC_VALUE_STR)
        tc_strbuf_add_json(out, v->text, v->n);
    else
        tc_strbuf_add_number(out, v->kind == TC_VALUE_INT ? (double)v->integer : v->number);
}

static bool is_same(const struct tc_value *a, const struct tc_value *b)
{
    return tc_operand_is_same_scalar(a, b) ||
           (tc_value_str(a).text && tc_str_same(tc_value_str(a), tc_value_str(b)));
}

/* An argument by its name; a position in place of it means that the signature is not known. */
static bool is_named(struct tc_str key)
{
    return key.size && !(key.text[0] >= '0' && key.text[0] <= '9') &&
           !memchr(key.text, ' ', key.size);
}

static void read_member(struct settings *s, const char *prefix, const struct tc_member *m,
                        const struct tc_value *defaults)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (!is_named(m->key) || !is_setting(&m->value))
        return;
    tc_sym path = tc_symbols_join(s->symbols, prefix, m->key);
    print_setting(&m->value, &text);
    say(s, path, tc_strtab_intern(s->symbols, text.text, text.size));
    if (is_same(tc_value_get(defaults, tc_strtab_text(s->symbols, path) + strlen(prefix)),
                &m->value))
        say(s, TC_SYM_DEFAULT, path);
    tc_strbuf_release(&text);
}

static void read_object(struct settings *s, const char *prefix, const struct tc_value *object,
                        const struct tc_value *defaults)
{
    for (uint32_t i = 0; object && object->kind == TC_VALUE_OBJECT && i < object->n; i++)
        read_member(s, prefix, &object->members[i], defaults);
}

static bool has_settings(const struct tc_call *call)
{
    return call->role == TC_ROLE_STEP || call->role == TC_ROLE_LAYER;
}

/* Any seed is as good as another. */
static bool is_of_script(const struct tc_strtab *symbols, const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    return event->kind == TC_EVENT_CALL && !call->raised && !event->process->is_worker &&
           call->role != TC_ROLE_SEED && !tc_is_by_torch(symbols, call) &&
           (!call->parent || tc_role_has(call->parent->role, TC_TRAIT_FOREIGN) ||
            call->parent->is_root);
}

static void setting_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                            const struct tc_sink *sink)
{
    struct settings s = {.symbols = symbols};
    struct tc_situation situation;

    (void)state;
    if (!is_of_script(symbols, event))
        return;
    read_object(&s, "args.", event->call->args, event->call->defaults);
    if (has_settings(event->call))
        read_object(&s, "self.", tc_value_get(event->call->self, "attrs"), NULL);
    if (!s.n)
        return;
    tc_sym_sort(s.said, s.n);
    tc_situation_of_call(&situation, symbols, event->process, event->call, false);
    tc_situation_sort(&situation);
    struct tc_example example = {.key = event->call->descriptor,
                                 .situation = &situation,
                                 .outcome = s.said,
                                 .n_outcome = s.n};
    sink->example(sink->context, event, &example);
}

static bool is_claim(const struct tc_statement *s)
{
    return tc_path_is_argument(&s->left) || s->left.root == TC_PATH_SETTING;
}

/* What the object is set to is what is claimed: of such fields none explains it. */
static bool setting_bans(const struct tc_strtab *symbols, const struct tc_param *params,
                         size_t n_params, tc_sym field)
{
    (void)params;
    (void)n_params;
    return tc_path_read(symbols, field).root == TC_PATH_SETTING &&
           field != TC_SYM_F_SELF_TRAINING && field != TC_SYM_F_SELF_CLASS;
}

static const char *setting_undecidable(const struct tc_strtab *symbols,
                                       const struct tc_param *params, size_t n_params)
{
    const char *value = tc_strtab_text(symbols, params[1].to);

    (void)n_params;
    return strchr("\"-0123456789", value[0])
               ? NULL
               : "it compares numbers and texts; flags are compared by APIArg/constant";
}

/* It speaks of nothing else. */
static bool always(const struct tc_strtab *symbols, const struct tc_invariant *invariant,
                   const struct tc_example *example)
{
    (void)symbols;
    (void)invariant;
    (void)example;
    return true;
}

const struct tc_source tc_source_settings = {
    .name = "settings",
    .judged = "the return of a call of the script",
    .is_set = true,
    .observe = setting_observe,
};

const struct tc_relation tc_api_arg_setting = {
    .name = "APIArg/setting",
    .summary = "a call is always made with this number or text (--specific)",
    .hint = "Was this setting of the script meant to change?",
    .fault = TC_FAULT_AT_BEGIN,
    .source = &tc_source_settings,
    .is_specific = true,
    .is_setting = always,
    .bans = setting_bans,
    .mode_only = true,
    .states = is_claim,
    .usual = TC_SUPPORT_EVERY,
    .key = tc_operand_key,
    .undecidable = setting_undecidable,
    .holds = tc_operand_holds,
    .describe = tc_operand_describe,
    .explain = tc_operand_explain,
};
