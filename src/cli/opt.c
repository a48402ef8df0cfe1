/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt.c - one pass over the words of a command line, by the tool's table
 *
 * The tool's rows come first, then those that tools share, then --help and its like, which are
 * answered at once. Each row has a bit by its place: what was given on the command line wins over
 * the same option of a file, which is read later (tc_opt_from_file).
 */
#include "cli/opt.h"

#include <string.h>

#include "cli/opt_complete.h"
#include "cli/opt_help.h"
#include "cli/opt_man.h"
#include "cli/opt_near.h"
#include "cli/opt_value.h"

struct words {
    struct tc_opt_parser *parser;
    int argc, i; /* argv[i] is the next word */
    char **argv;
    struct tc_strbuf *answer;
    struct tc_error *err;
};

static bool is_common(const struct tc_opt *opt)
{
    for (const struct tc_opt *row = tc_opt_common; row->name; row++)
        if (row == opt)
            return true;
    return false;
}

static bool same_name(const char *name, const char *text, size_t size)
{
    return strlen(name) == size && strncmp(name, text, size) == 0;
}

static const struct tc_opt *find_long(const struct tc_opt_tool *tool, const char *text, size_t size)
{
    const struct tc_opt *opt;
    for (size_t i = 0; (opt = tc_opt_row(tool, i)); i++)
        if (same_name(opt->name, text, size))
            return opt;
    return NULL;
}

static const struct tc_opt *find_letter(const struct tc_opt_tool *tool, char letter)
{
    const struct tc_opt *opt;
    for (size_t i = 0; (opt = tc_opt_row(tool, i)); i++)
        if (opt->letter == letter)
            return opt;
    return NULL;
}

/* Second spellings share the member, and so the bit, of the first row. */
static uint64_t row_bit(const struct tc_opt_tool *tool, const struct tc_opt *opt)
{
    size_t i = 0;
    while (tc_opt_row(tool, i)->offset != opt->offset)
        i++;
    return UINT64_C(1) << (i & 63);
}

static enum tc_status answer_common(const struct words *w, const struct tc_opt *opt,
                                    const char *value)
{
    const struct tc_opt_tool *tool = w->parser->tool;
    switch (opt - tc_opt_common) {
    case TC_OPT_COMMON_HELP:
        tc_opt_help(tool, w->answer);
        break;
    case TC_OPT_COMMON_VERSION:
        tc_opt_version(tool, w->answer);
        break;
    case TC_OPT_COMMON_MAN:
        tc_opt_man(tool, w->answer);
        break;
    case TC_OPT_COMMON_COMPLETION:
        if (tc_opt_completion(tool, value, w->answer, w->err) != TC_OK)
            return TC_E_USAGE;
        break;
    }
    return TC_END;
}

static enum tc_status store(struct words *w, const struct tc_opt *opt, const char *value)
{
    if (is_common(opt))
        return answer_common(w, opt, value);
    enum tc_status status = tc_opt_value_set(w->parser, opt, value, w->err);
    w->parser->given |= row_bit(w->parser->tool, opt);
    while (status == TC_OK && opt->more && w->i < w->argc && opt->more(w->argv[w->i]))
        status = tc_opt_value_set(w->parser, opt, w->argv[w->i++], w->err);
    return status;
}

/* The value of an option that needs one: what is joined to it, else the next word. */
static enum tc_status store_value(struct words *w, const struct tc_opt *opt, const char *joined)
{
    if (!joined && w->i == w->argc)
        return tc_error_set(w->err, TC_E_USAGE, "option '--%s' needs its argument %s", opt->name,
                            opt->argument);
    return store(w, opt, joined ? joined : w->argv[w->i++]);
}

static enum tc_status unknown(const struct words *w, const char *word, const char *name)
{
    const struct tc_opt *near = name ? tc_opt_nearest(w->parser->tool, name) : NULL;
    int size = (int)strcspn(word, "=");
    if (near)
        return tc_error_set(w->err, TC_E_USAGE, "unknown option '%.*s': did you mean '--%s'?", size,
                            word, near->name);
    return tc_error_set(w->err, TC_E_USAGE, "unknown option '%.*s'", size, word);
}

