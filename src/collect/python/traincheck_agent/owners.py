# SPDX-License-Identifier: Apache-2.0
"""Whose code a file holds: the user's, a package's, or nobody's, where calls are followed through it.

What was installed is not the user's, wherever it lies: in this interpreter's own folders of packages, or beside the record that
every installer leaves (pip install --target, Bazel, Nix, PEX, modules of a cluster, zip files). The user's is all else: the
program itself and what it finds in its folder, on PYTHONPATH or by an editable installation, whatever those folders are called.
"""
import functools
import os
import re
import site
import sys

from . import table

# What the table speaks of is never the user's, nor is this tool's package: not a checkout, not a copy that lost its record.
_LIBRARIES = frozenset(row.owner.split(".")[0] for row in table.TABLE) | {table.OURS}
STDLIB = os.path.dirname(os.__file__)
PROGRAM = ("__main__", "__mp_main__")  # the second is the script in a spawned process
_TYPED = ("<stdin>", "<python-input-", "<ipython-input-")


def working_folder():
    """None if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return None


START = working_folder() or os.sep  # where the process began; a script may leave it later


def absolute(path):
    return os.path.normpath(os.path.join(START, path))


def is_below(path, folder):
    return path.startswith(folder.rstrip(os.sep) + os.sep)


def _is_typed(path):
    """Is it the user's code though it stands in no file? With -c <string> is, elsewhere libraries have made it."""
    if path == "<string>":
        return getattr(sys.modules.get("__main__"), "__file__", None) is None
    return path.startswith(_TYPED)


@functools.lru_cache(maxsize=None)
def site_folders():
    """Where this interpreter's installers put packages."""
    found = []
    for ask in ("getsitepackages", "getusersitepackages"):
        try:
            said = getattr(site, ask)()
        except Exception:  # an old virtualenv's own site
            continue
        found += [said] if isinstance(said, str) else said
    return [folder for path in found for folder in {absolute(path), os.path.realpath(path)}]


def program_folder():
    """Where the script lies that runs, None if there is none."""
    main = sys.modules.get(PROGRAM[1]) or sys.modules.get(PROGRAM[0])
    file = getattr(main, "__file__", None)
    return os.path.dirname(absolute(file)) if file and getattr(main, "__spec__", None) is None else None


def _places_of(module):
    """The folders or archives that hold a top-level package or module."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    parts = list(getattr(spec, "submodule_search_locations", None) or ())
    if not parts and getattr(spec, "has_location", False):
        parts = [spec.origin]
    return [os.path.dirname(absolute(part)) for part in parts]


def _find(module, path):
    """(top-level package, folder or archive that holds it) of a file; None if no way of importing leads there."""
    for place in _places_of(module):
        if is_below(path, place):
            return module, place
    # run by its path, or in a namespace that somebody made
    place = max((p for p in map(absolute, sys.path) if is_below(path, p)), key=len, default=None)
    return place and (os.path.relpath(path, place).split(os.sep)[0].partition(".")[0], place)


@functools.lru_cache(maxsize=None)
def _records(place):
    """The records of installations that lie in a folder or archive: a line for each file."""
    if os.path.isdir(place) and not any(name.endswith(".dist-info") for name in os.listdir(place)):
        return ()
    from importlib import metadata
    return [d.read_text("RECORD") or "" for d in metadata.distributions(path=[place])]


def _is_recorded(package, place):
    line = re.compile(f"^{re.escape(package)}[/.]", re.M)
    try:
        return any(line.search(record) for record in _records(place))
    except Exception:  # a folder or archive that cannot be read
        return False


def _is_installed(package, place):
    if place == program_folder() and place not in site_folders():
        return False
    if any(place == folder or is_below(place, folder) for folder in site_folders()):
        return True
    # The last two may have lost their records: an egg is one, and old packages of distributions have none.
    return _is_recorded(package, place) or place.endswith((".egg", "site-packages", "dist-packages"))


def _owner_of_module(package, path):
    found = _find(package, path)
    if found is None:
        return "user"
    package, place = found
    if package in _LIBRARIES or _is_installed(package, place):
        return package
    return None if is_below(path, STDLIB) else "user"


@functools.lru_cache(maxsize=None)
def _owner(path, module, program):
    if path.startswith("<"):
        return "user" if _is_typed(path) else None
    package = (program or module).partition(".")[0]
    if package in _LIBRARIES:
        return package
    owner = _owner_of_module(package, absolute(path))
    return owner if module not in PROGRAM or program and owner is None else "user"


def owner_of(path, scope):
    """Whose code it is.

    Args:
        path: the code's file, as Python calls it
        scope: the globals in which the code runs
    Returns:
        "user", the name of a top-level package, or None for files that calls are followed through
    """
    module = scope.get("__name__")
    module = module if isinstance(module, str) else ""
    # what `python -m` runs keeps its name in its spec alone
    spec = scope.get("__spec__") if module in PROGRAM else None
    return _owner(path, module, getattr(spec, "name", None))
