#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the table of docs/matrix.md from the cells that tests/matrix.sh has run: table.py CELL.json [...]"""
import json
import pathlib
import sys

from cell import PROGRAMS, is_well


def numbers(version):
    return [int(part) for part in version.split("+")[0].split(".")]


def word(found):
    if "plain" in found:
        return "not there"
    if is_well(found):
        return f"{found['steps']} steps"
    faults = [] if found["same"] else ["**changed**"]
    faults += [f"**{found['alarms']} accused**"] if found["alarms"] else []
    faults += [] if found["steps"] == found["with_params"] else [f"{found['with_params']} of {found['steps']} steps with params"]
    return ", ".join(faults or ["**switched off**"])


def notes(cell):
    """Notes of a cell, the names that are missing by their last parts."""
    found = sorted({note for p in cell["programs"].values() for note in p.get("notes", ())})
    return "; ".join(note if not note.startswith("missing: ") else
                     "missing: " + ", ".join(f"`{name.removeprefix('torch.')}`" for name in note[9:].split())
                     for note in found) or "none"


def main():
    cells = [json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:]]
    cells.sort(key=lambda c: (numbers(c["python"]), numbers(c["torch"])))
    print("| Python | torch |", " | ".join(PROGRAMS), "| notes |")
    print("|---" * (len(PROGRAMS) + 3) + "|")
    for cell in cells:
        print("|", " | ".join([cell["python"], cell["torch"], *(word(cell["programs"][p]) for p in PROGRAMS),
                              notes(cell)]), "|")


if __name__ == "__main__":
    main()
