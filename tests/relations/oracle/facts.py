# SPDX-License-Identifier: Apache-2.0
"""Facts of one script by brute force: of calls, their operands and results, how often and in which order.

From the section "Facts of one script" of docs/relations.md. Not here is what NOT_COVERED names: most of it, as sets of
variables or what traces tell of content, random traces do not hold.
"""
import collections
import math
import pathlib

from .replay import Process
from .terms import FOREIGN

N_SOURCES, N_TENSORS, LONGEST = 6, 32, 8
LAST_OF_ROW, LAST_RESULT, MIN_MET, MIN_EQUAL, MAX_NEXT = 8, 7, 8, 8, 8
BITS_OF_CLAIM = 12  # what is claimed is chance once in 4,096 scripts
BITS = {"next": 4, "source": 4, "uncleared": 4, "count": 4, "count_later": 4, "count_where": 1, "flows": 4, "flows_later": 4,
        "flows_where": 1}  # of one occasion; of what is not here, all
COUNTS = {"count", "count_first", "count_later", "count_where", "flows", "flows_later", "flows_where"}
NO_SCALAR = {}  # what is a tensor, or an object, as the value that it is
IDLE = {"flows": 0, "flows_later": 0, "value": NO_SCALAR, "tensor": None}  # values that are no claim
COVERED = {"value", "class", "keys", "length", "tensor", "dtype", "ndim", "shape", "dim", "requires_grad", "source", "autocast",
           "owned", "uncleared", "equals", "finite", "count", "count_first", "count_later",
           "count_where", "flows", "flows_later", "flows_where", "flows_ever", "present", "next", "next_first"}
NOT_COVERED = {"alike", "data", "data_first", "exist", "first", "flows_first", "gradients", "last", "named", "owned_in_order",
               "ranks", "trainable", "trend", "uniform", "zero"}


def is_tensor(v):
    return isinstance(v, dict) and isinstance(next(iter(v.values()), None), str) and next(iter(v)) in ("tensor", "array")


def is_object(v):
    return isinstance(v, dict) and isinstance(v.get("object"), str)


def tensors(v):
    """Serials in order."""
    if is_tensor(v):
        return [v["id"]] if "id" in v else []
    items = v.values() if isinstance(v, dict) else v if isinstance(v, list) and len(v) <= LONGEST else ()
    return [serial for item in items for serial in tensors(item)]


def sizes(v):
    """Numbers of elements in the same order."""
    if is_tensor(v):
        return [math.prod(v.get("shape", ()))] if "id" in v else []
    items = v.values() if isinstance(v, dict) else v if isinstance(v, list) and len(v) <= LONGEST else ()
    return [n for item in items for n in sizes(item)]


def statements(v, path, depth=0, has_class=False, tells_keys=False):
    """(path, attribute, value) of a value and what is in it. What is no tensor says so, and what is no scalar."""
    if isinstance(v, dict) and next(iter(v), None) in ("float", "int", "str") and isinstance(next(iter(v.values())), str):
        v = next(iter(v.values()))
    if not is_tensor(v):
        yield path, "tensor", None
    if isinstance(v, (dict, list)):
        yield path, "value", NO_SCALAR
    if isinstance(v, list):
        yield path, "length", len(v)
        for i, item in enumerate(v if len(v) <= LONGEST else ()):
            yield from statements(item, f"{path}[{i}]", depth + 1)
    elif not isinstance(v, dict):
        yield path, "value", v
    elif is_tensor(v):
        for key, attribute in (("tensor", "tensor"), ("array", "tensor"), ("dtype", "dtype"), ("requires_grad", "requires_grad")):
            if key in v:
                yield path, attribute, v[key]
        if "shape" in v:
            yield path, "shape", v["shape"]
            yield path, "ndim", len(v["shape"])
        for i, n in enumerate(v.get("shape", ())):
            yield f"{path}[{i}]", "dim", n
    elif is_object(v):
        if not has_class:
            yield path, "class", v["object"]
        for key, item in v.get("attrs", {}).items():
            if not isinstance(item, (dict, list)):
                yield f"{path}.{key}", "value", item
    else:
        inner = v["dict"] if list(v) == ["dict"] else v
        if depth or tells_keys:
            yield path, "keys", ",".join(inner)
        for key, item in inner.items():
            yield from statements(item, f"{path}.{key}", depth + 1)


def scalars(v, path):
    """(path, value) of what is no null, in lists as well."""
    if isinstance(v, dict) and next(iter(v), None) in ("float", "int", "str") and isinstance(next(iter(v.values())), str):
        v = next(iter(v.values()))
    if isinstance(v, list):
        for i, item in enumerate(v if len(v) <= LONGEST else ()):
            yield from scalars(item, f"{path}[{i}]")
    elif v is not None and not isinstance(v, dict):
        yield path, v


