#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the commands that a README shows and paste anew what they print.

usage: paste_outputs.py --bin BUILD/bin README.md [...]

A command is a line "    $ ..."; its output stands below it up to the next command or the end of the block. The commands
of one README run in one copy of its folder, in their order, with the tools and this interpreter first on PATH.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?m)^    \$ .*\n(?:(?:    .*)?\n)*")


def run(command, cwd, bin_dir):
    path = os.pathsep.join([str(bin_dir), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(["bash", "-c", command], cwd=cwd, env={**os.environ, "PATH": path}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.replace(f"{cwd}/", "")


def paste(block, cwd, bin_dir):
    commands = re.findall(r"(?m)^    \$ (.*)$", block)
    parts = []
    for command in commands:
        lines = [f"$ {command}", *run(command, cwd, bin_dir).rstrip("\n").split("\n")]
        parts.append("".join(f"    {line}".rstrip() + "\n" for line in lines))
    return "\n".join(parts) + "\n" * (len(block) - len(block.rstrip("\n")) - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("readmes", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    for readme in options.readmes:
        with tempfile.TemporaryDirectory() as work:
            cwd = pathlib.Path(work) / readme.resolve().parent.name
            shutil.copytree(readme.resolve().parent, cwd)
            text = readme.read_text()
            readme.write_text(BLOCK.sub(lambda m: paste(m.group(), cwd, options.bin.resolve()), text))


if __name__ == "__main__":
    main()
