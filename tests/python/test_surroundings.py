# SPDX-License-Identifier: Apache-2.0
"""Jobs that are started, or behave, in ways of their own: whatever they do, they do as without us, and are traced.

The traced calls are those of a small package, so that no test needs torch.
"""
import os
import re
import shutil
import signal
import subprocess
import unittest

from traced import BIN, Case, PYTHON

FRAME_CHAIN = os.environ.get("TRAINCHECK_FRAME_CHAIN")
PACKAGE = """
def work(x):
    return x
def many(n):
    for i in range(n): work(i)
def down(n):
    return 0 if n == 0 else 1 + down(n - 1)
"""
START = "import os, signal, subprocess, sys, threading, time, yard\n"


class Surroundings(Case):
    def setUp(self):
        super().setUp()
        self.script(PACKAGE, "yard.py")
        self.env = {"PYTHONDONTWRITEBYTECODE": "1"}

    def same(self, text, *args, options=(), **env):
        """Traced and plain runs print the same and end alike; returns the traced one."""
        env = {**self.env, **env}
        script = self.script(START + text)
        plain = self.execute([PYTHON, script, *args], None, env)
        traced = self.collect("--instrument", "yard", "--overwrite", *options, script, *args, env=env)
        self.assertEqual((traced.code, traced.out, self.without_extensions(traced.err)),
                         (plain.code, plain.out, self.without_extensions(plain.err)), env)
        return traced

    def without_extensions(self, err):
        """faulthandler names threads by address, and lists our module among those that a crash may be due to.
        From Python 3.14 on it shows the stack of C, too, where libpython is another one than the interpreter's own."""
        err = re.sub(r"\n*Extension modules: .*\n|0x[0-9a-f]+", "", err)
        return re.sub(r"Current thread's C stack trace .*\n(  .*(\n|$))*", "", err).rstrip()

    def command(self, *args, folder="trace", env=None):
        return self.collect("--instrument", "yard", "--overwrite", "--", *args, folder=folder, env={**self.env, **(env or {})})

    def works(self, run):
        """How often each process has called yard.work."""
        return [sum(r["type"] == "call" and r["fn"] == "yard.work" for r in run.records(f)) for f in run.files()]


class Interpreter(Surroundings):
    def test_settings_of_the_interpreter(self):
        text = "yard.many(20); print(sys.flags, sys.warnoptions)"
        for env in ({"PYTHONMALLOC": "debug"}, {"PYTHONDEVMODE": "1"}, {"PYTHONDEVMODE": "1", "PYTHONMALLOC": "malloc"},
                    {"PYTHONWARNINGS": "error"}, {"PYTHONOPTIMIZE": "2"}):
            self.assertEqual(self.works(self.same(text, **env)), [20], env)

    def test_a_crash_that_faulthandler_tells_of(self):
        run = self.same("import ctypes; yard.many(50); ctypes.string_at(0)", PYTHONFAULTHANDLER="1")
        self.assertEqual((run.code, self.works(run)), (-signal.SIGSEGV, [50]))
        self.assertIn("Segmentation fault", run.err)

    def test_deep_recursion(self):
        """Calls of Python functions need no stack of C from 3.11 on: those that are traced must not need it either."""
        run = self.same("""
sys.setrecursionlimit(10**6)
def down(n): return 0 if n == 0 else 1 + down(n - 1)
yard.many(5); print(down(100000)); yard.many(5)
""")
        self.assertIn(run.code, (0, -signal.SIGSEGV))  # 3.9 and 3.10 themselves do not get there
        if run.code == 0:
            self.assertEqual(self.works(run), [10])

    def test_deep_recursion_of_what_is_traced(self):
        run = self.same("""
sys.setrecursionlimit(10**6)
yard.down(3); print(yard.down(100000)); yard.down(3); yard.many(5)
""")
        self.assertIn(run.code, (0, -signal.SIGSEGV))
        if run.code == 0:  # the outermost calls are events; what is not seen below is told
            self.assertEqual(len(self.calls(run, fn="yard.down")), 3)
            self.assertEqual([r["text"].partition(":")[0] for r in run.records() if r["type"] == "note"],
                             ["calls at the bottom of a deep recursion"])
            self.assertEqual(self.works(run), [5])

    @unittest.skipUnless(FRAME_CHAIN, "the library that is preloaded was not built")
    def test_profilers_find_their_way_through_us(self):
        """Python 3.15 has frame pointers, and is of use to them only if what is loaded into it has, too."""
        library = shutil.copy(FRAME_CHAIN, self.work)  # a preloaded path must not hold a space
        script = self.script("import yard\nfor i in range(100): yard.work(i)\n")
        run = self.command(PYTHON, script, env={"LD_PRELOAD": library, "FRAME_CHAIN": str(self.work / "most")})
        self.assertEqual((run.code, run.err, self.works(run)), (0, "", [100]))
        # at least: what makes the record, the call, and the function in the slot
        self.assertGreaterEqual(int((self.work / "most").read_text()), 3)

    def test_tracers_of_the_user_see_nothing_of_ours(self):
        run = self.same("""
events = []
def trace(frame, event, arg):
    events.append((event, frame.f_code.co_name, frame.f_lineno))
    return trace
sys.settrace(trace); yard.many(3); sys.settrace(None)
sys.setprofile(lambda frame, event, arg: events.append((event, frame.f_code.co_name)))
import decimal; yard.many(3)
sys.setprofile(None); print(len(events), events)
""")
        self.assertEqual(self.works(run), [6])

    def test_a_second_interpreter(self):
        text = """
interpreters = next((sys.modules[n] for n in ("_xxsubinterpreters", "_interpreters") if __import__("importlib").util.find_spec(n)
                     and __import__(n)), None)
if interpreters:
    second = interpreters.create()
    interpreters.run_string(second, "import sys; print('second', flush=True)")
    interpreters.destroy(second)
yard.many(4)
"""
        self.assertEqual(self.works(self.same("import importlib.util\n" + text)), [4])
        run = self.command(PYTHON, self.work / "script.py")
        self.assertEqual((run.code, run.err, self.works(run), run.said.count("\n")), (0, "", [4], 1), run.said)


