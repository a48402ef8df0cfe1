# SPDX-License-Identifier: Apache-2.0
"""Learn from many traces with the workers of Dask. Dask itself does again what a lost worker had.

usage: on_dask.py SCHEDULER|WORKERS OUTPUT TRACE...     SCHEDULER: as tcp://host:8786; a number: so many on this machine
"""
import sys

from dask.distributed import Client, LocalCluster

import libtraincheck


def connect(where: str) -> Client:
    if where.isdigit():
        return Client(LocalCluster(n_workers=int(where), threads_per_worker=1, dashboard_address=None))
    return Client(where)


if __name__ == "__main__":
    where, output, *traces = sys.argv[1:]
    with connect(where) as client:
        print(libtraincheck.infer(traces, output, executor=client.get_executor()))
