#!/usr/bin/env python3
"""For each script of blind/ the single-device job, the healthy parallel job and the one with the bug (--bug), as a table.

    benchmarks/plan/blind.py --bin build/bin [NAME...]
    benchmarks/plan/blind.py --bin build/bin --set places [NAME...]
    benchmarks/plan/blind.py --bin build/bin --set layouts [NAME...]
    benchmarks/plan/blind.py --bin build/bin --set trackers [NAME...]
    benchmarks/plan/blind.py --bin build/bin --set reports [NAME...]
    benchmarks/plan/blind.py --bin build/bin --set pulls [NAME...]
    benchmarks/plan/blind.py --bin build/bin --set tickets [NAME...]

Those of blind/ were rebuilt from issue trackers by one who had not read the set-ups and bugs of this folder. Those of
places/ are what the search for the place is developed on: stages and ranks with programs of their own, factors. Those of layouts/
were written from docs/plans.md alone: whole layouts, each with several bugs (--bug NAME). Those of trackers/ were, too:
sixteen more, most bugs from issue trackers. Those of reports/ are eighteen others, all bugs from reports, each with its
address. Those of pulls/ are fourteen more, by two others, of issues and pull requests. Those of tickets/ are fourteen more,
by two others still, of issues and pull requests of 2024 to 2026. check.py says in float64 what is right in these three sets
and what is not.

The healthy job must be verified, the other refuted; the first violation must name a line that the script marks with
`# place` (`# place NAME...`: of these bugs), in its first line (right) or in those that follow (below). The marks were set
before the first run."""
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
LAYOUTS = {
    "ulysses": {"sp": 3}, "megatron_sequence": {"tp": 2}, "zero_by_hand": {"dp": 3}, "experts": {"edp": 2, "ep": 2},
    "one_forward_one_backward": {"pp": 2}, "titan": {"dp": 2, "tp": 2}, "zigzag": {"cp": 3},
    "repeated_keys": {"kv": 2, "copies": 2}, "token_mean": {"dp": 2},
}
TRACKERS = {
    "vocab_head": {"tp": 2}, "distill_vocab": {"dp": 2, "tp": 2}, "dtensor_chunks": {"tp": 2},
    "striped_ring": {"cp": 3}, "lora_sequence": {"tp": 2}, "hsdp_accumulate": {"replicate": 2, "shard": 2},
    "zero_owner": {"dp": 2, "tp": 2}, "gathered_kv": {"tp": 4}, "pipe_tied": {"dp": 2, "pp": 2},
    "mtp_context": {"dp": 2, "cp": 2}, "ssm_groups": {"tp": 2}, "muon_shards": {"dp": 2, "tp": 2},
    "synced_norm": {"dp": 2}, "policy_tokens": {"dp": 2}, "expert_alltoall": {"ep": 2}, "halo_conv": {"sp": 3},
}
REPORTS = {
    "latent_attention": {"tp": 2}, "latent_sequence": {"tp": 2}, "wide_qk_norm": {"tp": 2}, "contrastive": {"dp": 3},
    "shared_expert": {"tp": 2}, "expert_clip": {"edp": 2, "ep": 2}, "balance_scaler": {"dp": 2},
    "padded_vocab": {"tp": 2}, "reinforce_vocab": {"dp": 2, "tp": 2}, "interleaved_pipe": {"pp": 2},
    "one_sync_pipe": {"dp": 2, "pp": 2}, "hsdp_by_hand": {"replicate": 2, "shard": 2},
    "dtensor_heads": {"dp": 2, "tp": 2}, "ulysses_groups": {"dp": 2, "sp": 2}, "joint_ring": {"cp": 3},
    "window_gather": {"dp": 2, "cp": 2}, "lora_experts": {"tp": 2}, "ddp_tokens": {"dp": 3},
}
PULLS = {
    "token_stages": {"dp": 2, "pp": 2}, "shard_weighted": {"dp": 3}, "routed_tensor": {"dp": 2, "tp": 2},
    "one_kv_head": {"tp": 3}, "preference_prefix": {"dp": 2, "cp": 2}, "flat_shards": {"dp": 3}, "tied_zloss": {"tp": 2},
    "relay_delta": {"cp": 3}, "zigzag_rope": {"dp": 2, "cp": 3}, "bag_rows": {"mp": 3}, "titan_mesh": {"dp": 2, "tp": 2},
    "factored_rows": {"tp": 3}, "domain_unet": {"dp": 2, "sp": 2}, "frame_shares": {"cp": 3},
}
TICKETS = {
    "speech_accumulate": {"dp": 3}, "reward_adapters": {"dp": 3}, "llama_plan": {"dp": 2, "tp": 2},
    "sequence_lora": {"tp": 3}, "scored_experts": {"ep": 3}, "window_pipe": {"pp": 3},
    "teacher_shards": {"dp": 2, "tp": 2},
    "packed_gather": {"dp": 2, "cp": 2}, "tiled_kv": {"dp": 2, "sp": 3}, "strip_net": {"dp": 2, "sp": 2},
    "hard_negatives": {"dp": 3}, "value_policy": {"dp": 2, "tp": 2}, "summary_scan": {"tp": 2, "cp": 2},
    "ignored_norms": {"replicate": 2, "shard": 2},
}
SETS = {"blind": BLIND, "places": PLACES, "layouts": LAYOUTS, "trackers": TRACKERS, "reports": REPORTS, "pulls": PULLS,
        "tickets": TICKETS}
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


