# SPDX-License-Identifier: Apache-2.0
"""%%traincheck for notebooks: the cell runs under traincheck-collect, and is checked."""

import argparse
import contextlib
import dataclasses
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any, List, NoReturn, TypeVar

from ._library import TrainCheckError
from ._report import Finding, Report, Violation
from ._fleet import check

_Told = TypeVar("_Told", Finding, Violation)
PATIENCE = 5  # seconds that an interrupted cell has before it is asked again


class CellFailed(Exception):
    """The process of the cell ended with another status than 0, having said why: the notebook goes no further."""

    def _render_traceback_(self) -> List[str]:
        """For IPython: how it came to be raised here tells nothing."""
        return [str(self)]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        from IPython.core.error import UsageError

        raise UsageError(f"%%traincheck: {message}")


def _parse(line: str) -> argparse.Namespace:
    parser = _Parser(prog="%%traincheck", add_help=False)
    parser.add_argument("-i", "--invariants", nargs="+", default=["@all"])
    parser.add_argument("-o", "--output")
    return parser.parse_args(shlex.split(line))


def _tool(name: str) -> str:
    """Beside the kernel's interpreter, as its environment need not be on PATH; else of PATH."""
    own = pathlib.Path(sysconfig.get_path("scripts"), name)
    found = str(own) if own.exists() else shutil.which(name)
    if not found:
        raise FileNotFoundError(f"{name} is neither in {own.parent} nor on PATH")
    return found


def _stream(command: List[str], folder: str) -> int:
    """Run it with its output in the notebook, while it comes, and without the name of the folder that the cell lies in; an
    interrupt of the kernel ends it alone."""
    paths = [os.getcwd(), os.environ.get("PYTHONPATH", "")]  # modules beside the notebook are those of the cell
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUNBUFFERED": "1"}
    run = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    assert run.stdout
    try:
        for line in run.stdout:
            print(line.replace(folder, ""), end="", flush=True)
    except KeyboardInterrupt:
        with contextlib.suppress(subprocess.TimeoutExpired):  # most kernels interrupt what they started, too
            run.wait(PATIENCE)
        if run.poll() is None:
            run.send_signal(signal.SIGINT)
        print(run.stdout.read().replace(folder, ""), end="", flush=True)
    return run.wait()


def _checked(trace: str, invariants: List[str], folder: str) -> Report:
    report = check(trace, invariants)
    return dataclasses.replace(report, findings=[_placed(f, folder) for f in report.findings],
                               violations=[_placed(v, folder) for v in report.violations])


def _placed(told: _Told, folder: str) -> _Told:
    return dataclasses.replace(told, at=told.at and told.at.replace(folder, ""))


def _fail(status: int, trace: str, invariants: List[str], folder: str) -> NoReturn:
    """What the cell raised has been shown; behind it stands what its trace says, if that is anything."""
    from IPython.display import display

    with contextlib.suppress(OSError, TrainCheckError):
        report = _checked(trace, invariants, folder)
        if report.judged:
            display(report)  # type: ignore[no-untyped-call]
    raise CellFailed(f"The cell ended with status {status}.")


def run_cell(line: str, cell: str) -> Report:
    """
    %%traincheck [-i INVARIANTS...] [-o FOLDER]

    Trace the cell as a script of its own, in a new process, and check it; variables of the notebook are not seen.
    The Report is the value; of a cell that fails it is shown, and CellFailed is raised. -i: files or shipped sets, by default @all. -o: keep the trace there, in full, so that it
    can be learned from; a trace of before is replaced.
    """
    options = _parse(line)
    with tempfile.TemporaryDirectory() as scratch:
        folder = scratch + os.sep
        script = pathlib.Path(folder, "cell.py")
        script.write_text(cell, encoding="utf-8")
        trace = options.output or os.path.join(folder, "trace")
        extent = ["--overwrite"] if options.output else [word for name in options.invariants for word in ("-i", name)]
        status = _stream([_tool("traincheck-collect"), "--python", sys.executable, *extent, "-o", trace, str(script)], folder)
        if status:
            _fail(status, trace, options.invariants, folder)
        return _checked(trace, options.invariants, folder)


def register(shell: Any) -> None:
    shell.register_magic_function(run_cell, "cell", "traincheck")
