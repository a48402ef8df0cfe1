# SPDX-License-Identifier: Apache-2.0
"""check, compare, read, learn and its evidence: each a call of the library, with Python's types on both sides."""

import ctypes as c
import dataclasses
import itertools
import json
import os
import pathlib
import tempfile
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

from . import _library as lib
from ._report import Comparison, Difference, Finding, Learned, Note, Report, Violation

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Iterable[Path]]
Progress = Optional[Callable[[int, int, int], Any]]


class Notes:
    """The library's list of notes, freed at the end of the block."""

    def __enter__(self) -> "Notes":
        self.pointer = lib.library.tc_notes_new()
        return self

    def __exit__(self, *_: Any) -> None:
        lib.library.tc_notes_free(self.pointer)

    def __iter__(self) -> Iterator[Note]:
        for i in range(lib.library.tc_notes_count(self.pointer)):
            n = lib.library.tc_notes_get(self.pointer, i).contents
            yield Note(n.code.decode(), (n.file or b"").decode(errors="replace"), n.line, n.count,
                       n.text.decode(errors="replace"))


class Lines:
    """Takes what the library writes, and hands out the lines of JSON."""

    def __init__(self, each: Callable[[Dict[str, Any]], None]):
        self.each, self.rest = each, b""
        self.callback = lib.FOUND(self.write)

    def write(self, _: Any, text: Any, size: int) -> None:
        *lines, self.rest = (self.rest + c.string_at(text, size)).split(b"\n")
        for line in lines:
            self.each(json.loads(line))


def progress_callback(progress: Optional[Callable[..., Any]], raised: List[BaseException], kind: Any = lib.PROGRESS) -> Any:
    """Calls progress(i, n, bytes), or as kind has it; it interrupts by returning False or by an exception, as Ctrl-C is one."""

    def call(_: Any, *done: int) -> bool:
        try:
            return progress is None or progress(*done) is not False
        except BaseException as e:  # nothing may pass through C; it is raised afterwards
            raised.append(e)
            return False

    return kind(call)


def check_config(traces: Paths, invariants: Paths, suppress: Optional[Path], output_dir: Optional[Path], write: Any,
                 progress: Any, jobs: int = 0) -> lib.CheckConfig:
    config = lib.CheckConfig(suppress=lib.encoded(suppress), output_dir=lib.encoded(output_dir), json=True, quiet=True,
                             write=write, progress=progress, jobs=jobs)
    config.traces, config.n_traces = lib.texts(traces)
    config.invariants, config.n_invariants = lib.texts(invariants)
    return config


class Found:
    """What a check found, from the lines that it writes: each finding, and its violations behind it."""

    def __init__(self) -> None:
        self.findings: List[Finding] = []
        self.violations: List[Violation] = []

    def add(self, raw: Dict[str, Any]) -> None:
        if raw.get("last") and raw["finding"] == 1:  # of a run that was followed: as they are at its end
            self.findings.clear()
        if "sentence" in raw:
            self.findings.append(Finding.of(raw))
        else:
            self.violations.append(Violation.of(raw))


def make_report(result: lib.CheckResult, found: Found, notes: Iterable[Note], output_dir: Optional[Path]) -> Report:
    return Report(found.findings, found.violations, result.n_invariants, result.n_failed, result.n_passed, result.n_not_triggered,
                  result.n_unchecked, result.n_suppressed, result.n_records, result.damaged, list(notes),
                  None if output_dir is None else os.fspath(output_dir))


def judge(trace: Paths, invariants: Paths, suppress: Optional[Path], output_dir: Optional[Path], jobs: int,
          progress: Progress) -> Tuple[Report, int]:
    """The report of these traces, and the bytes of JSON that they have."""
    found = Found()
    raised: List[BaseException] = []
    lines = Lines(found.add)
    config = check_config(trace, invariants, suppress, output_dir, lines.callback, progress_callback(progress, raised), jobs)
    result, error = lib.CheckResult(), lib.Error()
    with Notes() as notes:
        status = lib.library.tc_check_run(config, result, notes.pointer, error)
        if raised:
            raise raised[0]
        lib.raise_if_failed(status, error)
        return make_report(result, found, notes, output_dir), result.json_bytes


def _compare_config(run: Path, against: Paths, resumed: bool, from_step: Optional[int], output_dir: Optional[Path],
                    write: Any, progress: Any) -> lib.CompareConfig:
    if from_step is not None and not resumed:
        raise lib.TrainCheckError("from_step without resumed")
    if from_step is not None and not 0 <= from_step < 1 << 63:
        raise lib.TrainCheckError(f"from_step: {from_step} is no step; steps count from 0")
    config = lib.CompareConfig(run=lib.encoded(run), resumed=resumed, from_step=lib.NONE if from_step is None else from_step,
                               output_dir=lib.encoded(output_dir), json=True, quiet=True, write=write,
                               progress=progress)
    config.against, config.n_against = lib.texts(against)
    if not config.n_against:
        raise lib.TrainCheckError("no healthy run given")
    return config


