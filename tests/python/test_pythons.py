# SPDX-License-Identifier: Apache-2.0
"""A small package without torch, traced by one Python of the build: nothing lost, nothing changed."""
import collections
import os
import pathlib
import shutil
import subprocess
import textwrap
import unittest

from traced import BIN, Case, PYTHON

PACKAGE = {
    "shop/__init__.py": """
        from .prices import gross
        from ._store import counts, Till

        def total(n, *, rate=2):
            counts["shop.total"] += 1
            return sum(gross(i, rate) for i in range(n))

        def busy(n):
            counts["shop.busy"] += 1
            for i in range(n):
                gross(i)

        def broken():
            counts["shop.broken"] += 1
            raise KeyError("no such thing")

        def deep(n):
            counts["shop.deep"] += n == 3  # only the outermost call is an event
            return n and deep(n - 1)
    """,
    "shop/prices.py": """
        from ._store import counts, _secret

        def gross(net, rate=1):
            counts["shop.prices.gross"] += 1
            return _secret(net) * rate
    """,
    "shop/_store.py": """
        import collections
        counts = collections.Counter()

        def _secret(x):
            return x

        class Till:
            def __init__(self):
                self.held = 0
            def put(self, x):
                counts["shop.Till.put"] += 1
                self.held += x
                return self
            @staticmethod
            def zero():
                counts["shop.Till.zero"] += 1
                return 0
            @classmethod
            def make(cls):
                counts["shop.Till.make"] += 1
                return cls()
    """,
}

SCRIPT = """
    import json, os, sys, threading
    import shop
    shop.total(3), shop.busy(10000), shop.deep(3), shop.Till.zero()
    till = shop.Till.make()
    for i in range(10000):
        till.put(i)
    try:
        shop.broken()
    except KeyError:
        pass
    threads = [threading.Thread(target=shop.busy, args=(500,)) for _ in range(3)]
    [t.start() for t in threads], [t.join() for t in threads]
    print(json.dumps(shop.counts), till.held, sys.argv[1:], __file__, __name__, sys.version_info[:2])
    sys.exit(3)
"""

# Objects that fail where they are looked at as one usually would, and values that JSON has no word for.
ODD = r"""
import odd, sys
class Meta(type):
    @property
    def __module__(cls): raise RuntimeError("meta")
class WithMeta(metaclass=Meta): pass
class Attr:
    def __getattr__(self, name): raise RuntimeError(name)
    def __eq__(self, other): raise RuntimeError("eq")
    __hash__ = None
class Dict:
    @property
    def __dict__(self): raise RuntimeError("dict")
class Int(int):
    def __int__(self): raise RuntimeError("int")
    def __index__(self): raise RuntimeError("index")
class Str(str):
    def __str__(self): raise RuntimeError("str")
class List(list):
    def __len__(self): raise RuntimeError("len")
    def __iter__(self): raise RuntimeError("iter")
class Slots: __slots__ = ("a",)
class Map(dict):
    def items(self): raise RuntimeError("items")
class Broken(Exception):
    def __str__(self): raise RuntimeError("str")
inside = []; inside.append(inside)
deep = []
for _ in range(10000): deep = [deep]
VALUES = [Int(3), Str("s"), List([1]), Map(a=1), 1 << 60, -(1 << 53), float("-inf"), {1: 2, None: 3, 1 << 80: 4}, "\ud800", inside, deep,
          WithMeta(), WithMeta, Attr(), Dict(), Slots(), Ellipsis, b"bytes", type, sys, object(), {1, 2}, range(3), (i for i in ()), 1j, lambda: 0]
for value in VALUES:
    odd.take(value); odd.take(name=value)
odd.take(**{"\ud800": 1, "a\"b": 2})
try: odd.fail(Broken())
except Broken: print("done")
"""


VERSION = tuple(map(int, subprocess.run([PYTHON, "-c", "import sys; print(*sys.version_info[:2])"], text=True,
                                        capture_output=True, check=True).stdout.split()))


