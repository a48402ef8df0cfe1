# SPDX-License-Identifier: Apache-2.0
"""The start of a job and what it sees of its process. No torch needed but where it says so."""
import importlib.util
import os
import pathlib
import shutil
import unittest

from traced import BIN, Case, PYTHON, warm_python

HAS_TORCH = importlib.util.find_spec("torch") is not None
TRACED = "import torch; torch.ones(2)\n" if HAS_TORCH else ""


class Seen(Case):
    def test_what_a_script_sees_of_its_process(self):
        text = TRACED + """
import os, signal, sys
print(sys.argv, __file__, sys.path, __name__, os.getcwd(), sys.executable)
print([(s.name, str(signal.getsignal(s))) for s in signal.Signals])
print([type(f) for f in sys.meta_path], len(sys.path_hooks), __spec__, __loader__.__class__)
print(os.open(os.devnull, os.O_RDONLY), open("/proc/self/comm").read())
def f():
    raise ValueError('boom')
f()
"""
        args = "--x", "a b", "-o", "other"
        plain, traced = self.plain(text, *args), self.traced(text, *args)
        self.assertEqual((traced.code, traced.out, traced.err), (plain.code, plain.out, plain.err))
        self.assertIn("in f\n    raise ValueError('boom')", plain.err)
        self.assertTrue(traced.records())


class Starts(Case):
    def test_missing_script(self):
        run = self.collect("nosuch.py")
        self.assertEqual(run.code, 125)
        self.assertIn("nosuch.py", run.said)

    def test_existing_trace_is_refused_and_overwritten(self):
        self.assertEqual(self.traced("print(1)").code, 0)
        other = self.work / "trace" / "notes.txt"
        other.write_text("mine")
        self.assertEqual(self.traced("print(1)").code, 125)
        self.assertEqual(self.traced("print(1)", options=["--overwrite"]).code, 0)
        self.assertEqual(other.read_text(), "mine")

    def test_module(self):
        self.script("import sys; print(__name__, sys.argv[1:])", "mod.py")
        run = self.collect("-m", "mod", "a", "-b")
        self.assertEqual((run.code, run.out), (0, "__main__ ['a', '-b']\n"))

    def test_quiet(self):
        self.assertEqual(self.traced("print(1)", options=["-q"]).said, "")

    def test_verbose(self):
        script = self.script("print(1)")
        for command, way in ([script], "in this process"), (["--", PYTHON, script], "by the agent in PYTHONPATH"):
            run = self.collect("-v", "--overwrite", *command)
            first, second, _ = run.said.splitlines()
            self.assertIn(f", {PYTHON}", first)
            self.assertIn(f"traced {way}, trace in {run.folder}", second)

    def test_without_torch(self):
        run = self.traced("print('alone')")
        self.assertEqual((run.code, run.out), (0, "alone\n"))
        self.assertIn("nothing was traced", run.said)
        self.assertEqual([r["code"] for r in run.records() if r["type"] == "note"], ["no-torch"])


