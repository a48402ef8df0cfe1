# SPDX-License-Identifier: Apache-2.0
"""Run the steps of action.yml as a runner of GitHub does, without one; steps that use other actions are left out.

Needs PyYAML.

usage: run_action.py ACTION [INPUT=VALUE]...

Prints each step, what it writes to stdout, and the outputs. Exits with 1 if a step failed.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml


def filled_in(text, inputs):
    return re.sub(r"\$\{\{ *inputs\.([\w-]+) *\}\}", lambda match: inputs[match[1]], text)


def main():
    action = yaml.safe_load(pathlib.Path(sys.argv[1]).read_text())
    given = dict(pair.split("=", 1) for pair in sys.argv[2:])
    unknown = given.keys() - action["inputs"].keys()
    assert not unknown, f"no such inputs: {unknown}"
    inputs = {name: given.get(name, spec.get("default")) for name, spec in action["inputs"].items()}
    missing = [name for name, value in inputs.items() if value is None]
    assert not missing, f"inputs are missing: {missing}"
    failed, folder = False, str(pathlib.Path(sys.argv[1]).resolve().parent)
    with tempfile.NamedTemporaryFile("r") as outputs:
        for step in action["runs"]["steps"]:
            if "run" not in step or failed and step.get("if") != "always()":
                print(f"-- left out: {step['name']}")
                continue
            print(f"-- {step['name']}", flush=True)
            env = {name: filled_in(str(value), inputs) for name, value in step.get("env", {}).items()}
            p = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                               env=os.environ | env | {"GITHUB_OUTPUT": outputs.name, "GITHUB_ACTION_PATH": folder}, check=False)
            failed = failed or p.returncode != 0
        print("-- outputs\n" + outputs.read(), end="")
    sys.exit(failed)


main()
