/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt.c - the excerpts of an invariant file, and the windows of one
 *
 * Windows of a kind that are not kept are reported again as the last one that is: so a course that
 * is read from here has as many windows as its run had.
 */
#include "compare/excerpt.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/fs.h"
#include "base/json.h"
#include "replay/symbols.h"
#include "trace/schema.h"
#include "trace/zio.h"

#define NEWEST_SCHEMA 1

/* ---- the windows of a process --------------------------------------------------------------- */

struct row {
    size_t kept;
    int64_t n;
};

struct tc_excerpt_reader {
    struct tc_course_context context;
    struct tc_window_memory *memory; /* of all that is read */
    struct tc_record process;
    bool is_worker;
    int64_t rank, world;
    TC_VEC(uint32_t) sites; /* of the context */
    TC_VEC(struct tc_course_window *) kept;
    TC_VEC(struct row) order;
    uint64_t n_windows, n_calls; /* that it tells of */
    size_t row;
    int64_t in_row;
};

static enum tc_status damaged(struct tc_error *err, const char *what)
{
    return tc_error_set(err, TC_E_FORMAT, "a damaged excerpt: %s", what);
}

/* Element i of an array, or NULL. */
static const struct tc_value *item(const struct tc_value *array, uint32_t i)
{
    return array && array->kind == TC_VALUE_ARRAY && i < array->n ? &array->items[i] : NULL;
}

static bool is_array(const struct tc_value *v)
{
    return v && v->kind == TC_VALUE_ARRAY;
}

static tc_sym symbol_of(const struct tc_excerpt_reader *reader, const struct tc_value *v)
{
    return tc_symbols_str(reader->context.symbols,
                          v && v->kind == TC_VALUE_STR ? tc_value_str(v) : (struct tc_str){"", 0});
}

/* An index below n; TC_NO_CALL where there is none. */
static uint32_t index_of(const struct tc_value *v, size_t n)
{
    const int64_t index = tc_value_int(v, -1);

    return index >= 0 && (uint64_t)index < n ? (uint32_t)index : TC_NO_CALL;
}

static void read_sites(struct tc_excerpt_reader *reader, const struct tc_value *rows)
{
    for (uint32_t i = 0; is_array(rows) && i < rows->n; i++) {
        const struct tc_value *row = &rows->items[i];
        const struct tc_value *role = item(row, 3);
        const struct tc_call_site site = {
            .fn = symbol_of(reader, item(row, 0)),
            .class = symbol_of(reader, item(row, 1)),
            .at = symbol_of(reader, item(row, 2)),
            .role = role && role->kind == TC_VALUE_STR ? tc_role_parse(tc_value_str(role))
                                                       : TC_ROLE_FUNCTION,
            .is_user = tc_value_is_true(item(row, 4)),
            .is_own_class = tc_value_is_true(item(row, 5)),
        };
        tc_vec_push(&reader->sites, tc_call_sites_add(reader->context.sites, &site));
    }
}

static struct tc_record *new_record(struct tc_excerpt_reader *reader, int64_t line)
{
    struct tc_record *record =
        tc_arena_copy(&reader->memory->arena, &tc_record_blank, sizeof(tc_record_blank));

    record->line = line > 0 ? (uint64_t)line : 0;
    return record;
}

/* Would the run have the call if it made it? */
static bool is_recorded(const struct tc_excerpt_reader *reader, const struct tc_call_site *site)
{
    const struct tc_recorded *recorded = reader->context.recorded;
    uint64_t one;

    if (!recorded || tc_map_get(&recorded->left_out, site->fn, &one))
        return !recorded;
    return recorded->roles >> site->role & 1 || tc_map_get(&recorded->apis, site->fn, &one);
}

/* place[i]: which call of the window row i is, or TC_NO_CALL where the run would not have it. */
static uint32_t row_of_call(const uint32_t *place, const struct tc_value *v, uint32_t n)
{
    const uint32_t index = index_of(v, n);

    return index == TC_NO_CALL ? TC_NO_CALL : place[index];
}

