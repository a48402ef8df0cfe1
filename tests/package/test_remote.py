# SPDX-License-Identifier: Apache-2.0
"""Traces that lie elsewhere: paths with a scheme by fsspec, in pieces.

usage: test_remote.py --bin BUILD/bin [--s3]

--s3: on a local S3 (moto), for which s3fs and moto are needed; else in memory (memory://).
"""

import argparse
import dataclasses
import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import fsspec
import libtraincheck
import live
from libtraincheck import _remote
from live import write_loop


class Common:
    """Of self.root, where the traces are put."""

    def setUp(self):
        super().setUp()
        self.before = os.getcwd()
        os.chdir(self.work)
        self.addCleanup(os.chdir, self.before)
        for i in range(3):
            write_loop(pathlib.Path(f"t{i}"), steps=6 + i)
        write_loop(pathlib.Path("broken"), broken_from=3)
        libtraincheck.infer(["t0", "t1", "t2"], "local.jsonl")

    def put(self, *traces):
        filesystem, inner = fsspec.core.url_to_fs(self.root)
        for trace in traces:
            for path in pathlib.Path(trace).iterdir():
                filesystem.pipe_file(f"{inner}/{trace}/{path.name}", path.read_bytes())

    def alike(self, report):
        return json.loads(json.dumps(dataclasses.asdict(report)).replace(f"{self.root}/", ""))

    def test_a_check_is_that_of_a_local_trace(self):
        self.put("t0", "broken")
        for trace in ("t0", "broken"):
            here, there = libtraincheck.check(trace, "local.jsonl"), libtraincheck.check(f"{self.root}/{trace}", "local.jsonl", output_dir="out")
            self.assertEqual({**self.alike(there), "output_dir": None}, self.alike(here))
            self.assertTrue(pathlib.Path("out", "report.html").exists())
        self.assertEqual(len(here.findings), 1)

    def test_what_is_learned_is_the_same_bytes(self):
        self.put("t0", "t1", "t2")
        libtraincheck.infer([f"{self.root}/t{i}" for i in range(3)], "remote.jsonl")
        self.assertEqual(pathlib.Path("remote.jsonl").read_bytes(), pathlib.Path("local.jsonl").read_bytes())

    def test_records(self):
        self.put("t1")
        self.assertEqual(list(libtraincheck.read(f"{self.root}/t1")), list(libtraincheck.read("t1")))

    def test_runs_are_compared(self):
        self.put("t0", "broken")
        comparison = libtraincheck.compare(f"{self.root}/broken", [f"{self.root}/t0"])
        self.assertEqual([str(d) for d in comparison.differences], [str(d) for d in libtraincheck.compare("broken", ["t0"]).differences])

    def test_a_file_that_changed_since(self):
        self.put("t0")
        self.assertTrue(libtraincheck.check(f"{self.root}/t0", "local.jsonl"))
        for path in pathlib.Path("broken").iterdir():
            pathlib.Path("t0", path.name).write_bytes(path.read_bytes())
        self.put("t0")
        self.assertFalse(libtraincheck.check(f"{self.root}/t0", "local.jsonl"))

    def test_there_is_none(self):
        for path in ("nowhere", "t0/trace_host_r-_p9.jsonl"):
            with self.assertRaises(FileNotFoundError):
                libtraincheck.check(f"{self.root}/{path}", "local.jsonl")

    def test_it_is_read_in_pieces(self):
        """Of no more than a block and what is asked for; nothing is written to this machine."""
        write_loop(pathlib.Path("long"), steps=4000)
        self.put("long")
        size = sum(path.stat().st_size for path in pathlib.Path("long").iterdir())
        temporary = self.work / "temporary"
        temporary.mkdir()
        before, block, pieces = (tempfile.tempdir, sorted(self.work.iterdir())), _remote.BLOCK, self.count_pieces()
        tempfile.tempdir, _remote.BLOCK = str(temporary), 64 << 10
        try:
            report = libtraincheck.check(f"{self.root}/long", "local.jsonl")
        finally:
            tempfile.tempdir, _remote.BLOCK = before[0], block
        self.assertTrue(report)
        self.assertGreater(size, 3 << 20)
        self.assertLessEqual(max(pieces), 256 << 10)
        self.assertLess(sum(pieces), 1.2 * size)  # and each once, but for a few
        self.assertEqual((list(temporary.iterdir()), sorted(self.work.iterdir())), ([], before[1]))

    def test_a_tool_says_who_reads_it(self):
        p = live.run("check", "s3://bucket/t0", "-i", "local.jsonl", cwd=self.work)
        self.assertEqual(p.returncode, 2)
        self.assertIn("s3://bucket/t0: paths with a scheme are read by the Python package alone", p.stderr.decode())


