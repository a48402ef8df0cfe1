# SPDX-License-Identifier: Apache-2.0
"""
infer and check, on this machine or on the workers of an executor.

Evidence of a trace is a few kilobytes and merges to the same bytes in any order. So workers learn from traces, merge what
they learned by a tree, and the caller mines the rest, which needs no trace. A check is of each trace by itself.
"""

import dataclasses
import os
import pathlib
import tempfile
from typing import Any, Dict, Iterable, List, Optional, Tuple, overload

from . import _library as lib
from ._report import Learned, Note, Report
from ._work import Path, Paths, Progress, excerpt, gather, judge, learn
from ._workers import Executor, Workers

FAN_IN = 16  # parts that one merge takes
EXCERPTS = 2  # of the first traces by name, as docs/invariant-format.md has it


def evidence(traces: Paths, *, specific: bool = False, jobs: int = 1) -> bytes:
    """What the traces teach, as the bytes of an evidence file: `infer` takes such files in place of traces."""
    return gather(traces, specific, jobs).evidence


def merge(parts: Iterable[bytes]) -> bytes:
    """One evidence of several, the same bytes whatever the order."""
    with tempfile.TemporaryDirectory(prefix="traincheck-") as folder:
        return gather(_written(folder, "", parts), True, 1).evidence


def infer(traces: Paths, output: Path, *, validate: Optional[Paths] = None, min_support: int = 0, min_pipelines: int = 0,
          specific: bool = False, jobs: int = 0, progress: Progress = None, executor: Optional[Executor] = None,
          chunksize: int = 1) -> Learned:
    """
    Learn invariants from traces of healthy runs, one pipeline each, and write them to the file output.

    validate: further healthy traces; what breaks on them is dropped. specific: the traces are runs of one script, so
    its settings are learned, too. 0 means the default of traincheck-infer.

    executor: a concurrent.futures.Executor, or a function that makes one, whose workers learn, `chunksize` traces at a time.
    The file is byte for byte that of one machine. Workers see the traces by the same paths. progress: called with the
    traces done, their number and the bytes of JSON read so far; returning False interrupts.
    """
    if executor is None:
        return learn(traces, output, validate=validate, min_support=min_support, min_pipelines=min_pipelines,
                     specific=specific, jobs=jobs, progress=progress)
    _check_output(output)
    with Workers(executor) as workers:
        learning = _Learning(workers, _listed(traces), _listed(validate), specific)
        learning.run(chunksize, progress)
    return learning.finish(output, min_support, min_pipelines)


@overload
def check(trace: Paths, invariants: Paths = ..., *, suppress: Optional[Path] = ..., output_dir: Optional[Path] = ...,
          jobs: int = ..., progress: Progress = ..., executor: None = ..., chunksize: int = ...) -> Report: ...


@overload
def check(trace: Paths, invariants: Paths = ..., *, suppress: Optional[Path] = ..., output_dir: Optional[Path] = ...,
          jobs: int = ..., progress: Progress = ..., executor: Executor, chunksize: int = ...) -> List[Report]: ...


def check(trace: Paths, invariants: Paths = "@all", *, suppress: Optional[Path] = None, output_dir: Optional[Path] = None,
          jobs: int = 0, progress: Progress = None, executor: Optional[Executor] = None, chunksize: int = 1) -> Any:
    """
    Judge one or several finished traces.

    invariants: files, or shipped sets such as "@all". output_dir: write the reports of traincheck-check there.
    jobs: threads, 0 for all cores. progress: called now and then with the traces done, their number and the bytes of
    JSON read so far; returning False interrupts.

    executor: a concurrent.futures.Executor, or a function that makes one. Its workers judge each trace by itself,
    `chunksize` at a time, and the result is a list: for each trace, in their order, the Report that check() gives of
    it alone. Reports go into folders of output_dir, named as the traces.

    FileNotFoundError: there is no trace; TrainCheckError: a file is not what it should be.
    """
    if executor is None:
        return judge(trace, invariants, suppress, output_dir, jobs, progress)[0]
    traces = _listed(trace)
    sets = _listed(invariants)
    jobs_of_workers = [(i, path, _report_folder(output_dir, traces, i)) for i, path in enumerate(traces)]
    reports: List[Optional[Report]] = [None] * len(traces)
    with Workers(executor) as workers:
        for chunk in _chunks(jobs_of_workers, chunksize):
            workers.submit(None, os.fsdecode(chunk[0][1]), _judge_each, chunk, sets, suppress)
        counted = _Counted(len(traces), progress)
        for _, judged in workers.done():
            for i, report, json_bytes in judged:
                reports[i] = report
                counted.add(1, json_bytes)
    return reports


# ---- what workers do ---------------------------------------------------------------------------------------------------


def _judge_each(chunk: List[Tuple[int, Path, Optional[str]]], invariants: List[Path],
                suppress: Optional[Path]) -> List[Tuple[int, Report, int]]:
    return [(i, *judge(path, invariants, suppress, folder, 1, None)) for i, path, folder in chunk]


# ---- what the caller does ----------------------------------------------------------------------------------------------


def _listed(paths: Optional[Paths]) -> List[Path]:
    return [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths or ())


def _chunks(items: List[Any], size: int) -> List[List[Any]]:
    if size < 1:
        raise ValueError(f"chunksize: {size} is less than 1")
    return [items[i:i + size] for i in range(0, len(items), size)]


def _written(folder: str, name: str, parts: Iterable[bytes]) -> List[Path]:
    """Each as an evidence file in the folder."""
    paths: List[Path] = []
    for part in parts:
        path = pathlib.Path(folder, f"{name}{len(paths)}.tce")
        path.write_bytes(part)
        paths.append(path)
    return paths


