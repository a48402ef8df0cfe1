# SPDX-License-Identifier: Apache-2.0
"""Running a script with and without the collector, and reading what it wrote."""
import ctypes
import ctypes.util
import functools
import gc
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from warm import warm_python  # noqa: E402

BIN = pathlib.Path(os.environ.get("TRAINCHECK_BIN", "build/bin"))
PYTHON = os.environ.get("TRAINCHECK_TEST_PYTHON", sys.executable)
OURS = "traincheck-collect: "


def folder_of(package):
    """Where the interpreter of the tests has it; to ask it by importing torch takes longer than many a test."""
    code = f"import importlib.util as u; print(u.find_spec('{package}').submodule_search_locations[0])"
    return pathlib.Path(subprocess.run([PYTHON, "-c", code], check=True, text=True, capture_output=True).stdout.strip())


def has_package(name):
    """Can the interpreter of the tests import it?"""
    code = f"import importlib.util as u, sys; sys.exit(not u.find_spec('{name}'))"
    return not subprocess.run([PYTHON, "-c", code], check=False).returncode


class Run:
    """What a process left behind."""

    def __init__(self, done, folder):
        self.code, self.out = done.returncode, done.stdout
        lines = done.stderr.splitlines(True)
        self.err = "".join(line for line in lines if not line.startswith(OURS))
        self.said = "".join(line for line in lines if line.startswith(OURS))
        self.folder, self._read = folder, {}

    def files(self):
        return sorted(self.folder.glob("trace_*"))

    def records(self, file=None):
        return [record for f in ([file] if file else self.files()) for record in self._of_file(f)]

    def _of_file(self, file):
        state = file, file.stat().st_mtime_ns, file.stat().st_size
        if state not in self._read:
            self._read[state] = parse(decode(file))
        return self._read[state]


def parse(text):
    """The records of a trace. The collector of garbage would look through them time and again."""
    gc.disable()
    try:
        return json.loads("[" + text.rstrip("\n").replace("\n", ",") + "]")
    finally:
        gc.enable()


def frames(path):
    """The text of each whole frame of a trace file."""
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    for name in ("ZSTD_findFrameCompressedSize", "ZSTD_decompress"):
        getattr(zstd, name).restype = ctypes.c_size_t
    data, at = path.read_bytes(), 0
    packed = ctypes.create_string_buffer(data, len(data))
    while at < len(data):
        here, left = ctypes.byref(packed, at), ctypes.c_size_t(len(data) - at)
        size = zstd.ZSTD_getFrameContentSize(here, left)
        used = zstd.ZSTD_findFrameCompressedSize(here, left)
        if zstd.ZSTD_isError(ctypes.c_size_t(used)):
            break
        out = ctypes.create_string_buffer(size)
        zstd.ZSTD_decompress(out, ctypes.c_size_t(size), here, ctypes.c_size_t(used))
        at += used
        yield out.raw[:size]


def decode(path):
    """All whole frames of a trace file as text."""
    return b"".join(frames(path)).decode()


class Case(unittest.TestCase):
    maxDiff = None
    python = PYTHON

    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="tc-collect-"))
        self.addCleanup(shutil.rmtree, self.work, True)

    def script(self, text, name="script.py"):
        path = self.work / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def execute(self, command, folder, env=None, stdin=None):
        done = subprocess.run([str(c) for c in command], cwd=self.work, capture_output=True, text=True,
                              timeout=300, env={**os.environ, **(env or {})}, input=stdin)
        return Run(done, folder)

    def plain(self, text, *args):
        return self.execute([self.python, self.script(text), *args], None)

    def collect(self, *args, python=None, folder="trace", env=None, stdin=None):
        options = ["--python", python or self.python, "-o", self.work / folder]
        return self.execute([BIN / "traincheck-collect", *options, *args], self.work / folder, env, stdin)

    def traced(self, text, *args, options=()):
        return self.collect(*options, self.script(text), *args)

    def assert_no_errors(self, run):
        self.assertEqual([r for r in run.records() if r.get("code") == "switched-off"], [])

    def assert_whole(self, run):
        """Each file ends in an orderly way and has all that was put into it."""
        for file in run.files():
            *records, last = run.records(file)
            self.assertEqual((last["type"], last.get("events"), last.get("dropped")), ("end", len(records), 0), file.name)

    def calls(self, run, **wanted):
        return [r for r in run.records() if r["type"] == "call"
                and all(r.get(key) == value for key, value in wanted.items())]


