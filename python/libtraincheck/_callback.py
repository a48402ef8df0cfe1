# SPDX-License-Identifier: Apache-2.0
"""What the callbacks for all frameworks share: a live check beside the training, in the first process of the job."""

import logging
import time
from typing import List, Optional, Set

from ._annotations import trace_folder
from ._live import LiveCheck
from ._report import Finding, Report, Violation
from ._work import Path, Paths

logger = logging.getLogger("libtraincheck")
FLUSH_S = 0.8  # the collector writes at least every half second


class TrainingStopped(SystemExit):
    """
    A callback with on_violation="stop" has ended the training. It is raised behind the training, in all processes: the job
    ends with status 1 and the first finding as its last line, unless the script catches this.
    """

    def __init__(self, findings: List[Finding]):
        super().__init__(f"TrainCheck stopped the training: {findings[0] if findings else 'the first process says why'}")
        self.findings = findings  # of the first process of the job; elsewhere none


class Watch:
    """Warns of each finding once; wants_stop says whether the training should end for one."""

    def __init__(self, invariants: Paths, on_violation: str, trace: Optional[Path], suppress: Optional[Path],
                 output_dir: Optional[Path]):
        if on_violation not in ("warn", "stop"):
            raise ValueError(f"on_violation is 'warn' or 'stop', not {on_violation!r}")
        self.invariants, self.mode, self.trace = invariants, on_violation, trace
        self.suppress, self.output_dir = suppress, output_dir
        self.live: Optional[LiveCheck] = None
        self.wants_stop = self.has_stopped = False
        self._told: Set[str] = set()  # violations whose finding was told

    @property
    def stops(self) -> bool:
        return self.mode == "stop"

    @property
    def violations(self) -> List[Violation]:
        return self.live.violations if self.live else []

    @property
    def findings(self) -> List[Finding]:
        return self.live.findings if self.live else []

    def begin(self, is_first_process: bool) -> None:
        trace = self.trace or trace_folder()
        if not is_first_process or self.live:
            return
        if trace is None:
            logger.warning("TrainCheck: this run is not traced, so nothing is checked; start it as: "
                           "traincheck-collect -o trace train.py")
            return
        self.live = LiveCheck(trace, self.invariants, suppress=self.suppress, output_dir=self.output_dir).start()

    def look(self) -> None:
        """Tell of what is new. Never waits."""
        for finding in self.live.new_findings() if self.live else ():
            self._tell(finding)
            self.wants_stop = self.stops

    def _tell(self, finding: Finding) -> None:
        """Once, although it may have grown or joined another since."""
        if self._told.isdisjoint(finding.violations):
            logger.warning("TrainCheck: %s", finding)
        self._told.update(finding.violations)

    def end(self) -> None:
        """Judge the last steps, once they are on the disk."""
        if not self.live:
            return
        time.sleep(FLUSH_S)
        report = self.live.stop(timeout=60)
        self.look()
        if self.live.error:
            logger.warning("TrainCheck: the check failed: %s", self.live.error)
        elif report is not None:
            for finding in report.findings:
                self._tell(finding)
            logger.log(logging.INFO if report else logging.WARNING, "TrainCheck: %s", report.counts)

    def leave(self) -> None:
        """Tell the job if the training has ended for a finding."""
        if self.has_stopped:
            raise TrainingStopped(self.findings)


class Checked:
    """What a callback class is made of beside that of its framework, which says what the arguments are."""

    def __init__(self, invariants: Paths = "@all", on_violation: str = "warn", *, trace: Optional[Path] = None,
                 suppress: Optional[Path] = None, output_dir: Optional[Path] = None):
        super().__init__()
        self._watch = Watch(invariants, on_violation, trace, suppress, output_dir)

    @property
    def violations(self) -> List[Violation]:
        return self._watch.violations

    @property
    def findings(self) -> List[Finding]:
        """Those told so far; after the training as they are at its end."""
        return self._watch.findings

    @property
    def report(self) -> Optional[Report]:
        """After the training."""
        return self._watch.live.report if self._watch.live else None
