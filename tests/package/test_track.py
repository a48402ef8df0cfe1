# SPDX-License-Identifier: Apache-2.0
"""--track: what reaches W&B, MLflow and TensorBoard, read back from their own files; nothing goes over a network.

usage: test_track.py --bin BUILD/bin [--integrations ENVIRONMENT]

ENVIRONMENT is a virtual one with wandb, mlflow-skinny and tensorboard. Without it only the failures are tested.
"""

import argparse
import base64
import gzip
import http.server
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import unittest

import libtraincheck
import live
from live import more_steps, write_loop

TRACKERS = None
READ_EVENTS = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1]); events.Reload()
print(json.dumps([[e.step, e.value] for e in events.Scalars("traincheck/violations")]))
tags = [tag for tag in events.Tags()["tensors"]]
print(json.dumps([events.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in tags]))
"""
READ_OTLP = """
import base64, json, sys
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest as Metrics
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as Traces
def pairs(attributes): return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}
spans, metrics = [], {}
for path, body in json.load(sys.stdin):
    body = base64.b64decode(body)
    if path == "/v1/traces":
        for rs in Traces.FromString(body).resource_spans:
            for s in (span for scope in rs.scope_spans for span in scope.spans):
                spans.append({"name": s.name, "trace": s.trace_id.hex(), "parent": s.parent_span_id.hex(), "status": s.status.code,
                    "attributes": pairs(s.attributes), "resource": pairs(rs.resource.attributes), "events": [pairs(e.attributes) for e in s.events]})
    else:
        for rm in Metrics.FromString(body).resource_metrics:
            for m in (metric for scope in rm.scope_metrics for metric in scope.metrics):
                metrics[m.name] = m.gauge.data_points[-1].as_int
