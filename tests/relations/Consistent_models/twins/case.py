# SPDX-License-Identifier: Apache-2.0
"""Two critics that train. In the broken run one begins as a copy of the other and is given the same, so that both are one. Copies that are
trained by turns, as those of clients between two averagings, may be equal as long as one rests."""
from trace_writer import Trace

LAYERS = ("1.weight", "2.weight")


def critics(folder, contents, turns=False):
    t = Trace(folder)
    t.stage = "training"
    models = [t.model(f"critic{i}", {name: {"content": 10 * content + k} for k, name in enumerate(LAYERS)})
              for i, content in enumerate(contents)]
    optimizers = [t.optimizer(m) for m in models]
    for step in range(8):
        for i, (model, optimizer) in enumerate(zip(models, optimizers)):
            if not turns or step // 4 == i:
                t.zero_grad(optimizer)
                t.forward(model)
                t.backward(model)
                t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    critics(folder, (1, 2))


def healthy_another(folder):
    critics(folder, (3, 4))


def fine_by_turns(folder):
    critics(folder, (1, 1), turns=True)


def broken(folder):
    critics(folder, (1, 1))
