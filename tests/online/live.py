# SPDX-License-Identifier: Apache-2.0
"""A folder that grows as a test says, and a checker that follows it."""
import os
import pathlib
import random
import subprocess
import tempfile
import threading
import time
import unittest

from trace_writer import Trace, zstd_frame

BIN = None
PATIENCE = 30  # seconds after which a checker that does not come to an end has failed


def run(tool, *args, cwd=None):
    return subprocess.run([str(BIN / f"traincheck-{tool}"), *map(str, args)], capture_output=True, cwd=cwd,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE)


def pack(rng, text):
    """JSON lines as frames of random sizes, with whole lines in each."""
    lines, frames = text.splitlines(keepends=True), []
    while lines:
        n = rng.choice((1, 3, 20, 200))
        frames.append(zstd_frame(b"".join(lines[:n])))
        lines = lines[n:]
    return b"".join(frames)


def pieces(rng, data):
    """The same bytes in chunks that end anywhere."""
    while data:
        n = rng.choice((1, 2, 7, 50, 400, 4000))
        yield data[:n]
        data = data[n:]


def play(rng, source, folder, pause=0.002):
    """Write the files of source into folder as their processes might: late, by turns, torn anywhere."""
    folder.mkdir(exist_ok=True)
    streams = []
    for path in sorted(source.iterdir()):
        streams.append((path.name, pieces(rng, path.read_bytes())))
    rng.shuffle(streams)
    streams = [[name, chunks, None] for name, chunks in streams]
    begun = rng.randint(1, len(streams))
    while streams:
        if begun < len(streams) and rng.random() < 0.05:
            begun += 1
        stream = rng.choice(streams[:begun])
        name, chunks, file = stream
        if file is None:
            stream[2] = file = (folder / name).open("ab", buffering=0)
        for _ in range(rng.choice((1, 1, 5, 50))):
            chunk = next(chunks, None)
            if chunk is None:
                file.close()
                streams.remove(stream)
                begun = max(1, min(begun, len(streams)))
                break
            file.write(chunk)
        if rng.random() < 0.3:
            time.sleep(pause * rng.random())


class Checker:
    """A running traincheck-onlinecheck; its lines with the times at which they came."""

    def __init__(self, cwd, *args, env=None):
        self.process = subprocess.Popen([str(BIN / "traincheck-onlinecheck"), *map(str, args)], cwd=cwd,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=env and {**os.environ, **env})
        self.out, self.err = [], []
        self.threads = [threading.Thread(target=self.collect, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.out), (self.process.stderr, self.err))]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def collect(stream, lines):
        for line in stream:
            lines.append((time.monotonic(), line.decode()))

    def stdout(self):
        return "".join(line for _, line in self.out)

    def stderr(self):
        return "".join(line for _, line in self.err)

    def wait_for(self, where, text):
        """Until a line with that text came."""
        end = time.monotonic() + PATIENCE
        while not any(text in line for _, line in list(where)):
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"no line with {text!r}:\n{self.stdout()}\n{self.stderr()}")
            time.sleep(0.01)

    def wait(self):
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        for thread in self.threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return code


def write_loop(folder, steps=6, broken_from=None, end=True, **kwargs):
    """A training loop; from a step on no weight changes. Returns the trace, open if end is false."""
    t = Trace(folder, **kwargs)
    t.net_, t.steps = t.net("w", "b"), 0
    t.optimizer_ = t.optimizer(t.net_)
    more_steps(t, steps, broken_from)
    if end:
        t.end()
    return t


def more_steps(t, steps, broken_from=None):
    for _ in range(steps):
        t.zero_grad(t.optimizer_)
        t.forward(t.net_)
        t.backward(t.net_)
        t.step(t.optimizer_, changes=[] if broken_from is not None and t.steps >= broken_from else None)
        t.cut()
        t.steps += 1
    if not t.file.closed:
        t.file.flush()


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = pathlib.Path(scratch.name).resolve()
        self.checkers = []
        self.addCleanup(self.end_checkers)

    def end_checkers(self):
        for checker in self.checkers:
            if checker.process.poll() is None:
                checker.process.kill()
            checker.wait()

    def follow(self, *args, cwd=None, env=None):
        checker = Checker(cwd or self.work, *args, env=env)
        self.checkers.append(checker)
        return checker

    def learn(self, *folders, output="invariants.jsonl"):
        p = run("infer", "-q", "-o", output, *folders, cwd=self.work)
        self.assertEqual(p.returncode, 0, p.stderr.decode())
        return self.work / output

    def learn_loop(self):
        for i in range(2):
            write_loop(self.work / f"healthy{i}")
        return self.learn("healthy0", "healthy1")

    def check(self, trace, invariants, output, cwd):
        p = run("check", "-q", trace, "-i", invariants, "-o", output, cwd=cwd)
        self.assertIn(p.returncode, (0, 1, 3), p.stderr.decode())
        return (cwd / output / "violations.jsonl").read_bytes()
