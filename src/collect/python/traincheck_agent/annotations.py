# SPDX-License-Identifier: Apache-2.0
"""`from traincheck import annotate_stage`: what a script says of itself is recorded beside what is derived."""
import sys
import types

import _traincheck_agent as agent
from .signature import json_scalar, json_text

_said = {}


def annotate(**fields):
    """Say something of what comes: annotate(epoch=3, phase="warm-up"). None takes a field back."""
    for name, value in fields.items():
        _said[name] = value
        if value is None:
            del _said[name]
    members = (f"{json_text(name)}:{json_scalar(value) or json_text(str(value))}"
               for name, value in _said.items())
    agent.annotate("{" + ",".join(members) + "}" if _said else None)


def annotate_stage(stage):
    """Say what the script is doing now: "training", "evaluation", ..."""
    annotate(stage=stage)


def annotate_step(step):
    """Say which step the script counts now; the steps of the trace are found without it."""
    annotate(step=step)


def serve():
    """Stand in for the package of that name, which need not be installed."""
    package = types.ModuleType("traincheck", "Served by traincheck-collect.")
    package.__path__ = []
    for function in (annotate_stage, annotate_step, annotate):
        setattr(package, function.__name__, function)
    instrumentor = types.ModuleType("traincheck.instrumentor")
    instrumentor.meta_vars = {}
    package.instrumentor = instrumentor
    sys.modules["traincheck"] = package
    sys.modules["traincheck.instrumentor"] = instrumentor
