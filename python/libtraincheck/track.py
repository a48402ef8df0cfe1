# SPDX-License-Identifier: Apache-2.0
"""
What a check finds, for Weights & Biases, MLflow, TensorBoard or OpenTelemetry: started by the tools for --track, with any Python.

    python track.py --tracker wandb --trace TRACE --output-dir DIR

It reads findings and violations as lines of JSON from stdin, and after the line `"reports"` what traincheck wrote into DIR.
It stands alone: of libtraincheck nothing is imported, and of a tracker only what was asked for. What fails is reported on
stderr, and by the exit status.
"""

import argparse
import json
import os
import pathlib
import sys
import time
from typing import Any

TAG = "traincheck/violations"
COLUMNS = ("step", "rank", "at", "relation", "expected", "seen", "id", "finding", "count")


def headline(finding):
    what = ", ".join(finding[key] for key in ("sentence", "when") if finding.get(key))
    return f"{finding['at']}: {what}" if finding.get("at") else what


def text_of(finding):
    """With what was edited there, or what to look at, and what follows from it."""
    quote = "\n".join(f"    {line['sign']} {line['line']:4}  {line['text']}" for line in finding.get("lines", ()))
    n = finding["n_violations"]
    parts = [headline(finding), quote, f"Look at: {finding['hint']}" if finding.get("hint") else "",
             *(f"So: {told['seen']} ({told['id']})" for told in finding["told"]), f"{n} broken invariant{'' if n == 1 else 's'}"]
    return "\n\n".join(part for part in parts if part)


class Wandb:
    """An alert for each finding, a metric by step, a table of violations. WANDB_RUN_ID joins the run of the job."""

    def __init__(self, trace, folder):
        import wandb

        self.wandb: Any = wandb
        self.run = wandb.init(project=os.environ.get("WANDB_PROJECT", "traincheck"), job_type="traincheck", resume="allow",
                              name=os.environ.get("WANDB_NAME", f"traincheck {pathlib.Path(trace).name}"))
        self.run.define_metric("traincheck/*", step_metric="traincheck/step")

    def count(self, step, n):
        self.run.log({TAG: n, "traincheck/step": step})

    def tell(self, finding):
        level = self.wandb.AlertLevel.WARN if finding["kind"] in ("remark", "setting") else self.wandb.AlertLevel.ERROR
        self.run.alert(title="TrainCheck: " + finding["sentence"][:200], text=text_of(finding), level=level)

    def finish(self, violations, summary, page):
        rows = [[violation.get(column) for column in COLUMNS] for violation in violations]
        self.run.log({"traincheck/table": self.wandb.Table(columns=list(COLUMNS), data=rows)})
        self.run.summary.update({f"traincheck/{name}": n for name, n in summary["counts"].items()})

    def close(self):
        self.run.finish()


class Mlflow:
    """
    Tags, a metric by step, report.html as an artifact. MLFLOW_RUN_ID joins the run of the job, whose status and description
    stay the job's; a run of its own gets the findings as its description, and fails where the check does.
    """

    def __init__(self, trace, folder):
        import mlflow

        self.mlflow, self.client, self.status = mlflow, mlflow.MlflowClient(), "FINISHED"
        self.joined = os.environ.get("MLFLOW_RUN_ID")
        self.run = self.joined or mlflow.start_run(run_name=f"traincheck {pathlib.Path(trace).name}").info.run_id
        self.client.set_tag(self.run, "traincheck.trace", trace)

    def count(self, step, n):
        self.client.log_metric(self.run, TAG, n, step=step)

    def tell(self, finding):
        pass

    def finish(self, violations, summary, page):
        counts = summary["counts"]
        if counts["failed"]:
            self.status = "FAILED"
        tags = {"traincheck.verdict": "failed" if counts["failed"] else "passed"}
        tags |= {f"traincheck.{name}": n for name, n in counts.items()}
        findings = summary["findings"][:10]
        tags |= {f"traincheck.finding.{i}": headline(finding)[:500] for i, finding in enumerate(findings, 1)}
        if not self.joined:
            tags["mlflow.note.content"] = "\n\n---\n\n".join(map(text_of, findings)) or "Nothing broke."
        for name, value in tags.items():
            self.client.set_tag(self.run, name, value)
        if page.exists():
            self.client.log_artifact(self.run, str(page))

    def close(self):
        if not self.joined:
            self.mlflow.end_run(self.status)


