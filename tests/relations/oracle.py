"""Inference by brute force, from docs/relations.md: lists of examples, every conjunction tried, nothing compressed.

For traces of trace_writer.py; slow, and without pruning (--keep-implied). Covers EventContain some, none and each,
APISequence window, between and run, Consistent peer and steady, APIArg constant, APIOutput finite.
"""
import collections
import itertools
import json
import pathlib

SUBJECTS = {"backward", "step", "zero_grad", "scheduler", "scaler", "unscale", "clip", "collective", "load", "library"}
MEMBERS = SUBJECTS - {"load"}
NESTED = {"backward", "step", "zero_grad", "clip"}
FOREIGN = {"forward", "library", "method"}
TINY = 1.2e-7

Example = collections.namedtuple("Example", "pipeline key situation outcome")
HELD, BROKE, UNDECIDED = "held", "broke", None


def text(value):
    return json.dumps(value, separators=(",", ":"))


def number_class(x):
    return "zero" if x == 0 else "tiny" if abs(x) < TINY else "positive" if x > 0 else "negative"


def value_class(v):
    """As JSON text, or None for what is no scalar."""
    if v is None or isinstance(v, (bool, str)):
        return text(v)
    return text(number_class(v)) if isinstance(v, (int, float)) else None


# ---- replay: calls with what is inside them, variables, windows


