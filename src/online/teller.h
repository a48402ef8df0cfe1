/* SPDX-License-Identifier: Apache-2.0 */
/*
 * teller.h - each finding and each violation once, as soon as it is known: on stdout, into the
 * state; each finding once to a command
 */
#ifndef TC_ONLINE_TELLER_H
#define TC_ONLINE_TELLER_H

#include "base/map.h"
#include "base/vec.h"
#include <traincheck/online.h>

#include "online/cause.h"
#include "report/run.h"

struct tc_teller {
    struct tc_check *check;
    struct tc_state *state; /* NULL: nothing is remembered */
    const struct tc_online_config *config;
    struct tc_causes *causes;                  /* NULL: there is no command to run */
    TC_VEC(const struct tc_violation *) found; /* and not told yet */
    struct tc_map told;                        /* violations: a set; ids may be equal */
    size_t n_findings;                         /* at the last look */
};

/* All are borrowed. From now on the teller takes what the check's engine finds. */
void tc_teller_init(struct tc_teller *teller, struct tc_check *check, struct tc_state *state,
                    struct tc_causes *causes, const struct tc_online_config *config);
void tc_teller_release(struct tc_teller *teller);

/* Tell what was found since the last call, in reading order, but for what is suppressed or was told
 * before. TC_E_IO if the state cannot be written. */
enum tc_status tc_teller_tell(struct tc_teller *teller, struct tc_error *err);
/* The run has ended: as JSON, all findings as they are now, which may have joined or grown since.
 */
void tc_teller_tell_last(struct tc_teller *teller);

#endif /* TC_ONLINE_TELLER_H */
