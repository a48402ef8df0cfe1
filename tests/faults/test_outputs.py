#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where an option names something that is no regular file, it is written into and stays what it is.

Nodes are made for the tests: nothing here touches the machine's own.
"""

import os
import pathlib
import shlex
import stat
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import runs  # noqa: E402

NULL, FULL = os.makedev(1, 3), os.makedev(1, 7)


def tool(name):
    return str(runs.BIN / f"traincheck-{name}")


class Outputs(runs.Case):
    """Each option that names a file, as arguments around that name."""

    def setUp(self):
        super().setUp()
        self.options = {
            "-o": ["infer", "-q", "run", "-o"],
            "--evidence": ["infer", "-q", "run", "--evidence"],
            "--failed": ["infer", "-q", "run", "-o", "x.jsonl", "--failed"],
            "--metrics": ["check", "-q", "run", "-i", "invariants.jsonl", "-o", "out", "--metrics"],
            "online --metrics": ["onlinecheck", "-q", "run", "-i", "invariants.jsonl", "-o", "online", "--exit-on-idle",
                                 "1", "--metrics"],
        }

    def written(self, option):
        """What the option's file holds where it is a regular one."""
        runs.run(*self.options[option], "plain", cwd=self.work, code=0)
        return (self.work / "plain").read_bytes()

    def each(self):
        yield from self.options.items()

    def node(self, name, device):
        if os.geteuid() != 0:
            self.skipTest("to make device nodes takes root")
        os.mknod(self.work / name, 0o666 | stat.S_IFCHR, device)
        return self.work / name

    def test_device(self):
        node = self.node("null", NULL)
        for option, args in self.each():
            runs.run(*args, node, cwd=self.work, code=0)
            self.assertEqual((stat.S_ISCHR(node.stat().st_mode), node.stat().st_rdev), (True, NULL))

    def test_full_device_is_told_and_stays(self):
        node = self.node("full", FULL)
        for option, args in self.each():
            p = runs.run(*args, node, cwd=self.work, code=2)
            self.assertIn(f"{node}: No space left on device", p.stderr)
            self.assertTrue(stat.S_ISCHR(node.stat().st_mode))

    def test_fifo(self):
        fifo = self.work / "fifo"
        os.mkfifo(fifo)
        for option, args in self.each():
            got = []
            reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
            want = self.written(option)
            reader.start()
            runs.run(*args, fifo, cwd=self.work, code=0)
            reader.join(10)
            self.assertEqual(got, [want])
            self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode))

    def test_process_substitution(self):
        for option, args in self.each():
            want = self.written(option)
            line = shlex.join([tool(args[0]), *args[1:]]) + " >(cat >got; echo >done)"
            subprocess.run(["bash", "-c", f"{line}; wait $!; cat done"], cwd=self.work, check=True, timeout=60,
                           stdout=subprocess.DEVNULL)
            self.assertEqual((self.work / "got").read_bytes(), want)

    def test_descriptor_keeps_what_was_there(self):
        """Also where it is a regular file: a rename would take it from under the shell's redirection."""
        for option, args in self.each():
            want = self.written(option)
            for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
                line = shlex.join([tool(args[0]), *args[1:], name])
                subprocess.run(["bash", "-c", f"(echo before; {line}; echo after) >both"], cwd=self.work, check=True,
                               timeout=60)
                self.assertEqual((self.work / "both").read_bytes(), b"before\n" + want + b"after\n")

    def test_symbolic_links_are_followed(self):
        (self.work / "there").mkdir()
        for option, args in self.each():
            want = self.written(option)
            for before in (b'{"traincheck":"invariants"}\n', None):
                real, link, far = self.work / "there" / "real", self.work / "there" / "link", self.work / "far"
                for path in (real, link, far):
                    path.unlink(missing_ok=True)
                if before:
                    real.write_bytes(before)
                    real.chmod(0o640)
                link.symlink_to("real")
                far.symlink_to("there/link")
                runs.run(*args, "far", cwd=self.work, code=0)
                self.assertEqual((far.is_symlink(), link.is_symlink(), real.is_symlink()), (True, True, False))
                self.assertEqual(real.read_bytes(), want)
                if before:
                    self.assertEqual(stat.S_IMODE(real.stat().st_mode), 0o640)
            self.assertEqual(sorted(os.listdir(self.work / "there")), ["link", "real"])

    def test_loops_and_folders_are_told(self):
        (self.work / "loop").symlink_to("loop")
        (self.work / "dir").mkdir()
        for option, args in self.each():
            for name, why in (("loop", "Too many levels"), ("dir", "Is a directory")):
                p = runs.run(*args, name, cwd=self.work, code=2)
                self.assertIn(f"{name}: {why}", p.stderr)
            self.assertEqual(os.listdir(self.work / "dir"), [])

    def test_links_among_the_reports(self):
        (self.work / "out").mkdir()
        (self.work / "kept").write_text("old")
        (self.work / "out" / "violations.jsonl").symlink_to("../kept")
        runs.run("check", "-q", "bad", "-i", "invariants.jsonl", "-o", "out", cwd=self.work, code=1)
        self.assertTrue((self.work / "out" / "violations.jsonl").is_symlink())
        self.assertGreater(len(runs.json_lines(self.work / "kept")), 1)

    def test_full_stdout_is_told_by_its_own_reason(self):
        """Many files are read meanwhile, each call of which may leave another reason in errno."""
        node = self.node("full", FULL)
        for args in (["infer", "run", "-o", "-"], ["check", "bad", "-i", "invariants.jsonl", "-o", "out"],
                     ["onlinecheck", "bad", "-i", "invariants.jsonl", "-o", "out", "--exit-on-idle", "1"]):
            with self.subTest(tool=args[0]), node.open("wb") as full:
                p = subprocess.run([tool(args[0]), *args[1:]], cwd=self.work, stdout=full, stderr=subprocess.PIPE,
                                   text=True, timeout=60, check=False)
                self.assertEqual(p.returncode, 2)
                self.assertIn("error: cannot write to standard output: No space left on device", p.stderr)

    def test_closed_stderr_is_no_place_for_a_file(self):
        """Its number would be that of the next file, and what is said to stderr would stand in it; libuv ends the process."""
        for args, code in ((["infer", "run", "-o", "i.jsonl"], 0), (["check", "bad", "-i", "invariants.jsonl", "-o", "out"], 1),
                           (["onlinecheck", "bad", "-i", "invariants.jsonl", "-o", "live", "--exit-on-idle", "1"], 1)):
            with self.subTest(tool=args[0]):
                p = subprocess.run(["sh", "-c", 'exec "$0" "$@" 2>&-', tool(args[0]), *args[1:]], cwd=self.work, stdout=subprocess.PIPE,
                                   text=True, timeout=60, check=False)
                self.assertEqual(p.returncode, code)
        for file in (self.work / "i.jsonl", *(self.work / folder / "violations.jsonl" for folder in ("out", "live"))):
            self.assertTrue(runs.json_lines(file))

    def test_stdout_that_does_not_block_loses_nothing(self):
        """As another program leaves a pipe that it shares with the tool."""
        want = runs.run("infer", "-q", "run", "-o", "-", cwd=self.work, code=0).stdout
        get, put = os.pipe()
        os.set_blocking(put, False)
        os.write(put, b" " * 65536)
        p = subprocess.Popen([tool("infer"), "-q", "run", "-o", "-"], cwd=self.work, stdout=put)
        os.close(put)
        with os.fdopen(get) as pipe, p:
            try:
                p.wait(0.5)
            except subprocess.TimeoutExpired:
                pass
            self.assertEqual(pipe.read().lstrip(" "), want)
        self.assertEqual(p.returncode, 0)

    def test_state_needs_a_regular_file(self):
        os.mkfifo(self.work / "fifo")
        p = runs.run("onlinecheck", "-q", "run", "-i", "invariants.jsonl", "-o", "out", "--exit-on-idle", "1", "--state",
                     "fifo", cwd=self.work, code=2)
        self.assertIn("fifo: the state needs a regular file", p.stderr)
        self.assertTrue(stat.S_ISFIFO((self.work / "fifo").stat().st_mode))


if __name__ == "__main__":
    runs.main()
