# SPDX-License-Identifier: Apache-2.0
"""What the agent relies on and did not find: names that another release of a package has no more.

A name is told in a note of the trace. Invariants that speak of it are then not judged, as calls that were not traced
would count as not made.
"""
import _traincheck_agent as agent
from .signature import python_parameters

_missing = {}  # in the order in which they were missed


def miss(name):
    """Tell of it now, or as soon as there is a file."""
    if name not in _missing:
        _missing[name] = True
        if agent.has_file():
            agent.note("missing", name, 1)


def tell():
    """A file has been opened."""
    if _missing:
        agent.note("missing", " ".join(_missing), len(_missing))


def check_parameter(fn, function, name):
    """The agent reads this parameter of the calls, by its name or as the first one."""
    try:
        found = [p.name for p in python_parameters(function)[1:2]]  # behind the receiver
    except (TypeError, ValueError):
        return
    if found != [name]:
        miss(fn)


def check_module(cls):
    """A module's own entries are read without running code of the user."""
    for name in ("_parameters", "_buffers", "_modules", "training"):
        if name not in vars(cls()):
            miss(f"torch.nn.Module.{name}")


def check_groups(optimizer):
    """What an optimizer owns is read from its groups. As shows_params() of agent/look/owned.c."""
    groups = getattr(optimizer, "param_groups", None)
    if not isinstance(groups, list) or not all(isinstance(g, dict) and isinstance(g.get("params"), list) for g in groups):
        miss("torch.optim.Optimizer.param_groups")
