#include "infer/learn.h"

#include "base/banned.h"
#include "base/fs.h"
#include "replay/symbols.h"

struct learner {
    struct tc_evidence *evidence;
    uint32_t source; /* whose examples arrive */
    uint32_t pipeline;
    const char *name;
    void *states[TC_MAX_SOURCES];
    const bool *enabled;
};

/* Where an example was met, for the person who asks why a hypothesis failed. */
static tc_sym place_of(struct learner *learner, const struct tc_event *event,
                       const struct tc_place *place)
{
    struct tc_strtab *symbols = learner->evidence->symbols;
    struct tc_strbuf text = TC_STRBUF_INIT;
    const struct tc_call *call = event->call;
    int64_t step = place ? place->step : call ? call->step : event->window->step;

    while (call && call->at == TC_SYM_EMPTY)
        call = call->parent;
    tc_strbuf_addf(&text, "%s, step %lld of %s",
                   call ? tc_strtab_text(symbols, call->at) : "window", (long long)step,
                   learner->name);
    tc_sym sym = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return sym;
}

static void on_example(void *context, const struct tc_event *event,
                       const struct tc_example *example)
{
    struct learner *learner = context;
    struct tc_row *row =
        tc_evidence_add(learner->evidence, learner->source, example, learner->pipeline);

    if (row->first == TC_NO_SYM)
        row->first = place_of(learner, event, example->place);
}

static void on_event(void *context, const struct tc_event *event)
{
    struct learner *learner = context;
    const struct tc_sink sink = {on_example, learner};

    for (learner->source = 0; tc_sources[learner->source]; learner->source++)
        if (learner->enabled[learner->source])
            tc_sources[learner->source]->observe(learner->states[learner->source],
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

enum tc_status tc_learn_folder(const char *path, const struct tc_learn_options *options,
                               struct tc_evidence *evidence, struct tc_learned *learned,
                               struct tc_notes *notes, struct tc_error *err)
{
    struct learner learner = {.evidence = evidence, .enabled = options->enabled};
    struct tc_trace_folder *folder = NULL;
    struct tc_replay *replay = NULL;
    enum tc_status status = tc_trace_folder_open(path, notes, &folder, err);

    *learned = (struct tc_learned){0};
    if (status)
        return status;
    learner.name = tc_fs_base(path);
    learner.pipeline = tc_evidence_pipeline(evidence, path);
    tc_sources_open(learner.states);
    replay = tc_replay_new(evidence->symbols, notes, on_event, &learner);
    status = tc_replay_folder(replay, folder, options->progress, options->context, err);
    learned->counts = tc_replay_counts(replay);
    count_folder(folder, learned);
    tc_replay_free(replay);
    tc_sources_close(learner.states);
    tc_trace_folder_close(folder);
    return status;
}