def _report_folder(output_dir: Optional[Path], traces: List[Path], i: int) -> Optional[str]:
    """Named as the trace; where another one before it has the same name, with a number behind it."""
    if output_dir is None:
        return None
    names = [os.path.basename(os.fsdecode(path).rstrip("/")) for path in traces[:i + 1]]
    before = names[:i].count(names[i])
    return os.path.join(os.fsdecode(output_dir), names[i] + (f".{before + 1}" if before else ""))


def _check_output(output: Path) -> None:
    """Learning may take hours."""
    path = os.fsdecode(output)
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{path}: there is no folder {folder}")
    if os.path.isdir(path) or not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise OSError(f"{path}: cannot be written")


def _replace(output: Path, text: bytes) -> None:
    """Under another name, then renamed: a reader finds the old file or the new one. A device is written into."""
    path = os.path.realpath(os.fsdecode(output))
    if os.path.exists(path) and not os.path.isfile(path):
        pathlib.Path(path).write_bytes(text)
        return
    beside = pathlib.Path(f"{path}.tmp{os.getpid()}")
    beside.write_bytes(text)
    os.replace(beside, path)


class _Counted:
    """Progress of the caller: traces done, of how many, bytes of JSON."""

    def __init__(self, n: int, progress: Progress):
        self.n, self.progress, self.done, self.bytes = n, progress, 0, 0
        self._tell()

    def add(self, traces: int, json_bytes: int) -> None:
        self.done += traces
        self.bytes += json_bytes
        self._tell()

    def _tell(self) -> None:
        if self.progress and self.progress(self.done, self.n, self.bytes) is False:
            raise lib.TrainCheckError("interrupted")


def _each_once(traces: List[Path]) -> List[Path]:
    """A trace that is given twice, by whatever path, is one."""
    seen: Dict[str, Path] = {}
    for path in sorted(traces, key=lambda path: (os.fsencode(os.path.realpath(path)), os.fsencode(path))):
        seen.setdefault(os.path.realpath(os.fsdecode(path)), path)
    return list(seen.values())


class _Learning:
    """What workers have learned so far of the traces to learn from, and of those to validate on."""

    def __init__(self, workers: Workers, traces: List[Path], validate: List[Path], specific: bool):
        self.workers, self.specific = workers, specific
        self.traces = {"learn": _each_once(traces), "validate": _each_once(validate)}
        real = {use: {os.path.realpath(path) for path in paths} for use, paths in self.traces.items()}
        both = real["learn"] & real["validate"]
        if both:
            raise lib.TrainCheckError(f"{os.fsdecode(min(both))} is learned from, so it cannot validate what was learned")
        folders = [path for path in sorted(traces, key=os.fsencode) if not os.fsdecode(path).endswith(".tce")]
        self.to_excerpt = iter(folders if specific else [])
        self.parts: Dict[str, List[bytes]] = {"learn": [], "validate": []}
        self.excerpts: Dict[int, bytes] = {}  # by the order of to_excerpt
        self.notes: Dict[Tuple[str, int], List[Note]] = {}  # by the order of the traces
        self.records = 0

    def run(self, chunksize: int, progress: Progress) -> None:
        for kind, traces in self.traces.items():
            for number, chunk in enumerate(_chunks(traces, chunksize)):
                self.workers.submit((kind, number, len(chunk)), os.fsdecode(chunk[0]), gather, chunk, self.specific, 1)
        for number in range(EXCERPTS):
            self._ask_for_excerpt(number)
        counted = _Counted(sum(map(len, self.traces.values())), progress)
        for (kind, number, n), value in self.workers.done():
            if number is None:
                self._add(kind, value)
            elif kind == "excerpt":
                self._take_excerpt(number, value)
            else:
                self._add(kind, value.evidence)
                self.notes[kind, number] = value.notes
                self.records += value.records
                counted.add(n, value.json_bytes)

    def _add(self, kind: str, part: bytes) -> None:
        """What is merged is a part again, so merges are a tree."""
        self.parts[kind].append(part)
        if len(self.parts[kind]) == FAN_IN:
            self.workers.submit((kind, None, 0), "a merge of evidence", merge, self.parts[kind])
            self.parts[kind] = []

    def _ask_for_excerpt(self, number: int) -> None:
        path = next(self.to_excerpt, None)
        if path is not None:
            self.workers.submit(("excerpt", number, 0), os.fsdecode(path), excerpt, path)

    def _take_excerpt(self, number: int, line: bytes) -> None:
        """Where a trace has nothing to tell the next one does."""
        self.excerpts[number] = line
        if not line:
            self._ask_for_excerpt(len(self.excerpts) + EXCERPTS - 1)

    def finish(self, output: Path, min_support: int, min_pipelines: int) -> Learned:
        """Mine what was learned, and write it."""
        lines = b"".join(self.excerpts[number] for number in sorted(self.excerpts))
        with tempfile.TemporaryDirectory(prefix="traincheck-") as folder:
            made = os.path.join(folder, "invariants.jsonl")
            parts = {kind: _written(folder, kind, parts) for kind, parts in self.parts.items()}
            learned = learn(parts["learn"], made, validate=parts["validate"], min_support=min_support,
                            min_pipelines=min_pipelines, specific=self.specific)
            head, rest = pathlib.Path(made).read_bytes().split(b"\n", 1)
        _replace(output, head + b"\n" + lines + rest)
        notes = [note for key in sorted(self.notes) for note in self.notes[key]] + learned.notes
        return dataclasses.replace(learned, records=self.records, notes=notes, output=os.fspath(output))
