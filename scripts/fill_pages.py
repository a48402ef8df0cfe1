#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fill the paragraphs and list items of pages to lines of at most 100 columns, as tests/docs/test_pages.py wants them.

usage: fill_pages.py PAGE.md [...]

Blocks that are indented by four blanks, tables, headings and comments stay as they are. Code in a line is not broken.
"""

import pathlib
import re
import sys
import textwrap

WIDTH = 100
ITEM = re.compile(r"( {0,3})(\*|-|\d+\.) +")
KEPT = re.compile(r"    |\t|\||#|<!--|!!!|```")
MARK = re.compile(r"(?:\*|-|\+|\d+\.) |[#|>]")  # what would begin something else at the start of a line


def filled(text, first, rest):
    """One paragraph; first and rest are what its lines begin with."""
    text = re.sub(r"`[^`]{,80}`", lambda m: m[0].replace(" ", "\0"), " ".join(text.split()))
    lines = textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)
    for i in range(1, len(lines)):
        if MARK.match(lines[i].removeprefix(rest)):
            lines[i - 1], _, word = lines[i - 1].rpartition(" ")
            lines[i] = f"{rest}{word} {lines[i].removeprefix(rest)}"
    return [line.replace("\0", " ") for line in lines]


def paragraph(lines):
    """The first ones, which are one paragraph or one item."""
    end = 1
    while end < len(lines) and lines[end].strip() and not ITEM.match(lines[end]) and not re.match(r"\||#|<!--", lines[end]):
        end += 1
    return lines[:end]


def fill(text):
    lines, out, is_fenced = text.split("\n"), [], False
    while lines:
        line = lines[0]
        is_fenced ^= line.startswith("```")
        if not line.strip() or is_fenced or KEPT.match(line):
            out.append(lines.pop(0))
            continue
        part = paragraph(lines)
        del lines[:len(part)]
        item, quote = ITEM.match(line), "> " if line.startswith(">") else ""
        first = item[0] if item else quote
        words = " ".join(p.removeprefix(">") for p in part) if quote else " ".join(part)
        out += filled(words.removeprefix(first), first, " " * len(first) if item else quote)
    return "\n".join(out)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    for page in map(pathlib.Path, sys.argv[1:]):
        page.write_text(fill(page.read_text()))
