# SPDX-License-Identifier: Apache-2.0
"""Learn from many traces with the workers of Ray. Ray itself does again what a lost worker had.

usage: on_ray.py ADDRESS|WORKERS OUTPUT TRACE...        ADDRESS: as ray://host:10001 or auto; a number: so many here
"""
import sys
from concurrent.futures import Executor, Future
from typing import Any, Callable

import ray

import libtraincheck


class RayExecutor(Executor):
    """Each call is a task of Ray."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        return ray.remote(function).remote(*args, **kwargs).future()


if __name__ == "__main__":
    where, output, *traces = sys.argv[1:]
    ray.init(**({"num_cpus": int(where)} if where.isdigit() else {"address": where}))
    print(libtraincheck.infer(traces, output, executor=RayExecutor()))
