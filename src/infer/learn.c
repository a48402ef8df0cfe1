/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn.c - replays a folder and adds each example of the enabled sources to evidence
 *
 * Of each row the place of its first example is kept, first by (step, time, file, order) and not
 * by the order of reading; this costs a comparison an example, and the text of the place only
 * where it is earlier. Notes of replay are gathered apart while a second thread reads ahead.
 */
#include "infer/learn.h"

#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "infer/gaps.h"
#include "replay/symbols.h"
#include "trace/reader_notes.h"

/* When an example was met: later files may hold earlier ones. */
struct met {
    int64_t step, unix_ns;
    const char *file;
    uint64_t order;
};

struct learner {
    struct tc_evidence *evidence;
    struct tc_draws *draws;
    uint32_t source; /* whose examples arrive */
    uint32_t pipeline;
    const char *name;
    void *states[TC_MAX_SOURCES];
    const bool *enabled;
    TC_VEC(struct met) firsts; /* of each row, when it was met first */
};

/* Where an example was met, for the person who asks why a hypothesis failed. */
static tc_sym place_text(struct learner *learner, const struct tc_place *place)
{
    struct tc_strtab *symbols = learner->evidence->symbols;
    struct tc_strbuf text = TC_STRBUF_INIT;
    bool is_window = place->call == TC_SYM_EMPTY;

    tc_strbuf_addf(&text, "%s, step %lld of %s",
                   is_window ? "window" : tc_strtab_text(symbols, place->at),
                   (long long)place->step, learner->name);
    tc_sym sym = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return sym;
}

static bool is_earlier(const struct met *a, const struct met *b)
{
    if (a->step != b->step)
        return a->step < b->step;
    if (a->unix_ns != b->unix_ns)
        return a->unix_ns < b->unix_ns;
    if (a->file != b->file)
        return strcmp(a->file, b->file) < 0;
    return a->order < b->order;
}

/* What the rest of the place costs is spent on the first of a row alone. */
static struct met met_at(const struct tc_event *event, const struct tc_place *place)
{
    const struct tc_process *process = event->process;
    const struct tc_call *call = event->call;

    if (place)
        return (struct met){place->step, place->unix_ns, place->file, place->order};
    return (struct met){.step = call ? call->step : event->window->step,
                        .unix_ns =
                            tc_process_wall_time(process, call ? call->end_t : event->window->t),
                        .file = process->file,
                        .order = event->order};
}

static void on_example(void *context, const struct tc_event *event,
                       const struct tc_example *example)
{
    struct learner *learner = context;
    struct tc_row *row =
        tc_evidence_add(learner->evidence, learner->source, example, learner->pipeline);
    size_t i = (size_t)(row - learner->evidence->rows.items);
    struct tc_place place;

    row->count += example->n ? example->n - 1 : 0;
    if (!example->place && !event->process) /* a sum over the run: it stood nowhere */
        return;
    const struct met met = met_at(event, example->place);
    while (learner->firsts.n <= i)
        tc_vec_push(&learner->firsts, (struct met){0});
    struct met *first = &learner->firsts.items[i];
    if (row->first != TC_NO_SYM && (!first->file || !is_earlier(&met, first)))
        return;
    *first = met;
    if (!example->place)
        tc_place_of(event, &place);
    row->first = place_text(learner, example->place ? example->place : &place);
}

static void on_event(void *context, const struct tc_event *event)
{
    struct learner *learner = context;
    const struct tc_sink sink = {.example = on_example, .context = learner};

    tc_draws_meet(learner->draws, event);
    for (learner->source = 0; tc_sources[learner->source]; learner->source++)
        if (learner->enabled[learner->source] &&
            (!tc_event_is_close(event) || tc_sources[learner->source]->looks_closely))
            tc_source_observe(tc_sources[learner->source], learner->states[learner->source],
                              learner->evidence->symbols, event, &sink);
}

static void count_folder(const struct tc_trace_folder *folder, struct tc_learned *learned)
{
    learned->n_files = tc_trace_folder_n_files(folder);
    for (size_t i = 0; i < learned->n_files; i++) {
        const struct tc_trace_file *file = tc_trace_folder_file(folder, i);
        learned->file_bytes += tc_trace_file_bytes(file);
        learned->json_bytes += tc_trace_file_json_bytes(file);
    }
}

static int exit_status_of(const struct tc_trace_folder *folder, const struct tc_replay *replay)
{
    for (size_t i = 0; i < tc_trace_folder_n_files(folder); i++) {
        const struct tc_process *process = tc_replay_process(replay, i);
        if (process->exit_status && !process->is_worker)
            return process->exit_status;
    }
    return 0;
}

/* Of calls that are not left out anyway. */
static bool lacks_calls(const struct tc_trace_folder *folder, const struct tc_replay *replay,
                        const struct tc_strtab *left_out)
{
    for (size_t i = 0; i < tc_trace_folder_n_files(folder); i++) {
        const struct tc_process *process = tc_replay_process(replay, i);
        if (process->left_out &&
            (!left_out || tc_strtab_count(process->left_out) > tc_strtab_count(left_out)))
            return true;
    }
    return false;
}

static bool looks_closely(const bool *enabled)
{
    for (size_t i = 0; tc_sources[i]; i++)
        if (enabled[i] && tc_sources[i]->looks_closely)
            return true;
    return false;
}

enum tc_status tc_learn_folder(const char *path, const struct tc_learn_options *options,
                               struct tc_evidence *evidence, struct tc_learned *learned,
                               struct tc_notes *notes, struct tc_error *err)
{
    struct learner learner = {
        .evidence = evidence, .draws = &learned->draws, .enabled = options->enabled};
    struct tc_trace_folder *folder = NULL;
    enum tc_status status = tc_trace_folder_open(path, notes, &folder, err);

    *learned = (struct tc_learned){0};
    if (status)
        return status;
    learner.name = tc_fs_base(path);
    learner.pipeline = tc_evidence_pipeline(evidence, path);
    tc_sources_open(learner.states);
    struct tc_notes *replayed = tc_notes_new(); /* while the folder is read by another thread */
    struct tc_replay *replay = tc_replay_new(evidence->symbols, replayed, on_event, &learner);
    tc_replay_leave_out(replay, options->left_out);
    if (looks_closely(options->enabled))
        tc_replay_look_closely(replay);
    status =
        tc_replay_folder(replay, folder, options->ahead, options->progress, options->context, err);
    tc_notes_take(notes, replayed);
    tc_notes_free(replayed);
    learned->counts = tc_replay_counts(replay);
    count_folder(folder, learned);
    learned->exit_status = exit_status_of(folder, replay);
    tc_draws_finish(&learned->draws);
    if (!status)
        tc_gaps_note(folder, &learned->counts, learner.name, notes);
    struct tc_str torch = tc_folder_torch(folder);
    snprintf(learned->torch, sizeof(learned->torch), "%.*s", (int)torch.size, torch.text);
    learned->has_operators = tc_folder_has_operators(folder);
    tc_selections_add(&learned->selections, folder, path);
    learned->is_lean = lacks_calls(folder, replay, options->left_out);
    struct tc_str script = tc_folder_script(folder);
    snprintf(learned->script, sizeof(learned->script), "%.*s", (int)script.size, script.text);
    tc_replay_free(replay);
    tc_sources_close(learner.states);
    tc_vec_release(&learner.firsts);
    tc_trace_folder_close(folder);
    return status;
}
