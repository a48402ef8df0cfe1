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
    hint = violation.get("hint")
    return f"{headline(violation)}\n\nSeen: {violation['seen']}" + (f"\n\nLook at: {hint}" if hint else "")


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

    def count(self, step, n):
        self.run.log({TAG: n, "traincheck/step": step})

    def tell(self, violation):
        if not self.alerted:
            self.alert(violation)

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
    """
    Tags, a metric by step, report.html as an artifact. MLFLOW_RUN_ID joins the run of the job, whose status and description
    stay the job's; a run of its own gets the causes as its description, and fails where the check does.
    """

    def __init__(self, trace, folder):
        import mlflow

        self.mlflow, self.client, self.status = mlflow, mlflow.MlflowClient(), "FINISHED"
        self.joined = os.environ.get("MLFLOW_RUN_ID")
        self.run = self.joined or mlflow.start_run(run_name=f"traincheck {pathlib.Path(trace).name}").info.run_id
        self.client.set_tag(self.run, "traincheck.trace", trace)

    def count(self, step, n):
        self.client.log_metric(self.run, TAG, n, step=step)

    def tell(self, violation):
        pass

    def finish(self, violations, summary, page):
        counts = summary["counts"]
        if counts["failed"]:
            self.status = "FAILED"
        tags = {"traincheck.verdict": "failed" if counts["failed"] else "passed"}
        tags |= {f"traincheck.{name}": n for name, n in counts.items()}
        tags |= {f"traincheck.cause.{i}": headline(group)[:500] for i, group in enumerate(summary["groups"][:10], 1)}
        if not self.joined:
            causes = [text_of(violation) for violation in violations if violation.get("head")]
            tags["mlflow.note.content"] = "\n\n---\n\n".join(causes[:10]) or "Nothing broke."
        for name, value in tags.items():
            self.client.set_tag(self.run, name, value)
        if page.exists():
            self.client.log_artifact(self.run, str(page))

    def close(self):
        if not self.joined:
            self.mlflow.end_run(self.status)


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

    def count(self, step, n):
        self.add(step, self.summary.Summary.Value(tag=TAG, simple_value=n))
        self.writer.flush()

    def tell(self, violation):
        about = self.summary.SummaryMetadata(plugin_data=self.summary.SummaryMetadata.PluginData(plugin_name="text"))
        text = self.tensor(dtype=self.string, string_val=[text_of(violation).encode()])
        value = self.summary.Summary.Value(tag=f"traincheck/{violation['id']}", metadata=about, tensor=text)
        self.add(violation.get("step", 0), value)
        self.writer.flush()

    def finish(self, violations, summary, page):
        pass

    def close(self):
        self.writer.close()


TRACKERS = {"wandb": Wandb, "mlflow": Mlflow, "tensorboard": Tensorboard}


class Track:
    """All trackers asked for; one that fails is told of and left out."""

    def __init__(self, names, trace, folder):
        self.folder, self.told, self.counted, self.failed, self.open = folder, set(), None, False, {}
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

    def count(self, step):
        """How many invariants broke up to this step; a curve starts with step 0."""
        if self.counted is None and step > 0:
            self.each(lambda tracker: tracker.count(0, 0))
        self.each(lambda tracker: tracker.count(step, len(self.told)))
        self.counted = max(step, self.counted or 0)

    def tell(self, violation):
        if violation["id"] in self.told:
            return
        self.told.add(violation["id"])
        self.count(violation.get("step", 0))
        self.each(lambda tracker: tracker.tell(violation))

    def finish(self):
        lines = (self.folder / "violations.jsonl").read_text().splitlines()
        summary = json.loads((self.folder / "violations_summary.json").read_text())
        violations = [json.loads(line) for line in lines]
        for violation in sorted(violations, key=lambda v: v.get("step", 0)):
            self.tell(violation)
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
