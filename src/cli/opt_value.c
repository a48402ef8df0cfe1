/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt_value.c - the text of an option checked by its kind and stored in its member
 *
 * A value is taken whole or refused, with what was wanted: no number out of " 1", "-1" or "1x".
 * Lists grow in the parser's arena and are freed with it. Texts are borrowed: argv and the arena
 * outlive the options.
 */
#include "cli/opt_value.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool tc_opt_takes_value(const struct tc_opt *opt)
{
    return opt->kind != TC_OPT_FLAG && opt->kind != TC_OPT_COUNT;
}

void tc_opt_list_add(struct tc_opt_list *list, const char *item, struct tc_arena *arena)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 8;
        const char **items = tc_arena_alloc(arena, cap * sizeof(*items));
        if (list->n)
            memcpy(items, list->items, list->n * sizeof(*items));
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = item;
}

static void add_names(struct tc_opt_list *list, const char *value, struct tc_arena *arena)
{
    while (*value) {
        size_t size = strcspn(value, ",");
        if (size)
            tc_opt_list_add(list, tc_arena_text(arena, value, size), arena);
        value += size + (value[size] == ',');
    }
}

/* Digits only: strtoull alone would take "-1" and " 1". */
static bool parse_digits(const char *text, uint64_t *n, const char **end)
{
    char *stop;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *n = strtoull(text, &stop, 10);
    *end = stop;
    return errno == 0;
}

static bool parse_uint(const char *text, unsigned *out)
{
    uint64_t n;
    const char *end;
    if (!parse_digits(text, &n, &end) || *end || n > UINT_MAX)
        return false;
    *out = (unsigned)n;
    return true;
}

static bool parse_size(const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    uint64_t n;
    const char *end;
    if (!parse_digits(text, &n, &end))
        return false;
    unsigned shift = 0;
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
        end += strcmp(end, "iB") == 0 ? 2 : strcmp(end, "B") == 0;
    }
    if (*end || n > UINT64_MAX >> shift)
        return false;
    *out = n << shift;
    return true;
}

/* Up to four digits behind the point; the sign may be left out. */
static bool parse_percent(const char *text, unsigned *out)
{
    uint64_t whole, n = 0;
    unsigned n_digits = 0;
    const char *end;

    if (!parse_digits(text, &whole, &end) || whole > 100)
        return false;
    if (*end == '.')
        for (end++; n_digits < 4 && *end >= '0' && *end <= '9'; n_digits++)
            n = n * 10 + (uint64_t)(*end++ - '0');
    if (end[-1] == '.' || strcmp(end + (*end == '%'), "") != 0)
        return false;
    for (; n_digits < 4; n_digits++)
        n *= 10;
    *out = (unsigned)(whole * 10000 + n);
    return *out > 0 && *out <= 1000000;
}

static bool parse_choice(const char *choices, const char *text, unsigned *out)
{
    size_t size = strlen(text);
    for (unsigned i = 0; *choices; i++) {
        size_t n = strcspn(choices, "|");
        if (n == size && strncmp(choices, text, n) == 0) {
            *out = i;
            return true;
        }
        choices += n + (choices[n] == '|');
    }
    return false;
}

static enum tc_status refuse(const struct tc_opt *opt, const char *value, const char *wanted,
                             struct tc_error *err)
{
    return tc_error_set(err, TC_E_USAGE, "option '--%s': '%s' is not %s", opt->name, value, wanted);
}

enum tc_status tc_opt_value_set(const struct tc_opt_parser *parser, const struct tc_opt *opt,
                                const char *value, struct tc_error *err)
{
    void *member = (char *)parser->config + opt->offset;
    switch (opt->kind) {
    case TC_OPT_FLAG:
        *(bool *)member = true;
        return TC_OK;
    case TC_OPT_COUNT:
        ++*(unsigned *)member;
        return TC_OK;
    case TC_OPT_STRING:
        *(const char **)member = value;
        return TC_OK;
    case TC_OPT_LIST:
        tc_opt_list_add(member, value, parser->arena);
        return TC_OK;
    case TC_OPT_NAMES:
        add_names(member, value, parser->arena);
        return TC_OK;
    case TC_OPT_UINT:
        return parse_uint(value, member) ? TC_OK : refuse(opt, value, "a whole number", err);
    case TC_OPT_SIZE:
        return parse_size(value, member) ? TC_OK : refuse(opt, value, "a size such as 64M", err);
    case TC_OPT_PERCENT:
        return parse_percent(value, member) ? TC_OK : refuse(opt, value, "a part such as 2%", err);
    case TC_OPT_CHOICE:
        return parse_choice(opt->argument, value, member) ? TC_OK
                                                          : refuse(opt, value, opt->argument, err);
    }
    return TC_OK;
}
