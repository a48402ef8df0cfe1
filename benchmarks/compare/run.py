#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does a comparison of two runs say what differs first?

usage: run.py [--bin BUILD/bin] [--python PYTHON] [--work DIR] [--reuse] [--only TEXT] [-j N] [PART...]

pairs      the pairs of this folder, by authors who had not read how runs are compared: before.py and
           after.diff; half are bugs, half changes that alter a result and are none (pairs.json)
visible    ref.py and bug.py of the blind sets (--sets sixteenth,...; all by default), with equal seeds
itself     the healthy script of each of these beside a second run of it: nothing may differ
seeds      the same beside a run with another seed: no call may be missing, new or moved
pipelines  each healthy pipeline beside a second run of it
resume     scripts of resume/: a run that goes on from a checkpoint beside the one that was never stopped, as it is
           (nothing may differ) and with one part forgotten (resume.json), which has to be named
ranks      scripts of ranks/: two ranks beside one, five right (nothing may differ) and five wrong (ranks.json)
growth     two runs of 10^4, 10^5 and 10^6 calls, made here: time, memory, and the exponent of time

told   something differs by the exit status
first  the place of what is said to differ first is a changed line
screen the place of something on the first screen is a changed line; the hunks of the sources do not count

Writes DIR/compare.json and DIR/compare.md. Exit status 0 unless a script or a tool failed.
"""

import collections
import concurrent.futures
import json
import math
import os
import pathlib
import resource
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402

PARTS = ("pairs", "visible", "itself", "seeds", "pipelines", "resume", "ranks", "growth")


def compare(tools, run, against, *options):
    """The differences as dicts, the summary last, and the exit status."""
    p = tools.run(tools.bin / "traincheck-check", run, "--against", *against, *options, "--json", "-q",
                  "-o", tools.work / "reports" / pathlib.Path(run).name, "--no-html-report", ok=(0, 1))
    lines = [json.loads(line) for line in p.stdout.splitlines()]
    return lines[:-1], lines[-1], p.returncode


PLACES = (("at_reference", 0), ("origin_reference", 0), ("at", 1), ("origin", 1))  # as harness.PLACES, of a difference


def is_hit(difference, scripts, changed):
    return harness.names_change(difference, scripts, changed, PLACES)


def judge_pair(tools, name, scripts, traces, changed):
    differences, summary, status = compare(tools, traces[1], [traces[0]])
    shown = [d for d in differences if d["shown"]]
    counted = [d for d in shown if "set_aside" not in d]
    return {"name": name, "told": status == 1,
            "first": bool(counted) and is_hit(counted[0], scripts, changed),
            "screen": any(is_hit(d, scripts, changed) for d in shown),
            "says": counted[0]["text"] if counted else "", "shown": len(shown), "differences": summary["counted"]}


# ---- parts --------------------------------------------------------------------------------------


def pair_scripts(tools, name):
    """before.py, and after.py made of it by after.diff."""
    folder = HERE / "pairs" / name
    text = harness.patched(folder / "before.py", folder / "after.diff")
    return folder / "before.py", harness.write_if_other(tools.work / "compare" / name / "after.py", text)


def run_pairs(tools, pool, options):
    entries = json.loads((HERE / "pairs" / "pairs.json").read_text())

    def one(name):
        scripts = pair_scripts(tools, name)
        traces = [tools.trace(f"compare/pairs/{name}/{s.stem}", s)[0] for s in scripts]
        changed = [set(entries[name]["lines_before"]), set(entries[name]["lines_after"] or entries[name].get("near_after", []))]
        return judge_pair(tools, name, scripts, traces, changed) | {"class": entries[name]["kind"]}
    return each(pool, one, [n for n in sorted(entries) if options.only in n])


def visible_cases(options):
    return [(s, p.parent) for s in options.sets for p in sorted((HERE.parent / "blind" / s / "bugs").glob("*/ref.py"))
            if options.only in p.parent.name]


def case_name(case):
    return f"{case[0]}/{case[1].name}"


def run_visible(tools, pool, options):
    def one(case):
        scripts = case[1] / "ref.py", harness.broken_script(case[1], tools.work)
        traces = [tools.trace(f"compare/{case[0]}/{case[1].name}/{s.stem}", s)[0] for s in scripts]
        entry = json.loads((case[1].parents[1] / "cases.json").read_text())[case[1].name]
        changed = [set(entry[f"lines_{k}"]) for k in ("before", "after")] if "lines_before" in entry else harness.changed_lines(*scripts)
        return judge_pair(tools, case[1].name, scripts, traces, changed) | {"class": case[0]}
    return each(pool, one, visible_cases(options), case_name)


def beside_another(tools, name, script, folder, arguments):
    """A healthy script's run beside another run of it."""
    traces = [tools.trace(f"{folder}/ref", script)[0], tools.trace(f"{folder}/{'-'.join(arguments) or 'again'}", script, arguments)[0]]
    differences, summary, status = compare(tools, traces[1], [traces[0]])
    counted = [d for d in differences if "set_aside" not in d]
    calls = [d for d in counted if d["kind"] == "calls"]
    return {"name": name, "told": status == 1, "calls": len(calls), "differences": summary["counted"],
            "says": (calls or counted or [{"text": ""}])[0]["text"]}