class Process:
    """Replays one file; `examples` of its source are appended by the functions below."""

    def __init__(self, file):
        records = [json.loads(line) for line in file.read_text().splitlines()]
        self.head, self.records = records[0], records[1:]
        self.world = self.head.get("world_size", 1)
        self.roles, self.open, self.variables = {}, {}, {}
        self.state = collections.defaultdict(dict)
        self.members, self.early = [], []
        self.new_window()

    def new_window(self, why=None, stage=None):
        """Forwards that no step has used, and what follows them, go to the window of the next step."""
        if self.members and not (self.has_step and why not in ("zero_grad", "step")) and (self.has_step or stage == "training"):
            unused = [i for i, c in enumerate(self.members) if c["root"]
                      and not any(d["role"] == "step" for d in self.members[i:])]
            self.early += self.members[unused[0]:] if unused else []
        self.phases, self.members = set(), []
        self.has_step = self.has_autocast = False
        self.grads = "none"

    def share(self, serials, is_so):
        n = sum(map(is_so, (self.variables[s] for s in serials)))
        return "none" if n == 0 else "all" if n == len(serials) else "some"

    def enter(self, r):
        parent = self.open.get(r.get("parent"))
        role = self.roles.get(r["fn"], "function")
        is_root = r.get("self", {}).get("role") == "root"
        call = dict(r, role=role, root=is_root, name="root.forward" if is_root else r["fn"], above=parent, inside=set(),
                    after=set(self.phases), looked=bool(self.variables), params=r.get("params", []))
        if call["params"]:
            call["grads"] = self.share(call["params"], lambda v: v["grad"] != "null")
            call["frozen"] = self.share(call["params"], lambda v: not v["requires_grad"])
        if role == "step":
            call["kept"] = {s: self.is_kept(self.variables[s], call) for s in call["params"]}
        self.open[r["id"]] = call
        self.has_autocast |= "autocast" in r.get("ctx", {})
        if role == "step":
            grads = call.get("grads", "none")
            self.grads = grads if not self.has_step or grads == self.grads else "some"
        elif self.is_member(call):
            self.members.append(call)
        return call

    def is_kept(self, v, call):
        """Is its data what the step before left? None where that step is not known."""
        if "data" not in v or call["step"] - v.get("left_step", -9) > 1:
            return None
        return v["data"] == v["left"]

    def is_member(self, call):
        around = call["above"]
        is_top = around is None
        while around:
            if (around["role"], around["root"]) == (call["role"], call["root"]):
                return False
            around = around["above"]
        if not call["root"] and call["role"] not in MEMBERS:
            return False
        return (call["root"] or call["role"] in NESTED) if not is_top else call.get("by") != "torch"

    def leave(self, r):
        call = self.open[r["id"]]
        call.update(raised=r["type"] == "raise", end=r, looked=bool(self.variables))
        if call["role"] == "step":
            for v in (self.variables[s] for s in call["params"]):
                v.update(left=v.get("data"), left_step=call["step"])
        if not call["raised"]:
            if call["role"] == "step":
                if self.is_member(call):
                    self.members.append(call)
                    self.has_step = True
            self.phases |= {"forward"} if call["root"] else {call["role"]} & {"backward", "unscale"}
            if call["role"] == "step":
                self.phases -= {"backward"}
        return call

    def close(self, call):
        """What happened inside is known; hand it on."""
        del self.open[call["id"]]
        if call["above"]:
            if not call["raised"] and (call["root"] or call["role"] in SUBJECTS):
                call["above"]["inside"].add(("call", call["role"], call["name"]))
            call["above"]["inside"] |= call["inside"]

    def around(self, call):
        while call:
            yield call
            call = call["above"]

    def look(self, r):
        is_new = r["var"] not in self.variables
        v = self.variables.setdefault(r["var"], {"serial": r["var"], "data_cause": -1, "grad_cause": -1, "framework": {}})
        v.update({k: r[k] for k in ("name", "kind", "root") if k in r})
        cause = self.open.get(r.get("cause"))
        known = {"data", "grad", "dtype", "shape", "device", "layout", "requires_grad", "is_leaf", "owner", "training"}
        for attr, value in r["attrs"].items():
            before = v.get(attr)
            if attr not in known:
                v["framework"][f"v.attr.{attr}"] = text(value)
                continue
            v[attr] = value
            if attr == "data" and any(c["role"] in ("load", "init") for c in self.around(cause)):
                v["left"] = value
            if attr == "grad":
                v["grad_before"], v["grad_cause"] = before or "null", cause["id"] if cause else -1
            if is_new or before == value:
                continue
            if attr == "data":
                v["data_cause"] = cause["id"] if cause else -1
            change = {"data": ("-", "changed"), "dtype": ("-", value), "requires_grad": (text(before), text(value)),
                      "grad": tuple("clear" if g in ("null", "zero") else "nan_or_inf" if g == "nan_or_inf" else "non_zero"
                                    for g in (before, value))}.get(attr)
            if cause and change and change[0] != change[1]:
                cause["inside"].add(("change", v["kind"], attr, *change))

    def run(self, observe):
        """observe(process, "call" or "window", call or record) at every return and end of a window."""
        last = None
        for r in self.records:
            kind = r["type"]
            if kind == "api":
                self.roles[r["fn"]] = r["role"]
            elif kind == "call":
                self.enter(r)
            elif kind in ("return", "raise"):
                call = self.leave(r)
                observe(self, "call", call)
                self.close(call)
            elif kind == "var":
                self.look(r)
            elif kind == "step" and r["why"] == "end":
                last = r
            elif kind == "step" or (kind == "end" and r["exit"] == 0 and last):
                r = r if kind == "step" else last
                if self.has_step:
                    self.members, self.early = self.early + self.members, []
                observe(self, "window", r)
                self.new_window(r["why"], r["stage"])


# ---- situations


def situation_of(p, call, with_args):
    ctx, me, around = call.get("ctx") or {}, call.get("self") or {}, call["above"]
    s = {"stage": text(call["stage"]), "ctx.grad": text("grad" not in ctx), "world": text("many" if p.world > 1 else "one"),
         "ctx.autocast": text(next(iter(ctx.get("autocast", {}).values()), None)),
         "in": text(around["name"]) if around else '"top"'}
    if not around or call["root"] or call["role"] in SUBJECTS:
        inner = {role for what, role, *_ in call["inside"] if what == "call"}
        after = call["after"] | ({"backward"} if call["role"] == "step" and "backward" in inner else set())
        s.update({f"after.{phase}": text(phase in after) for phase in ("forward", "backward", "unscale")})
    if call["role"] == "step":
        s["closure"] = text((call.get("args") or {}).get("closure") is not None)
    if "object" in me:
        if me["object"].split(".")[0] in p.head["packages"]:
            s["self.class"] = text(me["object"])
        if "training" in me["attrs"]:
            s["self.training"] = text(me["attrs"]["training"])
        if call["role"] in ("step", "zero_grad"):
            s["self.lr"] = value_class(me["attrs"]["lr"])
            if call["params"]:
                s.update({"self.grads": text(call["grads"]), "self.frozen": text(call["frozen"])})
    while around and around["role"] not in ("forward", "layer"):
        around = around["above"]
    if around:
        s["owner.training"] = text(around["self"]["attrs"]["training"])
    if with_args and call["role"] not in FOREIGN:
        s.update({f"args.{k}": value_class(v) for k, v in (call.get("args") or {}).items() if value_class(v)})
    return s


