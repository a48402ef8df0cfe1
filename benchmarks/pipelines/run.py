#!/usr/bin/env python3
"""Trace healthy pipelines, all or those named.

usage: run.py [--bin BUILD/bin] [--python PYTHON] [--work DIR] [--variant seed=1] [NAME...]

A trace goes to DIR/traces/NAME, that of a variant to DIR/traces/NAME+VARIANT. One that is there already is
kept while neither the script nor the collector has changed. A variant sets the scripts' options:
seed=3, lr=x0.5, width=x2, steps=x1.5, also several: seed=3,width=x2.
"""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import harness  # noqa: E402


def table(pipelines):
    rows = ["| pipeline | what it exercises | processes | packages |", "|---|---|---|---|"]
    for p in pipelines.values():
        rows.append(f"| `{p.name}` | {p.exercises} | {p.ranks} | {', '.join(['torch', *p.packages])} |")
    return "\n".join(rows)


def run():
    p = harness.parser(__doc__)
    p.add_argument("--variant", action="append", help="options of the scripts; may be given several times")
    p.add_argument("--table", action="store_true", help="print the table of README.md, run nothing")
    p.add_argument("names", nargs="*", metavar="NAME")
    args = p.parse_args()
    chosen = harness.pipelines(args.names)
    if args.table:
        print(table(chosen))
        return 0
    tools, broken = harness.tools(args), 0
    for pipeline in chosen.values():
        for variant in args.variant or [""]:
            start = time.monotonic()
            try:
                folder, fresh = tools.trace_pipeline(pipeline, variant)
                took = f"{time.monotonic() - start:5.1f} s" if fresh else "   kept"
                print(f"{took}  {folder}", flush=True)
            except harness.Failed as e:
                broken += 1
                print(f" failed  {pipeline.name} {variant}: {e}", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    harness.main(run)

# SPDX-License-Identifier: Apache-2.0
