# SPDX-License-Identifier: Apache-2.0
"""Windows and stages: a fragment of a script, and the (step, stage, call) that it leaves.

D next batch, Z zero_grad, F root forward, B backward, S step, L scheduler, T train, E eval; | a cut.
"""
import re
import unittest

from traced import PYTHON, Warm, has_package

SETUP = """
import torch
from torch import nn
torch.manual_seed(0)
m = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1)); loss_of = nn.MSELoss()
o = torch.optim.SGD(m.parameters(), lr=0.01)
x, y = torch.ones(4, 2), torch.ones(4, 1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=2)
def fb(model=m, v=x): loss_of(model(v), y[:len(v)]).backward()
"""

LETTERS = {"__next__": "D", "zero_grad": "Z", "__call__": "F", "backward": "B", "step": "S",
           "train": "T", "eval": "E"}


class Steps(Warm):
    def shape(self, run):
        out = []
        for r in run.records():
            if r["type"] == "step":
                out.append("|")
            elif r["type"] == "call" and r["fn"].rpartition(".")[2] in LETTERS:
                name = r["fn"].rpartition(".")[2]
                if name == "__call__" and r["self"].get("role") != "root":
                    continue
                out.append("L" if "lr_scheduler" in r["fn"] else LETTERS[name])
        return " ".join(out)

    def check(self, text, shape, stages=None):
        run = self.traced(SETUP + text)
        self.assertEqual((run.code, run.err), (0, ""))
        self.assert_no_errors(run)
        self.assertEqual(self.shape(run), shape)
        windows = [(r["step"], r["stage"]) for r in run.records() if r["type"] == "step"]
        if stages is not None:
            self.assertEqual(windows, stages)
        steps = [r["step"] for r in run.records() if "step" in r]
        self.assertEqual(steps, sorted(steps))
        return run

    def test_plain_loop(self):
        self.check("for i in range(3): o.zero_grad(); fb(); o.step()",
                   "| Z F B S | Z F B S | Z F B S |",
                   [(0, "init"), (0, "training"), (1, "training"), (2, "training")])

    def test_missing_zero_grad(self):
        run = self.check("for i in range(3): fb(); o.step()", "| F B S | F B S | F B S |")
        self.assertEqual(["uncleared" in c for c in self.calls(run, fn="torch.optim.Optimizer.step")],
                         [False, True, True])

    def test_accumulation_is_one_window(self):
        run = self.check("for i in range(2):\n    o.zero_grad(); fb(); fb(); o.step()",
                         "| Z F B F B S | Z F B F B S |")
        self.assertFalse(any("uncleared" in r for r in run.records()))

    def test_batches_begin_windows_and_the_end_of_data_does_not(self):
        self.check("s = torch.optim.lr_scheduler.StepLR(o, 1)\n"
                   "for epoch in range(2):\n    for a, b in loader: o.zero_grad(); fb(v=a); o.step()\n    s.step()",
                   "L | D Z F B S | D Z F B S D L | D Z F B S | D Z F B S D L |")

    def test_evaluation_is_a_window_of_its_own(self):
        self.check("for i in range(2):\n    m.train(); o.zero_grad(); fb(); o.step()\n    m.eval()\n"
                   "    with torch.no_grad(): m(x)",
                   "T | Z F B S | E F | T Z F B S | E F |",
                   [(0, "init"), (0, "training"), (1, "evaluation"), (1, "training"), (2, "evaluation")])

    def test_closure(self):
        self.check("o = torch.optim.LBFGS(m.parameters(), max_iter=1)\n"
                   "def c():\n    o.zero_grad(); l = loss_of(m(x), y); l.backward(); return l\n"
                   "for i in range(2): o.step(c)", "| S Z F B | S Z F B |")

    def test_adversarial(self):
        self.check("g = nn.Linear(2, 2); og = torch.optim.SGD(g.parameters(), 0.1)\n"
                   "for i in range(2):\n    o.zero_grad(); fb(); o.step(); og.zero_grad(); fb(v=g(x)); og.step()",
                   "| Z F B S Z F F B S | Z F B S Z F F B S |")

    def test_second_run_with_an_optimizer_of_its_own(self):
        self.check("for i in range(2): o.zero_grad(); fb(); o.step()\n"
                   "o = torch.optim.SGD(m.parameters(), 0.1)\nfor i in range(2): o.zero_grad(); fb(); o.step()",
                   "| Z F B S | Z F B S | Z F B S | Z F B S |")

    def test_a_method_that_is_named_like_one_of_module_may_train(self):
        run = self.check("""
class Layer(nn.Linear):
    def __init__(self):
        super().__init__(2, 1); self.o = torch.optim.SGD(self.parameters(), lr=0.01)
    def train(self, batch):
        for i in range(3): self.o.zero_grad(); loss_of(self(batch), y).backward(); self.o.step()
class Quiet(nn.Linear):
    def train(self, mode): return super().train(mode)
quiet = Quiet(2, 1); quiet.train(False)
a, b = Layer(), Layer()
a.train(x); b.train(x)
""", "T T | Z F B S | Z F B S | Z F B S T | Z F B S | Z F B S | Z F B S |")
        self.assertEqual([c["fn"] for c in self.calls(run) if c["fn"].endswith("train")],
                         ["torch.nn.Module.train", "__main__.Layer.train", "__main__.Layer.train"])

    def test_super_is_one_event(self):
        self.check("class Mine(torch.optim.SGD):\n    def step(self, closure=None): return super().step(closure)\n"
                   "    def zero_grad(self, set_to_none=True): super().zero_grad(set_to_none)\n"
                   "o = Mine(m.parameters(), lr=0.1)\nfor i in range(2): o.zero_grad(); fb(); o.step()",
                   "| Z F B S | Z F B S |")

    def test_schedulers_of_the_constructor_are_by_torch(self):
        run = self.check("s = torch.optim.lr_scheduler.StepLR(o, 1)\no.zero_grad(); fb(); o.step(); s.step()",
                         "L | Z F B S L |")
        self.assertEqual([c["by"] for c in self.calls(run, fn="torch.optim.lr_scheduler.LRScheduler.step")],
                         ["torch", "user"])
        self.assertEqual([c["by"] for c in self.calls(run, fn="torch.optim.Optimizer.step")], ["user"])

    def test_loss_modules_are_no_roots(self):
        run = self.check("loss_of(x, x)\nm(x)", "| F |")
        self.assertEqual(len(self.calls(run, fn="torch.nn.MSELoss.forward")), 1)

    def test_a_thread_has_a_stage_of_its_own(self):
        run = self.check("import threading\nside = nn.Linear(2, 1)\n"
                         "def look():\n    with torch.no_grad(): side(x)\n"
                         "for i in range(2):\n"
                         "    o.zero_grad(); t = threading.Thread(target=look); t.start(); t.join(); fb(); o.step()",
                         "| Z F F B S | Z F F B S |")
        self.assertEqual([(c.get("th", 0) > 0, c["stage"]) for c in self.calls(run, fn="torch.nn.Module.__call__")
                          if c["self"].get("role") == "root"], 
                         [(True, "evaluation"), (False, "training")] * 2)

    def test_saving_is_checkpointing(self):
        run = self.check("import io\no.zero_grad(); fb(); o.step(); torch.save(m.state_dict(), io.BytesIO())",
                         "| Z F B S |")
        self.assertEqual([c["stage"] for c in self.calls(run, fn="torch.save")], ["checkpointing"])

    def test_a_wrapper_is_in_the_mode_of_what_it_wraps(self):
        """Its own flag stays behind where only the inner model is switched, as Lightning does."""
        run = self.check("w = nn.Sequential(m)\n"
                         "w.training = False\n"
                         "for i in range(2): o.zero_grad(); fb(w); o.step()\n"
                         "w(x)\n"
                         "m.eval(); w.training = True\n"
                         "w(x)\n",
                         "| Z F B S | Z F B S | F E | F |",
                         None)
        forwards = [c["self"]["attrs"]["training"] for c in self.calls(run, fn="torch.nn.Module.__call__")
                    if c["self"].get("role") == "root"]
        self.assertEqual(forwards, [True, True, True, False])

    def test_a_cover_of_an_optimizer_is_not_waited_for(self):
        """An object that shows another's attributes, clears gradients itself and lets the other step."""
        self.check("class Cover(torch.optim.SGD):\n"
                   "    def __init__(self, inner): self.__dict__ = dict(inner.__dict__, inner=inner)\n"
                   "    def step(self): self.inner.step()\n"
                   "c = Cover(o)\n"
                   "for i in range(3):\n"
                   "    fb(); c.step(); c.zero_grad()\n",
                   "| F B S | Z F B S | Z F B S | Z |")

    def test_annotations_stand_beside_step_and_stage(self):
        run = self.check("from traincheck import annotate, annotate_stage, annotate_step\n"
                         "annotate_stage('training'); m.eval(); m(x)\n"
                         "annotate_step(7); annotate(phase='warm-up', part=0.5); m(x)\n"
                         "annotate(step=None, part=None, stage=None); m(x); annotate(phase=None); m(x)",
                         "E | F F F F |")
        made = [c for c in self.calls(run) if c.get("self", {}).get("role") == "root"]
        self.assertEqual([(c["step"], c["stage"]) for c in made], [(0, "evaluation")] * 4)
        self.assertEqual([c.get("ctx", {}).get("annotation") for c in made],
                         [{"stage": "training"}, {"stage": "training", "step": 7, "phase": "warm-up", "part": 0.5},
                          {"phase": "warm-up"}, None])


