# SPDX-License-Identifier: Apache-2.0
"""No call is lost, whatever kind of callable is called in a hot loop; names, arguments, answers."""
import unittest

from traced import InTurn, PYTHON, Warm, has_package, script

N = 10000


def loop(setup, statement):
    return script(f"import torch, numpy, torch.nn.functional as F\n{setup}\n"
                  f"def loop():\n    for i in range({N}):\n        {statement}\nloop()\n")


class Loops(InTurn):
    def all_seen(self, run, fn):
        self.assertEqual(len(self.calls(run, fn=fn)), N)
        ended = sum(r["type"] == "return" for r in run.records())
        self.assertEqual(ended, sum(r["type"] == "call" for r in run.records()))

    @loop("x = torch.ones(2)", "F.relu(x)")
    def test_python_function(self, run):
        self.all_seen(run, "torch.nn.functional.relu")

    @loop("x = torch.ones(2)", "torch.cat([x])")
    def test_builtin_with_tuple_and_dict(self, run):
        self.all_seen(run, "torch.cat")

    @loop("x = torch.ones(2)", "torch.softmax(x, 0)")
    def test_builtin_reached_by_two_names(self, run):
        self.all_seen(run, "torch.nn.functional.softmax")

    @loop("x = torch.ones(2)", "x.zero_()")
    def test_method_without_arguments(self, run):
        self.all_seen(run, "torch.Tensor.zero_")

    @loop("x = torch.ones(2)", "x.fill_(1)")
    def test_method_with_one_argument(self, run):
        self.all_seen(run, "torch.Tensor.fill_")

    @loop("x = torch.ones(2)", "x.normal_(mean=0.0)")
    def test_method_with_keywords(self, run):
        self.all_seen(run, "torch.Tensor.normal_")

    @loop("a = numpy.ones(2)", "torch.from_numpy(a)")
    def test_builtin_with_one_argument(self, run):
        self.all_seen(run, "torch.from_numpy")

    @loop("m = torch.nn.ReLU(); x = torch.ones(2)", "m(x)")
    def test_module(self, run):
        self.all_seen(run, "torch.nn.ReLU.forward")

    @loop("class Id(torch.autograd.Function):\n"
          "    @staticmethod\n    def forward(ctx, x): return x.clone()\n"
          "x = torch.ones(2)", "Id.apply(x)")
    def test_class_method(self, run):
        self.all_seen(run, "torch.autograd.Function.apply")

    @loop("w = torch.nn.Parameter(torch.ones(1)); o = torch.optim.SGD([w], 0.1)", "o.step()")
    def test_optimizer_step(self, run):
        self.all_seen(run, "torch.optim.Optimizer.step")


# A call of a builtin, and the arguments that it leaves. T is a tensor. Written from torch's documentation.
BUILTINS = (
    ("torch.relu(x)", {"input": "T"}),
    ("torch.softmax(x, 1)", {"input": "T", "dim": 1, "dtype": None}),
    ("torch.dropout(x, 0.5, train=False)", {"input": "T", "p": 0.5, "training": False}),
    ("torch.dropout(x, 0.5, False)", {"input": "T", "p": 0.5, "training": False}),
    ("F.linear(x, x)", {"input": "T", "weight": "T", "bias": None}),
    ("F.conv1d(x[None], x[None], padding='same')",
     {"input": "T", "weight": "T", "bias": None, "stride": 1, "padding": "same", "dilation": 1, "groups": 1}),
    ("F.max_pool1d(x, 2)", {"input": "T", "kernel_size": 2, "stride": None, "padding": 0, "dilation": 1,
                            "ceil_mode": False, "return_indices": False}),
    ("F.softplus(x, beta=2)", {"input": "T", "beta": 2, "threshold": 20}),
    ("torch.cat([x, x], 1)", {"tensors": ["T", "T"], "dim": 1}),
    ("torch.matmul(x, x)", {"input": "T", "other": "T"}),
    ("torch.zeros(2, 3)", {"size": [2, 3]}),
    ("torch.zeros((2, 3))", {"size": [2, 3]}),
    ("torch.rand(2, requires_grad=True)", {"size": [2], "requires_grad": True}),
    ("torch.full([2], 1.5)", {"size": [2], "fill_value": 1.5}),
    ("torch.arange(5)", {"end": 5}),
    ("torch.arange(1, 5)", {"start": 1, "end": 5}),
    ("torch.arange(1, 5, 2)", {"start": 1, "end": 5, "step": 2}),
    ("torch.randint(9, (2,))", {"high": 9, "size": [2]}),
    ("torch.randint(1, 9, (2,))", {"low": 1, "high": 9, "size": [2]}),
    ("torch.normal(x, 1.0)", {"mean": "T", "std": 1.0}),
    ("torch.normal(0.0, 1.0, (2,))", {"mean": 0.0, "std": 1.0, "size": [2]}),
    ("x.normal_(1)", {"mean": 1, "std": 1.0}),
    ("x.uniform_(to=2.0)", {"from": 0.0, "to": 2.0}),
    ("x.fill_(1)", {"value": 1}),
    ("x.fill_(torch.tensor(1.0))", {"value": "T"}),
    ("x.copy_(x)", {"src": "T", "non_blocking": False}),
    ("x.zero_()", {}),
    ("torch.from_numpy(a)", {"ndarray": "A"}),
)


