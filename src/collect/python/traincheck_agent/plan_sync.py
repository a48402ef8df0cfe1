# SPDX-License-Identifier: Apache-2.0
"""Why DistributedDataParallel sums no gradients in a step: it was not called, or called within no_sync()."""
import ast
import linecache
import sys

from . import plan_lines


def _here(in_module):
    """("script.py:12", its file, its line) of the script's line that runs now; ("", "", 0) if there is none."""
    text, frame = plan_lines.current(sys._getframe(1), False, in_module)
    return (text.partition(",")[0], frame.f_code.co_filename, frame.f_lineno) if text else ("", "", 0)


def _condition(text, file, line):
    """Of such a place: the line of the condition below which it stands; "" if there is none."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ""
    found = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.If)
             and node.body[0].lineno <= line <= (node.orelse or node.body)[-1].end_lineno]
    return f"{text.rpartition(':')[0]}:{max(found)}" if found else ""


class Sync:
    def __init__(self):
        self.wrappers, self.wrapped = set(), set()  # ids
        self.made = ("", "", 0)  # the place that called no_sync() last
        self.why, self.by = "", ("", "", 0)  # of the last call with gradients, and the no_sync() that it was within

    def start(self):
        kind = sys.modules["torch"].nn.parallel.DistributedDataParallel
        plain = kind.no_sync

        def no_sync(wrapper):
            self.made = _here(False)
            return plain(wrapper)
        kind.no_sync = no_sync

    def begin(self, wrappers):
        self.wrappers = {id(w) for w in wrappers}
        self.wrapped = {id(m) for w in wrappers for m in w.module.modules()} - self.wrappers
        self.why, self.by = "", ("", "", 0)

    def called(self, module, within):
        """within: ids of the modules that are being called."""
        if not self.wrappers or not sys.modules["torch"].is_grad_enabled():
            return
        if id(module) in self.wrappers:
            self.why, self.by = "", ("", "", 0)
            if not module.require_backward_grad_sync:
                self.why, self.by = f"is called within no_sync() at {_here(bool(within))[0]}", self.made
        elif id(module) in self.wrapped and not any(m in self.wrappers or m in self.wrapped for m in within):
            self.why, self.by = f"is not what is called at {_here(bool(within))[0]}", ("", "", 0)

    def reason(self):
        """A clause; "" if nothing is known that keeps it from summing."""
        if not self.why:
            return ""
        made, condition = self.by[0], _condition(*self.by) if self.by[0] else ""
        return (f"DistributedDataParallel, which sums it, {self.why}" + f", made at {made}" * bool(made)
                + f", by the condition at {condition}" * bool(condition))
