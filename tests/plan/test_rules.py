#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every rule of traincheck-check --plan computes what torch computes, in float64.

usage: test_rules.py --run BUILD/tests/bin/plan_real

The operators that torch's own samples (torch.testing's op_db) and the calls below run, forward and backward, are recorded
with their inputs and results. plan_real, the rules with doubles in the place of field elements, computes them from the same
inputs. Rules that are not compared stand in NOT_COMPARED with the reason; a new rule without a sample fails the test.
"""

import importlib.util
import itertools
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import warnings

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from options import OPTIONS, main

# torch's test helpers import it for a base class that the samples do not use.
if not importlib.util.find_spec("expecttest"):
    sys.modules["expecttest"] = types.SimpleNamespace(TestCase=unittest.TestCase)
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

MOST = 4           # cases of one overload
MOST_ELEMENTS = 300

COMPOSITE = "torch on the CPU takes it apart before an operator runs"
DRAWN = "draws: two runs of torch differ, too"
EMPTY = "its elements are undefined"
NO_TENSOR = "changes no tensor"
DEVICE = "runs on accelerators only; written out as _scaled_dot_product_flash_attention_for_cpu is"
NO_SAMPLE = "no sample yet"

NOT_COMPARED = {
    **dict.fromkeys(("aten.softmax", "aten.log_softmax", "aten.reshape", "aten.contiguous", "aten.to", "aten.concat",
                     "aten.square", "aten.isfinite", "aten.isinf", "aten.__and__", "aten.__or__", "aten._fused_rms_norm",
                     "aten._fused_rms_norm_backward"), COMPOSITE),
    **dict.fromkeys(("aten.bernoulli", "aten.exponential", "aten.native_dropout", "aten.normal", "aten.rand",
                     "aten.rand_like", "aten.randn", "aten.randn_like", "aten.uniform"), DRAWN),
    **dict.fromkeys(("aten.empty", "aten.empty_like", "aten.empty_strided", "aten.new_empty", "aten.new_empty_strided"), EMPTY),
    **dict.fromkeys(("aten._local_scalar_dense", "aten.is_nonzero", "aten.record_stream", "aten.resize"), NO_TENSOR),
    **{f"aten._scaled_dot_product_{kind}{back}": DEVICE for back in ("", "_backward")
       for kind in ("cudnn_attention", "efficient_attention", "flash_attention", "fused_attention_overrideable")},
    **dict.fromkeys(("fsdp.all_gather_copy_in", "fsdp.chunk_cat", "fsdp.split_with_sizes_copy",
                     "aten._native_batch_norm_legit_functional"), NO_SAMPLE),
}


# What rules say of torch's own samples that they do not cover: such a plan is unjudged.
DECLINED = {
    "aten.div: rounding_mode 'trunc'",
    "aten.histc: counts of elements that are no integers",
    "aten.masked_select: a mask that is larger than the tensor",
    "aten.index: a mask as index: the sizes depend on values",
    "aten.index_put: a mask as index: the sizes depend on values",
    "aten.linalg_vector_norm: a norm of order 0",
    "aten.linalg_vector_norm: a norm of order 0.5",
    "aten.rrelu_with_noise: a slope that is drawn",
    "aten.rrelu_with_noise_backward: a slope that is drawn",
    "aten.scatter_add: sizes that do not fit",
    "aten._chunk_cat: only along dimension 0",
}


def flat(value):
    """Tensors of an argument or result, lists laid flat."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in flat(v)] if isinstance(value, (list, tuple)) else []


def is_list_operator(name):
    return name.startswith(("aten._foreach_", "aten._fused_ad", "aten._fused_sgd"))


def is_exact(t):
    """float64 and integers; a single float32, as fused optimizers count steps in."""
    return not t.is_sparse and (t.dtype in (torch.float64, torch.int64, torch.bool) or
                                (t.dtype == torch.float32 and t.numel() == 1))


