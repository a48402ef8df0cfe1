/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt_write.c - of each kind of window the first two, the order of all, the loss and the rate
 *
 * Two of a kind show what differs from one to the next. Processes that are left out of an excerpt:
 * those of other ranks, and all workers but the first.
 */
#include "compare/excerpt_write.h"

#include <math.h>
#include <string.h>

#include "base/base64.h"
#include "base/fs.h"
#include "base/hash.h"
#include "compare/call_values.h"
#include "compare/course.h"
#include "compare/loss_course.h"
#include "replay/symbols.h"
#include "trace/scan.h"
#include "trace/zio.h"

/* Of a process no more JSON than this is kept: windows beyond it are counted among those of their
 * kind, or, where none was kept, left out. */
#define MAX_BYTES ((size_t)16 << 20)

#define KEPT_OF_A_KIND 2

/* Of a course no more points than these are kept, besides the last. */
#define MAX_POINTS 250

struct kind {
    uint32_t kept[KEPT_OF_A_KIND]; /* numbers among the kept windows */
    uint64_t n_kept, n_calls;      /* calls and variables of the last one that is */
};

struct excerpt {
    struct tc_course_context context;
    struct tc_strbuf windows, order;
    struct tc_map kinds; /* -> struct kind */
    uint64_t n_windows, n_kept;
    uint64_t n_told, n_calls;         /* windows of the order, and what is in them */
    uint64_t last, n_last;            /* a kept window, and how often in a row it stands */
    struct tc_loss_course loss, rate; /* rate: lr of the first parameter group, after each step */
    tc_sym group;
    double lr; /* NaN: not known yet */
};

/* ---- windows ------------------------------------------------------------------------------- */

static void add_index(struct tc_strbuf *out, uint32_t index)
{
    if (index == TC_NO_CALL)
        tc_strbuf_adds(out, "null");
    else
        tc_strbuf_add_int(out, index);
}

static void add_symbol(const struct excerpt *x, struct tc_strbuf *out, tc_sym sym)
{
    tc_strbuf_add_json(out, tc_strtab_text(x->context.symbols, sym),
                       tc_strtab_size(x->context.symbols, sym));
}

static void add_member(struct tc_strbuf *out, const char *key, const struct tc_value *v)
{
    if (!v)
        return;
    tc_strbuf_addf(out, "%s\"%s\":", out->text[out->size - 1] == '{' ? "" : ",", key);
    tc_value_print_without_content(v, out);
}

static void add_call(struct tc_strbuf *out, const struct tc_course_call *call, uint64_t line)
{
    tc_strbuf_addf(out, "[%u,", (unsigned)call->site);
    add_index(out, call->parent);
    tc_strbuf_addc(out, ',');
    add_index(out, call->own);
    tc_strbuf_addf(out, ",%lld,", (long long)(call->begin->line - line));
    if (call->end)
        tc_strbuf_add_int(out, (int64_t)(call->end->line - line));
    else
        tc_strbuf_adds(out, "null");
    tc_strbuf_adds(out, ",{");
    add_member(out, "self", call->begin->self);
    add_member(out, "args", call->begin->args);
    add_member(out, "ctx", call->begin->ctx);
    add_member(out, "alias", call->begin->alias);
    add_member(out, "value", call->end ? call->end->value : NULL);
    tc_strbuf_adds(out, "}]");
}

static void add_variable(const struct excerpt *x, struct tc_strbuf *out,
                         const struct tc_course_variable *v)
{
    tc_strbuf_addc(out, '[');
    add_symbol(x, out, v->name);
    tc_strbuf_addc(out, ',');
    add_symbol(x, out, v->kind);
    tc_strbuf_addc(out, ',');
    add_index(out, v->cause);
    tc_strbuf_adds(out, v->is_new ? ",true," : ",false,");
    tc_variable_print_without_content(v->record->attrs, out);
    tc_strbuf_addc(out, ']');
}

static void add_window(struct excerpt *x, const struct tc_course_window *window)
{
    struct tc_strbuf *out = &x->windows;
    const uint64_t line = window->calls.n ? window->calls.items[0].begin->line : 0;

    tc_strbuf_addf(out, "{\"step\":%lld,\"stage\":", (long long)window->step);
    add_symbol(x, out, window->stage);
    tc_strbuf_addf(out, ",\"has_step\":%s,\"calls\":[", window->has_step ? "true" : "false");
    for (size_t i = 0; i < window->calls.n; i++) {
        tc_strbuf_adds(out, i ? "," : "");
        add_call(out, &window->calls.items[i], line);
    }
    tc_strbuf_adds(out, "],\"variables\":[");
    for (size_t i = 0; i < window->variables.n; i++) {
        tc_strbuf_adds(out, i ? "," : "");
        add_variable(x, out, &window->variables.items[i]);
    }
    tc_strbuf_adds(out, "]}\n");
}

static void end_row(struct excerpt *x)
{
    if (x->n_last)
        tc_strbuf_addf(&x->order, "%s[%llu,%llu]", x->order.size ? "," : "",
                       (unsigned long long)x->last, (unsigned long long)x->n_last);
    x->n_last = 0;
}