def situation_of_variable(v, grad=None):
    s = {"v.requires_grad": text(v["requires_grad"]), "v.dtype": text(v["dtype"]), "v.owner": text(v["owner"]),
         **v["framework"]}
    if grad:
        s.update({"v.matrix": text(len(v["shape"]) >= 2), "v.is_leaf": text(v["is_leaf"]), "v.grad": text(grad), "v.owner.training": text(v["training"])})
    return s


# ---- examples: each yields (key, situation, outcome)


def is_subject(call):
    return not call["raised"] and (call["root"] or call["role"] in SUBJECTS)


def had_gradient(v, call):
    grad = v["grad_before"] if v["grad_cause"] >= call["id"] else v["grad"]
    return v["kind"] == "Parameter" and v["requires_grad"] and grad not in ("null", "zero")


def has_no_rate(call):
    me = call.get("self") or {}
    return call["role"] in ("step", "zero_grad") and number_class(me["attrs"]["lr"]) in ("zero", "tiny")


def contents(p, what, call):
    if what == "call" and is_subject(call):
        inside = {x for x in call["inside"] if not call["root"] or x[0] == "change"}
        marks = {"looked"} | ({"computes"} if call["root"] or call["role"] == "backward" else set())
        owned_by_it = [p.variables[s] for s in call["params"]] or p.variables.values()
        marks.add("laden" if any(had_gradient(v, call) for v in owned_by_it) else "fresh")
        idle = {"idle"} if has_no_rate(call) else set()
        yield call["name"], situation_of(p, call, True), frozenset(inside | (marks if call["looked"] else set()) | idle)


def kind_of(p, v):
    """Buffers of a module are apart when it has parameters and none of them is trained."""
    module = v["name"].rpartition(".")[0]
    beside = [w["requires_grad"] for w in p.variables.values()
              if w["kind"] == "Parameter" and w["root"] == v["root"] and w["name"].rpartition(".")[0] == module]
    return "frozen_buffer" if v["kind"] == "buffer" and beside and not any(beside) else v["kind"]


def owned(p, what, call):
    if what != "call" or not is_subject(call) or not (call["role"] == "step" or call["root"]):
        return
    if call["role"] == "step":
        variables = [v for v in (p.variables[s] for s in call["params"]) if v["requires_grad"]]
    else:
        variables = [v for v in p.variables.values() if v["kind"] == "buffer" and v["root"] == call["self"]["id"]]
    for v in variables:
        where = situation_of(p, call, False)
        grad = v["grad_before"] if v["grad_cause"] == call["id"] else v["grad"]
        changed = v["data_cause"] >= call["id"]
        who = (call["name"], call["self"]["id"], v["serial"])
        streak = p.state["streak"][who] = 0 if changed else p.state["streak"].get(who, 0) + 1
        is_computed_zero = grad == v["grad"] == "zero" and v["grad_before"] == "null"
        is_small = call["role"] == "step" and (grad == "tiny" or is_computed_zero or has_no_rate(call))
        outcome = {("data", "changed")} if changed else {("data", "unchanged")} if streak >= 3 and not is_small else set()
        if call["role"] == "step":
            outcome.add(("cleared", text(v["serial"] not in call.get("uncleared", []))))
            if call["kept"][v["serial"]] is not None:
                outcome.add(("kept", text(call["kept"][v["serial"]])))
        if outcome:
            yield (call["name"], kind_of(p, v)), {**where, **situation_of_variable(v, grad)}, frozenset(outcome)


