/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phrase_list.c - lists of names in sentences: cut where they are long, and what two of them differ
 * in
 *
 * Of so many names as there is room for, and then how many more. Names of calls are reported as a
 * user of torch would write them.
 */
#include "fact/phrase_list.h"

#include <string.h>

#include "invariant/describe.h"

/* So many names of a list are reported, as long as there is room for them. */
#define SHOWN_NAMES 4
#define SHOWN_BYTES 60

/* A list that is cut: give each name, then end it. */
struct list {
    struct tc_strbuf *out;
    size_t n, n_more, begin;
};

static void add_item(struct list *list, const char *name, bool is_call)
{
    if (list->n == SHOWN_NAMES || list->n_more ||
        (list->n && list->out->size - list->begin + strlen(name) > SHOWN_BYTES)) {
        list->n_more++;
        return;
    }
    tc_strbuf_adds(list->out, list->n++ ? ", " : "");
    if (is_call && strchr(name, '.'))
        tc_describe_call_name(name, list->out);
    else
        tc_strbuf_adds(list->out, name);
}

static void end_list(const struct list *list)
{
    if (list->n_more)
        tc_strbuf_addf(list->out, " and %zu more", list->n_more);
}

static struct list list_in(struct tc_strbuf *out)
{
    return (struct list){.out = out, .begin = out->size};
}

void tc_phrase_names(const struct tc_json *array, bool are_calls, struct tc_strbuf *out)
{
    struct list list = list_in(out);

    for (const struct tc_json *c = tc_json_first(array); c; c = tc_json_next(c))
        if (tc_json_text(c))
            add_item(&list, tc_json_text(c), are_calls);
    end_list(&list);
}

struct tc_json *tc_phrase_json(const struct tc_strtab *symbols, tc_sym value)
{
    struct tc_json *json = NULL;

    if (tc_json_parse(tc_strtab_text(symbols, value), tc_strtab_size(symbols, value), &json, NULL))
        return NULL;
    return json;
}

void tc_phrase_calls(const struct tc_strtab *symbols, tc_sym names, struct tc_strbuf *out)
{
    struct tc_json *array = tc_phrase_json(symbols, names);

    tc_phrase_names(array, true, out);
    tc_json_free(array);
}

/* ---- two lists ------------------------------------------------------------------------------- */

/* The place of a name, n of them if it is none. */
static size_t place_in(const struct tc_json *names, const char *name)
{
    const struct tc_json *c = tc_json_first(names);
    size_t i = 0;

    for (; c && (!tc_json_text(c) || !name || strcmp(tc_json_text(c), name) != 0); i++)
        c = tc_json_next(c);
    return i;
}

/* ": a, b are new": of two sets what the first has alone. */
static void add_rest(const char *before, const struct tc_json *a, const struct tc_json *b,
                     const char *after, struct tc_strbuf *out)
{
    struct list list = {0};
    size_t n = 0;

    for (const struct tc_json *c = tc_json_first(a); c; c = tc_json_next(c)) {
        if (!tc_json_text(c) || place_in(b, tc_json_text(c)) < tc_json_count(b))
            continue;
        if (!n++) {
            tc_strbuf_adds(out, before);
            list = list_in(out);
        }
        add_item(&list, tc_json_text(c), false);
    }
    if (!n)
        return;
    end_list(&list);
    tc_strbuf_addf(out, n == 1 ? " is %s" : " are %s", after);
}

void tc_phrase_difference(const struct tc_strtab *symbols, tc_sym was, tc_sym is,
                          struct tc_strbuf *out)
{
    struct tc_json *old = tc_phrase_json(symbols, was), *new = tc_phrase_json(symbols, is);
    const size_t n_old = tc_json_count(old), n_new = tc_json_count(new);

    tc_strbuf_addf(out, n_new == n_old ? "other variables" : "%zu variable%s, not %zu", n_new,
                   n_new == 1 ? "" : "s", n_old);
    const size_t size = out->size;
    add_rest(": ", new, old, "new", out);
    add_rest(out->size > size ? ", " : ": ", old, new, "gone", out);
    tc_json_free(old);
    tc_json_free(new);
}

static bool has_name(const char *list, const char *name, size_t size)
{
    for (size_t n; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (n == size && !memcmp(list, name, n))
            return true;
    }
    return false;
}

/* Of names with commas those that are not among the others; how many they are. */
size_t tc_phrase_split(const char *text, const char *others, struct tc_strbuf *out)
{
    struct list list = list_in(out);

    for (size_t n; *text; text += n + (text[n] == ',')) {
        struct tc_strbuf name = TC_STRBUF_INIT;
        n = strcspn(text, ",");
        tc_strbuf_add(&name, text, n);
        if (!has_name(others, text, n))
            add_item(&list, name.text, false);
        tc_strbuf_release(&name);
    }
    end_list(&list);
    return list.n + list.n_more;
}

size_t tc_phrase_rest(const struct tc_strtab *symbols, tc_sym names, tc_sym others,
                      struct tc_strbuf *out)
{
    struct tc_json *mine = tc_phrase_json(symbols, names),
                   *theirs = tc_phrase_json(symbols, others);
    const char *text = tc_json_text(mine) ? tc_json_text(mine) : "";
    const char *other = tc_json_text(theirs) ? tc_json_text(theirs) : "";
    const size_t n = tc_phrase_split(text, other, out);

    tc_json_free(mine);
    tc_json_free(theirs);
    return n;
}