static void add_to_order(struct excerpt *x, uint64_t kept)
{
    if (kept != x->last)
        end_row(x);
    x->last = kept;
    x->n_last++;
}

static void note_rate(struct excerpt *x, const struct tc_course_window *window)
{
    for (size_t i = 0; i < window->variables.n; i++) {
        const struct tc_course_variable *v = &window->variables.items[i];
        double lr;
        if (v->kind != TC_SYM_PARAM_GROUP || (x->group && v->name != x->group) ||
            !tc_value_number(tc_value_get(v->record->attrs, "lr"), &lr))
            continue;
        x->group = v->name;
        x->lr = lr;
    }
    if (window->has_step && !isnan(x->lr))
        tc_loss_course_add(&x->rate, window->step, x->lr);
}

static void on_window(struct excerpt *x, const struct tc_course_window *window)
{
    const uint64_t key = tc_hash_mix(window->shape, window->stage, window->has_step);
    struct kind *kind = tc_map_struct(&x->kinds, key, sizeof(*kind));

    x->n_windows++;
    tc_loss_course_note(&x->loss, x->context.sites, window);
    note_rate(x, window);
    if (kind->n_kept < KEPT_OF_A_KIND && x->windows.size < MAX_BYTES) {
        add_window(x, window);
        kind->kept[kind->n_kept++] = (uint32_t)x->n_kept++;
        kind->n_calls = window->calls.n + window->variables.n;
    }
    if (!kind->n_kept || x->n_told == TC_EXCERPT_MAX_WINDOWS ||
        x->n_calls + kind->n_calls > TC_EXCERPT_MAX_CALLS)
        return;
    x->n_told++;
    x->n_calls += kind->n_calls;
    add_to_order(x, kind->kept[kind->n_kept - 1]);
}

/* ---- a process ----------------------------------------------------------------------------- */

