/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome.c - the run in the Trace Event Format of Chrome, which Perfetto opens: calls and step
 * windows as complete events, violations as instant events
 *
 * The traces are read once more; what is written goes to the file in pieces.
 */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/fs.h"
#include "invariant/describe.h"
#include "replay/replay.h"
#include "replay/symbols.h"

#define PIECE     (1 << 20)
#define STEPS_TID 1000000 /* the row of step windows, apart from those of threads */

struct chrome {
    const struct tc_report_input *input;
    struct tc_strtab *symbols;
    struct tc_fs_writer file;
    struct tc_strbuf text;
    struct tc_map pids; /* process → number; each file of each trace is one process */
    uint64_t n_pids;
    const char *trace;
    int64_t base_ns; /* where the time begins */
    bool is_first;
    enum tc_status status;
    struct tc_error *err;
};

static void flush(struct chrome *c)
{
    if (!c->status)
        c->status = tc_fs_writer_add(&c->file, c->text.text, c->text.size, c->err);
    tc_strbuf_reset(&c->text);
}

static void begin(struct chrome *c, const char *phase, uint64_t pid, int64_t tid)
{
    if (c->text.size >= PIECE)
        flush(c);
    tc_strbuf_addf(&c->text, "%s{\"ph\":\"%s\",\"pid\":%" PRIu64 ",\"tid\":%" PRId64,
                   c->is_first ? "" : ",\n", phase, pid, tid);
    c->is_first = false;
}

static void add_string(struct chrome *c, const char *key, const char *text)
{
    tc_strbuf_addf(&c->text, ",\"%s\":", key);
    tc_strbuf_add_json(&c->text, text, strlen(text));
}

