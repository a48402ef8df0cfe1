#include "collect/agent/steps.h"

#include "base/banned.h"
#include "collect/agent/sink.h"
#include "collect/agent/variables.h"

/* What is known of an optimizer, in counts of optimizer steps since the start. */
struct optimizer {
    int64_t serial;
    uint64_t born;  /* steps made when it was built */
    uint64_t last;  /* its own last step, counted over all; 0: never */
    int64_t window; /* the window it stepped in last */
    bool given_up;  /* never stepped, though a window was closed without it */
};

static struct {
    int64_t number;
    bool has_step; /* the window holds an optimizer step */
    bool has_call;
    uint64_t n_steps; /* of all optimizers */
    int64_t previous; /* the last window that held a step */
    bool predicted;   /* a batch is asked for: records carry the next window's number */
    bool asked; /* a batch is asked for, or was the last thing that happened: records are held */
    int64_t asked_t;
    TC_VEC(struct optimizer) optimizers;
} steps;

int64_t tc_steps_number(void)
{
    return steps.number + (steps.predicted ? 1 : 0);
}

void tc_steps_add(struct tc_thread *thread, struct tc_strbuf *out)
{
    tc_strbuf_adds(out, ",\"step\":");
    thread->step_at = out->size;
    tc_strbuf_add_int(out, tc_steps_number());
    tc_strbuf_adds(out, ",\"stage\":\"");
    tc_strbuf_adds(out, tc_stage_name(thread->stage));
    tc_strbuf_addc(out, '"');
}

static struct optimizer *find(int64_t serial)
{
    struct optimizer fresh = {.serial = serial, .born = steps.n_steps, .window = -1};

    for (size_t i = 0; i < steps.optimizers.n; i++)
        if (steps.optimizers.items[i].serial == serial)
            return &steps.optimizers.items[i];
    tc_vec_push(&steps.optimizers, fresh);
    return &steps.optimizers.items[steps.optimizers.n - 1];
}

/* The youngest of those that stepped in this window: older ones that rested since are a finished
 * run. */
static uint64_t youngest_birth(void)
{
    uint64_t born = 0;

    for (size_t i = 0; i < steps.optimizers.n; i++) {
        const struct optimizer *o = &steps.optimizers.items[i];

        if (o->last && o->window == steps.number && o->born > born)
            born = o->born;
    }
    return born;
}

/* Is the optimizer's step still to come in this window? */
static bool is_awaited(const struct optimizer *o, uint64_t born)
{
    if (o->last && o->window == steps.number)
        return false;
    if (!o->last)
        return !o->given_up && o->born == born; /* built together, as in adversarial training */
    return o->window == steps.previous && o->last > born;
}

static bool all_stepped(void)
{
    uint64_t born = youngest_birth();

    for (size_t i = 0; i < steps.optimizers.n; i++)
        if (is_awaited(&steps.optimizers.items[i], born))
            return false;
    return true;
}

static bool may_cut(const struct tc_thread *thread)
{
    return thread->number == 0 && thread->n_core == 0 && !tc_agent.worker && !steps.predicted;
}

static void render(struct tc_strbuf *line, const struct tc_thread *thread, int64_t t,
                   const char *why)
{
    tc_strbuf_reset(line);
    tc_strbuf_adds(line, "{\"type\":\"step\",\"t\":");
    tc_strbuf_add_int(line, t);
    tc_strbuf_adds(line, ",\"step\":");
    tc_strbuf_add_int(line, steps.number);
    tc_strbuf_addf(line, ",\"stage\":\"%s\",\"why\":\"%s\"}\n", tc_stage_name(thread->stage), why);
}

static void next_window(void)
{
    if (steps.has_step) {
        for (size_t i = 0; i < steps.optimizers.n; i++)
            if (!steps.optimizers.items[i].last)
                steps.optimizers.items[i].given_up = true;
        steps.previous = steps.number++;
    }
    steps.has_step = false;
    steps.has_call = false;
}