/* What stands in a record besides, of the machine and the person: they stay there. */
static bool is_private(struct tc_str key)
{
    static const char *const keys[] = {"host", "cwd", "job", "ppid", "path"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (tc_str_is(key, keys[i]))
            return true;
    return false;
}

static void add_record(struct tc_strbuf *out, const struct tc_value *object)
{
    tc_strbuf_addc(out, '{');
    for (uint32_t i = 0; i < object->n; i++) {
        const struct tc_member *m = &object->members[i];
        if (is_private(m->key))
            continue;
        tc_strbuf_adds(out, out->text[out->size - 1] == '{' ? "" : ",");
        tc_strbuf_add_json(out, m->key.text, m->key.size);
        tc_strbuf_addc(out, ':');
        tc_value_print(&m->value, out);
    }
    tc_strbuf_adds(out, "}\n");
}

static void add_source(struct tc_strbuf *out, const struct tc_script *script)
{
    tc_strbuf_adds(out, "{\"type\":\"source\",\"at\":");
    tc_strbuf_add_json(out, script->at, strlen(script->at));
    tc_strbuf_adds(out, ",\"digest\":");
    tc_strbuf_add_json(out, script->digest, strlen(script->digest));
    if (script->lines) {
        const struct tc_script_line *last = &script->lines[script->n_lines];
        const char *text = script->n_lines ? script->lines[0].text : "";
        tc_strbuf_adds(out, ",\"text\":");
        tc_strbuf_add_json(out, text,
                           script->n_lines ? (size_t)(last[-1].text - text) + last[-1].size : 0);
    }
    tc_strbuf_adds(out, "}\n");
}

static void add_sites(const struct excerpt *x, struct tc_strbuf *out)
{
    tc_strbuf_adds(out, "{\"sites\":[");
    for (size_t i = 0; i < x->context.sites->items.n; i++) {
        const struct tc_call_site *site = &x->context.sites->items.items[i];
        tc_strbuf_adds(out, i ? ",[" : "[");
        add_symbol(x, out, site->fn);
        tc_strbuf_addc(out, ',');
        add_symbol(x, out, site->class);
        tc_strbuf_addc(out, ',');
        add_symbol(x, out, site->at);
        tc_strbuf_addf(out, ",\"%s\",%s,%s]", tc_role_text(site->role),
                       site->is_user ? "true" : "false", site->is_own_class ? "true" : "false");
    }
    tc_strbuf_adds(out, "]}\n");
}

/* JSON has no number that is none: null. */
static void add_course(const char *name, const struct tc_loss_course *course, struct tc_strbuf *out)
{
    const size_t n = course->points.n, stride = (n + MAX_POINTS - 1) / MAX_POINTS;

    if (!n)
        return;
    tc_strbuf_addf(out, "{\"%s\":[", name);
    for (size_t i = 0; i < n; i++) {
        const struct tc_loss_point *point = &course->points.items[i];
        if (i % stride && i + 1 < n)
            continue;
        tc_strbuf_addf(out, i ? ",[%lld," : "[%lld,", (long long)point->step);
        tc_strbuf_addf(out, isfinite(point->value) ? "%.7g]" : "null]", point->value);
    }
    tc_strbuf_adds(out, "]}\n");
}

static void add_process(const struct excerpt *x, const struct tc_course *course,
                        const struct tc_scripts *scripts, struct tc_strbuf *out)
{
    const struct tc_course_owner owner = tc_course_owner(course);

    tc_strbuf_addf(out, "{\"is_worker\":%s,\"rank\":%lld,\"world\":%lld}\n",
                   owner.is_worker ? "true" : "false", (long long)owner.rank,
                   (long long)owner.world);
    add_record(out, tc_course_record(course)->object);
    for (size_t i = 0; i < scripts->items.n; i++)
        add_source(out, scripts->items.items[i]);
    add_sites(x, out);
    tc_strbuf_add(out, x->windows.text, x->windows.size);
    tc_strbuf_addf(out, "{\"order\":[%s]}\n", x->order.size ? x->order.text : "");
    add_course("loss", &x->loss, out);
    add_course("lr", &x->rate, out);
}

static enum tc_status read_process(const char *path, struct tc_strbuf *out,
                                   struct tc_excerpt_size *size, struct tc_notes *notes,
                                   struct tc_error *err)
{
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_call_sites sites = {.symbols = symbols};
    struct tc_scripts scripts = {0};
    struct excerpt x = {
        .context = {.symbols = symbols, .sites = &sites, .notes = notes},
          .lr = NAN
    };
    struct tc_course_window *window;
    struct tc_course *course;
    enum tc_status status =
        tc_course_open((struct tc_course_source){.path = path}, &x.context, &scripts, &course, err);

    if (!status) {
        while ((status = tc_course_next(course, &window, err)) == TC_OK) {
            on_window(&x, window);
            tc_course_window_free(window);
        }
        end_row(&x);
        if (status == TC_END && x.n_windows) {
            add_process(&x, course, &scripts, out);
            size->n_windows += x.n_windows;
            size->n_kept += x.n_kept;
        }
        status = status == TC_END ? TC_OK : status;
        tc_course_close(course);
    }
    tc_map_release_structs(&x.kinds);
    tc_loss_course_release(&x.loss);
    tc_loss_course_release(&x.rate);
    tc_strbuf_release(&x.windows);
    tc_strbuf_release(&x.order);
    tc_scripts_release(&scripts);
    tc_call_sites_release(&sites);
    tc_strtab_free(symbols);
    return status;
}

/* ---- a run --------------------------------------------------------------------------------- */

/* Is it one that an excerpt has? Other ranks do what the first does. */
static bool is_wanted(const struct tc_trace_file *file, bool *has_worker)
{
    const struct tc_record *process = tc_trace_file_process(file);

    if (tc_trace_file_is_foreign(file))
        return false;
    if (tc_str_is(process->role, "worker")) {
        const bool is_first = !*has_worker;
        *has_worker = true;
        return is_first;
    }
    return tc_value_int(tc_value_get(process->object, "rank"), 0) <= 0;
}

static enum tc_status pack(const char *name, const struct tc_strbuf *text, struct tc_strbuf *out,
                           struct tc_excerpt_size *size, struct tc_error *err)
{
    struct tc_strbuf packed = TC_STRBUF_INIT;
    struct tc_zio *zio = tc_zio_new();
    const size_t before = out->size;

    tc_zio_set_level(zio, TC_ZIO_LEVEL_KEPT);
    enum tc_status status = tc_zio_pack(zio, text->text, text->size, &packed, err);
    if (!status) {
        tc_strbuf_adds(out, "{\"traincheck\":\"excerpt\",\"schema\":1,\"of\":");
        tc_strbuf_add_json(out, name, strlen(name));
        tc_strbuf_addf(out, ",\"windows\":%llu,\"kept\":%llu,\"zstd\":\"",
                       (unsigned long long)size->n_windows, (unsigned long long)size->n_kept);
        tc_base64_add(out, packed.text, packed.size);
        tc_strbuf_adds(out, "\"}\n");
        size->bytes = out->size - before;
    }
    tc_strbuf_release(&packed);
    tc_zio_free(zio);
    return status;
}

enum tc_status tc_excerpt_make(const char *trace, struct tc_strbuf *out,
                               struct tc_excerpt_size *size, struct tc_notes *notes,
                               struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_trace_folder *folder;
    bool has_worker = false;
    enum tc_status status = tc_trace_folder_open(trace, notes, &folder, err);

    *size = (struct tc_excerpt_size){0};
    if (status)
        return status;
    for (size_t i = 0; i < tc_trace_folder_n_files(folder) && !status; i++) {
        const struct tc_trace_file *file = tc_trace_folder_file(folder, i);
        if (is_wanted(file, &has_worker))
            status = read_process(tc_trace_file_path(file), &text, size, notes, err);
    }
    tc_trace_folder_close(folder);
    if (status == TC_E_FORMAT) { /* of which steps were deleted */
        tc_notes_add(notes, "no-excerpt", tc_fs_base(trace), 0, "%s", err->text);
        *size = (struct tc_excerpt_size){0};
        tc_strbuf_reset(&text);
        status = TC_OK;
    }
    if (!status && text.size)
        status = pack(tc_fs_base(trace), &text, out, size, err);
    tc_strbuf_release(&text);
    return status;
}
