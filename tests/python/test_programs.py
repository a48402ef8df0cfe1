# SPDX-License-Identifier: Apache-2.0
"""Real programs, with and without tracing: the same weights after every optimizer step, the same random states in
every process, the same output, the same exit status.

usage: test_programs.py [--without NAME]... [PROGRAM.py...]     default: examples and benchmarks/pipelines of this repository
"""
import argparse
import pathlib
import re
import shutil
import sys
import unittest

from traced import PYTHON, Warm, warm_python
from warm import warm_frameworks

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PIPELINES = ROOT / "benchmarks" / "pipelines"
# One of each kind: with the arguments that make it short.
OWN = {
    ROOT / "examples" / "digits" / "train.py": (),
    **{PIPELINES / f"{name}.py": ("--steps", "12") for name in (
        "bf16_accumulate", "char_lstm", "checkpoint_resume", "cnn_workers", "ddp_digits", "gan", "hf_trainer_gpt2",
        "iterable_workers", "lbfgs_diabetes", "lightning_cnn", "quantize_ste", "scaler_cnn", "tensor_parallel_mlp",
        "tiny_gpt")},
}
# These import torch below the agent; the others, and all that are not traced, meet it imported. So do processes that the others spawn.
COLD = "ddp_digits", "hf_trainer_gpt2", "train"


# What a program tells of its own speed.
SPEED = re.compile(r"(?<=_runtime': ')[\d.]+|(?<=_per_second': ')[\d.]+|\[\d\d:\d\d<[^]]*\]")


def observe(case, script, arguments, folder=None):
    """(exit status, output, errors, what the observer wrote in each process), the run"""
    seen = case.work / "seen"
    shutil.rmtree(seen, ignore_errors=True)
    seen.mkdir()
    env = {"PYTHONPATH": str(HERE / "observer"), "OBSERVED": str(seen), "OMP_NUM_THREADS": "1",
           "PYTHONDONTWRITEBYTECODE": "1"}
    if script.stem not in COLD:
        env["WARM_SPAWNS"] = "1"
    if folder:
        python = PYTHON if script.stem in COLD else case.python
        run = case.collect(script, *arguments, folder=folder, env=env, python=python)
    else:
        run = case.execute([case.python, script, *arguments], None, env)
    return (run.code, SPEED.sub("", run.out), SPEED.sub("", run.err), sorted(f.read_text() for f in seen.iterdir())), run


class Programs(Warm):
    host_env = {"OMP_NUM_THREADS": "1"}
    script = None

    @property
    def python(self):
        """To import scikit-learn draws from `random`: what does so traced does so here, too."""
        if self.script.stem == "lightning_cnn":  # that of other tests; test_steps.py has those who import lightning below the agent
            return warm_frameworks(PYTHON)
        return warm_python(also=[] if self.script.stem in COLD else ["sklearn.datasets"], **self.host_env)

    def check(self, script, arguments):
        self.script = script
        plain, _ = observe(self, script, arguments)
        traced, run = observe(self, script, arguments, folder="trace")
        self.assertEqual(plain[0], 0, plain[2])
        self.assertTrue(any(text.count("\n") > 2 for text in plain[3]), "no optimizer step was seen")
        self.assertEqual(traced, plain)
        self.assert_no_errors(run)
        self.assertTrue(self.calls(run, fn="torch.optim.Optimizer.step"))


def add(script, arguments):
    name = "_".join(script.with_suffix("").parts[-2:])
    setattr(Programs, f"test_{name}", lambda self: self.check(script, arguments))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without", action="append", default=[], metavar="NAME")
    parser.add_argument("programs", nargs="*", type=pathlib.Path)
    asked = parser.parse_args()
    for path, given in ({p.resolve(): () for p in asked.programs} or OWN).items():
        if path.stem not in asked.without:
            add(path, given)
    unittest.main(argv=sys.argv[:1])
