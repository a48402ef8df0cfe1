#!/usr/bin/env python3
"""Bugs rebuilt from issue trackers by one who had not read the set-ups and bugs of this folder: for each script of blind/
the single-device job, the healthy parallel job and the one with the bug (--bug). Prints a table.

    benchmarks/plan/blind.py --bin build/bin [NAME...]

The healthy job must be verified, the other refuted; the first violation must name a line that the script marks with
`# place`, in its first line (right) or in those that follow (below). The marks were set before the first run."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / "blind"
AXES = {
    "label_smoothing": {"tp": 2}, "query_norm": {"tp": 2}, "sink_norm": {"tp": 2},
    "expert_gradients": {"dp": 2, "ep": 2}, "tied_zero": {"dp": 2, "pp": 2}, "multi_query": {"tp": 2},
    "sequence_mean": {"dp": 2}, "token_mean": {"dp": 3}, "accumulate_sync": {"dp": 2}, "stage_reset": {"pp": 2},
    "latent_twice": {"tp": 2}, "stage_norm": {"pp": 3}, "wrong_partition": {"dp": 2}, "balance_loss": {"dp": 3},
    "local_positions": {"cp": 2}, "plain_reduce": {"tp": 2}, "context_loss": {"dp": 2, "cp": 3},
}
VERDICT = {0: "verified", 1: "refuted", 2: "error", 3: "unjudged"}


def capture(bin_, folder, name, axes, extra=()):
    if any(folder.glob("plan-rank*")):
        return None
    script, world = HERE / f"{name}.py", 1
    command = [bin_ / "traincheck-collect", "--plan", folder]
    for size in axes.values():
        world *= size
    if world > 1:
        command += ["--plan-world", world, "-j", 2]
        layout = HERE / f"{name}.layout"
        if layout.exists():
            mesh = " ".join(f"{axis}={size}" for axis, size in axes.items())
            text = folder.with_suffix(".layout")
            text.write_text(f"mesh {mesh}\n{layout.read_text()}")
            command += ["--plan-layout", text]
    command += [script, *(word for axis, size in axes.items() for word in ("--" + axis, size)), *extra]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=HERE)
    if done.returncode:
        folder.with_suffix(".err").write_text(done.stderr)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["?"])[-1]


def judge(bin_, plan, single):
    done = subprocess.run([bin_ / "traincheck-check", "--plan", plan, "--plan-reference", single, "-o", plan.with_suffix(".out")],
                          capture_output=True, text=True, cwd=HERE)
    return VERDICT.get(done.returncode, f"status {done.returncode}"), done.stdout + done.stderr


def try_one(bin_, work, name):
    axes, single = AXES[name], work / f"{name}-single"
    failed = capture(bin_, single, name, {})
    rows = {}
    for kind, extra in (("healthy", ()), ("bug", ("--bug",))):
        plan = work / f"{name}-{kind}"
        failed = failed or capture(bin_, plan, name, axes, extra)
        if failed:
            rows[kind] = ("not captured", failed)
            failed = None
            continue
        verdict, text = judge(bin_, plan, single)
        plan.with_suffix(".txt").write_text(text)
        rows[kind] = (verdict, text)
    return rows


def placed(name, text):
    """(where the first violation names a line that the script marks, its first line): right, below (in the lines that
    follow), or wrong."""
    marked = {n for n, line in enumerate((HERE / f"{name}.py").read_text().splitlines(), 1) if line.endswith("# place")}
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if re.match(r"\S+\.py:\d+", line)), len(lines))
    end = next((i for i in range(start + 1, len(lines)) if not lines[i].startswith("    ")), len(lines))

    def names(part):
        return bool(marked & {int(n) for n in re.findall(rf"{name}\.py:(\d+)", "\n".join(part))})
    first = lines[start] if start < len(lines) else ""
    return "right" if names([first]) else "below" if names(lines[start:end]) else "wrong", first


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, metavar="DIR", help="keep the plans there, and take those that it has")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    work = args.work or pathlib.Path(tempfile.mkdtemp(prefix="blind-"))
    work.mkdir(parents=True, exist_ok=True)
    print("| script | ranks | healthy | with the bug | place | first violation |\n|---|---|---|---|---|---|", flush=True)
    for name in args.names or AXES:
        rows = try_one(args.bin.resolve(), work, name)
        right, first = placed(name, rows["bug"][1])
        ranks = " ".join(f"{axis}{size}" for axis, size in AXES[name].items())
        detail = first if rows["bug"][0] == "refuted" else rows["bug"][1].strip().splitlines()[0][:200]
        print(f"| {name} | {ranks} | {rows['healthy'][0]} | {rows['bug'][0]} | {right} | {detail} |", flush=True)
        if rows["healthy"][0] != "verified":
            print(f"    healthy: {rows['healthy'][1].strip().splitlines()[0][:300]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