print(json.dumps([spans, metrics]))
"""


class Collector:
    """Stands in for a collector of OpenTelemetry: got has the path and the body of each request, gzip undone."""

    def __enter__(self):
        got = self.got = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                got.append((self.path, base64.b64encode(body).decode()))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Track(live.Case):
    def setUp(self):
        super().setUp()
        self.invariants = self.learn_loop()
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.work), "WANDB_MODE": "offline", "WANDB_SILENT": "true",
                    "MLFLOW_TRACKING_URI": f"file://{self.work}/mlruns", "MLFLOW_ALLOW_FILE_STORE": "true",
                    "TRAINCHECK_TRACK_WAIT": "600",
                    "VIRTUAL_ENV": str(TRACKERS or self.work)}

    def run_tool(self, tool, *more):
        command = [live.BIN / f"traincheck-{tool}", "trace", "-i", self.invariants, "-o", "report", *more]
        return subprocess.run([str(part) for part in command], cwd=self.work, env=self.env, capture_output=True, text=True,
                              timeout=700)

    # ---- what fails

    def test_a_tracker_that_is_not_there(self):
        write_loop(self.work / "trace", steps=13, broken_from=3)
        (self.work / "bin").mkdir()
        (self.work / "bin/python").symlink_to(sys.executable)
        self.env |= {"VIRTUAL_ENV": str(self.work), "PYTHONPATH": str(self.work / "hidden")}
        (self.work / "hidden").mkdir()
        (self.work / "hidden/wandb.py").write_text("raise ModuleNotFoundError(\"No module named 'wandb'\")\n")
        for tool in ("check", "onlinecheck"):
            p = self.run_tool(tool, "--track", "wandb")
            self.assertEqual(p.returncode, 1, p.stderr)
            self.assertIn("--track wandb: ModuleNotFoundError: No module named 'wandb'; install it for", p.stderr)
            self.assertIn("the check does not depend on it", p.stderr)
            self.assertTrue((self.work / "report/violations.jsonl").read_text())

    def test_a_python_that_is_none(self):
        write_loop(self.work / "trace")
        (self.work / "bin").mkdir()
        (self.work / "bin/python").write_text("#!/bin/sh\nexit 3\n")
        (self.work / "bin/python").chmod(0o755)
        self.env["VIRTUAL_ENV"] = str(self.work)
        p = self.run_tool("check", "--track", "mlflow")
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn("the tracker failed", p.stderr)

    def test_an_unknown_tracker(self):
        p = self.run_tool("check", "--track", "comet")
        self.assertEqual(p.returncode, 2)
        self.assertIn("no tracker is named 'comet'; there are wandb, mlflow, tensorboard, otel", p.stderr)

    # ---- what is told

    STAND_IN = """
        import json, pathlib, sys
        sys.path.insert(0, {package!r})
        import track
        class Said:
            def __init__(self, trace, folder): self.lines = []
            def __getattr__(self, name): return lambda *args: self.lines.append([name, *args])
            def finish(self, violations, summary, page): self.lines.append(["finish", [v["id"] for v in violations]])
            def close(self): pathlib.Path("said.json").write_text(json.dumps(self.lines))
        track.TRACKERS["wandb"] = Said
        track.main()
    """

    def said(self, lines):
        """What a tracker is told: each call with its arguments."""
        script = self.work / "stand_in.py"
        script.write_text(textwrap.dedent(self.STAND_IN.format(package=os.path.dirname(libtraincheck.__file__) + "/")))
        p = subprocess.run([sys.executable, script, "--tracker", "wandb", "--trace", "trace", "--output-dir", "report"], cwd=self.work,
                           input="".join(json.dumps(line) + "\n" for line in lines), capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr)
        return json.loads((self.work / "said.json").read_text())

    def test_a_finding_is_told_once(self):
        """Also one that has grown at the end; a new one at the end is told then."""
        write_loop(self.work / "trace", steps=16, broken_from=3)
        self.run_tool("check")
        (finding,), violations = self.findings(), self.violations()
        self.assertGreater(len(violations), 1)
        early = {**finding, "violations": finding["violations"][:1], "n_violations": 1}
        for lines, told in (([early, violations[0], "reports"], early), (["reports"], finding), ([early, early, "reports"], early)):
            calls = self.said(lines)
            self.assertEqual([args for name, *args in calls if name == "tell"], [[told]])
            self.assertEqual(sorted({args[1] for name, *args in calls if name == "count"}), list(range(len(violations) + 1)))
            self.assertEqual(calls[-1], ["finish", [v["id"] for v in violations]])

    def test_words_of_findings(self):
        from libtraincheck import track
        departure = {"at": "train.py:4", "sentence": "zero_grad() is no longer called", "when": "from step 0 on", "n_violations": 2,
                     "told": [{"id": "AS-1", "seen": "it was called 0 times"}],
                     "lines": [{"sign": "-", "line": 4, "text": "    optimizer.zero_grad()"}]}
        self.assertEqual(track.headline(departure), "train.py:4: zero_grad() is no longer called, from step 0 on")
        self.assertEqual(track.text_of(departure), "train.py:4: zero_grad() is no longer called, from step 0 on\n\n"
                         "    -    4      optimizer.zero_grad()\n\nSo: it was called 0 times (AS-1)\n\n2 broken invariants")
        violation = {"sentence": "it changed nothing", "hint": "Is it frozen?", "n_violations": 1, "told": []}
        self.assertEqual(track.text_of(violation), "it changed nothing\n\nLook at: Is it frozen?\n\n1 broken invariant")

    # ---- what arrives

    def violations(self):
        return [json.loads(line) for line in (self.work / "report/violations.jsonl").read_text().splitlines()]

    def findings(self):
        return [json.loads(line) for line in (self.work / "report/findings.jsonl").read_text().splitlines()]

    def assert_tensorboard(self):
        out = subprocess.run([TRACKERS / "bin/python", "-c", READ_EVENTS, self.work / "report/tensorboard"],
                             capture_output=True, text=True, check=True).stdout.splitlines()
        scalars, texts = map(json.loads, out)
        violations = self.violations()
        self.assertEqual([n for _, n in scalars], list(range(len(violations) + 1)))
        self.assertEqual([scalars[i][0] for i in (0, 1, -1)], [0, 3, max(v["last_step"] for v in violations)])
        self.assertEqual(len(texts), len(self.findings()))
        for finding in self.findings():
            self.assertTrue(any(finding["sentence"] in text for text in texts), texts)

    def assert_mlflow(self):
        runs = [path.parent for path in self.work.glob("mlruns/*/*/meta.yaml")]
        self.assertEqual(len(runs), 1)
        self.assertEqual((runs[0] / "tags/traincheck.verdict").read_text(), "failed")
        lines = (runs[0] / "metrics/traincheck/violations").read_text().splitlines()
        self.assertEqual([line.split()[1:] for line in lines][:2], [["0.0", "0"], ["1.0", "3"]])
        self.assertEqual(len(lines), len(self.violations()) + 1)
        first = self.findings()[0]
        self.assertEqual((runs[0] / "tags/traincheck.findings").read_text(), str(len(self.findings())))
        self.assertEqual((runs[0] / "tags/traincheck.finding.1").read_text(), f"{first['at']}: {first['sentence']}, {first['when']}")
        told = (runs[0] / "tags/mlflow.note.content").read_text()
        for said in (first["sentence"], first["hint"], first["told"][0]["seen"]):
            self.assertIn(said, told)
        self.assertIn("status: 4\n", (runs[0] / "meta.yaml").read_text())  # FAILED
        self.assertIn("TrainCheck", (runs[0] / "artifacts/report.html").read_text())

    def assert_wandb(self):
        store = next(self.work.glob("wandb/offline-run-*/run-*.wandb")).read_bytes()
        for finding in self.findings():
            self.assertIn(b"TrainCheck: " + finding["sentence"].encode()[:40], store)
        table = json.loads(next(self.work.glob("wandb/offline-run-*/files/media/table/**/*.json")).read_text())
        self.assertEqual({row[table["columns"].index("id")] for row in table["data"]}, {v["id"] for v in self.violations()})

    def assert_all(self):
        self.assert_tensorboard()
        self.assert_mlflow()
        self.assert_wandb()

    @unittest.skipUnless("--integrations" in sys.argv, "no environment with the trackers")
    def test_check(self):
        write_loop(self.work / "trace", steps=13, broken_from=3)
        p = self.run_tool("check", "--track", "wandb,mlflow,tensorboard")
        self.assertEqual(p.returncode, 1, p.stderr)
        self.assertNotIn("--track", p.stderr)
        self.assert_all()

    @unittest.skipUnless("--integrations" in sys.argv, "no environment with the trackers")
    def test_otel(self):
        """What a collector gets; one that stands in for it reads what the SDK's own messages say."""
        write_loop(self.work / "trace", steps=13, broken_from=3)
        with Collector() as collector:
            self.env |= {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_RESOURCE_ATTRIBUTES": "cluster=one",
                         "TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
            p = self.run_tool("check", "--track", "otel")
        self.assertEqual(p.returncode, 1, p.stderr)
        self.assertNotIn("--track", p.stderr)
        read = subprocess.run([TRACKERS / "bin/python", "-c", READ_OTLP], input=json.dumps(collector.got), capture_output=True,
                              text=True, check=True)
        spans, metrics = json.loads(read.stdout)
        ((span,), (first, *_)) = spans, self.findings()
        self.assertEqual((span["name"], span["trace"], span["parent"], span["status"]),
                         ("traincheck", "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", 2))
        self.assertEqual((span["resource"]["service.name"], span["resource"]["cluster"]), ("traincheck", "one"))
        self.assertEqual((span["attributes"]["traincheck.run"], span["attributes"]["traincheck.findings"]), ("trace", len(self.findings())))
        self.assertEqual([event["traincheck.sentence"] for event in span["events"]], [f["sentence"] for f in self.findings()])
        self.assertEqual((span["events"][0]["traincheck.at"], span["events"][0]["traincheck.step"]), (first["at"], first["step"]))
        self.assertEqual((metrics["traincheck.findings"], metrics["traincheck.violations"]), (len(self.findings()), len(self.violations())))

    @unittest.skipUnless("--integrations" in sys.argv, "no environment with the trackers")
    def test_otel_says_how_a_live_check_stands(self):
        t = write_loop(self.work / "trace", steps=7, end=False)
        with Collector() as collector:
            os.environ.update(self.env | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_METRIC_EXPORT_INTERVAL": "200"})
            checker = self.follow("trace", "-i", self.invariants, "-o", "report", "--track", "otel")
            end = live.time.monotonic() + 240
            seen = {}
            while "traincheck.lag" not in seen and live.time.monotonic() < end:
                live.time.sleep(0.2)
                read = subprocess.run([TRACKERS / "bin/python", "-c", READ_OTLP], input=json.dumps(list(collector.got)),
                                      capture_output=True, text=True, check=True)
                seen = json.loads(read.stdout)[1]
            t.end()
            checker.process.wait(240)
        self.assertEqual(seen.get("traincheck.step"), 6, seen)
        self.assertGreaterEqual(seen["traincheck.lag"], 0)

    @unittest.skipUnless("--integrations" in sys.argv, "no environment with the trackers")
    def test_mlflow_skinny_has_no_database(self):
        """Which is what MLflow takes where nothing is said: the line names what helps."""
        write_loop(self.work / "trace", steps=13, broken_from=3)
        del self.env["MLFLOW_TRACKING_URI"]
        p = self.run_tool("check", "--track", "mlflow")
        self.assertEqual(p.returncode, 1, p.stderr)
        self.assertIn("; mlflow-skinny reaches servers, by MLFLOW_TRACKING_URI: for a database install mlflow\n", p.stderr)
        self.assertTrue((self.work / "report/violations.jsonl").read_text())

    @unittest.skipUnless("--integrations" in sys.argv, "no environment with the trackers")
    def test_the_job_keeps_its_run(self):
        write_loop(self.work / "trace", steps=13, broken_from=3)
        start = "import mlflow; print(mlflow.start_run().info.run_id)"
        job = subprocess.run([TRACKERS / "bin/python", "-c", start], env=self.env, capture_output=True, text=True, check=True)
        (meta,) = self.work.glob("mlruns/*/*/meta.yaml")
        before = meta.read_text()
        self.env["MLFLOW_RUN_ID"] = job.stdout.split()[-1]
        p = self.run_tool("check", "--track", "mlflow")
        self.assertEqual(p.returncode, 1, p.stderr)
        self.assertEqual(meta.read_text(), before)
        self.assertEqual((meta.parent / "tags/traincheck.verdict").read_text(), "failed")
        self.assertFalse((meta.parent / "tags/mlflow.note.content").exists())

    @unittest.skipUnless("--integrations" in sys.argv, "no environment with the trackers")
    def test_onlinecheck_while_the_run_goes_on(self):
        t = write_loop(self.work / "trace", steps=3, end=False)
        os.environ.update(self.env)
        checker = self.follow("trace", "-i", self.invariants, "-o", "report", "--json", "--track",
                              "wandb,mlflow,tensorboard")
        more_steps(t, 10, broken_from=3)
        checker.wait_for(checker.out, "at least one")
        metric = "mlruns/*/*/metrics/traincheck/violations"
        end = live.time.monotonic() + 240
        while not list(self.work.glob(metric)) and live.time.monotonic() < end:
            live.time.sleep(0.05)
        self.assertTrue(list(self.work.glob(metric)))
        self.assertIsNone(checker.process.poll())
        t.end()
        self.assertEqual(checker.process.wait(240), 1, checker.stderr())
        self.assertNotIn("--track", checker.stderr())
        self.assert_all()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--integrations", type=pathlib.Path)
    options, rest = parser.parse_known_args()
    live.BIN, TRACKERS = options.bin.resolve(), options.integrations
    unittest.main(argv=[sys.argv[0], *rest])
