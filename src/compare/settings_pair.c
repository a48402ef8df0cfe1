/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_pair.c - settings of two runs by name
 *
 * Paths and names of files are no difference: who runs a script twice writes to another place.
 */
#include "compare/settings_pair.h"

#include <ctype.h>
#include <string.h>

#include "replay/symbols.h"

static const struct tc_outline_setting *setting_named(const struct tc_outline *run,
                                                      const char *name)
{
    for (size_t i = 0; i < run->settings.n; i++)
        if (!strcmp(run->settings.items[i].name, name))
            return &run->settings.items[i];
    return NULL;
}

/* A path, or the name of a file: it has an ending that begins with a letter. */
static bool is_path(const char *value)
{
    const char *dot = strrchr(value, '.');

    return strchr(value, '/') || (dot && dot > value && isalpha((unsigned char)dot[1]));
}

static void add_setting_difference(struct tc_comparison *c, struct tc_differences *out,
                                   const char *name, const struct tc_outline_setting *a,
                                   const struct tc_outline_setting *b)
{
    bool is_first;
    const bool is_option = (a ? a : b)->is_option;
    const struct tc_difference seen = {
        .kind = is_option ? TC_DIFFERENCE_COMMAND : TC_DIFFERENCE_ENVIRONMENT,
        .what = TC_IS_OTHER,
        .site_a = TC_NO_SITE,
        .site_b = TC_NO_SITE,
        .path = tc_strtab_intern_text(c->symbols, name),
        .step = -1,
        .stage = TC_SYM_EMPTY,
    };
    struct tc_difference *d = tc_differences_add(out, &seen, &is_first);

    if (!d || !is_first)
        return;
    d->was = a ? tc_arena_text(&out->arena, a->value, strlen(a->value)) : NULL;
    d->is = b ? tc_arena_text(&out->arena, b->value, strlen(b->value)) : NULL;
}

static void compare_one(struct tc_comparison *c, struct tc_differences *out,
                        const struct tc_outline_setting *a, const struct tc_outline_setting *b)
{
    const struct tc_outline_setting *either = a ? a : b;

    if (either->is_recording || (a && b && !strcmp(a->value, b->value)))
        return;
    if (either->is_option && (!a || is_path(a->value)) && (!b || is_path(b->value)))
        return;
    add_setting_difference(c, out, either->name, a, b);
}

void tc_settings_compare(struct tc_comparison *c, const struct tc_outline *a,
                         const struct tc_outline *b, struct tc_differences *out)
{
    for (size_t i = 0; i < a->settings.n; i++)
        compare_one(c, out, &a->settings.items[i], setting_named(b, a->settings.items[i].name));
    for (size_t i = 0; i < b->settings.n; i++)
        if (!setting_named(a, b->settings.items[i].name))
            compare_one(c, out, NULL, &b->settings.items[i]);
}

enum tc_status tc_settings_comparable(const struct tc_outline *a, const struct tc_outline *b,
                                      struct tc_error *err)
{
    /* Of an excerpt that has all, no more is read than a selective trace has. */
    if (a->is_excerpt && !a->is_selective && b->is_selective)
        return TC_OK;
    for (size_t i = 0; i < a->settings.n; i++) {
        const struct tc_outline_setting *x = &a->settings.items[i];
        const struct tc_outline_setting *y = x->is_recording ? setting_named(b, x->name) : x;
        if (y && !strcmp(x->value, y->value))
            continue;
        return tc_error_set(err, TC_E_FORMAT,
                            "%s and %s cannot be compared: their calls were recorded with another "
                            "%s: %s, and %s",
                            a->name, b->name, x->name, x->value, y ? y->value : "none");
    }
    return TC_OK;
}