def compare(run: Path, against: Paths, *, resumed: bool = False, from_step: Optional[int] = None,
            output_dir: Optional[Path] = None) -> Comparison:
    """
    Compare a finished run with healthy ones: what differs, and what differed first.

    run: its trace, a folder that traincheck-collect wrote. against: that of a healthy run, or several; the first is
    compared with, and what the others differ from it in is set aside. resumed: the run goes on from a checkpoint of
    the first healthy run, at its step from_step (they count from 0; None: where its weights are as the run begins
    with them). output_dir: write the reports of traincheck-check --against there.

        comparison = libtraincheck.compare("after", ["before1", "before2"])
        if not comparison.equal:
            print(comparison.first)      # train.py:34, step 0: clip_grad_norm_() is no longer called

    FileNotFoundError: there is no trace; OSError: a report cannot be written; TrainCheckError: a file is not what it
    should be, or the runs cannot be compared, as their calls were recorded in different ways.
    """
    found: List[Dict[str, Any]] = []
    raised: List[BaseException] = []
    lines = Lines(found.append)
    config = _compare_config(run, against, resumed, from_step, output_dir, lines.callback,
                             progress_callback(None, raised, lib.PROGRESS_BYTES))
    result, error = lib.CompareResult(), lib.Error()
    with Notes() as notes:
        status = lib.library.tc_compare_run(config, result, notes.pointer, error)
        if raised:
            raise raised[0]
        lib.raise_if_failed(status, error)
        *differences, summary = found
        return Comparison([Difference.of(raw) for raw in differences], summary, list(notes),
                          None if output_dir is None else os.fspath(output_dir))


def _run_inference(config: lib.InferConfig, progress: Progress) -> Tuple[lib.InferResult, List[Note]]:
    raised: List[BaseException] = []
    config.progress = progress_callback(progress, raised)
    result, error = lib.InferResult(), lib.Error()
    with Notes() as notes:
        status = lib.library.tc_infer_run(config, result, notes.pointer, error)
        if raised:
            raise raised[0]
        lib.raise_if_failed(status, error)
        return result, list(notes)


def learn(traces: Paths, output: Path, *, validate: Optional[Paths] = None, min_support: int = 0, min_pipelines: int = 0,
          specific: bool = False, jobs: int = 0, progress: Progress = None) -> Learned:
    """Learn from traces and evidence files, and write the invariants to the file output."""
    config = lib.InferConfig(output=lib.encoded(output), min_support=min_support, min_pipelines=min_pipelines, jobs=jobs,
                             specific=specific)
    config.traces, config.n_traces = lib.texts(traces)
    config.validate, config.n_validate = lib.texts(validate)
    result, notes = _run_inference(config, progress)
    return Learned(result.n_invariants, result.n_pipelines, result.n_records,
                   {x.name.decode(): x.n for x in result.per_form[:result.n_forms]},
                   {x.name.decode(): x.n for x in result.dropped[:result.n_dropped]}, notes, os.fspath(output))


@dataclasses.dataclass(frozen=True)
class Part:
    """What some traces teach: the bytes of their evidence file, and what was read for it."""

    evidence: bytes
    records: int
    json_bytes: int
    notes: List[Note]


def gather(traces: Paths, specific: bool, jobs: int) -> Part:
    """Learn from traces and evidence files without asking what holds; docs/evidence-format.md."""
    with tempfile.TemporaryDirectory(prefix="traincheck-") as folder:
        path = pathlib.Path(folder, "part.tce")
        config = lib.InferConfig(evidence=lib.encoded(path), specific=specific, jobs=jobs)
        config.traces, config.n_traces = lib.texts(traces)
        result, notes = _run_inference(config, None)
        return Part(path.read_bytes(), result.n_records, result.json_bytes, notes)


def excerpt(trace: Path) -> bytes:
    """The line that an invariant file learned with `specific` has of this trace; b"" if there is nothing to tell."""
    written: List[bytes] = []
    write = lib.FOUND(lambda _, text, size: written.append(c.string_at(text, size)))
    config = lib.InferConfig(output=b"-", specific=True, jobs=1, write=write)
    config.traces, config.n_traces = lib.texts(trace)
    known = list(itertools.takewhile(bool, map(lib.library.tc_infer_relation_name, itertools.count())))
    config.disable, config.n_disable = (c.c_char_p * len(known))(*known), len(known)  # nothing is learned besides
    _run_inference(config, None)
    return b"".join(line for line in b"".join(written).splitlines(keepends=True) if line.startswith(b'{"traincheck":"excerpt"'))


class _Reader:
    """Prints records into a buffer that grows with them."""

    def __init__(self) -> None:
        self.buffer = c.create_string_buffer(1 << 16)

    def record(self, pointer: Optional[int]) -> Dict[str, Any]:
        size = lib.library.tc_record_json(pointer, self.buffer, len(self.buffer))
        if size >= len(self.buffer):
            self.buffer = c.create_string_buffer(2 * size)
            lib.library.tc_record_json(pointer, self.buffer, len(self.buffer))
        return json.loads(c.string_at(self.buffer, size))


def read(trace: Path) -> Iterator[Dict[str, Any]]:
    """
    The records of a trace, as docs/trace-format.md has them: a folder's or one file's.

    Files are read in turns, so that processes move on together; `file` is added to each record. What cannot be read is
    left out: check() tells of it in its notes.
    """
    folder, error = c.c_void_p(), lib.Error()
    lib.raise_if_failed(lib.library.tc_trace_folder_open(lib.encoded(trace), None, folder, error), error)
    try:
        yield from _records(folder, error)
    finally:
        lib.library.tc_trace_folder_close(folder)


def _records(folder: Any, error: Any) -> Iterator[Dict[str, Any]]:
    reader, index, record = _Reader(), c.c_size_t(), c.c_void_p()
    files = [lib.library.tc_trace_folder_file(folder, i) for i in range(lib.library.tc_trace_folder_n_files(folder))]
    names = [lib.library.tc_trace_file_name(file).decode(errors="replace") for file in files]
    for file, name in zip(files, names):
        yield {**reader.record(lib.library.tc_trace_file_process(file)), "file": name}
    while True:
        status = lib.library.tc_trace_folder_next(folder, index, record, error)
        lib.raise_if_failed(status, error)
        if status == lib.END:
            return
        yield {**reader.record(record.value), "file": names[index.value]}