class Tensorboard:
    """A scalar by step and a text for each finding, in TENSORBOARD_LOGDIR or tensorboard/ beside the reports."""

    def __init__(self, trace, folder):
        from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        protos: Any = (event_pb2, summary_pb2, tensor_pb2, types_pb2)  # their classes are made as they are imported
        self.event, self.summary, self.tensor, self.string = protos[0].Event, protos[1], protos[2].TensorProto, protos[3].DT_STRING
        place = os.environ.get("TENSORBOARD_LOGDIR") or str(folder / "tensorboard")
        self.writer = EventFileWriter(place, filename_suffix=".traincheck")

    def add(self, step, value):
        self.writer.add_event(self.event(wall_time=time.time(), step=step, summary=self.summary.Summary(value=[value])))

    def count(self, step, n):
        self.add(step, self.summary.Summary.Value(tag=TAG, simple_value=n))
        self.writer.flush()

    def tell(self, finding):
        about = self.summary.SummaryMetadata(plugin_data=self.summary.SummaryMetadata.PluginData(plugin_name="text"))
        text = self.tensor(dtype=self.string, string_val=[text_of(finding).encode()])
        value = self.summary.Summary.Value(tag=f"traincheck/{(finding['violations'] or [finding['kind']])[0]}", metadata=about, tensor=text)
        self.add(max(finding.get("step", 0), 0), value)
        self.writer.flush()

    def finish(self, violations, summary, page):
        pass

    def close(self):
        self.writer.close()


class Otel:
    """
    By OTLP, as the variables OTEL_... say: a span from the beginning to the end of the check, with an event for each finding,
    and gauges. TRACEPARENT makes the span a part of the job's trace.
    """

    def __init__(self, trace, folder):
        import importlib

        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace import StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        way = "grpc" if os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") == "grpc" else "http"
        spans, metrics = (importlib.import_module(f"opentelemetry.exporter.otlp.proto.{way}.{kind}_exporter") for kind in ("trace", "metric"))
        os.environ.setdefault("OTEL_SERVICE_NAME", "traincheck")
        resource = Resource.create()
        self.traces, self.error = TracerProvider(resource=resource), StatusCode.ERROR
        self.traces.add_span_processor(BatchSpanProcessor(spans.OTLPSpanExporter()))
        self.metrics = MeterProvider([PeriodicExportingMetricReader(metrics.OTLPMetricExporter())], resource=resource)
        self.attributes = {"traincheck.run": pathlib.Path(trace).name}
        parent = TraceContextTextMapPropagator().extract({"traceparent": os.environ.get("TRACEPARENT", "")})
        self.span = self.traces.get_tracer("traincheck").start_span("traincheck", parent, attributes=self.attributes)
        meter = self.metrics.get_meter("traincheck")
        self.gauges = {name: meter.create_gauge(f"traincheck.{name}", unit, text) for name, unit, text in (
            ("violations", "{invariant}", "Invariants that broke so far."), ("findings", "{finding}", "Findings so far."),
            ("step", "{step}", "The step up to which the run was checked."),
            ("lag", "s", "How far a live check is behind the run."))}
        self.n_findings = 0
        self.set(violations=0, findings=0)

    def set(self, **values):
        for name, value in values.items():
            self.gauges[name].set(value, self.attributes)

    def count(self, step, n):
        self.set(violations=n, step=step)

    def stand(self, standing):
        self.set(step=standing["step"], lag=standing["lag_s"])

    def tell(self, finding):
        """The metrics go at once, as an alert hangs on them; the span goes at the end."""
        keys = ("kind", "sentence", "at", "when", "step", "rank", "n_violations")
        self.span.add_event("finding", {f"traincheck.{key}": finding[key] for key in keys if finding.get(key) is not None})
        self.n_findings += 1
        self.set(findings=self.n_findings)
        self.metrics.force_flush()

    def finish(self, violations, summary, page):
        self.span.set_attributes({f"traincheck.{name}": n for name, n in summary["counts"].items()})
        self.span.set_attribute("traincheck.training_steps", summary["windows"])
        if summary["counts"]["failed"]:
            self.span.set_status(self.error, headline(summary["findings"][0]) if summary["findings"] else None)

    def close(self):
        self.span.end()
        self.traces.shutdown()
        self.metrics.shutdown()


