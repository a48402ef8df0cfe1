# SPDX-License-Identifier: Apache-2.0
"""What selective mode and sampling leave in the trace, and what checking makes of it."""
import json
import subprocess
import unittest

from traced import BIN, Warm

LOOP = """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)
    def forward(self, x): return self.b(torch.relu(self.norm(self.a(x))))
net = Net(); loss_of = nn.MSELoss()
o = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
s = torch.optim.lr_scheduler.StepLR(o, 4)
x, y = torch.randn(32, 4), torch.randn(32, 1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8, shuffle=True)
for epoch in range(4):
    net.train()
    for a, b in loader:
        o.zero_grad(); loss_of(net(a), b).backward(); o.step()
    s.step()
    net.eval()
    with torch.no_grad(): loss_of(net(x), y)
"""
N_STEPS = 16


FIVE = ("--sampling-interval", "5", "--warm-up-steps", "2")


class Sampling(Warm):
    @classmethod
    def setUpClass(cls):
        """One run that several tests read."""
        cls.host = Sampling()
        cls.host.setUp()
        cls.addClassCleanup(cls.host.doCleanups)
        cls.five = cls.host.sampled(*FIVE)

    def sampled(self, *options, text=LOOP):
        run = self.traced(text, options=options)
        self.assertEqual((run.code, run.err), (0, ""))
        self.assert_no_errors(run)
        return run

    def steps(self, run):
        return sorted({r["step"] for r in run.records() if r["type"] == "call"})

    def test_one_step_in_n_after_the_warm_up(self):
        self.assertEqual(self.steps(self.five), [0, 1, 2, 7, 12])
        process = self.five.records()[0]
        self.assertEqual(process["sampling"], {"interval": 5, "warm_up": 2})

    def test_notes_tell_where_the_gaps_are(self):
        seen = [(r["code"], r.get("count")) for r in self.five.records() if r["type"] == "note"]
        self.assertEqual(seen, [("sampling-off", None), ("sampling-on", 4)] * 2 + [("sampling-off", None)])
        dark = False
        for r in self.five.records():
            if r["type"] == "note":
                dark = r["code"] == "sampling-off"
            elif dark:
                self.assertEqual(r["type"], "end")

    def test_a_traced_step_is_whole(self):
        full = self.sampled()
        for step in (0, 1, 2, 7, 12):
            with self.subTest(step):
                self.assertEqual(self.window(self.five, step), self.window(full, step))

    def window(self, run, step):
        """Calls and changes of a step; not the changes that the gap before it has left behind."""
        out = []
        for r in run.records():
            if r.get("step") != step:
                continue
            if r["type"] == "var" and "cause" in r:
                out.append(("var", r["name"] if "name" in r else None, sorted(r["attrs"])))
            elif r["type"] in ("call", "step"):
                out.append((r["type"], r.get("fn"), r["stage"], r.get("at"), r.get("why")))
        return out

    def test_what_changed_in_a_gap_is_told_after_it(self):
        run = self.sampled("--sampling-interval", "4")
        loose = {r["step"] for r in run.records() if r["type"] == "var" and "cause" not in r and "kind" not in r
                 and "data" in r["attrs"]}
        self.assertEqual(loose, {4, 8, 12, 16})

    def test_a_call_that_holds_steps_is_known_though_it_began_in_a_gap(self):
        run = self.sampled("--sampling-interval", "3", text="""
import torch
class Net(torch.nn.Module):
    def __init__(self): super().__init__(); self.l = torch.nn.Linear(1, 1)
    def forward(self, x): return self.l(x)
    def fit(self, o, n):
        for i in range(n): o.zero_grad(); self(torch.ones(1, 1)).sum().backward(); o.step()
net = Net(); o = torch.optim.SGD(net.parameters(), 0.1)
net.fit(o, 2); net.fit(o, 5)
""")
        first, second = self.calls(run, fn="__main__.Net.fit")
        parents = {c["step"]: c["parent"] for c in self.calls(run, fn="torch.Tensor.backward")}
        self.assertEqual(parents, {0: first["id"], 3: second["id"], 6: second["id"]})

    def test_weights_are_the_same(self):
        tail = "\nimport hashlib\nprint(hashlib.sha256(b''.join(p.detach().numpy().tobytes() for p in " \
               "net.state_dict().values())).hexdigest())"
        run = self.sampled("--sampling-interval", "3", text=LOOP + tail)
        self.assertEqual(run.out, self.plain(LOOP + tail).out)


