/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest.c - variables that are out of use, so that nobody has to visit them
 *
 * A script that copies its model for each task or client makes variables without end, and relations
 * visit those of a process in each window. A variable rests when it was in use, that is its model
 * was called or an optimizer has stepped it, and neither has happened for TC_REST_AFTER windows,
 * nor has a record told of it. It is among the others again as soon as one of these does. What
 * never was in use does not rest: that nobody uses it may be the mistake.
 */
#include "replay/rest.h"

#include "base/vec.h"

/* Windows between two looks for what may rest: a look visits all. */
#define LOOK_EACH 256

static struct tc_variable *find(const struct tc_map *map, int64_t serial)
{
    return tc_map_find(map, (uint64_t)serial);
}

static void move(struct tc_map *from, struct tc_map *to, struct tc_variable *v)
{
    tc_map_remove(from, (uint64_t)v->serial);
    tc_map_put(to, (uint64_t)v->serial, (uintptr_t)v);
}

void tc_rest_use(struct tc_process *process, struct tc_variable *v)
{
    v->used = process->window.number;
    if (find(&process->resting, v->serial))
        move(&process->resting, &process->variables, v);
}

struct tc_variable *tc_rest_find(const struct tc_process *process, int64_t serial)
{
    struct tc_variable *v = find(&process->variables, serial);

    return v || !process->resting.n ? v : find(&process->resting, serial);
}

/* In a list, as a map must not change while it is visited. */
typedef TC_VEC(struct tc_variable *) variables;

/* Those of a root; TC_NONE: all. */
static void wake(struct tc_process *process, int64_t root)
{
    struct tc_variable *v;
    variables awake = {0};

    for (size_t pos = 0; (v = tc_map_next(&process->resting, &pos));)
        if (root == TC_NONE || v->root == root)
            tc_vec_push(&awake, v);
    for (size_t i = 0; i < awake.n; i++)
        tc_rest_use(process, awake.items[i]);
    tc_vec_release(&awake);
}

void tc_rest_called(struct tc_process *process, int64_t root)
{
    uint64_t before;

    if (process->resting.n && root != TC_NONE &&
        (!tc_map_get(&process->called, (uint64_t)root, &before) ||
         before + TC_REST_AFTER < process->window.number))
        wake(process, root);
    tc_map_put(&process->called, (uint64_t)root, process->window.number);
}

void tc_rest_end(struct tc_process *process)
{
    wake(process, TC_NONE);
}

static bool is_out_of_use(const struct tc_process *process, const struct tc_variable *v)
{
    uint64_t last = v->used, called;
    bool was_used = v->stepped >= 0;

    if (v->root != TC_NONE && tc_map_get(&process->called, (uint64_t)v->root, &called)) {
        last = called > last ? called : last;
        was_used = true;
    }
    return was_used && last + TC_REST_AFTER < process->window.number;
}

void tc_rest_look(struct tc_process *process)
{
    struct tc_variable *v;
    variables tired = {0};

    if (process->window.number % LOOK_EACH)
        return;
    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));)
        if (is_out_of_use(process, v))
            tc_vec_push(&tired, v);
    for (size_t i = 0; i < tired.n; i++)
        move(&process->variables, &process->resting, tired.items[i]);
    tc_vec_release(&tired);
}
