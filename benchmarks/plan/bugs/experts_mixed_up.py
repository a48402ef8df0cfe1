"""Rows come back from the experts in the order of ranks and not of tokens."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import moe  # noqa: E402

RUN = {"options": "--ranks 2", "world": 2, "layout": "moe", "names": ["clone", "bugs/experts_mixed_up.py", "return rows.transpose"]}


class Experts(moe.Experts):
    def forward(self, x):
        n, width = x.shape
        rows = x.view(n // self.n_experts, self.n_experts, width).transpose(0, 1).contiguous()
        if self.ranks > 1:
            rows = moe.Exchange.apply(rows).view(self.ranks, self.n_experts // self.ranks, -1, width)
            out = self.run(rows.transpose(0, 1).flatten(1, 2))
            rows = moe.Exchange.apply(out.view(self.n_experts, -1, width))  # wrong: not brought back into order
        else:
            rows = self.run(rows)
        return rows.transpose(0, 1).reshape(n, width)


moe.Experts = Experts


if __name__ == "__main__":
    moe.main()

# SPDX-License-Identifier: Apache-2.0
