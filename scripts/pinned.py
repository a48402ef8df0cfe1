# SPDX-License-Identifier: Apache-2.0
"""The lines NAME=VALUE of scripts/versions."""

import os


def _read():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "versions")) as lines:
        return dict(line.strip().split("=", 1) for line in lines if "=" in line and line[0] != "#")


PINNED = _read()


def as_numbers(version):
    """(2, 13) of "2.13.0+cpu"."""
    return tuple(int(part) for part in version.split("+")[0].split(".")[:2])