class Files(Surroundings):
    def test_every_descriptor_is_closed(self):
        """A daemon closes all that it finds; the number of ours is then given to a file of the user's."""
        run = self.same("""
yard.many(10); time.sleep(0.7)
os.closerange(3, 4096)
own = [os.open(f"own{i}", os.O_RDWR | os.O_CREAT) for i in range(300)]
yard.many(10); time.sleep(0.7)
if os.fork() == 0: os._exit(0)
os.wait()
print([i for i, fd in enumerate(own) if os.fstat(fd).st_size])
""")
        self.assertEqual((run.out, self.works(run)), ("[]\n", [20]))
        self.assert_whole(run)

    def test_a_trace_that_is_removed(self):
        run = self.same("yard.many(5); os.system('rm -f trace/trace_*'); yard.many(5)")
        self.assertEqual(run.files(), [])
        run = self.same("yard.many(5); time.sleep(0.7); os.system('rm -f trace/trace_*'); yard.many(5)")
        self.assertRegex(run.said, r": 0 steps, 0 records, 0 bytes in .*: removed while it was written; lost: 31 records")
        run = self.same("os.system('rm -rf trace'); yard.many(5)")
        self.assertIn("; tracing ended early: no trace file: ", run.said)
        self.assertNotIn("nothing was traced", run.said)

    def test_a_limit_of_the_size_of_files(self):
        """Not even the memory that is shared by the processes of a run may be made."""
        script = self.script("print('done')")
        for command in [script], ["--", PYTHON, script]:
            run = self.execute(["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", BIN / "traincheck-collect", "--python", PYTHON,
                                "--overwrite", "-o", self.work / "trace", *command], self.work / "trace", self.env)
            self.assertEqual((run.code, run.out, run.err), (0, "done\n", ""))
            self.assertNotIn("no Python process", run.said)

    def test_descriptors_of_ours_stay_ours(self):
        """Where the interpreter takes the place of the collector, what it is handed goes no further."""
        denying = self.work / "python"
        denying.write_text(f"""#!/bin/sh
            case $1 in -I) '{PYTHON}' "$@" | sed '2s|.*|{denying}|;3s/.*//';; *) exec '{PYTHON}' "$@";; esac
        """)
        denying.chmod(0o755)
        script = self.script(START + "yard.many(3); subprocess.run(['ls', '-l', '/proc/self/fd'], close_fds=False)")
        run = self.collect("--instrument", "yard", script, python=denying, env=self.env)
        self.assertEqual((run.code, self.works(run)), (0, [3]))
        self.assertNotIn("traincheck", run.out)


    def test_two_at_once_in_one_folder(self):
        """The second is refused while the first one runs, also where it would overwrite, and alters nothing."""
        script = self.script(START + "yard.many(4); print('ready', flush=True); sys.stdin.readline(); yard.work(1)\n")
        folder, env = self.work / "trace", {**os.environ, **self.env}
        command = [BIN / "traincheck-collect", "--python", PYTHON, "--instrument", "yard", "-o", folder]
        for form in [script], ["--", PYTHON, script]:
            first = subprocess.Popen([str(a) for a in (*command, "--overwrite", *form)], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.work, env=env)
            self.assertEqual(first.stdout.readline(), "ready\n")
            for options in [], ["--overwrite"]:
                second = subprocess.run([str(a) for a in (*command, *options, *form)], stdin=subprocess.DEVNULL,
                                        capture_output=True, text=True, cwd=self.work, env=env, check=False)
                self.assertEqual((second.returncode, second.stdout), (125, ""))
                self.assertIn(f"{folder}: another traincheck-collect is writing there; name another folder", second.stderr)
            first.communicate("\n")
            self.assertEqual(first.returncode, 0)
            after = self.collect("--instrument", "yard", "--overwrite", script, stdin="\n", env=self.env)
            self.assertEqual((after.code, self.works(after)), (0, [5]))

    def test_several_of_one_job_in_one_folder(self):
        """Who was started as one of several shares the folder with his job alone, whatever shell stands before him."""
        script = self.script(START + "yard.many(4); print('ready', flush=True); sys.stdin.readline()\n")
        torchrun = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}
        slurm = {"SLURM_NTASKS": "2", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}
        for i, (job, another) in enumerate((({"OMPI_COMM_WORLD_SIZE": "2"}, {}), (torchrun, {"MASTER_PORT": "29501"}),
                                            (slurm, {"SLURM_STEP_ID": "1"}))):
            folder = self.work / f"trace{i}"
            command = [str(a) for a in (BIN / "traincheck-collect", "--python", PYTHON, "--instrument", "yard", "-o", folder, script)]
            ranks = []
            for rank in range(2):  # the second begins when the first one has written
                shell = ["sh", "-c", '"$@"; exit $?', "sh"] if rank and another else []
                ranks.append(subprocess.Popen([*shell, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                              text=True, cwd=self.work, env={**os.environ, **self.env, **job}))
                self.assertEqual(ranks[-1].stdout.readline(), "ready\n")
            alone = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.work,
                                   env={**os.environ, **self.env, **(another and {**job, **another})}, check=False)
            self.assertEqual(alone.returncode, 125)
            self.assertIn("another traincheck-collect is writing there", alone.stderr)
            for rank in ranks:
                rank.communicate("\n")
                self.assertEqual(rank.returncode, 0)
            self.assertEqual(len(list(folder.glob("trace_*"))), 2)


    def one_node(self, *options, **env):
        """A rank of a job: its exit status, and how many traces the folder has then."""
        run = self.collect("--instrument", "yard", *options, self.script(START + "yard.many(2)"), env={**self.env, **env})
        if run.code:
            self.assertEqual(run.code, 125)
            self.assertIn("holds a trace already", run.said)
        return run.code, len(run.files())

    def moved(self, age=0):
        """What is in the folder becomes the trace of another host, written some time ago."""
        for file in (self.work / "trace").glob("trace_*"):
            if "_r" in file.name and not file.name.startswith("trace_elsewhere"):
                file = file.rename(file.with_name("trace_elsewhere_r" + file.name.rsplit("_r", 1)[1]))
            written = file.stat().st_mtime - age
            os.utime(file, (written, written))
        return self.work / "trace"

    def test_nodes_of_one_job_in_one_folder(self):
        """A node that begins later finds what another one has written: it joins where that is of its own job."""
        for job, another in (({"MASTER_ADDR": "a", "MASTER_PORT": "1"}, {"MASTER_ADDR": "a", "MASTER_PORT": "2"}),
                             ({"PMIX_NAMESPACE": "prte-1"}, {"PMIX_NAMESPACE": "prte-2"}),
                             ({"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "MASTER_PORT": "1"}, {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "1"})):
            shutil.rmtree(self.work / "trace", ignore_errors=True)
            self.assertEqual(self.one_node(**job), (0, 1))
            self.assertEqual(self.one_node(**job), (125, 1))  # this host again: a second run
            self.moved()
            self.assertEqual(self.one_node(), (125, 1))
            self.assertEqual(self.one_node(**another), (125, 1))
            self.assertEqual(self.one_node(**job), (0, 2))
            self.assertEqual(self.one_node("--overwrite", **job), (0, 2))  # its own alone
            self.moved(3600)
            self.assertEqual(self.one_node(**job), (125, 2))
            self.assertEqual(self.one_node("--overwrite", **job), (0, 1))

    def test_a_node_that_has_only_begun_to_write(self):
        folder, job = self.work / "trace", {"MASTER_ADDR": "a"}
        folder.mkdir()
        (folder / "trace_elsewhere_r0_p1.jsonl.zst").touch()
        self.assertEqual(self.one_node(), (125, 1))
        self.assertEqual(self.one_node(**job), (0, 2))

    def test_a_job_that_is_started_again(self):
        job = {"SLURM_JOB_ID": "7"}
        self.assertEqual(self.one_node(**job), (0, 1))
        self.moved(3600)
        self.assertEqual(self.one_node(**job, SLURM_RESTART_COUNT="1"), (0, 2))
        self.assertEqual(self.one_node(**job, SLURM_RESTART_COUNT="2"), (0, 3))
        self.assertEqual(self.one_node(SLURM_JOB_ID="8", SLURM_RESTART_COUNT="2"), (125, 3))


class Names(Surroundings):
    """Bytes that are no UTF-8, in a locale that knows ASCII alone or UTF-8."""

    LOCALES = {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    def test_folders_scripts_and_arguments(self):
        name = os.fsdecode(b"t\xc3\xbc \xff")
        script = self.script(START + "yard.many(3); print(ascii(sys.argv[1:]))", f"s{name}.py")
        for env in self.LOCALES:
            plain = self.execute([PYTHON, script, name], None, {**self.env, **env})
            run = self.collect("--instrument", "yard", "--overwrite", script, name, folder=f"trace {name}", env={**self.env, **env})
            self.assertEqual((run.code, run.out, run.err), (plain.code, plain.out, plain.err))
            self.assertEqual(self.works(run), [3], run.said)
            records = run.records()
            self.assertEqual(records[0]["argv"][1], "tü \ufffd")
            self.assertEqual([r["at"] for r in records if r.get("fn") == "yard.many" and "at" in r], ["stü \ufffd.py:2"])
            run = self.command(PYTHON, script, name, folder=f"below {name}", env=env)
            self.assertEqual((run.code, run.out, self.works(run)), (0, plain.out, [3]), run.said)

    def collect(self, *args, **options):
        """Ours repeat the name of the folder, in bytes that no text mode reads."""
        return super().collect("-q", *args, **options)

    def test_folders_that_nobody_means(self):
        script = self.script("print(1)")
        for folder in "", "a\nb":
            run = self.execute([BIN / "traincheck-collect", "--python", PYTHON, "-o", folder, script], None)
            self.assertEqual((run.code, run.out, list(self.work.glob("trace_*"))), (125, "", []))
            self.assertIn("output folder", run.said)

    def places(self, run):
        return [(r["by"], r["at"]) for r in run.records() if r["type"] == "call" and r["fn"] == "yard.many"]

    def test_code_that_stands_in_no_file(self):
        text = "import yard\nyard.many(2)\n"
        for command in ["-c", text], ["-"]:
            run = self.collect("--instrument", "yard", "--overwrite", "--", PYTHON, *command, stdin=text, env=self.env)
            self.assertEqual((run.code, self.works(run)), (0, [2]))
            self.assertEqual(self.places(run), [("user", "<string>:2" if len(command) > 1 else "<stdin>:2")])
        run = self.same("exec(compile('yard.many(2)', '<string>', 'exec'))")  # as what a library has made
        self.assertEqual(self.places(run), [("user", "script.py:2")])

    def test_cells_of_a_notebook(self):
        """As IPython and its kernel name them; this one only knows the names of cells."""
        self.script("""
            class Shell:
                compile = property(lambda self: self)
                def format_code_name(self, name): return ("Cell", "In[7]") if "ipykernel" in name else None
            def get_ipython(): return Shell()
        """, "IPython.py")
        run = self.same("""
import IPython
for name in "/tmp/ipykernel_1/2.py", "<ipython-input-7-abc>": exec(compile("yard.many(2)", name, "exec"))
""")
        self.assertEqual(self.places(run), [("user", "In[7]:1"), ("user", "<ipython-input-7-abc>:1")])

    def test_arguments_that_are_no_text(self):
        for argv in "None", "[1, __import__('pathlib').Path('x')]", "('x',)":
            self.assertEqual(self.works(self.same(f"sys.argv = {argv}; yard.many(3)")), [3], argv)

    def test_a_working_folder_that_is_gone(self):
        text = "import tempfile\nd = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)\nyard.many(3)"
        self.assertEqual(self.works(self.same(text)), [3])
        for command in [self.work / "script.py"], ["--", PYTHON, self.work / "script.py"]:
            self.script(START + "yard.many(4)")
            run = self.execute(["sh", "-c", 'mkdir gone; cd gone; rmdir ../gone; exec "$@"', "sh", BIN / "traincheck-collect",
                                *([] if "--" in command else ["--python", PYTHON]), "-o", self.work / "gone-trace", "--overwrite",
                                "--instrument", "yard", *command], self.work / "gone-trace", self.env)
            self.assertEqual((run.code, run.err, self.works(run)), (0, "", [4]), run.said)

    def test_a_search_path_that_is_cleared(self):
        self.assertEqual(self.works(self.same("sys.path.clear(); sys.meta_path.clear(); yard.many(3)")), [3])


class Commands(Surroundings):
    def test_a_script_that_names_no_interpreter(self):
        shell = self.script(f"'{PYTHON}' -c 'import yard; yard.many(4)'\necho \"$0 $1\"\nexit 3\n", "job")
        shell.chmod(0o755)
        run = self.command(shell, "a b")
        self.assertEqual((run.code, run.out, self.works(run)), (3, f"{shell} a b\n", [4]))

    def test_who_ignores_its_children(self):
        """The exit status is the command's all the same."""
        command = [BIN / "traincheck-collect", "-q", "-o", self.work / "trace", "--", "sh", "-c", "exit 3"]
        code = f"import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv({str(command[0])!r}, {list(map(str, command))})"
        self.assertEqual(self.execute([PYTHON, "-c", code], None).code, 3)

    def test_nobody_reads_the_last_line(self):
        script = self.script(START + "signal.signal(signal.SIGPIPE, signal.SIG_DFL); yard.many(3); sys.exit(4)")
        for command in [script], ["--", PYTHON, script]:
            read, write = os.pipe()
            os.close(read)
            done = subprocess.run([BIN / "traincheck-collect", "--python", PYTHON, "-o", self.work / "trace", "--overwrite",
                                   "--instrument", "yard", *command], cwd=self.work, stderr=write, env={**os.environ, **self.env},
                                  timeout=60, check=False)
            os.close(write)
            self.assertEqual(done.returncode, 4)

    def test_children_that_do_not_load_the_agent(self):
        run = self.same("""
def start(*options, **how): subprocess.run([sys.executable, *options, "-c", "import sys; sys.path.insert(0, '.'); import yard; yard.many(7)"], **how)
yard.many(3)
start(); start("-X", "dev", "-W", "ignore"); start(env={**os.environ, "A": "IES"})
start(env={}); start("-I"); start("-Es"); start("-B", "-S")
os.posix_spawn(sys.executable, [sys.executable, "-c", "pass"], {}); os.wait()
subprocess.run(["true"], env={}); subprocess.run("exit 0", shell=True)
for wrong in [3], [], ["python", None]:
    try: subprocess.run(wrong, env={})
    except (TypeError, ValueError, IndexError): print("wrong")
os.environ.clear(); start()
""")
        self.assert_no_errors(run)
        self.assertEqual(sorted(self.works(run)), [3, 7, 7, 7])
        self.assertIn("; not traced: 6 starts of Python without the job's environment", run.said)
        self.assertEqual(len([r for r in run.records() if r.get("code") == "not-traced"]), 6)

    def test_a_process_that_compiles_for_torch(self):
        """It runs nothing of the script's: nobody is to be told that it is not traced."""
        entry = self.work / "site/torch/_inductor/compile_worker/__main__.py"
        entry.parent.mkdir(parents=True)
        entry.write_text("print('compiled')\n")
        run = self.same(f"yard.many(3)\nsubprocess.run([sys.executable, {str(entry)!r}], env={{}})\n")
        self.assertEqual([r for r in run.records() if r["type"] == "note"], [])
        self.assertNotIn("not traced", run.said)

    def test_pythons_that_do_not_load_the_agent(self):
        """What keeps them from it is said."""
        text = self.script("print('alone')")
        for command in [PYTHON, "-I", text], [PYTHON, "-S", text], ["env", "-i", PYTHON, text]:
            run = self.command(*command)
            self.assertEqual((run.code, run.out, run.err), (0, "alone\n", ""))
            self.assertIn("no Python process loaded the agent", run.said)
        self.assertNotIn("no Python process", self.command(PYTHON, text).said)


if __name__ == "__main__":
    unittest.main()
