"""How long each step takes, measured by the program itself so that start-up stands apart.

The runner says through the environment how many steps to make (BENCH_STEPS), when it started the
program (BENCH_BEGIN, monotonic seconds) and where the figures go (BENCH_OUT).
"""
import json
import os
import resource
import time

STEPS = int(os.environ.get("BENCH_STEPS", "60"))


class Meter:
    def __init__(self):
        self._marks = []

    def tick(self):
        """A step has ended."""
        self._marks.append((time.monotonic(), time.thread_time(), time.process_time()))

    def write(self, **more):
        """Call it last, where the peak of memory has been reached. more: figures of the program's own."""
        path = os.environ.get("BENCH_OUT")
        if not path:
            return
        wall, thread, process = zip(*self._marks)
        figures = {
            "start": wall[0] - float(os.environ["BENCH_BEGIN"]),
            "start_cpu": process[0],
            "wall": _differences(wall),
            "thread": _differences(thread),
            "process": _differences(process),
            "rss_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            **more,
        }
        with open(path, "w", encoding="utf-8") as out:
            json.dump(figures, out)


def _differences(marks):
    return [after - before for before, after in zip(marks, marks[1:])]

# SPDX-License-Identifier: Apache-2.0
