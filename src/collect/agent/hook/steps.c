/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.c - where a window is cut, by what each optimizer has done in it
 *
 * Of the optimizers that were built last all must have stepped: older ones that rest are a
 * finished run, and one without which a window was closed is waited for no longer. Only the main
 * thread outside of all traced calls may cut. With sampling, what belongs to either of two steps
 * is recorded and dropped once it is known to which. The state is of the process and is reset
 * after a fork.
 */
#include "collect/agent/hook/steps.h"

#include <string.h>

#include "collect/agent/hook/sampling.h"
#include "collect/agent/hook/variables.h"
#include "collect/agent/say/queue.h"
#include "collect/agent/say/settings.h"

/* What is known of an optimizer, in counts of optimizer steps since the start. */
struct optimizer {
    int64_t serial;
    uint64_t born;  /* steps made when it was built */
    uint64_t last;  /* its own last step, counted over all; 0: never */
    int64_t window; /* the window it stepped in last */
    bool given_up;  /* never stepped, though a window was closed without it */
};

/* The diagram stands in steps.h. */
enum batch {
    BATCH_NONE,
    BATCH_HELD,
    BATCH_EXPECTED,
};

static struct {
    int64_t number;
    bool has_step; /* the window holds an optimizer step */
    bool has_call;
    uint64_t n_steps;    /* of all optimizers */
    uint64_t n_forwards; /* of roots, before the first of these */
    int64_t previous;    /* the last window that held a step */
    enum batch batch;
    int64_t asked_t; /* when the batch was asked for */
    TC_VEC(struct optimizer) optimizers;
    int64_t skipped_since; /* the first step that is not traced */
} steps;

static struct optimizer *known(int64_t serial)
{
    for (size_t i = 0; i < steps.optimizers.n; i++)
        if (steps.optimizers.items[i].serial == serial)
            return &steps.optimizers.items[i];
    return NULL;
}

static struct optimizer *find_optimizer(int64_t serial)
{
    struct optimizer fresh = {.serial = serial, .born = steps.n_steps, .window = -1};
    struct optimizer *o = known(serial);

    if (o)
        return o;
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
    return thread->number == 0 && thread->n_core == 0 && !tc_agent.worker &&
           steps.batch != BATCH_EXPECTED;
}

/* ---- sampling ---- */

/* What other parts know of it. While it is not known to which of two steps records belong, they are
 * made for either. */
static void show_step(void)
{
    tc_agent.step = steps.number + (steps.batch == BATCH_EXPECTED);
    tc_agent.is_skipped = !tc_sampling_takes(steps.number) &&
                          !(steps.batch == BATCH_EXPECTED && tc_sampling_takes(steps.number + 1));
}

/* It is known now: they are of the step of that number. */
static void drop_if_skipped(int64_t number)
{
    if (!tc_sampling_takes(number))
        tc_queue_drop_calls();
}

/* The note between two steps of which only one is traced. */
static void add_gap(struct tc_strbuf *line, int64_t from, int64_t to, int64_t t)
{
    if (tc_sampling_takes(from) == tc_sampling_takes(to))
        return;
    if (tc_sampling_takes(from)) {
        steps.skipped_since = to;
        tc_strbuf_addf(
            line,
            "{\"type\":\"note\",\"code\":\"sampling-off\",\"text\":\"step %lld and later are "
            "not traced\",\"t\":%lld}\n",
            (long long)to, (long long)t);
    } else {
        tc_strbuf_addf(
            line,
            "{\"type\":\"note\",\"code\":\"sampling-on\",\"text\":\"steps %lld to %lld were "
            "not traced\",\"count\":%lld,\"t\":%lld}\n",
            (long long)steps.skipped_since, (long long)from, (long long)(to - steps.skipped_since),
            (long long)t);
    }
}

/* ---- windows ---- */

static void add_step(struct tc_strbuf *line, const struct tc_thread *thread, int64_t t,
                     const char *why)
{
    if (!tc_sampling_takes(steps.number))
        return;
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
    show_step();
}

/* Close the window and open the next; in line what the trace says of it. */
static void turn_page(struct tc_thread *thread, int64_t t, const char *why)
{
    struct tc_strbuf *line = &thread->line;
    int64_t number = steps.number;

    tc_strbuf_reset(line);
    add_step(line, thread, t, why);
    next_window();
    add_gap(line, number, steps.number, t);
}

static void put_lines(const struct tc_strbuf *lines)
{
    for (size_t at = 0; at < lines->size;) {
        size_t size = strcspn(lines->text + at, "\n") + 1;

        tc_queue_put(lines->text + at, size, 0);
        at += size;
    }
}

static void look_at_all(struct tc_thread *thread)
{
    tc_variables_look(thread, 0, TC_LOOK_ALL);
    tc_settings_look(thread, 0, false);
}

/* What changed while nothing was looked at has no cause. */
static void catch_up(struct tc_thread *thread, bool was_skipped)
{
    if (was_skipped && !tc_agent.is_skipped)
        look_at_all(thread);
}

