# SPDX-License-Identifier: Apache-2.0
"""%%traincheck for notebooks: the cell runs under traincheck-collect, and is checked."""

import argparse
import pathlib
import shlex
import subprocess
import tempfile
from typing import Any

from ._work import check


def _parse(line: str) -> Any:
    parser = argparse.ArgumentParser(prog="%%traincheck", description=run_cell.__doc__)
    parser.add_argument("-i", "--invariants", nargs="+", default=["@all"], help="files or shipped sets")
    parser.add_argument("-o", "--output", help="keep the trace in this folder")
    return parser.parse_args(shlex.split(line))


def run_cell(line: str, cell: str) -> Any:
    """Trace the cell as a script of its own, in a new process, and check it. Variables of the notebook are not seen."""
    options = _parse(line)
    with tempfile.TemporaryDirectory() as folder:
        script, trace = pathlib.Path(folder, "cell.py"), pathlib.Path(options.output or pathlib.Path(folder, "trace"))
        script.write_text(cell)
        run = subprocess.run(["traincheck-collect", "-o", str(trace), str(script)], capture_output=True, text=True)
        print(run.stdout, end="")
        print(run.stderr, end="")
        return check(trace, options.invariants)


def register(shell: Any) -> None:
    shell.register_magic_function(run_cell, "cell", "traincheck")
