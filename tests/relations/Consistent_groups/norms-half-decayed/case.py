# SPDX-License-Identifier: Apache-2.0
"""Two groups, one without a decay. In the broken run the biases of the norms are in that, and their weights are decayed."""
from trace_writer import Trace

NAMES = {"fc.weight": "torch.nn.Linear", "fc.bias": "torch.nn.Linear", "norm.weight": "torch.nn.LayerNorm",
         "norm.bias": "torch.nn.LayerNorm"}


def train(folder, decayed):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {n: {"attrs": {"owner": owner, "shape": [4, 4] if n == "fc.weight" else [4]}}
                              for n, owner in NAMES.items()})
    optimizer = t.optimizer(model)
    for decay, names in ((0.1, decayed), (0.0, set(NAMES) - set(decayed))):
        params = [t.tensor(id=v.serial) for v in model["vars"] if v.name.split(".", 1)[1] in names]
        t.op("torch.optim.Optimizer.add_param_group", at="train.py:9", self={"object": "torch.optim.Adam", "id": optimizer["id"], "attrs": {}},
             args={"param_group": {"dict": {"params": params, "weight_decay": decay}}})
    for _ in range(3):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, ("fc.weight",))


def healthy_all_but_biases_of_layers(folder):
    train(folder, ("fc.weight", "norm.weight", "norm.bias"))


def broken(folder):
    train(folder, ("fc.weight", "norm.weight"))
