#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Put the cells that tests/matrix.sh has run into the table of docs/matrix.md: table.py docs/matrix.md CELL.json [...]

Rows of other cells stay as they are.
"""
import json
import pathlib
import sys

from cell import PROGRAMS, is_well


def numbers(version):
    return [int(part) for part in version.split("+")[0].split(".")]


def again(found):
    """Of a program that did not end at once."""
    return f" ({' and '.join(found['again'])}: at the second try)" if "again" in found else ""


def word(found):
    if "plain" in found:
        return "did not end, twice" if "again" in found else "not there"
    if is_well(found):
        return f"{found['steps']} steps{again(found)}"
    faults = [] if found["same"] else ["**changed**"]
    faults += [f"**{found['alarms']} accused**"] if found["alarms"] else []
    faults += [] if found["steps"] == found["with_params"] else [f"{found['with_params']} of {found['steps']} steps with params"]
    return ", ".join(faults or ["**switched off**"]) + again(found)


def notes(cell):
    """Notes of a cell, the names that are missing by their last parts."""
    found = sorted({note for p in cell["programs"].values() for note in p.get("notes", ())})
    return "; ".join(note if not note.startswith("missing: ") else
                     "missing: " + ", ".join(f"`{name.removeprefix('torch.')}`" for name in note[9:].split())
                     for note in found) or "none"


def row(cell):
    return [cell["python"], cell["torch"], *(word(cell["programs"][p]) for p in PROGRAMS), notes(cell)]


def rows_of(lines):
    """The rows of a table, by Python and torch."""
    cells = (line.strip("| ").split(" | ") for line in lines)
    return {tuple(cell[:2]): cell for cell in cells if cell[0][:1].isdigit()}


def main():
    page = pathlib.Path(sys.argv[1])
    above, header, table = page.read_text().partition("| Python | torch |")
    rows = rows_of(table.splitlines())
    for path in sys.argv[2:]:
        cell = row(json.loads(pathlib.Path(path).read_text()))
        rows[tuple(cell[:2])] = cell
    lines = [" ".join([header, " | ".join(PROGRAMS), "| notes |"]), "|---" * (len(PROGRAMS) + 3) + "|"]
    lines += ["| " + " | ".join(cell) + " |" for cell in sorted(rows.values(), key=lambda c: [numbers(v) for v in c[:2]])]
    page.write_text(above + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