def member_name(call):
    if not call["root"]:
        return call["role"], call["name"]
    mode = "train" if call["self"]["attrs"]["training"] else "eval"
    grad = "no_grad" if "grad" in (call.get("ctx") or {}) else "grad"
    return call["role"], f"root.forward[{mode},{grad}]"


def situation_of_window(p, r):
    return {"stage": text(r["stage"]), "world": text("many" if p.world > 1 else "one"),
            "ctx.autocast": text(p.has_autocast), "self.grads": text(p.grads)}


OPTIONAL = {"scheduler", "scaler", "unscale", "library"}


def class_of(fn):
    return fn.rpartition(".")[0]


def window(p, what, r):
    if what == "call" and r["role"] in OPTIONAL:
        p.state["known"][class_of(r["fn"])] = True
    if what == "window" and p.has_step:
        known = tuple(("known", c) for c in sorted(p.state["known"]))
        begin = next((i for i, c in enumerate(p.members) if c["role"] not in ("scheduler", "zero_grad")), len(p.members)) if r["step"] else 0
        late = [c for c in p.members[:begin] if c["role"] == "scheduler"]  # they close the step before
        members = [c for c in p.members if not any(c is x for x in late)] + late
        yield "step window", situation_of_window(p, r), \
            tuple(member_name(c) for c in members if not c.get("raised")) + known


RULES = {"zero_grad": ("backward", "step"), "clip": ("backward", "unscale")}


def between(p, what, r):
    if what != "window" or not p.has_step:
        return
    loop = [c["role"] for c in p.members if not c.get("raised") and all(a["role"] != "step" for a in p.around(c["above"]))]
    for role, (begin, end) in RULES.items():
        last, is_between = None, False
        for x in loop:
            is_between |= x == role and last == begin
            last = x if x in (begin, end) else last
        if role in loop and end in loop:
            yield role, situation_of_window(p, r), is_between


def run_course(p, what, r):
    """The writer's calls are all the script's own."""
    state = p.state["run"]
    if what == "call" and not r["raised"] and "loop" not in state and (r["above"] or r.get("by") != "torch"):
        if r["root"] or r["role"] in ("backward", "step"):
            state["loop"] = set(state)
        elif r["role"] in MEMBERS - {"zero_grad"}:
            state[r["name"]] = True
    if what == "window" and p.has_step and "loop" in state and "told" not in state:
        state["told"] = True
        yield "root.forward", {"world": text("many" if p.world > 1 else "one")}, frozenset(state["loop"])


def peer(p, what, _):
    if what == "window" and p.has_step:
        groups = collections.defaultdict(set)
        for v in p.variables.values():
            if "float" in v["dtype"]:
                groups[v["root"], v["kind"]].add(v["dtype"])
        for (_, kind), dtypes in groups.items():
            yield kind, {}, frozenset([("dtype", len(dtypes) == 1)])


def steady(p, what, _):
    if what != "window" or not p.has_step:
        return
    for v in p.variables.values():
        now = {k: v[k] for k in ("data", "dtype", "shape", "requires_grad")}
        before = p.state["steady"].get(v["serial"])
        p.state["steady"][v["serial"]] = now
        if before:
            is_frozen = v["kind"] == "Parameter" and not before["requires_grad"] and not now["requires_grad"]
            attrs = ("dtype", "shape") + (("data",) if is_frozen else ())
            yield v["kind"], situation_of_variable(v), frozenset((a, before[a] == now[a]) for a in attrs)


