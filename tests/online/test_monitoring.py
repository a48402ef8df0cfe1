#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--metrics of a live check, through node_exporter into a real Prometheus with the rules of examples/monitoring.

usage: test_monitoring.py --bin BUILD/bin [TEST...]
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request

import live
from live import more_steps, write_loop

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "monitoring"
CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: node
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Monitoring(live.Case):
    def setUp(self):
        super().setUp()
        self.textfile = self.work / "textfile"
        self.textfile.mkdir()
        exporter, self.port = free_port(), free_port()
        (self.work / "prometheus.yml").write_text(CONFIG.format(rules=EXAMPLES / "alerts.yml", port=exporter))
        self.daemon("prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                    f"--collector.textfile.directory={self.textfile}", f"--web.listen-address=127.0.0.1:{exporter}")
        self.daemon("prometheus", f"--config.file={self.work}/prometheus.yml", f"--storage.tsdb.path={self.work}/data",
                    f"--web.listen-address=127.0.0.1:{self.port}")

    def daemon(self, *command):
        log = (self.work / f"{command[0]}.log").open("wb")
        process = subprocess.Popen([shutil.which(command[0]), *command[1:]], stdout=log, stderr=log, cwd=self.work)
        log.close()
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def ask(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=live.PATIENCE) as answer:
            said = json.load(answer)
        self.assertEqual(said["status"], "success", said)
        return said["data"]

    def value(self, expression):
        """Of the one series, or None."""
        series = self.ask("query", query=expression)["result"]
        return float(series[0]["value"][1]) if series else None

    def alerts(self):
        return {alert["labels"]["alertname"]: alert for alert in self.ask("alerts")["alerts"]}

    def wait_for(self, what, condition):
        end = time.monotonic() + 2 * live.PATIENCE
        while True:
            try:
                if found := condition():
                    return found
            except OSError:  # it does not listen yet
                pass
            if time.monotonic() > end:
                logs = "".join(path.read_text()[-2000:] for path in self.work.glob("*.log"))
                raise AssertionError(f"{what}: not within {2 * live.PATIENCE} s\n{logs}")
            time.sleep(0.2)

    def test_an_alert_fires(self):
        invariants = self.learn_loop()
        checker = self.follow("trace", "-i", invariants, "-o", "report", "--report-interval", "1",
                              "--metrics", self.textfile / "traincheck_trace.prom")
        trace = write_loop(self.work / "trace", steps=3, end=False)
        self.wait_for("the step of the run", lambda: self.value('traincheck_step{run="trace"}') == 2)
        self.assertEqual((self.value("traincheck_running"), self.value("traincheck_findings")), (1, 0))
        self.assertNotIn("TrainCheckFinding", self.alerts())
        more_steps(trace, 6, broken_from=3)
        alert = self.wait_for("the alert", lambda: self.alerts().get("TrainCheckFinding"))
        self.wait_for("that it fires", lambda: self.alerts()["TrainCheckFinding"]["state"] == "firing")
        self.assertEqual((alert["labels"]["run"], alert["labels"]["severity"]), ("trace", "critical"))
        self.assertEqual(alert["annotations"]["summary"], "trace departs from its healthy runs: 1 finding(s)")
        self.assertEqual(set(self.alerts()), {"TrainCheckFinding"})
        for panel in json.loads((EXAMPLES / "dashboard.json").read_text())["panels"]:
            for target in panel["targets"]:
                with self.subTest(panel["title"]):
                    self.assertIsNotNone(self.value(target["expr"]))  # there is something to draw
        trace.end()
        self.assertEqual(checker.wait(), 1)
        self.wait_for("the end of the run", lambda: self.value("traincheck_running") == 0)

    def test_a_damaged_trace(self):
        invariants = self.learn_loop()
        write_loop(self.work / "trace")
        file = next((self.work / "trace").iterdir())
        file.write_text(file.read_text().replace('"step"', '"st\n', 1))
        live.run("check", "trace", "-i", invariants, "-o", "report", "--metrics", self.textfile / "traincheck_trace.prom", cwd=self.work)
        self.assertIn("traincheck_trace_damaged{run=\"trace\"} 1", (self.textfile / "traincheck_trace.prom").read_text())
        self.wait_for("the alert", lambda: self.alerts().get("TrainCheckTraceDamaged", {}).get("state") == "firing")


class Files(live.Case):
    def test_the_epilog(self):
        """As slurmctld calls it: with the job's number, and never another status than 0."""
        invariants = self.learn_loop()
        write_loop(self.work / "runs" / "4711", broken_from=3)
        (self.work / "metrics").mkdir()
        env = {"PATH": f"{live.BIN}:{os.environ['PATH']}", "TRACES": str(self.work / "runs"), "CHECKS": str(self.work / "checks"),
               "METRICS": str(self.work / "metrics"), "INVARIANTS": str(invariants)}
        for job in ("4711", "4712"):
            subprocess.run([EXAMPLES / "epilog.sh"], env={**env, "SLURM_JOB_ID": job}, check=True)
        self.assertEqual([path.name for path in (self.work / "metrics").iterdir()], ["traincheck_4711.prom"])
        self.assertIn('traincheck_findings{run="4711"} 1', (self.work / "metrics" / "traincheck_4711.prom").read_text())
        self.assertTrue((self.work / "checks" / "4711" / "report.html").exists())

    def test_rules(self):
        for command in (("check", "rules", EXAMPLES / "alerts.yml"), ("check", "config", EXAMPLES / "prometheus.yml")):
            subprocess.run(["promtool", *map(str, command)], check=True, capture_output=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    live.BIN = options.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
