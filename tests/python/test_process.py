"""Exit codes, signals, children and what can go wrong before the start. No torch needed but where it says so."""
import importlib.util
import signal
import unittest

from traced import Case, PYTHON

HAS_TORCH = importlib.util.find_spec("torch") is not None
TRACED = "import torch; torch.ones(2)\n" if HAS_TORCH else ""


class Exits(Case):
    def same(self, text, *args):
        plain, traced = self.plain(TRACED + text, *args), self.traced(TRACED + text, *args)
        self.assertEqual((traced.code, traced.out, traced.err), (plain.code, plain.out, plain.err))
        if HAS_TORCH:
            self.assertTrue(traced.records())
        return traced

    def test_exit_status(self):
        run = self.same("import sys; print('out'); sys.exit(3)")
        self.assertEqual(run.records()[-1]["type"], "end")
        self.assertEqual(run.records()[-1]["exit"], 3)

    def test_exit_with_text(self):
        self.assertEqual(self.same("import sys; sys.exit('bye')").code, 1)

    def test_own_traceback(self):
        run = self.same("def f():\n    raise ValueError('boom')\nf()\n")
        self.assertIn("line", run.err)

    def test_os_exit(self):
        run = self.same("import os; os._exit(7)")
        if HAS_TORCH:
            self.assertEqual(run.records()[-1]["exit"], 7)

    def test_kill_leaves_a_readable_trace(self):
        self.assertEqual(self.same("import os, time; time.sleep(1); os.kill(os.getpid(), 9)").code, -9)

    def test_terminated(self):
        run = self.same("import os, time; os.kill(os.getpid(), 15); time.sleep(5)")
        self.assertEqual(run.code, -signal.SIGTERM)

    def test_aborted(self):
        self.assertEqual(self.same("import os; os.abort()").code, -signal.SIGABRT)

    def test_user_handler_is_kept(self):
        self.same("import os, signal; signal.signal(15, lambda *a: print('mine')); os.kill(os.getpid(), 15)")

    def test_keyboard_interrupt(self):
        self.assertEqual(self.same("import os, signal; os.kill(os.getpid(), signal.SIGINT)").code, -2)

    def test_arguments_and_paths(self):
        self.same("import os, sys; print(sys.argv, __file__, sys.path, __name__, os.getcwd(), sys.executable)",
                  "--x", "a b", "-o", "other")

    def test_signals_look_untouched(self):
        self.same("import signal; print([(s.name, str(signal.getsignal(s))) for s in signal.Signals])")

    def test_import_machinery_looks_untouched(self):
        self.same("import sys; print([type(f) for f in sys.meta_path], len(sys.path_hooks), __spec__, __loader__.__class__)")


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

    def test_no_such_interpreter(self):
        run = self.collect(self.script("print(1)"), python="/nosuch/python")
        self.assertEqual(run.code, 125)
        self.assertIn("--python", run.said)

    def test_module(self):
        self.script("import sys; print(__name__, sys.argv[1:])", "mod.py")
        run = self.collect("-m", "mod", "a", "-b")
        self.assertEqual((run.code, run.out), (0, "__main__ ['a', '-b']\n"))

    def test_quiet(self):
        self.assertEqual(self.traced("print(1)", options=["-q"]).said, "")

    def test_without_torch(self):
        run = self.traced("print('alone')")
        self.assertEqual((run.code, run.out), (0, "alone\n"))
        self.assertIn("nothing was traced", run.said)
        self.assertEqual([r["code"] for r in run.records() if r["type"] == "note"], ["no-torch"])


@unittest.skipUnless(HAS_TORCH, "these run torch")
class Children(Case):
    def roles(self, run):
        return sorted(run.records(f)[0]["role"] for f in run.files())

    def test_fork(self):
        run = self.traced("""
            import os, torch
            torch.ones(1)
            pid = os.fork()
            torch.zeros(2)
            if pid == 0: os._exit(0)
            os.waitpid(pid, 0)
        """)
        self.assertEqual(self.roles(run), ["main", "main"])
        for f in run.files():
            ids = [r["id"] for r in run.records(f) if r["type"] == "call"]
            self.assertEqual(ids, list(range(len(ids))))

    def test_subprocess_and_spawn(self):
        run = self.traced("""
            import multiprocessing, subprocess, sys, torch
            torch.ones(2)
            def work():
                import torch; torch.ones(3)
            if __name__ == "__main__":
                subprocess.run([sys.executable, "-c", "import torch; torch.ones(1)"], check=True)
                p = multiprocessing.get_context("spawn").Process(target=work); p.start(); p.join()
        """)
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertEqual(self.roles(run), ["main", "main", "main"])

    def test_workers(self):
        run = self.traced("""
            import torch
            class Data(torch.utils.data.Dataset):
                def __len__(self): return 8
                def __getitem__(self, i): return torch.full((2,), i)
            for batch in torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2): pass
        """)
        self.assertEqual(self.roles(run), ["main", "worker", "worker"])
        self.assertEqual(len(self.calls(run, fn="torch.full")), 8)
        self.assert_no_errors(run)

    def test_command(self):
        script = self.script("import sys, torch; torch.ones(2); sys.exit(5)")
        run = self.collect("--", PYTHON, script)
        self.assertEqual((run.code, run.err), (5, ""))
        self.assertEqual(len(self.calls(run, fn="torch.ones")), 1)

    def test_users_own_sitecustomize_is_kept(self):
        folder = self.work / "site"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text("print('custom')\n")
        script = self.script("import sys; print([p for p in sys.path if 'inject' in p])")
        run = self.collect("--", PYTHON, script, env={"PYTHONPATH": str(folder)})
        self.assertEqual(run.out, "custom\n[]\n")


if __name__ == "__main__":
    unittest.main()
