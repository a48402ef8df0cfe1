# SPDX-License-Identifier: Apache-2.0
"""Learn from many traces with the cores of one machine.

usage: on_processes.py WORKERS OUTPUT TRACE...
"""
import sys
from concurrent.futures import ProcessPoolExecutor

import libtraincheck

if __name__ == "__main__":
    workers, output, *traces = sys.argv[1:]
    # A function that makes the pool, as one that lost a process takes no more work.
    print(libtraincheck.infer(traces, output, executor=lambda: ProcessPoolExecutor(int(workers))))