LONG = LOOP.replace("range(4)", "range(100)").replace("net.eval()", "").replace("    with torch.no_grad(): loss_of(net(x), y)\n", "")
WARM_UP = 10

# Rank 1 has more to trace.
RANKS = """
import os, torch, torch.distributed as dist, torch.multiprocessing as mp
from torch import nn
def work(rank, path):
    dist.init_process_group("gloo", "file://" + path, rank=rank, world_size=2)
    torch.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(nn.Linear(4, 4))
    o = torch.optim.SGD(net.parameters(), 0.01)
    x = torch.randn(8, 4)
    for i in range(300):
        o.zero_grad(); loss = net(x).sum()
        for _ in range(20 * rank): loss = loss + 0 * loss
        loss.backward(); o.step()
    dist.destroy_process_group()
if __name__ == "__main__": mp.spawn(work, (os.path.abspath("store"),), nprocs=2)
"""


class Budget(Warm):
    @classmethod
    def setUpClass(cls):
        cls.host = Budget()
        cls.host.setUp()
        cls.addClassCleanup(cls.host.doCleanups)
        cls.half = cls.host.traced(LONG, options=("--budget", "0.5%"))

    def steps(self, run, file=None):
        return sorted({r["step"] for r in run.records(file) if r["type"] == "step"})

    def test_few_steps_are_traced_after_the_warm_up(self):
        self.assertEqual((self.half.code, self.half.err), (0, ""))
        self.assert_no_errors(self.half)
        steps = self.steps(self.half)
        self.assertEqual(steps[:WARM_UP], list(range(WARM_UP)))
        self.assertIn(len(steps) - WARM_UP, range(1, (400 - WARM_UP) // 2), steps)
        self.assertEqual(self.half.records()[0]["sampling"], {"budget": 0.005, "warm_up": WARM_UP})

    def test_notes_tell_of_the_gaps_and_of_what_was_kept(self):
        notes = [r for r in self.half.records() if r["type"] == "note"]
        gaps = [r["code"] for r in notes if r["code"].startswith("sampling")]
        self.assertEqual(gaps, [("sampling-off", "sampling-on")[i % 2] for i in range(len(gaps))])
        left_out = sum(r["count"] for r in notes if r["code"] == "sampling-on")
        steps = self.steps(self.half)
        self.assertEqual(left_out, steps[-1] + 1 - len(steps))
        budget, = (r for r in notes if r["code"] == "budget")
        self.assertEqual(budget["count"], len(steps) - WARM_UP)
        said = f"400 steps (after the warm-up {budget['count']} of {400 - WARM_UP} traced, which added "
        self.assertIn(said, self.half.said)

    def test_what_it_pays_is_traced_whole(self):
        slow = LONG.replace("range(100)", "range(15)").replace("o.step()", "o.step(); time.sleep(0.02)")
        run = self.traced("import time\n" + slow, options=("--budget", "100", "--warm-up-steps", "5"))
        self.assertEqual(self.steps(run), list(range(60)))
        self.assertIn("(after the warm-up 55 of 55 traced", run.said)

    def test_replicas_trace_the_same_steps(self):
        run = self.traced(RANKS, options=("--budget", "1%"))
        self.assertEqual((run.code, run.err), (0, ""))
        self.assert_no_errors(run)
        one, other = filter(None, (self.steps(run, file) for file in run.files()))
        self.assertEqual(one, other)
        self.assertIn(len(one) - WARM_UP, range(1, (300 - WARM_UP) // 2), one)


ADAM = LOOP.replace("torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)",
                    "torch.optim.Adam(net.parameters(), lr=0.01)").replace("range(4)", "range(3)")


# What window and stage rules ask for (docs/trace-format.md). All else must have been asked for.
PHASES = {"backward", "step", "zero_grad", "data", "mode", "unscale", "clip"}


def call(name, **more):
    return {"call": name, **more}


class Selected(Warm):
    def chosen(self, *invariants, text=LOOP, options=()):
        lines = [{"traincheck": "invariants", "schema": 1}]
        for n, (relation, params, when) in enumerate(invariants):
            lines.append({"id": f"X-{n}", "relation": relation, "params": params, "when": when})
        path = self.work / "chosen.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        run = self.traced(text, options=("-i", path, *options))
        self.assertEqual((run.code, run.err), (0, ""), run.said)
        self.assert_no_errors(run)
        return run

    def beside_phases(self, run):
        roles = {r["fn"]: r["role"] for r in run.records() if r["type"] == "api"}
        return {c["fn"] for c in self.calls(run)
                if roles[c["fn"]] not in PHASES and c.get("self", {}).get("role") != "root"}

    SETTINGS = {"param_group", "scaler"}

    def variables(self, run):
        return [r for r in run.records() if r["type"] == "var"]

    def kinds(self, run):
        """Of all that is tracked as a variable."""
        return {r["kind"] for r in self.variables(run) if "kind" in r}

    def test_a_function_and_nothing_else(self):
        run = self.chosen(("APIArg/constant", [call("torch.nn.functional.batch_norm"),
                                               {"operand": "args.training", "is": True}], []))
        self.assertEqual(self.beside_phases(run), {"torch.nn.functional.batch_norm"})
        self.assertEqual(self.variables(run), [])
        self.assertEqual(run.records()[0]["mode"], "selective")
        self.assertEqual(len(self.calls(run, fn="torch.optim.Optimizer.step")), N_STEPS)

    def test_a_name_gives_no_settings(self):
        """Of an invariant file of others: a newline in a name began a setting of the agent."""
        names = ["torch.nn.functional.batch_norm\nstack=3", "torch.optim.Optimizer.step\r\nstats=1", "a.b%0Astack=3"]
        run = self.chosen(("APIArg/constant", [call("torch.nn.functional.batch_norm"),
                                               {"operand": "args.training", "is": True}], []),
                          *[("APISequence/window", [call(name)], []) for name in names])
        self.assertFalse([r for r in run.records() if "stack" in r or r.get("code") == "stats"])
        apis = run.records()[0]["selection"]["apis"]
        self.assertEqual([name for name in apis if not name.startswith("torch.")], ["a.b%0Astack=3"])
        self.assertFalse([name for name in apis if "\n" in name or "=" in name and name[0] != "a"])

    def test_a_layer_is_not_all_layers(self):
        run = self.chosen(("APIArg/constant", [call("torch.nn.BatchNorm1d.forward"),
                                               {"operand": "self.training", "is": True}], []))
        self.assertEqual(self.beside_phases(run), {"torch.nn.BatchNorm1d.forward"})

    def test_the_call_of_a_precondition(self):
        run = self.chosen(("APIArg/constant", [call("torch.nn.functional.batch_norm"),
                                               {"operand": "args.training", "is": True}],
                           [{"field": "in", "is": "torch.nn.BatchNorm1d.forward"}]))
        self.assertEqual(self.beside_phases(run),
                         {"torch.nn.functional.batch_norm", "torch.nn.BatchNorm1d.forward"})

    def test_what_any_call_can_break(self):
        """A module is used by whatever is given its variables, and any call may come next."""
        for form, subject, claim in (
                ("APISequence/count", {"subject": "use", "stage": "training", "name": "net.a"}, {"attribute": "count", "is": 1}),
                ("APISequence/before", {"subject": "inside", "stage": "training", "in": "root.forward"},
                 {"attribute": "next", "is": ["torch.nn.functional.mse_loss"]})):
            with self.subTest(form):
                run = self.chosen((form, [subject, claim], []))
                self.assertLessEqual({"torch.nn.functional.linear", "torch.nn.Linear.forward", "torch.nn.functional.mse_loss"},
                                     self.beside_phases(run))

    def test_what_is_no_call(self):
        """An operand may come from outside of all calls: that is not asked for."""
        run = self.chosen(("APIArg/value", [{"subject": "call", "fn": "torch.nn.functional.mse_loss", "stage": "training", "by": "outside"},
                                            {"attribute": "value", "operand": "args.reduction", "is": "mean"}], []))
        apis = run.records()[0]["selection"]["apis"]
        self.assertIn("torch.nn.functional.mse_loss", apis)
        self.assertEqual([name for name in apis if "." not in name], [])

    def test_members_of_a_window(self):
        run = self.chosen(("APISequence/window", [
            call("torch.optim.Optimizer.step", role="step"),
            call("torch.optim.lr_scheduler.LRScheduler.step", role="scheduler", given=True)], []))
        self.assertEqual(self.beside_phases(run), {"torch.optim.lr_scheduler.LRScheduler.step"})

    def test_all_of_a_role(self):
        text = LOOP + "nn.init.xavier_normal_(net.a.weight); nn.init.zeros_(net.a.bias)\n"
        run = self.chosen(("APIArg/distinct", [call("*", role="init")], []), text=text)
        self.assertEqual(self.beside_phases(run), {
            "torch.nn.init.kaiming_uniform_", "torch.nn.init.uniform_", "torch.nn.init.xavier_normal_",
            "torch.Tensor.uniform_", "torch.Tensor.normal_"})

    def test_variables_alone(self):
        run = self.chosen(("Consistent/steady", [{"variable": "Parameter", "attr": "dtype", "to": "equal"}], []))
        self.assertEqual(self.beside_phases(run), set())
        names = {r["var"]: r["name"] for r in self.variables(run) if "name" in r}
        self.assertEqual(len(names), 9)  # two layers of two, a norm with two parameters and three buffers
        self.assertEqual({name.partition(".")[0] for name in names.values()}, {"net"})
        self.assertEqual(self.kinds(run), {"Parameter", "buffer"})

    def test_settings_alone(self):
        run = self.chosen(("Consistent/replica", [{"variable": "param_group", "attr": "settings", "to": "equal"}], []))
        self.assertEqual(self.beside_phases(run), set())
        self.assertEqual(self.kinds(run), {"param_group"})
        first, change = [r["attrs"] for r in self.variables(run)]
        self.assertEqual((first["lr"], first["momentum"]), (0.05, 0.9))
        self.assertEqual(change, {"lr": 0.05 * 0.1})  # by the fourth step of the scheduler
        self.assertFalse(any(c.get("params") for c in self.calls(run)))  # serials of parameters, which are not traced
        self.assertEqual((run.records()[0]["selection"]["variables"], run.records()[0]["selection"]["settings"]),
                         (False, True))


class TensorMethods(Warm):
    TEXT = f"""
import torch
def loop(x):
    for i in range({10000}): x.add_(1); x.mul(2); x.sum()
loop(torch.zeros(2))
x = torch.zeros(2, 3)
x.view(3, 2); x.permute(1, 0); x.max(dim=1); x.to(torch.float64); x.size(); x.is_floating_point()
"""

    def test_every_call_is_seen_and_named(self):
        run = self.traced(self.TEXT, options=("--tensor-methods",))
        self.assertEqual((run.code, run.err), (0, ""))
        self.assert_no_errors(run)
        for name in ("add_", "mul", "sum"):
            self.assertEqual(len(self.calls(run, fn="torch.Tensor." + name)), 10000)
        made = {c["fn"].rpartition(".")[2]: c["args"] for c in self.calls(run) if c["at"] == "script.py:7"}
        self.assertEqual(made["view"], {"size": [3, 2]})
        self.assertEqual(made["permute"], {"dims": [1, 0]})
        self.assertEqual(made["max"], {"dim": 1, "keepdim": False})
        self.assertEqual(made["to"]["dtype"], "float64")
        self.assertEqual({"size", "is_floating_point"} & set(made), set())

    def test_without_the_option_they_are_not(self):
        run = self.traced(self.TEXT, options=("--no-operators",))
        self.assertEqual([c["fn"] for c in self.calls(run) if c["fn"].startswith("torch.Tensor")], [])


class Checked(Warm):
    """Invariants of two full runs, and what they say of other runs."""

    def tool(self, name, *args):
        done = subprocess.run([BIN / f"traincheck-{name}", *map(str, args)], cwd=self.work,
                              capture_output=True, text=True, timeout=120)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done

    def trace(self, text, folder, *options):
        run = self.trace_script(self.script(text), options=options, folder=folder)
        self.assertEqual((run.code, run.err), (0, ""))
        return run

    def learn(self):
        self.trace(LOOP, "sgd")
        self.trace(ADAM, "adam")
        self.tool("infer", "sgd", "adam", "-o", "invariants.jsonl")
        lines = (self.work / "invariants.jsonl").read_text().splitlines()
        return [i for i in map(json.loads, lines) if "relation" in i]

    def verdicts(self, folder):
        """{id: verdict} and {id: why} of a check."""
        done = self.tool("check", folder, "-i", "invariants.jsonl", "-o", f"of-{folder}")
        out, why = {}, {}
        for verdict in ("failed", "passed", "not_triggered", "unchecked"):
            for line in (self.work / f"of-{folder}" / f"{verdict}.log").read_text().splitlines():
                judged = json.loads(line)
                out[judged["id"]], why[judged["id"]] = verdict, judged.get("why")
        return out, why, done.stdout

    def test_what_a_selective_run_did_not_trace_is_unchecked(self):
        known = self.learn()
        chosen = {"text": "chosen", "relation": "APIArg/constant", "when": [{"field": "stage", "is": "training"}],
                  "params": [call("torch.nn.functional.batch_norm"), {"operand": "args.training", "is": True}]}
        scheduler = "torch.optim.lr_scheduler.LRScheduler.step"
        stepped = {"relation": "APISequence/window", "when": [],
                   "params": [call("torch.optim.Optimizer.step", role="step"), call(scheduler, role="scheduler", given=True)]}
        of_settings = {"text": "of settings", "relation": "EventContain/sets", "when": [],
                       "params": [call(scheduler), {"change": "param_group", "attr": "settings", "to": "changed"}]}
        header = {"traincheck": "invariants", "schema": 1}
        (self.work / "one.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (header, chosen, stepped)))
        with (self.work / "invariants.jsonl").open("a") as file:
            file.write("".join(json.dumps(line) + "\n" for line in (chosen, of_settings)))
        run = self.trace(LOOP, "selective", "-i", self.work / "one.jsonl")
        selection = run.records()[0]["selection"]
        self.assertIn("torch.nn.functional.batch_norm", selection["apis"])
        self.assertIn("torch.optim.Optimizer.step", selection["apis"])  # of a phase
        self.assertNotIn("torch.nn.functional.mse_loss", selection["apis"])
        self.assertIn(scheduler, selection["apis"])
        self.assertEqual((selection["variables"], selection["settings"]), (False, False))
        verdicts, why, said = self.verdicts("selective")
        self.assertEqual([i for i, v in verdicts.items() if v == "failed"], [], said)
        self.assertIn('"chosen"', (self.work / "of-selective" / "passed.log").read_text())
        of_changes = {i["id"] for i in known if any("change" in p for p in i["params"])}
        self.assertTrue(of_changes)
        self.assertEqual({verdicts[i] for i in of_changes}, {"unchecked"})
        reasons = {w for i, w in why.items() if verdicts[i] == "unchecked"}
        for what in "parameters and buffers", "settings of optimizers and scalers":
            self.assertIn(f"{what}: not traced, as the trace was taken for other invariants", reasons)
        self.assertIn('"of settings"', (self.work / "of-selective" / "unchecked.log").read_text())
        self.assertNotIn("backward", str(reasons))

    def test_a_gap_raises_no_alarm_and_hides_no_mistake_of_a_traced_step(self):
        known = self.learn()
        self.assertGreater(len(known), 10)
        self.trace(LOOP, "sampled", "--sampling-interval", "5")
        verdicts, why, said = self.verdicts("sampled")
        self.assertEqual([i for i, v in verdicts.items() if v == "failed"], [], said)
        self.assertGreater(sum(v == "passed" for v in verdicts.values()), len(known) // 2)
        self.assertEqual([i for i, v in verdicts.items() if v == "not_triggered"], [])
        for i, verdict in verdicts.items():
            if verdict == "unchecked":
                self.assertEqual(why[i], "its precondition was not met in the steps that were traced")
        self.trace(LOOP.replace("o.zero_grad(); ", ""), "broken", "--sampling-interval", "5")
        verdicts, _, said = self.verdicts("broken")
        self.assertIn("failed", verdicts.values(), said)


if __name__ == "__main__":
    unittest.main()
