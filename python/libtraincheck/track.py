# SPDX-License-Identifier: Apache-2.0
"""
What a check finds, for Weights & Biases, MLflow or TensorBoard: started by the tools for --track, with any Python.

    python track.py --tracker wandb --trace TRACE --output-dir DIR

It reads violations as lines of JSON from stdin, and after the line `"reports"` what traincheck wrote into DIR. It stands
alone: of libtraincheck nothing is imported, and of a tracker only what was asked for. What fails is told on stderr, and by
the exit status.
"""

import argparse
import json
import os
import pathlib
import sys
import time

TAG = "traincheck/violations"
COLUMNS = ("step", "rank", "at", "relation", "expected", "seen", "id", "group", "count")


def headline(violation):
    place = " ".join(str(part) for part in (violation.get("at"), "step", violation.get("step")) if part is not None)
    return f"{place}: {violation['expected']}"


def text_of(violation):
    return f"{headline(violation)}\n\nSeen: {violation['seen']}\n\nLook at: {violation.get('hint', '')}"


class Wandb:
    """An alert for the first violation and for each cause, a metric by step, a table. WANDB_RUN_ID joins the run of the job."""

    def __init__(self, trace, folder):
        import wandb

        self.wandb, self.alerted = wandb, set()
        self.run = wandb.init(project=os.environ.get("WANDB_PROJECT", "traincheck"), job_type="traincheck", resume="allow",
                              name=os.environ.get("WANDB_NAME", f"traincheck {pathlib.Path(trace).name}"))
        self.run.define_metric("traincheck/*", step_metric="traincheck/step")

    def alert(self, violation):
        if violation["id"] in self.alerted:
            return
        self.alerted.add(violation["id"])
        self.run.alert(title="TrainCheck: " + violation["expected"][:200], text=text_of(violation),
                       level=self.wandb.AlertLevel.ERROR)

    def tell(self, violation, n):
        if not self.alerted:
            self.alert(violation)
        self.run.log({TAG: n, "traincheck/step": violation.get("step", 0)})

    def finish(self, violations, summary, page):
        for violation in violations:
            if violation.get("head"):
                self.alert(violation)
        rows = [[violation.get(column) for column in COLUMNS] for violation in violations]
        self.run.log({"traincheck/table": self.wandb.Table(columns=list(COLUMNS), data=rows)})
        self.run.summary.update({f"traincheck/{name}": n for name, n in summary["counts"].items()})

    def close(self):
        self.run.finish()


class Mlflow:
    """Tags, a metric by step, report.html as an artifact. MLFLOW_RUN_ID joins the run of the job."""

    def __init__(self, trace, folder):
        import mlflow

        self.mlflow = mlflow
        name = None if os.environ.get("MLFLOW_RUN_ID") else f"traincheck {pathlib.Path(trace).name}"
        mlflow.start_run(run_name=name)
        mlflow.set_tag("traincheck.trace", trace)

    def tell(self, violation, n):
        self.mlflow.log_metric(TAG, n, step=violation.get("step", 0))

    def finish(self, violations, summary, page):
        counts = summary["counts"]
        self.mlflow.set_tags({"traincheck.verdict": "failed" if counts["failed"] else "passed"} |
                             {f"traincheck.{name}": n for name, n in counts.items()})
        for i, group in enumerate(summary["groups"][:10], 1):
            self.mlflow.set_tag(f"traincheck.cause.{i}", f"step {group.get('step')}: {group['expected']}"[:500])
        if not violations:
            self.mlflow.log_metric(TAG, 0, step=0)
        if page.exists():
            self.mlflow.log_artifact(str(page))

    def close(self):
        self.mlflow.end_run()


class Tensorboard:
    """A scalar by step and a text for each violation, in TENSORBOARD_LOGDIR or tensorboard/ beside the reports."""

    def __init__(self, trace, folder):
        from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2
        from tensorboard.compat.proto.types_pb2 import DT_STRING
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self.event, self.summary, self.tensor, self.string = event_pb2.Event, summary_pb2, tensor_pb2.TensorProto, DT_STRING
        place = os.environ.get("TENSORBOARD_LOGDIR") or str(folder / "tensorboard")
        self.writer = EventFileWriter(place, filename_suffix=".traincheck")

    def add(self, step, value):
        self.writer.add_event(self.event(wall_time=time.time(), step=step, summary=self.summary.Summary(value=[value])))

    def tell(self, violation, n):
        step = violation.get("step", 0)
        self.add(step, self.summary.Summary.Value(tag=TAG, simple_value=n))
        about = self.summary.SummaryMetadata(plugin_data=self.summary.SummaryMetadata.PluginData(plugin_name="text"))
        text = self.tensor(dtype=self.string, string_val=[text_of(violation).encode()])
        self.add(step, self.summary.Summary.Value(tag=f"traincheck/{violation['id']}", metadata=about, tensor=text))
        self.writer.flush()

    def finish(self, violations, summary, page):
        if not violations:
            self.add(0, self.summary.Summary.Value(tag=TAG, simple_value=0))

    def close(self):
        self.writer.close()


TRACKERS = {"wandb": Wandb, "mlflow": Mlflow, "tensorboard": Tensorboard}


class Track:
    """All trackers asked for; one that fails is told of and left out."""

    def __init__(self, names, trace, folder):
        self.folder, self.told, self.failed, self.open = folder, set(), False, {}
        for name in names:
            try:
                self.open[name] = TRACKERS[name](trace, folder)
            except Exception as e:
                self.fail(name, e)

    def fail(self, name, error):
        hint = ""
        if isinstance(error, ImportError):
            hint = f"; install it for {sys.executable}, or activate the environment that has it"
        print(f"--track {name}: {type(error).__name__}: {error}{hint}", file=sys.stderr, flush=True)
        self.open.pop(name, None)
        self.failed = True

    def each(self, call):
        for name, tracker in list(self.open.items()):
            try:
                call(tracker)
            except Exception as e:
                self.fail(name, e)

    def tell(self, violation):
        if violation["id"] not in self.told:
            self.told.add(violation["id"])
            self.each(lambda tracker: tracker.tell(violation, len(self.told)))

    def finish(self):
        lines = (self.folder / "violations.jsonl").read_text().splitlines()
        summary = json.loads((self.folder / "violations_summary.json").read_text())
        violations = [json.loads(line) for line in lines]
        for violation in sorted(violations, key=lambda v: v.get("step", 0)):
            self.tell(violation)
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
