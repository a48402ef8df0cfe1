# SPDX-License-Identifier: Apache-2.0
"""Learn from many traces with jobs of Slurm, by submitit. A job that is lost is submitted again.

usage: on_slurm.py LOGS OUTPUT TRACE...                 LOGS: a folder that all machines see

Each job takes sixteen traces, as Slurm needs seconds to start one.
"""
import sys

import submitit

import libtraincheck

if __name__ == "__main__":
    logs, output, *traces = sys.argv[1:]
    executor = submitit.AutoExecutor(folder=logs, cluster="slurm")
    executor.update_parameters(name="traincheck", timeout_min=60, cpus_per_task=1)
    print(libtraincheck.infer(traces, output, executor=executor, chunksize=16))
