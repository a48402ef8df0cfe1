# SPDX-License-Identifier: Apache-2.0
"""How a process ends, and what docs/trace-format.md promises of its trace then.

The traced calls are those of a small package, so that no test needs torch.
"""
import concurrent.futures
import errno
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from traced import BIN, Case, PYTHON, decode

SLOW_DISK = os.environ.get("TRAINCHECK_SLOW_DISK")
FAILING_DISK = os.environ.get("TRAINCHECK_FAILING_DISK")
PACKAGE = "def work(x):\n    return x\ndef many(n):\n    for i in range(n): work(i)\n"
# Root may write everywhere, until the capability for it (1) is dropped (24) for what is executed next.
LIKE_ANYONE = """
import ctypes, os, sys
if os.geteuid() == 0 and ctypes.CDLL(None).prctl(24, 1, 0, 0, 0): sys.exit("cannot drop CAP_DAC_OVERRIDE")
os.execv(sys.argv[1], sys.argv[1:])
"""
START = "import os, signal, sys, threading, time, yard\n"


class Leaving(Case):
    def setUp(self):
        super().setUp()
        self.script(PACKAGE, "yard.py")
        self.env = {"PYTHONDONTWRITEBYTECODE": "1"}

    def trace(self, text, *options, env=None):
        return self.collect("--instrument", "yard", *options, self.script(START + text),
                            env={**self.env, **(env or {})})

    def same(self, text, *options):
        """Traced and plain runs end alike; returns the traced one. Most of them sleep, so they do it at the same time."""
        script = self.script(START + text)
        with concurrent.futures.ThreadPoolExecutor() as beside:
            job = beside.submit(self.execute, [PYTHON, script], None, self.env)
            run = self.collect("--instrument", "yard", *options, script, env=self.env)
            plain = job.result()
        self.assertEqual((run.code, run.out, run.err), (plain.code, plain.out, plain.err))
        return run

    def works(self, run):
        return sum(r["type"] == "call" and r["fn"] == "yard.work" for r in run.records())

    def ended(self, run):
        last = run.records()[-1]
        self.assertEqual(last["type"], "end")
        return last["exit"]


class WhatTheTraceHolds(Leaving):
    def argv(self, *options):
        script = self.script(START + "yard.many(2)")
        given = ["--lr", "0.1", "--api-key", "KEY", "--hf_token=TOKEN", "--password", "--verbose", "--tokenizer", "gpt2",
                 "--client_secret", "SECRET", "--max-tokens=64", "--dbPassword", "SECRET", "--HFToken=SECRET", "wandb.api_key=SECRET",
                 "+aws.secretAccessKey=SECRET", "key", "data=https://me:SECRET@host/a@b", "https://host/a@b", "-key", "SECRET"]
        run = self.collect("--instrument", "yard", "--overwrite", *options, script, *given, env=self.env)
        self.assertEqual(run.code, 0, run.said)
        return run.records()[0].get("argv", [None])[1:], given

    def test_arguments_are_masked_by_the_name_of_their_option(self):
        found, given = self.argv()
        self.assertEqual(found, ["--lr", "0.1", "--api-key", "***", "--hf_token=***", "--password", "--verbose",
                                 "--tokenizer", "gpt2", "--client_secret", "***", "--max-tokens=64", "--dbPassword", "***",
                                 "--HFToken=***", "wandb.api_key=***", "+aws.secretAccessKey=***", "key", "data=https://***@host/a@b",
                                 "https://host/a@b", "-key", "***"])
        found, given = self.argv("--argv", "full")
        self.assertEqual(found, given)
        self.assertEqual(self.argv("--argv", "none")[0], [])

    def test_others_may_not_read_it(self):
        """As the umask allows: not more than 0640 and 0750."""
        old = os.umask(0)
        self.addCleanup(os.umask, old)
        run = self.trace("yard.many(2)")
        self.assertEqual([oct(p.stat().st_mode & 0o777) for p in (run.folder, *run.files())], ["0o750", "0o640"])


