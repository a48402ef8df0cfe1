/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica_parts.h - how the ranks of one step stand to each other: replicas, parts or stages
 */
#ifndef TC_RELATION_REPLICA_PARTS_H
#define TC_RELATION_REPLICA_PARTS_H

#include "relation/replica_step.h"

/* Once all have reported: mark stages of a pipeline, and each rank's own parts of a whole. */
void tc_replicas_find_parts(struct tc_replica_step *step, const struct tc_strtab *symbols);

/* Does it train, so that ranks that go their own ways differ in it? */
bool tc_replica_is_trained(const struct tc_replica *replica);
/* What all ranks that reported have in common, and a part that two of them hold. */
bool tc_replica_is_shared(const struct tc_replica_step *step, const struct tc_replica *replica);

enum tc_replicas {
    TC_REPLICAS_UNTRAINED,
    TC_REPLICAS_TOGETHER,
    TC_REPLICAS_IN_PART,
    TC_REPLICAS_APART
};

/* In what trains. A few parameters that differ are no way of one's own. */
enum tc_replicas tc_replicas_in(const struct tc_replica_step *step);
/* Has each rank all that trains, and the same? */
bool tc_replicas_are_whole(const struct tc_replica_step *step);

#endif /* TC_RELATION_REPLICA_PARTS_H */
