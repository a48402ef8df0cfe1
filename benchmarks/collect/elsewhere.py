#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the traces of pipelines with those of the same pipelines whose tensors are asked as if they lay on an accelerator.

usage: elsewhere.py [--bin build/bin] [--python PYTHON] [--kernel | --late] [--steps x0.1] [--options "--content full"] [-j JOBS]
                    [PIPELINE ...]

Without PIPELINE all, those of several ranks too. All records must be the same, in the same order, but for their times and what
processes are called. What no seed of theirs decides is settled in both runs: tests/python/settled.py, and memory that nobody has filled.
--kernel: the device is one of CUDA; its driver and the compiler of its kernel are stand-ins, which the build has. --late: operators of
torch ask it, and the answers come late by that stand-in. Without either they come at once.

Prints a line for each, with --kernel what was called of the driver. A pipeline that differs is run once more as it is: where that
differs from itself, too, it shows nothing. Exit status 1 if another one differs. Each runs twice: some 30 s, and 50 minutes for all."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIPELINES = ROOT / "benchmarks" / "pipelines"
TESTS = ROOT / "tests" / "python"
sys.path[:0] = [str(TESTS), str(ROOT / "benchmarks")]
import harness  # noqa: E402
from traced import decode  # noqa: E402

NAMES = "t", "pid", "ppid", "tid"  # what differs from run to run
LIMIT_S = 600
# Of both runs. The C library fills all memory that it hands out, which it does not where it keeps small pieces at hand or takes large ones
# from the kernel.
TUNABLES = "glibc.malloc.perturb=90:glibc.malloc.tcache_count=0:glibc.malloc.mmap_threshold=1073741824"
SETTLED = {"PYTHONPATH": str(TESTS / "stands_in"), "GLIBC_TUNABLES": TUNABLES}


def order(file):
    """Ranks by their number, which a process may learn late; processes of one rank as they were started: their numbers may wrap."""
    text = decode(file)
    told = re.search(r"_r(\d+)_p", file.name) or re.search(r'"code":"rank","text":"(\d+)/', text)
    return int(told[1]) if told else -1, json.loads(text.split("\n", 1)[0])["unix_ns"]


def records(folder):
    """Of each process, without its first record, all times and the names of temporary folders. That records waited in a full queue is no part of
    what is compared: it depends on what else the machine does. Neither are sketches, which a device is not asked for."""
    found = []
    for file in sorted(folder.glob("trace_*"), key=order):
        lines = re.sub(r"/tmp(\w{6,}|/\w*\d{4,})", "/tmp", decode(file)).splitlines()[1:]
        lines = [re.sub(r',"sketch":\[[^]]*\]', "", line) for line in lines]
        all_of = [{key: value for key, value in json.loads(line).items() if key not in NAMES} for line in lines]
        kept = [record for record in all_of if record.get("code") != "waited"]
        if kept and "events" in kept[-1]:
            kept[-1]["events"] -= len(all_of) - len(kept)
        found.append(kept)
    return found


def trace(args, pipeline, folder, env):
    work = folder.with_name(folder.name + "-work")
    work.mkdir()
    names = folder.with_name("tmp")  # empty, and called the same in each run: what is saved may name it
    shutil.rmtree(names, ignore_errors=True)
    names.mkdir()
    tools = harness.Tools(args.bin, args.python, work)
    job = tools.job(pipeline.script, ["--steps", args.steps] if args.steps else [], pipeline.launcher, pipeline.ranks)
    if job[0] != "--":  # a process of its own, which reads PYTHONPATH with the agent in it
        job = ["--", tools.python, *job]
    command = [args.bin / "traincheck-collect", "--python", tools.python, "-q", "-o", folder, *args.options.split(), *job]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", **SETTLED, **env}
    env["TMPDIR"] = str(names)
    env["STANDIN_SCRIPT"] = ":".join(filter(None, (str(TESTS / "settled.py"), env.get("STANDIN_SCRIPT"))))
    done = harness.run_limited(command, LIMIT_S, cwd=work, env=env)
    if done.returncode:
        raise harness.Failed(f"exit status {done.returncode}\n{done.stderr[-2000:]}")
    return records(folder)


def there(args, work):
    """The environment in which the CPU is taken for an accelerator."""
    if args.kernel:
        return harness.stand_in(args.bin.parent) | {"STANDIN_REPORT": str(work / "report_{}.json")}
    if args.late:
        late = {"TRAINCHECK_TEST_ELSEWHERE": "1", "STANDIN_SCRIPT": str(TESTS / "standin.py"), "ASKS_DRIVER": "1"}
        return harness.stand_in(args.bin.parent) | late
    return {"TRAINCHECK_TEST_ELSEWHERE": "1"}


def counts(work):
    n = harness.of_stand_in(work)
    return f", {n['cuLaunchKernel']} launches, {n['cuMemcpyDtoHAsync_v2']} copies of {n['bytes']:,} bytes, {n['cuEventSynchronize']} waits"


def compare(args, pipeline):
    """What is said of the pipeline: "the same", "different", "not the same twice" or "failed"; and the rest of the line."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        try:
            here = trace(args, pipeline, work / "cpu", {})
            differs = difference(here, trace(args, pipeline, work / "elsewhere", there(args, work)))
            called = counts(work) if args.kernel else ""
            own = difference(here, trace(args, pipeline, work / "again", {})) if differs else None
        except (harness.Failed, harness.subprocess.TimeoutExpired) as e:
            return "failed", f": {e}"
        said = "the same" if not differs else "not the same twice" if own else "different"
        text = f" as on the CPU itself: {own}\n  here {differs}" if own else f": {differs}" if differs else f", {sum(map(len, here))} records"
        return said, text + called


def around(text, at):
    return text[max(0, at - 150):at + 250]


def difference(a, b):
    if len(a) != len(b):
        return f"{len(a)} files and {len(b)}"
    for one, other in zip(a, b):
        for i, (x, y) in enumerate(zip(one, other)):
            if x != y:
                texts = json.dumps(x), json.dumps(y)
                at = len(os.path.commonprefix(texts))
                return f"record {i + 2}:\n    {around(texts[0], at)}\n    {around(texts[1], at)}"
        if len(one) != len(other):
            return f"{len(one)} records and {len(other)}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--python", default=sys.executable)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--kernel", action="store_true", help="a device of CUDA")
    how.add_argument("--late", action="store_true", help="answers that come late")
    parser.add_argument("--steps", help="of each pipeline, as x0.1")
    parser.add_argument("--options", default="", help="of traincheck-collect")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="pipelines at a time")
    parser.add_argument("pipelines", nargs="*", metavar="PIPELINE")
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    pipelines, n = harness.pipelines(args.pipelines), {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(compare, args, pipeline): name for name, pipeline in pipelines.items()}
        for future in concurrent.futures.as_completed(futures):
            said, text = future.result()
            n[said] = n.get(said, 0) + 1
            print(f"{futures[future]}: {said}{text}", flush=True)
    print(f"of {len(pipelines)}: " + ", ".join(f"{count} {said}" for said, count in n.items()))
    sys.exit(bool(n.keys() & {"different", "failed"}))


if __name__ == "__main__":
    main()