class Package(Case):
    def setUp(self):
        super().setUp()
        for name, text in PACKAGE.items():
            path = self.work / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(text))
        self.env = {"PYTHONDONTWRITEBYTECODE": "1"}

    def run_both(self, text, *args):
        script = self.script(text)
        plain = self.execute([PYTHON, script, *args], None, self.env)
        traced = self.collect("--instrument", "shop", script, *args, env=self.env)
        self.assertEqual((traced.code, traced.out, traced.err), (plain.code, plain.out, plain.err))
        return traced

    def counts(self, records):
        return collections.Counter(r["fn"] for r in records if r["type"] == "call")

    def test_each_call_is_an_event(self):
        run = self.run_both(SCRIPT, "--flag", "a b")
        self.assertEqual(run.code, 3)
        records = run.records()
        # two and a half loops of 10,000: 10000 + 3 * 500 + 3 of total
        self.assertEqual(self.counts(records), {
            "shop.total": 1, "shop.busy": 4, "shop.prices.gross": 11503, "shop.deep": 1,
            "shop.Till.zero": 1, "shop.Till.make": 1, "shop.Till.put": 10000, "shop.broken": 1})
        ends = collections.Counter(r["id"] for r in records if r["type"] in ("return", "raise"))
        self.assertEqual(set(ends.values()), {1})
        self.assertEqual(len(ends), 21512)
        version = subprocess.run([PYTHON, "-c", "import platform; print(platform.python_version())"],
                                 capture_output=True, text=True).stdout.strip()
        self.assertEqual(records[0]["python"], version)
        self.assertNotIn("nothing was traced", run.said)
        self.assertEqual([r for r in records if r["type"] == "note"], [])

    def test_what_is_recorded_of_a_call(self):
        run = self.run_both("import shop\nshop.total(1)\ntry: shop.broken()\nexcept KeyError: pass\n")
        of = {r["fn"]: r for r in run.records() if r["type"] == "call"}
        self.assertEqual(of["shop.total"]["args"], {"n": 1, "rate": 2})
        self.assertEqual((of["shop.total"]["at"], of["shop.total"]["by"]), ("script.py:2", "user"))
        self.assertEqual(of["shop.prices.gross"]["parent"], of["shop.total"]["id"])
        self.assertEqual(of["shop.prices.gross"]["args"], {"net": 0, "rate": 2})
        raised = [r for r in run.records() if r["type"] == "raise"]
        self.assertEqual([(r["exc"], r["msg"]) for r in raised], [("KeyError", "no such thing")])

    def test_code_of_another_magic_number_is_compiled_anew(self):
        """The build compiles what the agent runs. Only that code has comments where Python leaves them out."""
        script = self.script("import shop, sys\nshop.total(2)\nprint(sys.modules['traincheck_agent.settings'].__doc__)\n")
        env = {**self.env, "PYTHONOPTIMIZE": "2"}
        magic = subprocess.run([PYTHON, "-c", "import importlib.util as u, sys; sys.stdout.buffer.write(u.MAGIC_NUMBER)"],
                               capture_output=True, check=True).stdout
        shutil.copytree(BIN.parent / "lib" / "traincheck", self.work / "lib" / "traincheck")
        (self.work / "bin").mkdir()
        copy = shutil.copy(BIN / "traincheck-collect", self.work / "bin")
        agent = self.work / "lib" / "traincheck" / "traincheck_agent.cpython-{}{}.so".format(*VERSION)
        agent.write_bytes(agent.read_bytes().replace(magic, bytes([magic[0] ^ 1]) + magic[1:]))
        counts = []
        for collector, comment in (BIN / "traincheck-collect", "What the collector asked for, "), (copy, "None"):
            run = self.execute([collector, "--python", PYTHON, "-o", self.work / "trace", "--overwrite", "--instrument", "shop", script],
                               self.work / "trace", env)
            self.assertEqual((run.code, run.err, run.out[:len(comment)]), (0, "", comment))
            counts.append(self.counts(run.records()))
        self.assertEqual(counts, [{"shop.total": 1, "shop.prices.gross": 2}] * 2)

    def test_objects_keep_their_number(self):
        """Each version of Python keeps weak references elsewhere."""
        run = self.run_both("""
            import shop
            class Own(shop.Till): pass
            one, two, own = shop.Till(), shop.Till(), Own()
            for till in (one, two, own, one): till.put(1)
        """)
        ids = [call["self"].get("id") for call in self.calls(run, fn="shop.Till.put")]
        self.assertNotIn(None, ids)
        self.assertEqual((len(set(ids)), ids[0]), (3, ids[3]))

    def test_a_number_is_given_once(self):
        """When an object in a cycle goes, and who gets its memory next, each version of Python decides anew."""
        run = self.run_both("""
            import gc, shop
            for i in range(300):
                till = shop.Till()
                till.me = till
                till.put(1)
                if i % 100 == 99: gc.collect()
        """)
        ids = [call["self"]["id"] for call in self.calls(run, fn="shop.Till.put")]
        self.assertEqual((len(ids), len(set(ids))), (300, 300))

    def test_code_that_is_compiled_while_it_runs(self):
        """The compiler of Python 3.13 and newer, where it is built in; others do not know the variable."""
        self.env["PYTHON_JIT"] = "1"
        run = self.run_both("import shop\ntill = shop.Till()\nfor i in range(20000): till.put(i)\nshop.busy(20000)\n")
        self.assertEqual(self.counts(run.records()), {"shop.Till.put": 20000, "shop.busy": 1, "shop.prices.gross": 20000})

    @unittest.skipIf(VERSION < (3, 14), "of Python 3.14")
    def test_interpreters_of_the_library(self):
        """Only the first one of a process is traced; the others run as ever."""
        run = self.run_both("""
            import shop
            from concurrent import interpreters
            from concurrent.futures import InterpreterPoolExecutor
            second = interpreters.create()
            second.exec("import shop; shop.total(3); print('second', flush=True)")
            second.close()
            shop.total(1)
            with InterpreterPoolExecutor(2) as pool: print(list(pool.map(abs, [-1, -2])))
            shop.total(1)
        """)
        self.assertEqual(self.counts(run.records()), {"shop.total": 2, "shop.prices.gross": 2})

    @unittest.skipIf(VERSION < (3, 14), "of Python 3.14")
    def test_a_debugger_that_comes_later(self):
        """It runs code in the process where it likes; only what may trace the process may do so."""
        self.script("import shop; print('debugger', shop.prices.gross(5))", "debugger.py")
        run = self.run_both("""
            import os, pathlib, sys
            import shop
            try:
                sys.remote_exec(os.getpid(), str(pathlib.Path("debugger.py").absolute()))
            except PermissionError:
                print("debugger 5")
            for i in range(100): shop.total(1)
        """)
        self.assertEqual((run.out, self.counts(run.records())["shop.total"]), ("debugger 5\n", 100))
        self.assert_no_errors(run)

    @unittest.skipIf(VERSION < (3, 14), "of Python 3.14")
    def test_values_of_3_14(self):
        self.script("def take(*values): return len(values)", "odd.py")
        run = self.collect("--instrument", "odd", self.script("""
            import functools, odd
            class Own: first = functools.partial(odd.take, 1)
            n = 3
            print(odd.take(t"a {n}"), Own().first())
        """), env=self.env)
        self.assertEqual((run.code, run.out, run.err), (0, "1 2\n", ""))
        self.assert_no_errors(run)
        self.assertEqual([[v.get("object", v) if isinstance(v, dict) else v for v in call["args"].values()]
                          for call in self.calls(run, fn="odd.take")],
                         [["string.templatelib.Template"], [1, "__main__.Own"]])

    @unittest.skipIf(VERSION < (3, 15), "of Python 3.15")
    def test_values_of_3_15(self):
        self.script("def take(*values): pass", "odd.py")
        run = self.collect("--instrument", "odd", self.script("""
            import odd
            class Own(frozendict): pass
            odd.take(frozendict(a=1, b=(2, 3)), Own({4: frozendict()}), sentinel("NOTHING"))
        """), env=self.env)
        self.assertEqual((run.code, run.out, run.err), (0, "", ""))
        self.assert_no_errors(run)
        first, own, nothing = self.calls(run, fn="odd.take")[0]["args"].values()
        self.assertEqual((first, own), ({"dict": {"a": 1, "b": [2, 3]}}, {"dict": {"4": {"dict": {}}}}))
        self.assertEqual(nothing["object"], "sentinel")

    def test_annotations_that_cannot_be_evaluated(self):
        """From Python 3.14 on they need not be, before by a future statement; each evaluation would print."""
        future = "" if VERSION >= (3, 14) else "from __future__ import annotations\n"
        self.script(f"{future}def take(n: Nowhere, m: print('evaluated') = 2) -> Nothing: return n\n", "noted.py")
        run = self.collect("--instrument", "noted", self.script("import noted; noted.take(1)"), env=self.env)
        self.assertEqual((run.code, run.out, run.err), (0, "", ""))
        self.assert_no_errors(run)
        self.assertEqual([call["args"] for call in self.calls(run, fn="noted.take")], [{"n": 1, "m": 2}])

    @unittest.skipIf(VERSION < (3, 15), "the statement is of Python 3.15")
    def test_a_lazy_import(self):
        run = self.run_both("lazy import shop\nprint('no import yet')\nshop.total(2)\n")
        self.assertEqual(self.counts(run.records()), {"shop.total": 1, "shop.prices.gross": 2})

    def test_values_that_are_hard_to_read(self):
        self.script("def take(*values, **named): return None\ndef fail(error): raise error\n", "odd.py")
        run = self.collect("--instrument", "odd", self.script(ODD), env=self.env)
        self.assertEqual((run.code, run.out, run.err), (0, "done\n", ""))
        self.assert_no_errors(run)
        taken = self.calls(run, fn="odd.take")
        self.assertEqual(len(taken), 2 * 26 + 1)
        self.assertEqual([call["args"].get("0") for call in taken[:18:2]],
                         [3, "s", [1], {"dict": {"a": 1}}, {"int": str(1 << 60)}, -(1 << 53), {"float": "-inf"},
                          {"dict": {"1": 2, "<NoneType>": 3, "<int>": 4}}, "?"])
        self.assertEqual([r["exc"] for r in run.records() if r["type"] == "raise"], ["Broken"])

    def test_threads_meet_at_the_first_call(self):
        """One of them opens the file, the others wait for it."""
        run = self.run_both("""
            import threading, shop
            barrier = threading.Barrier(8)
            def work():
                barrier.wait()
                shop.busy(20)
            threads = [threading.Thread(target=work) for _ in range(8)]
            [t.start() for t in threads], [t.join() for t in threads]
        """)
        self.assertEqual(len(run.files()), 1)
        self.assertEqual(self.counts(run.records()), {"shop.busy": 8, "shop.prices.gross": 160})

    def test_processes(self):
        run = self.run_both("""
            import concurrent.futures, multiprocessing, os, subprocess, sys
            import shop
            def work(n):
                shop.busy(n)
            if __name__ == "__main__":
                shop.busy(1)
                for method, n in (("fork", 2), ("spawn", 3), ("forkserver", 4), (None, 7)):
                    p = multiprocessing.get_context(method).Process(target=work, args=(n,))
                    p.start(), p.join()
                with concurrent.futures.ProcessPoolExecutor(1) as pool:
                    pool.submit(work, 8).result()
                subprocess.run([sys.executable, "-c", "import shop; shop.busy(5)"], check=True)
                if os.fork() == 0:
                    os.execv(sys.executable, [sys.executable, "-c", "import shop; shop.busy(6)"])
                os.wait()
        """)
        # 1 to 8 calls, each in a process of its own; the last two are made as this Python makes processes unless told
        self.assertEqual(sorted(self.counts(run.records(f))["shop.prices.gross"] for f in run.files()),
                         [1, 2, 3, 4, 5, 6, 7, 8])

    def test_a_command(self):
        script = self.script("import shop; shop.total(2)")
        run = self.collect("--instrument", "shop", "--", PYTHON, script, env=self.env)
        self.assertEqual((run.code, run.out, run.err), (0, "", ""))
        self.assertEqual(self.counts(run.records()), {"shop.total": 1, "shop.prices.gross": 2})

    def test_an_interpreter_without_a_shared_library(self):
        """Asked by the collector it denies having one, as Debian's without libpython3.x does."""
        denying = self.work / "python"
        denying.write_text(f"""#!/bin/sh
            case $1 in -I) '{PYTHON}' "$@" | sed '2s|.*|{denying}|;3s/.*//';; *) exec '{PYTHON}' "$@";; esac
        """)
        denying.chmod(0o755)
        script = self.script("import shop, sys; shop.total(2); print(sys.argv); sys.exit(4)")
        options = ["--instrument", "shop"]
        run = self.collect(*options, script, "a", python=denying, env=self.env)
        self.assertEqual((run.code, run.out, run.err), (4, f"['{script}', 'a']\n", ""))
        self.assertIn("(injected: this Python has no shared library)", run.said)
        self.assertEqual(self.counts(run.records()), {"shop.total": 1, "shop.prices.gross": 2})
        self.assertEqual(run.records()[-1]["exit"], 4)
        strict = self.collect(*options, "--strict", script, python=denying, folder="b", env=self.env)
        self.assertEqual((strict.code, len(strict.records())), (4, len(run.records())))


if __name__ == "__main__":
    unittest.main()