def run_itself(tools, pool, options):
    return each(pool, lambda c: beside_another(tools, c[1].name, c[1] / "ref.py", f"compare/{c[0]}/{c[1].name}", []),
                visible_cases(options), case_name)


def run_seeds(tools, pool, options):
    return each(pool, lambda c: beside_another(tools, c[1].name, c[1] / "ref.py", f"compare/{c[0]}/{c[1].name}",
                                               ["--seed", "11"]), visible_cases(options), case_name)


def run_pipelines(tools, pool, options):
    def one(pipeline):
        first, _ = tools.trace_pipeline(pipeline)
        second, _ = tools.trace(f"compare/pipelines/{pipeline.name}", pipeline.script, (), pipeline.launcher, pipeline.ranks)
        differences, summary, status = compare(tools, second, [first])
        counted = [d for d in differences if "set_aside" not in d]
        return {"name": pipeline.name, "told": status == 1, "calls": sum(d["kind"] == "calls" for d in counted),
                "differences": summary["counted"], "says": counted[0]["text"] if counted else ""}
    return each(pool, one, [p for n, p in harness.pipelines().items() if options.only in n], lambda p: p.name)


def run_resume(tools, pool, options):
    entries = json.loads((HERE / "resume" / "resume.json").read_text())

    def one(name):
        script, file = HERE / "resume" / name / "train.py", tools.work / "compare" / f"{name}.pt"
        straight, _ = tools.trace(f"compare/resume/{name}/straight", script, ["--out", file])
        row = {"name": name, "class": entries[name]["forget"]}
        for what, more in (("as it is", []), ("forgotten", ["--forget", entries[name]["forget"]])):
            run, _ = tools.trace(f"compare/resume/{name}/{what.replace(' ', '-')}", script, ["--resume", file, *more])
            differences, summary, status = compare(tools, run, [straight], "--resumed")
            counted = [d for d in differences if "set_aside" not in d]
            row[what] = {"told": status == 1, "step": summary.get("resumed_at"), "differences": summary["counted"],
                         "says": [d["text"] for d in counted if d["shown"]][:4]}
        row["told"] = row["forgotten"]["told"] and not row["as it is"]["told"]
        row["says"] = f"as it is: {row['as it is']['says'][:1]}; forgotten: {row['forgotten']['says']}"
        return row
    return each(pool, one, [n for n in sorted(entries) if options.only in n])


def run_ranks(tools, pool, options):
    entries = json.loads((HERE / "ranks" / "ranks.json").read_text())

    def one(name):
        one, two = (tools.trace(f"compare/ranks/{name}/{n}", HERE / "ranks" / name / "train.py", ["--ranks", n])[0] for n in "12")
        differences, summary, status = compare(tools, two, [one])
        counted = [d for d in differences if "set_aside" not in d]
        return {"name": name, "class": "wrong" if entries[name]["wrong"] else "right", "told": status == 1,
                "differences": summary["counted"], "says": counted[0]["text"] if counted else ""}
    return each(pool, one, [n for n in sorted(entries) if options.only in n])


def each(pool, one, items, name=str):
    """one() of each item; rows in order, and a text for each that failed."""
    done, failed = harness.in_parallel(pool, {name(i): (one, i) for i in items})
    return list(done.values()), failed


# ---- growth -------------------------------------------------------------------------------------