class Warm(Case):
    """Scripts run in children of an interpreter that has imported torch (warm.py), as importing it takes longer than most scripts. Names
    in `host_env` are read when a process starts: the children get such an interpreter of their own."""

    host_env = {}

    @property
    def python(self):
        return warm_python(**self.host_env)

    def execute(self, command, folder, env=None, stdin=None):
        return super().execute(command, folder, {**self.host_env, **(env or {})}, stdin)

    def trace_script(self, script, *args, options=(), env=None, folder="trace"):
        return self.collect("--overwrite", *options, script, *args, folder=folder, env=env)

    def traced(self, text, *args, options=(), env=None):
        return self.trace_script(self.script(text), *args, options=options, env=env)

    def plain(self, text, *args, env=None):
        return self.execute([self.python, self.script(text), *args], None, env)


MARK = 70_000_000  # seeds that no test uses
IN_TURN = f"""
import runpy, sys, torch
for n, script in enumerate(sys.argv[1:]):
    for stream in sys.stdout, sys.stderr:
        print(end="\\x1e", file=stream, flush=True)
    torch.manual_seed({MARK} + n)
    runpy.run_path(script, run_name="__main__")
"""


class Part(Run):
    """What one of several scripts that share an interpreter left behind."""

    def __init__(self, whole, n, records):
        self.code, self.said, self.folder = whole.code, whole.said, whole.folder
        self.out, self.err = (text.split("\x1e")[n + 1] if text.count("\x1e") > n else "" for text in (whole.out, whole.err))
        self._records = records

    def records(self, file=None):
        return self._records


def parts(whole, n_parts):
    """A Part for each script; the announcements of APIs from before it belong to each."""
    records = whole.records() if whole.folder else []
    marks = [i for i, r in enumerate(records) if r["type"] == "call" and r["fn"] == "torch.manual_seed"
             and r["args"]["seed"] >= MARK]
    out = []
    for n in range(n_parts):
        known = mine = []
        if n < len(marks):
            seeding = records[marks[n]]["id"]  # it holds calls itself
            first = next(i for i, r in enumerate(records) if r["type"] == "return" and r["id"] == seeding) + 1
            mine = records[first:marks[n + 1] if n + 1 < len(marks) else len(records)]
            known = [r for r in records[:first] if r["type"] == "api"]
        out.append(Part(whole, n, known + mine))
    return out


def script(text):
    """A test of a class InTurn: it is given the traced run of this script and, where the class asks for it, the plain one."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            return test(self, *self.runs[test.__name__])

        run.text = textwrap.dedent(text)
        return run

    return decorate


class InTurn(Case):
    """All scripts of the class run one after the other in one interpreter, each as __main__ in a file script.py of its
    own: to import torch takes longer than most of them. A script that fails fails the class."""

    PLAIN_TOO = False
    HOST = Warm  # PLAIN_TOO is run by a Warm one in any case

    @property
    def python(self):
        """For a script that a test runs by itself."""
        return self.HOST().python

    @classmethod
    def setUpClass(cls):
        tests = {name: test.text for name in dir(cls) for test in [getattr(cls, name)] if hasattr(test, "text")}
        host = cls.HOST()
        host.setUp()
        cls.addClassCleanup(host.doCleanups)
        paths = []
        for name, text in tests.items():
            (host.work / name).mkdir()
            paths.append(host.script(text, f"{name}/script.py"))
        together = host.script(IN_TURN, "in_turn.py")
        runs = [host.collect(together, *paths)]
        if cls.PLAIN_TOO:
            runs.append(host.execute([warm_python(), together, *paths], None))
        for run in runs:
            if run.code != 0:
                raise AssertionError(run.err.replace("\x1e", "") + run.said)
        host.assert_no_errors(runs[0])
        host.assert_whole(runs[0])
        cls.runs = dict(zip(tests, zip(*(parts(run, len(tests)) for run in runs))))
