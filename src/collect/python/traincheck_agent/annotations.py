"""`from traincheck import annotate_stage`: what a script says of itself is recorded beside what is derived."""
import sys
import types

import _traincheck_agent as agent


def annotate_stage(stage):
    """Say what the script is doing now: "training", "evaluation", ..."""
    agent.annotate(stage)


def annotate_step(*_args, **_kwargs):
    """Accepted; steps are found without it."""


def annotate(*_args, **_kwargs):
    """Accepted."""


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
