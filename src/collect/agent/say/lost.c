/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lost.c - how many records were lost, and of which steps
 */
#include "collect/agent/say/lost.h"

void tc_lost_count(struct tc_lost *lost, int64_t step)
{
    if (!lost->n++)
        lost->first_step = lost->last_step = -1;
    if (step < 0)
        return;
    if (lost->first_step < 0 || step < lost->first_step)
        lost->first_step = step;
    if (step > lost->last_step)
        lost->last_step = step;
}

void tc_lost_note(struct tc_lost *lost, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "{\"type\":\"note\",\"code\":\"lost\",\"count\":%llu,\"text\":\"",
                   (unsigned long long)lost->n);
    if (lost->last_step < 0)
        tc_strbuf_adds(out, "records could not be written");
    else
        tc_strbuf_addf(out, "records of the steps %lld to %lld could not be written",
                       (long long)lost->first_step, (long long)lost->last_step);
    tc_strbuf_adds(out, "\"}\n");
    lost->n = 0;
}
