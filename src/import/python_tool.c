/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_tool.c - folders of the Python TrainCheck: trace_API_*, trace_VAR_*, proxy_log.json
 *
 * It writes a file for each thread and kind of record. All files of a process are read side by
 * side, in order of time, as one file of ours.
 */
#include <string.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/vec.h"
#include "import/convert.h"
#include "import/lines_by_time.h"
#include "import/survey.h"
#include "import/torch_apis.h"
#include "import/typed_value.h"
#include "trace/foreign.h"
#include "trace/reader.h"
#include <traincheck/version.h>

struct source {
    struct tc_lines_by_time *lines;
    struct tc_python_line line;
    bool has_line;
};

/* Shared by the processes of a folder. */
struct shared {
    struct tc_torch_apis *apis;
    size_t n_users;
};

struct process {
    int64_t pid;
    TC_VEC(struct source) sources;
    struct source *at; /* whose line is being handed out */
    struct tc_conversion *conversion;
    struct shared *shared;
    struct tc_arena arena; /* of the process record */
};

static bool has_name(const char *name)
{
    return !strncmp(name, "trace_", 6) || strstr(name, "proxy_log.json");
}

static void close_process(void *state)
{
    struct process *p = state;

    for (size_t i = 0; i < p->sources.n; i++)
        tc_lines_by_time_close(p->sources.items[i].lines);
    tc_vec_release(&p->sources);
    tc_conversion_free(p->conversion);
    tc_arena_release(&p->arena);
    if (!--p->shared->n_users) {
        tc_torch_apis_free(p->shared->apis);
        tc_free(p->shared);
    }
    tc_free(p);
}

/* proxy_log.json is written by all processes. */
static enum tc_status fill(const struct process *p, struct source *source, struct tc_error *err)
{
    enum tc_status status;

    do {
        status = tc_lines_by_time_next(source->lines, &source->line, err);
    } while (status == TC_OK && source->line.process != p->pid);
    source->has_line = status == TC_OK;
    return status == TC_END ? TC_OK : status;
}

/* The source with the earliest line, NULL when none has one. */
static enum tc_status choose(struct process *p, struct tc_error *err)
{
    p->at = NULL;
    for (size_t i = 0; i < p->sources.n; i++) {
        struct source *source = &p->sources.items[i];
        enum tc_status status = source->has_line ? TC_OK : fill(p, source, err);

        if (status != TC_OK)
            return status;
        if (source->has_line && (!p->at || source->line.time < p->at->line.time))
            p->at = source;
    }
    return TC_OK;
}

static enum tc_status next(void *state, const struct tc_record **out, struct tc_error *err)
{
    struct process *p = state;

    for (;;) {
        enum tc_status status;

        *out = tc_conversion_next(p->conversion);
        if (*out)
            return TC_OK;
        if (p->at)
            p->at->has_line = false;
        status = choose(p, err);
        if (status != TC_OK)
            return status;
        if (!p->at)
            return TC_END;
        tc_conversion_add(p->conversion, &p->at->line, tc_lines_by_time_name(p->at->lines));
    }
}

static uint64_t bytes(const void *state)
{
    const struct process *p = state;
    uint64_t sum = 0;

    for (size_t i = 0; i < p->sources.n; i++)
        sum += tc_lines_by_time_bytes(p->sources.items[i].lines);
    return sum;
}

static uint64_t json_bytes(const void *state)
{
    const struct process *p = state;
    uint64_t sum = 0;

    for (size_t i = 0; i < p->sources.n; i++)
        sum += tc_lines_by_time_json_bytes(p->sources.items[i].lines);
    return sum;
}

static bool is_waiting(const void *state)
{
    const struct process *p = state;

    for (size_t i = 0; i < p->sources.n; i++)
        if (tc_lines_by_time_is_waiting(p->sources.items[i].lines))
            return true;
    return false;
}