# ---- a table: what a fragment leaves, by step and stage

MORE_LETTERS = {"GradScaler.scale": "a", "GradScaler.unscale_": "u", "GradScaler.step": "g",
                "GradScaler.update": "p", "clip_grad_norm_": "c", "torch.save": "W", "torch.load": "R",
                "Module.load_state_dict": "l", "Optimizer.load_state_dict": "l"}
FRAMEWORKS = SETUP.replace("o = torch.optim.SGD(m.parameters(), lr=0.01)\n", "")

# A batch that is fetched before a call says which stage it is for carries the stage before, in the window
# of the new one. Lightning restores the mode without a call; its step holds the closure.
# name, setup, fragment, one line for each (step, stage) that follows another one. Letters as above, and
# scale a, unscale u, clip c, GradScaler's step g and update p, save W, load R, load_state_dict l.
TABLE = (
    ("a skipped step belongs to the next one that is made", SETUP, """
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
for i in range(3):
    o.zero_grad()
    loss = loss_of(m(x), y) * (float("inf") if i == 1 else 1)
    scaler.scale(loss).backward(); scaler.unscale_(o); torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    scaler.step(o); scaler.update()
""", """
0 training: Z F a B u c g S p
1 training: Z F a B u c g p Z F a B u c g S p
"""),
    ("saving and resuming", SETUP, """
import io
for i in range(2):
    o.zero_grad(); fb(); o.step()
    file = io.BytesIO(); torch.save({"m": m.state_dict(), "o": o.state_dict()}, file)
file.seek(0); state = torch.load(file); m.load_state_dict(state["m"]); o.load_state_dict(state["o"])
o.zero_grad(); fb(); o.step()
""", """
0 training: Z F B S
0 checkpointing: W
1 training: Z F B S
1 checkpointing: W
1 training: R l l
2 training: Z F B S
"""),
    ("evaluation in the middle of an epoch", SETUP, """
for i, (a, b) in enumerate(torch.utils.data.DataLoader(loader.dataset)):
    m.train(); o.zero_grad(); fb(v=a); o.step()
    if i == 1:
        m.eval()
        with torch.no_grad(): m(x)
""", """
0 init: D T
0 training: Z F B S
1 training: D T Z F B S
2 evaluation: E F
2 evaluation: D
2 training: T Z F B S
3 training: D T Z F B S D
"""),
    ("two forwards of two models in one step", SETUP, """
teacher = nn.Linear(2, 1).eval()
for i in range(2):
    with torch.no_grad(): t = teacher(x)
    o.zero_grad(); loss_of(m(x), t).backward(); o.step()
""", """
0 init: E
0 evaluation: F
0 training: Z F B S
1 evaluation: F
1 training: Z F B S
"""),
    ("accelerate, two batches a step, one batch read ahead", SETUP, """
import accelerate
a = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
m, o, loader = a.prepare(m, o, loader)
for epoch in range(2):
    for p, q in loader:
        with a.accumulate(m):
            a.backward(loss_of(m(p), q)); o.step(); o.zero_grad()
""", """
0 init: l D
0 init: D
0 training: F B D F B S
1 training: Z D D F B D F B S
2 training: Z
"""),
    ("lightning, with validation", FRAMEWORKS, """
import lightning, logging, warnings
warnings.filterwarnings("ignore"); logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
class Lit(lightning.LightningModule):
    def __init__(self): super().__init__(); self.net = m
    def training_step(self, batch, i): return loss_of(self.net(batch[0]), batch[1])
    def validation_step(self, batch, i): loss_of(self.net(batch[0]), batch[1])
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), 0.1)
lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                  enable_progress_bar=False, enable_model_summary=False,
                  num_sanity_val_steps=0).fit(Lit(), loader, loader)
""", """
0 training: Z D S F Z B
1 training: D S F Z B
2 training: Z
2 evaluation: E D F D F
2 evaluation: D
2 training: S F Z B
3 training: D S F Z B
4 training: Z
4 evaluation: E D F D F
"""),
    ("transformers' Trainer, with evaluation", FRAMEWORKS, """
import transformers
class Wrap(nn.Module):
    def __init__(self): super().__init__(); self.net = m
    def forward(self, x, labels=None):
        out = self.net(x)
        return {"loss": loss_of(out, labels), "logits": out}
data = [{"x": x[i], "labels": y[i]} for i in range(4)]
args = transformers.TrainingArguments(
    "out", per_device_train_batch_size=2, num_train_epochs=2, report_to=[], use_cpu=True,
    save_strategy="no", eval_strategy="epoch", disable_tqdm=True, logging_strategy="no")
transformers.Trainer(Wrap(), args, train_dataset=data, eval_dataset=data).train()
""", """
0 init: l L
0 training: Z D D T F B c c S L
1 training: Z D T F B c c S L
2 training: Z
2 evaluation: E D D F D
2 evaluation: D
2 training: T F B c c S L
3 training: Z D T F B c c S L
4 training: Z
4 evaluation: E D D F
"""),
)


