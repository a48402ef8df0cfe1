# SPDX-License-Identifier: Apache-2.0
"""No call of a hot loop is lost; run in every Python that the build has an agent for, without torch.

Specialised bytecode calls some callables past their slot once a loop is hot: each calling convention
of C, and Python functions, are called ten thousand times by an instruction of their own.
"""
import unittest

from traced import Case

N = 10000

MODULE = """
import collections, math, time
def one(x): return x
def defaults(x, y=1, *, z=2): return x
def rest(*args, **more): return None
class Thing:
    def method(self): return self
    @staticmethod
    def static(x): return x
    @classmethod
    def of_class(cls): return cls
method, static, of_class = Thing.method, Thing.static, Thing.of_class
clock, sqrt, hypot, isclose = time.monotonic_ns, math.sqrt, math.hypot, math.isclose
append, pop, rotate, count, split = (collections.deque.append, collections.deque.pop, collections.deque.rotate,
                                     str.count, str.split)
index, insert, fromkeys = list.index, collections.deque.insert, dict.__dict__["fromkeys"]
"""

# name in the module, statement. What follows a name is its calling convention.
LOOPS = (
    ("one", "hot.one(1)"), ("defaults", "hot.defaults(1, z=3)"), ("rest", "hot.rest(1, a=2)"),
    ("method", "thing.method()"), ("static", "thing.static(1)"), ("of_class", "thing.of_class()"),
    ("clock", "hot.clock()"),            # no arguments
    ("sqrt", "hot.sqrt(2.0)"),           # one argument
    ("hypot", "hot.hypot(3.0, 4.0)"),    # an array of arguments
    ("isclose", "hot.isclose(1.0, 1.0, rel_tol=0.1)"),  # an array, and names
    ("append", "queue.append(1)"),       # of a descriptor: one argument
    ("pop", "queue.pop()"),              # no arguments
    ("rotate", "queue.rotate(1)"),       # an array
    ("count", "'abc'.count('b')"),       # a tuple, in older versions
    ("split", "'a b'.split(sep=' ')"),   # an array, and names
    ("index", "bound_index(1)"),         # bound before it is called
    ("insert", "getattr(queue, 'insert')(0, 1)"),
    ("fromkeys", "dict.fromkeys('ab')"), # a class method of a C type
)

SCRIPT = "import hot, collections\nthing = hot.Thing()\nqueue = collections.deque([0])\nbound_index = [1].index\n" + "".join(
    f"def loop_{name}():\n    for i in range({N}): {statement}\n" for name, statement in LOOPS
) + "".join(f"loop_{name}()\n" for name, _ in LOOPS)


class Loops(Case):
    def test_every_call_of_every_kind(self):
        self.script(MODULE, "hot.py")
        apis = self.work / "apis"
        apis.write_text("".join(f"hot.{name}\n" for name, _ in LOOPS))
        run = self.collect("--apis", apis, self.script(SCRIPT))
        self.assertEqual((run.code, run.err), (0, ""))
        self.assert_no_errors(run)
        made = {}
        for r in run.records():
            if r["type"] == "call":
                made[r["fn"]] = made.get(r["fn"], 0) + 1
        self.assertEqual(made, {f"hot.{name}": N for name, _ in LOOPS})
        self.assertEqual(sum(r["type"] == "return" for r in run.records()), N * len(LOOPS))


if __name__ == "__main__":
    unittest.main()
