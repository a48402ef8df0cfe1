# SPDX-License-Identifier: Apache-2.0
"""Where Python chose what a line of the script computes with: an index, a length, a factor, a group, an optimizer, which
of two tensors.

An operator does not show what its numbers were made of. The names that its line reads lead there: to the lines of the
function that give them their values, and for those of `self` to the lines of its class."""
import dis
import sys

from . import plan_lines

_MOST = 3
_COMPUTES = ("CALL", "BINARY_OP", "BINARY_ADD", "BINARY_MULTIPLY", "BINARY_TRUE", "BINARY_MATRIX", "UNARY_NEGATIVE")
_READS = {}  # code -> {line: names that it reads, those of self as ".name"}
_STORES = {}  # code -> {name: lines}
_PLAIN = {}  # code -> lines that only give a value another name, or take one of several
_MEMBERS = {}  # (class, name) -> lines


def _instructions(code):
    """(operation, name, line) of each; of those that are two in one, as from CPython 3.13 on, both."""
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        positions = getattr(step, "positions", None)
        if positions is not None:
            line = positions.lineno or line
        elif step.starts_line:
            line = step.starts_line
        kind = "BINARY_SUBSCR" if step.opname == "BINARY_OP" and step.argrepr == "[]" else step.opname
        if isinstance(step.argval, tuple) and "_FAST" in kind:
            for part, name in zip([word for word in kind.split("_") if word in ("LOAD", "STORE")], step.argval):
                yield part + "_FAST", name, line
        else:
            yield kind, step.argval, line


def _read(code):
    """Both tables of a function. What a loop counts is no choice, nor is what it runs over."""
    reads, stores, busy, picked, owner, last, in_loop = {}, {}, set(), set(), None, "", False
    for kind, name, line in _instructions(code):
        if kind.startswith(("LOAD_FAST", "LOAD_DEREF")):
            reads.setdefault(line, []).append(name)
        elif kind in ("LOAD_ATTR", "LOAD_METHOD") and owner == "self":
            reads.setdefault(line, []).append(f".{name}")
        elif kind in ("STORE_FAST", "STORE_DEREF") and not in_loop:
            stores.setdefault(name, []).append(line)
        elif kind == "STORE_ATTR" and owner == "self":
            stores.setdefault(f".{name}", []).append(line)
        if kind.startswith("STORE_") and last in ("BINARY_SUBSCR", "BINARY_SLICE"):
            picked.add(line)
        if kind.startswith(_COMPUTES):
            busy.add(line)
        in_loop = kind == "FOR_ITER" or (in_loop and kind.startswith(("UNPACK_", "STORE_")))
        owner, last = name if kind.startswith("LOAD_FAST") else None, kind
    _READS[code], _STORES[code] = reads, stores
    _PLAIN[code] = {line for lines in stores.values() for line in lines} - busy | picked


def _tables(code):
    if code not in _READS:
        _read(code)
    return _READS[code], _STORES[code]


def _is_choice(value):
    """Is it a number, a group of ranks, an optimizer, or some of these?"""
    if isinstance(value, (int, float, slice, range)):
        return True
    if isinstance(value, (list, tuple)):
        return 0 < len(value) < 64 and all(isinstance(part, (int, slice)) for part in value)
    torch = sys.modules["torch"]
    kinds = (torch.optim.Optimizer, getattr(torch.distributed, "ProcessGroup", torch.optim.Optimizer))
    return isinstance(value, kinds)


def _members(owner, name):
    """Lines of the classes of the script that give a member its value."""
    kind = type(owner)
    if (kind, name) not in _MEMBERS:
        lines = []
        for function in [f for base in kind.__mro__ for f in vars(base).values()]:
            code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
            if code is not None and plan_lines.is_script(code):
                lines += [_line(code, line) for line in _tables(code)[1].get("." + name, ())]
        _MEMBERS[kind, name] = lines[:1]
    return _MEMBERS[kind, name]


def _line(code, line):
    return f"{plan_lines.shown(code.co_filename)}:{line}"


def _function(frame):
    """That in which a comprehension stands."""
    while frame.f_code.co_name in ("<listcomp>", "<genexpr>", "<setcomp>", "<dictcomp>") and frame.f_back is not None \
            and frame.f_back.f_code.co_filename == frame.f_code.co_filename:
        frame = frame.f_back
    return frame


def chosen(frame):
    """Lines that gave their values to the numbers, groups and optimizers that the line of the frame reads."""
    if frame is None:
        return ()
    names = _tables(frame.f_code)[0].get(frame.f_lineno, [])
    frame = _function(frame)
    code, found = frame.f_code, {}
    reads, stores = _tables(code)
    names = dict.fromkeys([*names, *reads.get(frame.f_lineno, ())])
    values = frame.f_locals if names else {}
    for name in names:
        if name.startswith("."):
            owner = values.get("self")
            if _is_choice(getattr(owner, "__dict__", {}).get(name[1:])):
                found.update(dict.fromkeys(_members(owner, name[1:])))
            continue
        lines = [line for line in stores.get(name, ()) if line < frame.f_lineno]
        is_other_name = lines and lines[-1] in _PLAIN[code] and isinstance(values.get(name), sys.modules["torch"].Tensor)
        if lines and (is_other_name or _is_choice(values.get(name))):
            found[_line(code, lines[-1])] = None
    return tuple(found)[:_MOST]
