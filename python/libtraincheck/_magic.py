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
from typing import Any, List, NoReturn, Optional

from ._report import Report
from ._work import check

PATIENCE = 5  # seconds that an interrupted cell has before it is asked again


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


def _stream(command: List[str]) -> int:
    """Run it with its output in the notebook, while it comes; an interrupt of the kernel ends it alone."""
    paths = [os.getcwd(), os.environ.get("PYTHONPATH", "")]  # modules beside the notebook are those of the cell
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUNBUFFERED": "1"}
    run = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    assert run.stdout
    try:
        for line in run.stdout:
            print(line, end="", flush=True)
    except KeyboardInterrupt:
        with contextlib.suppress(subprocess.TimeoutExpired):  # most kernels interrupt what they started, too
            run.wait(PATIENCE)
        if run.poll() is None:
            run.send_signal(signal.SIGINT)
        print(run.stdout.read(), end="", flush=True)
    return run.wait()


def run_cell(line: str, cell: str) -> Optional[Report]:
    """
    %%traincheck [-i INVARIANTS...] [-o FOLDER]

    Trace the cell as a script of its own, in a new process, and check it; variables of the notebook are not seen.
    The Report is the value. -i: files or shipped sets, by default @all. -o: keep the trace there, in full, so that it
    can be learned from; a trace of before is replaced.
    """
    options = _parse(line)
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "cell.py")
        script.write_text(cell, encoding="utf-8")
        trace = options.output or os.path.join(folder, "trace")
        extent = ["--overwrite"] if options.output else [word for name in options.invariants for word in ("-i", name)]
        status = _stream([_tool("traincheck-collect"), "--python", sys.executable, *extent, "-o", trace, str(script)])
        if status:
            print(f"The cell ended with status {status}.", flush=True)
        if not os.path.isdir(trace):
            return None
        report = check(trace, options.invariants)
        findings, violations = ([dataclasses.replace(x, at=x.at and x.at.replace(f"{folder}/", "")) for x in of]
                                for of in (report.findings, report.violations))
        return dataclasses.replace(report, findings=findings, violations=violations)


def register(shell: Any) -> None:
    shell.register_magic_function(run_cell, "cell", "traincheck")
