"""What the benchmarks share: the tools, the pipelines, and a folder of traces that is filled once."""

import argparse
import concurrent.futures
import difflib
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import typing

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.append(str(ROOT / "tests" / "relations"))

import invariant_file  # noqa: E402

PIPELINES = HERE / "pipelines"
TIME_LIMIT_S = 300


class Failed(Exception):
    """A tool or a script that did not do what the benchmark needs; the text says what it printed."""


class Pipeline:
    """One healthy script; what is known of it stands in pipelines.json."""

    def __init__(self, name, entry):
        self.name, self.script = name, PIPELINES / f"{name}.py"
        self.exercises, self.packages = entry["exercises"], entry.get("packages", [])
        self.ranks, self.launcher = entry.get("ranks", 1), entry.get("launcher")
        self.kin = entry.get("kin", [])
        self.variant = ""
        self.python, self.env = None, {}  # another interpreter than the others', and what it needs of the environment

    def variants(self, variant):
        """The script's arguments for 'seed=3,lr=x0.5'; no variant, no arguments."""
        return [word for part in variant.split(",") if part for word in ("--" + part).split("=")]


def pipelines(names=()):
    """All pipelines by name, or those asked for. Raises Failed on an unknown name."""
    entries = json.loads((PIPELINES / "pipelines.json").read_text())
    unknown = sorted(set(names) - set(entries))
    if unknown:
        raise Failed(f"no such pipeline: {', '.join(unknown)}")
    return {n: Pipeline(n, e) for n, e in sorted(entries.items()) if not names or n in names}


def blind_sets(text=None):
    """The names of the blind sets, or those that a text names with commas between them."""
    known = sorted(cases.parent.name for cases in (HERE / "blind").glob("*/cases.json"))
    names = known if text is None else text.split(",")
    if unknown := [n for n in names if n not in known]:
        raise argparse.ArgumentTypeError(f"no set {unknown[0]!r}; there are {', '.join(known)}")
    return names


def load(name, file):
    """The module of a file that no import finds, as a run.py of another folder."""
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def runner(folder):
    """The module run.py of a folder of benchmarks/; they all have this name."""
    return load(folder, HERE / folder / "run.py")


