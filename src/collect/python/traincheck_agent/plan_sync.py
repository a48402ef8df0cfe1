# SPDX-License-Identifier: Apache-2.0
"""Why DistributedDataParallel sums no gradients in a step: it was not called, or called within no_sync()."""
import ast
import gc
import linecache
import sys


def _condition(place):
    """The line of the condition below which the line stands, of "script.py:12" as the frame has it; "" if there is none."""
    frame = sys._getframe(2)
    while frame is not None and not f"{frame.f_code.co_filename}:{frame.f_lineno}".endswith(place):
        frame = frame.f_back
    if frame is None:
        return ""
    try:
        tree = ast.parse("".join(linecache.getlines(frame.f_code.co_filename)))
    except SyntaxError:
        return ""
    found = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.If)
             and node.body[0].lineno <= frame.f_lineno <= (node.orelse or node.body)[-1].end_lineno]
    return f"{place.rpartition(':')[0]}:{max(found)}" if found else ""


class Sync:
    def __init__(self, place):
        """place: returns the line of the script that runs now."""
        self.place, self.wrappers, self.wrapped = place, set(), set()
        self.made = ""  # the line that called no_sync() last
        self.why = ""  # of the last call with gradients

    def start(self):
        kind = sys.modules["torch"].nn.parallel.DistributedDataParallel
        plain = kind.no_sync

        def no_sync(wrapper):
            place = self.place()
            condition = _condition(place)
            self.made = f"{place}, by the condition at {condition}" if condition else place
            return plain(wrapper)
        kind.no_sync = no_sync

    def begin(self):
        kind = sys.modules["torch"].nn.parallel.DistributedDataParallel
        found = [w for w in gc.get_objects() if issubclass(type(w), kind) and "module" in w.__dict__.get("_modules", ())]
        self.wrappers = {id(w) for w in found}
        self.wrapped = {id(m) for w in found for m in w.module.modules()} - self.wrappers
        self.why = ""

    def called(self, module, within):
        """within: ids of the modules that are being called."""
        if not self.wrappers or not sys.modules["torch"].is_grad_enabled():
            return
        if id(module) in self.wrappers:
            self.why = "" if module.require_backward_grad_sync else (
                f"DistributedDataParallel, which sums it, is called within no_sync() at {self.place()}, made at {self.made}")
        elif id(module) in self.wrapped and not any(m in self.wrappers or m in self.wrapped for m in within):
            self.why = f"DistributedDataParallel, which sums it, is not what is called at {self.place()}"
