/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shipped.h - the sets of invariants that come with the tools
 *
 * @NAME is the file NAME.jsonl in the folder share/traincheck/invariants beside the executable's
 * own, or in the one that the environment variable TRAINCHECK_INVARIANTS names. @all is every set
 * there, each for the runs that it is made for. A file of such a name is ./@NAME.
 */
#ifndef TC_INVARIANT_SHIPPED_H
#define TC_INVARIANT_SHIPPED_H

#include "invariant/invariant.h"

#define TC_SHIPPED_FOLDER "TRAINCHECK_INVARIANTS"

/* Read the sets that a name with its @ stands for. TC_E_NOTFOUND tells which there are, and which
 * was meant. */
enum tc_status tc_shipped_read(struct tc_invariant_set *set, const char *name,
                               struct tc_error *err);

#endif /* TC_INVARIANT_SHIPPED_H */
