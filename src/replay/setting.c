/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting.c - a parameter group or scaler, its numbers, and what each was when last used
 *
 * Groups are few and found by serial; the numbers of one are searched one by one and bounded by
 * MAX_SETTINGS. A name that comes again is another optimizer's, and the older one is forgotten.
 */
#include "replay/setting.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "replay/span.h"
#include "replay/symbols.h"
#include "trace/scan.h"

/* Settings of one group that are followed. */
#define MAX_SETTINGS 256

static struct tc_settings *find_settings(const struct tc_process *process, int64_t serial)
{
    return tc_map_find(&process->settings, (uint64_t)serial);
}

bool tc_setting_is_kind(struct tc_str kind)
{
    return tc_str_is(kind, "param_group") || tc_str_is(kind, "scaler");
}

bool tc_setting_is(const struct tc_process *process, const struct tc_record *record)
{
    if (!record->kind.text)
        return find_settings(process, record->var) != NULL;
    return tc_setting_is_kind(record->kind);
}

static void free_settings(struct tc_settings *settings)
{
    tc_vec_release(&settings->items);
    tc_free(settings);
}

void tc_process_free_settings(struct tc_process *process)
{
    struct tc_settings *settings;

    for (size_t pos = 0; (settings = tc_map_next(&process->settings, &pos));)
        free_settings(settings);
    tc_map_release(&process->settings);
}

void tc_setting_use(struct tc_process *process)
{
    struct tc_settings *settings;

    for (size_t pos = 0; (settings = tc_map_next(&process->settings, &pos));)
        for (size_t i = 0; i < settings->items.n; i++) {
            settings->items.items[i].used = settings->items.items[i].value;
            settings->items.items[i].used_number = settings->items.items[i].number;
            settings->items.items[i].has_used = true;
        }
}

/* A name that comes again is that of another optimizer: the one before is gone. */
static void forget_namesake(struct tc_process *process, tc_sym name)
{
    struct tc_settings *settings;

    for (size_t pos = 0; (settings = tc_map_next(&process->settings, &pos));) {
        if (settings->name != name)
            continue;
        tc_map_remove(&process->settings, (uint64_t)settings->serial);
        free_settings(settings);
        return;
    }
}

static struct tc_settings *add_settings(struct tc_process *process, struct tc_strtab *symbols,
                                        const struct tc_record *record)
{
    struct tc_settings *settings = tc_calloc(1, sizeof(*settings));

    settings->serial = record->var;
    settings->name = tc_symbols_str(symbols, record->name);
    settings->kind = tc_symbols_str(symbols, record->kind);
    forget_namesake(process, settings->name);
    tc_map_put(&process->settings, (uint64_t)record->var, (uintptr_t)settings);
    return settings;
}

/* "GROUP.ATTR" */
static tc_sym path_of(struct tc_strtab *symbols, tc_sym group, tc_sym attr)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "%s.%s", tc_strtab_text(symbols, group), tc_strtab_text(symbols, attr));
    tc_sym sym = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return sym;
}

tc_atom tc_setting_atom(struct tc_strtab *symbols, tc_sym kind, bool is_idle)
{
    return TC_ATOM(symbols, is_idle ? TC_SYM_SET_IDLE : TC_SYM_SET, kind);
}

static struct tc_setting *item_at(struct tc_settings *settings, struct tc_strtab *symbols,
                                  struct tc_str name, bool *is_new)
{
    tc_sym attr = tc_symbols_str(symbols, name);

    *is_new = false;
    for (size_t i = 0; i < settings->items.n; i++)
        if (settings->items.items[i].attr == attr)
            return &settings->items.items[i];
    if (settings->items.n == MAX_SETTINGS)
        return NULL;
    *is_new = true;
    struct tc_setting item = {.attr = attr, .path = path_of(symbols, settings->name, attr)};
    tc_vec_push(&settings->items, item);
    return &settings->items.items[settings->items.n - 1];
}

static double number_in_value(const struct tc_value *value)
{
    double number;

    return tc_value_number(value, &number) ? number : NAN;
}

static void set(struct tc_settings *settings, struct tc_strtab *symbols,
                const struct tc_member *member, struct tc_call *cause)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    bool is_new;

    if (tc_str_is(member->key, "idle")) {
        settings->is_idle = tc_value_is_true(&member->value);
        return;
    }
    struct tc_setting *item = item_at(settings, symbols, member->key, &is_new);

    if (!item)
        return;
    tc_value_print(&member->value, &text);
    uint64_t value = tc_hash64(text.text, text.size, 0);
    if (!is_new && cause && value != item->value)
        tc_call_add_atom(cause, tc_setting_atom(symbols, settings->kind, settings->is_idle));
    item->value = value;
    item->number = number_in_value(&member->value);
    tc_strbuf_release(&text);
}

void tc_setting_apply(struct tc_process *process, struct tc_strtab *symbols,
                      const struct tc_record *record, struct tc_call *cause)
{
    struct tc_settings *settings = find_settings(process, record->var);

    if (!settings)
        settings = add_settings(process, symbols, record);
    if (record->attrs && record->attrs->kind == TC_VALUE_OBJECT)
        for (uint32_t i = 0; i < record->attrs->n; i++)
            set(settings, symbols, &record->attrs->members[i], cause);
}
