# SPDX-License-Identifier: Apache-2.0
"""What the lines of a script, or of a notebook's cell, will make or make again: read from their bytecode."""
import dis
import inspect
import types

_JUMPS = {*dis.hasjrel, *dis.hasjabs}


def _loops(instructions):
    """(first, last) offset of what is between a jump back and where it goes to."""
    return [(i.argval, i.offset) for i in instructions if i.opcode in _JUMPS and i.argval <= i.offset]


def names(code):
    """Names that are bound in a loop, as often as it turns."""
    instructions = list(dis.get_instructions(code))
    loops = _loops(instructions)
    return {i.argval for i in instructions if i.opname in ("STORE_NAME", "STORE_GLOBAL")
            and any(first <= i.offset <= last for first, last in loops)}


def _functions_of(code):
    """Codes of the functions that a def, a lambda or a class makes."""
    if not code.co_flags & inspect.CO_OPTIMIZED:  # the body of a class
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                yield from _functions_of(const)
    elif code.co_name == "<lambda>" or not code.co_name.startswith("<"):  # no comprehension
        yield code


def to_come(code, at):
    """Codes of the functions that are made behind an offset, or in a loop that is open there."""
    instructions = list(dis.get_instructions(code))
    loops = [(first, last) for first, last in _loops(instructions) if last >= at]
    for i in instructions:
        if isinstance(i.argval, types.CodeType) and (i.offset > at or any(first <= i.offset <= last for first, last in loops)):
            yield from _functions_of(i.argval)
