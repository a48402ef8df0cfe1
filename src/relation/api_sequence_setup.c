/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_sequence_setup.c - whose calls count as the set-up, and sorted sets of symbols
 */
#include "relation/api_sequence_setup.h"

#include <string.h>

#include "relation/form.h"

bool tc_setup_is_of_script(const struct tc_strtab *symbols, const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    return event->kind == TC_EVENT_CALL && !call->raised && call->th == 0 &&
           !event->process->is_worker && !tc_is_by_torch(symbols, call);
}

void tc_setup_add(tc_sym *set, size_t *n, size_t max, tc_sym sym)
{
    size_t i = 0;

    while (i < *n && set[i] < sym)
        i++;
    if ((i < *n && set[i] == sym) || *n == max)
        return;
    memmove(&set[i + 1], &set[i], (*n - i) * sizeof(*set));
    set[i] = sym;
    ++*n;
}
