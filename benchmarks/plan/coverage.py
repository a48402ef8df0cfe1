#!/usr/bin/env python3
"""Capture and verify small models of transformers and timm by each parallel API, optimizer and kind of attention.

    benchmarks/plan/coverage.py --bin build/bin --python PYTHON            all rows
    benchmarks/plan/coverage.py --bin build/bin --python PYTHON "bert"     those whose name begins so

PYTHON has transformers; rows of timm are left out where it has none, which is said. The table is that of run.py's
set-ups; a row that is not verified makes the status 1."""
import argparse
import subprocess
import sys

import run

RANKS = 2


def row(model, how, options=""):
    """One of run.SETUPS: both jobs have the options, the parallel one its way as well."""
    options = f"--model {model} {options}".strip()
    return "models", options, f"{options} --mode {how}", RANKS, None


ROWS = {
    "bert ddp": row("bert", "ddp"),
    "bert ddp, padded": row("bert", "ddp", "--padded"),
    "bert fsdp2, fused AdamW": row("bert", "fsdp", "--update fused"),
    "vit ddp, fused SGD": row("vit", "ddp", "--optimizer sgd --update fused"),
    "vit fsdp2": row("vit", "fsdp"),
    "gpt2 ddp, math attention": row("gpt2", "ddp", "--attention math"),
    "gpt2 fsdp2, foreach AdamW": row("gpt2", "fsdp", "--update foreach"),
    "llama ddp, padded": row("llama", "ddp", "--padded"),
    "llama fsdp2, fused AdamW": row("llama", "fsdp", "--update fused"),
    "llama tp_plan=auto": row("llama", "tp"),
    "qwen3 tp_plan=auto, math": row("qwen3", "tp", "--attention math"),
    "gemma2 fsdp2, eager": row("gemma2", "fsdp", "--attention eager"),
    "mixtral fsdp2, foreach SGD": row("mixtral", "fsdp", "--optimizer sgd --update foreach"),
    "mixtral tp_plan=auto": row("mixtral", "tp"),
    "resnet ddp, SGD": row("resnet", "ddp", "--optimizer sgd"),
    "resnet fsdp2, fused AdamW": row("resnet", "fsdp", "--update fused"),
    "timm resnet10t ddp": row("timm:resnet10t", "ddp", "--batch 6 --side 34 --optimizer sgd"),
    "four axes, gpipe": ("four_axes", "", "--pp 2 --dp 2 --tp 2", 8, None),
    "four axes, 1f1b": ("four_axes", "", "--pp 2 --tp 2 --schedule 1f1b", 4, None),
    "four axes, ring, loss_parallel": ("four_axes", "--length 6", "--length 6 --pp 2 --cp 2 --tp 2 --loss-parallel", 8, None),
}


def has_timm(python):
    return subprocess.run([python, "-c", "import timm"], capture_output=True, check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--jobs", "-j", type=int, default=2)
    parser.add_argument("--plans", metavar="DIR", help="keep the plans there, and take those that it has")
    parser.add_argument("prefix", nargs="?", default="")
    args = parser.parse_args()
    run.SETUPS = dict(ROWS)
    if not has_timm(args.python):
        print(f"{args.python} has no timm: its row is left out")
        run.SETUPS = {name: row for name, row in ROWS.items() if not name.startswith("timm")}
    runner = run.Runner(args.bin, args.python, args.jobs, args.plans)
    try:
        return run.run_setups(runner, args.prefix) > 0
    finally:
        runner.close()


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