/* What is held belongs to the window that is open. */
static void keep_batch(void)
{
    if (steps.batch != BATCH_HELD)
        return;
    steps.batch = BATCH_NONE;
    tc_queue_release(NULL, 0);
}

/* Weights may have been changed by a step, or put in for an evaluation and taken out. */
static void cut(struct tc_thread *thread, const char *why)
{
    bool was_skipped = tc_agent.is_skipped;

    if (!tc_agent_ready())
        return;
    keep_batch();
    if (steps.has_step || thread->stage == TC_STAGE_EVALUATION)
        look_at_all(thread);
    turn_page(thread, tc_agent_now(), why);
    put_lines(&thread->line);
    catch_up(thread, was_skipped);
}

/* Cut before the batch that was fetched last. */
static void cut_before_batch(struct tc_thread *thread, const char *why)
{
    bool was_skipped = !tc_sampling_takes(steps.number);

    turn_page(thread, steps.asked_t, why);
    steps.batch = BATCH_NONE;
    tc_queue_release(thread->line.text, thread->line.size);
    catch_up(thread, was_skipped);
}

void tc_steps_candidate(struct tc_thread *thread, const char *why)
{
    if (may_cut(thread) && steps.has_step && all_stepped())
        cut(thread, why);
}

/* One that was never built is a cover of another, as Lightning has it: no step of it will come. */
void tc_steps_candidate_of(struct tc_thread *thread, const char *why, int64_t serial)
{
    const struct optimizer *o = known(serial);

    if (!may_cut(thread) || !steps.has_step)
        return;
    if ((o && o->last && o->window == steps.number) || all_stepped())
        cut(thread, why);
}

void tc_steps_set_stage(struct tc_thread *thread, enum tc_stage stage)
{
    if (thread->stage != stage && may_cut(thread)) {
        if (steps.batch == BATCH_HELD && steps.has_call) {
            cut_before_batch(thread, "stage");
            if (thread->stage == TC_STAGE_EVALUATION)
                look_at_all(thread);
        } else if (steps.has_call || steps.has_step) {
            cut(thread, "stage");
        }
    }
    thread->stage = stage;
    if (thread->number == 0)
        keep_batch();
}

void tc_steps_count_call(struct tc_thread *thread, const struct tc_api *api)
{
    if (thread->number || thread->n_core)
        return;
    if (api->role != TC_ROLE_DATA && !tc_role_has(api->role, TC_TRAIT_CLOSE))
        steps.has_call = true;
}

void tc_steps_optimizer_born(int64_t serial)
{
    if (serial)
        find_optimizer(serial);
}

void tc_steps_before_step(struct tc_thread *thread, int64_t serial)
{
    const struct optimizer *o = find_optimizer(serial);

    if (may_cut(thread) && steps.has_step && o->last && o->window == steps.number)
        cut(thread, "step");
}

void tc_steps_after_step(const struct tc_thread *thread, int64_t serial)
{
    struct optimizer *o = find_optimizer(serial);

    if (thread->number != 0)
        return;
    o->last = ++steps.n_steps;
    o->window = steps.number;
    steps.has_step = true;
}

#define MIN_FORWARDS 16

bool tc_steps_forward_begin(const struct tc_thread *thread)
{
    if (thread->number || steps.n_steps)
        return false;
    steps.n_forwards++;
    return steps.n_forwards >= MIN_FORWARDS && !(steps.n_forwards & (steps.n_forwards - 1));
}

bool tc_steps_data_begin(struct tc_thread *thread)
{
    if (!may_cut(thread) || !tc_agent_ready())
        return false;
    keep_batch();
    if (steps.has_step && !all_stepped())
        return false;
    if (steps.has_step)
        look_at_all(thread);
    steps.asked_t = tc_agent_now();
    steps.batch = steps.has_step ? BATCH_EXPECTED : BATCH_HELD;
    show_step();
    tc_queue_hold();
    return true;
}

void tc_steps_data_end(bool got_batch)
{
    const bool is_expected = steps.batch == BATCH_EXPECTED;

    if (steps.batch == BATCH_NONE)
        return;
    steps.batch = BATCH_HELD;
    show_step();
    if (is_expected && got_batch) {
        drop_if_skipped(steps.number + 1);
        cut_before_batch(tc_thread_current(), "data");
    } else if (!got_batch) {
        tc_queue_relabel(steps.number);
        drop_if_skipped(steps.number);
        keep_batch();
    }
}

void tc_steps_finish(struct tc_thread *thread)
{
    if (steps.batch == BATCH_EXPECTED) /* left by an exit inside of the loader */
        tc_steps_data_end(false);
    keep_batch();
    if (!tc_agent.worker && (steps.has_call || steps.has_step))
        cut(thread, "end");
    tc_sampling_finish(steps.number);
}

void tc_steps_reset(void)
{
    steps.number = 0;
    steps.has_step = steps.has_call = false;
    steps.batch = BATCH_NONE;
    steps.n_steps = steps.n_forwards = 0;
    steps.previous = 0;
    tc_vec_release(&steps.optimizers);
    tc_sampling_reset();
    show_step();
}
