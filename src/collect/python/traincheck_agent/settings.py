# SPDX-License-Identifier: Apache-2.0
"""What the collector asked for, handed over in one environment variable."""
import os

VARIABLE = "TRAINCHECK_COLLECT"


def _read():
    values = {}
    for line in os.environ.get(VARIABLE, "").split("\n"):
        key, _, value = line.partition("=")
        values.setdefault(key, []).append(value.replace("%0A", "\n").replace("%25", "%"))
    return values


_values = _read()


def text(key, default=""):
    return _values.get(key, [default])[0]


def number(key, default=0):
    return int(text(key, str(default)))


def flag(key):
    return text(key) == "1"


def many(key):
    return _values.get(key, [])


CONTENT = ("off", "batches", "full")  # in the order of the agent's own
output_dir = text("output_dir")
selected = frozenset(many("api")) if text("mode") == "selective" else None
left_out = frozenset(many("leave_out"))
