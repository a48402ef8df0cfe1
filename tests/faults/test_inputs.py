#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where an option names something that has no end, a bounded part is read and the bound is told.

Nodes are made for the tests: nothing here reads the machine's own.
"""

import os
import pathlib
import resource
import stat
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import runs  # noqa: E402

ZERO, RANDOM = os.makedev(1, 5), os.makedev(1, 9)
MIB = 1 << 20
ROOM = 1536 * MIB  # bytes of address space
IS_SANITIZED = "--sanitized" in sys.argv  # its shadow takes more
SMALL, LARGE = "16 MiB", "256 MiB"


def frame(data):
    """One of zstd, with one block as it is."""
    return b"\x28\xb5\x2f\xfd\xa0" + len(data).to_bytes(4, "little") + (len(data) << 3 | 1).to_bytes(3, "little") + data


class Inputs(runs.Case):
    def setUp(self):
        super().setUp()
        (self.work / "job.py").write_text("print('job')\n")
        # Each option that names a small file: arguments before that name, arguments behind it, exit status, bound.
        self.options = {
            "check -i": (["check", "-q", "run", "-o", "out", "-i"], [], 2, LARGE),
            "check --suppress": (["check", "-q", "run", "-i", "invariants.jsonl", "-o", "out", "--suppress"], [], 2, SMALL),
            "onlinecheck -i": (["onlinecheck", "-q", "run", "-o", "out", "-i"], [], 2, LARGE),
            "infer TCE": (["infer", "-q", "-o", "x.jsonl"], [], 2, None),
            "collect -i": (["collect", "-o", "c", "-i"], ["job.py"], 125, LARGE),
            "collect --apis": (["collect", "-o", "c", "--apis"], ["job.py"], 125, SMALL),
            "collect --config": (["collect", "-o", "c", "--config"], ["job.py"], 125, SMALL),
        }

    def read(self, option, name):
        before, behind, code, bound = self.options[option]

        def limit():
            if not IS_SANITIZED:
                resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))

        p = subprocess.run([str(runs.BIN / f"traincheck-{before[0]}"), *before[1:], name, *behind], cwd=self.work, text=True,
                           capture_output=True, stdin=subprocess.DEVNULL, preexec_fn=limit, timeout=120)
        self.assertEqual(p.returncode, code, f"{option}: {p.stdout}{p.stderr}")
        if bound:
            self.assertIn(f"{name}: more than {bound}, which is the most that is read", p.stderr, option)
        else:
            self.assertRegex(p.stderr, r"no regular file|the most that is read", option)

    def node(self, name, device):
        if os.geteuid() != 0:
            self.skipTest("to make device nodes takes root")
        os.mknod(self.work / name, 0o666 | stat.S_IFCHR, device)

    def test_zeros_without_end(self):
        self.node("zero.tce", ZERO)
        for option in self.options:
            self.read(option, "zero.tce")

    def test_random_bytes_without_end(self):
        self.node("random", RANDOM)
        for option in ("check --suppress", "collect --config"):
            self.read(option, "random")

    def test_hole_of_a_terabyte(self):
        with open(self.work / "hole.tce", "wb") as file:
            file.truncate(1 << 40)
        for option in self.options:
            self.read(option, "hole.tce")

    def test_fifo_without_end(self):
        os.mkfifo(self.work / "fifo")

        def write():
            try:
                with open(self.work / "fifo", "wb", buffering=0) as file:
                    while True:
                        file.write(bytes(MIB))
            except BrokenPipeError:
                pass

        for option in ("check -i", "check --suppress", "collect --config"):
            writer = threading.Thread(target=write)
            writer.start()
            self.read(option, "fifo")
            writer.join()

    def test_fifo_is_read_like_a_file(self):
        os.mkfifo(self.work / "fifo")
        text = (self.work / "invariants.jsonl").read_bytes()
        writer = threading.Thread(target=(self.work / "fifo").write_bytes, args=[text])
        writer.start()
        runs.run("check", "-q", "run", "-i", "fifo", "-o", "out", cwd=self.work, code=0)
        writer.join()

    def test_trace_without_lines(self):
        with open(self.work / "trace_1.jsonl", "wb") as file:
            file.write(b"x" * (65 * MIB))
        with open(self.work / "trace_2.jsonl", "wb") as file:
            file.truncate(1 << 40)
        for name, why in ("trace_1.jsonl", "its first line has more than 64 MiB"), ("trace_2.jsonl", "line 1: byte 1: "):
            p = runs.run("infer", "-q", name, "-o", "x.jsonl", cwd=self.work, code=2)
            self.assertIn(f"not a trace: {why}", p.stderr)

    def test_hole_in_a_trace(self):
        """It is skipped, said, and what stands behind it is read."""
        plain = next((self.work / "run").glob("trace_*.jsonl")).read_bytes()
        lines = plain.splitlines(keepends=True)
        head, rest = b"".join(lines[:-2]), b"".join(lines[-2:])
        for name, before, behind in (("trace_1.jsonl", head, b"\n" + rest), ("trace_1.jsonl.zst", frame(head), frame(rest))):
            folder = self.work / name.replace(".", "_")
            folder.mkdir()
            with open(folder / name, "wb") as file:
                file.write(before)
                file.seek((1 << 40) - len(before), os.SEEK_CUR)
                file.write(behind)
            p = runs.run("check", str(folder), "-i", "invariants.jsonl", "-o", "out", cwd=self.work)
            self.assertRegex(p.stderr, rf"{name}: bytes \d+ to \d+ are a hole in the file and are skipped")
            self.assertIn(f"read {len(lines)} records", p.stderr)
            self.assertNotIn("no end in this trace", p.stderr)

    def test_invariants_in_latin_1(self):
        lines = (self.work / "invariants.jsonl").read_bytes().splitlines(keepends=True)
        at = lines[1].index(b'"relation":"') + len(b'"relation":"')
        lines[1] = lines[1][:at] + b"\xf6" + lines[1][at:]
        for name, data in (("ended", b"".join(lines)), ("not_ended", b"".join(lines[:2])[:-1])):
            (self.work / name).write_bytes(data)
            p = runs.run("check", "-q", "run", "-i", name, "-o", "out", cwd=self.work, code=2)
            self.assertIn(f"{name}:2: column {at + 1}: byte 0xf6: not UTF-8", p.stderr)


if __name__ == "__main__":
    sys.argv = [arg for arg in sys.argv if arg != "--sanitized"]
    runs.main()
