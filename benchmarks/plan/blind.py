#!/usr/bin/env python3
"""For each script of blind/ the single-device job, the healthy parallel job and the one with the bug (--bug), as a table.

    benchmarks/plan/blind.py --bin build/bin [NAME...]
    benchmarks/plan/blind.py --bin build/bin --set places [NAME...]

Those of blind/ were rebuilt from issue trackers by one who had not read the set-ups and bugs of this folder. Those of
places/ are what the search for the place is developed on: stages and ranks with programs of their own, factors.

The healthy job must be verified, the other refuted; the first violation must name a line that the script marks with
`# place`, in its first line (right) or in those that follow (below). The marks were set before the first run."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BLIND = {
    "label_smoothing": {"tp": 2}, "query_norm": {"tp": 2}, "sink_norm": {"tp": 2},
    "expert_gradients": {"dp": 2, "ep": 2}, "tied_zero": {"dp": 2, "pp": 2}, "multi_query": {"tp": 2},
    "sequence_mean": {"dp": 2}, "token_mean": {"dp": 3}, "accumulate_sync": {"dp": 2}, "stage_reset": {"pp": 2},
    "latent_twice": {"tp": 2}, "stage_norm": {"pp": 3}, "wrong_partition": {"dp": 2}, "balance_loss": {"dp": 3},
    "local_positions": {"cp": 2}, "plain_reduce": {"tp": 2}, "context_loss": {"dp": 2, "cp": 3},
}
PLACES = {
    "penalty_on_one_rank": {"dp": 2}, "stage_divides_twice": {"pp": 2}, "skip_detached": {"pp": 2},
    "unscaled_in_part": {"tp": 2}, "balance_on_each_rank": {"tp": 3}, "partial_halved": {"tp": 2},
    "shards_written_back": {"dp": 2}, "norms_added": {"pp": 2},
}
SETS = {"blind": BLIND, "places": PLACES}
VERDICT = {0: "verified", 1: "refuted", 2: "error", 3: "unjudged"}


def capture(bin_, folder, script, axes, extra=()):
    if any(folder.glob("plan-rank*")):
        return None
    world = 1
    command = [bin_ / "traincheck-collect", "--plan", folder]
    for size in axes.values():
        world *= size
    if world > 1:
        command += ["--plan-world", world, "-j", 2]
        layout = script.with_suffix(".layout")
        if layout.exists():
            mesh = " ".join(f"{axis}={size}" for axis, size in axes.items())
            text = folder.with_suffix(".layout")
            text.write_text(f"mesh {mesh}\n{layout.read_text()}")
            command += ["--plan-layout", text]
    command += [script, *(word for axis, size in axes.items() for word in ("--" + axis, size)), *extra]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=script.parent)
    if done.returncode:
        folder.with_suffix(".err").write_text(done.stderr)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["?"])[-1]


def judge(bin_, plan, single):
    done = subprocess.run([bin_ / "traincheck-check", "--plan", plan, "--plan-reference", single, "-o", plan.with_suffix(".out")],
                          capture_output=True, text=True, cwd=HERE)
    return VERDICT.get(done.returncode, f"status {done.returncode}"), done.stdout + done.stderr


def try_one(bin_, work, script, axes):
    name, single = script.stem, work / f"{script.stem}-single"
    failed = capture(bin_, single, script, {})
    rows = {}
    for kind, extra in (("healthy", ()), ("bug", ("--bug",))):
        plan = work / f"{name}-{kind}"
        failed = failed or capture(bin_, plan, script, axes, extra)
        if failed:
            rows[kind] = ("not captured", failed)
            failed = None
            continue
        verdict, text = judge(bin_, plan, single)
        plan.with_suffix(".txt").write_text(text)
        rows[kind] = (verdict, text)
    return rows


def placed(script, text):
    """(where the first violation names a line that the script marks, its first line): right, below (in the lines that
    follow), or wrong."""
    marked = {n for n, line in enumerate(script.read_text().splitlines(), 1) if line.endswith("# place")}
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if re.match(r"\S+\.py:\d+", line)), len(lines))
    end = next((i for i in range(start + 1, len(lines)) if not lines[i].startswith("    ")), len(lines))

    def names(part):
        return bool(marked & {int(n) for n in re.findall(rf"{script.stem}\.py:(\d+)", "\n".join(part))})
    first = lines[start] if start < len(lines) else ""
    return "right" if names([first]) else "below" if names(lines[start:end]) else "wrong", first


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, metavar="DIR", help="keep the plans there, and take those that it has")
    parser.add_argument("--set", choices=SETS, default="blind")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    work = args.work or pathlib.Path(tempfile.mkdtemp(prefix="blind-"))
    work.mkdir(parents=True, exist_ok=True)
    print("| script | ranks | healthy | with the bug | place | first violation |\n|---|---|---|---|---|---|", flush=True)
    n = {"right": 0, "below": 0, "wrong": 0}
    for name in args.names or SETS[args.set]:
        script, axes = HERE / args.set / f"{name}.py", SETS[args.set][name]
        rows = try_one(args.bin.resolve(), work, script, axes)
        place, first = placed(script, rows["bug"][1])
        n[place] += 1
        ranks = " ".join(f"{axis}{size}" for axis, size in axes.items())
        detail = first if rows["bug"][0] == "refuted" else rows["bug"][1].strip().splitlines()[0][:200]
        print(f"| {name} | {ranks} | {rows['healthy'][0]} | {rows['bug'][0]} | {place} | {detail} |", flush=True)
        if rows["healthy"][0] != "verified":
            print(f"    healthy: {rows['healthy'][1].strip().splitlines()[0][:300]}", flush=True)
    print(", ".join(f"{count} {place}" for place, count in n.items()))


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