def plain(value):
    """A recorded value with a letter in place of each tensor and array."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict) and ("tensor" in value or "array" in value):
        return "T" if "tensor" in value else "A"
    return value


class Bound(Warm):
    def test_builtins_without_a_python_signature(self):
        run = self.traced("import torch, numpy, torch.nn.functional as F\na = numpy.ones(2)\n"
                          "x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])\n"
                          + "\n".join(call for call, _ in BUILTINS), options=["--no-operators"])
        self.assertEqual(run.code, 0, run.err)
        self.assert_no_errors(run)
        made = {}
        for call in self.calls(run):
            made.setdefault(call["at"], {k: plain(v) for k, v in call["args"].items()})
        for line, (call, wanted) in enumerate(BUILTINS, 4):
            with self.subTest(call):
                self.assertEqual(made[f"script.py:{line}"], wanted)


class Records(InTurn):
    @script("import torch, torch.nn.functional as F\nF.dropout(torch.ones(2), 0.0)\n")
    def test_arguments_are_named_and_defaults_filled_in(self, run):
        call, = self.calls(run, fn="torch.nn.functional.dropout")
        self.assertEqual({k: v for k, v in call["args"].items() if k != "input"},
                         {"p": 0.0, "training": True, "inplace": False})
        self.assertEqual((call["by"], call["at"].rpartition("/")[2]), ("user", "script.py:2"))

    @script("import torch\n"
            "class Net(torch.nn.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.layers = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())\n"
            "    def forward(self, x):\n"
            "        x = self.layers(x)\n"
            "        return torch.tanh(x)\n"
            "Net()(torch.ones(1, 2))\n")
    def test_lines_of_the_users_own_are_told_within_calls(self, run):
        calls = self.calls(run)
        root, = (c for c in calls if c.get("self", {}).get("role") == "root")
        lines = {c["fn"].rpartition("torch.")[2]: c.get("at", "").rpartition("/")[2] for c in calls if c["id"] >= root["id"]}
        self.assertEqual(lines, {"nn.Module.__call__": "script.py:9", "nn.Sequential.forward": "script.py:7", "nn.Linear.forward": "",
                                 "nn.functional.linear": "", "nn.ReLU.forward": "", "nn.functional.relu": "", "nn.functional.tanh": "script.py:8"})

    @script("import torch, torch.nn.functional as F\n"
            "F.relu(torch.ones(2)); F.relu(-torch.ones(2)); F.relu(torch.full((2,), float('nan')))\n"
            "mask = torch.tensor([0.0, float('-inf')])\n"
            "for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):\n"
            "    for masked in (mask, -mask, mask[1:], torch.cat([mask, mask * 0])):\n"
            "        F.dropout(masked.to(dtype), training=False)\n")
    def test_same_and_finite(self, run):
        wanted = {c["id"] for c in self.calls(run, fn="torch.nn.functional.relu")}
        answers = [(r.get("same"), r.get("finite")) for r in run.records()
                   if r["type"] == "return" and r["id"] in wanted]
        self.assertEqual(answers, [(["args.input"], True), ([], True), (["args.input"], False)])
        dropouts = {c["id"] for c in self.calls(run, fn="torch.nn.functional.dropout")}
        self.assertEqual([r.get("finite") for r in run.records() if r["type"] == "return" and r["id"] in dropouts],
                         [None, False, False, False] * 4, "only a mask is no failure")

    @script("import torch\n"
            "class Write(torch.autograd.Function):\n"
            "    @staticmethod\n    def forward(ctx, memory, value, at):\n"
            "        memory.data[at] = value\n        return memory\n"
            "class Divide(torch.autograd.Function):\n"
            "    @staticmethod\n    def forward(ctx, x): return x / x\n"
            "memory = torch.full((2,), float('nan'))\n"
            "Write.apply(Write.apply(memory, 1.0, 0), 1.0, 1)\n"
            "Divide.apply(torch.zeros(2))")
    def test_memory_that_a_function_fills_bit_by_bit_is_not_asked_for_nan(self, run):
        wanted = {c["id"] for c in self.calls(run, fn="torch.autograd.Function.apply")}
        self.assertEqual([r.get("finite") for r in run.records() if r["type"] == "return" and r["id"] in wanted],
                         [None, None, False])

    @script("import torch, torch.nn.functional as F\n"
            "F.relu(torch.rand(1000, 1000)); F.relu(torch.randn(1000, 1000)); F.relu(torch.rand(1500, 1500))")
    def test_large_results_are_compared_with_their_operands(self, run):
        """Up to two million elements; of larger ones nothing is asked."""
        wanted = {c["id"] for c in self.calls(run, fn="torch.nn.functional.relu")}
        self.assertEqual([r.get("same") for r in run.records() if r["type"] == "return" and r["id"] in wanted],
                         [["args.input"], [], None])

    @script("import torch, torch.nn.functional as F\nfrom torch.func import grad, vmap\n"
            "vmap(F.relu)(torch.ones(3, 2)); grad(lambda x: F.relu(F.relu(x)).sum())(torch.ones(4)); F.relu(torch.ones(5))")
    def test_tensors_inside_transforms_have_a_shape_and_no_content(self, run):
        calls = self.calls(run, fn="torch.nn.functional.relu")
        returns = {r["id"]: (r.get("same"), r.get("finite")) for r in run.records() if r["type"] == "return"}
        self.assertEqual([(c["args"]["input"]["shape"], *returns[c["id"]]) for c in calls],
                         [([2], None, None), ([4], None, None), ([4], None, None), ([5], ["args.input"], True)])

    @script("import torch, torch.nn.functional as F\nfrom torch.func import grad, vmap\n"
            "w = torch.ones(2, requires_grad=True)\nx = torch.ones(3, 2)\n"
            "vmap(lambda x: F.relu(w * x))(x); vmap(F.relu)(x)\n"
            "vmap(vmap(lambda x: F.relu(w.sum() * x)))(x); grad(lambda w: vmap(lambda x: F.relu(w * x))(x).sum())(torch.ones(2))\n"
            "with torch.no_grad(): vmap(lambda x: F.relu(w * x))(x)\n")
    def test_a_batch_inside_a_transform_requires_a_gradient_where_what_it_holds_does(self, run):
        calls = self.calls(run, fn="torch.nn.functional.relu")
        self.assertEqual([c["args"]["input"]["requires_grad"] for c in calls], [True, False, True, True, False])

    @script("import torch, torch.nn.functional as F\nx = torch.ones(2, 2)\n"
            "with torch.no_grad(): F.relu(x)\nwith torch.inference_mode(): F.relu(x)\n"
            "with torch.autocast('cpu', dtype=torch.bfloat16): F.relu(x)\n")
    def test_context(self, run):
        self.assertEqual([c.get("ctx") for c in self.calls(run, fn="torch.nn.functional.relu")],
                         [{"grad": False}, {"grad": False, "inference": True},
                          {"autocast": {"cpu": "bfloat16"}}])

    @script("import torch\nw = torch.empty(3, 3)\ni = torch.nn.init\n"
            "w.normal_(); w.uniform_(); i.xavier_normal_(w); i.orthogonal_(w); i.trunc_normal_(w)\n"
            "w.zero_(); w.fill_(1); w.copy_(w); i.ones_(w); i.constant_(w, 2); i.eye_(w)\n")
    def test_drawing_at_random_and_filling_are_two_roles(self, run):
        roles = {r["fn"]: r["role"] for r in run.records() if r["type"] == "api"}
        made = [(c["at"][-1], roles[c["fn"]]) for c in self.calls(run) if "parent" not in c]
        self.assertEqual(made[1:], [("4", "init")] * 5 + [("5", "fill")] * 6)

    @script("import torch\nw = torch.nn.Parameter(torch.ones(1))\n"
            "s = torch.optim.lr_scheduler.LambdaLR(torch.optim.SGD([w], 0.1), lambda epoch: 1.0)\n"
            "s.load_state_dict(s.state_dict())\n")
    def test_state_of_a_scheduler_whose_class_has_methods_of_its_own(self, run):
        names = [call["fn"] for call in self.calls(run) if "state_dict" in call["fn"]]
        self.assertEqual(names, [f"torch.optim.lr_scheduler.LRScheduler.{name}" for name in ("state_dict", "load_state_dict")])

    def roots(self, run):
        return [c for c in self.calls(run, fn="torch.nn.Module.__call__") if c["self"].get("role") == "root"]

    @script("""
            import torch
            inner = torch.nn.Sequential(torch.nn.Linear(2, 2))
            compiled = torch.compile(inner, backend="eager")
            holder = torch.nn.Sequential(compiled, torch.nn.Linear(2, 1))
            for model in (compiled, holder):
                for mode in (True, False): model.train(mode)(torch.ones(1, 2))
        """)
    def test_a_compiled_module_is_in_the_mode_of_what_it_wraps(self, run):
        modes = [(c["self"]["object"].rpartition(".")[2], c["self"]["attrs"]["training"]) for c in self.calls(run)
                 if c["fn"] == "torch.nn.Module.__call__" and "Optimized" in c["self"]["object"]]
        self.assertEqual(modes, [("OptimizedModule", True), ("OptimizedModule", False)] * 2)

    @script("""
            import torch
            from torch import nn
            scripted = torch.jit.script(nn.Linear(2, 2))
            for mode in (True, False): scripted.train(mode)(torch.ones(1, 2))
        """)
    def test_a_scripted_module_has_a_mode(self, run):
        self.assertEqual([c["self"]["attrs"]["training"] for c in self.calls(run, fn="torch.nn.Module.__call__")],
                         [True, False])

    @script("""
            import torch
            from torch import nn
            from torch.utils.checkpoint import checkpoint
            class Net(nn.Module):
                def __init__(self): super().__init__(); self.body, self.head = nn.Linear(2, 2), nn.Linear(2, 1)
                def forward(self, x, reentrant): return self.head(checkpoint(self.body, x, use_reentrant=reentrant))
            net = Net()
            for reentrant in (True, False): net(torch.ones(1, 2, requires_grad=True), reentrant).sum().backward()
        """)
    def test_what_a_backward_computes_again_is_no_iteration(self, run):
        self.assertEqual([c["self"]["object"] for c in self.roots(run)], ["__main__.Net"] * 2)
        told = self.calls(run, fn="torch.utils.checkpoint.checkpoint")
        self.assertEqual([c["args"]["use_reentrant"] for c in told], [True, False])
        again = [c["parent"] for c in self.calls(run, fn="torch.nn.Linear.forward")]
        for backward in self.calls(run, fn="torch.Tensor.backward"):
            self.assertEqual(again.count(backward["id"]), 1)

    @script("""
            import torch
            from torch import nn
            net = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)), nn.Linear(2, 1))
            o = torch.optim.SGD(net.parameters(), 0.1)
            for i in range(2):
                o.zero_grad(); net(torch.ones(1, 2)).sum().backward()
                with torch.no_grad(): net[0].weight.norm()
                o.step(); net[0].weight
        """)
    def test_to_read_a_parametrized_weight_is_no_iteration(self, run):
        self.assertEqual([c["self"]["object"] for c in self.roots(run)], ["torch.nn.Sequential"] * 2)
        self.assertEqual({c["stage"] for c in self.calls(run, fn="torch.optim.Optimizer.step")}, {"training"})
        names = [r["name"] for r in run.records() if r["type"] == "var" and r.get("root")]
        self.assertIn("net.0.parametrizations.weight.original0", names)
        self.assertEqual([n for n in names if not n.startswith("net.")], [])

    @script("""
            import torch
            from torch import nn
            from torch.func import functional_call, grad
            model = nn.Linear(2, 1); slow = dict(model.named_parameters()); model(torch.ones(1, 2))
            def loss(weights): return functional_call(model, weights, torch.ones(1, 2)).sum()
            for i in range(3):
                fast = {name: w - g for (name, w), g in zip(slow.items(), torch.autograd.grad(loss(slow), slow.values()))}
                loss(fast); grad(loss)(slow)
            traced = torch.fx.symbolic_trace(nn.Sequential(model)); traced(torch.ones(1, 2))
        """)
    def test_tensors_in_the_place_of_parameters_are_no_variables(self, run):
        names = [r["name"] for r in run.records() if r["type"] == "var" and "kind" in r and r.get("root")]
        self.assertEqual(names, ["model.weight", "model.bias"])
        self.assertEqual([c["by"] for c in self.roots(run) if "parent" not in c], ["user"] * 11)

    @script("import torch\ntry: torch.nn.functional.relu('x')\nexcept TypeError: pass\n")
    def test_raise(self, run):
        self.assertEqual([r["exc"] for r in run.records() if r["type"] == "raise"], ["TypeError"])

    @script("import torch\ntorch.nn.Linear(2, 2)(torch.ones(1, 2))\n")
    def test_each_api_is_announced_before_its_first_call(self, run):
        known = set()
        for r in run.records():
            if r["type"] == "api":
                known.add(r["fn"])
            elif r["type"] == "call":
                self.assertIn(r["fn"], known)

    @script("""
            import torch
            class LM(torch.nn.Module):
                def __init__(self): super().__init__(); self.l = torch.nn.Linear(1, 1)
                def forward(self, x): return self.helper(self.l(x))
                def helper(self, x): return x
                @torch.no_grad()
                def generate(self, x, n=3): return self(x)
            LM().generate(torch.ones(1, 1))
        """)
    def test_methods_of_the_user_at_the_top(self, run):
        call, = self.calls(run, fn="__main__.LM.generate")
        self.assertEqual(call["args"]["n"], 3)
        self.assertEqual(self.calls(run, fn="__main__.LM.helper"), [])

    @script("import torch, torch.nn.functional as F\n"
            "for i in range(500): F.relu(torch.ones(3))\n")
    def test_a_serial_never_names_two_objects(self, run):
        ids = [c["args"]["input"]["id"] for c in self.calls(run, fn="torch.nn.functional.relu")]
        self.assertEqual(len(set(ids)), 500)

    def test_what_is_written_past_the_version_counter_is_seen_in_the_result(self):
        run = self.traced("""
            import torch
            class Net(torch.nn.Module):
                def __init__(self): super().__init__(); self.l = torch.nn.Linear(2, 2)
                def forward(self, x):
                    y = self.l(x)
                    y.data[0] = float("nan")
                    return y
            Net()(torch.ones(1, 2))
        """)
        finite = {c["fn"]: r["finite"] for c in self.calls(run) for r in run.records()
                  if r["type"] == "return" and r["id"] == c["id"] and "finite" in r}
        self.assertEqual(finite["torch.nn.Linear.forward"], True)
        self.assertEqual(finite["torch.nn.Module.__call__"], False)

    def test_layers_of_no_interest_keep_what_is_inside_of_them(self):
        (self.work / "inv.jsonl").write_text(
            '{"traincheck": "invariants", "schema": 1, "made_by": "by hand"}\n'
            '{"id": "AO-00000000", "relation": "APIOutput/finite", "params": [{"call": "torch.nn.functional.relu"}, '
            '{"operand": "value", "is": "finite"}], "when": [], "text": "in relu(), the result is finite"}\n')
        run = self.traced("""
            import torch
            class Block(torch.nn.Module):
                def __init__(self): super().__init__(); self.l = torch.nn.Linear(2, 2); self.r = torch.nn.ReLU()
                def forward(self, x): return self.r(self.l(x))
            torch.nn.Sequential(Block(), Block())(torch.ones(1, 2))
        """, options=("-i", self.work / "inv.jsonl"))
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(len(self.calls(run, fn="torch.nn.functional.relu")), 2)
        roots = [c for c in self.calls(run) if c.get("self", {}).get("role") == "root"]
        self.assertEqual([c["self"]["object"] for c in roots], ["torch.nn.Sequential"])
        self.assertEqual({c["parent"] for c in self.calls(run, fn="torch.nn.functional.relu")}, {roots[0]["id"]})

    def test_tensors_of_all_kinds_are_described(self):
        run = self.traced("""
            import torch
            kinds = (torch.ones(2, 3), torch.ones(2, 3).t(), torch.ones(2, dtype=torch.bfloat16), torch.ones(()),
                     torch.ones(2, dtype=torch.complex64), torch.ones(2, dtype=torch.bool), torch.empty(0, 3),
                     torch.ones(2, device="meta"), torch.ones(2, 2).to_sparse(), torch.nn.Parameter(torch.ones(4)),
                     torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8))
            torch.einsum("i->i", torch.ones(2))
            try: torch.stack(list(kinds))
            except Exception: pass
        """)
        call, = self.calls(run, fn="torch.stack")
        self.assertEqual([(t["tensor"], t["shape"], t["dtype"], t["device"], t["requires_grad"])
                          for t in call["args"]["tensors"]], [
            ("Tensor", [2, 3], "float32", "cpu", False), ("Tensor", [3, 2], "float32", "cpu", False),
            ("Tensor", [2], "bfloat16", "cpu", False), ("Tensor", [], "float32", "cpu", False),
            ("Tensor", [2], "complex64", "cpu", False), ("Tensor", [2], "bool", "cpu", False),
            ("Tensor", [0, 3], "float32", "cpu", False), ("Tensor", [2], "float32", "meta", False),
            ("Tensor", [2, 2], "float32", "cpu", False), ("Parameter", [4], "float32", "cpu", True),
            ("Tensor", [2], "qint8", "cpu", False)])

    @unittest.skipIf(not has_package("transformers"), f"{PYTHON} has no transformers")
    def test_classes_of_a_package_that_loads_its_parts_late(self):
        run = self.traced("""
            import torch, transformers
            config = transformers.GPT2Config(vocab_size=8, n_positions=8, n_embd=4, n_layer=1, n_head=1,
                                             bos_token_id=0, eos_token_id=7)
            model = transformers.GPT2LMHeadModel(config)
            model.save_pretrained("saved")
            again = transformers.GPT2LMHeadModel.from_pretrained("saved")
            again.generate(torch.zeros(1, 2, dtype=torch.long), max_new_tokens=2, do_sample=False)
        """)
        self.assertEqual(run.code, 0, run.err)
        for fn in ("PreTrainedModel.save_pretrained", "PreTrainedModel.from_pretrained",
                   "GenerationMixin.generate"):
            self.assertEqual(len(self.calls(run, fn=f"transformers.{fn}")), 1, fn)

    @script("import torch\nl = torch.nn.Linear(2, 2)\nl.weight.data.normal_(); l.weight.data.zero_()\n"
            "torch.nn.init.ones_(l.weight)\n")
    def test_data_of_a_parameter_is_the_parameter(self, run):
        ids = {c["self"]["id"] for c in self.calls(run) if c["fn"] in ("torch.Tensor.normal_", "torch.Tensor.zero_")}
        ids |= {c["args"]["tensor"]["id"] for c in self.calls(run, fn="torch.nn.init.ones_")}
        self.assertEqual(len(ids), 1)


if __name__ == "__main__":
    unittest.main()
