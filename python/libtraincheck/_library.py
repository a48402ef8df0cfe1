# SPDX-License-Identifier: Apache-2.0
"""libtraincheck.so by ctypes: the structs of include/traincheck/, and nothing that a user calls.

tests/package/test_layout.py holds these against the headers, with a compiler.
"""

import ctypes as c
import os
import pathlib

from . import _remote

FOUND = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(c.c_char), c.c_size_t)
PROGRESS = c.CFUNCTYPE(c.c_bool, c.c_void_p, c.c_size_t, c.c_size_t, c.c_uint64)
PROGRESS_BYTES = c.CFUNCTYPE(c.c_bool, c.c_void_p, c.c_uint64)
SAY = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p)
TEXTS = c.POINTER(c.c_char_p)

OK, END, INTERRUPTED = 0, 1, -7
NONE = -(1 << 63)  # TC_NONE


class Error(c.Structure):
    _name_ = "tc_error"
    _fields_ = [("status", c.c_int), ("text", c.c_char * 512)]


class Note(c.Structure):
    _name_ = "tc_note"
    _fields_ = [("code", c.c_char_p), ("file", c.c_char_p), ("line", c.c_uint64), ("count", c.c_uint64),
                ("text", c.c_char * 200)]


class CheckConfig(c.Structure):
    _name_ = "tc_check_config"
    _fields_ = [("traces", TEXTS), ("n_traces", c.c_size_t), ("invariants", TEXTS), ("n_invariants", c.c_size_t),
                ("suppress", c.c_char_p), ("formats", TEXTS), ("n_formats", c.c_size_t), ("explain", TEXTS),
                ("n_explain", c.c_size_t), ("metrics", c.c_char_p), ("jobs", c.c_uint), ("no_html_report", c.c_bool),
                ("output_dir", c.c_char_p), ("command_line", c.c_char_p), ("color", c.c_bool), ("quiet", c.c_bool),
                ("json", c.c_bool), ("verbose", c.c_bool), ("write", FOUND), ("progress", PROGRESS), ("context", c.c_void_p)]


class CheckSet(c.Structure):
    _name_ = "tc_check_set"
    _fields_ = [("name", c.c_char * 32), ("is_chosen", c.c_bool), ("why", c.c_char * 160)]


class CheckResult(c.Structure):
    _name_ = "tc_check_result"
    _fields_ = [*((name, c.c_uint64) for name in (
        "n_invariants", "n_failed", "n_passed", "n_not_triggered", "n_unchecked", "n_settings", "n_remarks", "n_suppressed", "n_findings",
        "n_multi_failed", "n_records", "n_calls", "n_windows", "json_bytes", "wall_ns")),
                ("sets", CheckSet * 8), ("n_sets", c.c_size_t), ("n_runs", c.c_uint64),
                ("n_runs_failed", c.c_uint64), ("exit_status", c.c_int), ("damaged", c.c_bool),
                ("other_script", c.c_char * 256)]


class OnlineConfig(c.Structure):
    _name_ = "tc_online_config"
    _fields_ = [("check", CheckConfig), ("lateness_s", c.c_uint), ("idle_s", c.c_uint), ("report_interval_s", c.c_uint),
                ("on_violation", c.c_char_p), ("on_violation_limit_s", c.c_uint), ("state", c.c_char_p), ("say", SAY), ("found", FOUND), ("found_context", c.c_void_p)]


class InferConfig(c.Structure):
    _name_ = "tc_infer_config"
    _fields_ = [("traces", TEXTS), ("n_traces", c.c_size_t), ("validate", TEXTS), ("n_validate", c.c_size_t),
                ("output", c.c_char_p), ("evidence", c.c_char_p), ("failed", c.c_char_p), ("profile", c.c_char_p), ("enable", TEXTS),
                ("n_enable", c.c_size_t), ("disable", TEXTS), ("n_disable", c.c_size_t), ("min_support", c.c_uint),
                ("min_pipelines", c.c_uint), ("jobs", c.c_uint), *((name, c.c_bool) for name in ("specific", "keep_implied", "selective", "no_evidence", "adds", "lean")),
                ("date", c.c_char_p), ("no_excerpts", c.c_bool),
                ("write", FOUND), ("progress", PROGRESS), ("context", c.c_void_p)]


class InferCount(c.Structure):
    _name_ = "tc_infer_count"
    _fields_ = [("name", c.c_char * 48), ("n", c.c_uint64)]


class InferResult(c.Structure):
    _name_ = "tc_infer_result"
    _fields_ = [*((name, c.c_uint64) for name in (
        "n_pipelines", "n_files", "n_records", "n_calls", "n_windows", "json_bytes", "file_bytes", "wall_ns",
        "n_invariants", "n_rows", "n_facts", "n_differed", "n_selective", "evidence_bytes", "n_excerpts", "excerpt_bytes",
        "n_held_out", "n_confirmed", "n_untold")),
                ("per_form", InferCount * 64), ("n_forms", c.c_size_t), ("dropped", InferCount * 16), ("n_dropped", c.c_size_t)]