static void park(void *state)
{
    struct process *p = state;

    for (size_t i = 0; i < p->sources.n; i++)
        tc_lines_by_time_park(p->sources.items[i].lines);
}

static const struct tc_foreign_ops ops = {.next = next,
                                          .close = close_process,
                                          .is_waiting = is_waiting,
                                          .park = park,
                                          .bytes = bytes,
                                          .json_bytes = json_bytes};

static struct tc_record process_record(struct process *p, const struct tc_survey_process *about)
{
    struct tc_object_maker maker;
    struct tc_record record = {.type = TC_RECORD_PROCESS, .role = tc_str_of("main")};

    tc_make_object(&maker, &p->arena, 7);
    tc_make_str(&maker, "type", tc_str_of("process"));
    tc_make_int(&maker, "schema", TC_TRACE_SCHEMA);
    tc_make_int(&maker, "pid", about->pid);
    tc_make_str(&maker, "role", record.role);
    tc_make_int(&maker, "rank", about->rank);
    tc_make_int(&maker, "world_size", about->world);
    if (about->has_samples)
        tc_make_str(&maker, "variables", tc_str_of("sampled"));
    record.object = tc_value_place(&p->arena, tc_made(&maker));
    return record;
}

static enum tc_status open_process(const struct tc_survey_process *about, const char *const *paths,
                                   struct tc_notes *notes, struct shared *shared,
                                   struct tc_trace_file **out, struct tc_error *err)
{
    struct process *p = tc_calloc(1, sizeof(*p));
    enum tc_status status = TC_OK;

    p->pid = about->pid;
    p->shared = shared;
    shared->n_users++;
    p->conversion = tc_conversion_new(shared->apis, notes, about->has_stages);
    for (size_t i = 0; i < about->files.n && status == TC_OK; i++) {
        struct source source = {NULL, {0}, false};
        status = tc_lines_by_time_open(paths[about->files.items[i]], notes, &source.lines, err);
        if (status == TC_OK)
            tc_vec_push(&p->sources, source);
    }
    if (status != TC_OK) {
        close_process(p);
        return status;
    }
    struct tc_record record = process_record(p, about);
    *out = tc_trace_file_new_foreign(paths[about->files.items[0]], &ops, p, &record);
    return TC_OK;
}

static enum tc_status open_all(const struct tc_survey *survey, const char *const *paths,
                               struct tc_notes *notes, struct tc_foreign_files *out,
                               struct tc_error *err)
{
    struct shared *shared = tc_calloc(1, sizeof(*shared));
    enum tc_status status = TC_OK;

    shared->apis = tc_torch_apis_new();
    shared->n_users = 1; /* until all are open */
    out->items = tc_calloc(survey->processes.n, sizeof(struct tc_trace_file *));
    for (size_t i = 0; i < survey->processes.n && status == TC_OK; i++) {
        status = open_process(&survey->processes.items[i], paths, notes, shared,
                              &out->items[out->n], err);
        out->n += status == TC_OK;
    }
    if (!--shared->n_users) {
        tc_torch_apis_free(shared->apis);
        tc_free(shared);
    }
    return status;
}

static enum tc_status open_folder(const char *const *paths, size_t n, struct tc_notes *notes,
                                  bool *taken, struct tc_foreign_files *out, struct tc_error *err)
{
    struct tc_survey survey;
    enum tc_status status = TC_OK;

    tc_survey_init(&survey);
    for (size_t i = 0; i < n && status == TC_OK; i++)
        status = tc_survey_file(&survey, paths[i], i, &taken[i], err);
    tc_survey_rank(&survey);
    if (status == TC_OK && survey.processes.n)
        status = open_all(&survey, paths, notes, out, err);
    tc_survey_release(&survey);
    return status;
}

const struct tc_trace_format tc_python_tool_format = {
    .name = "the Python TrainCheck",
    .has_name = has_name,
    .open = open_folder,
};
