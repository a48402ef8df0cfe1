#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Half an hour of a job of 64 ranks with all that goes wrong in half an hour: is anything lost, does anything grow?

usage: run.py --bin BUILD/bin [--seconds 1800] [--ranks 64] [--python PYTHON] [--seed N]

The ranks are written by this process, frame by frame, some of them in two pieces; one of them departs from the others now and
then. The job dies and is restarted with torn last frames. traincheck-onlinecheck follows; it is killed and started again on its
state. traincheck-collect traces a real process (no torch) beside it, and others that are killed. All of it stands on a small file
system of its own, which runs full in between (needs root to mount a tmpfs; without, that part is left out and said).

At the end: each violation was told once and none is missing, the last reports are those of traincheck-check, every collected trace
can be read, the traced process ended as it would alone. Printed are memory and descriptors over the last undisturbed part.
"""

import argparse
import contextlib
import ctypes
import ctypes.util
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

SCRIPT = """
import sys, time, yard
value, end = 0.5, time.time() + float(sys.argv[1])
while time.time() < end:
    for i in range(20):
        value = yard.work(value)
    time.sleep(0.1)
print("ended")
"""
YARD = "def work(x):\n    return 3.7 * x * (1 - x)\n"
STEP = {"call": "torch.optim.Optimizer.step", "role": "step"}
INVARIANTS = [
    ("EventContain/some", [STEP, {"change": "Parameter", "attr": "data", "to": "changed"}]),
    ("EventContain/none", [STEP, {"change": "buffer", "attr": "data", "to": "changed"}]),
    ("Consistent/replica", [{"variable": "Parameter", "attr": "data", "to": "equal"}]),
]
LOOP = (("torch.optim.Optimizer.zero_grad", "zero_grad"), ("torch.nn.Module.__call__", "forward"),
        ("torch.Tensor.backward", "backward"), ("torch.optim.Optimizer.step", "step"))
VARIABLES, STEPS_A_FRAME, ODD = 4, 4, 7  # ODD: the rank that departs
SPACE = 512 << 20


class Zstd:
    def __init__(self):
        self.library = ctypes.CDLL(ctypes.util.find_library("zstd"))
        self.library.ZSTD_compress.restype = self.library.ZSTD_compressBound.restype = ctypes.c_size_t

    def frame(self, text):
        data = text.encode()
        room = self.library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
        out = ctypes.create_string_buffer(room)
        n = self.library.ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
        return out.raw[:n]


def line(**record):
    return json.dumps(record, separators=(",", ":")) + "\n"


def head(rank, world, restart, now):
    text = line(type="process", schema=1, host="soak", pid=1000 * (restart + 1) + rank, role="main", rank=rank, world_size=world,
                restart=restart, packages={"torch": "2.13.0"}, monotonic_ns=0, unix_ns=int(now * 1e9), mode="full")
    text += "".join(line(type="api", fn=fn, role=role) for fn, role in LOOP)
    for v in range(VARIABLES):
        text += line(type="var", var=v + 2, t=1, name=f"model.w{v}", kind="Parameter", root=1, step=0, stage="init",
                     attrs={"data": f"{v:016x}", "grad": "null", "dtype": "float32", "shape": [4, 4], "requires_grad": True})
    return text


def step(number, changed):
    """Records of one step. changed: added to the digests, or None where the optimizer changes nothing."""
    text, t = "", 1000 * (number + 1)
    for k, (fn, role) in enumerate(LOOP):
        call = 4 * number + k + 1
        extra = {"params": list(range(2, 2 + VARIABLES))} if role in ("step", "zero_grad") else {}
        text += line(type="call", id=call, fn=fn, t=t + 10 * k, step=number, stage="training", by="user", at=f"train.py:{10 + k}", **extra)
        if role == "step" and changed is not None:
            for v in range(VARIABLES):
                text += line(type="var", var=v + 2, t=t + 10 * k + 1, name=f"model.w{v}", step=number, stage="training", cause=call,
                             attrs={"data": f"{(v << 32) + number + 1 + changed:016x}"})
        text += line(type="return", id=call, t=t + 10 * k + 5)
    return text + line(type="step", step=number, t=t + 90, stage="training", why="zero_grad")


class Job:
    """What 64 ranks write."""

    def __init__(self, folder, ranks, chance):
        self.folder, self.ranks, self.chance, self.zstd = folder, ranks, chance, Zstd()
        self.restart, self.n_steps, self.frames = -1, 0, 0
        self.missing = {}  # what the full disk did not take yet, by file

    def path(self, rank):
        return self.folder / f"trace_soak_r{rank}_p{1000 * (self.restart + 1) + rank}.jsonl.zst"

    def append(self, path, data):
        data = self.missing.pop(path, b"") + data
        try:
            with open(path, "ab", buffering=0) as f:
                written = f.write(data)
        except OSError:
            written = 0
        if written < len(data):
            self.missing[path] = data[written:]

    def start(self):
        self.restart += 1
        self.step = 0
        self.missing = {}
        for rank in range(self.ranks):
            self.append(self.path(rank), self.zstd.frame(head(rank, self.ranks, self.restart, time.time())))

    def write(self):
        numbers = range(self.step, self.step + STEPS_A_FRAME)
        is_frozen, is_apart = self.chance.random() < 0.02, self.chance.random() < 0.05
        usual = self.zstd.frame("".join(step(n, None if is_frozen else 0) for n in numbers))
        apart = self.zstd.frame("".join(step(n, 1 << 48) for n in numbers)) if is_apart else usual
        ranks = list(range(self.ranks))
        self.chance.shuffle(ranks)
        halves = []
        for rank in ranks:
            frame = apart if rank == ODD else usual
            cut = self.chance.randrange(1, len(frame)) if self.chance.random() < 0.3 else len(frame)
            self.append(self.path(rank), frame[:cut])
            halves.append((rank, frame[cut:]))
        for rank, rest in halves:
            self.append(self.path(rank), rest)
        self.step += STEPS_A_FRAME
        self.n_steps += STEPS_A_FRAME
        self.frames += self.ranks

    def die(self):
        """Half of the ranks in the middle of a frame."""
        frame = self.zstd.frame("".join(step(n, 0) for n in range(self.step, self.step + STEPS_A_FRAME)))
        for rank in range(0, self.ranks, 2):
            self.append(self.path(rank), frame[:self.chance.randrange(1, len(frame))])

    def end(self):
        for rank in range(self.ranks):
            self.append(self.path(rank), self.zstd.frame(line(type="end", t=10**12, events=0, dropped=0)))
        end = time.time() + 60
        while self.missing and time.time() < end:
            for path in list(self.missing):
                self.append(path, b"")


class Watch:
    """Memory and descriptors of a process, once a second, from the process itself."""

    def __init__(self, process):
        self.pid, self.kib, self.descriptors, self.began = process.pid, [], [], time.time()

    def look(self):
        with contextlib.suppress(OSError, IndexError):
            text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
            self.kib.append(int(text.split("VmRSS:")[1].split()[0]))
            self.descriptors.append(len(os.listdir(f"/proc/{self.pid}/fd")))

    def quarters(self, values):
        """Means of the second and of the last quarter: the first one warms up."""
        n = max(len(values) // 4, 1)
        return sum(values[n:2 * n]) / max(len(values[n:2 * n]), 1), sum(values[-n:]) / max(len(values[-n:]), 1)

    def told(self, name):
        kib, fds = self.quarters(self.kib), self.quarters(self.descriptors)
        return (f"{name:11} {len(self.kib):5} s  memory {kib[0] / 1024:7.1f} -> {kib[1] / 1024:7.1f} MiB   "
                f"descriptors {fds[0]:5.1f} -> {fds[1]:5.1f}, most {max(self.descriptors, default=0)}")


class Soak:
    def __init__(self, options, work):
        self.options, self.work, self.chance = options, work, random.Random(options.seed)
        self.trace = work / "trace"
        self.trace.mkdir()
        (work / "invariants.jsonl").write_text(line(traincheck="invariants", schema=1) + "".join(
            line(relation=relation, params=params, when=[]) for relation, params in INVARIANTS))
        (work / "yard.py").write_text(YARD)
        (work / "job.py").write_text(SCRIPT)
        self.job = Job(self.trace, options.ranks, self.chance)
        self.n_kills = self.n_collected = self.n_full = self.n_restarts = 0
        self.wrong = []

    def tool(self, name):
        return str(self.options.bin / f"traincheck-{name}")

    def check(self):
        command = [self.tool("onlinecheck"), "trace", "-i", "invariants.jsonl", "-o", "online", "--json", "--state", "state",
                   "--lateness", "120", "--report-interval", "5", "--on-violation", "cat >>ran"]
        with open(self.work / "told", "ab") as out, open(self.work / "said", "ab") as err:
            process = subprocess.Popen(command, cwd=self.work, stdout=out, stderr=err)
        self.checker, self.checker_watch = process, Watch(process)

    def collect(self, name, seconds):
        command = [self.tool("collect"), "--python", self.options.python, "-q", "--instrument", "yard", "-o", name, "job.py", str(seconds)]
        with open(self.work / f"{name}.out", "wb") as out, open(self.work / f"{name}.err", "wb") as err:
            return subprocess.Popen(command, cwd=self.work, stdout=out, stderr=err)

    def kill_checker(self):
        self.expect(self.checker.poll() is None, f"onlinecheck ended by itself with {self.checker.returncode}")
        self.checker.kill()
        self.checker.wait()
        self.n_kills += 1
        self.check()

    def kill_collected(self):
        name = f"killed{self.n_collected}"
        self.n_collected += 1
        process = self.collect(name, 60)
        threading.Thread(target=self.kill_once_it_traces, args=(process, self.work / name, self.chance.random())).start()
        return process

    @staticmethod
    def kill_once_it_traces(process, folder, later):
        """On a busy machine Python alone takes seconds to start."""
        while process.poll() is None and not any(file.stat().st_size for file in folder.glob("trace_*")):
            time.sleep(0.1)
        time.sleep(later)
        process.kill()

    def fill(self):
        """No byte is left for some seconds."""
        if not self.options.is_mounted:
            return
        self.n_full += 1
        with open(self.work / "ballast", "wb", buffering=0) as f, contextlib.suppress(OSError):
            while True:
                f.write(bytes(1 << 16))
        self.write_for(min(5, self.options.seconds / 12))
        os.unlink(self.work / "ballast")

    def restart(self):
        self.job.die()
        self.job.start()
        self.n_restarts += 1

    def write_for(self, seconds):
        end = time.time() + seconds
        while time.time() < end:
            began = time.time()
            self.job.write()
            for watch in (self.checker_watch, self.traced_watch):
                if time.time() - watch.began > len(watch.kib):
                    watch.look()
            time.sleep(max(0, 0.5 - (time.time() - began)))

    def expect(self, holds, what):
        if not holds:
            self.wrong.append(what)

    def run(self):
        """Three fifths with a fault in each part, then quiet: there memory and descriptors are looked at."""
        seconds, faults = self.options.seconds, [self.kill_checker, self.fill, self.restart, self.kill_collected, self.kill_checker,
                                                 self.fill, self.restart, self.kill_checker, self.kill_collected]
        self.job.start()
        traced = self.collect("traced", seconds)
        self.traced_watch = Watch(traced)
        self.check()
        killed = []
        for fault in faults:
            self.write_for(0.6 * seconds / len(faults) * self.chance.uniform(0.7, 1.0))
            killed.append(fault())
        self.checker_watch.began, self.checker_watch.kib, self.checker_watch.descriptors = time.time(), [], []
        self.write_for(0.35 * seconds)
        self.job.end()
        for process in filter(None, killed):
            process.wait()
        try:
            self.checker.wait(timeout=max(120, seconds))  # a busy machine may leave it behind the job
        except subprocess.TimeoutExpired:
            self.checker.send_signal(signal.SIGTERM)
            self.expect(False, "onlinecheck did not end with the job")
            self.checker.wait()
        self.expect(traced.wait(timeout=seconds + 60) == 0, f"the traced process ended with {traced.returncode}")

    def judge(self):
        done = subprocess.run([self.tool("check"), "trace", "-i", "invariants.jsonl", "-o", "after", "--json"], cwd=self.work,
                              capture_output=True, text=True, check=False)
        self.expect(done.returncode == self.checker.returncode, f"check {done.returncode}, onlinecheck {self.checker.returncode}")
        after, told = ([x["id"] for x in map(json.loads, text.splitlines()) if "id" in x]  # the others are findings
                       for text in (done.stdout, (self.work / "told").read_text()))
        self.expect(sorted(told) == sorted(after), f"told {sorted(told)}, after the run {sorted(after)}")
        for name in ("findings.jsonl", "violations.jsonl", "failed.log", "passed.log"):
            a, b = (self.work / "after" / name).read_bytes(), (self.work / "online" / name).read_bytes()
            self.expect(a == b, f"{name} differs")
        self.expect((self.work / "traced.out").read_text() == "ended\n", "the traced process printed something else")
        for i in range(self.n_collected):
            p = subprocess.run([self.tool("check"), f"killed{i}", "-i", "invariants.jsonl", "-o", f"report{i}"], cwd=self.work,
                               capture_output=True, text=True, check=False)
            self.expect(p.returncode in (0, 3), f"a trace of a killed process: {p.stderr}")
        return told

    def say(self, told):
        print(f"{self.options.ranks} ranks, {self.job.n_steps} steps, {self.job.frames} frames; {self.n_restarts} restarts, "
              f"{self.n_kills} kills of the checker, {self.n_collected} of traced processes, disk full {self.n_full} times; "
              f"{len(told)} violations told")
        print(self.checker_watch.told("onlinecheck"))
        print(self.traced_watch.told("collect"))
        for text in self.wrong:
            print("WRONG:", text)


@contextlib.contextmanager
def disk(options):
    """A folder, on a small file system of its own where that can be had."""
    with tempfile.TemporaryDirectory(prefix="tc-soak-") as folder:
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SPACE}", "tmpfs", folder], capture_output=True, check=False)
        options.is_mounted = not mount.returncode
        if not options.is_mounted:
            print("no tmpfs can be mounted: the disk does not run full", file=sys.stderr)
        try:
            yield pathlib.Path(folder)
        finally:
            if options.is_mounted:
                subprocess.run(["umount", "-l", folder], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=lambda name: pathlib.Path(name).resolve(), required=True)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--python", default=sys.executable, help="whose jobs are traced")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with disk(options) as work:
        soak = Soak(options, work)
        soak.run()
        soak.say(soak.judge())
    sys.exit(1 if soak.wrong else 0)


if __name__ == "__main__":
    main()
