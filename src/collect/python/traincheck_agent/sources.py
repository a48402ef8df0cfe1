# SPDX-License-Identifier: Apache-2.0
"""The sources of the script: its files, the cells of a notebook, what stands after -c. Each has a record before the first call that
names it."""
import collections
import io
import linecache
import os
import stat
import sys
import tokenize
import zipimport

import _traincheck_agent as agent
from . import masking, named, names, owners, process, settings, unread
from .signature import json_text

_MAX_FILE = 256 << 10  # bytes of a source that has a text
_MAX_ALL = 1 << 20  # bytes of all texts of a process
_MAX_KEPT = 4 << 20  # bytes of sources that have been read, and are not told yet

# digest: "" if nothing could be read; content: bytes, None of a large one
_Source = collections.namedtuple("_Source", "digest size lines content")

_UNKNOWN = _Source("", None, None, None)

_kept = {}  # absolute path: (what calls will name it, its module, its source)
_early = set()  # absolute paths of what was told before any call
_stamps = {}  # absolute path of what was told: the file's size, time and number
_told = set()  # (what calls name it, digest)
_n_kept = _n_bytes = _n_without = 0


def is_on():
    return settings.flag("sources")


def _source(content):
    data = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    return _Source(f"{agent.digest(content, None, ()):016x}", len(content), lines, content if len(content) <= _MAX_FILE else None)


def _stamp(path):
    """None where reading would take away what others are to read, as from a pipe."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _read(path):
    try:
        with open(path, "rb") as stream:
            return _source(stream.read())
    except OSError:
        return _UNKNOWN


def _module(scope):
    """As the records of calls name it: a spawned process has the script under another name."""
    name = (scope or {}).get("__name__", owners.PROGRAM[0])
    return owners.PROGRAM[0] if name in owners.PROGRAM or not isinstance(name, str) else name


def keep(path, scope=None):
    """Read a file of the user's before one of its lines has called anything: it may be another then."""
    global _n_kept
    path = owners.absolute(path)
    stamp = _stamp(path) if is_on() and path not in _kept and path not in _stamps else None
    if stamp is None or _n_kept + stamp[0] > _MAX_KEPT:  # a program may be an archive of any size
        return
    source = _read(path)
    _n_kept += len(source.content or b"")
    _kept[path] = names.place_of_file(path, scope)[1] if scope else None, _module(scope), source
    _stamps[path] = stamp


def imported(module):
    """A module of the script's own is there."""
    file = getattr(module, "__file__", None)
    if isinstance(file, str) and file.endswith(".py"):
        keep(file, vars(module))


def start():
    """The script is about to start: its name is the first argument, whatever it is called later."""
    process.at_end.append(note)
    argv = getattr(sys, "argv", None)
    if argv and isinstance(argv[0], str):
        keep(argv[0])


def _take(path):
    """What was kept of a file, which counts once: code that comes later may be of another."""
    global _n_kept
    source = _kept.pop(path)[-1]
    _n_kept -= len(source.content or b"")
    return source


def _of_file(path, scope):
    """None: it is what was told already."""
    if path in _early:
        return _early.remove(path)
    if path in _kept:
        return _take(path)
    stamp = _stamp(path)
    if stamp is not None:
        is_known = _stamps.get(path) == stamp
        _stamps[path] = stamp
        return None if is_known else _read(path)
    loader = scope.get("__loader__")
    try:
        return _source(loader.get_data(path)) if type(loader) is zipimport.zipimporter else _UNKNOWN
    except Exception:  # an archive that went or was written anew
        return _UNKNOWN


def _command_line():
    """With the interpreter's own options, which Python does not tell before 3.10."""
    try:
        with open("/proc/self/cmdline", "rb") as stream:
            return [os.fsdecode(word) for word in stream.read().split(b"\0")[:-1]]
    except OSError:
        return []


def _command():
    """What stands after -c, None if nothing does."""
    words = iter((getattr(sys, "orig_argv", None) or _command_line())[1:])
    for word in words:
        if word[:1] != "-" or word in ("-", "--"):
            return None
        for i, letter in enumerate(word[1:], 2):
            if letter in "cm":
                return (word[i:] or next(words, None)) if letter == "c" else None
            if letter in "WX":
                if not word[i:]:
                    next(words, None)
                break
    return None


def _of_text(name):
    entry = linecache.cache.get(name)  # where IPython puts its cells, and Python from 3.13 on what is typed
    if isinstance(entry, tuple) and len(entry) == 4:
        text = "".join(entry[2])
    else:
        text = _command() if name == "<string>" else None
    return _UNKNOWN if text is None else _source(text.encode("utf-8", "surrogatepass"))


def _decoded(content):
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def _text(source):
    """Its text, if there is room. What cannot be read as Python has none: who knows what is secret there?"""
    global _n_bytes, _n_without
    text = None
    if source.content is not None:
        try:
            text = masking.masked(_decoded(source.content))
        except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
            return None
    size = _MAX_ALL if text is None else len(text.encode())
    if _n_bytes + size > _MAX_ALL or text is None:
        _n_without += 1
        return None
    _n_bytes += size
    return text


def _is_first():
    """Is it the rank that keeps the texts, or of no job? Their digests tell whether the others have run the same."""
    rank = process.rank_and_world()[0]
    return (os.environ.get("RANK", os.environ.get("LOCAL_RANK")) if rank is None else rank) in (None, "0", 0)


def _unread(text, module, at):
    try:
        tree = named.parse(text)
        return unread.find(tree, module) | unread.lines(tree, at)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _put(at, path, source, module):
    if (at, source.digest) in _told:
        return
    _told.add((at, source.digest))
    text = _text(source) if source.digest and _is_first() else None
    record = {"type": "source", "at": at, "path": path, "digest": source.digest, "size": source.size, "lines": source.lines,
              "text": text, "unread": _unread(text, module, at) if text is not None else None}
    agent.put(json_text({key: value for key, value in record.items() if value is not None}) + "\n")


def tell(name, at, scope):
    """A record is about to name a file of the user's for the first time.

    Args:
        name: the code's file, as Python calls it
        at: as the record will
        scope: the globals in which the code runs
    """
    if not is_on():
        return
    if name.startswith("<") or names.cell_of(name):
        return _put(at, None, _of_text(name), _module(scope))
    path = owners.absolute(name)
    source = _of_file(path, scope)
    if source is not None:
        _put(at, path, source, _module(scope))


def tell_kept():
    """Before a fork: workers would each tell what they are the first to call."""
    for path, (at, module, _) in list(_kept.items()) if agent.has_file() else ():
        if at is not None:
            _early.add(path)
            _put(at, path, _take(path), module)


def note():
    """At the end."""
    global _n_without
    if _n_without and agent.has_file():
        agent.note("source", "texts of sources were left out, as they are too large", _n_without)
    _n_without = 0