class Exits(Leaving):
    def test_orderly_ends(self):
        for text, code in (("yard.many(50)", 0),
                           ("yard.many(50); sys.exit(3)", 3),
                           ("yard.many(50); sys.exit('text')", 1),
                           ("yard.many(50); raise ValueError('boom')", 1),
                           ("yard.many(50); os._exit(7)", 7),
                           ("import atexit; atexit.register(yard.many, 30); yard.many(20)", 0)):
            run = self.same(text, "--overwrite")
            self.assertEqual((run.code, self.ended(run), self.works(run)), (code, code, 50), text)

    def test_exit_in_a_thread_ends_the_thread_only(self):
        run = self.same("""
def leave(): yard.many(10); sys.exit(5)
def fail(): yard.many(10); raise KeyError('thread')
threading.excepthook = lambda args: print(args.exc_type.__name__)
for target in (leave, fail):
    t = threading.Thread(target=target); t.start(); t.join()
yard.many(30)
""")
        self.assertEqual((run.code, self.ended(run), self.works(run)), (0, 0, 50))

    def test_os_exit_in_a_thread(self):
        run = self.same("""
t = threading.Thread(target=lambda: (yard.many(50), os._exit(6))); t.start(); t.join()
""")
        self.assertEqual((run.code, self.ended(run), self.works(run)), (6, 6, 50))

    def test_daemon_threads_trace_until_the_end(self):
        run = self.same("""
def forever():
    while True: yard.work(1); time.sleep(0.001)
for _ in range(2): threading.Thread(target=forever, daemon=True).start()
time.sleep(0.2)
""")
        self.assertEqual((run.code, self.ended(run)), (0, 0))
        self.assertGreater(self.works(run), 0)

    def test_an_end_inside_of_a_traced_call(self):
        run = self.same("yard.many.__globals__['work'] = lambda x: sys.exit(4)\nyard.many(1)")
        records = run.records()
        self.assertEqual([r["exc"] for r in records if r["type"] == "raise"], ["SystemExit"])
        self.assertEqual(self.ended(run), 4)

    def test_closed_standard_streams(self):
        """What the job writes to a closed stream must not reach a file of ours."""
        script = self.script(START + """
yard.many(20)
for fd in range(3):
    try: os.write(fd, b"noise")
    except OSError: pass
yard.many(30)
""")
        for closing in ">&-", "2>&-", "<&-", "<&- >&- 2>&-":
            run = self.execute(["sh", "-c", f'exec "$@" {closing}', "sh", BIN / "traincheck-collect",
                                "--python", PYTHON, "-o", self.work / "trace", "--overwrite",
                                "--instrument", "yard", script], self.work / "trace", self.env)
            self.assertEqual((run.code, self.works(run), self.ended(run)), (0, 50, 0), closing)

    def test_fatal_signals(self):
        """What was put before is in the file; the process ends by the signal itself."""
        for name in "SIGTERM", "SIGHUP", "SIGQUIT", "SIGABRT", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL":
            text = f"yard.many(50); os.kill(os.getpid(), signal.{name}); time.sleep(5)"
            run = self.same(text, "--overwrite")
            self.assertEqual((run.code, self.works(run)), (-getattr(signal, name), 50))

    def test_a_real_crash(self):
        run = self.same("import ctypes; yard.many(50); ctypes.string_at(0)")
        self.assertEqual((run.code, self.works(run)), (-signal.SIGSEGV, 50))
        run = self.trace("import ctypes, faulthandler; faulthandler.enable(); yard.many(50); "
                         "ctypes.string_at(0)", "--overwrite")
        self.assertEqual((run.code, self.works(run)), (-signal.SIGSEGV, 50))
        self.assertIn("Fatal Python error: Segmentation fault", run.err)

    def test_a_handler_of_the_user(self):
        run = self.same("""
signal.signal(signal.SIGTERM, lambda *a: print('mine'))
yard.many(40); os.kill(os.getpid(), signal.SIGTERM); yard.many(10)
""")
        self.assertEqual((run.code, run.out, self.ended(run), self.works(run)), (0, "mine\n", 0, 50))

    def test_keyboard_interrupt(self):
        run = self.same("""
yard.many(40)
try: os.kill(os.getpid(), signal.SIGINT); time.sleep(5)
except KeyboardInterrupt: print("caught"); yard.many(10)
""")
        self.assertEqual((run.code, run.out, self.ended(run), self.works(run)), (0, "caught\n", 0, 50))
        run = self.same("yard.many(50); os.kill(os.getpid(), signal.SIGINT); time.sleep(5)", "--overwrite")
        self.assertEqual((run.code, self.works(run)), (-signal.SIGINT, 50))

    def test_interrupted_twice(self):
        """The second Ctrl-C comes while the first is handled, and once more while Python ends."""
        run = self.same("""
import atexit
@atexit.register
def slow():
    try: os.kill(os.getpid(), signal.SIGINT); time.sleep(5)
    except KeyboardInterrupt: print("again")
yard.many(50)
try: os.kill(os.getpid(), signal.SIGINT); time.sleep(5)
finally: print("leaving")
""")
        self.assertEqual((run.code, run.out, self.works(run)), (-signal.SIGINT, "leaving\nagain\n", 50))