class Facts(Process):
    """One process; `said` is a list of (subject, path, attribute, value)."""

    def __init__(self, file):
        super().__init__(file)
        self.said, self.made = [], {}
        self.counters, self.n_windows, self.in_all = {}, 0, collections.Counter()
        self.labels, self.last, self.pairs = collections.Counter(), [], {}
        self.row, self.which, self.flows, self.all_flows = (None, 0), {}, {}, collections.Counter()

    def say(self, subject, path, attribute, value):
        self.said.append((tuple(sorted(subject.items())), path, attribute, value))

    def label(self, call):
        fields = {"fn": call["name"]}
        if is_object(call.get("self")):
            fields["of"] = call["self"]["object"]
        return fields

    def enter(self, r):
        call = super().enter(r)
        label, around = self.label(call), call["above"]
        subject = {"kind": "call", **label, "stage": call["stage"]}
        if around:
            subject |= {"in" if k == "fn" else "in_of": v for k, v in self.label(around).items()}
        if "grad" in (call.get("ctx") or {}):
            subject["grad"] = "off"
        call["subject"], me = subject, tuple(label.items())
        self.counters.setdefault((me, call["stage"]), [0, False])[0] += 1
        self.in_all[me, call["stage"]] += 1
        self.labels[me] += 1
        is_of_script = not around or around["role"] in FOREIGN
        if is_of_script:
            self.row = me, min(self.row[1] + 1 if self.row[0] == me else 1, LAST_OF_ROW)
        call["row"] = self.row[1] if is_of_script else 0
        if is_of_script:
            self.come(around, call, call["name"])
        self.say_operands(call)
        return call

    def come(self, around, call, name):
        """A call comes, or nothing more does, after the last one at that place."""
        last = around.setdefault("last", []) if around else self.last
        subject = {"kind": "inside", **(self.label(around) if around else {}), "stage": last[1] if last else call["stage"]}
        subject |= {"in": last[0]} if last else {}
        if around or last:
            came, windows = self.pairs.setdefault(tuple(subject.items()), (set(), set()))
            came.add(name)
            windows.add(self.n_windows)
        last[:] = [name, call["stage"]]

    def say_operands(self, call):
        subject, args, me, around = call["subject"], call.get("args"), call.get("self"), call["above"]
        is_of_script = not call["above"] or call["above"]["role"] in FOREIGN
        call["operands"] = (tensors(args) + tensors(me))[:N_TENSORS]
        if args is not None:
            for statement in statements(args, "args", tells_keys=is_of_script):
                self.say(subject, *statement)
            self.say_sources(call, args, "args")
        if me is not None:
            for statement in statements(me, "self", has_class=True):
                self.say(subject, *statement)
            self.say_sources(call, me, "self")
        if call["operands"]:
            self.say(subject, None, "autocast", "autocast" in (call.get("ctx") or {}))
        if call["role"] in ("step", "zero_grad"):
            self.say(subject, None, "owned", len(call["params"]))
        if call["role"] == "step":
            self.say(subject, None, "uncleared", bool(call.get("uncleared")))
        if is_of_script or around["role"] == "data":
            self.say_by_maker(call, args)
        if is_of_script:
            self.flow(call, len(tensors(args)))

    def say_by_maker(self, call, args):
        """Numbers, texts and truth values once more, and what made the other tensors, by what made the first operand."""
        n_args = len(tensors(args))
        first = n_args if n_args < len(call["operands"]) else 0
        if not isinstance(args, dict) or first >= min(len(call["operands"]), N_SOURCES):
            return
        subject = call["subject"] | {"by": self.source(call["operands"][first])}
        for key, item in args.items():
            place = call["operands"].index(item["id"]) if is_tensor(item) and item.get("id") in call["operands"] else N_SOURCES
            if place < N_SOURCES and place != first:
                self.say(subject, f"args.{key}", "source", self.source(item["id"]))
            for path, value in scalars(item, f"args.{key}"):
                self.say(subject, path, "value", value)

    def source(self, serial):
        variable = self.variables.get(serial)
        return self.made.get(serial) or (variable["kind"] if variable else "outside")

    def flow(self, call, n_args):
        """Which operand comes from which call, of calls in a row from which, and as which of its results."""
        for i, serial in enumerate(call["operands"][:N_SOURCES]):
            row, result = self.which.get(serial, (0, 0))
            words = [f"result {result}"] * (result > 0) + [f"number {row}"] * (row > 1)
            subject = {"kind": "flow", **self.label(call), "stage": call["stage"], "name": str(i + 1) if i < n_args else "self",
                       "in": self.source(serial)} | ({"in_of": " of ".join(words)} if words else {})
            key = tuple(subject.items())
            self.flows.setdefault(key, [0, False])[0] += 1
            self.all_flows[key] += 1

    def say_sources(self, call, v, path):
        if is_tensor(v):
            serial = v.get("id")
            if serial in call["operands"][:N_SOURCES]:
                self.say(call["subject"], path, "source", self.source(serial))
        elif isinstance(v, list):
            for i, item in enumerate(v if len(v) <= LONGEST else ()):
                self.say_sources(call, item, f"{path}[{i}]")
        elif isinstance(v, dict) and not is_object(v):
            for key, item in (v["dict"] if list(v) == ["dict"] else v).items():
                self.say_sources(call, item, f"{path}.{key}")

    def leave(self, r):
        call = super().leave(r)
        if call["raised"]:
            return call
        if call.get("last"):
            self.come(call, call, "nothing")
        if "value" in r:
            for statement in statements(r["value"], "value"):
                self.say(call["subject"], *statement)
        if any(n >= MIN_EQUAL for n in sizes(r.get("value"))[:N_TENSORS]):
            self.say(call["subject"], "value", "equals", ",".join(r.get("same") or ()))
        if r.get("finite") is not None:
            self.say(call["subject"], "value", "finite", r["finite"])
        for i, serial in enumerate(tensors(r.get("value"))[:N_TENSORS]):
            self.made[serial], self.which[serial] = call["name"], (call["row"], min(i, LAST_RESULT))
        return call

    def window(self):
        if not self.has_step:
            return
        for (label, stage), counter in self.counters.items():
            n, is_known = counter
            if not is_known:
                self.say_absent(label, stage)
            subject = {"kind": "window", **dict(label), "stage": stage}
            self.say(subject, None, "count", n)
            self.say(subject, None, "count_later" if self.n_windows else "count_first", n)
            if n:
                self.say(subject, None, "count_where", n)
            counter[:] = 0, True
        for key, counter in self.flows.items():
            n, is_known = counter
            if not is_known:
                self.say_never(key)
            self.say(dict(key), None, "flows", n)
            if self.n_windows:
                self.say(dict(key), None, "flows_later", n)
            if n:
                self.say(dict(key), None, "flows_where", n)
            counter[:] = 0, True
        self.n_windows += 1

    def say_absent(self, label, stage):
        subject = {"kind": "window", **dict(label), "stage": stage}
        for i in range(self.n_windows):
            self.say(subject, None, "count", 0)
            self.say(subject, None, "count_later" if i else "count_first", 0)

    def say_never(self, key):
        for i in range(self.n_windows):
            self.say(dict(key), None, "flows", 0)
            if i:
                self.say(dict(key), None, "flows_later", 0)

    def finish(self):
        if not any(r["type"] == "end" and not r["exit"] for r in self.records):
            return
        for label, n in self.labels.items():
            self.say({"kind": "run", **dict(label)}, None, "present", (n, self.n_windows))
        for label, stage in self.in_all:
            self.say({"kind": "run", **dict(label), "stage": stage}, None, "present", (self.in_all[label, stage], self.n_windows))
        for key, (came, windows) in self.pairs.items():
            for _ in windows:
                self.say(dict(key), None, "next_first" if dict(key)["stage"] == "init" else "next",
                         sorted(came) if len(came) <= MAX_NEXT else math.nan)
        for key, n in self.all_flows.items():
            if n >= MIN_MET and "number " not in dict(key).get("in_of", ""):
                self.say(dict(key), None, "flows_ever", True)


