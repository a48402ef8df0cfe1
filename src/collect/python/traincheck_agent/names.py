# SPDX-License-Identifier: Apache-2.0
"""What files, classes and root modules are called."""
import os
import sys

import _traincheck_agent as agent
from . import owners
from .signature import readable


def cell_of(path):
    """What IPython's own tracebacks call a cell of a notebook, "In[2]"; None for other files."""
    try:
        return sys.modules["IPython"].get_ipython().compile.format_code_name(path)[1]
    except Exception:  # no IPython, none that runs, an older one, no cell
        return None


def place_of_file(path, scope):
    """Its owner, and for the user's own files the path as one would type it in the job's terminal.

    Args:
        path, scope: as of owners.owner_of
    Returns:
        tuple: (owner, path or None). The path is relative for files below the folder in which the
        process began, else absolute and without `..`; code that stands in no file has Python's name
        for it, or that of its cell.
    """
    owner = owners.owner_of(path, scope)
    if owner != "user":
        return owner, None
    shown = cell_of(path) or (path if path.startswith("<") else None)
    if shown:
        return owner, readable(shown)
    return owner, readable(owners.absolute(path).removeprefix(owners.START.rstrip(os.sep) + os.sep))


def is_user_function(function):
    """Also when a decorator of a package, such as torch.no_grad(), stands around it."""
    for _ in range(8):
        function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    return code is not None and owners.owner_of(code.co_filename, function.__globals__) == "user"


def class_name(cls):
    """The shortest public path that leads to the class."""
    module, name = cls.__module__ or "", cls.__qualname__
    if module == "builtins":
        return name
    if module == "__mp_main__":  # the script in a spawned process
        module = "__main__"
    parts = module.split(".")
    for n in range(1, len(parts)):
        package = sys.modules.get(".".join(parts[:n]))
        if package is not None and getattr(package, "__dict__", {}).get(name) is cls:
            return ".".join(parts[:n]) + "." + name
    return module + "." + name


def _place_in(value, module, depth):
    """Where a plain container holds the module, as "[2]"; None if it does not."""
    if value is module:
        return ""
    items = enumerate(value) if type(value) in (list, tuple) else value.items() if type(value) is dict else ()
    for key, item in items if depth else ():
        found = _place_in(item, module, depth - 1)
        if found is not None:
            return f"[{key!r}]{found}"
    return None


def name_in_module(holder, module):
    """The path from a module to one that it keeps beside its children, as "branches[2]", or None."""
    for name, value in list(vars(holder).items()):
        found = None if name == "_modules" else _place_in(value, module, 2)
        if found is not None:
            return name + found
    return None


def variables(value):
    """Of each frame of the user's, innermost first, the names of its variables and its module's that are the value."""
    frame = sys._getframe(1)
    while frame is not None:
        if owners.owner_of(frame.f_code.co_filename, frame.f_globals) == "user":
            yield [name for scope in (agent.scope_of(frame), frame.f_globals) for name, found in list(scope.items()) if found is value]
        frame = frame.f_back


def name_of_root(module):
    """The script's own variable that holds the module, innermost frame first."""
    for found in variables(module):
        for name in found:
            if name != "self":
                return name
    return type(module).__name__.lower()