class Plan:
    """Lines of a plan whose storages are constants, one operator after the other."""

    def __init__(self):
        self.lines = [{"plan": 1, "rank": 0, "world": 1, "mesh": []}]
        self.storages = 0
        self.expected = {}  # line number -> (name, elements)

    def tensor(self, t, is_new):
        number, self.storages = self.storages, self.storages + 1
        c = t.detach().contiguous()
        name = str(t.dtype).removeprefix("torch.")
        if not is_new:
            data = [v if isinstance(v, (bool, int)) or math.isfinite(v) else str(v) for v in c.view(-1).tolist()]
            self.lines.append({"const": number, "n": c.numel(), "dtype": name, "data": [int(v) if v is True or v is False
                                                                                       else v for v in data]})
        return ["t", number, 0, list(c.shape), list(c.stride()), name]

    def value(self, v, known):
        if isinstance(v, torch.Tensor):
            return known[id(v)]
        if isinstance(v, (list, tuple)):
            return [self.value(x, known) for x in v]
        if v is None or isinstance(v, (bool, int, str)):
            return v
        if isinstance(v, float):
            return v if math.isfinite(v) else str(v)
        return str(v).removeprefix("torch.")

    def add(self, name, names, args, before, outs, results):
        """before: copies of the inputs by id; outs: tensors that are written or returned; results: their contents."""
        known = {key: self.tensor(t, False) for key, t in before.items()}
        places = [t if t is None else known[id(t)] if id(t) in known else self.tensor(t, True) for t in outs]
        self.lines.append({"op": name, "a": {n: self.value(v, known) for n, v in zip(names, args)}, "out": places,
                           "src": ["", ""]})
        parts = len(args[0]) if args and isinstance(args[0], (list, tuple)) and is_list_operator(name) else 1
        results = [t for k in range(parts) for t in results[k::parts]]  # plan_real tells them by parts
        self.expected[len(self.lines)] = name, [e for t in results for e in t.reshape(-1).tolist()]


class Recorder(TorchDispatchMode):
    """Adds each operator that has a rule to a plan, with what torch made of it."""

    def __init__(self, plan, has_rule):
        super().__init__()
        self.plan, self.has_rule, self.count, self.seen = plan, has_rule, {}, set()

    def is_wanted(self, func, tensors):
        schema = func._schema
        is_view = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        return (not is_view and self.has_rule(str(func)) and self.count.get(str(func), 0) < MOST
                and not str(func).endswith("out") and sum(t.numel() for t in tensors) <= MOST_ELEMENTS
                and all(is_exact(t) for t in tensors))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = flat(args) + flat(list(kwargs.values()))
        if not self.is_wanted(func, tensors):
            return func(*args, **kwargs)
        schema = func._schema
        named = [(a.name, args[i] if i < len(args) else kwargs.get(a.name)) for i, a in enumerate(schema.arguments)
                 if i < len(args) or a.name in kwargs]
        before = {id(t): t.clone() for t in tensors}
        out = func(*args, **kwargs)
        written = [t for a, (_, v) in zip(schema.arguments, named) if a.alias_info is not None and a.alias_info.is_write
                   for t in flat(v)]
        returned = out if isinstance(out, (list, tuple)) else [] if out is None else [out]
        new = [t for v in returned for t in ([None] if v is None else flat(v)) if all(t is not w for w in written)]
        outs = written + new
        key = str(func), str([(n, str(v)) for n, v in named])
        given = [t for t in outs if t is not None]
        if given and key not in self.seen and sum(t.numel() for t in given) <= MOST_ELEMENTS and all(map(is_exact, given)):
            self.seen.add(key)
            self.count[str(func)] = self.count.get(str(func), 0) + 1
            names = [n for n, _ in named]
            self.plan.add(str(func), names, [v for _, v in named], before, outs, [t.clone() for t in given])
        return out


def run_sample(call, inputs):
    """Forward, and backward with a gradient that is not 1."""
    leaves = [t for t in flat(inputs) if t.requires_grad]
    out = [t for t in flat(call()) if t.requires_grad and t.dtype == torch.float64]
    if leaves and out:
        weights = [torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).view(t.shape) for t in out]
        torch.autograd.grad(out, leaves, weights, allow_unused=True)


