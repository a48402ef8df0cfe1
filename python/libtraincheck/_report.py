# SPDX-License-Identifier: Apache-2.0
"""What a check or a comparison found, as dataclasses. The names are those of docs/violation-format.md and
docs/comparison-format.md."""

import dataclasses
import html
import re
from typing import Any, Dict, List, Optional, Tuple

# As src/base/safe.h has it for a line: what steers a terminal or turns the direction of text, and what begins a command in the log
# of a service that runs CI jobs.
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_MARK = re.compile("(?<=#)#|(?:^|(?<= )):(?=:)")


def _shown(text: Any) -> str:
    """Names and texts of a trace may come from anybody: as people may see them. The fields keep them as they are."""
    return _MARK.sub("?", _STEERING.sub("?", str(text)))


def _table(names: Tuple[str, ...], rows: List[List[Any]]) -> str:
    cells = ["".join(f"<td style='text-align: left'>{'' if x is None else html.escape(_shown(x))}</td>" for x in row)
             for row in rows]
    return (f"<table><tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"
            f"{''.join(f'<tr>{row}</tr>' for row in cells)}</table>")


@dataclasses.dataclass(frozen=True)
class Violation:
    """An invariant that broke, at the first place where it did. Repeats are counted."""

    id: str
    relation: str
    expected: str
    seen: str
    hint: str = ""
    at: Optional[str] = None  # "train.py:55"
    step: Optional[int] = None
    stage: Optional[str] = None
    rank: Optional[int] = None
    call: Optional[str] = None
    trace: str = ""
    file: str = ""
    count: int = 1
    finding: Optional[int] = None  # number of its finding, from 1; None while a run is followed
    head: bool = False  # the first of its finding
    variables: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)  # all keys of the format

    @classmethod
    def of(cls, raw: Dict[str, Any]) -> "Violation":
        names = {field.name for field in dataclasses.fields(cls)} - {"raw"}
        return cls(raw=raw, **{name: value for name, value in raw.items() if name in names})

    def __str__(self) -> str:
        place = [self.at, None if self.step is None else f"step {self.step}", None if self.rank is None else f"rank {self.rank}"]
        return _shown(f"{', '.join(filter(None, place))}: expected: {self.expected}; seen: {self.seen} ({self.relation} {self.id})")


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a check says: one for each cause, with the violations that lie behind it as evidence."""

    finding: int  # its number, from 1
    kind: str  # "departure", "violation", "remark" or "setting"
    sentence: str  # "SGD.zero_grad() is no longer called"
    trace: str
    violations: List[str]  # their ids
    at: Optional[str] = None  # "train.py:55": the place to look at first
    when: Optional[str] = None  # "from step 3 on"
    step: Optional[int] = None
    rank: Optional[int] = None
    healthy_at: Optional[str] = None  # of a departure: the line of the healthy runs
    hint: Optional[str] = None  # of a violation
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)  # all keys of the format

    @classmethod
    def of(cls, raw: Dict[str, Any]) -> "Finding":
        names = {field.name for field in dataclasses.fields(cls)} - {"raw"}
        return cls(raw=raw, **{name: value for name, value in raw.items() if name in names})

    def __str__(self) -> str:
        place = f"{self.at}: " if self.at else ""
        more = len(self.violations)
        return _shown(f"{place}{self.sentence}{f', {self.when}' if self.when else ''} "
                      f"({more} broken invariant{'' if more == 1 else 's'})")


@dataclasses.dataclass(frozen=True)
class Note:
    """Something that was odd in a trace; docs/trace-format.md names the codes."""

    code: str
    file: str
    line: int
    count: int
    text: str


@dataclasses.dataclass(frozen=True)
class Report:
    """The result of a check. It is true when something was judged, and nothing broke."""

    findings: List[Finding]
    violations: List[Violation]  # the evidence
    invariants: int
    failed: int
    passed: int
    not_triggered: int
    unchecked: int
    suppressed: int
    records: int
    damaged: bool  # a part of the trace could not be read
    notes: List[Note]
    output_dir: Optional[str] = None  # where the reports are, if any were asked for

    @property
    def judged(self) -> int:
        """How many invariants met what they speak of. A check that judged none found nothing, and proves nothing."""
        return self.failed + self.passed + self.suppressed

    def __bool__(self) -> bool:
        return bool(self.judged) and not self.failed

    @property
    def counts(self) -> str:
        """In a line."""
        return (f"{self.invariants} invariants: {self.failed} failed, {self.passed} passed, {self.not_triggered} not triggered, "
                f"{self.unchecked} unchecked{'' if self.judged else ': nothing was judged'}")

    def __str__(self) -> str:
        return "\n".join([self.counts] + [f"  {f}" for f in self.findings])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For IPython."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        """For notebooks: the counts, and a row for each finding."""
        head = html.escape(self.counts)
        rows = [[f.at, f.when, f.rank, f.sentence, len(f.violations)] for f in self.findings]
        if not rows:
            return f"<p>TrainCheck: {head}</p>"
        return f"<p><b>TrainCheck: {head}</b></p>{_table(('at', 'when', 'rank', 'finding', 'violations'), rows)}"


@dataclasses.dataclass(frozen=True)
class Difference:
    """What differs between a run and a healthy one, where it was first seen. Repeats are counted."""

    kind: str  # "environment", "command", "draws", "weights", "data", "calls", "arguments", "results" or "variables"
    what: str  # "other", "missing", "new", "replaced", "moved", "kept" or "unrestored"
    text: str  # "SGD.zero_grad() is no longer called"
    at: Optional[str] = None  # "train.py:55", of the run
    at_reference: Optional[str] = None  # of the healthy run
    call: Optional[str] = None
    call_reference: Optional[str] = None
    path: Optional[str] = None  # of the value in the call, or the variable's name
    was: Optional[str] = None  # in the healthy run
    is_: Optional[str] = None  # in the run: the key "is", a word of Python
    step: Optional[int] = None
    stage: Optional[str] = None
    rank: Optional[int] = None
    worker: bool = False  # of a DataLoader
    times: int = 1
    set_aside: Optional[str] = None  # why it does not count; None: it counts
    raw: Dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)  # all keys of the format

    @classmethod
    def of(cls, raw: Dict[str, Any]) -> "Difference":
        names = {field.name for field in dataclasses.fields(cls)} - {"raw", "is_"}
        return cls(raw=raw, is_=raw.get("is"), **{name: value for name, value in raw.items() if name in names})

    def __str__(self) -> str:
        place = [self.at or self.at_reference, None if self.step is None else f"step {self.step}"]
        where = ", ".join(filter(None, place))
        return _shown(f"{where}: {self.text}" if where else self.text)


@dataclasses.dataclass(frozen=True, repr=False)
class Comparison:
    """The result of a comparison. It is true when the runs are equal but for what is set aside."""

    differences: List[Difference]  # those that count first, in the order in which they are told
    summary: Dict[str, Any]  # that of docs/comparison-format.md
    notes: List[Note]
    output_dir: Optional[str] = None  # where the reports are, if any were asked for

    @property
    def counted(self) -> List[Difference]:
        """Those that are not set aside."""
        return [d for d in self.differences if d.set_aside is None]

    @property
    def first(self) -> Optional[Difference]:
        """The one that leads: the first that is not set aside."""
        return next(iter(self.counted), None)

    @property
    def equal(self) -> bool:
        """Nothing differs but what is set aside."""
        return self.first is None

    def __bool__(self) -> bool:
        return self.equal

    def _head(self) -> str:
        n, aside = len(self.counted), len(self.differences) - len(self.counted)
        return f"{n or 'no'} difference{'' if n == 1 else 's'}, {aside} set aside"

    def __repr__(self) -> str:
        return f"<Comparison: {self._head()}>"

    def __str__(self) -> str:
        return "\n".join([self._head()] + [f"  {d}" for d in self.counted])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For IPython."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        """For notebooks: the counts, and a row for each difference that counts."""
        head = html.escape(self._head())
        rows = [[d.kind, d.at or d.at_reference, d.step, d.text, d.times] for d in self.counted]
        if not rows:
            return f"<p>TrainCheck: {head}</p>"
        return f"<p><b>TrainCheck: {head}</b></p>{_table(('kind', 'at', 'step', 'difference', 'times'), rows)}"


@dataclasses.dataclass(frozen=True, repr=False)
class Learned:
    """The result of learning."""

    invariants: int
    pipelines: int
    records: int
    per_relation: Dict[str, int]
    dropped: Dict[str, int]  # hypotheses, by the reason
    notes: List[Note]
    output: str

    def __repr__(self) -> str:
        return (f"<Learned: {self.invariants} invariant{'' if self.invariants == 1 else 's'} of {self.pipelines} "
                f"pipeline{'' if self.pipelines == 1 else 's'}, in {_shown(self.output)}>")