class Killed(Leaving):
    def start(self, text, *options, target=None):
        script = self.script(START + text)
        command = [BIN / "traincheck-collect", "--python", PYTHON, "-o", self.work / "trace",
                   "--instrument", "yard", *options, *(target or [script])]
        process = subprocess.Popen([str(c) for c in command], cwd=self.work, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, **self.env})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def files(self):
        return sorted((self.work / "trace").glob("trace_*"))

    def test_killed(self):
        """Only what came in the last half second may be missing: here that is nothing."""
        run = self.same("yard.many(500); time.sleep(1.5); os.kill(os.getpid(), 9)")
        self.assertEqual((run.code, self.works(run)), (-9, 500))
        self.assertEqual(run.records()[-1]["type"], "return")

    def test_killed_at_any_time(self):
        """What is left begins the trace of the same run that was not killed."""
        job = "i = 0\nprint('ready', flush=True)\nwhile True:\n  yard.work(i); i += 1; time.sleep(0.0005)\n"
        for _ in range(3):
            process = self.start(job, "--overwrite")
            process.stdout.readline()
            time.sleep(0.4)
            process.kill()
            process.wait()
            file, = self.files()
            records = [json.loads(line) for line in decode(file).splitlines()]
            calls = [r["args"]["x"] for r in records if r["type"] == "call"]
            self.assertEqual(calls, list(range(len(calls))))

    def interrupt(self, number, text, out, target=None):
        process = self.start(text, target=target)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(number)
        self.assertEqual(process.communicate(timeout=60)[0], out)
        return process.returncode

    def test_signals_reach_the_command(self):
        job = """
def stop(number, frame): os.write(1, b"%d\\n" % number); sys.exit(9)  # print() may be what it interrupts
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT): signal.signal(number, stop)
yard.many(5)
print("ready", flush=True)
time.sleep(20)
"""
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT:
            script = self.work / "script.py"
            code = self.interrupt(number, job, f"{int(number)}\n",
                                  ["--overwrite", "--", PYTHON, script])
            self.assertEqual(code, 9)
            self.assertEqual(len(self.files()), 1)

    def test_a_command_that_is_ended_by_a_signal(self):
        code = self.interrupt(signal.SIGTERM, "yard.many(5); print('ready', flush=True); time.sleep(20)",
                              "", ["--", PYTHON, self.work / "script.py"])
        self.assertEqual(code, 128 + signal.SIGTERM)


