/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - a YAML file of options, read by libyaml's events and handed out one by one
 *
 * The one door to libyaml. A mapping of options to a scalar or a list of scalars, and nothing
 * else: no nesting, no aliases, one document. A failure names the line. The whole file is read
 * before, and bounded.
 */
#include "collect/collect.h"

#include <string.h>
#include <yaml.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/strtab.h"

struct reader {
    const char *path;
    yaml_parser_t parser;
    tc_collect_option_fn *set;
    void *context;
    struct tc_strtab *keys; /* those that have been read */
    const char *option;     /* whose value is read */
    struct tc_error *err;
};

static enum tc_status fail_at(const struct reader *r, const yaml_event_t *event, const char *what)
{
    return tc_error_set(r->err, TC_E_FORMAT, "%s:%zu: %s", r->path, event->start_mark.line + 1,
                        what);
}

static enum tc_status next(struct reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return TC_OK;
    return tc_error_set(r->err, TC_E_FORMAT, "%s:%zu: %s", r->path, r->parser.problem_mark.line + 1,
                        r->parser.problem ? r->parser.problem : "no YAML");
}

static const char *scalar(const yaml_event_t *event)
{
    return (const char *)event->data.scalar.value;
}

static bool is_plain(const yaml_event_t *event, const char *text)
{
    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(scalar(event), text) == 0;
}

static enum tc_status set_scalar(struct reader *r, const yaml_event_t *event)
{
    enum tc_status status;

    if (is_plain(event, "false") || is_plain(event, "null") || is_plain(event, "~") ||
        is_plain(event, ""))
        return TC_OK;
    status = r->set(r->context, r->option, is_plain(event, "true") ? NULL : scalar(event), r->err);
    if (status != TC_OK)
        tc_error_prefix(r->err, "%s:%zu", r->path, event->start_mark.line + 1);
    return status;
}

/* Each event up to an end of this type. */
static enum tc_status read_until(struct reader *r, yaml_event_type_t end,
                                 enum tc_status (*read)(struct reader *, const yaml_event_t *))
{
    enum tc_status status = TC_OK;
    bool over = false;

    while (status == TC_OK && !over) {
        yaml_event_t event;

        status = next(r, &event);
        if (status != TC_OK)
            return status;
        over = event.type == end;
        if (!over)
            status = read(r, &event);
        yaml_event_delete(&event);
    }
    return status;
}

static enum tc_status read_item(struct reader *r, const yaml_event_t *event)
{
    return event->type == YAML_SCALAR_EVENT ? set_scalar(r, event)
                                            : fail_at(r, event, "a list holds plain values");
}

static enum tc_status read_value(struct reader *r)
{
    yaml_event_t event;
    enum tc_status status = next(r, &event);

    if (status != TC_OK)
        return status;
    if (event.type == YAML_SCALAR_EVENT)
        status = set_scalar(r, &event);
    else if (event.type == YAML_SEQUENCE_START_EVENT)
        status = read_until(r, YAML_SEQUENCE_END_EVENT, read_item);
    else
        status = fail_at(r, &event, "an option has a plain value or a list of them");
    yaml_event_delete(&event);
    return status;
}

static enum tc_status read_option(struct reader *r, const yaml_event_t *key)
{
    size_t n = tc_strtab_count(r->keys);

    if (key->type != YAML_SCALAR_EVENT)
        return fail_at(r, key, "expected option: value");
    if (tc_strtab_intern_text(r->keys, scalar(key)) != n)
        return fail_at(r, key, "the option stands here for the second time");
    r->option = scalar(key);
    return read_value(r);
}

/* The next event must be of this type; what is said if it is not. */
static enum tc_status expect(struct reader *r, yaml_event_type_t type, const char *otherwise)
{
    yaml_event_t event;
    enum tc_status status = next(r, &event);

    if (status != TC_OK)
        return status;
    if (event.type != type)
        status = fail_at(r, &event, otherwise);
    yaml_event_delete(&event);
    return status;
}

static enum tc_status read_mapping(struct reader *r)
{
    enum tc_status status = expect(r, YAML_MAPPING_START_EVENT, "expected option: value");

    return status == TC_OK ? read_until(r, YAML_MAPPING_END_EVENT, read_option) : status;
}

/* A stream of one document, or of none. */
static enum tc_status read_options(struct reader *r)
{
    enum tc_status status = expect(r, YAML_STREAM_START_EVENT, "no YAML");
    yaml_event_t event;
    bool is_empty;

    if (status == TC_OK)
        status = next(r, &event);
    if (status != TC_OK)
        return status;
    is_empty = event.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
    if (is_empty)
        return TC_OK;
    status = read_mapping(r);
    if (status == TC_OK)
        status = expect(r, YAML_DOCUMENT_END_EVENT, "expected the end");
    if (status == TC_OK)
        status = expect(r, YAML_STREAM_END_EVENT, "only one document is read");
    return status;
}

enum tc_status tc_collect_config_read(const char *path, tc_collect_option_fn *set, void *context,
                                      struct tc_error *err)
{
    struct reader r = {.path = path, .set = set, .context = context, .err = err};
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status = tc_fs_read(path, TC_FS_MAX_SMALL, &text, err);

    if (status == TC_OK && !yaml_parser_initialize(&r.parser))
        status = tc_error_set(err, TC_E_NOMEM, "%s: out of memory", path);
    if (status == TC_OK) {
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.text, text.size);
        r.keys = tc_strtab_new();
        status = read_options(&r);
        tc_strtab_free(r.keys);
        yaml_parser_delete(&r.parser);
    }
    tc_strbuf_release(&text);
    return status;
}
