#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The line on a terminal that says how a live check stands.

usage: test_line.py --bin BUILD/bin [TEST...]
"""

import argparse
import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import live
from live import more_steps, write_loop

ERASE = "\r\x1b[K"


def set_columns(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def rows(text):
    """What a terminal that is wide enough has on its rows after that text."""
    shown, at = [""], 0
    for piece in re.findall(r"\r|\n|\x1b\[[0-9;]*[A-Za-z]|[^\r\n\x1b]+", text):
        if piece == "\r":
            at = 0
        elif piece == "\n":
            shown.append("")
        elif piece in ("\x1b[K", "\x1b[J"):
            shown[-1] = shown[-1][:at]
        elif not piece.startswith("\x1b"):
            shown[-1] = shown[-1][:at].ljust(at) + piece + shown[-1][at + len(piece):]
            at += len(piece)
    return shown


class OnTerminal:
    """A checker whose stdout and stderr are a terminal."""

    def __init__(self, cwd, *args, columns=80, term="xterm", command=(), **popen):
        self.ours, theirs = pty.openpty()
        set_columns(theirs, columns)
        environment = {**os.environ, "TERM": term} if term is not None else \
            {k: v for k, v in os.environ.items() if k != "TERM"}
        self.process = subprocess.Popen([*command, str(live.BIN / "traincheck-onlinecheck"), *map(str, args)], cwd=cwd,
                                        stdin=theirs, stdout=theirs, stderr=theirs, env=environment, **popen)
        os.close(theirs)
        self.text = ""
        self.thread = threading.Thread(target=self.collect, daemon=True)
        self.thread.start()

    def collect(self):
        while True:
            try:
                piece = os.read(self.ours, 65536)
            except OSError:  # nobody has the other side any more
                return
            if not piece:
                return
            self.text += piece.decode()

    def wait_for(self, pattern, begin=0):
        """Where the match of a regular expression ends that came after begin."""
        end = time.monotonic() + live.PATIENCE
        while not (match := re.compile(pattern).search(self.text, begin)):
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"nothing like {pattern!r} in {self.text!r}")
            time.sleep(0.01)
        return match.end()

    def drawn(self):
        """Each line that was drawn in place."""
        return re.findall(r"\r\x1b\[[KJ]([^\r\n\x1b]+)\r(?!\n)", self.text)

    def wait(self):
        try:
            code = self.process.wait(live.PATIENCE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        self.thread.join()
        os.close(self.ours)
        return code


class Line(live.Case):
    def setUp(self):
        super().setUp()
        self.invariants = self.learn_loop()
        self.trace = write_loop(self.work / "trace", steps=3, end=False)
        self.trace.file.flush()
        self.addCleanup(self.trace.file.close)
        self.terminals = []

    def tearDown(self):
        for terminal in self.terminals:
            if terminal.process.poll() is None:
                terminal.process.kill()
                terminal.wait()

    def on_terminal(self, *args, **how):
        terminal = OnTerminal(self.work, "trace", "-i", self.invariants, "-o", "report", "--overwrite", *args, **how)
        self.terminals.append(terminal)
        return terminal

    def end(self, terminal, code):
        self.trace.end()
        self.assertEqual(terminal.wait(), code, terminal.text)

    def assert_nothing_drawn(self, terminal):
        self.assertNotIn("steps/s", terminal.text)
        self.assertNotIn("\x1b[K", terminal.text)
        self.assertNotIn("\x1b[J", terminal.text)

    def test_drawn_and_redrawn(self):
        terminal = self.on_terminal()
        at = terminal.wait_for(r"\r\x1b\[Kstep 2  0\.0 steps/s  0 findings  lag 0\.0 s\r")
        more_steps(self.trace, 1200)
        # Steps are counted every 250 ms: a line that is drawn in between knows no pace yet.
        at = terminal.wait_for(r"\r\x1b\[Kstep 1,202  (?!0\.0 )[\d,.]+ steps/s  0 findings  lag 0\.0 s\r", at)
        more_steps(self.trace, 1, broken_from=0)
        terminal.wait_for(r"step 1,203  [\d,.]+ steps/s  \d findings?  lag 0\.0 s\r", at)
        self.end(terminal, 1)
        self.assertLess(max(map(len, terminal.drawn())), 80)
        self.assertNotIn("\n", "".join(terminal.drawn()))

    def test_erased_before_other_lines_and_at_the_end(self):
        terminal = self.on_terminal("--color", "never")
        at = terminal.wait_for(re.escape(ERASE) + "step 2  ")
        more_steps(self.trace, 1, broken_from=0)
        at = terminal.wait_for("expected: ", at)
        terminal.wait_for(re.escape(ERASE) + "step 3  ", at)
        self.end(terminal, 1)
        erased = re.escape(ERASE)
        self.assertRegex(terminal.text, erased + r"step 2  [^\r]+\r" + erased + r"\S[^\r\n]*  step \d")  # the violation
        self.assertRegex(terminal.text, erased + r"step \d  [^\r]+\r" + erased + "traincheck-onlinecheck: read ")
        for row in rows(terminal.text):
            self.assertNotIn("steps/s", row)
        piped = live.run("onlinecheck", "trace", "-i", self.invariants, "-o", "piped", cwd=self.work)
        told = piped.stdout.decode().splitlines()
        self.assertEqual(rows(terminal.text)[:len(told)], told)

    def test_steps_of_a_restarted_job(self):
        """The process that was restarted had come further than its successor."""
        self.trace.file.close()
        (self.work / "trace" / "trace_host_r-_p100.jsonl").unlink()
        write_loop(self.work / "trace", steps=9, rank=0, world=1, end=False).file.close()
        terminal = self.on_terminal()
        at = terminal.wait_for("step 8  ")
        self.trace = write_loop(self.work / "trace", steps=3, rank=0, world=1, pid=200, end=False, restart=1,
                                unix_ns=1_700_000_010_000_000_000)
        terminal.wait_for("step 2  ", at)
        self.end(terminal, 0)

    def test_no_more_than_some_times_a_second(self):
        terminal = self.on_terminal()
        terminal.wait_for("steps/s")
        begin, n = time.monotonic(), len(terminal.drawn())
        while time.monotonic() < begin + 1:
            more_steps(self.trace, 1)
            time.sleep(0.01)
        self.assertIn(len(terminal.drawn()) - n, range(2, 6))
        self.end(terminal, 0)

    def test_narrow_terminals(self):
        terminal = self.on_terminal(columns=40)
        at = terminal.wait_for(r"\r\x1b\[Kstep 2  0\.0 steps/s  0 findings\r")
        set_columns(terminal.ours, 80)
        at = terminal.wait_for("findings  lag 0.0 s\r", at)
        set_columns(terminal.ours, 15)  # by now the terminal shows the line on four rows
        at = terminal.wait_for(r"\r\x1b\[Jstep 2\r\r\x1b\[K", at)
        set_columns(terminal.ours, 5)
        at = terminal.wait_for(r"step\r", at)
        set_columns(terminal.ours, 1)
        at = terminal.wait_for(r"\r\x1b\[K\r\x1b\[K|\r\x1b\[J", at)
        self.end(terminal, 0)

    def test_not_drawn(self):
        for term, args in ("xterm", ["-q"]), ("xterm", ["-q", "--progress"]), ("dumb", []), ("", []), (None, []):
            with self.subTest(term=term, args=args):
                terminal = self.on_terminal(*args, term=term)
                time.sleep(0.7)
                terminal.process.send_signal(signal.SIGINT)
                self.assertEqual(terminal.wait(), 130)
                self.assert_nothing_drawn(terminal)

    def test_not_drawn_in_the_background(self):
        """The terminal belongs to another group of processes, as after `traincheck-onlinecheck ... &`."""
        leader = ("import fcntl, os, subprocess, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
                  "sys.exit(subprocess.Popen(sys.argv[1:], preexec_fn=os.setpgrp).wait())")
        terminal = self.on_terminal(command=(sys.executable, "-c", leader), start_new_session=True)
        time.sleep(1)
        self.end(terminal, 0)
        self.assert_nothing_drawn(terminal)
        self.assertIn("traincheck-onlinecheck: read ", terminal.text)

    def test_commands_have_the_terminal(self):
        """What --on-violation prints does not mix with the line."""
        terminal = self.on_terminal("--on-violation", "sleep 1; echo said >&2; sleep 0.3")
        at = terminal.wait_for("step 2  ")
        more_steps(self.trace, 1, broken_from=0)
        at = terminal.wait_for("expected: ", at)
        at_said = terminal.wait_for("said\r\n", at)
        self.assertNotIn("steps/s", terminal.text[at:at_said])
        terminal.wait_for("steps/s", at_said)
        self.end(terminal, 1)
        self.assertIn("said", rows(terminal.text))

    def test_nothing_of_it_on_a_pipe(self):
        checker = self.follow("trace", "-i", self.invariants, "-o", "report")
        time.sleep(0.7)
        more_steps(self.trace, 1, broken_from=0)
        checker.wait_for(checker.out, "expected: ")
        self.trace.end()
        self.assertEqual(checker.wait(), 1)
        for text in checker.stdout(), checker.stderr():
            self.assertNotIn("steps/s", text)
            self.assertNotIn("\r", text)
            self.assertNotIn("\x1b", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    live.unittest.main(argv=[sys.argv[0], *rest])
