#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the seeds of the fuzz targets from real traces: small ones, as a target's speed is that of its inputs.

usage: corpus.py --bin BUILD/bin [--python PYTHON]

PYTHON has torch. Three small scripts are traced, one of them on two gloo ranks and one with content in the trace. Of their
traces, of what is learned from them, of its evidence and of a captured plan a part goes to corpus/TARGET/real_*, to
learned.jsonl (what fuzz_trace checks by) and to words.dict. Seeds written by hand, without real_, stay.
"""

import argparse
import base64
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLAIN = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(12, 4), torch.rand(12, 2)), batch_size=4)
optimizer = torch.optim.{optimizer}(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for epoch in range(2):
    model.train()
    for x, y in data:
        {clear}
        torch.nn.functional.mse_loss(model(x), y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        model(x)
torch.save(model.state_dict(), "model.pt")
"""
RANKS = """
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(3):
    optimizer.zero_grad()
    model(torch.rand(4, 4)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
"""
SCRIPTS = {"plain": PLAIN.format(optimizer="Adam", clear="optimizer.zero_grad()"),
           "uncleared": PLAIN.format(optimizer="SGD", clear="pass"), "ranks": RANKS}
ROLES = {"step", "backward", "zero_grad", "scheduler", "clip", "collective", "data", "mode", "save", "forward", "layer"}
MAX_RECORDS, MAX_VARIABLES, EACH = 36, 3, 2


class Maker:
    def __init__(self, tools, python, work):
        self.tools, self.python, self.work = tools, python, work
        self.words = collections.Counter()

    def run(self, tool, *args):
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run([self.tools / f"traincheck-{tool}", *args], cwd=self.work, env=env, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            sys.exit(f"traincheck-{tool} {' '.join(map(str, args))}: {done.returncode}\n{done.stderr}")

    def text(self, path):
        """Lines of a file of zstd frames or of none."""
        opened = subprocess.run(["zstd", "-dcf", path], capture_output=True, check=True).stdout if path.suffix != ".jsonl" else \
            path.read_bytes()
        return opened.decode().splitlines()

    def put(self, target, name, text):
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"real_{name}").write_text(text)
        if target in ("trace", "invariants", "evidence", "verify"):
            self.words.update(re.findall(r'"[\w./@:\[\]{}-]{2,40}"', text))

    def collect(self, name, script):
        (self.work / f"{name}.py").write_text(script)
        launch = ["--", self.python, "-m", "torch.distributed.run", "--nproc-per-node", "2", f"{name}.py"] if name == "ranks" \
            else [f"{name}.py"]
        self.run("collect", "--python", self.python, "-q", "-o", name, *launch)
        files = sorted((self.work / name).glob("trace_*"))
        return [f for f in files if sum(1 for _ in self.text(f)) > 30]  # not those of a launcher


def short(lines):
    """Some records of the last steps: the calls of a training window without what they called, and few variables."""
    records = [json.loads(line) for line in lines]
    roles = {r["fn"]: r["role"] for r in records if r["type"] == "api"}
    variables = [v for v in dict.fromkeys(r["var"] for r in records if r["type"] == "var")][-MAX_VARIABLES:]
    serials, calls, kept = set(variables), set(), []
    for r in records:
        if r["type"] == "process":
            kept.append({k: v for k, v in r.items() if k in ("type", "schema", "pid", "role", "rank", "world_size", "mode",
                                                             "monotonic_ns", "unix_ns", "content")} | {"packages": {"torch": "2"}})
        elif r["type"] == "call" and roles.get(r["fn"]) in ROLES and ("parent" not in r or roles[r["fn"]] == "layer"):
            calls.add(r["id"])
            if "params" in r:
                r["params"] = [v for v in r["params"] if v in serials]
            kept.append(r)
        elif (r["type"] in ("return", "raise") and r["id"] in calls) or r["type"] in ("step", "note", "end") or \
                (r["type"] == "var" and r["var"] in serials):
            kept.append(r)
    first = [r for r in kept if r["type"] == "process"]
    rest = [r for r in kept if r["type"] != "process"]
    used = {r["fn"] for r in rest[-MAX_RECORDS:] if r["type"] == "call"}
    apis = [{k: r[k] for k in ("type", "fn", "role")} for r in records if r["type"] == "api" and r["fn"] in used]
    return "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in first + apis + rest[-MAX_RECORDS:])


def some_of_each(lines, key, each):
    """The header, and of each value of `key` the first few lines."""
    seen, kept = collections.Counter(), [lines[0]]
    for line in lines[1:]:
        value = json.loads(line)[key]
        seen[value] += 1
        if seen[value] <= each:
            kept.append(line)
    return kept