static bool read_call(struct tc_excerpt_reader *reader, struct tc_course_window *window,
                      const struct tc_value *row, uint32_t i, uint32_t *place)
{
    const uint32_t site = index_of(item(row, 0), reader->sites.n);
    const struct tc_value *values = item(row, 5), *end = item(row, 4);

    if (site == TC_NO_CALL || !values)
        return false;
    place[i] = TC_NO_CALL;
    if (!is_recorded(reader, &reader->context.sites->items.items[reader->sites.items[site]]))
        return true;
    place[i] = (uint32_t)window->calls.n;
    struct tc_record *begin = new_record(reader, tc_value_int(item(row, 3), 0));
    begin->self = tc_value_get(values, "self");
    begin->args = tc_value_get(values, "args");
    begin->ctx = tc_value_get(values, "ctx");
    begin->alias = tc_value_get(values, "alias");
    struct tc_course_call call = {
        .site = reader->sites.items[site],
        .parent = row_of_call(place, item(row, 1), i),
        .own = row_of_call(place, item(row, 2), i),
        .begin = begin,
    };
    if (end && end->kind == TC_VALUE_INT) {
        struct tc_record *record = new_record(reader, end->integer);
        record->value = tc_value_get(values, "value");
        call.end = record;
    }
    tc_course_window_add(window, reader->context.sites, &call);
    return true;
}

static void read_variable(struct tc_excerpt_reader *reader, struct tc_course_window *window,
                          const struct tc_value *row, const uint32_t *place, uint32_t n)
{
    struct tc_record *record = new_record(reader, 0);

    record->attrs = item(row, 4);
    tc_vec_push(&window->variables, ((struct tc_course_variable){
                                        .name = symbol_of(reader, item(row, 0)),
                                        .kind = symbol_of(reader, item(row, 1)),
                                        .cause = row_of_call(place, item(row, 2), n),
                                        .is_new = tc_value_is_true(item(row, 3)),
                                        .record = record,
                                    }));
}

static enum tc_status read_window(struct tc_excerpt_reader *reader, const struct tc_value *line,
                                  struct tc_error *err)
{
    const struct tc_value *calls = tc_value_get(line, "calls");
    const struct tc_value *variables = tc_value_get(line, "variables");
    struct tc_course_window *window = tc_course_window_new(reader->memory);

    tc_vec_push(&reader->kept, window);
    window->step = tc_value_int(tc_value_get(line, "step"), -1);
    window->stage = symbol_of(reader, tc_value_get(line, "stage"));
    window->has_step = tc_value_is_true(tc_value_get(line, "has_step"));
    const uint32_t n = is_array(calls) ? calls->n : 0;
    const bool has_variables = !reader->context.recorded || reader->context.recorded->variables;
    uint32_t *place = tc_malloc((n + (size_t)1) * sizeof(*place)), i = 0;
    while (i < n && read_call(reader, window, &calls->items[i], i, place))
        i++;
    for (uint32_t k = 0; i == n && has_variables && is_array(variables) && k < variables->n; k++)
        read_variable(reader, window, &variables->items[k], place, n);
    tc_free(place);
    return i == n ? TC_OK : damaged(err, "a call without a site, or without values");
}

/* Count its windows, and what is in them; false if there are too many. */
static bool has_room(struct tc_excerpt_reader *reader, struct row row)
{
    const struct tc_course_window *window = reader->kept.items[row.kept];

    if ((uint64_t)row.n > TC_EXCERPT_MAX_WINDOWS - reader->n_windows)
        return false;
    reader->n_windows += (uint64_t)row.n;
    reader->n_calls += (uint64_t)row.n * (window->calls.n + window->variables.n);
    return reader->n_calls <= TC_EXCERPT_MAX_CALLS;
}

static enum tc_status read_order(struct tc_excerpt_reader *reader, const struct tc_value *rows,
                                 struct tc_error *err)
{
    for (uint32_t i = 0; is_array(rows) && i < rows->n; i++) {
        const int64_t kept = tc_value_int(item(&rows->items[i], 0), -1);
        const struct row row = {(size_t)kept, tc_value_int(item(&rows->items[i], 1), 0)};
        if (kept < 0 || row.kept >= reader->kept.n || row.n < 1 || !has_room(reader, row))
            return damaged(err, "an order of windows that are not there, or of too many");
        tc_vec_push(&reader->order, row);
    }
    return TC_OK;
}

