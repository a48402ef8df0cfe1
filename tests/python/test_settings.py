# SPDX-License-Identifier: Apache-2.0
"""What is recorded of parameter groups and gradient scalers."""
import unittest

from traced import Case, Warm

# One process for all loops: each names its own optimizer.
SCRIPT = """
import warnings; warnings.filterwarnings("ignore", "Detected call")
import torch
from torch import nn
torch.manual_seed(0)
x = torch.ones(4, 2)

def back(net): net(x).sum().backward()

def scheduled():
    net = nn.Linear(2, 1); two = torch.optim.SGD([{"params": [net.weight]}, {"params": [net.bias], "lr": 0.5}], lr=0.1, momentum=0.9)
    halve = torch.optim.lr_scheduler.StepLR(two, 2, 0.5)
    for i in range(3):
        back(net); two.step(); halve.step()

def by_hand():
    net = nn.Linear(2, 1); hand = torch.optim.AdamW(net.parameters(), lr=0.25)
    back(net); hand.step()
    for group in hand.param_groups: group["weight_decay"] = 0.75
    back(net); hand.step()
    state = hand.state_dict(); state["param_groups"][0]["lr"] = 0.125; hand.load_state_dict(state)

def same_value():
    net = nn.Linear(2, 1); same = torch.optim.SGD(net.parameters(), lr=0.5)
    for i in range(3):
        same.param_groups[0]["lr"] = float("0.5"); back(net); same.step()

def tensor_rate():
    net = nn.Linear(2, 1); tens = torch.optim.Adam(net.parameters(), lr=torch.tensor(0.5))
    tens.param_groups[0].update(elsewhere=torch.tensor(0.5, device="meta"), two=torch.ones(2))
    back(net); tens.step(); tens.param_groups[0]["lr"].mul_(0.5); back(net); tens.step()

def later_group():
    net = nn.Linear(2, 1); grown = torch.optim.SGD([net.weight], lr=0.5)
    back(net); grown.step(); grown.add_param_group({"params": [net.bias], "lr": 0.25}); back(net); grown.step()

def never_used():
    net = nn.Linear(2, 1); idle = torch.optim.SGD(net.parameters(), lr=0.5)
    torch.optim.lr_scheduler.ExponentialLR(idle, 0.5).step()

def namesakes():
    net = nn.Linear(2, 1)
    pair = [torch.optim.SGD(net.parameters(), lr=0.5), torch.optim.SGD(net.parameters(), lr=0.25)]
    for each in pair: back(net); each.step()

def scaled():
    net = nn.Linear(2, 1); o = torch.optim.SGD(net.parameters(), lr=0.5)
    big = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)
    for factor in (1.0, float("inf")):
        big.scale(net(x).sum() * factor).backward(); big.step(o); big.update(); o.zero_grad()
    off = torch.amp.GradScaler("cpu", enabled=False); off.update()

for loop in (scheduled, by_hand, same_value, tensor_rate, later_group, never_used, namesakes, scaled): loop()
"""


class Settings(Warm):
    @classmethod
    def setUpClass(cls):
        case = cls("test_names")
        Case.setUp(case)
        cls.addClassCleanup(case.doCleanups)
        cls.run_ = case.traced(SCRIPT)
        cls.records = cls.run_.records()

    def setUp(self):
        pass

    def history(self, name):
        """(cause or None, attributes) of each record of the variable of that name."""
        calls = {r["id"]: r["fn"].rpartition(".")[2] for r in self.records if r["type"] == "call"}
        serial = next(r["var"] for r in self.records if r["type"] == "var" and r.get("name") == name)
        return [(calls.get(r.get("cause")), r["attrs"]) for r in self.records
                if r["type"] == "var" and r["var"] == serial]

    def test_names(self):
        self.assertEqual((self.run_.code, self.run_.err), (0, ""))
        self.assert_no_errors(self.run_)
        kinds = {r["name"]: r["kind"] for r in self.records if r["type"] == "var" and "kind" in r
                 and r["kind"] not in ("Parameter", "buffer")}
        groups = ["two.param_groups[0]", "two.param_groups[1]", "hand.param_groups[0]", "same.param_groups[0]",
                  "tens.param_groups[0]", "grown.param_groups[0]", "grown.param_groups[1]", "each.param_groups[0]",
                  "each_2.param_groups[0]", "o.param_groups[0]", "idle.param_groups[0]"]
        self.assertEqual(kinds, {**dict.fromkeys(groups, "param_group"), "big": "scaler", "off": "scaler"})

    def test_the_first_record_has_the_numbers_and_nothing_else(self):
        _, attrs = self.history("hand.param_groups[0]")[0]
        self.assertLessEqual({"lr": 0.25, "weight_decay": 0.01, "betas": [0.9, 0.999], "amsgrad": False}.items(),
                             attrs.items())
        self.assertNotIn("params", attrs)

    def test_a_scheduler_changes_both_groups(self):
        for name, rate in (("two.param_groups[0]", 0.1), ("two.param_groups[1]", 0.5)):
            first, *later = self.history(name)
            self.assertEqual((first[1]["lr"], first[1]["momentum"], first[1]["idle"]), (rate, 0.9, True))
            self.assertEqual(later, [(None, {"idle": False}), ("step", {"lr": rate / 2})])

    def test_an_optimizer_that_does_nothing_is_idle(self):
        self.assertEqual([a for _, a in self.history("idle.param_groups[0]") if "lr" in a][-1]["lr"], 0.25)
        self.assertNotIn({"idle": False}, [a for _, a in self.history("idle.param_groups[0]")])

    def test_by_hand_and_from_a_state(self):
        self.assertEqual(self.history("hand.param_groups[0]")[1:],
                         [(None, {"weight_decay": 0.75}), ("load_state_dict", {"lr": 0.125})])

    def test_another_object_of_equal_value_is_no_change(self):
        self.assertEqual(len(self.history("same.param_groups[0]")), 1)

    def test_a_rate_that_is_a_tensor(self):
        self.assertEqual([attrs["lr"] for _, attrs in self.history("tens.param_groups[0]")], [0.5, 0.25])

    def test_tensors_elsewhere_and_of_more_elements_are_no_settings(self):
        written = {name for _, attrs in self.history("tens.param_groups[0]") for name in attrs}
        self.assertIn("betas", written)
        self.assertFalse({"elsewhere", "two", "params"} & written)

    def test_a_group_that_comes_later(self):
        self.assertEqual([attrs["lr"] for _, attrs in self.history("grown.param_groups[1]")], [0.25])

    def test_the_scale_grows_and_falls(self):
        self.assertEqual(self.history("big"), [(None, {"enabled": True, "scale": 4.0}), ("update", {"scale": 8.0}),
                                               ("update", {"scale": 4.0})])
        self.assertEqual(self.history("off"), [(None, {"enabled": False})])


if __name__ == "__main__":
    unittest.main()
