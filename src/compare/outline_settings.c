/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outline_settings.c - what a process record says of how a run began
 *
 * Packages, options of the command line and how calls were recorded become settings with a name
 * and a text, which settings_pair.c compares.
 */
#include <string.h>

#include "base/strbuf.h"
#include "compare/outline.h"

static void add_setting(struct tc_outline *run, const char *name, const char *value, size_t size,
                        bool is_option)
{
    const struct tc_outline_setting setting = {
        .name = tc_arena_text(&run->arena, name, strlen(name)),
        .value = tc_arena_text(&run->arena, value, size),
        .is_option = is_option,
    };

    tc_vec_push(&run->settings, setting);
}

static void add_value(struct tc_outline *run, const char *name, const struct tc_value *v)
{
    char text[256];

    if (!v)
        return;
    if (v->kind == TC_VALUE_STR) {
        add_setting(run, name, v->text, v->n, false);
        return;
    }
    tc_value_json(v, text, sizeof(text));
    add_setting(run, name, text, strlen(text), false);
}

/* How calls are recorded decides which calls a trace has. */
static void add_recording(struct tc_outline *run, const char *name, const struct tc_value *v)
{
    const size_t n = run->settings.n;

    add_value(run, name, v);
    for (size_t i = n; i < run->settings.n; i++)
        run->settings.items[i].is_recording = true;
}

static void add_packages(struct tc_outline *run, const struct tc_value *packages)
{
    struct tc_strbuf name = TC_STRBUF_INIT;

    for (uint32_t i = 0; packages && packages->kind == TC_VALUE_OBJECT && i < packages->n; i++) {
        tc_strbuf_reset(&name);
        tc_strbuf_add(&name, packages->members[i].key.text, packages->members[i].key.size);
        add_value(run, name.text, &packages->members[i].value);
    }
    tc_strbuf_release(&name);
}

static bool is_option(const struct tc_value *v)
{
    return v->kind == TC_VALUE_STR && v->n > 1 && v->text[0] == '-' &&
           !(v->text[1] >= '0' && v->text[1] <= '9');
}

/* --name value, --name=value, --name; what is no option has its place for a name. */
static void add_arguments(struct tc_outline *run, const struct tc_value *argv)
{
    struct tc_strbuf name = TC_STRBUF_INIT;

    for (uint32_t i = 1; argv && argv->kind == TC_VALUE_ARRAY && i < argv->n; i++) {
        const struct tc_value *v = &argv->items[i];
        if (v->kind != TC_VALUE_STR)
            continue;
        const char *equals = is_option(v) ? memchr(v->text, '=', v->n) : NULL;
        const bool has_value = is_option(v) && !equals && i + 1 < argv->n &&
                               argv->items[i + 1].kind == TC_VALUE_STR &&
                               !is_option(&argv->items[i + 1]);
        tc_strbuf_reset(&name);
        if (!is_option(v))
            tc_strbuf_addf(&name, "argument %u", (unsigned)i);
        else
            tc_strbuf_add(&name, v->text, equals ? (size_t)(equals - v->text) : v->n);
        if (has_value)
            i++;
        if (equals)
            add_setting(run, name.text, equals + 1, v->n - (size_t)(equals + 1 - v->text), true);
        else if (has_value || !is_option(v))
            add_setting(run, name.text, argv->items[i].text, argv->items[i].n, true);
        else
            add_setting(run, name.text, "given", 5, true);
    }
    tc_strbuf_release(&name);
}

void tc_outline_add_settings(struct tc_outline *run, const struct tc_record *process)
{
    const struct tc_value *object = process->object;

    add_value(run, "python", tc_value_get(object, "python"));
    add_packages(run, tc_value_get(object, "packages"));
    add_value(run, "world size", tc_value_get(object, "world_size"));
    add_recording(run, "mode", tc_value_get(object, "mode"));
    add_recording(run, "invariants", tc_value_get(object, "invariants"));
    add_recording(run, "operators", tc_value_get(object, "operators"));
    add_arguments(run, tc_value_get(object, "argv"));
}
