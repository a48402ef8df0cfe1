"""Gradients of keys do not travel the last hop home."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import ring  # noqa: E402

RUN = {"options": "--ranks 3 --merge flash", "world": 3, "names": ["", "", "# wrong"]}


class Ring(ring.Ring):
    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, lse = ctx.saved_tensors
        rank, ranks = ctx.rank, ctx.ranks
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for hop in range(ranks):
            if hop <= rank:
                parts = ring.backward_kernel(grad.contiguous(), q, k, v, out, lse, 0.0, hop == 0)
                dq, dk, dv = dq + parts[0], dk + parts[1], dv + parts[2]
            if hop + 1 < ranks:  # wrong: what came last is that of the next rank
                k, v, dk, dv = ring.pass_on((k, v, dk, dv), rank, ranks)
        return dq, dk, dv, None, None, None


ring.Ring = Ring


if __name__ == "__main__":
    ring.main()

# SPDX-License-Identifier: Apache-2.0
