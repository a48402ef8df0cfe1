#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Epilog of Slurm (EpilogSlurmctld=/path/epilog.sh): check the trace of a job that has ended.
# TRACES has a folder for each job, named by its number: traincheck-collect -o "$TRACES/$SLURM_JOB_ID" ...
# An epilog that fails drains the node, so this one always ends with 0.
traces=${TRACES:-/runs}
checks=${CHECKS:-/var/lib/traincheck/checks}
metrics=${METRICS:-/var/lib/node_exporter}
[ -d "$traces/$SLURM_JOB_ID" ] || exit 0
traincheck-check "$traces/$SLURM_JOB_ID" -q -i "${INVARIANTS:-@all}" -o "$checks/$SLURM_JOB_ID" \
    --metrics "$metrics/traincheck_$SLURM_JOB_ID.prom" >/dev/null
exit 0
