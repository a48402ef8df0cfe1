# SPDX-License-Identifier: Apache-2.0
"""The line of the script, or of a library's model, that an operator comes from."""
import os
import sys
import sysconfig

_kinds = {}  # of files: "torch", "library" or "user"
_STANDARD = sysconfig.get_paths()["stdlib"]


def _kind(name):
    kind = _kinds.get(name)
    if kind is None:
        torch = os.path.dirname(sys.modules["torch"].__file__) + os.sep
        if name.startswith((torch, "<embedded", "<frozen")) or name.endswith("typing_extensions.py"):
            kind = "torch"  # the last is what torch marks deprecated functions with
        elif os.sep + "site-packages" + os.sep in name or os.sep + "dist-packages" + os.sep in name:
            kind = "library"
        elif name.startswith(_STANDARD):
            kind = "torch"
        else:
            kind = "user"
        _kinds[name] = kind
    return kind


def is_script(code):
    """Is it of the script, or of what lies beside it?"""
    return _kind(code.co_filename) == "user"


def shown(path):
    """Below the working folder without it."""
    folder = os.getcwd() + os.sep
    return path[len(folder):] if path.startswith(folder) else path


_CALLERS = 3  # that are written of an operator
_texts = {}  # (code, line) -> text


def current(frame, stops_at_engine, in_module):
    """(text, frame) of the innermost line that is not torch's own; outside of modules none of a library's either.

    In a backward pass the walk ends where autograd's engine was called: what stands below started it."""
    library = None
    while frame is not None:
        code = frame.f_code
        if stops_at_engine and code.co_name == "_engine_run_backward":
            break
        kind = _kind(code.co_filename)
        if kind == "user" or (kind == "library" and in_module):
            return _text(frame), frame
        if kind == "library" and library is None:
            library = frame
        frame = frame.f_back
    return (_text(library), library) if library is not None else (None, None)


def _is_program(frame):
    """Is it the script itself? What called that is no part of the job."""
    return frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__"


def callers(frame, stops_at_engine):
    """The lines of the script that have called it, the innermost first."""
    found = []
    while frame is not None and len(found) < _CALLERS and not _is_program(frame):
        frame = frame.f_back
        if frame is None or (stops_at_engine and frame.f_code.co_name == "_engine_run_backward"):
            break
        text = _text(frame).partition(", in ")[0] if _kind(frame.f_code.co_filename) == "user" else None
        if text is not None and text not in found[-1:]:  # a comprehension stands in the line of its function
            found.append(text)
    return tuple(found)


def applied(frame):
    """The line that has applied the function of autograd whose forward runs, and its callers; () if there is none."""
    while frame is not None:
        if frame.f_code.co_name == "apply" and _kind(frame.f_code.co_filename) == "torch":
            return callers(frame, False)
        frame = frame.f_back
    return ()


def _text(frame):
    code, line = frame.f_code, frame.f_lineno
    text = _texts.get((code, line))
    if text is None:
        text = _texts[code, line] = f"{shown(os.path.abspath(code.co_filename))}:{line}, in {code.co_name}"
    return text