/* Microseconds with the nanoseconds behind the point. */
static void add_ns(struct chrome *c, const char *key, int64_t ns)
{
    tc_strbuf_addf(&c->text, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

static void add_time(struct chrome *c, const struct tc_process *process, int64_t from, int64_t to)
{
    int64_t begin_ns = tc_process_time(process, from), end_ns = tc_process_time(process, to);

    begin_ns = begin_ns > c->base_ns ? begin_ns : c->base_ns;
    end_ns = end_ns > begin_ns ? end_ns : begin_ns;
    add_ns(c, "ts", begin_ns - c->base_ns);
    add_ns(c, "dur", end_ns - begin_ns);
}

static void name_row(struct chrome *c, uint64_t pid, int64_t tid, const char *what,
                     const char *name)
{
    begin(c, "M", pid, tid);
    add_string(c, "name", what);
    tc_strbuf_adds(&c->text, ",\"args\":{\"name\":");
    tc_strbuf_add_json(&c->text, name, strlen(name));
    tc_strbuf_adds(&c->text, "}}");
}

/* Violations of this process: an instant each, at the moment of the fault. */
static void add_violations(struct chrome *c, const struct tc_process *process, uint64_t pid)
{
    const struct tc_findings *findings = &c->input->findings;

    for (size_t i = 0; i < findings->n_all; i++) {
        const struct tc_violation *v = findings->all[i];
        if (strcmp(v->file, process->file) != 0 || strcmp(v->trace, c->trace) != 0)
            continue;
        begin(c, "i", pid, STEPS_TID);
        add_string(c, "name", v->seen);
        add_string(c, "cat", "violation");
        add_ns(c, "ts", v->moment_ns > c->base_ns ? v->moment_ns - c->base_ns : 0);
        tc_strbuf_adds(&c->text, ",\"s\":\"p\",\"args\":{\"id\":");
        tc_strbuf_add_json(&c->text, v->invariant->id, strlen(v->invariant->id));
        add_string(c, "expected", v->invariant->text);
        add_string(c, "hint", v->hint);
        add_string(c, "at", v->at);
        tc_strbuf_adds(&c->text, "}}");
    }
}

static uint64_t pid_of(struct chrome *c, const struct tc_process *process)
{
    struct tc_strbuf name = TC_STRBUF_INIT;
    bool is_new;
    uint64_t *pid = tc_map_at(&c->pids, (uintptr_t)process, &is_new);

    if (!is_new)
        return *pid;
    *pid = ++c->n_pids;
    if (process->rank >= 0)
        tc_strbuf_addf(&name, "rank %" PRId64 " ", process->rank);
    tc_strbuf_adds(&name, process->file);
    name_row(c, *pid, 0, "process_name", name.text);
    name_row(c, *pid, STEPS_TID, "thread_name", "steps");
    add_violations(c, process, *pid);
    tc_strbuf_release(&name);
    return *pid;
}

static void add_call(struct chrome *c, const struct tc_process *process, const struct tc_call *call)
{
    struct tc_strbuf name = TC_STRBUF_INIT;
    uint64_t pid = pid_of(c, process);

    tc_describe_call(c->symbols, call->descriptor, &name);
    begin(c, "X", pid, call->th);
    add_string(c, "name", name.text);
    add_string(c, "cat", tc_role_text(call->role));
    add_time(c, process, call->t, call->end_t);
    tc_strbuf_addf(&c->text, ",\"args\":{\"step\":%" PRId64, call->step);
    add_string(c, "fn", tc_strtab_text(c->symbols, call->fn));
    add_string(c, "at", tc_strtab_text(c->symbols, tc_call_at(call)));
    tc_strbuf_adds(&c->text, "}}");
    tc_strbuf_release(&name);
}

static void add_window(struct chrome *c, const struct tc_process *process,
                       const struct tc_window *window)
{
    begin(c, "X", pid_of(c, process), STEPS_TID);
    tc_strbuf_addf(&c->text, ",\"name\":\"step %" PRId64 "\"", window->step);
    add_string(c, "cat", tc_strtab_text(c->symbols, window->stage));
    add_time(c, process, window->begin_t, window->t);
    tc_strbuf_adds(&c->text, "}");
}

static void on_event(void *context, const struct tc_event *event)
{
    struct chrome *c = context;

    if (event->kind == TC_EVENT_CALL)
        add_call(c, event->process, event->call);
    else if (event->kind == TC_EVENT_WINDOW)
        add_window(c, event->process, event->window);
}

static bool go_on(void *context, uint64_t json_bytes)
{
    const struct chrome *c = context;

    (void)json_bytes;
    return c->status == TC_OK;
}

/* The earliest clock of all processes is where the time begins. */
static void set_base(struct chrome *c, const struct tc_trace_folder *folder)
{
    for (size_t i = 0; i < tc_trace_folder_n_files(folder); i++) {
        const struct tc_record *process = tc_trace_file_process(tc_trace_folder_file(folder, i));
        int64_t ns = tc_value_int(tc_value_get(process->object, "unix_ns"), 0);
        if (ns > 0 && (!c->base_ns || ns < c->base_ns))
            c->base_ns = ns;
    }
}

static enum tc_status add_trace(struct chrome *c, const char *path)
{
    struct tc_notes *notes = tc_notes_new();
    struct tc_trace_folder *folder = NULL;
    enum tc_status status = tc_trace_folder_open(path, notes, &folder, c->err);

    if (!status) {
        struct tc_replay *replay = tc_replay_new(c->symbols, notes, on_event, c);
        c->trace = path;
        set_base(c, folder);
        status = tc_replay_folder(replay, folder, false, go_on, c, c->err);
        tc_replay_free(replay);
        tc_map_clear(&c->pids);
    }
    tc_trace_folder_close(folder);
    tc_notes_free(notes);
    return c->status ? c->status : status;
}

static enum tc_status write_file(const struct tc_report_input *input, const char *path,
                                 struct tc_error *err)
{
    struct chrome c = {.input = input, .symbols = tc_symbols_new(), .is_first = true, .err = err};
    enum tc_status status = tc_fs_writer_open(&c.file, path, err);

    if (!status) {
        tc_strbuf_adds(&c.text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
        for (size_t i = 0; i < input->config->n_traces && !status; i++)
            status = add_trace(&c, input->config->traces[i]);
        tc_strbuf_adds(&c.text, "\n]}\n");
        flush(&c);
        status = tc_fs_writer_close(&c.file, status ? status : c.status, err);
    }
    tc_strbuf_release(&c.text);
    tc_map_release(&c.pids);
    tc_strtab_free(c.symbols);
    return status;
}

const struct tc_report tc_report_chrome = {
    .name = "chrome",
    .file = "chrome_trace.json",
    .write = write_file,
};
