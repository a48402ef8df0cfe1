#!/usr/bin/env python3
"""Make a long trace of a real one: its step windows, again and again.

usage: repeat.py TRACE FOLDER EVENTS

TRACE is a folder with one main process. What stands before its first step window is written once, its windows as often as it
takes for so many records; calls, objects, times and steps are numbered on, so that nothing tells the copies from windows of a
longer run. Needs the zstd command. Frames hold 1 MiB of JSON, as those of the collector.
"""
import pathlib
import re
import subprocess
import sys

FRAME = 1 << 20
NUMBERS = re.compile(r'^\{"type":"(?:call|return|raise)","id":(?P<call>\d+)|"(?P<key>parent|cause|t|step|id)":(?P<number>\d+)')


def read(folder):
    files = list(pathlib.Path(folder).glob("trace_*"))
    if len(files) != 1:
        sys.exit(f"{folder}: a trace of one process is needed")
    if files[0].suffix == ".zst":
        text = subprocess.run(["zstd", "-dcq", str(files[0])], stdout=subprocess.PIPE, check=True, text=True).stdout
    else:
        text = files[0].read_text()
    return files[0].name, text.splitlines()


def cut(lines):
    """What comes before, in and after the windows; windows begin and end with a cut by new data."""
    cuts = [i for i, line in enumerate(lines) if line.startswith('{"type":"step"') and '"why":"end"' not in line]
    if len(cuts) < 3:
        sys.exit("the trace has too few step windows")
    first, last = cuts[0] + 1, cuts[-1] + 1
    return lines[:first], lines[first:last], lines[last:]


def number_of(line, key):
    found = re.search(rf'"{key}":(\d+)', line)
    return int(found[1]) if found else 0


class Template:
    """Windows as text between numbers that grow from copy to copy."""

    def __init__(self, head, body):
        serials = {int(n) for line in head for n in re.findall(r'"(?:id|var)":(\d+)', line)}
        self.spans = {"call": self.span(body, r'^\{"type":"call","id":(\d+)'),
                      "t": number_of(body[-1], "t") - number_of(head[-1], "t"),
                      "step": number_of(body[-1], "step") - number_of(head[-1], "step"),
                      "id": max(int(n) for line in body for n in re.findall(r'"id":(\d+)', line)) - max(serials)}
        self.parts, self.numbers, self.steps = [], [], []
        text = ""
        for line in body:
            at = 0
            for m in NUMBERS.finditer(line):
                key = "call" if m["call"] else {"parent": "call", "cause": "call"}.get(m["key"], m["key"])
                n = int(m["call"] or m["number"])
                if key == "id" and n in serials:  # it lives on
                    continue
                start = m.start("call") if m["call"] else m.start("number")
                self.parts.append(text + line[at:start])
                self.numbers.append(n)
                self.steps.append(self.spans[key])
                text, at = "", m.end()
            text += line[at:] + "\n"
        self.tail = text

    @staticmethod
    def span(body, pattern):
        numbers = [int(m[1]) for m in (re.match(pattern, line) for line in body) if m]
        return max(numbers) - min(numbers) + 1

    def copy(self, i):
        out = [None] * (2 * len(self.parts) + 1)
        out[:-1:2] = self.parts
        out[1::2] = [str(n + i * step) for n, step in zip(self.numbers, self.steps)]
        out[-1] = self.tail
        return "".join(out)


def write_frames(file, chunks):
    pending = b""
    for chunk in chunks:
        pending += chunk.encode()
        while len(pending) >= FRAME:
            end = pending.rindex(b"\n", 0, FRAME) + 1
            file.write(frame(pending[:end]))
            pending = pending[end:]
    file.write(frame(pending))


def frame(data):
    return subprocess.run(["zstd", "-qc3", "--no-progress"], input=data, stdout=subprocess.PIPE, check=True).stdout


def repeat(source, folder, events):
    """Write it; returns the number of records."""
    name, lines = read(source)
    head, body, tail = cut(lines)
    again = [line for line in body if not line.startswith('{"type":"api"')
             and not (line.startswith('{"type":"var"') and '"kind":' in line)]
    repeated = set(again)
    once = [line for line in body if line not in repeated]
    copies = max(1, round((events - len(head) - len(tail)) / len(again)))
    template = Template(head + once, again)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)

    def chunks():
        yield "\n".join(head + once) + "\n"
        for i in range(copies):
            yield template.copy(i)
        yield "\n".join(tail) + "\n"

    with open(folder / (name.removesuffix(".zst") + ".zst"), "wb") as file:
        write_frames(file, chunks())
    return len(head) + len(once) + copies * len(again) + len(tail)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(repeat(sys.argv[1], sys.argv[2], int(sys.argv[3])), "records")

# SPDX-License-Identifier: Apache-2.0