/* What is held belongs to the window that is open. */
static void keep_batch(void)
{
    if (!steps.asked || steps.predicted)
        return;
    steps.asked = false;
    tc_sink_release(NULL, 0);
}

static void cut(struct tc_thread *thread, const char *why)
{
    if (!tc_agent_ready())
        return;
    keep_batch();
    if (steps.has_step)
        tc_variables_look(thread, 0, TC_LOOK_ALL);
    render(&thread->line, thread, tc_agent_now(), why);
    tc_sink_put(thread->line.text, thread->line.size, 0);
    next_window();
}

/* Cut before the batch that was fetched last. */
static void cut_before_batch(struct tc_thread *thread, const char *why)
{
    render(&thread->line, thread, steps.asked_t, why);
    steps.asked = false;
    tc_sink_release(thread->line.text, thread->line.size);
    next_window();
}

void tc_steps_candidate(struct tc_thread *thread, const char *why)
{
    if (may_cut(thread) && steps.has_step && all_stepped())
        cut(thread, why);
}

void tc_steps_candidate_of(struct tc_thread *thread, const char *why, int64_t serial)
{
    const struct optimizer *o = find(serial);

    if (!may_cut(thread) || !steps.has_step)
        return;
    if ((o->last && o->window == steps.number) || all_stepped())
        cut(thread, why);
}

void tc_steps_set_stage(struct tc_thread *thread, enum tc_stage stage)
{
    if (thread->stage != stage && may_cut(thread)) {
        if (steps.asked && steps.has_call)
            cut_before_batch(thread, "stage");
        else if (steps.has_call || steps.has_step)
            cut(thread, "stage");
    }
    thread->stage = stage;
    if (thread->number == 0)
        keep_batch();
}

void tc_steps_count_call(struct tc_thread *thread, const struct tc_api *api)
{
    if (thread->number || thread->n_core)
        return;
    if (api->role != TC_ROLE_DATA)
        steps.has_call = true;
}

void tc_steps_optimizer_born(int64_t serial)
{
    if (serial)
        find(serial);
}

void tc_steps_before_step(struct tc_thread *thread, int64_t serial)
{
    const struct optimizer *o = find(serial);

    if (may_cut(thread) && steps.has_step && o->last && o->window == steps.number)
        cut(thread, "step");
}

void tc_steps_after_step(const struct tc_thread *thread, int64_t serial)
{
    struct optimizer *o = find(serial);

    if (thread->number != 0)
        return;
    o->last = ++steps.n_steps;
    o->window = steps.number;
    steps.has_step = true;
}

bool tc_steps_data_begin(struct tc_thread *thread)
{
    if (!may_cut(thread) || !tc_agent_ready())
        return false;
    keep_batch();
    if (steps.has_step && !all_stepped())
        return false;
    if (steps.has_step)
        tc_variables_look(thread, 0, TC_LOOK_ALL);
    steps.asked_t = tc_agent_now();
    steps.asked = true;
    steps.predicted = steps.has_step;
    tc_sink_hold();
    return true;
}

void tc_steps_data_end(bool got_batch)
{
    bool predicted = steps.predicted;

    if (!steps.asked)
        return;
    steps.predicted = false;
    if (predicted && got_batch) {
        cut_before_batch(tc_thread_current(), "data");
    } else if (!got_batch) {
        tc_sink_relabel(steps.number);
        keep_batch();
    }
}

void tc_steps_finish(struct tc_thread *thread)
{
    if (steps.predicted) /* left by an exit inside of the loader */
        tc_steps_data_end(false);
    keep_batch();
    if (!tc_agent.worker && (steps.has_call || steps.has_step))
        cut(thread, "end");
}

void tc_steps_reset(void)
{
    steps.number = 0;
    steps.has_step = steps.has_call = steps.predicted = steps.asked = false;
    steps.n_steps = 0;
    steps.previous = 0;
    tc_vec_release(&steps.optimizers);
}
