# SPDX-License-Identifier: Apache-2.0
"""infer and check on executors of Python itself: what they give is what one machine gives, whatever is lost on the way.

usage: test_fleet.py --bin BUILD/bin
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys
import threading
import unittest
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import fleet
import libtraincheck
import live
from libtraincheck import _fleet, _workers
from live import write_loop


class Learning(fleet.Case):
    N = 40  # more than FAN_IN twice, so that merges are merged

    def test_the_file_is_that_of_one_machine(self):
        self.assertGreater(self.N, 2 * _fleet.FAN_IN)
        held_out = self.traces[-3:]
        self.traces = self.traces[:-3]
        with ProcessPoolExecutor(2) as executor:
            for kwargs in ({}, {"specific": True}, {"validate": held_out}, {"min_support": 20, "min_pipelines": 3}):
                for chunksize in (1, 7):
                    with self.subTest(chunksize=chunksize, **kwargs):
                        expected = self.one_machine(**kwargs)
                        learned = libtraincheck.infer(reversed(self.traces), "fleet.jsonl", executor=executor,
                                                      chunksize=chunksize, **kwargs)
                        self.assert_same_bytes(expected, "fleet.jsonl")
                        self.assertEqual(b"excerpt" in expected, "specific" in kwargs)
                        one = libtraincheck.infer(self.traces, "one.jsonl", **kwargs)
                        for field in ("invariants", "pipelines", "records", "per_relation", "dropped"):
                            self.assertEqual(getattr(learned, field), getattr(one, field), field)

    def test_parts_merge_in_any_order(self):
        expected = self.one_machine()
        parts = [libtraincheck.evidence(self.traces[i::3]) for i in range(3)]
        whole = libtraincheck.merge([libtraincheck.merge(parts[:2]), parts[2]])
        self.assertEqual(whole, libtraincheck.merge(reversed(parts)))
        pathlib.Path("all.tce").write_bytes(whole)
        libtraincheck.infer("all.tce", "merged.jsonl")
        self.assert_same_bytes(expected, "merged.jsonl")

    def test_a_trace_given_twice_is_one(self):
        with ThreadPoolExecutor(2) as executor:
            learned = libtraincheck.infer([*self.traces, self.work / "t0", "./t1/"], "fleet.jsonl", executor=executor)
        self.assertEqual(learned.pipelines, self.N)

    def test_an_executor_that_loses_a_worker_is_made_anew(self):
        expected = self.one_machine()
        mark, made = self.work / "mark", []

        def make():
            made.append(fleet.Murderer(ProcessPoolExecutor(3), mark, 5))
            return made[-1]

        libtraincheck.infer(self.traces, "fleet.jsonl", executor=make)
        self.assertRegex(mark.read_text(), r"pid \d+ is killed at ")
        self.assertEqual(len(made), 2)
        self.assert_same_bytes(expected, "fleet.jsonl")

    def test_an_executor_that_cannot_be_made_anew(self):
        with ProcessPoolExecutor(2) as executor:
            with self.assertRaisesRegex(libtraincheck.TrainCheckError, "give a function that makes one"):
                libtraincheck.infer(self.traces, "fleet.jsonl", executor=fleet.Murderer(executor, self.work / "mark", 2))
        self.assertFalse(pathlib.Path("fleet.jsonl").exists())

    def test_what_is_lost_again_and_again_is_an_error(self):
        class Careless:
            n = 0

            def submit(self, *_):
                self.n += 1
                future = concurrent.futures.Future()
                future.set_exception(OSError("the node is down"))
                return future

        executor = Careless()
        with self.assertRaisesRegex(libtraincheck.TrainCheckError, "t0: lost by its worker 4 times: the node is down"):
            libtraincheck.infer("t0", "fleet.jsonl", executor=executor)
        self.assertEqual(executor.n, _workers.ATTEMPTS)

    def test_futures_of_another_kind(self):
        """Those of submitit have done() and result(), and no more."""
        class Job:
            def __init__(self, future):
                self.done, self.result, self.cancel = future.done, future.result, future.cancel

        class Cluster:
            def __init__(self, executor):
                self.executor = executor

            def submit(self, *call):
                return Job(self.executor.submit(*call))

        expected = self.one_machine()
        with ThreadPoolExecutor(2) as executor:
            libtraincheck.infer(self.traces, "fleet.jsonl", executor=Cluster(executor))
        self.assert_same_bytes(expected, "fleet.jsonl")

    def test_errors_are_those_of_one_machine(self):
        (self.work / "text").mkdir()
        with ProcessPoolExecutor(2) as executor:
            with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
                libtraincheck.infer([*self.traces, "nowhere"], "fleet.jsonl", executor=executor)
            for kwargs, error, text in (({"validate": "t3"}, libtraincheck.TrainCheckError, "t3 is learned from"),
                                        ({"chunksize": 0}, ValueError, "chunksize: 0")):
                with self.assertRaisesRegex(error, text):
                    libtraincheck.infer(self.traces, "fleet.jsonl", executor=executor, **kwargs)
            with self.assertRaisesRegex(FileNotFoundError, "there is no folder no/where"):
                libtraincheck.infer(self.traces, "no/where/i.jsonl", executor=executor)
        self.assertEqual([path.name for path in self.work.glob("fleet*")], [])

    def test_progress(self):
        told = []
        with ProcessPoolExecutor(2) as executor:
            libtraincheck.infer(self.traces, "fleet.jsonl", executor=executor, chunksize=9, progress=lambda *done: told.append(done))
        size = sum(path.stat().st_size for trace in self.traces for path in pathlib.Path(trace).iterdir())
        self.assertEqual((told[0], told[-1]), ((0, self.N, 0), (self.N, self.N, size)))
        self.assertEqual(told, sorted(told))
        self.assertEqual(len(told), 6)

    def test_progress_interrupts(self):
        with ProcessPoolExecutor(2) as executor, self.assertRaisesRegex(libtraincheck.TrainCheckError, "interrupted"):
            libtraincheck.infer(self.traces, "fleet.jsonl", executor=executor, progress=lambda i, *_: i < 3)
        self.assertFalse(pathlib.Path("fleet.jsonl").exists())

    def test_a_worker_reads_one_trace_at_a_time(self):
        """Its peak grows with the longest trace, and not with the number of traces."""
        code = ("import resource, sys, libtraincheck\n"
                "libtraincheck.evidence(sys.argv[1:])\n"
                "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)")
        for i in range(8):
            write_loop(self.work / f"long{i}", steps=1500)
        few, many = (int(subprocess.check_output([sys.executable, "-c", code, *(f"long{i}" for i in range(n))])) for n in (1, 8))
        size = sum(path.stat().st_size for path in (self.work / "long0").iterdir()) / 1024
        self.assertGreater(size, 1000)
        self.assertLess(many - few, size)  # kB: less than the text of one of the seven others


class Checking(fleet.Case):
    N = 6

    def setUp(self):
        super().setUp()
        self.one_machine()
        write_loop(pathlib.Path("broken"), broken_from=3)
        self.traces.insert(2, "broken")

    def test_each_report_is_that_of_the_trace_alone(self):
        with ProcessPoolExecutor(2) as executor:
            for chunksize in (1, 4):
                reports = libtraincheck.check(self.traces, "one.jsonl", executor=executor, chunksize=chunksize)
                self.assertEqual(reports, [libtraincheck.check(trace, "one.jsonl") for trace in self.traces])
                self.assertEqual([bool(report) for report in reports], [trace != "broken" for trace in self.traces])

    def test_reports_are_those_of_the_tool(self):
        (self.work / "more").mkdir()
        write_loop(self.work / "more" / "broken", broken_from=4)
        with ProcessPoolExecutor(2) as executor:
            reports = libtraincheck.check(["broken", "t0", "more/broken/"], "one.jsonl", output_dir="out", executor=executor)
        self.assertEqual([report.output_dir for report in reports], ["out/broken", "out/t0", "out/broken.2"])
        for trace, folder in (("broken", "broken"), ("more/broken/", "broken.2")):
            live.run("check", trace, "-i", "one.jsonl", "-o", "alone", "--overwrite", cwd=self.work)
            for name in ("findings.jsonl", "violations.jsonl"):
                self.assertEqual(pathlib.Path("alone", name).read_bytes(), pathlib.Path("out", folder, name).read_bytes())

    def test_a_worker_that_is_killed(self):
        mark = self.work / "mark"
        reports = libtraincheck.check(self.traces, "one.jsonl", executor=lambda: fleet.Murderer(ProcessPoolExecutor(2), mark, 3))
        self.assertTrue(mark.exists())
        self.assertEqual(reports, [libtraincheck.check(trace, "one.jsonl") for trace in self.traces])

    def test_calls_that_wait_are_cancelled(self):
        """What one trace raises does not wait for the others."""
        gate = threading.Event()
        with ThreadPoolExecutor(1) as executor:
            with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
                libtraincheck.check(["nowhere", *self.traces], "one.jsonl", executor=executor)
            executor.submit(gate.set)
            self.assertTrue(gate.wait(fleet.PATIENCE))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    unittest.main(argv=[sys.argv[0]])