def operands(p, what, call):
    if what != "call" or call["raised"]:
        return
    said, args = {}, call.get("args") or {}
    first = next((v for v in args.values() if isinstance(v, dict) and "tensor" in v), None)
    for name, v in args.items():
        if isinstance(v, bool):
            said[f"args.{name}"] = text(v)
        elif isinstance(v, int) and name == "dim" and first:
            said[f"args.{name}"] = str(v if v < 0 else v - len(first["shape"]))
        elif isinstance(v, (int, float)):
            said[f"args.{name}"] = text("zero" if v == 0 else "not_zero")
    if call["root"]:
        training = call["self"]["attrs"]["training"]
        said["self.training"] = text("left" if training and "grad" in (call.get("ctx") or {}) else training)
    if call["end"].get("finite") is not None:
        said["self" if call["role"] == "backward" else "value"] = text("finite" if call["end"]["finite"] else "not_finite")
    yield call["name"], situation_of(p, call, True), frozenset(said.items())


# ---- hypotheses: params as in the file, and what decides about one outcome


def role_call(role, fn):
    return {"call": fn, "role": role}


MARKS = {"looked", "computes", "fresh", "laden", "idle"}


def was_due(change, o):
    """A change that did not happen: could it have?"""
    _, _, attr, before, after = change
    if attr == "grad" and "clear" in (before, after):
        return "looked" in o and ("fresh" if before == "clear" else "laden") in o
    return "looked" in o and not (attr == "data" and "idle" in o)


def some_claims(key, outcomes):
    for x in set().union(*outcomes) - MARKS:
        if x[:2] == ("change", "buffer"):
            continue
        if x[0] == "call":
            param = role_call(x[1], x[2])
        else:
            param = {"change": x[1], "attr": x[2], **({} if x[3] == "-" else {"from": x[3]}), "to": x[4]}
        yield [{"call": key}, param], lambda o, x=x: \
            HELD if x in o else BROKE if x[0] == "call" or was_due(x, o) else UNDECIDED


def none_claims(key, outcomes):
    change = ("change", "Parameter", "data", "-", "changed")
    if "computes" not in set().union(*outcomes):
        return
    yield [{"call": key}, {"change": "Parameter", "attr": "data", "to": "changed"}], \
        lambda o: BROKE if change in o else HELD if was_due(change, o) else UNDECIDED


def each_claims(key, outcomes):
    met = set().union(*outcomes)
    for kind, attr, to, other in (("Parameter", "data", "changed", "unchanged"), ("buffer", "data", "unchanged", "changed"),
                                  ("frozen_buffer", "data", "unchanged", "changed"), ("Parameter", "cleared", "true", "false"),
                                  ("Parameter", "kept", "true", "false")):
        if kind == key[1] and (attr, to) in met:
            word = "change" if attr == "data" else "variable"
            yield [{"call": key[0]}, {word: kind, "attr": attr, "to": to}], lambda o, yes=(attr, to), no=(attr, other): \
                HELD if yes in o else BROKE if no in o else UNDECIDED


def is_before(outcome, a, b):
    last = len(outcome) - 1
    back = outcome[::-1]
    return outcome.index(a) < outcome.index(b) and (
        a[0] == "forward" or last - back.index(a) < last - back.index(b))


def in_order(tokens, given):
    def decide(outcome):
        if any(g and t not in outcome for t, g in zip(tokens, given)):
            return UNDECIDED
        there = [t for t in tokens if t in outcome]
        passed_over = [t for t in tokens if t not in outcome and t[0] in OPTIONAL and ("known", class_of(t[1])) not in outcome]
        if len(there) + len(passed_over) < len(tokens) or not all(is_before(outcome, a, b) for a, b in zip(there, there[1:])):
            return BROKE
        return UNDECIDED if passed_over else HELD
    return decide


def window_claims(_, outcomes):
    members = sorted(t for t in set().union(*map(set, outcomes)) if t[0] not in ("zero_grad", "known"))
    for t in members:
        yield [role_call(*t)], in_order([t], [False])
    for a, b in itertools.permutations(members, 2):
        if not any(a in o and b in o and is_before(o, a, b) for o in outcomes):
            continue
        yield [role_call(*a), role_call(*b)], in_order([a, b], [False, False])
        for t, given in ((b, [False, True]), (a, [True, False])):
            other = a if t == b else b
            if not all(t in o for o in outcomes) and not any(t in o and other not in o for o in outcomes):
                params = [role_call(*x) for x in (a, b)]
                params[given.index(True)]["given"] = True
                yield params, in_order([a, b], given)


