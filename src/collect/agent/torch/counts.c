/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts.c - finds the two counts of a StorageImpl, and counts there
 *
 * A count is the only half of a word that rises by as many references as are made. That torch has
 * both in one word, or each in its own, makes no difference for as long as the lower half comes
 * first. What was found is tried once: a reference of ours is one of torch's, which lets it go.
 */
#include "collect/agent/torch/counts.h"

#include <malloc.h>
#include <stdatomic.h>
#include <string.h>

#define MAX_HALVES 64
#define N_WEAK     3
#define N_STRONG   2

static struct {
    bool is_known;
    size_t strong, weak; /* halves of words before them */
} counts_at;

static uint32_t *half_at(uint64_t object, size_t i)
{
    return (uint32_t *)(uintptr_t)object + i;
}

/* ---- the search ---- */

struct seen {
    size_t n;
    uint32_t halves[MAX_HALVES];
};

/* Of what operator new gave, all there is. */
static struct seen look_at(uint64_t object)
{
    struct seen seen = {.n = malloc_usable_size((void *)(uintptr_t)object) / sizeof(uint32_t)};

    if (seen.n > MAX_HALVES)
        seen.n = MAX_HALVES;
    memcpy(seen.halves, half_at(object, 0), seen.n * sizeof(uint32_t));
    return seen;
}

/* The only half that rose by so many. */
static bool find_risen(const struct seen *before, const struct seen *after, uint32_t by, size_t *i)
{
    size_t n = 0;

    for (size_t k = 0; k < before->n; k++)
        if (after->halves[k] - before->halves[k] == by) {
            *i = k;
            n++;
        }
    return n == 1;
}

/* A method without arguments: has it an answer? */
static bool call(PyObject *object, const char *method)
{
    PyObject *said = PyObject_CallMethod(object, method, NULL);

    Py_XDECREF(said);
    return said != NULL;
}

static bool let_go(PyObject *storage, uint64_t address)
{
    PyObject *said = PyObject_CallMethod(storage, "_free_weak_ref", "K", address);

    Py_XDECREF(said);
    return said != NULL;
}

static bool find_weak(PyObject *storage, uint64_t address)
{
    const struct seen before = look_at(address);
    struct seen after;
    bool is_found = true;

    for (int i = 0; is_found && i < N_WEAK; i++)
        is_found = call(storage, "_weak_ref");
    after = look_at(address);
    is_found = is_found && find_risen(&before, &after, N_WEAK, &counts_at.weak);
    for (int i = 0; is_found && i < N_WEAK; i++)
        is_found = let_go(storage, address);
    return is_found && *half_at(address, counts_at.weak) == before.halves[counts_at.weak];
}

static bool find_strong(PyObject *tensor, uint64_t address)
{
    const struct seen before = look_at(address);
    PyObject *views[N_STRONG];
    struct seen after;

    for (int i = 0; i < N_STRONG; i++)
        views[i] = PyObject_CallMethod(tensor, "detach", NULL);
    after = look_at(address);
    for (int i = 0; i < N_STRONG; i++)
        Py_XDECREF(views[i]);
    return find_risen(&before, &after, N_STRONG, &counts_at.strong) &&
           *half_at(address, counts_at.strong) == before.halves[counts_at.strong];
}

static bool is_right(PyObject *storage, uint64_t address)
{
    const uint32_t before = *half_at(address, counts_at.weak);

    counts_at.is_known = true;
    return counts_at.strong != counts_at.weak && tc_counts_hold(address) &&
           let_go(storage, address) && *half_at(address, counts_at.weak) == before &&
           tc_counts_are_over(address) == TC_ANSWER_NO;
}

bool tc_counts_find(PyObject *tensor)
{
    PyObject *storage = PyObject_CallMethod(tensor, "untyped_storage", NULL);
    PyObject *number = tc_optional(storage, "_cdata");
    const uint64_t address = number ? (uint64_t)(uintptr_t)PyLong_AsVoidPtr(number) : 0;

    counts_at.is_known = address && find_weak(storage, address) && find_strong(tensor, address) &&
                         is_right(storage, address);
    Py_XDECREF(number);
    Py_XDECREF(storage);
    PyErr_Clear();
    return counts_at.is_known;
}

/* ---- counting, while threads of torch count, too ---- */

bool tc_counts_hold(uint64_t storage)
{
    if (counts_at.is_known)
        __atomic_fetch_add(half_at(storage, counts_at.weak), 1, __ATOMIC_RELAXED);
    return counts_at.is_known;
}

enum tc_answer tc_counts_are_over(uint64_t storage)
{
    if (!counts_at.is_known)
        return TC_ANSWER_UNKNOWN;
    return __atomic_load_n(half_at(storage, counts_at.strong), __ATOMIC_ACQUIRE) ? TC_ANSWER_NO
                                                                                 : TC_ANSWER_YES;
}