def write_run(path, n_calls, shift):
    """A trace of steps of 20 calls, whose weights part in the last tenth."""
    path.mkdir(parents=True, exist_ok=True)
    steps = n_calls // 20
    with open(path / "trace_1.jsonl", "w") as f:
        f.write('{"type":"process","schema":6,"pid":1,"role":"main","packages":{"torch":"2"},"content":"batches",'
                '"digest":"nh64","mode":"full","operators":true}\n')
        f.write('{"type":"api","fn":"torch.optim.Optimizer.step","role":"step"}\n')
        f.write('{"type":"var","var":1,"t":0,"name":"w","kind":"Parameter","attrs":{"data":"0000000000000000"}}\n')
        for step in range(steps):
            for k in range(20):
                i = 20 * step + k
                fn = "torch.optim.Optimizer.step" if k == 19 else f"torch.f{k % 7}"
                f.write(f'{{"type":"call","id":{i},"fn":"{fn}","t":{2 * i},"step":{step},"stage":"training","by":"user",'
                        f'"at":"train.py:{k + 1}","args":{{"x":{{"tensor":"Tensor","id":{i},"shape":[4],"dtype":"float32",'
                        f'"device":"cpu","requires_grad":false}},"dim":{k}}}}}\n')
                if k == 19:
                    digest = step + (shift if step > steps * 9 // 10 else 0)
                    f.write(f'{{"type":"var","var":1,"t":{2 * i},"cause":{i},"attrs":{{"data":"{digest:016x}"}}}}\n')
                f.write(f'{{"type":"return","id":{i},"t":{2 * i + 1},"value":null}}\n')
            f.write(f'{{"type":"step","step":{step},"t":{40 * step + 39},"stage":"training","why":"data"}}\n')


def run_growth(tools, _pool, _options):
    rows = []
    for n in (10 ** 4, 10 ** 5, 10 ** 6):
        folders = [tools.work / "compare" / "growth" / f"{n}-{shift}" for shift in (0, 7)]
        for shift, folder in zip((0, 7), folders):
            write_run(folder, n, shift)
        command = [tools.bin / "traincheck-check", folders[1], "--against", folders[0], "-q", "-o", folders[0] / "report"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        p = subprocess.run(["/usr/bin/time", "-f", "%M", *map(str, command)], capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows.append({"name": f"{n} calls", "told": p.returncode == 1, "seconds": after.ru_utime - before.ru_utime,
                     "MB": int(p.stderr.split()[-1]) / 1024, "says": p.stdout.strip().splitlines()[0]})
        for folder in folders:
            (folder / "trace_1.jsonl").unlink()
    for a, b in zip(rows, rows[1:]):
        b["exponent"] = math.log10(b["seconds"] / a["seconds"])
    return rows, []


# ---- the report ---------------------------------------------------------------------------------


def totals(part, rows):
    if part in ("pairs", "visible"):
        yield (f"{part}: told {sum(r['told'] for r in rows)} of {len(rows)}, first at a changed line {sum(r['first'] for r in rows)}, "
               f"a changed line on the first screen {sum(r['screen'] for r in rows)}")
        classes = collections.Counter(r["class"] for r in rows)
        for name in sorted(classes):
            r = [x for x in rows if x["class"] == name]
            yield (f"{part}, {name}: told {sum(x['told'] for x in r)} of {len(r)}, first {sum(x['first'] for x in r)}, "
                   f"screen {sum(x['screen'] for x in r)}")
    elif part == "seeds":
        yield f"seeds: no call missing, new or moved in {sum(not r['calls'] for r in rows)} of {len(rows)}"
    elif part in ("itself", "pipelines"):
        yield f"{part}: nothing differs in {sum(not r['told'] for r in rows)} of {len(rows)}"
    elif part == "ranks":
        yield "ranks: told " + ", ".join(f"{sum(r['told'] for r in rows if r['class'] == c)} of "
                                         f"{sum(r['class'] == c for r in rows)} {c}" for c in ("right", "wrong"))
    elif part == "resume":
        yield (f"resume: nothing differs as it is in {sum(not r['as it is']['told'] for r in rows)} of {len(rows)}, "
               f"what is forgotten is told in {sum(r['forgotten']['told'] for r in rows)}")
    else:
        for r in rows:
            yield (f"growth: {r['name']}: {r['seconds']:.2f} s, {r['MB']:.0f} MB"
                   + (f", exponent {r['exponent']:.2f}" if "exponent" in r else ""))


RUN = {"pairs": run_pairs, "visible": run_visible, "itself": run_itself, "seeds": run_seeds, "pipelines": run_pipelines,
       "resume": run_resume, "ranks": run_ranks, "growth": run_growth}


def markdown(results, failed):
    out = ["# Comparison", ""] + [f"* {t}" for part, rows in results.items() for t in totals(part, rows)]
    out += [f"* failed: {f}" for f in failed]
    for part, rows in results.items():
        out += ["", f"## {part}", ""]
        for r in rows:
            marks = ", ".join(k for k in ("told", "first", "screen") if r.get(k)) or "nothing told"
            out += [f"* `{r['name']}` ({marks}): {' '.join(str(r['says']).split())[:300]}"]
    return "\n".join(out) + "\n"


def run():
    p = harness.parser(__doc__)
    p.add_argument("--only", default="", help="cases whose name contains this")
    p.add_argument("--sets", type=harness.blind_sets, default=harness.blind_sets(),
                   help="blind sets of the parts visible, itself and seeds")
    p.add_argument("-j", "--jobs", type=int, default=1, help="scripts that are traced at a time")
    p.add_argument("parts", nargs="*", metavar="PART", default=list(PARTS))
    args = p.parse_args()
    if unknown := [x for x in args.parts if x not in PARTS]:
        p.error(f"no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    tools, results, failed = harness.tools(args), {}, []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for part in args.parts:
            results[part], more = RUN[part](tools, pool, args)
            failed += more
            print(*totals(part, results[part]), sep="\n", flush=True)
    (tools.work / "compare.json").write_text(json.dumps(results, indent=1))
    (tools.work / "compare.md").write_text(markdown(results, failed))
    print(f"report: {os.path.relpath(tools.work / 'compare.md')}")
    return 1 if failed else 0


if __name__ == "__main__":
    harness.main(run)
