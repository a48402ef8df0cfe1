/* SPDX-License-Identifier: Apache-2.0 */
/*
 * healthy_run.c - the process record, which is the second line of its process, and the lines of
 * courses
 */
#include "compare/healthy_run.h"

#include <math.h>
#include <string.h>

#include "trace/scan.h"

static void read_course(struct tc_loss_course *course, const struct tc_value *points)
{
    for (uint32_t i = 0; points && points->kind == TC_VALUE_ARRAY && i < points->n; i++) {
        const struct tc_value *point = &points->items[i];
        double value;
        if (point->kind != TC_VALUE_ARRAY || point->n != 2)
            continue;
        if (!tc_value_number(&point->items[1], &value))
            value = NAN;
        tc_loss_course_add(course, tc_value_int(&point->items[0], 0), value);
    }
}

static bool begins_with(const char *text, size_t size, const char *begin)
{
    return size >= strlen(begin) && !memcmp(text, begin, strlen(begin));
}

static void read_process(struct tc_healthy_run *run, const struct tc_excerpt_process *process)
{
    const char *text = process->text, *until = text + process->size, *end;

    for (unsigned number = 0; text < until; text = end + 1, number++) {
        struct tc_value line;
        end = memchr(text, '\n', (size_t)(until - text));
        end = end ? end : until;
        const bool is_course = begins_with(text, (size_t)(end - text), "{\"loss\":") ||
                               begins_with(text, (size_t)(end - text), "{\"lr\":");
        if ((number != 1 && !is_course) ||
            tc_scan(text, (size_t)(end - text), &run->arena, &line, NULL) != TC_OK)
            continue;
        if (number == 1)
            run->process = line;
        read_course(&run->loss, tc_value_get(&line, "loss"));
        read_course(&run->rate, tc_value_get(&line, "lr"));
    }
}

void tc_healthy_run_read(struct tc_healthy_run *run, const struct tc_excerpt *excerpt)
{
    *run = (struct tc_healthy_run){0};
    for (size_t i = 0; i < excerpt->processes.n && !run->loss.points.n; i++)
        if (!begins_with(excerpt->processes.items[i].text, excerpt->processes.items[i].size,
                         "{\"is_worker\":true"))
            read_process(run, &excerpt->processes.items[i]);
}

void tc_healthy_run_release(struct tc_healthy_run *run)
{
    tc_loss_course_release(&run->loss);
    tc_loss_course_release(&run->rate);
    tc_arena_release(&run->arena);
}