def samples(has_rule):
    """(call, inputs) of torch's own samples of operators that have a rule."""
    for op in op_db:
        names = {op.aten_name, op.name.split(".")[-1], op.aten_backward_name or ""}
        if not any(has_rule(f"aten.{name}.x") for name in names) or torch.float64 not in op.dtypes:
            continue
        try:
            for n, s in zip(range(8), op.sample_inputs("cpu", torch.float64, requires_grad=True)):
                inputs = [s.input, *s.args, *s.kwargs.values()]
                yield lambda: op(s.input, *s.args, **s.kwargs), inputs
        except Exception:  # an operator that this build of torch has no sample for
            continue


def numbers(*sizes):
    n = math.prod(sizes)
    return (torch.arange(n, dtype=torch.float64) * 0.37).sin().add(0.05).view(sizes).requires_grad_()


def functions():
    x, positive = numbers(3, 4), numbers(3, 4).detach().abs().add(0.1).requires_grad_()
    for f in (torch.tanh, torch.erf, torch.expm1, torch.floor, torch.ceil, torch.trunc, torch.sign, torch.atan,
              torch.neg):
        yield lambda: f(x), [x]
    for f in (torch.sqrt, torch.log1p):
        yield lambda: f(positive), [positive]
    yield lambda: x[:, 1:3], [x]
    yield lambda: torch.baddbmm(numbers(2, 3, 5), numbers(2, 3, 4), numbers(2, 4, 5), beta=0.5, alpha=2), []
    yield lambda: [torch._foreach_norm([x, positive]), torch.ops.aten.norm.ScalarOpt_dim(x, 2, [1])], []


def layers():
    classes, image = torch.tensor([1, 0, 4]), numbers(1, 2, 4, 4)
    x, pixels = numbers(3, 5), torch.tensor([[[0, 1], [1, 1]], [[1, 0], [0, 1]]])
    yield lambda: F.cross_entropy(x, classes), [x]
    yield lambda: F.cross_entropy(x, classes, weight=numbers(5).detach().abs(), reduction="sum", ignore_index=0), [x]
    y = numbers(2, 2, 2, 2)
    yield lambda: F.cross_entropy(y, pixels), [y]
    w, b, deep = numbers(4, 2, 2, 2), numbers(4), numbers(4, 1, 2, 2)
    yield lambda: F.conv2d(image, w, b), [image, w, b]
    yield lambda: F.conv2d(image, w, stride=2, padding=1, dilation=2), [image, w]
    yield lambda: F.conv2d(image, deep, b, groups=2), [image, deep, b]
    line, kernel = numbers(2, 2, 5), numbers(3, 2, 3)
    yield lambda: F.conv1d(line, kernel, padding=1), [line, kernel]
    yield lambda: F.adaptive_avg_pool2d(image, 2), [image]
    yield lambda: F.avg_pool2d(image, 2), [image]
    for how in ({"scale_factor": 2}, {"size": (12, 8)}, {"size": (3, 5)}):
        yield lambda how=how: F.interpolate(image, **how), [image]
    for how in ({"scale_factor": 2}, {"size": (7, 5)}, {"size": (7, 3), "align_corners": True}, {"size": (1, 2)}):
        yield lambda how=how: F.interpolate(image, mode="bilinear", **how), [image]
    yield lambda: F.adaptive_max_pool2d(image, 2), [image]
    volume = numbers(2, 2, 4, 5, 6)
    for how in ({}, {"padding": 1, "stride": (1, 2, 2)}, {"padding": 1, "count_include_pad": False}, {"ceil_mode": True},
                {"divisor_override": 5}):
        yield lambda how=how: F.avg_pool3d(volume, 3, **how), [volume]
    left, right, table = numbers(3, 4), numbers(3, 5), numbers(2, 4, 5)
    yield lambda: F.bilinear(left, right, table, numbers(2)), [left, right, table]
    odd = numbers(2, 3, 5, 7)
    for how in ({"padding": 1}, {"padding": 1, "count_include_pad": False}, {"ceil_mode": True, "count_include_pad": False},
                {"ceil_mode": True, "padding": (1, 0), "stride": (2, 3)}, {"divisor_override": 5, "stride": 1}):
        yield lambda: F.avg_pool2d(odd, (3, 2), **how), [odd]
    groups = numbers(2, 4, 3)
    yield lambda: F.group_norm(groups, 2, b, b), [groups, b]
    q, k, v = numbers(1, 2, 3, 4), numbers(1, 2, 5, 4), numbers(1, 2, 5, 4).detach().mul(2).requires_grad_()
    yield lambda: F.scaled_dot_product_attention(q, k, v), [q, k, v]
    yield lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3), [q, k, v]


