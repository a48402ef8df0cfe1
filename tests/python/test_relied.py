# SPDX-License-Identifier: Apache-2.0
"""torch as another release might be: what the agent relies on is renamed. It says so, and nobody is accused."""
import json
import unittest

from traced import BIN, Case, folder_of

LOOP = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    x = torch.randn(64, 8)
    y = (x.sum(1) > 0).long()
    for step in range(20):
        opt.{zero_grad}()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
    print(loss.item())
"""


class Broken(Case):
    def setUp(self):
        super().setUp()
        self.torch, self.copy = folder_of("torch"), self.work / "broken/torch"
        self.copy.mkdir(parents=True)
        for entry in self.torch.iterdir():
            (self.copy / entry.name).symlink_to(entry)

    def rename(self, folder, **names):
        """In the Python files of a folder of torch, of which the rest stays as it is."""
        for file in sorted((self.torch / folder).glob("*.py")):
            text = file.read_text()
            for old, new in names.items():
                text = text.replace(old, new)
            if (self.copy / folder).is_symlink():
                (self.copy / folder).unlink()
                (self.copy / folder).mkdir()
                for entry in (self.torch / folder).iterdir():
                    if entry.suffix != ".py":
                        (self.copy / folder / entry.name).symlink_to(entry)
            (self.copy / folder / file.name).write_text(text)

    def run_broken(self, zero_grad="zero_grad"):
        """The trace; the shipped sets accuse nobody."""
        env = {"PYTHONPATH": str(self.work / "broken"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        run = self.collect(self.script(LOOP.replace("{zero_grad}", zero_grad)), env=env)
        self.assertEqual((run.code, run.err), (0, ""), run.said)
        self.assertIn("20 steps", run.said)
        self.assert_no_errors(run)
        checked = self.execute([BIN / "traincheck-check", "trace", "-i", "@all", "-o", "report"], None)
        self.assertEqual(checked.code, 0, checked.out + checked.err)
        return run

    def missing(self, run):
        return [r["text"] for r in run.records() if r["type"] == "note" and r["code"] == "missing"]

    def unchecked(self):
        """Why invariants were not judged, by their relation."""
        lines = (self.work / "report/unchecked.log").read_text().splitlines()
        return {i["relation"]: i["why"] for i in map(json.loads, lines)}

    def test_groups_of_an_optimizer(self):
        self.rename("optim", param_groups="groups_of_parameters")
        run = self.run_broken()
        self.assertEqual(self.missing(run), ["torch.optim.Optimizer.param_groups"])
        steps = self.calls(run, fn="torch.optim.Optimizer.step")
        self.assertEqual((len(steps), [s for s in steps if "params" in s]), (20, []))
        self.assertIn("what optimizers own: a step of the run does not tell it", self.unchecked()["EventContain/owned"])

    def test_a_method_a_class_and_a_parameter(self):
        self.rename("optim", zero_grad="clear_gradients", LRScheduler="RateScheduler", closure="function", set_to_none="to_none")
        run = self.run_broken("clear_gradients")
        self.assertEqual(sorted(" ".join(self.missing(run)).split()),
                         ["torch.optim.Optimizer.step", "torch.optim.Optimizer.zero_grad",
                          *(f"torch.optim.lr_scheduler.LRScheduler.{name}" for name in ("__init__", "load_state_dict", "state_dict"))])
        self.assertTrue(any("torch.optim.Optimizer.zero_grad: the collector did not find it" in reason
                            for reason in self.unchecked().values()), self.unchecked())


if __name__ == "__main__":
    unittest.main()
