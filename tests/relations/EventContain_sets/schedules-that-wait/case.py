"""Some schedules wait for long: what the others do is claimed of their class alone."""
from trace_writer import Trace

PIPELINES = 14
WAITS = "torch.optim.lr_scheduler.StepLR"
MOVES = "torch.optim.lr_scheduler.OneCycleLR"


def train(folder, cls, moves):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    group = t.settings(lr=0.1)
    for i in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.schedule(group=group, cls=cls, **({"lr": 0.1 * (i + 2)} if moves else {}))
        t.cut()
    t.end()


def healthy(folder, i):
    train(folder, WAITS if i % 2 else MOVES, not i % 2)


def fine_waits(folder):
    train(folder, WAITS, False)


def broken(folder):
    train(folder, MOVES, False)
