# SPDX-License-Identifier: Apache-2.0
"""An actor and a critic, each with a target network that began as its copy. In the broken run only that of the critic follows. A copy that is kept
as it was beside one of the same model that follows is a reference, and one that is asked now and then is compared with."""
from trace_writer import Trace

LAYERS = ("1.weight", "2.weight")


def build(t, name, content):
    return t.model(name, {layer: {"content": 10 * content + k} for k, layer in enumerate(LAYERS)})


def agent(folder, follow, of_one=False, rare=False):
    t = Trace(folder)
    t.stage = "training"
    models = [build(t, "actor", 1), build(t, "critic", 2)]
    targets = [build(t, "target_actor", 1), build(t, "target_critic", 1 if of_one else 2)]
    optimizers = [t.optimizer(m) for m in models]
    for step in range(14):
        for i in range(2):
            t.zero_grad(optimizers[i])
            if not rare or step % 3 == 0:
                t.evaluate(targets[i], training=True)
            t.forward(models[i])
            t.backward(models[i])
            t.step(optimizers[i])
            if follow[i] and step % follow[i] == follow[i] - 1:
                for v in targets[i]["vars"]:
                    t.change(v)
        t.cut()
    t.end()


def healthy(folder):
    agent(folder, (True, True))


def fine_reference(folder):
    agent(folder, (False, True), of_one=True)


def fine_late(folder):
    """It follows each tenth step."""
    agent(folder, (10, True))


def fine_asked_rarely(folder):
    agent(folder, (False, True), rare=True)


def broken(folder):
    agent(folder, (False, True))