def pictures():
    """Sizes changed by interpolation, padding, windows and pooling, of one to three dimensions."""
    line, image, volume = numbers(2, 3, 5), numbers(1, 4, 4, 6), numbers(1, 2, 3, 4, 5)
    for x, mode in ((line, "linear"), (volume, "trilinear"), (image, "bicubic")):
        for how in ({"scale_factor": 2}, {"size": tuple(n + 3 for n in x.shape[2:])}, {"size": (2, 3, 2)[:x.dim() - 2]}):
            for corners in (False, True):
                yield lambda x=x, mode=mode, how=how, c=corners: F.interpolate(x, mode=mode, align_corners=c, **how), [x]
    few = line, numbers(1, 2, 3, 4), numbers(1, 1, 3, 3, 4)
    for x, mode in itertools.product(few, ("nearest", "nearest-exact")):
        yield lambda x=x, mode=mode: F.interpolate(x, size=tuple(2 * n - 1 for n in x.shape[2:]), mode=mode), [x]
    for x, mode in itertools.product(few, ("reflect", "replicate")):
        pads = (1, 2, 2, 0, 1, 1)[:2 * (x.dim() - 2)]
        yield lambda x=x, mode=mode, pads=pads: F.pad(x, pads, mode=mode), [x]
    for how in ({}, {"stride": 2, "padding": 1}, {"dilation": (1, 2), "padding": (0, 1)}):
        yield lambda how=how: F.unfold(image, (2, 3), **how), [image]
    columns, wide = numbers(2, 8, 9), numbers(1, 8, 16)
    yield lambda: F.fold(columns, (4, 4), 2), [columns]
    yield lambda: F.fold(wide, (4, 4), 2, dilation=2, padding=1), [wide]
    yield lambda: [F.channel_shuffle(image, 2), torch.ops.aten.native_channel_shuffle(image.detach(), 2)], []
    for f, how in ((F.max_pool3d, {"stride": 1}), (F.adaptive_avg_pool3d, {}), (F.adaptive_max_pool3d, {})):
        yield lambda f=f, how=how: f(volume, 2, **how), [volume]
    for pool, unpool, x in ((F.max_pool2d, F.max_unpool2d, image), (F.max_pool3d, F.max_unpool3d, volume)):
        values, places = pool(x.detach(), 2, return_indices=True)
        values.requires_grad_()
        yield lambda unpool=unpool, values=values, places=places, x=x: unpool(values, places, 2, output_size=x.shape), [values]
    for x, w in ((line, numbers(3, 4, 3)), (image, numbers(4, 2, 2, 3)), (volume, numbers(2, 3, 2, 2, 2))):
        f, groups = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[x.dim() - 3], 2 if x is image else 1
        yield lambda f=f, x=x, w=w, g=groups: f(x, w, stride=2, padding=1, output_padding=1, groups=g), [x, w]
        bias = numbers(w.shape[1] * groups)
        yield lambda f=f, x=x, w=w, b=bias, g=groups: f(x, w, b, groups=g), [x, w, bias]


