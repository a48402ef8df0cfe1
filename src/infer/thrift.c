/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thrift.c - APIs in the order of what their calls tell, until half of the records are there
 *
 * Facts speak of the same call over and over: what an API tells is in how many settings it is
 * called (the line, the call around, the stage), and what it costs is how often. So a call in an
 * inner loop goes first, and one that is made once stays. What goes on inside of torch counts a
 * fifth, as the script decides little of it. Calls of which windows, stages and variables are made
 * stay, and so does whatever variables are looked at around.
 */
#include "infer/thrift.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "infer/gather.h"
#include "replay/lean.h"
#include "trace/role.h"

#define SHARE_LEFT   2 /* of the records one in so many */
#define WORTH        5 /* of a setting that lines of the script call in */
#define WORTH_INSIDE 1

/* Instructions that recording a call takes, in thousands (benchmarks/collect). */
static const unsigned costs[TC_N_ROLES] = {
    [TC_ROLE_FUNCTION] = 5, [TC_ROLE_LAYER] = 7,   [TC_ROLE_OPERATOR] = 5,
    [TC_ROLE_DRAW] = 5,     [TC_ROLE_INIT] = 3,    [TC_ROLE_FILL] = 3,
    [TC_ROLE_OWN] = 4,      [TC_ROLE_PACKAGE] = 4, [TC_ROLE_MAKE] = 4,
};

struct api {
    const char *name; /* of the survey's names */
    enum tc_role role;
    uint64_t n_calls, worth;
    bool stays;
};

/* A call that is open. */
struct open {
    uint32_t api;
    int64_t parent;
};

/* One file of a trace. */
struct file {
    struct tc_map open;   /* calls by id */
    bool has_been_looked; /* variables were looked at outside of all calls, just before */
};

struct survey {
    struct tc_strtab *names;
    TC_VEC(struct api) apis; /* by name */
    struct tc_map settings;  /* a set, of all APIs */
    uint64_t n_records;
    struct file *files;
};

static struct api *api_of(struct survey *s, struct tc_str name)
{
    const tc_sym sym = tc_strtab_intern(s->names, name.text, name.size);

    while (s->apis.n <= sym)
        tc_vec_push(&s->apis, (struct api){.role = TC_ROLE_FUNCTION});
    s->apis.items[sym].name = tc_strtab_text(s->names, sym);
    return &s->apis.items[sym];
}

/* What the agent tells of a batch in the making is limited in all: without one API others would
 * be told more of. */
static bool is_in_loader(const struct survey *s, const struct file *file, int64_t id)
{
    const struct open *call;

    while ((call = tc_map_find(&file->open, (uint64_t)id))) {
        if (s->apis.items[call->api].role == TC_ROLE_DATA)
            return true;
        id = call->parent;
    }
    return false;
}

static bool is_inside(const struct survey *s, const struct open *parent)
{
    const enum tc_role role = parent ? s->apis.items[parent->api].role : TC_ROLE_FORWARD;

    return tc_role_has(role, TC_TRAIT_SPARE);
}

static void on_call(struct survey *s, struct file *file, const struct tc_record *call)
{
    const struct open *parent = tc_map_find(&file->open, (uint64_t)call->parent);
    struct api *api = api_of(s, call->fn);
    const uint32_t i = (uint32_t)(api - s->apis.items);
    const uint64_t place = call->at.text ? tc_hash64(call->at.text, call->at.size, i) : i;
    const uint64_t stage = call->stage.text ? tc_hash64(call->stage.text, call->stage.size, 0) : 0;
    struct open *open = tc_map_struct(&file->open, (uint64_t)call->id, sizeof(*open));
    bool is_new;

    *open = (struct open){i, call->parent};
    (void)tc_map_at(&s->settings, tc_hash_mix(place, stage, parent ? parent->api + 1 : 0), &is_new);
    api->n_calls++;
    api->worth += !is_new ? 0 : is_inside(s, parent) ? WORTH_INSIDE : WORTH;
    api->stays |= file->has_been_looked || is_in_loader(s, file, call->parent);
}

static void on_end(struct file *file, const struct tc_record *end)
{
    tc_free(tc_map_find(&file->open, (uint64_t)end->id));
    tc_map_remove(&file->open, (uint64_t)end->id);
}

static void on_record(struct survey *s, struct file *file, const struct tc_record *record)
{
    const struct open *cause;

    s->n_records++;
    switch (record->type) {
    case TC_RECORD_API:
        api_of(s, record->fn)->role = tc_role_parse(record->role);
        return;
    case TC_RECORD_CALL:
        on_call(s, file, record);
        break;
    case TC_RECORD_RETURN:
    case TC_RECORD_RAISE:
        on_end(file, record);
        break;
    case TC_RECORD_VAR:
        cause = tc_map_find(&file->open, (uint64_t)record->cause);
        if (cause)
            s->apis.items[cause->api].stays = true;
        break;
    default:
        break;
    }
    file->has_been_looked = record->type == TC_RECORD_VAR && record->cause == TC_NONE;
}