class Table(Warm):
    def letter(self, call, roles):
        names = call["fn"].split(".")
        for name in (".".join(names[-2:]), names[-1]):
            if name in MORE_LETTERS:
                return MORE_LETTERS[name]
        if call["fn"].endswith("LRScheduler.step"):
            return "L"
        if roles[call["fn"]] in ("library", "method") or names[-1] not in LETTERS:
            return None
        return LETTERS[names[-1]] if names[-1] != "__call__" or call["self"].get("role") == "root" else None

    def lines(self, run):
        """One for each run of calls of the same step and stage; a window that is cut ends one."""
        out, roles, last = [], {}, None
        for r in run.records():
            if r["type"] == "api":
                roles[r["fn"]] = r["role"]
            elif r["type"] == "step":
                last = None
            letter = self.letter(r, roles) if r["type"] == "call" else None
            if letter and (r["step"], r["stage"]) != last:
                last = r["step"], r["stage"]
                out.append(f"{last[0]} {last[1]}:")
            if letter:
                out[-1] += " " + letter
        return out


LIBRARIES = ("accelerate", "lightning", "transformers")


def _fragment(setup, text, wanted):
    missing = [name for name in LIBRARIES if re.search(rf"(?m)^ *(import|from) {name}\b", setup + text) and not has_package(name)]

    @unittest.skipIf(missing, f"{PYTHON} has no {', '.join(missing)}")
    def test(self):
        run = self.traced(setup + text)
        self.assertEqual(run.code, 0, run.err)
        self.assert_no_errors(run)
        self.assertEqual("\n".join(self.lines(run)), wanted.strip())
    return test


for _name, *_row in TABLE:
    setattr(Table, "test_" + "".join(c if c.isalnum() else "_" for c in _name), _fragment(*_row))


if __name__ == "__main__":
    unittest.main()
