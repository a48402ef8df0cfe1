#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is the right job of each script right, and is each bug one? Real gloo processes in float64, beside one device: the
parameters after the last step and its gradients, of each rank, against the part of them that the .layout file gives it.

    benchmarks/plan/check.py [--set reports|pulls|tickets] [NAME...]

A right job must differ by less than 1e-9, a job with a bug by more than 1e-6. Gradients that a right job leaves on
their rank (it sums them elsewhere, as those do that shard their optimizer) are counted as its own, and not compared."""
import argparse
import fnmatch
import importlib.util
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from blind import SETS, bugs_of  # noqa: E402

RIGHT, WRONG = 1e-9, 1e-6


def work(out, script, rest):
    """One rank: its parameters and gradients after the last step."""
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    sys.argv = [script, *rest]
    spec = importlib.util.spec_from_file_location("job", script)
    job = importlib.util.module_from_spec(spec)
    sys.modules["job"] = job
    spec.loader.exec_module(job)
    model = job.main()

    def whole(t):
        return t.detach().full_tensor() if hasattr(t, "full_tensor") else t.detach()
    named = {name.replace("module.", ""): p for name, p in model.named_parameters()}
    found = {f"parameter {n}": whole(p) for n, p in named.items()}
    found |= {f"gradient {n}": whole(p.grad) for n, p in named.items() if p.grad is not None}
    dtensors = [n for n, p in named.items() if hasattr(p, "full_tensor")]
    torch.save((found, dtensors), out)
    if dist.is_initialized():
        dist.destroy_process_group()


def run(script, axes, extra=()):
    world = 1
    for size in axes.values():
        world *= size
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="check-"))
    words = [str(w) for axis, size in axes.items() for w in ("--" + axis, size)]
    ranks = []
    for rank in range(world):
        env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), OMP_NUM_THREADS="1",
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        command = [sys.executable, __file__, "--work", folder / f"{rank}.pt", script, *words, *extra]
        ranks.append(subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    errors = [r.communicate(timeout=300)[1] for r in ranks]
    if any(r.returncode for r in ranks):
        return next(e for e, r in zip(errors, ranks) if r.returncode).strip().splitlines()[-1]
    import torch
    return [torch.load(folder / f"{rank}.pt") for rank in range(world)]


def part(whole, name, rules, axes, rank):
    """What the layout gives this rank of a tensor."""
    import torch
    place, left = {}, rank
    for axis, size in reversed(axes.items()):
        place[axis], left = left % size, left // size
    for glob, dim, axis, parts in rules:
        if not fnmatch.fnmatch(name, glob):
            continue
        blocks = [1] if parts is None else parts
        unit = whole.size(dim) // sum(blocks)
        pieces = whole.split([unit * b for b in blocks], dim)
        whole = torch.cat([p.chunk(axes[axis], dim)[place[axis]] for p in pieces], dim)
    return whole


def compare(single, ranks, rules, axes):
    """The largest difference of parameters, of gradients, and the names that differ."""
    largest, differ = {"parameter": 0.0, "gradient": 0.0}, set()
    for rank, (found, dtensors) in enumerate(ranks):
        for key, value in found.items():
            kind, name = key.split(" ", 1)
            want = single[key] if name in dtensors else part(single[key], name, rules, axes, rank)
            if want.shape != value.shape:
                return {"parameter": float("inf"), "gradient": float("inf")}, {f"{key} {tuple(value.shape)}"}
            error = (want - value).abs().max().item()
            largest[kind] = max(largest[kind], error)
            if not error < RIGHT:
                differ.add(key)
    return largest, differ


def rules_of(script):
    path, rules = script.with_suffix(".layout"), []
    for line in path.read_text().splitlines() if path.exists() else ():
        glob, dim, axis, *rest = line.split("#")[0].split()
        parts = [int(n) for n in rest[0].removeprefix("parts=").split(",")] if rest else None
        rules.append((glob, int(dim), axis, parts))
    return rules


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", choices=("reports", "pulls", "tickets"), default="reports")
    parser.add_argument("names", nargs="*")
    args, bad = parser.parse_args(), 0
    for name in args.names or SETS[args.set]:
        script, axes = HERE / args.set / f"{name}.py", SETS[args.set][name]
        rules, single = rules_of(script), run(script, {})
        if isinstance(single, str):
            print(f"{name}: one device: {single}")
            bad += 1
            continue
        missing = set()
        for bug in ["", *bugs_of(script)]:
            ranks = run(script, axes, ("--bug", bug) if bug else ())
            if isinstance(ranks, str):
                print(f"{name} {bug or 'right'}: {ranks}", flush=True)
                bad += 1
                continue
            largest, differ = compare(single[0][0], ranks, rules, axes)
            if not bug:
                ok = largest["parameter"] < RIGHT
                missing = {d for d in differ if d.startswith("gradient")}
                ok = ok and {k for found, _ in ranks for k in found} >= {k for k in single[0][0] if k.startswith("p")}
            else:
                ok = max(largest.values()) > WRONG and bool(differ - missing)
            bad += not ok
            own = f", of the rank's own: {len(missing)}" if not bug and missing else ""
            print(f"{name} {bug or 'right'}: {'ok' if ok else 'NOT OK'}, parameters {largest['parameter']:.1e}, "
                  f"gradients {largest['gradient']:.1e}, {len(differ)} of {len(single[0][0])} differ{own}", flush=True)
            if not ok:
                print("   ", sorted(differ)[:6])
    return min(bad, 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        sys.exit(main())
