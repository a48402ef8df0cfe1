# SPDX-License-Identifier: Apache-2.0
"""The short form of the validation: healthy scripts that nothing was learned from pass -i @all, broken ones do not.

All are traced selectively, as far as the sets need it.
"""

import importlib.util
import pathlib
import sys
import tempfile
import unittest

import shipped
import harness
import sets

sys.path.insert(0, str(shipped.ROOT / "tests"))
from warm import warm_frameworks  # noqa: E402

# Of the pipelines that validate: one for each set, short ones.
HEALTHY = ["vae", "ddp_text", "hf_vit_manual"]
# The examples' broken variants, and what of the sets must tell.
BROKEN = {
    "digits": "Optimizer.step() changes data of",
    "tiny-gpt": "the root forward in training mode",
    "ddp": "is the same on all ranks",
    "transformers-trainer": "Optimizer.step() changes data of",
}


def lacks(pipeline):
    """Packages of a pipeline that are not installed here."""
    modules = (p for p in pipeline.packages if p != "scikit-learn")
    return [m for m in modules if importlib.util.find_spec(m) is None]


class Validation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.tools = harness.Tools(cls.bin, warm_frameworks(sys.executable), folder.name)
        cls.plan = sets.Plan()

    def trace(self, pipeline, script, arguments=()):
        name = f"{pipeline.name}-{script.stem}".replace("/", "-")
        return self.tools.trace(name, script, arguments, pipeline.launcher, pipeline.ranks, "@all")[0]

    def installed(self, names):
        """The pipelines of these names whose packages are there."""
        for name in names:
            missing = lacks(self.plan.pipelines[name])
            if missing:
                print(f"{name} is left out: {', '.join(missing)} not installed", file=sys.stderr)
            else:
                yield name, self.plan.pipelines[name]

    def test_healthy_pipelines_pass(self):
        for name, pipeline in self.installed(HEALTHY):
            with self.subTest(name):
                self.assertIn(name, self.plan.roles["validate"])
                trace = self.trace(pipeline, pipeline.script, ["--steps", "x0.5"])
                logs, violations = sets.verdicts(self.tools, trace, ["@all"])
                self.assertEqual([v["expected"] for v in violations], [])
                self.assertGreater(len(logs["passed"]), 10)

    def test_broken_examples_are_found(self):
        for name, pipeline in self.installed(f"examples/{n}" for n in BROKEN):
            with self.subTest(name):
                broken = pipeline.script.with_name("train_broken.py")
                _, violations = sets.verdicts(self.tools, self.trace(pipeline, broken), ["@all"])
                told = "\n".join(v["expected"] for v in violations)
                self.assertIn(BROKEN[pathlib.PurePath(name).name], told)


if __name__ == "__main__":
    shipped.main(bin=Validation)
