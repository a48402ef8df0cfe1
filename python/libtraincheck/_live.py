# SPDX-License-Identifier: Apache-2.0
"""A check of a run while it goes on, in a thread of this process; the library works without the interpreter's lock."""

import queue
import threading
from typing import Any, Callable, List, Optional

from . import _library as lib
from ._report import Finding, Report, Violation
from ._work import Found, Lines, Notes, Path, Paths, check_config, make_report, progress_callback

BEGIN_S = 60  # for the largest invariant file on a slow disk; what takes longer goes on beside the run


def _taken(new: "queue.SimpleQueue[Any]") -> List[Any]:
    found = []
    while not new.empty():
        found.append(new.get())
    return found


class LiveCheck:
    """
    Follows a trace that is being written, as traincheck-onlinecheck does.

        with LiveCheck("trace", "@all") as live:
            ...                     # the run
            live.new_findings()     # findings since the last call
            live.new()              # violations since the last call
        live.report

    The start raises what a check cannot begin with, such as FileNotFoundError for a missing invariant file. The trace may
    come later. The end of the block waits for what is on the disk to be judged. An error of the check in between is in
    `error`; it never reaches the run.
    """

    def __init__(self, trace: Path, invariants: Paths = "@all", *, suppress: Optional[Path] = None,
                 output_dir: Optional[Path] = None, on_violation: Optional[Callable[[Violation], None]] = None):
        self.report: Optional[Report] = None
        self.error: Optional[BaseException] = None
        self._said = Found()
        self.findings: List[Finding] = self._said.findings  # as they were reported; after the run as they are at its end
        self.violations: List[Violation] = self._said.violations
        self._new: "queue.SimpleQueue[Violation]" = queue.SimpleQueue()
        self._new_findings: "queue.SimpleQueue[Finding]" = queue.SimpleQueue()
        self._on_violation, self._output_dir, self._stopping = on_violation, output_dir, threading.Event()
        self._arguments = (trace, invariants, suppress, output_dir)
        self._began = threading.Event()  # the invariants are read, or there is an error
        self._thread = threading.Thread(target=self._run, name="traincheck", daemon=True)

    def start(self) -> "LiveCheck":
        self._thread.start()
        self._began.wait(BEGIN_S)
        if self.error:
            raise self.error.with_traceback(None)
        return self

    def new(self) -> List[Violation]:
        """What was found since the last call."""
        return _taken(self._new)

    def new_findings(self) -> List[Finding]:
        """What began since the last call: a violation that joins a finding makes no new one."""
        return _taken(self._new_findings)

    def stop(self, timeout: Optional[float] = None) -> Optional[Report]:
        """Judge what is on the disk, and end. None if there was no trace, an error, or the time was over."""
        self._stopping.set()
        if self._thread.ident:
            self._thread.join(timeout)
        return self.report

    def __enter__(self) -> "LiveCheck":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def _found(self, raw: Any) -> None:
        self._said.add(raw)
        if "sentence" in raw:
            if not raw.get("last"):
                self._new_findings.put(self.findings[-1])
            return
        violation = self.violations[-1]
        self._new.put(violation)
        if self._on_violation:
            try:
                self._on_violation(violation)
            except Exception as e:  # of the user's function; the check goes on
                self.error = self.error or e

    def _run(self) -> None:
        try:
            self._follow()
        except BaseException as e:
            self.error = e
        finally:
            self._began.set()

    def _goes_on(self, *_: int) -> bool:
        self._began.set()
        return not self._stopping.is_set()

    def _follow(self) -> None:
        lines = Lines(self._found)
        goes_on = progress_callback(self._goes_on, [])
        say = lib.SAY(lambda *_: None)
        config = lib.OnlineConfig(check=check_config(*self._arguments, lines.callback, goes_on), lateness_s=30, say=say)
        result, error = lib.CheckResult(), lib.Error()
        with Notes() as notes:
            status = lib.library.tc_online_run(config, result, notes.pointer, error)
            if status != lib.INTERRUPTED:
                lib.raise_if_failed(status, error)
            if status == lib.INTERRUPTED and not result.n_records:
                return
            self.report = make_report(result, self._said, notes, self._output_dir)