static enum tc_status visit_survey(void *context, struct tc_trace_folder *folder,
                                   struct tc_error *err)
{
    struct survey *s = context;
    const size_t n = tc_trace_folder_n_files(folder);
    const struct tc_record *record;
    enum tc_status status;
    size_t file;

    s->files = tc_calloc(n + 1, sizeof(*s->files));
    while (!(status = tc_trace_folder_next(folder, &file, &record, err)))
        on_record(s, &s->files[file], record);
    for (size_t i = 0; i < n; i++)
        tc_map_release_structs(&s->files[i].open);
    tc_free(s->files);
    return status == TC_END ? TC_OK : status;
}

typedef enum tc_status visit_fn(void *context, struct tc_trace_folder *folder,
                                struct tc_error *err);

static enum tc_status each_folder(const char *const *traces, size_t n, visit_fn *visit,
                                  void *context, struct tc_error *err)
{
    enum tc_status status = TC_OK;

    for (size_t i = 0; i < n && !status; i++) {
        struct tc_trace_folder *folder = NULL;
        if (tc_is_evidence_file(traces[i]))
            continue;
        status = tc_trace_folder_open(traces[i], NULL, &folder, err);
        if (!status)
            status = visit(context, folder, err);
        tc_trace_folder_close(folder);
    }
    return status;
}

static bool may_go(const struct api *api)
{
    return api->n_calls && !api->stays && tc_role_has(api->role, TC_TRAIT_SPARE);
}

/* The one that tells most for its cost first; those that stay before all others. */
static int compare_apis(const void *a, const void *b)
{
    const struct api *x = a, *y = b;
    const uint64_t left = x->worth * y->n_calls * costs[y->role];
    const uint64_t right = y->worth * x->n_calls * costs[x->role];

    if (may_go(x) != may_go(y))
        return may_go(x) ? 1 : -1;
    if (may_go(x) && left != right)
        return left > right ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void leave_out(const struct survey *s, struct tc_strtab *names, struct tc_thrift *out)
{
    const uint64_t enough = s->n_records / SHARE_LEFT;

    *out = (struct tc_thrift){.n_records = s->n_records, .n_left = s->n_records};
    for (size_t i = 0; i < s->apis.n; i++)
        out->n_left -= may_go(&s->apis.items[i]) ? 2 * s->apis.items[i].n_calls : 0;
    for (size_t i = 0; i < s->apis.n; i++) {
        const struct api *api = &s->apis.items[i];
        out->n_apis += api->n_calls != 0;
        if (!may_go(api))
            continue;
        if (out->n_left + 2 * api->n_calls <= enough) {
            out->n_left += 2 * api->n_calls;
            continue;
        }
        tc_strtab_intern_text(names, api->name);
        out->n_left_out++;
    }
}

enum tc_status tc_thrift_choose(const char *const *traces, size_t n, struct tc_strtab *names,
                                struct tc_thrift *out, struct tc_error *err)
{
    struct survey s = {.names = tc_strtab_new()};
    enum tc_status status = each_folder(traces, n, visit_survey, &s, err);

    if (!status && s.apis.n) {
        qsort(s.apis.items, s.apis.n, sizeof(*s.apis.items), compare_apis);
        leave_out(&s, names, out);
    }
    tc_map_release(&s.settings);
    tc_vec_release(&s.apis);
    tc_strtab_free(s.names);
    return status;
}

static enum tc_status visit_told(void *context, struct tc_trace_folder *folder,
                                 struct tc_error *err)
{
    (void)err;
    for (size_t i = 0; i < tc_trace_folder_n_files(folder); i++) {
        const struct tc_record *process = tc_trace_file_process(tc_trace_folder_file(folder, i));
        if (process)
            tc_lean_add_told(process->object, context);
    }
    return TC_OK;
}

enum tc_status tc_thrift_told(const char *const *traces, size_t n, struct tc_strtab *names,
                              struct tc_error *err)
{
    return each_folder(traces, n, visit_told, names, err);
}

struct tc_json *tc_thrift_to_json(const struct tc_strtab *names)
{
    const size_t n = tc_strtab_count(names);
    const char **sorted = tc_calloc(n + 1, sizeof(*sorted));
    struct tc_json *lean = tc_json_object();

    for (size_t i = 0; i < n; i++)
        sorted[i] = tc_strtab_text(names, (tc_sym)i);
    qsort(sorted, n, sizeof(*sorted), tc_compare_texts);
    tc_json_set(lean, "left_out", tc_json_strings(sorted, n));
    tc_free(sorted);
    return lean;
}