TRACKERS = {"wandb": Wandb, "mlflow": Mlflow, "tensorboard": Tensorboard, "otel": Otel}


class Track:
    """All trackers asked for; one that fails is reported and left out."""

    def __init__(self, names, trace, folder):
        self.folder, self.counted, self.failed, self.open = folder, None, False, {}
        self.broken, self.told = set(), set()  # violations, and those whose finding was told
        for name in names:
            try:
                self.open[name] = TRACKERS[name](trace, folder)
            except Exception as e:
                self.fail(name, e)

    def fail(self, name, error):
        hint = ""
        if isinstance(error, ImportError):
            hint = f"; install it for {sys.executable}, or activate the environment that has it"
        elif type(error).__name__ == "UnsupportedModelRegistryStoreURIException":
            hint = "; mlflow-skinny reaches servers, by MLFLOW_TRACKING_URI: for a database install mlflow"
        print(f"--track {name}: {type(error).__name__}: {error}{hint}", file=sys.stderr, flush=True)
        self.open.pop(name, None)
        self.failed = True

    def each(self, call):
        for name, tracker in list(self.open.items()):
            try:
                call(tracker)
            except Exception as e:
                self.fail(name, e)

    def count(self, step):
        """How many invariants broke up to this step; a curve starts with step 0."""
        if self.counted is None and step > 0:
            self.each(lambda tracker: tracker.count(0, 0))
        self.each(lambda tracker: tracker.count(step, len(self.broken)))
        self.counted = max(step, self.counted or 0)

    def stand(self, standing):
        """How a live check stands, every few seconds, for those that show it."""
        self.each(lambda tracker: tracker.stand(standing) if hasattr(tracker, "stand") else None)

    def tell(self, said):
        if "standing" in said:
            self.stand(said["standing"])
        elif "sentence" in said:
            self.tell_finding(said)
        elif said["id"] not in self.broken:
            self.broken.add(said["id"])
            self.count(said.get("step", 0))

    def tell_finding(self, finding):
        """Once, although it may have grown or joined another since."""
        if self.told.isdisjoint(finding["violations"]):
            self.each(lambda tracker: tracker.tell(finding))
        self.told.update(finding["violations"])

    def finish(self):
        lines = (self.folder / "violations.jsonl").read_text().splitlines()
        summary = json.loads((self.folder / "violations_summary.json").read_text())
        violations = [json.loads(line) for line in lines]
        for said in [*sorted(violations, key=lambda v: v.get("step", 0)), *summary["findings"]]:
            self.tell(said)
        last = max([violation.get("last_step", 0) for violation in violations], default=0)
        if self.counted is None or last > self.counted:
            self.count(last)  # the curve ends where something broke for the last time
        self.each(lambda tracker: tracker.finish(violations, summary, self.folder / "report.html"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tracker", action="append", choices=TRACKERS, required=True)
    parser.add_argument("--trace", required=True)
    parser.add_argument("--output-dir", type=pathlib.Path, required=True)
    options = parser.parse_args()
    track = Track(options.tracker, options.trace, options.output_dir)
    for line in sys.stdin:
        said = json.loads(line)
        if said == "reports":
            track.finish()
        else:
            track.tell(said)
    track.each(lambda tracker: tracker.close())
    sys.exit(int(track.failed))


if __name__ == "__main__":
    main()