class CompareConfig(c.Structure):
    _name_ = "tc_compare_config"
    _fields_ = [("run", c.c_char_p), ("against", TEXTS), ("n_against", c.c_size_t), ("n_steps", c.c_uint64), ("resumed", c.c_bool), ("from_step", c.c_int64),
                ("formats", TEXTS), ("n_formats", c.c_size_t), ("output_dir", c.c_char_p), ("command_line", c.c_char_p),
                *((name, c.c_bool) for name in ("no_html_report", "color", "quiet", "json", "verbose")),
                ("write", FOUND), ("progress", PROGRESS_BYTES), ("context", c.c_void_p)]


class CompareResult(c.Structure):
    _name_ = "tc_compare_result"
    _fields_ = [(name, c.c_uint64) for name in ("n_differences", "n_set_aside", "n_windows", "n_calls", "json_bytes", "wall_ns")]


STRUCTS = [Error, Note, _remote.Remote, CheckConfig, CheckSet, CheckResult, OnlineConfig, InferConfig, InferCount, InferResult, CompareConfig,
           CompareResult]

_FUNCTIONS = {
    "tc_version": (c.c_char_p,),
    "tc_notes_new": (c.c_void_p,),
    "tc_notes_free": (None, c.c_void_p),
    "tc_notes_count": (c.c_size_t, c.c_void_p),
    "tc_notes_get": (c.POINTER(Note), c.c_void_p, c.c_size_t),
    "tc_check_run": (c.c_int, c.POINTER(CheckConfig), c.POINTER(CheckResult), c.c_void_p, c.POINTER(Error)),
    "tc_online_run": (c.c_int, c.POINTER(OnlineConfig), c.POINTER(CheckResult), c.c_void_p, c.POINTER(Error)),
    "tc_infer_run": (c.c_int, c.POINTER(InferConfig), c.POINTER(InferResult), c.c_void_p, c.POINTER(Error)),
    "tc_infer_relation_name": (c.c_char_p, c.c_size_t),
    "tc_compare_run": (c.c_int, c.POINTER(CompareConfig), c.POINTER(CompareResult), c.c_void_p, c.POINTER(Error)),
    "tc_trace_set_remote": (None, c.POINTER(_remote.Remote)),
    "tc_trace_folder_open": (c.c_int, c.c_char_p, c.c_void_p, c.POINTER(c.c_void_p), c.POINTER(Error)),
    "tc_trace_folder_close": (None, c.c_void_p),
    "tc_trace_folder_n_files": (c.c_size_t, c.c_void_p),
    "tc_trace_folder_file": (c.c_void_p, c.c_void_p, c.c_size_t),
    "tc_trace_folder_next": (c.c_int, c.c_void_p, c.POINTER(c.c_size_t), c.POINTER(c.c_void_p), c.POINTER(Error)),
    "tc_trace_file_process": (c.c_void_p, c.c_void_p),
    "tc_trace_file_name": (c.c_char_p, c.c_void_p),
    "tc_record_json": (c.c_size_t, c.c_void_p, c.c_char_p, c.c_size_t),
}


def _path():
    """Of the library: the one that TRAINCHECK_LIBRARY names, the wheel's, or what the system has."""
    own = pathlib.Path(__file__).with_name("libtraincheck.so")
    return os.environ.get("TRAINCHECK_LIBRARY") or (str(own) if own.exists() else "libtraincheck.so.2")


def _load():
    library = c.CDLL(_path())
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


library = _load()
library.tc_trace_set_remote(_remote.FUNCTIONS)


class TrainCheckError(Exception):
    """The library could not do what it was asked; the text names the file, the line and the field at fault."""


_RAISED = {-5: FileNotFoundError, -2: OSError, -8: MemoryError}


def raise_if_failed(status, error):
    """Raise for a status that is no success: FileNotFoundError, OSError, MemoryError, or TrainCheckError."""
    reason = _remote.take_reason()
    if status not in (OK, END):
        text = error.text.decode(errors="replace")
        raise _RAISED.get(status, TrainCheckError)(f"{text} ({reason})" if reason else text) from reason


def encoded(path):
    if path is not None and _remote.is_remote(path):
        _remote.prepare()
    return None if path is None else os.fsencode(path)


def texts(items):
    """An array of C strings and its length, of one path or of several."""
    items = [items] if isinstance(items, (str, bytes, os.PathLike)) else list(items or ())
    return (c.c_char_p * len(items))(*map(encoded, items)), len(items)
