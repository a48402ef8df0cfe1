# SPDX-License-Identifier: Apache-2.0
"""Digests of tensors: equal contents equal digest, any changed element another one, whatever the layout."""
import unittest

from traced import Warm

SCRIPT = """
import torch
from torch import nn
torch.manual_seed(0)
class Holder(nn.Module):
    def __init__(self, **tensors):
        super().__init__()
        for name, t in tensors.items(): self.register_buffer(name, t)
        self.w = nn.Parameter(torch.ones(1))
    def forward(self): return self.w
base = torch.randn(6, 5)
types = dict(f32=base, f64=base.double(), f16=base.half(), bf16=base.bfloat16(), i64=(base * 10).long(),
             bits=base > 0, complex=torch.complex(base, base))
"""


class Digests(Warm):
    def digests(self, text):
        run = self.traced(SCRIPT + text + "\nholder()\n")
        self.assertEqual((run.code, run.err), (0, ""))
        self.assert_no_errors(run)
        return {r["name"].partition(".")[2]: r["attrs"]["data"] for r in run.records()
                if r["type"] == "var" and "data" in r["attrs"]}

    def test_equal_contents_have_equal_digests_in_any_layout(self):
        found = self.digests("""
            holder = Holder(a=base, b=base.clone(), c=base.t().contiguous().t(), d=base.clone().repeat(2, 1)[6:],
                            e=torch.stack([base, base], -1)[..., 0])
        """.replace("\n            ", "\n"))
        self.assertEqual(len({found[k] for k in "abcde"}), 1)

    def test_any_changed_element_changes_the_digest(self):
        found = self.digests("""
tensors = {}
for name, t in types.items():
    tensors[name] = t
    for i in range(t.numel()):
        u = t.clone(); u.view(-1)[i] = (not u.view(-1)[i]) if u.dtype == torch.bool else u.view(-1)[i] + 1
        tensors[f"{name}_{i}"] = u
holder = Holder(**tensors)
""")
        found.pop("w")
        self.assertEqual(len(set(found.values())), len(found))
        self.assertEqual(len(found), 7 * 31)

    def test_type_and_shape_are_part_of_the_content(self):
        found = self.digests("holder = Holder(a=torch.zeros(4), b=torch.zeros(2, 2), c=torch.zeros(4).int())")
        self.assertEqual(len({found[k] for k in "abc"}), 3)

    def test_what_cannot_be_read_is_null(self):
        found = self.digests("holder = Holder(a=torch.empty(4, device='meta'), b=torch.eye(3).to_sparse(), "
                             "c=torch.zeros(0))")
        self.assertIsNone(found["a"])
        self.assertIsNotNone(found["b"])
        self.assertIsNotNone(found["c"])


if __name__ == "__main__":
    unittest.main()
