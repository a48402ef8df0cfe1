/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.c - an append-only file of ids, locked, that a restarted checker reads back
 *
 * Each line is on the disk before the function returns; a torn last line is cut off when the file
 * is opened. A lock file beside it keeps a second checker out. Ids are kept as interned texts. It
 * belongs to one trace, by its absolute path: the state of another one is refused.
 */
#include "online/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/strtab.h"
#include "base/vec.h"

#define STATE_SCHEMA 1

struct tc_state {
    char *path, *file;
    struct tc_strtab *told, *causes, *ran;
    int fd, lock;
};

static enum tc_status fail(const struct tc_state *state, struct tc_error *err)
{
    return tc_error_set(err, TC_E_IO, "%s: %s", state->path, strerror(errno));
}

static enum tc_status add_line(struct tc_state *state, struct tc_json *take, struct tc_error *err)
{
    struct tc_strbuf line = TC_STRBUF_INIT;
    enum tc_status status = TC_OK;

    tc_json_print_line(take, &line);
    if (tc_fs_write_all(state->fd, line.text, line.size) != TC_OK || fdatasync(state->fd) < 0)
        status = fail(state, err);
    tc_strbuf_release(&line);
    return status;
}

static enum tc_status add_text(struct tc_state *state, const char *key, const char *text,
                               struct tc_error *err)
{
    struct tc_json *line = tc_json_object();

    tc_json_set_string(line, key, text);
    return add_line(state, line, err);
}

static enum tc_status begin(struct tc_state *state, const char *trace, struct tc_error *err)
{
    struct tc_json *line = tc_json_object();

    tc_json_set_number(line, "traincheck_state", STATE_SCHEMA);
    tc_json_set_string(line, "trace", trace);
    return add_line(state, line, err);
}

static enum tc_status read_head(const struct tc_state *state, const struct tc_json *head,
                                const char *trace, struct tc_error *err)
{
    double schema = tc_json_to_number(tc_json_get(head, "traincheck_state"), 0);
    const char *of = tc_json_text(tc_json_get(head, "trace"));

    if (schema < 1 || !of)
        return tc_error_set(err, TC_E_FORMAT, "%s: no state of traincheck-onlinecheck",
                            state->path);
    if (schema > STATE_SCHEMA)
        return tc_error_set(err, TC_E_VERSION, "%s: its schema is %g, the newest known here is %d",
                            state->path, schema, STATE_SCHEMA);
    if (strcmp(of, trace) != 0)
        return tc_error_set(err, TC_E_USAGE, "%s: it is the state of another trace: %s",
                            state->path, of);
    return TC_OK;
}

static void read_id(struct tc_strtab *ids, const struct tc_json *line, const char *key)
{
    const char *id = tc_json_text(tc_json_get(line, key));

    if (id)
        tc_strtab_intern_text(ids, id);
}

static void read_line(struct tc_state *state, const struct tc_json *line)
{
    const char *file = tc_json_text(tc_json_get(line, "file"));

    read_id(state->told, line, "told");
    read_id(state->causes, line, "cause");
    read_id(state->ran, line, "ran");
    if (file && !state->file)
        state->file = tc_strdup(file);
}

