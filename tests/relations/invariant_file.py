# SPDX-License-Identifier: Apache-2.0
"""An invariant file as docs/invariant-format.md has it, read a second time: lines below a heading become whole invariants."""

import json


def whole(lines):
    """The documents of these lines but for headings, each invariant with relation, params and when."""
    heading = None
    for line in map(json.loads, lines):
        if "subject" in line and "attribute" not in line:
            heading = line
        elif "attribute" in line and "params" not in line:
            yield join(heading, line)
        else:
            yield line


def join(heading, line):
    subject = {k: v for k, v in heading.items() if k not in ("relation", "needs", "evidence")}
    claim = {k: v for k, v in line.items() if k in ("attribute", "operand", "is")}
    known = {**heading, **line, "params": [subject, claim], "when": []}
    order = ("id", "relation", "params", "when", "needs", "text", "evidence")
    first = {k: known[k] for k in order if k in known and (k != "needs" or known[k])}
    return {**first, **{k: v for k, v in line.items() if k not in claim and k not in order}}


def read(path):
    return list(whole(path.read_text(encoding="utf-8").splitlines()))
