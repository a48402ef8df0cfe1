/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_course.c - the loss as compare/loss_course.c takes it, of events in place of windows
 *
 * The loss is the number that a backward starts from, the rate that of the first parameter group
 * after a step. One course for each run and rank.
 */
#include "report/run_course.h"

#include <math.h>
#include <string.h>

#include "replay/symbols.h"
#include "trace/scan.h"

static struct tc_run_course *course_of(struct tc_run_courses *courses, const char *trace,
                                       const struct tc_process *process)
{
    bool is_new;
    uint64_t *slot = tc_map_at(&courses->by_process, (uintptr_t)process, &is_new);

    if (is_new) {
        tc_vec_push(&courses->items, ((struct tc_run_course){.trace = trace, .last_step = -1}));
        *slot = courses->items.n;
    }
    struct tc_run_course *course = &courses->items.items[*slot - 1];
    course->rank = process->rank; /* it may come late */
    return course;
}

static void note_backward(struct tc_run_course *course, const struct tc_call *call)
{
    double value;

    if ((course->n && call->at != course->at) ||
        !tc_value_number(tc_value_get(call->self, "value"), &value))
        return;
    course->at = call->at;
    course->sum += value;
    course->n++;
}

static void note_rate(struct tc_run_course *course, const struct tc_process *process, int64_t step,
                      const struct tc_strtab *symbols)
{
    const struct tc_settings *first = NULL, *s;

    for (size_t pos = 0; (s = tc_map_next(&process->settings, &pos));)
        if (s->kind == TC_SYM_PARAM_GROUP && (!first || s->serial < first->serial))
            first = s;
    for (size_t i = 0; first && i < first->items.n; i++)
        if (!strcmp(tc_strtab_text(symbols, first->items.items[i].attr), "lr") &&
            isfinite(first->items.items[i].number))
            tc_loss_course_add(&course->rate, step, first->items.items[i].number);
}

void tc_run_courses_note(struct tc_run_courses *courses, const char *trace,
                         const struct tc_strtab *symbols, const struct tc_event *event)
{
    const bool is_backward = event->kind == TC_EVENT_CALL && event->call->role == TC_ROLE_BACKWARD;

    if (event->kind == TC_EVENT_FINISH)
        tc_map_clear(&courses->by_process);
    if ((!is_backward && event->kind != TC_EVENT_WINDOW) || event->process->is_worker)
        return;
    struct tc_run_course *course = course_of(courses, trace, event->process);
    if (is_backward) {
        note_backward(course, event->call);
        return;
    }
    if (event->window->has_step && event->window->step > course->last_step)
        course->last_step = event->window->step;
    if (event->window->has_step && course->n)
        tc_loss_course_add(&course->loss, event->window->step, course->sum / (double)course->n);
    if (event->window->has_step)
        note_rate(course, event->process, event->window->step, symbols);
    course->sum = 0;
    course->n = 0;
}

void tc_run_courses_release(struct tc_run_courses *courses)
{
    for (size_t i = 0; i < courses->items.n; i++) {
        tc_loss_course_release(&courses->items.items[i].loss);
        tc_loss_course_release(&courses->items.items[i].rate);
    }
    tc_vec_release(&courses->items);
    tc_map_release(&courses->by_process);
}

/* ---- who it is --------------------------------------------------------------------------------
 */

struct tc_json *tc_run_identity(const struct tc_value *process)
{
    static const char *const keys[] = {"argv",    "python",     "packages", "host",
                                       "unix_ns", "world_size", "restart",  "mode"};
    struct tc_json *object = tc_json_object(), *member;
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const struct tc_value *v = tc_value_get(process, keys[i]);
        if (!v)
            continue;
        tc_strbuf_reset(&text);
        tc_value_print(v, &text);
        if (tc_json_parse(text.text, text.size, &member, NULL) == TC_OK)
            tc_json_set(object, keys[i], member);
    }
    tc_strbuf_release(&text);
    return object;
}