static enum tc_status read_line(struct tc_excerpt_reader *reader, struct tc_scripts *scripts,
                                const char *text, size_t size, struct tc_error *err)
{
    struct tc_value *line = tc_arena_alloc(&reader->memory->arena, sizeof(*line));
    struct tc_record record;
    enum tc_status status = tc_scan(text, size, &reader->memory->arena, line, err);

    if (status)
        return status;
    if (tc_value_get(line, "type")) {
        status = tc_record_fill(line, &record, err);
        if (!status && record.type == TC_RECORD_PROCESS)
            reader->process = record;
        else if (!status && record.type == TC_RECORD_SOURCE && scripts)
            tc_scripts_add(scripts, &record);
        return status;
    }
    if (tc_value_get(line, "calls"))
        return read_window(reader, line, err);
    if (tc_value_get(line, "order"))
        return read_order(reader, tc_value_get(line, "order"), err);
    if (tc_value_get(line, "sites")) {
        read_sites(reader, tc_value_get(line, "sites"));
        return TC_OK;
    }
    if (!tc_value_get(line, "is_worker")) /* for other readers */
        return TC_OK;
    reader->is_worker = tc_value_is_true(tc_value_get(line, "is_worker"));
    reader->rank = tc_value_int(tc_value_get(line, "rank"), 0);
    reader->world = tc_value_int(tc_value_get(line, "world"), 1);
    return TC_OK;
}

/* The line at text, without its newline. */
static size_t size_of_line(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);

    return end ? (size_t)(end - text) : size;
}

enum tc_status tc_excerpt_reader_open(const struct tc_excerpt_process *process,
                                      const struct tc_course_context *context,
                                      struct tc_scripts *scripts, struct tc_excerpt_reader **out,
                                      struct tc_error *err)
{
    struct tc_excerpt_reader *reader = tc_calloc(1, sizeof(*reader));
    enum tc_status status = TC_OK;

    reader->context = *context;
    reader->memory = tc_calloc(1, sizeof(*reader->memory));
    reader->memory->n_windows = 1;
    reader->process = tc_record_blank;
    for (size_t at = 0, size; at < process->size && !status; at += size + 1) {
        size = size_of_line(process->text + at, process->size - at);
        status = read_line(reader, scripts, process->text + at, size, err);
    }
    if (!status && !reader->process.object)
        status = damaged(err, "no process record");
    if (status)
        tc_excerpt_reader_close(reader);
    *out = status ? NULL : reader;
    return status;
}

void tc_excerpt_reader_close(struct tc_excerpt_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < reader->kept.n; i++)
        tc_course_window_free(reader->kept.items[i]);
    tc_window_memory_release(reader->memory);
    tc_vec_release(&reader->sites);
    tc_vec_release(&reader->kept);
    tc_vec_release(&reader->order);
    tc_free(reader);
}

struct tc_course_window *tc_excerpt_reader_next(struct tc_excerpt_reader *reader)
{
    if (reader->row == reader->order.n)
        return NULL;
    const struct row row = reader->order.items[reader->row];
    const struct tc_course_window *kept = reader->kept.items[row.kept];
    struct tc_course_window *window = tc_course_window_new(reader->memory);

    window->step = kept->step;
    window->stage = kept->stage;
    window->has_step = kept->has_step;
    window->copy_of = row.kept + 1;
    for (size_t i = 0; i < kept->calls.n; i++)
        tc_vec_push(&window->calls, kept->calls.items[i]);
    for (size_t i = 0; i < kept->variables.n; i++)
        tc_vec_push(&window->variables, kept->variables.items[i]);
    if (++reader->in_row == row.n) {
        reader->in_row = 0;
        reader->row++;
    }
    return window;
}

const struct tc_record *tc_excerpt_reader_process(const struct tc_excerpt_reader *reader)
{
    return &reader->process;
}

bool tc_excerpt_reader_is_worker(const struct tc_excerpt_reader *reader)
{
    return reader->is_worker;
}

int64_t tc_excerpt_reader_rank(const struct tc_excerpt_reader *reader)
{
    return reader->rank;
}

int64_t tc_excerpt_reader_world(const struct tc_excerpt_reader *reader)
{
    return reader->world;
}

/* ---- an invariant file ----------------------------------------------------------------------- */

#define BEGINS "{\"traincheck\":\"excerpt\""

static enum tc_status unpack(const struct tc_json *document, struct tc_excerpt *excerpt,
                             struct tc_error *err)
{
    const char *packed = tc_json_text(tc_json_get(document, "zstd"));
    const double schema = tc_json_to_number(tc_json_get(document, "schema"), 0);
    struct tc_strbuf bytes = TC_STRBUF_INIT;
    struct tc_zio *zio = tc_zio_new();
    enum tc_status status = TC_OK;
    size_t used;