class Disk(Leaving):
    def test_full_disk_ends_the_trace_and_not_the_job(self):
        """A limit of the file's size stands for the disk: writing fails in the middle of the run."""
        run = self.same("""
import hashlib, resource
yard.many(200)
time.sleep(1)  # these are in the file
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY))
for i in range(20000): yard.work(hashlib.sha256(b'%d' % i).hexdigest())
print("done")
""")
        self.assertEqual((run.code, run.out), (0, "done\n"))
        self.assertIn("; tracing ended early: ", run.said)
        self.assertIn("File too large; lost: ", run.said)
        self.assertGreaterEqual(self.works(run), 200)
        self.assertLess(self.works(run), 20200)
        self.assertLessEqual(run.files()[0].stat().st_size, 20000)
        ids = [r["args"]["x"] for r in run.records() if r.get("fn") == "yard.work" and "args" in r]
        self.assertEqual(ids[:200], list(range(200)))
        self.assertTrue(decode(run.files()[0]).endswith("}\n"))
        strict = self.trace("""
import hashlib, resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
for i in range(20000): yard.work(hashlib.sha256(b'%d' % i).hexdigest())
""", "--strict", "--overwrite")
        self.assertEqual(strict.code, 125)

    def test_a_folder_that_cannot_be_made(self):
        for folder in "/proc/nothing", self.script(PACKAGE, "yard.py") / "x":
            run = self.execute([BIN / "traincheck-collect", "--python", PYTHON, "-o", folder,
                                self.script("print(1)")], None)
            self.assertEqual((run.code, run.out, run.err), (125, "", ""))
            self.assertEqual(run.said.count("\n"), 1)
            self.assertIn(str(folder).rsplit("/x")[0], run.said)

    def test_a_folder_that_cannot_be_written(self):
        """It goes away before the first traced call. The plain run, beside it, leaves it alone."""
        run = self.same("'_traincheck_agent' in sys.modules and os.rmdir('trace')\nyard.many(10); print('done')")
        self.assertEqual((run.code, run.out), (0, "done\n"))
        self.assertIn("; tracing ended early: no trace file: ", run.said)
        self.assertIn("No such file or directory", run.said)

    def test_read_only_folder(self):
        (self.work / "trace").mkdir(mode=0o555)
        script = self.script(START + "yard.many(10); print('done')")
        run = self.execute([PYTHON, "-c", LIKE_ANYONE, BIN / "traincheck-collect", "--python", PYTHON, "-o",
                            self.work / "trace", "--instrument", "yard", script], self.work / "trace", self.env)
        self.assertEqual((run.code, run.out, run.err), (0, "done\n", ""))
        self.assertIn("; tracing ended early: no trace file: ", run.said)
        self.assertIn("Permission denied", run.said)
        self.assertEqual(run.files(), [])

    @unittest.skipUnless(SLOW_DISK, "the library that is preloaded was not built")
    def test_slow_disk(self):
        # Each write takes 50 ms; what waits has room for about a hundred records.
        library = shutil.copy(SLOW_DISK, self.work)  # a preloaded path must not hold a space
        env = {"LD_PRELOAD": library, "SLOW_DISK_MS": "50"}
        options = ["--buffer-size", "16K"]
        text = "yard.many(5000); print('done')"
        run = self.trace(text, *options, env=env)
        self.assertEqual((run.code, run.out, run.err), (0, "done\n", ""))
        self.assertEqual(self.works(run), 5000)
        self.assertNotIn("lost", run.said)
        run = self.trace(text, *options, "--on-overflow", "drop", "--overwrite", env=env)
        self.assertEqual((run.code, run.out, run.err), (0, "done\n", ""))
        last = run.records()[-1]
        self.assertEqual(last["type"], "end")
        self.assertGreater(last["dropped"], 0)
        self.assertIn(f"lost: {last['dropped']} records", run.said)
        notes = [r for r in run.records() if r.get("code") == "lost"]
        self.assertEqual(sum(r["count"] for r in notes), last["dropped"])
        # process, two of kind api, two of kind source, many, its end: five, and the last window; then two of each work
        self.assertEqual(last["events"] - len(notes) + last["dropped"], 8 + 2 * 5000)

    def failing(self, first, n, error, text, *options):
        """In each process n writes to its trace fail from a certain one on; n 0: all."""
        library = shutil.copy(FAILING_DISK, self.work)
        return self.trace(text, *options, env={"LD_PRELOAD": library, "FAILING_DISK": f"{first}:{n}:{error}"})

    def assert_counted(self, run):
        """What the closing line says is what the files hold."""
        lines = sum(len(run.records(f)) for f in run.files())
        self.assertIn(f" {lines} record", run.said)
        return lines

    SLOWLY = "for i in range(12): yard.many(20); time.sleep(0.25)\nprint('done')"

    @unittest.skipUnless(FAILING_DISK, "the library that is preloaded was not built")
    def test_a_passing_trouble_loses_nothing(self):
        for error in errno.ENOSPC, errno.EIO:
            run = self.failing(2, 3, error, self.SLOWLY, "--overwrite")
            self.assertEqual((run.code, run.out, run.err), (0, "done\n", ""))
            self.assertEqual(self.works(run), 240)
            self.assertNotIn("lost", run.said)
            self.assertNotIn("ended early", run.said)
            self.assert_counted(run)

    @unittest.skipUnless(FAILING_DISK, "the library that is preloaded was not built")
    def test_what_a_longer_one_loses_is_said_and_the_trace_goes_on(self):
        run = self.failing(2, 3, errno.ENOSPC, self.SLOWLY, "--buffer-size", "4K")
        self.assertEqual((run.code, run.out, run.err), (0, "done\n", ""))
        self.assert_counted(run)
        notes = [r for r in run.records() if r.get("code") == "lost"]
        last = run.records()[-1]
        self.assertEqual((last["type"], last["dropped"]), ("end", sum(r["count"] for r in notes)))
        self.assertGreater(last["dropped"], 0)
        self.assertRegex(run.said, f"; lost: {last['dropped']} records of the steps 0 to 0")
        done = subprocess.run([BIN / "traincheck-check", run.folder, "-i", "@all", "-o", self.work / "out"],
                              capture_output=True, text=True, cwd=self.work, timeout=60)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("could not be written", done.stderr)

    @unittest.skipUnless(FAILING_DISK, "the library that is preloaded was not built")
    def test_a_lasting_one_is_said_and_what_is_there_is_counted(self):
        run = self.failing(3, 0, errno.ENOSPC, self.SLOWLY)
        self.assertEqual((run.code, run.out, run.err), (0, "done\n", ""))
        self.assertGreater(self.assert_counted(run), 2)
        self.assertIn("; tracing ended early: ", run.said)
        self.assertRegex(run.said, r"No space left on device; lost: \d+ records of the steps 0 to 0")

    def test_of_a_killed_child_is_counted_what_it_left(self):
        child = self.script(START + "yard.many(300); time.sleep(1.2); os.write(1, b'.')\nyard.many(10 ** 7)", "child.py")
        text = f"""
import signal, subprocess, sys
p = subprocess.Popen([sys.executable, {str(child)!r}], stdout=subprocess.PIPE)
p.stdout.read(1); time.sleep(0.2); p.kill(); p.wait(); print("done")
"""
        run = self.trace(text)
        self.assertEqual((run.code, run.out), (0, "done\n"), run.said)
        self.assert_counted(run)

    @unittest.skipUnless(FAILING_DISK, "the library that is preloaded was not built")
    def test_a_child_killed_before_it_could_tell_of_its_write(self):
        """Of its second: the first has what there was at once."""
        child = self.script(START + "yard.many(300); time.sleep(9)", "child.py")
        library = shutil.copy(FAILING_DISK, self.work)
        text = f"""
import os, subprocess, sys
env = dict(os.environ, LD_PRELOAD={str(library)!r}, FAILING_DISK="2:1:0")
print(subprocess.run([sys.executable, {str(child)!r}], env=env).returncode)
"""
        run = self.trace(text)
        self.assertEqual((run.code, run.out), (0, "-9\n"), run.said)
        self.assertGreater(self.assert_counted(run), 600)


if __name__ == "__main__":
    unittest.main()
