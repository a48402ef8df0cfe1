"""Windows and stages: a fragment of a script, and the (step, stage, call) that it leaves.

D next batch, Z zero_grad, F root forward, B backward, S step, L scheduler, T train, E eval; | a cut.
"""
import unittest

from traced import Case

SETUP = """
import torch
from torch import nn
torch.manual_seed(0)
m = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1)); loss_of = nn.MSELoss()
o = torch.optim.SGD(m.parameters(), lr=0.01)
x, y = torch.ones(4, 2), torch.ones(4, 1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=2)
def fb(model=m, v=x): loss_of(model(v), y[:len(v)]).backward()
"""

LETTERS = {"__next__": "D", "zero_grad": "Z", "__call__": "F", "backward": "B", "step": "S",
           "train": "T", "eval": "E"}


class Steps(Case):
    def shape(self, run):
        out = []
        for r in run.records():
            if r["type"] == "step":
                out.append("|")
            elif r["type"] == "call" and r["fn"].rpartition(".")[2] in LETTERS:
                name = r["fn"].rpartition(".")[2]
                if name == "__call__" and r["self"].get("role") != "root":
                    continue
                out.append("L" if "lr_scheduler" in r["fn"] else LETTERS[name])
        return " ".join(out)

    def check(self, text, shape, stages=None):
        run = self.traced(SETUP + text)
        self.assertEqual((run.code, run.err), (0, ""))
        self.assert_no_errors(run)
        self.assertEqual(self.shape(run), shape)
        windows = [(r["step"], r["stage"]) for r in run.records() if r["type"] == "step"]
        if stages is not None:
            self.assertEqual(windows, stages)
        steps = [r["step"] for r in run.records() if "step" in r]
        self.assertEqual(steps, sorted(steps))
        return run

    def test_plain_loop(self):
        self.check("for i in range(3): o.zero_grad(); fb(); o.step()",
                   "| Z F B S | Z F B S | Z F B S |",
                   [(0, "init"), (0, "training"), (1, "training"), (2, "training")])

    def test_missing_zero_grad(self):
        run = self.check("for i in range(3): fb(); o.step()", "| F B S | F B S | F B S |")
        self.assertEqual(["uncleared" in c for c in self.calls(run, fn="torch.optim.Optimizer.step")],
                         [False, True, True])

    def test_accumulation_is_one_window(self):
        run = self.check("for i in range(2):\n    o.zero_grad(); fb(); fb(); o.step()",
                         "| Z F B F B S | Z F B F B S |")
        self.assertFalse(any("uncleared" in r for r in run.records()))

    def test_batches_begin_windows_and_the_end_of_data_does_not(self):
        self.check("s = torch.optim.lr_scheduler.StepLR(o, 1)\n"
                   "for epoch in range(2):\n    for a, b in loader: o.zero_grad(); fb(v=a); o.step()\n    s.step()",
                   "L | D Z F B S | D Z F B S D L | D Z F B S | D Z F B S D L |")

    def test_evaluation_is_a_window_of_its_own(self):
        self.check("for i in range(2):\n    m.train(); o.zero_grad(); fb(); o.step()\n    m.eval()\n"
                   "    with torch.no_grad(): m(x)",
                   "T | Z F B S | E F | T Z F B S | E F |",
                   [(0, "init"), (0, "training"), (1, "evaluation"), (1, "training"), (2, "evaluation")])

    def test_closure(self):
        self.check("o = torch.optim.LBFGS(m.parameters(), max_iter=1)\n"
                   "def c():\n    o.zero_grad(); l = loss_of(m(x), y); l.backward(); return l\n"
                   "for i in range(2): o.step(c)", "S Z F B | S Z F B |")

    def test_adversarial(self):
        self.check("g = nn.Linear(2, 2); og = torch.optim.SGD(g.parameters(), 0.1)\n"
                   "for i in range(2):\n    o.zero_grad(); fb(); o.step(); og.zero_grad(); fb(v=g(x)); og.step()",
                   "| Z F B S Z F F B S | Z F B S Z F F B S |")

    def test_second_run_with_an_optimizer_of_its_own(self):
        self.check("for i in range(2): o.zero_grad(); fb(); o.step()\n"
                   "o = torch.optim.SGD(m.parameters(), 0.1)\nfor i in range(2): o.zero_grad(); fb(); o.step()",
                   "| Z F B S | Z F B S | Z F B S | Z F B S |")

    def test_super_is_one_event(self):
        self.check("class Mine(torch.optim.SGD):\n    def step(self, closure=None): return super().step(closure)\n"
                   "    def zero_grad(self, set_to_none=True): super().zero_grad(set_to_none)\n"
                   "o = Mine(m.parameters(), lr=0.1)\nfor i in range(2): o.zero_grad(); fb(); o.step()",
                   "| Z F B S | Z F B S |")

    def test_schedulers_of_the_constructor_are_by_torch(self):
        run = self.check("s = torch.optim.lr_scheduler.StepLR(o, 1)\no.zero_grad(); fb(); o.step(); s.step()",
                         "L | Z F B S L |")
        self.assertEqual([c["by"] for c in self.calls(run, fn="torch.optim.lr_scheduler.LRScheduler.step")],
                         ["torch", "user"])
        self.assertEqual([c["by"] for c in self.calls(run, fn="torch.optim.Optimizer.step")], ["user"])

    def test_loss_modules_are_no_roots(self):
        run = self.check("loss_of(x, x)\nm(x)", "| F |")
        self.assertEqual(len(self.calls(run, fn="torch.nn.MSELoss.forward")), 1)

    def test_saving_is_checkpointing(self):
        run = self.check("import io\no.zero_grad(); fb(); o.step(); torch.save(m.state_dict(), io.BytesIO())",
                         "| Z F B S |")
        self.assertEqual([c["stage"] for c in self.calls(run, fn="torch.save")], ["checkpointing"])

    def test_annotation_stands_beside_the_stage(self):
        run = self.check("from traincheck import annotate_stage\nannotate_stage('training')\nm.eval(); m(x)", "E | F |")
        call, = [c for c in self.calls(run) if c.get("self", {}).get("role") == "root"]
        self.assertEqual((call["stage"], call["ctx"]["annotation"]), ("evaluation", "training"))


if __name__ == "__main__":
    unittest.main()