class Interpreter(Case):
    """Links to the test's interpreter stand for those of environments: they print where they lie."""

    def environment(self, name):
        bin_dir = self.work / name / "bin"
        bin_dir.mkdir(parents=True)
        for link in ("python", "python3"):
            (bin_dir / link).symlink_to(PYTHON)
        return bin_dir

    def used(self, *options, tool=BIN / "traincheck-collect", **env):
        script = self.script("import sys; print(sys.executable)")
        env = {"VIRTUAL_ENV": "", "CONDA_PREFIX": "", **env}
        run = self.execute([tool, "-o", self.work / "trace", "--overwrite",
                            *options, script], self.work / "trace", env)
        self.assertEqual(run.code, 0, run.said)
        return pathlib.Path(run.out.strip()).parent

    def test_order(self):
        given, venv, conda, path = (self.environment(n) for n in ("given", "venv", "conda", "path"))
        env = {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
        self.assertEqual(self.used(**env), path)
        env["CONDA_PREFIX"] = str(conda.parent)
        self.assertEqual(self.used(**env), conda)
        env["VIRTUAL_ENV"] = str(venv.parent)
        self.assertEqual(self.used(**env), venv)
        self.assertEqual(self.used("--python", given / "python", **env), given)

    def installed(self, name, *marks):
        """The tool as pip puts it into an environment, whose root has these files."""
        bin_dir = self.environment(name)
        shutil.copy(BIN / "traincheck-collect", bin_dir)
        (bin_dir.parent / "lib").symlink_to(BIN.parent / "lib")
        for mark in marks:
            (bin_dir.parent / mark).touch()
        return bin_dir

    def test_the_environment_of_the_tool(self):
        given, active, path = (self.environment(n) for n in ("given", "active", "path"))
        env = {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "VIRTUAL_ENV": str(active.parent)}
        for mark in ("pyvenv.cfg", "conda-meta"):
            own = self.installed(f"own {mark}", mark)
            link = self.work / f"link to {mark}"
            link.symlink_to(own / "traincheck-collect")
            for tool in (own / "traincheck-collect", link):
                self.assertEqual(self.used(tool=tool, **env), own)
                self.assertEqual(self.used("--python", given / "python", tool=tool, **env), given)
        self.assertEqual(self.used(tool=self.installed("system") / "traincheck-collect", **env), active)

    def test_an_environment_for_the_tool_alone(self):
        active, path = self.environment("active"), self.environment("path")
        env = {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
        for mark in ("pipx_metadata.json", "uv-receipt.toml"):
            tool = self.installed(mark, "pyvenv.cfg", mark) / "traincheck-collect"
            self.assertEqual(self.used(tool=tool, **env), path)
            self.assertEqual(self.used(tool=tool, VIRTUAL_ENV=str(active.parent), **env), active)

    def refused(self, text):
        """What is said when the interpreter answers the collector's question with text."""
        liar = self.work / "python"
        liar.write_text(f"#!/bin/sh\n{text}\n")
        liar.chmod(0o755)
        run = self.collect(self.script("print(1)"), python=liar)
        self.assertEqual((run.code, run.out, run.files()), (125, "", []))
        self.assertEqual(run.said.count("\n"), 1)
        return run.said

    def test_versions_that_cannot_be_traced(self):
        for version in "3.8", "2.7", "3.16", "3.15 free-threaded", "3.10 (pypy)":
            self.assertIn(f"python is Python {version}; CPython 3.9 to 3.15, not free-threaded, can be traced",
                          self.refused(f"echo '{version}'; echo; echo"))

    def test_an_installed_copy_names_the_wheel(self):
        """It has no build folder to speak of, and here no agent either."""
        copy = self.work / "prefix/bin/traincheck-collect"
        copy.parent.mkdir(parents=True)
        shutil.copy(BIN / "traincheck-collect", copy)
        run = self.execute([copy, "-o", "trace", "--python", PYTHON, self.script("print(1)")], None)
        self.assertEqual((run.code, run.out), (125, ""))
        self.assertIn("there are agents for: none; the wheel has one for each of CPython 3.9 to 3.15: "
                      "pip install --upgrade libtraincheck", run.said)
        self.assertNotIn("cmake", run.said)
        (self.work / "prefix/CMakeCache.txt").touch()
        run = self.execute([copy, "-o", "trace", "--python", PYTHON, self.script("print(1)")], None)
        self.assertRegex(run.said, r"to add one: cmake -DTRAINCHECK_PYTHONS=.+ \S+/prefix && cmake --build \S+/prefix\n")

    def test_no_python(self):
        self.assertIn("does not work as a Python 3 interpreter", self.refused("exit 1"))
        self.assertIn("does not answer as Python does", self.refused("true"))
        run = self.collect(self.script("print(1)"), python="/nosuch/python")
        self.assertEqual(run.code, 125)
        self.assertIn("--python", run.said)


class Commands(Case):
    def test_users_own_sitecustomize_is_kept(self):
        folder = self.work / "site"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text("print('custom')\n")
        script = self.script("import sys; print([p for p in sys.path if 'inject' in p])")
        run = self.collect("--", PYTHON, script, env={"PYTHONPATH": str(folder)})
        self.assertEqual(run.out, "custom\n[]\n")

    def test_a_python_without_an_agent_says_so_and_runs(self):
        """A copy of what children load, in a folder that has no agent."""
        inject = self.work / "lib" / "inject"
        inject.mkdir(parents=True)
        here = BIN.resolve().parent / "lib" / "traincheck" / "inject" / "sitecustomize.py"
        (inject / "sitecustomize.py").write_text(here.read_text())
        command = [PYTHON, "-c", "print('hello')"]
        env = {"PYTHONPATH": str(inject), "TRAINCHECK_COLLECT": "output_dir=/nowhere\n"}
        run = self.execute(command, None, env)
        self.assertEqual((run.code, run.out, run.err), (0, "hello\n", ""))
        self.assertIn("is not traced: no agent for Python 3.", run.said)
        env["TRAINCHECK_COLLECT"] += "quiet=1\n"
        self.assertEqual(self.execute(command, None, env).said, "")

    def test_a_free_threaded_python_is_left_alone(self):
        """Its objects are laid out otherwise: the agent of the same version would crash it."""
        inject = BIN.resolve().parent / "lib" / "traincheck" / "inject"
        pretend = ("import sys; sys.abiflags = 't'; sys.modules.pop('sitecustomize', None); "
                   f"sys.path.insert(0, {str(inject)!r}); import sitecustomize; print('_traincheck_agent' in sys.modules)")
        run = self.execute([PYTHON, "-c", pretend], None, {"TRAINCHECK_COLLECT": "output_dir=/nowhere\n"})
        self.assertEqual((run.code, run.out, run.err), (0, "False\n", ""))
        self.assertRegex(run.said, r"is not traced: no agent for Python 3\.\d+ free-threaded\n")


@unittest.skipUnless(HAS_TORCH, "this trains")
class Killed(Case):
    def test_a_killed_job_is_checked(self):
        """What came before the last second is read and judged: the healthy steps pass."""
        text = """
            import os, sys, time, torch
            torch.manual_seed(0)
            net = torch.nn.Linear(4, 2)
            opt = torch.optim.SGD(net.parameters(), 0.1)
            for step in range(20):
                opt.zero_grad(); net(torch.randn(8, 4)).square().sum().backward(); opt.step()
            if sys.argv[1:]:
                time.sleep(1)
                os.kill(os.getpid(), 9)
        """
        self.collect(self.script(text), python=warm_python())
        killed = self.collect(self.work / "script.py", "die", folder="killed")
        self.assertEqual(killed.code, -9)
        learned = self.execute([BIN / "traincheck-infer", "-q", "trace", "-o", "i.jsonl"], None)
        self.assertEqual(learned.code, 0, learned.err)
        checked = self.execute([BIN / "traincheck-check", "killed", "-i", "i.jsonl", "-o", "report"], None)
        self.assertEqual(checked.code, 0, checked.out + checked.err)
        steps = [r["step"] for r in killed.records() if r["type"] == "step"]
        self.assertEqual(steps[-1], 18)  # the twentieth window is open
        self.assertEqual(sum(r["type"] == "call" and r["fn"].endswith("Optimizer.step")
                             for r in killed.records()), 20)


if __name__ == "__main__":
    unittest.main()