static enum tc_status parse_long(struct words *w, const char *word, bool *last)
{
    const char *name = word + 2;
    size_t size = strcspn(name, "=");
    const char *value = name[size] ? name + size + 1 : NULL;
    const struct tc_opt *opt = find_long(w->parser->tool, name, size);
    if (!opt)
        return unknown(w, word, name);
    *last = opt->last;
    if (tc_opt_takes_value(opt))
        return store_value(w, opt, value);
    if (value)
        return tc_error_set(w->err, TC_E_USAGE, "option '--%s' takes no argument", opt->name);
    return store(w, opt, NULL);
}

/* One word of letters: flags, then perhaps one option with a value. */
static enum tc_status parse_letters(struct words *w, const char *word, bool *last)
{
    enum tc_status status = TC_OK;
    for (const char *p = word + 1; *p && status == TC_OK; p++) {
        const struct tc_opt *opt = find_letter(w->parser->tool, *p);
        if (!opt) {
            const char text[] = {'-', *p, 0};
            return unknown(w, text, word[2] ? word + 1 : NULL);
        }
        *last = opt->last;
        if (tc_opt_takes_value(opt))
            return store_value(w, opt, p[1] ? p + 1 : NULL);
        status = store(w, opt, NULL);
    }
    return status;
}

static void take_rest(struct words *w)
{
    char *config = w->parser->config;
    struct tc_opt_list *rest = (struct tc_opt_list *)(void *)(config + w->parser->tool->rest);
    while (w->i < w->argc)
        tc_opt_list_add(rest, w->argv[w->i++], w->parser->arena);
}

/* One word and what belongs to it; *last is set when no option can follow. */
static enum tc_status parse_word(struct words *w, bool *last)
{
    const struct tc_opt_tool *tool = w->parser->tool;
    char *config = w->parser->config;
    const char *word = w->argv[w->i++];
    if (strcmp(word, "--") == 0) {
        if (tool->dashes)
            *(bool *)(config + tool->dashes) = true;
        *last = true;
        return TC_OK;
    }
    if (word[0] == '-' && word[1] == '-')
        return parse_long(w, word, last);
    if (word[0] == '-' && word[1])
        return parse_letters(w, word, last);
    tc_opt_list_add((struct tc_opt_list *)(void *)(config + tool->rest), word, w->parser->arena);
    *last = tool->first_argument;
    return TC_OK;
}

enum tc_status tc_opt_parse(struct tc_opt_parser *parser, int argc, char **argv,
                            struct tc_strbuf *answer, struct tc_error *err)
{
    struct words w = {parser, argc, 1, argv, answer, err};
    enum tc_status status = TC_OK;
    bool last = false;
    while (status == TC_OK && w.i < argc && !last)
        status = parse_word(&w, &last);
    if (status == TC_OK)
        take_rest(&w);
    return status;
}

enum tc_status tc_opt_from_file(struct tc_opt_parser *parser, const char *name, const char *value,
                                struct tc_error *err)
{
    char *text = tc_arena_text(parser->arena, name, strlen(name));
    for (char *p = text; *p; p++)
        *p = *p == '_' ? '-' : *p;
    const struct tc_opt *opt = find_long(parser->tool, text, strlen(text));
    if (!opt || is_common(opt)) {
        const struct tc_opt *near = opt ? NULL : tc_opt_nearest(parser->tool, text);
        return tc_error_set(err, TC_E_USAGE, "unknown option '%s'%s%s%s", name,
                            near ? ": did you mean '" : "", near ? near->name : "",
                            near ? "'?" : "");
    }
    if (tc_opt_takes_value(opt) != !!value)
        return tc_error_set(err, TC_E_USAGE, "option '%s' %s", name,
                            value ? "is true or false" : "needs a value");
    if (parser->given & row_bit(parser->tool, opt))
        return TC_OK;
    if (parser->from_file & row_bit(parser->tool, opt) && opt->kind != TC_OPT_LIST &&
        opt->kind != TC_OPT_NAMES && opt->kind != TC_OPT_COUNT)
        return tc_error_set(err, TC_E_USAGE, "option '%s' has one value", name);
    parser->from_file |= row_bit(parser->tool, opt);
    return tc_opt_value_set(parser, opt,
                            value ? tc_arena_text(parser->arena, value, strlen(value)) : NULL, err);
}