UPLOAD = pathlib.Path(__file__).resolve().parents[2] / "examples" / "cluster" / "upload.py"


class Memory(Common, live.Case):
    root = "memory://runs"

    def setUp(self):
        super().setUp()
        self.addCleanup(fsspec.filesystem("memory").store.clear)

    def count_pieces(self):
        pieces, read = [], _remote._read

        def counted(path, at, size):
            piece = read(path, at, size)
            pieces.append(len(piece))
            return piece

        _remote._read = counted
        self.addCleanup(setattr, _remote, "_read", read)
        return pieces

    def test_what_fails_says_why(self):
        self.put("t0")

        class Broken(OSError):
            pass

        def fail(*_):
            raise Broken("the network is down")

        read, _remote._read = _remote._read, fail
        self.addCleanup(setattr, _remote, "_read", read)
        with self.assertRaisesRegex(OSError, r"memory://runs/t0/\S+: cannot be read at byte 0 \(the network is down\)") as caught:
            libtraincheck.check("memory://runs/t0", "local.jsonl")
        self.assertIsInstance(caught.exception.__cause__, Broken)

    def test_an_upload_while_it_is_written(self):
        """By examples/cluster/upload.py; until SIGTERM, with what came last."""
        trace = write_loop(pathlib.Path("going"), steps=3, end=False)
        upload = subprocess.Popen([sys.executable, UPLOAD, "going", f"file://{self.work}/bucket/going"])
        self.addCleanup(upload.kill)
        end = live.time.monotonic() + live.PATIENCE
        while not pathlib.Path("bucket/going").exists():
            self.assertLess(live.time.monotonic(), end)
            live.time.sleep(0.05)
        live.more_steps(trace, 3)
        trace.end()
        upload.send_signal(signal.SIGTERM)
        self.assertEqual(upload.wait(live.PATIENCE), 0)
        for path in pathlib.Path("going").iterdir():
            self.assertEqual(pathlib.Path("bucket", "going", path.name).read_bytes(), path.read_bytes())
        self.assertTrue(libtraincheck.check(f"file://{self.work}/bucket/going", "local.jsonl"))

    def test_a_scheme_that_is_not_installed(self):
        with self.assertRaises((ImportError, ValueError, FileNotFoundError)) as caught:
            libtraincheck.check("nosuch://bucket/t0", "local.jsonl")
        self.assertIn("nosuch", str(caught.exception))


class S3(Common, live.Case):
    root = "s3://bucket/runs"

    @classmethod
    def setUpClass(cls):
        from moto.server import ThreadedMotoServer

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        cls.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)
        _, port = cls.server.get_host_and_port()
        os.environ.update(AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none",
                          AWS_DEFAULT_REGION="us-east-1")
        fsspec.filesystem("s3").mkdir("bucket")

    def setUp(self):
        super().setUp()
        filesystem = fsspec.filesystem("s3")
        self.addCleanup(lambda: filesystem.exists("bucket/runs") and filesystem.rm("bucket/runs", recursive=True))

    def count_pieces(self):
        from s3fs import core

        pieces, fetch = [], core.S3File._fetch_range

        def counted(file, start, end):
            pieces.append(end - start)
            return fetch(file, start, end)

        core.S3File._fetch_range = counted
        self.addCleanup(setattr, core.S3File, "_fetch_range", fetch)
        return pieces

    def test_workers_read_it_by_themselves(self):
        self.put("t0", "t1", "t2", "broken")
        traces = [f"{self.root}/{name}" for name in ("t0", "t1", "t2")]
        code = ("import sys, libtraincheck\nfrom concurrent.futures import ProcessPoolExecutor\n"
                "if __name__ == '__main__':\n"
                "    import multiprocessing\n"
                "    context = multiprocessing.get_context('spawn')\n"
                "    libtraincheck.infer(sys.argv[1:], 'fleet.jsonl', executor=lambda: ProcessPoolExecutor(2, mp_context=context))\n")
        pathlib.Path("fleet.py").write_text(code)
        subprocess.run([sys.executable, "fleet.py", *traces], check=True)
        self.assertEqual(pathlib.Path("fleet.jsonl").read_bytes(), pathlib.Path("local.jsonl").read_bytes())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--s3", action="store_true")
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    names = [a for a in rest if not a.startswith("-")] or ["S3" if options.s3 else "Memory"]
    unittest.main(argv=[sys.argv[0], *names])
