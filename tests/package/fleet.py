# SPDX-License-Identifier: Apache-2.0
"""What the tests of executors share: many traces, what one machine makes of them, and a worker that is killed."""
import os
import pathlib
import signal
import time

import libtraincheck
import live
from live import write_loop

PATIENCE = 120


class Case(live.Case):
    """In a folder of its own, with short traces t0, t1, ... that differ in how far they go."""

    N = 12

    def setUp(self):
        super().setUp()
        self.before = os.getcwd()
        os.chdir(self.work)
        self.addCleanup(os.chdir, self.before)
        self.traces = [f"t{i}" for i in range(self.N)]
        for i, trace in enumerate(self.traces):
            write_loop(pathlib.Path(trace), steps=6 + i % 3)

    def one_machine(self, **kwargs):
        """The bytes that `infer` writes without an executor."""
        libtraincheck.infer(self.traces, "one.jsonl", **kwargs)
        return pathlib.Path("one.jsonl").read_bytes()

    def assert_same_bytes(self, expected, path):
        self.assertGreater(len(expected.splitlines()), 5)
        self.assertEqual(expected, pathlib.Path(path).read_bytes())


def kill_me_once(mark, trace):
    """On a worker: the process kills itself as it begins with this trace, but for the second time."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return trace
    pathlib.Path(mark).write_text(f"pid {os.getpid()} is killed at {trace}")
    os.kill(os.getpid(), signal.SIGKILL)
    return time.sleep(PATIENCE)


class Murderer:
    """An executor before another one, whose worker is killed in the midst of the call number `nth`."""

    def __init__(self, executor, mark, nth):
        self.executor, self.mark, self.nth, self.n = executor, mark, nth, 0

    def submit(self, function, *arguments):
        self.n += 1
        if self.n == self.nth:
            return self.executor.submit(killed_in, self.mark, function, arguments)
        return self.executor.submit(function, *arguments)

    def shutdown(self, **kwargs):
        self.executor.shutdown(**kwargs)


def killed_in(mark, function, arguments):
    kill_me_once(mark, str(arguments[1][0])[:80])
    return function(*arguments)