def between_claims(key, outcomes):
    yield [role_call(role, "*") for role in (key, *RULES[key])], lambda o: BROKE if o else HELD


def run_claims(key, outcomes):
    for other in set().union(*outcomes):
        yield [{"call": other}, {"call": key}], lambda o, other=other: HELD if other in o else BROKE


def equal_claims(key, outcomes):
    for attr in {a for o in outcomes for a, equal in o if equal}:
        yield [{"variable": key, "attr": attr, "to": "equal"}], \
            lambda o, attr=attr: HELD if (attr, True) in o else BROKE if (attr, False) in o else UNDECIDED


def value_claims(is_wanted):
    def claims(key, outcomes):
        for path, value in set().union(*outcomes):
            if is_wanted(path, value):
                yield [{"call": key}, {"operand": path, "is": json.loads(value)}], lambda o, p=path, v=value: \
                    HELD if (p, v) in o else BROKE if p in dict(o) else UNDECIDED
    return claims


def is_constant(path, value):
    return value not in ('"not_zero"', '"left"') and (path.startswith("args.") or path == "self.training")


def own_fields(params):
    """What explains nothing about these operands: they themselves, and what they are made from."""
    path = params[1]["operand"]
    return {path} | ({"stage", "owner.training", "in", "self.class"} if path == "self.training" else set())


def support(pipelines, examples=3):
    return lambda params: (pipelines, examples)


def window_support(params):
    return (7 if any(p["role"] == "collective" or p.get("given") for p in params) else 4), 3


def constant_support(params):
    operand = params[1]
    return (7 if operand["operand"].startswith("args.") and isinstance(operand["is"], bool) else 4), 3


def is_flag(params):
    """A flag or a zero that one script passes everywhere."""
    return params[1]["operand"].startswith("args.") and params[1]["is"] in (True, False, "zero")


Form = collections.namedtuple("Form", "source claims support hides mode_only is_choice",
                              defaults=(lambda params: set(), False, lambda params: False))
FORMS = {
    "EventContain/some": Form(contents, some_claims, support(2)),
    "EventContain/none": Form(contents, none_claims, support(2)),
    "EventContain/each": Form(owned, each_claims, support(2)),
    "APISequence/window": Form(window, window_claims, window_support),
    "APISequence/between": Form(between, between_claims, support(2)),
    "APISequence/run": Form(run_course, run_claims, support(7, 1)),
    "Consistent/peer": Form(peer, equal_claims, support(2)),
    "Consistent/steady": Form(steady, equal_claims, support(2)),
    "APIArg/constant": Form(operands, value_claims(is_constant), constant_support, own_fields, True, is_flag),
    "APIOutput/finite": Form(operands, value_claims(lambda p, v: v == '"finite"'), support(4), own_fields),
}

# ---- preconditions

ORDER = ["stage", "ctx.autocast", "ctx.inference", "ctx.*", "after.*", "closure", "in", "self.training", "owner.training",
         "world", "self.class", "self.*", "v.kind", "v.requires_grad", "v.attr.*", "v.dtype", "v.owner", "v.*", "args.*"]
OPEN = {"ctx.autocast", "in", "self.class", "v.dtype", "v.owner"}
MODE = {"stage", "ctx.autocast", "ctx.inference", "ctx.*", "self.training", "owner.training"}
CLOSED = {"true", "false", "null"} | {text(w) for w in (
    "zero", "tiny", "positive", "negative", "non_zero", "nan_or_inf", "null", "all", "some", "none", "one", "many",
    "training", "init", "evaluation", "checkpointing")}


def row_of(field):
    return next(i for i, row in enumerate(ORDER) if field == row or (row.endswith("*") and field.startswith(row[:-1])))