def of_run(folder):
    """All that a run says: {(subject, path, attribute): [values]}."""
    processes, said = [], collections.defaultdict(list)
    for file in sorted(pathlib.Path(folder).glob("trace_*")):
        p = Facts(file)
        p.run(lambda process, what, it: process.window() if what == "window" else None)
        processes.append(p)
    for p in processes:
        if p.is_worker:
            continue
        p.finish()
        for other in processes:  # what it never called, and others of the run did
            for label, stage in other.counters:
                if (label, stage) not in p.counters and not other.is_worker:
                    p.say_absent(label, stage)
            for key in () if other.is_worker else other.flows:
                if key not in p.flows:
                    p.say_never(key)
        for subject, path, attribute, value in p.said:
            said[subject, path, attribute].append(value)
    return said


def by_chance(values):
    """It is seldom, and runs of one length differ."""
    differ = any(steps == others and n != m for n, steps in values for m, others in values)
    return differ and any(n < MIN_MET for n, _ in values)


def needed(attribute, value):
    """Occasions until the value is no chance. A count n is chance once in n occasions."""
    of_count = math.log2(value) if attribute in COUNTS and value > 1 else 0
    return math.ceil(BITS_OF_CLAIM / max(BITS.get(attribute, BITS_OF_CLAIM), of_count))


def infer(folders):
    """{(subject, path, attribute): (value, occasions)} of what was the same throughout."""
    runs, found = [of_run(folder) for folder in folders], {}
    for key in set().union(*runs):
        values = [v for run in runs for v in run.get(key, ())]
        if key[2] == "present":
            if by_chance(values):
                continue
            values = [True for _ in values]
        is_one = all(isinstance(v, bool) == isinstance(values[0], bool) and v == values[0] for v in values)
        if is_one and all(key in run for run in runs) and len(values) >= needed(key[2], values[0]) and values[0] is not IDLE.get(key[2], IDLE):
            found[key] = values[0], len(values)
    return found
