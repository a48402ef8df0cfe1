"""pytorch/torchtitan issue 596: each pipeline stage clips by the norm of its own gradients."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "setups"))
import torch  # noqa: E402
import pipeline  # noqa: E402

RUN = {"options": "--stages 2", "world": 2, "single": "bug", "names": ["sum", "", "# wrong"]}


class Optimizer(torch.optim.SGD):
    def step(self, closure=None):
        grads = [p.grad for group in self.param_groups for p in group["params"]]
        total = torch.stack([(grad ** 2).sum() for grad in grads]).sum()  # wrong: of this stage
        for grad in grads:
            grad.mul_((1 / total.sqrt()).clamp(max=1.0))
        super().step()


torch.optim.SGD = Optimizer


if __name__ == "__main__":
    pipeline.main(pipeline.arguments())

# SPDX-License-Identifier: Apache-2.0