def rows():
    """Bags of embeddings, margins between classes, distances, grids."""
    table, index, starts = numbers(5, 3), torch.tensor([1, 2, 4, 4, 0, 3, 1]), torch.tensor([0, 2, 2, 5])
    weights = numbers(7)
    for mode in ("sum", "mean", "max"):
        for how in ({}, {"padding_idx": 4}, {"include_last_offset": True}):
            yield lambda mode=mode, how=how: F.embedding_bag(index, table, starts, mode=mode, **how), [table]
    yield lambda: F.embedding_bag(index, table, starts, mode="sum", per_sample_weights=weights.detach()), [table]
    yield lambda: F.embedding_bag(index, table.detach(), starts), []
    x, y, labels = numbers(3, 5), torch.tensor([4, 0, 2]), torch.tensor([[1, 3, -1, 0, 2], [0, -1, 1, 1, 1], [2, 4, 3, 1, 0]])
    for how in ({}, {"p": 2, "margin": 0.5}, {"weight": numbers(5).detach().abs(), "reduction": "sum"}, {"reduction": "none"}):
        yield lambda how=how: F.multi_margin_loss(x, y, **how), [x]
    for reduction in ("mean", "sum", "none"):
        yield lambda reduction=reduction: F.multilabel_margin_loss(x, labels, reduction=reduction), [x]
    yield lambda: F.pdist(x), [x]
    yield lambda: F.rrelu(x), [x]
    plane, space = numbers(2, 2, 3), numbers(1, 3, 4)
    for corners in (False, True):
        yield lambda c=corners: F.affine_grid(plane, (2, 1, 3, 4), align_corners=c), [plane]
        yield lambda c=corners: F.affine_grid(space, (1, 1, 2, 3, 4), align_corners=c), [space]
    time, kernel, bias = numbers(6, 2, 4), numbers(3, 4, 5), numbers(5)
    for pad in (0, 1):
        yield lambda pad=pad: F.conv_tbc(time, kernel, bias, pad), [time, kernel, bias]


def direct():
    """Operators that other operators are taken apart into, or that Python's operators name."""
    a, b, x = torch.tensor([5, 3, 8]), torch.tensor([6, 1, 12]), numbers(3, 4).detach()
    aten, rows = torch.ops.aten, torch.tensor([2, 0])
    yield lambda: [a | b, a ^ b], []
    yield lambda: [aten._unsafe_index(x, [rows]), aten._unsafe_index_put(x, [rows], x[:2])], []
    yield lambda: [aten._index_put_impl_(x.clone(), [rows], x[:2], True), aten._reshape_copy(x, [4, 3])], []
    some, y, z = torch.tensor([[True], [False], [True]]), numbers(3, 4), numbers(3, 4)
    yield lambda: [y.masked_scatter(some, z), (y * 0).masked_scatter(some.expand(3, 4), z), y.masked_select(some)], [y, z]
    yield lambda: [aten._safe_softmax(x, 1), aten.lift_fresh_copy(x)], []
    yield lambda: torch.ops.prims.convert_element_type(x, torch.float64), []


def experts():
    """What routes tokens to experts."""
    chosen, x = torch.tensor([3, 0, 1, 3, 3, 0], dtype=torch.float64), numbers(6, 4)
    yield lambda: [torch.histc(chosen, bins=4, min=0, max=3), torch.histc(chosen, bins=2, min=0, max=3)], []
    yield lambda: [rule(torch.tensor([1.0, math.nan, math.inf, -math.inf])) for rule in (torch.isnan, torch.isinf)], []
    yield lambda: [chosen.long().bincount(), chosen.long().bincount(minlength=6)], []
    yield lambda: torch.bincount(chosen.long(), numbers(6)), []
    yield lambda: [torch.sort(chosen, stable=True), torch.sort(x, 0, descending=True)], [x]
    yield lambda: [torch.topk(x, 2), torch.topk(x, 3, 0, largest=False)], [x]


def add_groups(plan):
    """torch has no _grouped_mm of float64: float32 with small integers is as exact."""
    ends = torch.tensor([2, 2, 5, 8], dtype=torch.int32)
    for left, right in (((8, 4), (4, 4, 8)), ((4, 8, 4), (4, 8)), ((4, 8), (8, 8))):
        a, b = ((numbers(*sizes).detach() * 8).round().float() for sizes in (left, right))
        out = torch._grouped_mm(a, b, offs=ends)
        plan.add("aten._grouped_mm.default", ["self", "mat2", "offs"], [a, b, ends], {id(t): t for t in (a, b, ends)}, [out],
                 [out])


