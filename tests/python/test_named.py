# SPDX-License-Identifier: Apache-2.0
"""What a script calls of packages by name is in the trace where its own lines call it."""
import json
import re
import textwrap
import unittest

from traced import BIN, PYTHON, Warm

SCRIPT = """
import copy, json, math, time
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.optim.swa_utils import AveragedModel
def rate(step): return math.cos(step)
def main():
    from sklearn.preprocessing import StandardScaler
    from sklearn.metrics import f1_score as score
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 2), nn.Dropout(p=0.2))
    average = AveragedModel(copy.deepcopy(net))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
    x = torch.from_numpy(StandardScaler(with_mean=False).fit_transform(np.eye(3)).astype("float32"))
    for step in range(3):
        optimizer.zero_grad()
        said = Normal(net(x), 1 + rate(step))
        (kl_divergence(said, Normal(0.0, 1.0)).mean() - said.log_prob(said.rsample()).mean()).backward()
        optimizer.step()
        schedule.step()
        average.update_parameters(net)
        hard = np.argmax(said.loc.detach().numpy(), axis=1)
        score(hard, hard, average="macro")
    json.dumps({"time": time.time()})
main()
"""


class Named(Warm):
    def calls_of(self, run, *roles):
        self.assert_no_errors(run)
        role = {r["fn"]: r["role"] for r in run.records() if r["type"] == "api"}
        return [r for r in run.records() if r["type"] == "call" and role[r["fn"]] in roles]

    def count(self, calls):
        names = [r["fn"] for r in calls]
        return {name: names.count(name) for name in names}

    def test_this_tools_own_package(self):
        """A framework that is given a callback of ours too, and logs what it counts, is called as without it."""
        (self.work / "libtraincheck.py").write_text(textwrap.dedent("""
            import torch
            class Live: pass
            class TrainCheckCallback:
                def on_step(self, logs):
                    torch.distributed.is_available(), torch.zeros(7)
                    logs["traincheck/violations"] = 3
            def annotate_stage(stage): pass
        """))
        site = self.work / "site" / "site-packages"
        site.mkdir(parents=True)
        (site / "theframework.py").write_text(textwrap.dedent("""
            class Trainer:
                def __init__(self, steps, callbacks=None, *more, logger=None, **options):
                    self.steps, self.callbacks = steps, [*(callbacks or ()), *more, *options.values()]
                def add_callback(self, callback): self.callbacks.append(callback)
                def fit(self, log):
                    for _ in range(self.steps):
                        logs = {"loss": 1.0}
                        for callback in self.callbacks:
                            callback.on_step(logs)
                        log(logs)
        """))
        script = textwrap.dedent("""
            import sys
            sys.path.append({site!r})
            import torch
            from theframework import Trainer
            import libtraincheck
            from libtraincheck import Live, TrainCheckCallback
            class Mine:
                def on_step(self, logs): pass
            class Derived(TrainCheckCallback): pass
            ours, derived = TrainCheckCallback(), Derived()
            def log(logs): return [logs, ours] if {is_with} else [logs]
            def own(a=None, *rest, b=2, **options): pass
            def main():
                if {is_with}:
                    libtraincheck.annotate_stage("training")
                    trainer = Trainer(2, [ours, Mine(), derived])
                    trainer.add_callback(ours)
                    Trainer(2, [ours]), Trainer(2, logger=derived), Trainer(2, None, ours, x=Live())
                    own(ours, derived, 1, b=ours, c=derived, d={{"x": ours, "y": 4}})
                    own([*range(8), ours]), own([*range(8), 8, ours])
                else:
                    trainer = Trainer(2, [Mine()])
                    Trainer(2), Trainer(2), Trainer(2, None)
                    own(None, 1, d={{"y": 4}})
                    own([*range(8)]), own([*range(8), 8])
                trainer.fit(log)
            torch.manual_seed(0)
            main()
        """)
        told = []
        for is_with in (False, True):
            run = self.traced(script.format(site=str(site), is_with=is_with), options=["--overwrite"])
            self.assertEqual((run.code, run.err), (0, ""), run.said)
            role = {r["fn"]: r["role"] for r in run.records() if r["type"] == "api"}
            calls = {r["id"]: r for r in run.records() if r["type"] == "call" and r["fn"] != "torch.manual_seed"}
            values = [[calls[r["id"]]["fn"], role[calls[r["id"]]["fn"]], calls[r["id"]]["args"], r["value"]]
                      for r in run.records() if r["type"] == "return" and r["id"] in calls]
            told.append(re.sub(r'"id": \d+(, )?', "", json.dumps(values)))
        self.assertIn("theframework.Trainer.fit", told[0])
        self.assertEqual(told[1], told[0])

    def test_functions_constructors_and_methods(self):
        run = self.traced(SCRIPT)
        self.assertEqual(self.count(self.calls_of(run, "make")), {
            "torch.nn.Linear.__init__": 1, "torch.nn.modules.dropout._DropoutNd.__init__": 1, "torch.nn.Sequential.__init__": 1,
            "torch.optim.swa_utils.AveragedModel.__init__": 1, "torch.optim.SGD.__init__": 1,
            "torch.optim.lr_scheduler.StepLR.__init__": 1, "sklearn.preprocessing.StandardScaler.__init__": 1})
        self.assertEqual(self.count(self.calls_of(run, "package")), {
            "copy.deepcopy": 1, "sklearn.base.TransformerMixin.fit_transform": 1, "numpy.eye": 1, "numpy.ndarray.astype": 1,
            "math.cos": 3, "torch.optim.swa_utils.AveragedModel.update_parameters": 3, "numpy.argmax": 3,
            "sklearn.metrics.f1_score": 3})
        # what distributions compute are operators, with content
        operators = self.count(self.calls_of(run, "operator"))
        self.assertEqual([operators.get(f"torch.distributions.{name}") for name in
                          ("Normal.__init__", "Normal.rsample", "Normal.log_prob", "kl_divergence")], [6, 3, 3, 3])

    def test_what_is_told_of_a_call(self):
        calls = {r["fn"]: r for r in reversed(self.calls_of(self.traced(SCRIPT), "make", "package", "operator"))}
        dropout = calls["torch.nn.modules.dropout._DropoutNd.__init__"]
        self.assertEqual((dropout["at"], dropout["by"], dropout["self"]["object"], dropout["args"]["p"]),
                         ("script.py:13", "user", "torch.nn.Dropout", 0.2))
        score = calls["sklearn.metrics.f1_score"]["args"]
        self.assertEqual((score["y_true"]["name"], score["y_true"]["shape"], score["average"]), ("hard", [3], "macro"))
        self.assertEqual(calls["copy.deepcopy"]["args"]["x"]["object"], "torch.nn.Sequential")
        self.assertEqual(calls["torch.distributions.Normal.log_prob"]["self"]["object"], "torch.distributions.Normal")

    def test_the_script_does_what_it_did(self):
        text = SCRIPT + "print(*map(callable, (np.argmax, math.cos, copy.deepcopy)), math.cos(0), np.argmax([1, 3]))\n"
        self.assertEqual(self.traced(text).out, self.plain(text).out)

    def test_arrays(self):
        """Symbols between them and their methods, of those that the script calls by such a name."""
        run = self.traced("""
            import torch
            def main():
                a, b = torch.arange(6).reshape(2, 3).numpy(), torch.ones(2, 3).numpy()
                print(((a == b) & (a > 1)).sum(), (2 * a - b).mean(axis=0), a.T.argmax(axis=1), a.tolist())
            torch.manual_seed(0)
            main()
        """)
        self.assertEqual(run.out, "0 [2. 4. 6.] [1 1 1] [[0, 1, 2], [3, 4, 5]]\n")
        calls = {r["fn"].removeprefix("numpy."): r for r in self.calls_of(run, "package")}
        self.assertEqual(list(calls), ["equal", "greater", "bitwise_and", "ndarray.sum", "multiply", "subtract", "ndarray.mean",
                                       "ndarray.argmax"])
        self.assertEqual(calls["greater"]["args"]["x2"], 1)
        self.assertEqual((calls["ndarray.mean"]["self"]["shape"], calls["ndarray.mean"]["args"]["axis"]), ([2, 3], 0))
        turned = calls["ndarray.argmax"]["self"]
        self.assertEqual((turned["shape"], turned.get("digest")), ([3, 2], None))

    def test_an_array_that_was_told_of_can_be_resized(self):
        """numpy refuses arrays that have weak references, by which they are known again."""
        run = self.traced("""
            import numpy as np, torch
            torch.manual_seed(0)
            def main():
                a = np.arange(6.0)
                b = a + 1
                a.resize((2, 2), refcheck=False)
                print(a.shape, b.sum())
            main()
        """)
        self.assertEqual((run.code, run.out), (0, "(2, 2) 21.0\n"))

    def test_only_lines_of_the_users_own(self):
        run = self.traced("""
            import copy, torch
            class Held:
                def __deepcopy__(self, memo): return Held()
            torch.manual_seed(0)
            copy.deepcopy([[Held()], {"a": Held()}])
            torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1).state_dict()
            list(map(copy.copy, [[1], [2]]))
        """)
        self.assertEqual(self.count(self.calls_of(run, "package")), {"copy.deepcopy": 1, "copy.copy": 2})

    def test_modules_of_the_script_are_read_too(self):
        self.script("import statistics\ndef middle(x): return statistics.median(x)\n", "helpers.py")
        run = self.traced("""
            import helpers, torch
            torch.manual_seed(0)
            print(helpers.middle([3, 1, 2]))
        """)
        self.assertEqual([(r["at"], r["args"]) for r in self.calls_of(run, "package") if r["fn"] == "statistics.median"],
                         [("helpers.py:2", {"data": [3, 1, 2]})])

    def package(self, name, text):
        """Below site/, which its record says was installed."""
        for path, content in ((f"site/{name}/__init__.py", text),
                              (f"site/{name}-1.dist-info/RECORD", f"{name}/__init__.py,,\n")):
            (self.work / path).parent.mkdir(parents=True, exist_ok=True)
            self.script(content, path)

    def with_packages(self, text, *options):
        return self.collect(*options, self.script(text), env={"PYTHONPATH": str(self.work / "site")})

    def plain_with_packages(self, text):
        return self.execute([self.python, self.script(text)], None, {"PYTHONPATH": str(self.work / "site")})

    def test_what_heirs_have_in_common(self):
        """It has one name, whichever of them the script names first, and each has its class."""
        self.package("kit", "class Base:\n    def __init__(self, n=1): self.n = n\n    def fit(self): return self\n"
                            "    @classmethod\n    def new(cls): return cls\nclass A(Base): pass\nclass B(Base): pass\n")
        run = self.with_packages("""
            import kit, torch
            torch.manual_seed(0)
            kit.B(2).fit(), kit.A(3).fit(), kit.B.new(), kit.A.new()
        """)
        of_objects = [r for r in self.calls_of(run, "make", "package") if isinstance(r.get("self"), dict)]
        self.assertEqual([(r["fn"], r["self"]["object"]) for r in of_objects], [
            ("kit.Base.__init__", "kit.B"), ("kit.Base.fit", "kit.B"),
            ("kit.Base.__init__", "kit.A"), ("kit.Base.fit", "kit.A")])
        self.assertEqual({r["fn"] for r in self.calls_of(run, "package")}, {"kit.Base.fit", "kit.Base.new"})

    def test_of_several_paths_the_shortest_is_the_name(self):
        """The files of a script name one class by several paths, which stand in a set."""
        paths = [f"kit.part{i}" for i in range(8)]
        self.package("kit", "import sys, types\nclass Tool:\n    def use(self): return 1\n"
                            f"for path in {paths}:\n    sys.modules[path] = types.ModuleType(path)\n    sys.modules[path].Tool = Tool\n")
        run = self.with_packages("\n".join(["import kit", *(f"from {path} import Tool as tool{i}" for i, path in enumerate(paths)),
                                            *(f"tool{i}().use()" for i in range(8)), "kit.Tool().use()"]))
        self.assertEqual({r["fn"] for r in self.calls_of(run, "make", "package")}, {"kit.Tool.use"})

    def test_what_is_made_is_not_asked_before_its_constructor(self):
        text = """
            import torch
            class Net(torch.nn.Sequential):
                def __getattr__(self, name):
                    print(name)
                    return super().__getattr__(name)
            class Descent(torch.optim.SGD):
                def __getattr__(self, name):
                    print(name)
                    raise AttributeError(name)
            torch.manual_seed(0)
            torch.nn.Sequential(), torch.optim.SGD
            net = Net(torch.nn.Linear(2, 1))
            Descent(net.parameters(), lr=0.1)
        """
        run = self.traced(text)
        self.assertEqual(run.out, self.plain(text).out)
        made = [(r["self"]["object"], r["self"]["attrs"]) for r in self.calls_of(run, "make")]
        self.assertEqual(made, [("torch.nn.Sequential", {}), ("torch.nn.Linear", {}), ("__main__.Net", {}),
                                ("__main__.Descent", {})])

    def test_secrets_and_what_only_speaks_to_people_are_left_out(self):
        self.package("hub", """
            import functools
            def kept(function):
                @functools.wraps(function)
                def call(*args, **options): return function(*args, **options)
                return call
            def log_in(token, tries=3): return token
            @kept
            def enter(password): return len(password)
            def pin(secret=77): return secret + 1
            def look(pad_token_id, key): return key
            def open_at(url, how='x' * 80, at='y' * 30): return 1
            def ask(text): return text
            def get_password(of): return 'hidden'
        """)
        self.package("tqdm", "def bar(x): return x\n")
        run = self.with_packages("""
            import hub, torch, tqdm
            torch.manual_seed(0)
            hub.log_in("hidden"), hub.enter("hidden"), hub.pin(), hub.pin(4711), hub.look(3, torch.ones(2))
            hub.open_at("http://me:hidden@host"), hub.ask("hidden-4af7cce3f5e84cb9bb"), hub.ask("macro"), hub.get_password("me")
            tqdm.bar([1])
        """)
        calls = self.calls_of(run, "package")
        look = next(r["args"] for r in calls if r["fn"] == "hub.look")
        hidden, of_25 = {"str": "", "len": 6}, {"str": "", "len": 25}
        self.assertEqual((look["pad_token_id"], look["key"]["shape"]), (3, [2]))
        self.assertEqual([(r["fn"], r["args"]) for r in calls if r["args"] is not look], [
            ("hub.log_in", {"token": hidden, "tries": 3}), ("hub.enter", {"password": hidden}), ("hub.pin", {}),
            ("hub.pin", {"secret": {"object": "int", "attrs": {}}}),
            ("hub.open_at", {"url": {"str": "", "len": 21}, "how": {"str": "", "len": 80}, "at": {"str": "", "len": 30}}),
            ("hub.ask", {"text": of_25}), ("hub.ask", {"text": "macro"}), ("hub.get_password", {"of": "me"})])
        records = str([r for r in run.records() if r["type"] not in ("process", "source")])
        for told in "hidden", "x" * 80, "y" * 30, "4711", "77":
            self.assertNotIn(f"'{told}", records)

    def test_cells_of_a_notebook(self):
        """IPython keeps what was run in a list, magics as calls of its own."""
        script = """
            import torch
            _ih = ["", "import copy, statistics as s\\ncopy.copy([1])", "not a line of Python"]
            import copy, statistics as s
            def main(): return copy.copy([1]), s.mean([1, 3])
            torch.manual_seed(0)
            main()
            _ih.append("s.mean([1, 3])")
            after = 1
            torch.manual_seed(1)
            main()
        """
        run = self.collect("-", stdin=textwrap.dedent(script))
        calls = [r for r in self.calls(run) if r["fn"].startswith(("copy.", "statistics."))]
        self.assertEqual(self.count(calls), {"copy.copy": 2, "statistics.mean": 1})

    def test_what_python_says_of_a_source_it_says_once(self):
        text = "import torch\nprint('\\d')\ntorch.manual_seed(0)\n"
        env = {"PYTHONWARNINGS": "always"}
        plain = self.execute([PYTHON, self.script(text)], None, env)
        self.assertIn("invalid escape sequence", plain.err)
        run = self.collect(self.script(text), env=env)
        self.assertEqual(run.err.count("invalid escape"), plain.err.count("invalid escape"))

    def test_what_is_imported_late_or_twice(self):
        """In a function, by another name, from a package that is there already, and a name that stands for something else."""
        self.package("late", "from math import floor\nclass Tool:\n    def use(self, n): return floor(n)\n"
                             "    def rest(self): pass\n")
        run = self.with_packages("""
            import torch
            torch.manual_seed(0)
            def first():
                import late as l
                tool = l.Tool()
                return tool.use(1.5), l.floor(2.5), tool
            def second():
                from late import Tool as T
                copy = str
                return T().use(2.5), copy(1)
            first(), second()
        """)
        self.assertEqual(self.count(self.calls_of(run, "package")), {"late.Tool.use": 2, "late.floor": 1})

    def test_a_file_that_a_program_has_made_is_passed_over(self):
        text = "import copy, torch\ntorch.manual_seed(0)\nprint(copy.copy([1]))\n"
        script = self.script(text + "#" * (1 << 20), "long.py")
        run = self.collect(script)
        self.assertEqual((run.out, self.calls_of(run, "package")), ("[1]\n", []))

    def test_a_package_is_not_asked_for_its_lazy_names(self):
        """What it keeps, once the script has asked for it, is traced from when it is found; what it gives anew is not."""
        self.package("lazy", """
            def __getattr__(name):
                print("asked for", name)
                if name == "never":
                    raise AttributeError(name)
                import lazy.part
                if name == "kept":
                    globals()[name] = lazy.part.kept
                return getattr(lazy.part, name)
        """)
        self.script("def kept(n): return n\ndef given(n): return n\n", "site/lazy/part.py")
        text = """
            import lazy, torch
            def main(n):
                lazy.kept(n), lazy.given(n)
                try:
                    lazy.never(n)
                except AttributeError:
                    print("no such name")
            torch.manual_seed(0)
            main(1)
            after = 1
            torch.manual_seed(1)
            main(2)
        """
        run, plain = self.with_packages(text), self.plain_with_packages(text)
        self.assertEqual(plain.out.count("asked for kept"), 1)
        self.assertEqual(run.out, plain.out)
        self.assertEqual([(r["fn"], r["args"]) for r in self.calls_of(run, "package")], [("lazy.kept", {"n": 2})])

    def test_a_proxy_is_not_asked(self):
        """It may stand under a name, be handed over, or be asked by the script itself."""
        self.package("kit", """
            class Proxy:
                def __getattr__(self, name):
                    print("asked for", name)
                    return lambda n: n + 1
                def __call__(self, n): return n
            class Disguised(Proxy):
                @property
                def __class__(self):
                    print("asked for its class")
                    return type(torch)
                @property
                def __dict__(self):
                    print("asked for its dict")
                    return {}
            import torch
            proxy, disguised = Proxy(), Disguised()
            def look(at): return 1
        """)
        text = """
            import kit, torch
            def main():
                print(kit.proxy(1), kit.proxy.use(2), kit.proxy.inner(4), kit.disguised(3), kit.disguised.use(5))
                kit.look(kit.proxy), kit.look(kit.disguised), kit.look([kit.disguised])
            torch.manual_seed(0)
            main()
        """
        run, plain = self.with_packages(text), self.plain_with_packages(text)
        self.assertEqual(plain.out, "asked for use\nasked for inner\nasked for use\n1 3 5 3 6\n")
        self.assertEqual(run.out, plain.out)
        calls = self.calls_of(run, "make", "package")
        self.assertEqual(self.count(calls), {"kit.look": 3})
        self.assertEqual([r["args"]["at"]["object"] for r in calls[:2]], ["kit.Proxy", "kit.Disguised"])

    def test_names_beyond_the_limit(self):
        """The first 400 names are looked for, of which those of packages that are never traced are none."""
        numbers = range(450)
        for package in "absl", "kit":
            self.package(package, "".join(f"def f{i:03}(): pass\n" for i in numbers))
        self.package("zoo", "class Cage:\n    def feed(self): pass\n")
        calls = (f"    {package}.f{i:03}()\n" for package in ("absl", "kit") for i in numbers)
        run = self.with_packages("import absl, kit, torch, zoo\ndef main():\n" + "".join(calls) +
                                 "    zoo.Cage().feed()\ntorch.manual_seed(0)\nmain()\n")
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual([r["fn"] for r in self.calls_of(run, "make", "package")], [f"kit.f{i:03}" for i in range(400)])

    def test_invariants_choose_what_is_traced_of_packages(self):
        """A function, a constructor, and a method by the name of the base that declares it."""
        self.package("kit", """
            class Base:
                def fit(self, n): return n
            class A(Base):
                def __init__(self, rate=1): pass
                def rest(self): pass
            def turn(way): return way
            def other(way): return way
        """)
        lines = [{"traincheck": "invariants", "schema": 1}]
        for subject, operand, value in (({"fn": "kit.turn"}, "args.way", "left"),
                                        ({"fn": "kit.Base.fit", "of": "kit.A"}, "args.n", 7),
                                        ({"fn": "kit.A.__init__", "of": "kit.A", "name": "1"}, "args.rate", 3)):
            lines.append({"id": operand, "relation": "APIArg/value", "when": [], "params": [
                {"subject": "call", "stage": "training", **subject}, {"attribute": "value", "operand": operand, "is": value}]})
        self.script("".join(json.dumps(line) + "\n" for line in lines), "chosen.jsonl")
        run = self.with_packages("""
            import copy, kit, torch
            import numpy as np
            def main():
                net = torch.nn.Linear(2, 1)
                optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                for i in range(2):
                    optimizer.zero_grad()
                    kit.other("up"), kit.turn("right"), kit.A(rate=3).fit(7 + i), kit.A().rest(), np.ones(3) + copy.copy(i)
                    net(torch.ones(1, 2)).sum().backward()
                    optimizer.step()
            torch.manual_seed(0)
            main()
        """, "-i", "chosen.jsonl")
        self.assertEqual(self.count(self.calls_of(run, "make", "package", "operator", "own")),
                         {"kit.turn": 2, "kit.A.__init__": 4, "kit.Base.fit": 2})
        checked = self.execute([BIN / "traincheck-check", "-q", "trace", "-i", "chosen.jsonl", "-o", "report"], None)
        self.assertEqual(checked.code, 1, checked.err)
        verdicts = {json.loads(line)["text"]: name for name in ("failed", "passed", "not_triggered", "unchecked")
                    for line in (self.work / "report" / f"{name}.log").read_text().splitlines()}
        self.assertEqual(verdicts, {'way of turn() is "left" in training': "failed", "n of A.fit() is 7 in training": "failed",
                                    "rate of the first A() is 3 in training": "passed"})

    def test_in_workers_of_a_loader_nothing_is_recorded(self):
        """Neither where they are forked nor where they begin anew; without workers the first eight calls of a batch are."""
        self.package("kit", "def turn(n): return n\nclass Shift:\n    def __init__(self, by): self.by = by\n"
                            "    def use(self, n): return n + self.by\n")
        run = self.with_packages("""
            import kit, torch
            from torch.utils.data import DataLoader, Dataset
            class Data(Dataset):
                def __len__(self): return 6
                def __getitem__(self, i): return kit.Shift(1).use(kit.turn(i))
            def main():
                for n, how in (0, None), (2, "fork"), (1, "spawn"):
                    loader = DataLoader(Data(), batch_size=3, num_workers=n, multiprocessing_context=how)
                    print(sum(batch.sum().item() for batch in loader))
                kit.turn(20)
            if __name__ == "__main__":
                torch.manual_seed(0)
                main()
        """)
        self.assertEqual((run.code, run.out), (0, "21\n" * 3), run.err)
        told = [(records[0]["role"], self.count(r for r in records if r["type"] == "call" and
                                                r["fn"].startswith(("kit.", "__main__.Data"))))
                for records in map(run.records, run.files())]
        of_main = {"__main__.Data.__getitem__": 4, "kit.Shift.__init__": 4, "kit.turn": 5, "kit.Shift.use": 4}
        self.assertEqual(sorted(told, key=lambda x: x[0]), [("main", of_main)] + [("worker", {})] * 3)

    def test_secrets_given_by_keyword_and_to_methods(self):
        """And in a list, a dict or bytes, to what was made with one, and in what it raises."""
        self.package("hub", """
            class Client:
                def __init__(self, token=None, name="me"): self.token = token
                def send(self, text, *, key=None, **options): return text
                @staticmethod
                def hand(secret): return secret
                @classmethod
                def of(cls, api_key): return api_key
                def __call__(self, password): raise ValueError(password)
            def key(of): return "hidden"
            def enter(user, *, key): return key
            def several(first, *secrets): return secrets[0]
            def usual(*words): return words[0]
        """)
        run = self.with_packages("""
            import hub, torch
            def main():
                client = hub.Client("hidden", name="you")
                client.send("text", key="hidden", hf_token="hidden", mode="hidden")
                hub.Client.hand("hidden"), hub.Client.of("hidden"), hub.key("me")
                hub.several("first", "hidden", 7), hub.usual("word")
                for given in "hidden", ["hidden"], {"a": "hidden"}, b"hidden", {"hidden"}, 4711, None:
                    hub.enter("me", key=given)
                try:
                    client("hidden")
                except ValueError:
                    pass
            torch.manual_seed(0)
            main()
        """)
        hidden = {"str": "", "len": 6}
        calls = self.calls_of(run, "make", "package")
        self.assertEqual([(r["fn"].removeprefix("hub."), r["args"]) for r in calls if r["fn"] != "hub.enter"], [
            ("Client.__init__", {"token": hidden, "name": "you"}),
            ("Client.send", {"text": "text", "key": hidden, "hf_token": hidden, "mode": hidden}),
            ("Client.hand", {"secret": hidden}), ("Client.of", {"api_key": hidden}), ("key", {"of": "me"}),
            ("several", {"first": "first", "1": hidden, "2": 7}), ("usual", {"0": "word"}),
            ("Client.__call__", {"password": hidden})])
        keys = [r["args"]["key"] for r in calls if r["fn"] == "hub.enter"]
        self.assertEqual(keys[:3] + keys[6:], [hidden, [hidden], {"dict": {"a": hidden}}, None])
        self.assertEqual([key["object"] for key in keys[3:6]], ["bytes", "set", "int"])
        self.assertNotIn("hidden", str([r for r in run.records() if r["type"] not in ("process", "source")]))


if __name__ == "__main__":
    unittest.main()