/* *size: of the lines that are whole. */
static enum tc_status read_lines(struct tc_state *state, const struct tc_strbuf *text,
                                 const char *trace, size_t *size, struct tc_error *err)
{
    enum tc_status status = TC_OK;
    const char *p = text->text, *end = p + text->size, *newline;

    for (*size = 0; p < end && (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
        struct tc_json *line = NULL;
        enum tc_status parsed = tc_json_parse(p, (size_t)(newline - p), &line, NULL);

        if (p == text->text)
            status = read_head(state, parsed == TC_OK ? line : NULL, trace, err);
        else if (parsed == TC_OK)
            read_line(state, line);
        tc_json_free(line);
        if (status != TC_OK)
            return status;
        *size = (size_t)(newline + 1 - text->text);
    }
    if (!*size && text->size)
        return read_head(state, NULL, trace, err);
    return TC_OK;
}

static enum tc_status load_lines(struct tc_state *state, const char *trace, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    size_t size = 0;
    enum tc_status status = tc_fs_read(state->path, TC_FS_MAX_LARGE, &text, err);

    if (status == TC_OK && text.size)
        status = read_lines(state, &text, trace, &size, err);
    if (status == TC_OK && size < text.size && ftruncate(state->fd, (off_t)size) < 0)
        status = fail(state, err);
    if (status == TC_OK && !size)
        status = begin(state, trace, err);
    tc_strbuf_release(&text);
    return status;
}

/* The trace as any working folder names it. */
static char *absolute(const char *path)
{
    char *real = realpath(path, NULL), cwd[4096];
    char *result;

    if (real) {
        result = tc_strdup(real);
        free(real);
        return result;
    }
    if (path[0] == '/' || !getcwd(cwd, sizeof(cwd)))
        return tc_strdup(path);
    return tc_fs_join(cwd, path);
}

/* It is read again, cut and appended to. */
static enum tc_status check_kind(const struct tc_state *state, struct tc_error *err)
{
    struct stat st;

    if (fstat(state->fd, &st) == 0 && S_ISREG(st.st_mode))
        return TC_OK;
    return tc_error_set(err, TC_E_USAGE, "%s: the state needs a regular file", state->path);
}

enum tc_status tc_state_open(const char *path, const char *trace, struct tc_state **out,
                             struct tc_error *err)
{
    struct tc_state *state = tc_calloc(1, sizeof(*state));
    char *name = absolute(trace);
    enum tc_status status;

    *out = NULL;
    state->path = tc_strdup(path);
    state->told = tc_strtab_new();
    state->causes = tc_strtab_new();
    state->ran = tc_strtab_new();
    state->lock = -1;
    state->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    status = state->fd < 0 ? fail(state, err) : check_kind(state, err);
    if (status == TC_OK)
        status = tc_fs_lock(path, &state->lock, err);
    if (status == TC_OK)
        status = load_lines(state, name, err);
    tc_free(name);
    if (status == TC_OK)
        *out = state;
    else
        tc_state_close(state);
    return status;
}

void tc_state_close(struct tc_state *state)
{
    if (!state)
        return;
    if (state->fd >= 0)
        close(state->fd);
    if (state->lock >= 0)
        close(state->lock);
    tc_strtab_free(state->told);
    tc_strtab_free(state->causes);
    tc_strtab_free(state->ran);
    tc_free(state->path);
    tc_free(state->file);
    tc_free(state);
}

const char *tc_state_file(const struct tc_state *state)
{
    return state->file;
}

enum tc_status tc_state_set_file(struct tc_state *state, const char *name, struct tc_error *err)
{
    state->file = tc_strdup(name);
    return add_text(state, "file", name, err);
}

bool tc_state_was_told(const struct tc_state *state, const char *id)
{
    return tc_strtab_find(state->told, id, strlen(id)) != TC_NO_SYM;
}

static enum tc_status add_id(struct tc_state *state, struct tc_strtab *ids, const char *key,
                             const char *id, struct tc_error *err)
{
    tc_strtab_intern_text(ids, id);
    return add_text(state, key, id, err);
}

enum tc_status tc_state_tell(struct tc_state *state, const char *id, struct tc_error *err)
{
    return add_id(state, state->told, "told", id, err);
}

size_t tc_state_cause(const struct tc_state *state, const char *id)
{
    tc_sym number = tc_strtab_find(state->causes, id, strlen(id));

    return number == TC_NO_SYM ? 0 : (size_t)number + 1;
}

enum tc_status tc_state_add_cause(struct tc_state *state, const char *id, struct tc_error *err)
{
    return add_id(state, state->causes, "cause", id, err);
}

bool tc_state_has_run(const struct tc_state *state, const char *id)
{
    return tc_strtab_find(state->ran, id, strlen(id)) != TC_NO_SYM;
}

enum tc_status tc_state_run(struct tc_state *state, const char *id, struct tc_error *err)
{
    return add_id(state, state->ran, "ran", id, err);
}
