#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the commands that a page shows and paste anew what they print.

usage: paste_outputs.py --bin BUILD/bin PAGE.md [...]

A command is a line "    $ ..."; its output stands below it up to the next command or the end of the block. The commands
of one page run in one copy of its folder, in their order, with the tools and this interpreter first on PATH. A line before
a block says otherwise:

    <!-- run in ../examples/ddp -->       this block and those after it run in a copy of that folder
    <!-- not run: needs Slurm -->         the next block is no output of ours, and why
    <!-- from ../examples/ddp/README.md --> the next block stands in that page, which is held there

tests/docs/test_pages.py holds pages against what their commands print.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MARK = r"<!-- (?P<kind>run in|not run:|from) (?P<what>.*?) -->\n"
# A block is what is indented by four blanks after an empty line; in lists it is indented further and no block of ours.
BLOCK = re.compile(r"(?m)^(?:" + MARK + r"\n?)?(?P<block>(?<=\n\n)    \S.*\n(?:(?:    .*)?\n)*)", re.M)


def is_run(match):
    return re.search(r"(?m)^    \$ ", match["block"]) and match["kind"] in (None, "run in")


class Shell:
    """Runs the commands of one page, each in its folder's copy below work."""

    def __init__(self, page, bin_dir, work, python_dir=None):
        self.page, self.work = page.resolve(), pathlib.Path(work)
        folders = [bin_dir, python_dir, pathlib.Path(sys.executable).parent, os.environ["PATH"]]
        path = [str(folder) for folder in folders if folder]
        self.env = {**os.environ, "PATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.env.pop("VIRTUAL_ENV", None)
        self.cwd = None

    def enter(self, match):
        if match["kind"] == "run in" or self.cwd is None:
            source = (self.page.parent / (match["what"] if match["kind"] == "run in" else ".")).resolve()
            self.cwd = self.work / source.name
            if not self.cwd.exists():
                shutil.copytree(source, self.cwd)

    def run(self, command):
        """What it printed. The interpreter of PATH is the one that collects: that of python_dir, or of this script."""
        done = subprocess.run(["bash", "-c", command], cwd=self.cwd, env=self.env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout.replace(f"{self.cwd}/", "")

    def paste(self, match):
        """The block as its commands print it now."""
        block = match["block"]
        if not is_run(match):
            return match[0]
        self.enter(match)
        parts = []
        for command in re.findall(r"(?m)^    \$ (.*)$", block):
            lines = [f"$ {command}", *self.run(command).rstrip("\n").split("\n")]
            parts.append("".join(f"    {line}".rstrip() + "\n" for line in lines if line or len(lines) > 2))
        end = "\n" * (len(block) - len(block.rstrip("\n")) - 1)
        return match[0].removesuffix(block) + "\n".join(parts) + end


def pasted(page, bin_dir, python_dir=None):
    """The text of a page with the outputs of now."""
    with tempfile.TemporaryDirectory() as work:
        return BLOCK.sub(Shell(page, bin_dir, os.path.realpath(work), python_dir).paste, page.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    for page in options.pages:
        page.write_text(pasted(page, options.bin.resolve()))


if __name__ == "__main__":
    main()
