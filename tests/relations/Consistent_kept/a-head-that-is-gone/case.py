# SPDX-License-Identifier: Apache-2.0
"""A model is trained, and another one of its names begins with its weights. In the broken run the head of that holds the embedding, as if the two were
tied. A whole copy, a head that is made anew, one that nobody has trained apart, and another model are right."""
from trace_writer import Trace

RULE = True


def train(folder, head=None, is_apart=True, embedding=None):
    t = Trace(folder)
    model = t.net("embed.weight", "head.weight")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer, changes=None if is_apart else [model.var("embed.weight")])
    contents = {name: model.var(name).digest for name in ("embed.weight", "head.weight")}
    t.stage = "evaluation"
    held = {"embed.weight": embedding or contents["embed.weight"], "head.weight": head(contents) if head else contents["head.weight"]}
    restored = t.model("restored", {name: {"attrs": {"data": digest}} for name, digest in held.items()})
    t.forward(restored, at="train.py:121", ctx={"grad": False}, training=False)
    t.end()


def embedding_of(contents):
    return contents["embed.weight"]


def fine(folder):
    train(folder)


def fine_made_anew(folder):
    train(folder, head=lambda contents: "00000000000000aa")


def fine_of_one_that_did_not_train(folder):
    train(folder, head=embedding_of, is_apart=False)


def fine_of_another_model(folder):
    train(folder, head=lambda contents: "00000000000000aa", embedding="00000000000000bb")


def broken(folder):
    train(folder, head=embedding_of)
