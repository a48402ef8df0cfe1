# SPDX-License-Identifier: Apache-2.0
"""--operators: what the script computes by lines of its own is in the trace, what libraries do for it is not."""
import unittest

from traced import Case

SCRIPT = """
import torch
x = torch.arange(6.0).reshape(2, 3)
w = torch.nn.Parameter(torch.ones(3))
y = 1 - 2 * x[0] / w
(y == 0).sum()
torch.minimum(x, x)
with torch.no_grad():
    w.mul_(0.5)
print(torch.nn.functional.softmax(x, 1).sum().item(), y.tolist(), x[:, 1].tolist(), x[torch.tensor([1])].shape)
opt = torch.optim.Adam([w], foreach=False)
w.sum().backward()
opt.step()

class Ones(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return x[0] + i
for batch in torch.utils.data.DataLoader(Ones(), batch_size=2): pass
"""


class Operators(Case):
    def calls(self, *options):
        run = self.traced(SCRIPT, options=options)
        self.assert_no_errors(run)
        self.assertIn("[1.0, -1.0, -3.0] [1.0, 4.0] torch.Size([1, 3])", run.out)
        self.head = next(r for r in run.records() if r["type"] == "process")
        role = {r["fn"]: r["role"] for r in run.records() if r["type"] == "api"}
        return [r for r in run.records() if r["type"] == "call" and role[r["fn"]] == "operator"]

    def test_symbols_have_the_names_of_methods(self):
        calls = self.calls("--operators")
        self.assertEqual([r["fn"].removeprefix("torch.").removeprefix("Tensor.") for r in calls],
                         ["reshape", "__getitem__", "mul", "div", "rsub", "eq", "sum", "minimum", "mul_",
                          "sum", "__getitem__", "tensor", "__getitem__", "sum"])
        self.assertIs(self.head["operators"], True)
        self.assertEqual(calls[4]["args"], {"other": 1})
        self.assertEqual(calls[7]["alias"], [["args.input", "args.other"]])

    def test_without_the_option_there_are_none(self):
        self.assertEqual(self.calls(), [])
        self.assertNotIn("operators", self.head)


if __name__ == "__main__":
    unittest.main()
