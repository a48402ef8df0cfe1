# SPDX-License-Identifier: Apache-2.0
"""Running a script with and without the collector, and reading what it wrote."""
import ctypes
import ctypes.util
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

BIN = pathlib.Path(os.environ.get("TRAINCHECK_BIN", "build/bin"))
PYTHON = os.environ.get("TRAINCHECK_TEST_PYTHON", sys.executable)
OURS = "traincheck-collect: "


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
        self.folder = folder

    def files(self):
        return sorted(self.folder.glob("trace_*"))

    def records(self, file=None):
        files = [file] if file else self.files()
        return [json.loads(line) for f in files for line in decode(f).splitlines()]


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
        return self.execute([PYTHON, self.script(text), *args], None)

    def collect(self, *args, python=PYTHON, folder="trace", env=None, stdin=None):
        options = ["--python", python, "-o", self.work / folder]
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


# Each line of stdin is [folder, environment, script, arguments...]. The script runs there in a child, as __main__.
IN_CHILDREN = """
import atexit, json, os, runpy, sys, threading, traceback
import torch._dynamo  # an optimizer would import it, in each child

def redirect(number, path):
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, number)
    os.close(file)

def enter(folder, env):
    os.chdir(folder)
    redirect(1, "stdout")
    redirect(2, "stderr")
    os.environ.update(env)
    sys.path[0] = os.path.dirname(sys.argv[0])
    if "PYTHONPATH" in env:
        sys.path.insert(1, env["PYTHONPATH"])

def run():
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
        code = 0
    except Exception:
        traceback.print_exc()
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # to take torch down takes longer than most scripts

for line in sys.stdin:
    folder, env, *sys.argv = json.loads(line)
    child = os.fork()
    if not child:
        enter(folder, env)
        run()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Warm(Case):
    """Scripts run in children of an interpreter that has imported torch, as that takes longer than most scripts. The agent is
    in that interpreter from its start, and a child is traced as a process of its own. For `collect` of `Case` is what a test
    asks of the collector itself: what it says, its exit status, how the script is started."""

    @classmethod
    def setUpClass(cls):
        cls._hosts = {}

    @classmethod
    def _host(cls, command, env):
        """The process that runs `command` in `env` for this class, and the folder of its traces."""
        key = command, tuple(env.items())
        if key not in cls._hosts:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="tc-warm-"))
            cls.addClassCleanup(shutil.rmtree, folder, True)
            (folder / "host.py").write_text(IN_CHILDREN)
            into = ("-o", folder / "trace") if len(command) > 1 else ()
            words = [str(word) for word in (*command, *into, folder / "host.py")]
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder,
                                       env={**os.environ, **env})
            cls.addClassCleanup(process.__exit__, None, None, None)
            cls._hosts[key] = process, folder / "trace"
        return cls._hosts[key]

    def _run(self, host, script, args, env, folder=None):
        """One script in a child, which has `env` besides; the files of its trace are moved to `folder`."""
        process, traces = host
        request = [str(self.work), env or {}, str(script), *map(str, args)]
        print(json.dumps(request), file=process.stdin, flush=True)
        answer = process.stdout.readline()
        self.assertTrue(answer, f"it ended: {process.args}")
        if folder:
            shutil.rmtree(folder, True)
            folder.mkdir()
            for file in traces.glob("trace_*"):
                file.rename(folder / file.name)
        out, err = ((self.work / name).read_text() for name in ("stdout", "stderr"))
        return Run(subprocess.CompletedProcess(request, int(answer), out, err), folder)

    def plain(self, text, *args, env=None):
        return self._run(self._host((PYTHON,), {}), self.script(text), args, env)

    def trace_script(self, script, *args, options=(), env=None, folder="trace", host_env=None):
        """`host_env` is what the agent, or the loader of libraries, reads when the process starts."""
        host = self._host((BIN / "traincheck-collect", "-q", "--python", PYTHON, *options), host_env or {})
        return self._run(host, script, args, env, self.work / folder)

    def traced(self, text, *args, options=(), env=None):
        return self.trace_script(self.script(text), *args, options=options, env=env)


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

    @classmethod
    def setUpClass(cls):
        tests = {name: test.text for name in dir(cls) for test in [getattr(cls, name)] if hasattr(test, "text")}
        host = Case()
        host.setUp()
        cls.addClassCleanup(host.doCleanups)
        paths = []
        for name, text in tests.items():
            (host.work / name).mkdir()
            paths.append(host.script(text, f"{name}/script.py"))
        together = host.script(IN_TURN, "in_turn.py")
        runs = [host.collect(together, *paths)]
        if cls.PLAIN_TOO:
            runs.append(host.execute([PYTHON, together, *paths], None))
        for run in runs:
            if run.code != 0:
                raise AssertionError(run.err.replace("\x1e", "") + run.said)
        host.assert_no_errors(runs[0])
        host.assert_whole(runs[0])
        cls.runs = dict(zip(tests, zip(*(parts(run, len(tests)) for run in runs))))
