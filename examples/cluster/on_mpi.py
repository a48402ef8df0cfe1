# SPDX-License-Identifier: Apache-2.0
"""Learn from many traces with the ranks of an MPI job: rank 0 asks, the others learn.

usage: mpiexec -n 5 python -m mpi4py.futures on_mpi.py OUTPUT TRACE...

A rank that dies takes the job with it, as MPI has it: what was learned is lost.
"""
import sys

from mpi4py.futures import MPIPoolExecutor

import libtraincheck

if __name__ == "__main__":
    output, *traces = sys.argv[1:]
    with MPIPoolExecutor() as executor:
        print(libtraincheck.infer(traces, output, executor=executor))
