# SPDX-License-Identifier: Apache-2.0
"""Print every API that would be traced, with its role: what traincheck-collect --list-apis runs.

Packages are imported as a job would do it; libraries of the table that are installed are listed
without that, as importing them takes long.
"""
import importlib
import importlib.util
import os
import sys

from traincheck_agent import classes, install, policy, settings, table


def _fail(text):
    sys.stderr.write(f"traincheck-collect: error: {text}\n")
    sys.exit(125)


def _meet(name):
    try:
        importlib.import_module(name)
    except ImportError as error:
        _fail(f"{name}: {error}")
    for module in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
        policy.imported((module,))


def _meet_layers():
    torch = sys.modules["torch"]
    for cls in [c for c in vars(torch.nn).values() if isinstance(c, type)]:
        if issubclass(cls, torch.nn.Module):
            classes.describe(cls)


def _libraries():
    """Rows of packages that are installed and not imported: their names stand in the table."""
    for row in table.TABLE:
        package = row.owner.split(".")[0]
        if package in sys.modules or importlib.util.find_spec(package) is None:
            continue
        for name in row.names.split():
            if install.wants(f"{row.owner}.{name}", row.role):
                yield f"{row.owner}.{name}", row.role


def main():
    sys.path[0] = os.getcwd()
    if importlib.util.find_spec("torch") is not None:
        _meet("torch")
        _meet_layers()
    for name in settings.many("instrument") + [p.split(".")[0] for p in settings.many("extra")]:
        _meet(name)
    found = {**install.roles, **dict(_libraries())}
    for path in settings.many("extra"):
        if path not in found and install.is_missing(path):
            _fail(f"{path} of --apis is no function that is there")
    sys.stdout.write("".join(f"{fn}\t{install.role_name(found[fn])}\n" for fn in sorted(found)))


main()
