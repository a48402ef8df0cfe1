# SPDX-License-Identifier: Apache-2.0
"""The scripts of examples/cluster on the real engines: each writes the bytes that one machine writes.

usage: test_engines.py --bin BUILD/bin Processes|Dask|Ray|Mpi|Slurm|Spark

Run by an interpreter that has the engine: build/engines.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import fleet
import libtraincheck
import live
import slurm_loopback
from live import write_loop

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "cluster"


class Engine(fleet.Case):
    def environment(self, **more):
        """A home of their own, as engines write settings and tokens there."""
        return {**os.environ, "HOME": str(self.work), "RAY_USAGE_STATS_ENABLED": "0", **more}

    def run_example(self, name, *arguments, before=(), **environment):
        command = [*(before or [sys.executable]), EXAMPLES / f"{name}.py", *arguments, *self.traces]
        p = subprocess.run(list(map(str, command)), env=self.environment(**environment), capture_output=True, text=True,
                           timeout=4 * fleet.PATIENCE)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        self.assertRegex(p.stdout, f"<Learned: .* of {self.N} pipelines, in fleet.jsonl>")

    def assert_fleet_is_one_machine(self):
        self.assert_same_bytes(self.one_machine(), "fleet.jsonl")


class Processes(Engine):
    def test_bytes(self):
        self.run_example("on_processes", 2, "fleet.jsonl")
        self.assert_fleet_is_one_machine()


class Dask(Engine):
    def test_bytes(self):
        self.run_example("on_dask", 2, "fleet.jsonl")
        self.assert_fleet_is_one_machine()

    def test_a_worker_is_killed(self):
        """Of four, in the midst of its work; Dask says so in its log, and the result is the same."""
        from dask.distributed import Client, LocalCluster

        self.traces = [f"long{i}" for i in range(16)]
        for trace in self.traces:
            write_loop(pathlib.Path(trace), steps=600)
        expected, killed = self.one_machine(specific=True), []
        with LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            client.wait_for_workers(4)

            def kill_one(done, *_):
                if done == 1:
                    processing = client.processing()
                    busy = [worker for worker in cluster.workers.values() if processing.get(worker.worker_address)]
                    killed.append(busy[0].pid)
                    os.kill(busy[0].pid, signal.SIGKILL)

            libtraincheck.infer(self.traces, "fleet.jsonl", executor=client.get_executor(), specific=True, progress=kill_one)
            removed = [event for _, event in client.get_events("all") if event.get("action") == "remove-worker"]
        self.assertEqual(len(killed), 1)
        self.assertTrue(removed and removed[0]["processing-tasks"], removed)  # what it had was done by others
        self.assert_same_bytes(expected, "fleet.jsonl")

    def test_a_check(self):
        from dask.distributed import Client, LocalCluster

        self.one_machine()
        write_loop(pathlib.Path("broken"), broken_from=3)
        traces = [*self.traces[:3], "broken"]
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            reports = libtraincheck.check(traces, "one.jsonl", executor=client.get_executor())
        self.assertEqual(reports, [libtraincheck.check(trace, "one.jsonl") for trace in traces])


class Ray(Engine):
    def test_bytes(self):
        self.run_example("on_ray", 2, "fleet.jsonl", RAY_TMPDIR=str(self.work / "ray"))
        self.assert_fleet_is_one_machine()


class Mpi(Engine):
    def test_bytes(self):
        self.run_example("on_mpi", "fleet.jsonl", before=("mpiexec", "--oversubscribe", "-n", 3, sys.executable, "-m", "mpi4py.futures"),
                         OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.assert_fleet_is_one_machine()


class Slurm(Engine):
    def start(self, more=""):
        cluster = slurm_loopback.Loopback(self.work / "slurm", more)
        cluster.folder.mkdir()
        cluster.start()
        self.addCleanup(cluster.stop)
        return cluster

    def test_the_epilog_checks_the_job_that_has_ended(self):
        """slurmctld runs it itself, of a job whose weights stop to change."""
        libtraincheck.infer(self.traces, "one.jsonl", specific=True)
        write_loop(self.work / "broken", broken_from=3)
        for name in ("runs", "checks", "metrics"):
            (self.work / name).mkdir()
        epilog, job = self.work / "epilog", self.work / "job"
        epilog.write_text(f"#!/bin/sh\nexport PATH={live.BIN}:$PATH TRACES={self.work}/runs CHECKS={self.work}/checks "
                          f"METRICS={self.work}/metrics INVARIANTS={self.work}/one.jsonl\nexec {EXAMPLES.parent}/monitoring/epilog.sh\n")
        job.write_text(f"#!/bin/sh\ncp -r {self.work}/broken {self.work}/runs/$SLURM_JOB_ID\n")
        for script in (epilog, job):
            script.chmod(0o755)
        cluster = self.start(f"EpilogSlurmctld={epilog}\n")
        number = cluster.command("sbatch", "--parsable", f"--output={self.work}/log", str(job)).strip()
        metrics, end = self.work / "metrics" / f"traincheck_{number}.prom", time.monotonic() + fleet.PATIENCE
        while not metrics.exists():
            self.assertLess(time.monotonic(), end, (cluster.folder / "slurmctld.log").read_text()[-2000:])
            time.sleep(0.1)
        self.assertRegex(metrics.read_text(), f'traincheck_findings{{run="{number}"}} [1-9]')
        self.assertTrue((self.work / "checks" / number / "report.html").exists())

    def test_bytes(self):
        cluster = self.start()
        self.run_example("on_slurm", self.work / "logs", "fleet.jsonl", **cluster.environment)
        self.assert_fleet_is_one_machine()
        self.assertRegex((cluster.folder / "slurmctld.log").read_text(), r"sched: Allocate JobId=\d+ ")  # its end may be logged after the result is there


class Spark(Engine):
    def test_bytes(self):
        self.run_example("on_spark", "fleet.jsonl", SPARK_MASTER="local[2]", SPARK_LOCAL_IP="127.0.0.1")
        self.assert_fleet_is_one_machine()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
