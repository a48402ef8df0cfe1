# SPDX-License-Identifier: Apache-2.0
"""Terms of all parts: roles, classes of values, examples and claims."""
import collections
import json

SUBJECTS = {"backward", "step", "zero_grad", "scheduler", "scaler", "unscale", "clip", "collective", "load", "library"}
MEMBERS = SUBJECTS - {"load"}
NESTED = {"backward", "step", "zero_grad", "clip"}
FOREIGN = {"forward", "library", "method"}
OUTER = {"library", "method"}
TINY = 1.2e-7

Example = collections.namedtuple("Example", "pipeline key situation outcome")
HELD, BROKE, UNDECIDED = "held", "broke", None

# pipelines that must carry a claim where several are given: a number, or one of these
ONE_ALONE, EVERY = "one alone", "every"
# params as in the file; decide(outcome) says HELD, BROKE or UNDECIDED; a choice is learned from one pipeline only where a
# precondition explains it
Claim = collections.namedtuple("Claim", "params decide pipelines examples is_choice", defaults=(3, False))


text = json.JSONEncoder(separators=(",", ":")).encode


def number_class(x):
    return "zero" if x == 0 else "tiny" if abs(x) < TINY else "positive" if x > 0 else "negative"


def value_class(v):
    """As JSON text, or None for what is no scalar."""
    if v is None or isinstance(v, (bool, str)):
        return text(v)
    return text(number_class(v)) if isinstance(v, (int, float)) else None


def class_of(fn):
    return fn.rpartition(".")[0]