    if (schema > NEWEST_SCHEMA)
        status = tc_error_set(err, TC_E_VERSION, "excerpt schema %g is newer than %d", schema,
                              NEWEST_SCHEMA);
    else if (!packed)
        status = damaged(err, "no \"zstd\"");
    if (!status)
        status = tc_base64_decode(packed, strlen(packed), &bytes, err);
    if (!status)
        status = tc_zio_unpack(zio, bytes.text ? bytes.text : "", bytes.size, &excerpt->text, &used,
                               err);
    if (status == TC_END)
        status = damaged(err, "it ends too early");
    tc_strbuf_release(&bytes);
    tc_zio_free(zio);
    return status;
}

/* Each process begins with a line that tells whose it is. */
static void split(struct tc_excerpt *excerpt)
{
    static const char begin[] = "{\"is_worker\":";
    const char *text = excerpt->text.text;

    for (size_t at = 0, size; at < excerpt->text.size; at += size + 1) {
        size = size_of_line(text + at, excerpt->text.size - at);
        if (size >= sizeof(begin) - 1 && !memcmp(text + at, begin, sizeof(begin) - 1))
            tc_vec_push(&excerpt->processes, ((struct tc_excerpt_process){text + at, 0}));
        if (excerpt->processes.n) {
            struct tc_excerpt_process *last = &excerpt->processes.items[excerpt->processes.n - 1];
            last->size = (size_t)(text + at + size - last->text);
        }
    }
}

static enum tc_status read_excerpt(const char *line, size_t size, struct tc_excerpts *out,
                                   struct tc_error *err)
{
    struct tc_json *document = NULL;
    struct tc_excerpt excerpt = {0};
    enum tc_status status = tc_json_parse(line, size, &document, err);

    if (status)
        return status;
    const char *name = tc_json_text(tc_json_get(document, "of"));
    excerpt.name = tc_strdup(name ? name : "");
    status = unpack(document, &excerpt, err);
    out->size += excerpt.text.size;
    if (!status && out->size > TC_FS_MAX_LARGE)
        status = damaged(err, "with those before it of more than 256 MiB");
    if (!status)
        split(&excerpt);
    if (!status && !excerpt.processes.n)
        status = damaged(err, "no process");
    tc_vec_push(&out->items, excerpt);
    tc_json_free(document);
    return status;
}

static bool goes_on_with(FILE *file, const char *begin, size_t size)
{
    char text[64];

    return size <= sizeof(text) && fread(text, size, 1, file) == 1 && !memcmp(text, begin, size);
}

static bool is_behind_first_line(FILE *file, const char *begin, size_t size)
{
    int c;

    while ((c = getc(file)) != EOF && c != '\n')
        ;
    return c == '\n' && goes_on_with(file, begin, size);
}

/* What a FIFO or a device gives is gone once it was read, and whoever reads the invariants has it.
 */
static bool look(const char *path, bool for_excerpts)
{
    static const char header[] = "{\"traincheck\":\"invariants\"";
    struct stat st;
    FILE *file = stat(path, &st) || !S_ISREG(st.st_mode) ? NULL : fopen(path, "rbe");
    const bool is = file && goes_on_with(file, header, sizeof(header) - 1) &&
                    (!for_excerpts || is_behind_first_line(file, BEGINS, sizeof(BEGINS) - 1));

    if (file)
        fclose(file);
    return is;
}

bool tc_excerpts_may_be_in(const char *path)
{
    return look(path, false);
}

bool tc_excerpts_are_in(const char *path)
{
    return look(path, true);
}

enum tc_status tc_excerpts_read(const char *path, struct tc_excerpts *out, struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status = tc_fs_read(path, TC_FS_MAX_LARGE, &text, err);
    unsigned number = 0;

    for (size_t at = 0, size; at < text.size && !status; at += size + 1) {
        size = size_of_line(text.text + at, text.size - at);
        number++;
        if (size < sizeof(BEGINS) - 1 || memcmp(text.text + at, BEGINS, sizeof(BEGINS) - 1) != 0)
            continue;
        status = read_excerpt(text.text + at, size, out, err);
        if (status)
            tc_error_prefix(err, "%s:%u", path, number);
    }
    tc_strbuf_release(&text);
    return status;
}

void tc_excerpts_release(struct tc_excerpts *excerpts)
{
    for (size_t i = 0; i < excerpts->items.n; i++) {
        struct tc_excerpt *excerpt = &excerpts->items.items[i];
        tc_free(excerpt->name);
        tc_strbuf_release(&excerpt->text);
        tc_vec_release(&excerpt->processes);
    }
    tc_vec_release(&excerpts->items);
}