def some_invariants(lines):
    """The header, and of each relation the first line, or the first heading with two lines below it."""
    kept, seen, n_below = [lines[0]], set(), 0
    for line in lines[1:]:
        relation = json.loads(line).get("relation")
        if relation:
            n_below = 0 if relation in seen else 3  # a line of its own has none
            seen.add(relation)
        if n_below:
            kept.append(line)
            n_below -= 1
    return kept


def short_excerpt(line):
    """What it unpacks to, with some windows of some calls."""
    packed = base64.b64decode(json.loads(line)["zstd"])
    lines = subprocess.run(["zstd", "-dcq"], input=packed, capture_output=True, check=True).stdout.decode().splitlines()
    kept, n_windows = [], 0
    for line in lines[:next(i for i, line in enumerate(lines) if line.startswith('{"order"'))]:
        value = json.loads(line)
        if "calls" in value:
            n_windows += 1
            value.update(calls=value["calls"][:5], variables=value["variables"][:2])
        if value.get("type") == "process":
            value = {k: value[k] for k in ("type", "schema", "pid", "role")}
        if n_windows <= 3:
            kept.append(value)
    kept.append({"order": [[0, 1], [1, 3], [2, 1]]})
    return "".join(json.dumps(x, separators=(",", ":")) + "\n" for x in kept)


def write_words(words):
    """libFuzzer's dictionary: what occurs more than once."""
    common = sorted(word for word, n in words.items() if n > 1)
    lines = ['"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"\n' for word in common]
    (HERE / "words.dict").write_text("# Made by corpus.py.\n" + "".join(lines))


def make_plan(maker):
    sys.path.insert(0, str(ROOT / "tests/plan"))
    import tiny
    for bug in ("", "no_reduce", "mismatch", "deadlock", "unknown"):
        parts = [tiny.plan(0, 2, bug), tiny.plan(1, 2, bug), tiny.plan(0, 1, bug)]
        text = "\n---\n".join("\n".join(json.dumps(line) for line in part) for part in parts)
        maker.put("verify", f"tiny_{bug or 'right'}", text + "\n")
    (maker.work / "step.py").write_text(SCRIPTS["plain"])
    maker.run("collect", "--python", maker.python, "-q", "--plan", "single", "step.py")
    captured = "\n".join(maker.text(next((maker.work / "single").glob("plan-*"))))
    maker.put("verify", "captured", "\n---\n".join([captured, captured, captured]) + "\n")
    maker.put("plan", "captured", captured + "\n")


def make(maker):
    for name, script in SCRIPTS.items():
        files = maker.collect(name, script)
        maker.put("trace", name, "\n---\n".join(short(maker.text(f)).rstrip("\n") for f in files[:2]) + "\n")
        maker.run("infer", "-q", name, "--specific", "--min-support", "2", "--no-excerpts", "--no-evidence", "-o", f"{name}.jsonl")
        maker.run("infer", "-q", name, "--specific", "-o", f"{name}.excerpt.jsonl")
        maker.put("excerpt", name, short_excerpt(maker.text(maker.work / f"{name}.excerpt.jsonl")[1]))
        maker.run("infer", "-q", name, "--specific", "--evidence", f"{name}.tce")
        learned = maker.text(maker.work / f"{name}.jsonl")
        maker.put("invariants", name, "\n".join(some_invariants(learned)) + "\n")
        maker.put("evidence", name, "\n".join(some_of_each(maker.text(maker.work / f"{name}.tce"), "source", EACH)) + "\n")
        if name == "plain":
            (HERE / "learned.jsonl").write_text("\n".join(some_invariants(learned)) + "\n")
    for shipped in ("pytorch", "distributed"):
        lines = (ROOT / "invariants" / f"{shipped}.jsonl").read_text().splitlines()
        maker.put("invariants", shipped, "\n".join(some_of_each(lines, "relation", 1)) + "\n")
    lines = (HERE / "corpus/invariants/real_plain").read_text()
    maker.put("apis", "both", "# mine\ntorch.matmul\n  yard.work.deep # here\n\n---\n" + lines)
    maker.put("yaml", "options", "output: run\ninstrument: [yard, 'my pkg']\nstack: 3\nquiet: true\napis: apis.txt\n"
                                 "models_to_track:\n  - model\n  - \"other\"\nsampling_interval: ~\n")
    maker.put("suppress", "list", "# accepted\n\nEC-3f9a1c20 \t frozen on purpose \nAC-00000001 \xe9t\xe9\r\n")
    make_plan(maker)
    write_words(maker.words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        make(Maker(options.bin.resolve(), options.python, pathlib.Path(work)))


if __name__ == "__main__":
    main()