def bugs_of(script):
    """The names in the marks of a script, in order; [""] where marks have no names."""
    return list(dict.fromkeys(re.findall(r"\w+", " ".join(re.findall(r"# place(.*)$", script.read_text(), re.M))))) or [""]


def try_one(bin_, work, script, axes):
    """The verdict and the report of the healthy job ("healthy") and of each bug."""
    name, single = script.stem, work / f"{script.stem}-single"
    failed = capture(bin_, single, script, {})
    rows = {}
    for kind in ["healthy", *bugs_of(script)]:
        extra = () if kind == "healthy" else ("--bug", kind) if kind else ("--bug",)
        plan = work / f"{name}-{kind or 'bug'}"
        why = failed or capture(bin_, plan, script, axes, extra)
        if why:
            rows[kind] = ("not captured", why)
            continue
        verdict, text = judge(bin_, plan, single)
        plan.with_suffix(".txt").write_text(text)
        rows[kind] = (verdict, text)
    return rows


def placed(script, bug, text):
    """(where the first violation names a line that the script marks, its first line): right, below (in the lines that
    follow), or wrong."""
    marked = {n for n, line in enumerate(script.read_text().splitlines(), 1)
              if re.search(rf"# place(?: .*)?\b{bug}\b" if bug else r"# place$", line)}
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if re.match(r"\S+\.py:\d+", line)), len(lines))
    end = next((i for i in range(start + 1, len(lines)) if not lines[i].startswith("    ")), len(lines))

    def names(part):
        return bool(marked & {int(n) for n in re.findall(rf"{script.stem}\.py:(\d+)", "\n".join(part))})
    first = lines[start] if start < len(lines) else ""
    return "right" if names([first]) else "below" if names(lines[start:end]) else "wrong", first


def first_line(text):
    return (text.strip().splitlines() or ["?"])[0][:200]


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
        ranks, healthy = " ".join(f"{axis}{size}" for axis, size in axes.items()), rows.pop("healthy")
        for bug, (verdict, text) in rows.items():
            place, first = placed(script, bug, text)
            n[place] += 1
            detail = first if verdict == "refuted" else first_line(text)
            print(f"| {name} {bug} | {ranks} | {healthy[0]} | {verdict} | {place} | {detail} |", flush=True)
        if healthy[0] != "verified":
            print(f"    healthy: {first_line(healthy[1])}", flush=True)
    print(", ".join(f"{count} {place}" for place, count in n.items()))


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
