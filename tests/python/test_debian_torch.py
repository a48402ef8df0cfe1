# SPDX-License-Identifier: Apache-2.0
"""Debian's python3-torch (1.13 in Debian 12) under its own python3: the same loop, healthy and whole."""
import unittest

from traced import BIN, Case, PYTHON

LOOP = """
    import torch
    from torch import nn
    import torch.nn.functional as F
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    y = (x.sum(1) > 0).long()
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2
        @staticmethod
        def backward(ctx, g):
            return g * 2
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.bn, self.fc2 = nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 2)
            self.drop = nn.Dropout(0.2)
        def forward(self, x):
            return self.fc2(self.drop(Twice.apply(F.relu(self.bn(self.fc1(x))))))
    net = Net()
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)
    sched = torch.optim.lr_scheduler.StepLR(opt, 1)
    for epoch in range(2):
        net.train()
        for a, b in DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True):
            opt.zero_grad()
            loss = F.cross_entropy(net(a), b)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
        net.eval()
        with torch.no_grad():
            net(x)
        sched.step()
    torch.save(net.state_dict(), "net.pt")
    print(loss.item(), [p.double().sum().item() for p in net.parameters()], torch.get_rng_state().sum().item())
"""


class DebianTorch(Case):
    def test_a_healthy_loop(self):
        plain = self.plain(LOOP)
        run = self.collect("--strict", self.work / "script.py")
        self.assertEqual((run.code, run.out, run.err), (0, plain.out, plain.err), run.said)
        self.assertIn("8 steps, ", run.said)
        # what later releases have and this one has not is told, and no other note
        self.assertEqual([r for r in run.records() if r["type"] == "note" and r["code"] != "missing"], [])
        # 8 batches of two epochs; the evaluations are the forwards above them
        for fn, n in (("torch.optim.Optimizer.step", 8), ("torch.optim.Optimizer.zero_grad", 8),
                      ("torch.Tensor.backward", 8), ("torch.nn.utils.clip_grad_norm_", 8),
                      ("torch.autograd.Function.apply", 10), ("torch.nn.Linear.forward", 20)):
            self.assertEqual(len(self.calls(run, fn=fn)), n, fn)
        names = {r["name"] for r in run.records() if r["type"] == "var" and "name" in r}
        self.assertLessEqual({f"net.{layer}.{kind}" for layer in ("fc1", "bn", "fc2")
                              for kind in ("weight", "bias")} | {"net.bn.running_mean"}, names)
        stages = [r["stage"] for r in run.records() if r["type"] == "step"]
        self.assertEqual((stages.count("training"), stages.count("evaluation")), (8, 2))

    def test_a_trace_is_learned_from_and_passes(self):
        self.assertEqual(self.traced(LOOP).code, 0)
        learned = self.execute([BIN / "traincheck-infer", "-q", "trace", "-o", "i.jsonl"], None)
        self.assertEqual(learned.code, 0, learned.err)
        self.assertTrue((self.work / "i.jsonl").read_text())
        checked = self.execute([BIN / "traincheck-check", "trace", "-i", "i.jsonl", "-o", "report"], None)
        self.assertEqual(checked.code, 0, checked.out + checked.err)


if __name__ == "__main__":
    unittest.main()
