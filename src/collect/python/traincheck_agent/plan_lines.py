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


def shown(path):
    """Below the working folder without it."""
    folder = os.getcwd() + os.sep
    return path[len(folder):] if path.startswith(folder) else path


def current(frame, stops_at_engine, in_module):
    """The innermost line that is not torch's own; outside of modules none of a library's either.

    In a backward pass the walk ends where autograd's engine was called: what stands below started it."""
    library = None
    while frame is not None:
        code = frame.f_code
        if stops_at_engine and code.co_name == "_engine_run_backward":
            break
        kind = _kind(code.co_filename)
        if kind == "user" or (kind == "library" and in_module):
            return _text(frame)
        if kind == "library" and library is None:
            library = _text(frame)
        frame = frame.f_back
    return library


def _text(frame):
    return f"{shown(os.path.abspath(frame.f_code.co_filename))}:{frame.f_lineno}, in {frame.f_code.co_name}"
