# SPDX-License-Identifier: Apache-2.0
"""
Traces that lie elsewhere: paths with a scheme, as s3://bucket/run, by fsspec.

The library asks for pieces of files, forwards. Each file is open once; fsspec reads ahead of what is asked for, some
megabytes, and nothing is copied to this machine.
"""

import collections
import ctypes as c
import threading
from typing import Any, Callable, Dict, Optional, Tuple

MAX_OPEN = 32  # files, each with what was read ahead
BLOCK = 4 << 20  # bytes of one request

_lock = threading.Lock()
_open: "collections.OrderedDict[str, Tuple[threading.Lock, Any]]" = collections.OrderedDict()
_sizes: Dict[str, int] = {}
_reason: Optional[BaseException] = None  # of the last failure


def is_remote(path: Any) -> bool:
    text = path.decode(errors="replace") if isinstance(path, bytes) else str(path)
    scheme, colon, _ = text.partition("://")
    return bool(colon) and len(scheme) > 1 and all(x.isalnum() or x in "+-." for x in scheme)


def take_reason() -> Optional[BaseException]:
    """Why the last request failed, once."""
    global _reason
    reason, _reason = _reason, None
    return reason


def prepare() -> None:
    """Before a call with such a path: what was known of files is forgotten, as they may have changed since."""
    try:
        import fsspec  # noqa: F401
    except ImportError as e:
        raise ImportError("paths with a scheme need fsspec and the package of the scheme: pip install s3fs (s3://), gcsfs (gs://)") from e
    with _lock:
        files = list(_open.values())
        _open.clear()
        _sizes.clear()
    for lock, file in files:
        with lock:
            file.close()


def _filesystem(path: str) -> Tuple[Any, str]:
    import fsspec

    return fsspec.core.url_to_fs(path)


def _names(path: str) -> bytes:
    filesystem, inner = _filesystem(path)
    filesystem.invalidate_cache()
    if not filesystem.isdir(inner):
        raise FileNotFoundError(path)
    names = (entry["name"].rstrip("/").rpartition("/")[2] for entry in filesystem.ls(inner, detail=True))
    return b"".join(name.encode() + b"\n" for name in names if name)


def _size(path: str) -> int:
    with _lock:
        known = _sizes.get(path)
    if known is None:
        filesystem, inner = _filesystem(path)
        known = int(filesystem.size(inner))
        with _lock:
            _sizes[path] = known
    return known


def _file(path: str) -> Tuple[threading.Lock, Any]:
    with _lock:
        if path in _open:
            _open.move_to_end(path)
            return _open[path]
    filesystem, inner = _filesystem(path)
    opened = (threading.Lock(), filesystem.open(inner, "rb", block_size=BLOCK))
    with _lock:
        entry = _open.setdefault(path, opened)
        unused = _open.popitem(last=False)[1] if len(_open) > MAX_OPEN else None
    if unused:
        with unused[0]:
            unused[1].close()
    return entry


def _read(path: str, at: int, size: int) -> bytes:
    while True:
        lock, file = _file(path)
        with lock:
            if not file.closed:
                file.seek(at)
                return bytes(file.read(size))


# ---- what the library calls ---------------------------------------------------------------------------------------------


def _guarded(function: Callable[..., int]) -> Callable[..., int]:
    def call(_: Any, *arguments: Any) -> int:
        global _reason
        try:
            return function(*arguments)
        except Exception as e:  # nothing may pass through C
            _reason = e
            return -1

    return call


def _list_for_c(path: bytes, names: Optional[int], size: int) -> int:
    try:
        text = _names(path.decode())
    except FileNotFoundError:
        return -1
    if names and size:
        c.memmove(names, text, min(size, len(text)))
    return len(text)


def _size_for_c(path: bytes) -> int:
    try:
        return _size(path.decode())
    except (FileNotFoundError, IsADirectoryError):
        return -1


def _read_for_c(path: bytes, at: int, data: int, size: int) -> int:
    piece = _read(path.decode(), at, size)
    c.memmove(data, piece, len(piece))
    return len(piece)


_LIST = c.CFUNCTYPE(c.c_int64, c.c_void_p, c.c_char_p, c.c_void_p, c.c_size_t)
_SIZE = c.CFUNCTYPE(c.c_int64, c.c_void_p, c.c_char_p)
_READ = c.CFUNCTYPE(c.c_int64, c.c_void_p, c.c_char_p, c.c_uint64, c.c_void_p, c.c_size_t)


class Remote(c.Structure):
    _name_ = "tc_remote"
    _fields_ = [("list", _LIST), ("size", _SIZE), ("read", _READ), ("context", c.c_void_p)]


FUNCTIONS = Remote(list=_LIST(_guarded(_list_for_c)), size=_SIZE(_guarded(_size_for_c)), read=_READ(_guarded(_read_for_c)))