def read_lines(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


def digest(*files):
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()


def last_lines(text, n=3):
    return " | ".join(text.strip().splitlines()[-n:])


def broken_folder(case, work):
    """Where bug.py of a case is: in its folder, or below the folder `work` if the case has a bug.diff in its place."""
    case = pathlib.Path(case).resolve()
    return case if (case / "bug.py").exists() else pathlib.Path(work).resolve() / "bugs" / case.parent.parent.name / case.name


def patched(file, diff):
    """What a diff makes of a file, as bytes. Raises Failed if it does not apply."""
    command = ["patch", "--binary", "--force", "--silent", "--fuzz=0", "--reject-file=-", "--output=-", file.name, diff]
    try:
        p = subprocess.run(command, capture_output=True, cwd=file.parent, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise Failed(f"{diff}: no program patch to apply it; install it") from None
    if p.returncode:
        raise Failed(f"{diff}: does not apply to {file.name}: {last_lines(p.stderr.decode(errors='replace'), 1)}")
    return p.stdout


def write_if_other(file, text):
    """Write bytes to a file that has not the same yet, so that its traces stay those of the script; returns the file."""
    if not file.exists() or file.read_bytes() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
    return file


def broken_script(case, work):
    """bug.py of a case, made of ref.py by its bug.diff if there is no such file. Raises Failed if the patch does not apply."""
    script, case = broken_folder(case, work) / "bug.py", pathlib.Path(case).resolve()
    if script.parent == case:
        return script
    return write_if_other(script, patched(case / "ref.py", case / "bug.diff"))


def changed_lines(before, after, near=False):
    """The numbers of the lines that a diff of two scripts shows, of each.

    near: where a change has lines in one script alone, those between which they would stand in the other count, blank ones
    passed over.
    """
    a, b = before.read_text().splitlines(), after.read_text().splitlines()
    of_a, of_b = set(), set()
    for tag, i, i_end, k, k_end in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            of_a |= set(range(i + 1, i_end + 1))
            of_b |= set(range(k + 1, k_end + 1))
        if near and tag == "insert":
            of_a |= around(a, i)
        elif near and tag == "delete":
            of_b |= around(b, k)
    return of_a, of_b


def around(lines, place):
    """The numbers of the lines that are not blank before and after a place between two lines."""
    before = [n for n in range(place, 0, -1) if lines[n - 1].strip()]
    after = [n for n in range(place + 1, len(lines) + 1) if lines[n - 1].strip()]
    return {*before[:1], *after[:1]}


def line_of(at, script):
    """The number of the line that a place such as src/train.py:57 names, None if it is of another file than the script's name."""
    match = re.fullmatch(r"(.*):(\d+)", at or "")
    return int(match[2]) if match and os.path.basename(match[1]) == script.name else None


# ---- what a check says ---------------------------------------------------------------------------

PLACES = (("at", 1), ("healthy_at", 0), ("origin_at", 1))  # keys of a finding, and the script that each is of: (healthy, broken)


def names_change(finding, scripts, changed, places=PLACES):
    """Is a place of the finding a changed line? Both are (of the healthy script, of the broken one)."""
    return any(line_of(finding.get(key), scripts[i]) in changed[i] for key, i in places)


def words_of(finding):
    """What a finding says in words, with the invariants that it tells; no places, and no lines of the script."""
    return " ".join([finding["sentence"], finding.get("when") or "", *(told["seen"] for told in finding.get("told", []))])


def how_named(findings, pattern, case, broken):
    """"first", "later" or "no": which finding names the cause, by the place of a changed line or by a word of the case's pattern.

    case: the folder with ref.py; broken: the script that was made of it.
    """
    scripts = pathlib.Path(case) / "ref.py", broken
    changed = changed_lines(*scripts, near=True)
    hits = [i for i, finding in enumerate(findings)
            if names_change(finding, scripts, changed) or re.search(pattern, words_of(finding), re.I)]
    return "no" if not hits else "later" if hits[0] else "first"


def by_chance(rows):
    """How many patterns match the first finding of another case's bug, and of how many: a pattern that often does names nothing.

    rows: dicts with case, expect (its pattern) and words (of its first finding).
    """
    pairs = [(a, b) for a in rows for b in rows if a["case"] != b["case"] and b["words"]]
    return sum(bool(re.search(a["expect"], b["words"], re.I)) for a, b in pairs), len(pairs)


class Checked(typing.NamedTuple):
    """What a check says of a trace. verdicts: {verdict: {ids}} with failed, passed, not_triggered and unchecked."""

    verdicts: dict
    violations: list
    findings: list


def run_limited(command, limit_s, **options):
    """As subprocess.run, with text captured; past the limit the command and all that it started are killed.

    The Python tool runs scripts in processes of its own, which outlive it otherwise. Raises subprocess.TimeoutExpired.
    """
    with subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", process_group=0, **options) as p:
        try:
            out, err = p.communicate(timeout=limit_s)
        except BaseException:
            os.killpg(p.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, p.returncode, out, err)


def stand_in(build):
    """The environment in which traced processes take the CPU for a device of CUDA, whose driver the build has (tests/python)."""
    tests, standin = ROOT / "tests" / "python", pathlib.Path(build) / "tests" / "python" / "standin"
    if not (standin / "libcuda.so.1").exists():
        raise Failed(f"{standin}: no stand-in of CUDA's driver there; build the tests")
    return {"TRAINCHECK_TEST_ELSEWHERE": "cuda", "LD_LIBRARY_PATH": str(standin), "STANDIN": str(standin / "libcuda.so.1"),
            "PYTHONPATH": str(tests / "stands_in"), "STANDIN_SCRIPT": str(tests / "standin_kernel.py")}


def of_stand_in(work):
    """What each process called of the driver, which STANDIN_REPORT in the folder `work` says, taken together. Raises Failed if none did."""
    reports = [json.loads(file.read_text()) for file in pathlib.Path(work).glob("report_*.json")]
    n = {key: sum(report[key] for report in reports) for key in (reports or [{}])[0]}
    if not n.get("cuLaunchKernel"):
        raise Failed("nothing was launched on the stand-in")
    return n


class Tools:
    """The four tools of one build, with one interpreter, and a folder for what they write. device: "stand-in", or the CPU."""

    def __init__(self, bin_dir, python, work, reuse=False, collect=(), device=None):
        self.bin, self.work = pathlib.Path(bin_dir).resolve(), pathlib.Path(work).resolve()
        self.python = os.path.abspath(python)
        self.reuse, self.collect = reuse, list(collect)
        self.device, self.env = device, stand_in(self.bin.parent) if device else {}
        self.work.mkdir(parents=True, exist_ok=True)
        self._agent = None

    def run(self, *command, ok=(0,), env=None, cwd=None):
        try:
            p = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace",
                               timeout=TIME_LIMIT_S, cwd=cwd or self.work, env=env, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(map(str, command))}: longer than {TIME_LIMIT_S} s") from None
        if p.returncode not in ok:
            raise Failed(f"{' '.join(map(str, command))}: exit status {p.returncode}: {last_lines(p.stderr)}")
        return p

    def job(self, script, arguments=(), launcher=None, ranks=1, python=None):
        """What runs a script: itself, or a launcher and what the collector needs before it."""
        if launcher == "torchrun":
            return ["--", python or self.python, "-m", "torch.distributed.run", "--standalone",
                    f"--nproc-per-node={ranks}", script, *arguments]
        return [script, *arguments]

    def agent(self):
        """A digest of what decides how a trace looks: the collector and the agent beside it."""
        if self._agent is None:
            agents = sorted((self.bin.parent / "lib" / "traincheck").glob("*.so"))
            self._agent = digest(self.bin / "traincheck-collect", *agents)
        return self._agent

    def trace(self, name, script, arguments=(), launcher=None, ranks=1, invariants=None, python=None, extra_env=None, cwd=None):
        """The folder with the trace of a script, collected unless there is one of the same script and build.

        With reuse, one of any build will do. Traces of other options lie in a folder of their own, as two benchmarks
        that share DIR would collect anew in turns what the other one has. The trace names lines of files below cwd as seen from
        there. Returns (folder, collected now).
        """
        name = "/".join(filter(None, [self.device, "".join(self.collect).replace("/", "_"), name]))
        out, stamp = self.work / "traces" / name, self.work / "traces" / f"{name}.json"
        stamp.parent.mkdir(parents=True, exist_ok=True)
        sources = [f for f in (script, script.with_name("options.py")) if f.exists()]
        key = {"script": digest(*sources), "arguments": list(map(str, arguments))}
        if self.collect:
            key["collect"] = self.collect
        if invariants:
            is_shipped = str(invariants).startswith("@")
            key["invariants"] = invariants if is_shipped else digest(pathlib.Path(invariants))
        try:
            have = json.loads(stamp.read_text())
        except (OSError, ValueError):
            have = {}
        same = have.get("key") == key and have.get("agent") == self.agent()
        if same and have.get("failed"):
            raise Failed(have["failed"])
        if (same or (self.reuse and have.get("key") == key and not have.get("failed"))) and out.is_dir():
            return out, False
        env = dict(os.environ, OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false",
                   PYTHONDONTWRITEBYTECODE="1", **(extra_env or {}), **self.env)
        reports = tempfile.TemporaryDirectory()
        env["STANDIN_REPORT"] = f"{reports.name}/report_{{}}.json"
        select = [*self.collect, *(["-i", invariants] if invariants else [])]
        have = {"key": key, "agent": self.agent()}
        job = self.job(script, arguments, launcher, ranks, python)
        if self.device and job[0] != "--":  # a process of its own, which reads PYTHONPATH with the agent in it
            job = ["--", python or self.python, *job]
        command = [self.bin / "traincheck-collect", "--python", python or self.python, "-o", out, "--overwrite", *select, *job]
        try:
            try:
                p = self.run(*command, env=env, cwd=cwd)
            except Failed:  # gloo aborts now and then when a rank leaves first, traced or not
                p = self.run(*command, env=env, cwd=cwd)
            stamp.with_suffix(".log").write_text(p.stdout + p.stderr)
            if self.device:
                of_stand_in(reports.name)
        except Failed as e:
            have["failed"] = str(e)
            raise
        finally:
            stamp.write_text(json.dumps(have))
            reports.cleanup()
        return out, True

    def trace_pipelines(self, pipelines, jobs=1):
        """{name: folder} of all of these, so many at a time. Those that fail leave the others alone: what was collected is
        there for the next try. Raises Failed for the first of them."""
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            begun = {p.name: pool.submit(self.trace_pipeline, p, p.variant) for p in pipelines}
        failed = [f"{name}: {future.exception()}" for name, future in begun.items() if future.exception()]
        if failed:
            raise Failed(f"{len(failed)} of {len(begun)} were not collected; {failed[0]}")
        return {name: future.result()[0] for name, future in begun.items()}

    def trace_pipeline(self, pipeline, variant=""):
        name = pipeline.name + (f"+{variant}" if variant and "+" not in pipeline.name else "")
        return self.trace(name, pipeline.script, pipeline.variants(variant), pipeline.launcher, pipeline.ranks,
                          python=pipeline.python, extra_env=pipeline.env)

    def infer(self, traces, out, options=()):
        """Learn into the file `out`; returns the invariants as dicts."""
        self.run(self.bin / "traincheck-infer", "-q", *options, *traces, "-o", out)
        return [d for d in invariant_file.read(pathlib.Path(out)) if "id" in d]

    def check(self, trace, invariants):
        """Judge a trace. A build that writes no findings.jsonl has none. Returns Checked."""
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            report = pathlib.Path(folder) / "report"
            self.run(self.bin / "traincheck-check", "-q", trace, "-i", invariants, "-o", report, ok=(0, 1, 3))
            verdicts = {v: {d["id"] for d in read_lines(report / f"{v}.log")}
                        for v in ("failed", "passed", "not_triggered", "unchecked")}
            findings = report / "findings.jsonl"
            return Checked(verdicts, read_lines(report / "violations.jsonl"), read_lines(findings) if findings.exists() else [])


def in_parallel(pool, jobs):
    """Run the jobs, {name: (function, its arguments...)}; returns {name: result} and a text for each that failed."""
    done, failed = {}, []
    for name, future in {n: pool.submit(*job) for n, job in jobs.items()}.items():
        try:
            done[name] = future.result()
        except Failed as e:
            failed.append(f"{name}: {e}")
            print(f"failed: {failed[-1]}", flush=True)
    return done, failed


def parser(doc):
    """An argument parser with what every benchmark takes."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", default=ROOT / "build" / "bin", help="the tools (default build/bin)")
    p.add_argument("--python", default=sys.executable, help="an interpreter with torch (default: this one)")
    p.add_argument("--work", default=ROOT / "build" / "benchmarks", help="traces and results (default build/benchmarks)")
    p.add_argument("--collect", default="", metavar="OPTIONS", help="further options of traincheck-collect, as '--no-operators'")
    p.add_argument("--reuse", action="store_true", help="take traces of an earlier build as they are")
    return p


def tools(args):
    if not shutil.which("traincheck-collect", path=str(args.bin)):
        raise Failed(f"{args.bin}: no tools there; build them, or name them with --bin")
    return Tools(args.bin, args.python, args.work, args.reuse, args.collect.split())


def main(run):
    """Run a benchmark's main function; its failure is one line and exit status 2."""
    try:
        sys.exit(run())
    except Failed as e:
        print(f"{pathlib.Path(sys.argv[0]).parent.name}: {e}", file=sys.stderr)
        sys.exit(2)

# SPDX-License-Identifier: Apache-2.0