def fused_optimizers():
    kinds = (torch.optim.Adam, {"weight_decay": 0.1}), (torch.optim.AdamW, {}), \
        (torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), (torch.optim.Adagrad, {})
    for kind, options in kinds:
        parameters = [numbers(2, 3), numbers(4)]
        optimizer = kind(parameters, lr=0.1, fused=True, **options)
        for _ in range(2):
            for p in parameters:
                p.grad = numbers(*p.shape).detach().mul(0.7)
            yield optimizer.step, []


def record(has_rule):
    torch.manual_seed(0)
    plan = Plan()
    with warnings.catch_warnings(), Recorder(plan, has_rule):
        warnings.simplefilter("ignore")
        for call, inputs in experts():  # before the samples, which use up what is taken of an operator
            run_sample(call, inputs)
        for call, inputs in samples(has_rule):
            try:
                run_sample(call, inputs)
            except (RuntimeError, NotImplementedError, TypeError):
                continue  # samples of errors
        for call, inputs in itertools.chain(functions(), layers(), pictures(), rows(), direct(), fused_optimizers()):
            run_sample(call, inputs)
    add_groups(plan)
    return plan


def matcher(rules):
    """Is there a rule for an operator? As tc_rule_find."""
    def has_rule(op):
        name = ".".join(op.split(".")[:2])
        short = name[:-1] if name.endswith("_") and not name.endswith("__") else name
        single = short.replace("aten._foreach_", "aten.")
        return next((rule for rule in (name, short, single) if rule in rules), None)
    return has_rule


def compare(text, expected):
    """How a line of plan_real differs, or None."""
    got = [float(v) for v in text.split()]
    if len(got) != len(expected):
        return f"{len(got)} elements, not {len(expected)}"
    for i, (a, b) in enumerate(zip(got, map(float, expected))):
        is_same = a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-8 * max(1, abs(b))
        if not is_same:
            return f"element {i} is {a!r}, not {b!r}"
    return None


class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rules = set(subprocess.run([OPTIONS.run, "--rules"], capture_output=True, text=True, check=True).stdout.split())
        cls.rules, has_rule = rules, matcher(rules)
        plan = record(has_rule)
        with tempfile.TemporaryDirectory() as temp:
            path = pathlib.Path(temp) / "plan-rank00000.jsonl"
            path.write_text("".join(json.dumps(line) + "\n" for line in plan.lines))
            done = subprocess.run([OPTIONS.run, temp], capture_output=True, text=True, check=True)
        said = {}
        for line in done.stdout.splitlines():
            number, _, text = line.partition(" ")
            said[int(number)] = said.get(int(number), "") + " " + text
        cls.wrong, cls.right, cls.declined = {}, {}, {}
        for number, (name, expected) in plan.expected.items():
            text, rule = said.get(number, " no line"), has_rule(name)
            if text.strip().startswith("cannot:"):
                cls.declined.setdefault(rule, set()).add(text.strip())
                continue
            how = compare(text, expected)
            cls.right[rule] = cls.right.get(rule, 0) + (how is None)
            if how:
                cls.wrong.setdefault(rule, []).append(f"{name}: {how}: {json.dumps(plan.lines[number - 1]['a'])}")

    def test_each_case_is_as_torch_has_it(self):
        told = [f"{rule}: {len(cases)} wrong, {self.right[rule]} right: {cases[0][:300]}" for rule, cases in self.wrong.items()]
        self.assertEqual(len(told), 0, "\n" + "\n".join(sorted(told)))

    def test_what_is_declined_is_named(self):
        told = {f"{rule}: {text.removeprefix('cannot:').strip()}" for rule, texts in self.declined.items() for text in texts
                if NOT_COMPARED.get(rule) not in (DRAWN, EMPTY)}
        self.assertFalse(told - DECLINED, "\n".join(sorted(told - DECLINED)))

    def test_each_rule_is_compared_or_named(self):
        computing = {rule for rule in self.rules if not rule.startswith(("c10d", "_c10d"))}
        missing = computing - {rule for rule, n in self.right.items() if n} - set(NOT_COMPARED)
        self.assertFalse(missing, " ".join(sorted(missing)))


if __name__ == "__main__":
    main("--run")