def is_closed(field, value):
    row = ORDER[row_of(field)]
    return row == "v.attr.*" or (row not in OPEN and value in CLOSED)


def is_true(clause, situation):
    field, value, negated = clause
    return (situation.get(field) == value) != negated


def clauses(held, broken, witnesses, mode_only):
    """Candidates in the order of fields; held: situation → pipelines."""
    found = set()
    for s in held:
        for field, value in s:
            if is_closed(field, value) or len(set().union(*(p for t, p in held.items() if (field, value) in t))) >= witnesses:
                found.add((field, value, False))
    found |= {(field, value, True) for s in broken for field, value in s if is_closed(field, value)}
    found = [c for c in found if not mode_only or ORDER[row_of(c[0])] in MODE]
    return sorted(found, key=lambda c: (row_of(c[0]), c[0], c[2], c[1]))


def search(held, broken, witnesses, mode_only):
    """The best conjunction that is false on all of broken, or None."""
    candidates, seen = [], set()
    for c in clauses(held, broken, witnesses, mode_only):
        extension = (frozenset(s for s in held if is_true(c, dict(s))), frozenset(s for s in broken if is_true(c, dict(s))))
        if extension not in seen:  # of clauses that are true on the same situations the first stands for all
            seen.add(extension)
            candidates.append((c, *extension))
    best, covered = None, 0
    for n in (1, 2, 3):
        for group in itertools.combinations(candidates, n):
            if frozenset.intersection(*(b for _, _, b in group)):
                continue
            size = len(frozenset.intersection(*(h for _, h, _ in group)))
            if size > covered:
                best, covered = [c for c, _, _ in group], size
        if covered == len(held):
            break
    return best


def deduce(form, params, decide, examples, n_pipelines):
    """(when, held, excluded, pipelines), or None."""
    hidden = form.hides(params)
    min_pipelines, min_examples = form.support(params) if n_pipelines > 1 else (1, form.support(params)[1])
    witnesses = 2 if n_pipelines > 1 else 1
    decided = [(e, decide(e.outcome)) for e in examples]
    decided = [(e, verdict, frozenset((k, v) for k, v in e.situation.items() if k not in hidden))
               for e, verdict in decided if verdict is not UNDECIDED]
    held = [(e.pipeline, s) for e, verdict, s in decided if verdict == HELD]
    broken = {s for e, verdict, s in decided if verdict == BROKE}
    when = []
    if broken:
        where = collections.defaultdict(set)
        for pipeline, s in held:
            if s not in broken:
                where[s].add(pipeline)
        when = search(where, broken, witnesses, form.mode_only) if where else None
        if not when:
            return None
        covered = set().union(*(p for s, p in where.items() if all(is_true(c, dict(s)) for c in when)))
        if len(covered) < 0.8 * len({p for p, _ in held}):
            return None
    if n_pipelines > 1 and len(when) > 1:
        min_pipelines += 2 * (len(when) - 1)
    judged = [(p, s) for p, s in held if all(is_true(c, dict(s)) for c in when)]
    if n_pipelines == 1 and not when and form.is_choice(params):
        return None
    if len(judged) < min_examples or len({p for p, _ in judged}) < min_pipelines:
        return None
    return when, len(judged), len(decided) - len(judged), len({p for p, _ in judged})


def infer(folders, names=FORMS):
    """{(relation, params, when): (held, excluded, pipelines)}, keys as JSON text."""
    found = {}
    for name in names:
        form, by_key = FORMS[name], collections.defaultdict(list)
        for folder in folders:
            for file in sorted(pathlib.Path(folder).glob("trace_*")):
                Process(file).run(lambda *event, f=folder: [by_key[key].append(Example(f, key, s, o))
                                                            for key, s, o in form.source(*event)])
        for key, examples in by_key.items():
            for params, decide in form.claims(key, {e.outcome for e in examples}):
                result = deduce(form, params, decide, examples, len(folders))
                if result:
                    when = [{"field": f, "not" if negated else "is": json.loads(v)} for f, v, negated in result[0]]
                    found[name, text(params), text(when)] = result[1:]
    return found
