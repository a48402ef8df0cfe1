# SPDX-License-Identifier: Apache-2.0
"""Records of one file as calls with what is inside them, variables, settings and windows; and situations."""
import json

from .terms import FOREIGN, MEMBERS, NESTED, OUTER, SUBJECTS, text, value_class


class Process:
    """Replays one file. `state` belongs to the source that is asked; `shared`, too, for all processes of the run."""

    def __init__(self, file):
        records = [json.loads(line) for line in file.read_text().splitlines()]
        self.head, self.records, self.file = records[0], records[1:], file.name
        self.world, self.is_worker = self.head.get("world_size", 1), self.head["role"] == "worker"
        times = [r["t"] for r in self.records if "t" in r]
        self.began, self.lived_until = (self.head["unix_ns"] + f(times, default=0) for f in (min, max))
        self.roles, self.defaults, self.open, self.variables, self.settings = {}, {}, {}, {}, {}
        self.batches, self.window_number, self.stage_after = {}, 0, None
        self.state, self.shared, self.hungry = None, None, {}
        self.members, self.early = [], []
        self.phases, self.has_run = set(), False
        self.new_window()

    def new_window(self, why=None, stage=None):
        """Forwards that no step has used, and what follows them, go to the window of the next step."""
        if self.members and not (self.has_step and why not in ("zero_grad", "step")) and (self.has_step or stage == "training"):
            unused = [i for i, c in enumerate(self.members) if c["root"]
                      and not any(d["role"] == "step" for d in self.members[i:])]
            self.early += self.members[unused[0]:] if unused else []
        self.phases, self.members = self.phases & {"no graph"}, []
        self.window_number += 1
        self.has_step = self.has_autocast = self.is_pause = False
        self.grads = "none"

    def share(self, serials, is_so):
        n = sum(map(is_so, (self.variables[s] for s in serials)))
        return "none" if n == 0 else "all" if n == len(serials) else "some"

    def enter(self, r):
        parent = self.open.get(r.get("parent"))
        role = self.roles.get(r["fn"], "function")
        is_root = r.get("self", {}).get("role") == "root"
        call = dict(r, role=role, root=is_root, name="root.forward" if is_root else r["fn"], above=parent, inside=set(),
                    after=set(self.phases), window=self.window_number, observed=bool(self.variables), params=r.get("params", []))
        if call["params"]:
            call["grads"] = self.share(call["params"], lambda v: v["grad"] != "null")
            call["frozen"] = self.share(call["params"], lambda v: not v["requires_grad"])
        if role == "step":
            for group in self.settings.values():
                group["used"] = dict(group["now"])
            call["kept"] = {s: self.is_kept(self.variables[s], call) for s in call["params"]}
        self.open[r["id"]] = call
        self.end_evaluation(call)
        self.look_at_training(call)
        self.has_autocast |= "autocast" in r.get("ctx", {})
        if role == "step":
            grads = call.get("grads", "none")
            self.grads = grads if not self.has_step or grads == self.grads else "some"
        elif self.is_member(call):
            self.members.append(call)
        return call

    def end_evaluation(self, call):
        """Behind a function that asked models twice in evaluation, or set one to it and asked, is training, until a model is asked or set."""
        if self.is_worker or call.get("th", 0) or call["stage"] == "checkpointing":
            return
        if call["stage"] != "evaluation" or call["root"] or call["role"] == "mode":
            self.stage_after = None
        if call["stage"] != "evaluation":
            return
        call["stage"] = self.stage_after or call["stage"]
        asking = [c for c in self.open.values() if c["role"] == "own" and c["stage"] != "evaluation"]
        if (call["root"] or call["role"] == "mode") and asking:
            before = asking[0].get("asked", 0)
            asking[0]["asked"] = before + (call["root"] or not before)

    def look_at_training(self, call):
        """A forward without gradients on the batch just trained on, in training mode, and what is in it, is training."""
        is_look = call["above"] and call["above"]["is_look"]
        batch = next((v["id"] for v in (call.get("args") or {}).values() if isinstance(v, dict) and "tensor" in v), None)
        if call["root"] and call["self"]["attrs"]["training"] and batch is not None:
            last, before = self.batches.get(call["self"]["id"], (None, None))
            if "grad" in (call.get("ctx") or {}):
                is_look = is_look or (batch == last and before is not None)
            elif batch != last:
                self.batches[call["self"]["id"]] = batch, last
        call["is_look"] = is_look
        if is_look:
            call["stage"] = "training"

    def is_kept(self, v, call):
        """Is its data what the step before left? None where that step is not known."""
        if "data" not in v or call["step"] - v.get("left_step", -9) > 1:
            return None
        return v["data"] == v["left"]

    def is_member(self, call):
        around = list(self.around(call["above"]))
        if any((c["role"], c["root"]) == (call["role"], call["root"]) for c in around):
            return False
        is_top = all(c["role"] in OUTER for c in around)
        if not call["root"] and call["role"] not in MEMBERS:
            return False
        return (call["root"] or call["role"] in NESTED) if not is_top else call.get("by") != "torch"

    def leave(self, r):
        call = self.open[r["id"]]
        call.update(raised=r["type"] == "raise", end=r, observed=bool(self.variables))
        if call["role"] == "own" and call.get("asked", 0) > 1:
            self.stage_after = "training"
        if call["role"] == "step":
            for v in (self.variables[s] for s in call["params"]):
                call.setdefault("used before", {})[v["serial"]] = v["grad_used"]
                v.update(left=v.get("data"), left_step=call["step"], stepped=call["id"], grad_used=v["grad_made"])
        if not call["raised"]:
            if call["role"] == "step":
                call["is_pause"] = self.is_a_pause(call)
                call["has_model"] = not call["params"] or any(self.variables[s].get("root") is not None for s in call["params"])
                if self.is_member(call):
                    self.members.append(call)
                    self.is_pause = call["is_pause"] and (self.is_pause or not self.has_step)
                    self.has_step = True
                if not self.has_run:
                    call["is_pause"] |= not self.has_gradient(call)
            self.has_run |= call["root"] or call["role"] == "backward"
            if call["root"]:
                is_without = {"grad", "inference"} & set(call.get("ctx") or {})
                self.phases = self.phases | {"no graph"} if is_without else self.phases - {"no graph"} | {"graph"}
            self.phases |= {"forward"} if call["root"] else {call["role"]} & {"backward", "unscale"}
            if call["role"] == "step":
                self.phases -= {"backward"}
        return call

    def is_a_pause(self, step):
        """It has no gradient, where its optimizer had some before; for three steps in a row at most."""
        hungry, me = self.hungry, step["self"]["id"]
        if self.has_gradient(step):
            hungry[me] = 0
        elif me in hungry:
            hungry[me] += 1
        return 0 < hungry.get(me, 0) < 3

    def has_gradient(self, step):
        return "backward" in self.phases or (step.get("grads", "none") != "none" and self.has_new_gradient(step))

    def has_new_gradient(self, step):
        """A closure may leave the gradients of a step before, or clear them, and make none."""
        return (step.get("args") or {}).get("closure") is None or any(
            v["grad"] not in ("null", "zero") and v["grad_made"] > step["used before"][v["serial"]]
            for v in (self.variables[s] for s in step["params"]))

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

    def look_at_settings(self, r, cause):
        group = self.settings.setdefault(r["var"], {"serial": r["var"], "now": {}, "used": {}, "idle": False})
        group.update({k: r[k] for k in ("name", "kind") if k in r})
        for attr, value in r["attrs"].items():
            if attr == "idle":
                group["idle"] = value
                continue
            if cause and attr in group["now"] and group["now"][attr] != value:
                cause["inside"].add(("set_idle" if group["idle"] else "set", group["kind"]))
            group["now"][attr] = value

    def step_around(self, serial):
        """The step that is open and owns the variable: what is seen before it ends was made in it."""
        innermost = next(reversed(self.open.values()), None)
        return next((c for c in self.around(innermost) if c["role"] == "step" and serial in c["params"]), None)

    def look(self, r, observe):
        cause = self.open.get(r.get("cause")) or self.step_around(r["var"])
        if r.get("kind") in ("param_group", "scaler") or r["var"] in self.settings:
            self.look_at_settings(r, cause)
            return
        is_new = r["var"] not in self.variables
        v = self.variables.setdefault(r["var"], {"serial": r["var"], "data_cause": -1, "grad_cause": -1, "grad_made": -1,
                                                 "stepped": -1, "grad_used": -1, "is_zero_computed": False, "framework": {},
                                                 "first": r["attrs"].get("data"),
                                                 "first_shape": r["attrs"].get("shape")})
        v.update({k: r[k] for k in ("name", "kind", "root") if k in r})
        if 0 in r["attrs"].get("shape", v.get("shape", [])):  # no element, no content
            r["attrs"].pop("data", None)
            v.pop("data", None)
        known = {"data", "grad", "dtype", "shape", "device", "layout", "requires_grad", "is_leaf", "owner", "training",
                 "sharded", "part"}
        has_other_data = "data" in v and r["attrs"].get("data", v["data"]) != v["data"]
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
                v["is_zero_computed"] = value == "zero" and any(c["role"] == "backward" for c in self.around(cause))
                if v["grad_before"] in ("null", "zero") and value not in ("null", "zero"):
                    v["grad_made"] = v["grad_cause"]
            if is_new or before == value or attr == "data" and not has_other_data:
                continue
            if attr == "data":
                v["data_cause"] = cause["id"] if cause else -1
            change = {"data": ("-", "changed"), "dtype": ("-", value), "requires_grad": (text(before), text(value)),
                      "grad": tuple("clear" if g in ("null", "zero") else "non_zero" for g in (before, value))}.get(attr)
            if attr == "data" and v["kind"] == "Parameter" and not v.get("requires_grad") \
                    and any(c["role"] == "forward" for c in self.around(cause)):
                continue  # an average that a forward lets follow
            if cause and change and change[0] != change[1]:
                cause["inside"].add(("change", v["kind"], attr, *change))
        if has_other_data and not self.is_worker:
            observe(self, "change", {"variable": v, "stage": r["stage"],
                                     "call": cause or next(reversed(self.open.values()), None)})

    def run(self, observe):
        """
        observe(process, what, it) at every "call" that returned or raised, every "change" of content, and the end of
        every "window"; of a worker there are only "worker call"s.
        """
        last = None
        for r in self.records:
            kind = r["type"]
            if kind == "api":
                self.roles[r["fn"]], self.defaults[r["fn"]] = r["role"], r.get("defaults", {})
            elif kind == "call":
                self.enter(r)
            elif kind in ("return", "raise"):
                call = self.leave(r)
                observe(self, "worker call" if self.is_worker else "call", call)
                self.close(call)
            elif kind == "var":
                self.look(r, observe)
            elif kind == "step" and r["why"] == "end":
                last = r
            elif kind == "step" or (kind == "end" and r["exit"] == 0 and last):
                r = r if kind == "step" else last
                if self.has_step:
                    self.members, self.early = self.early + self.members, []
                observe(self, "window", r)
                self.new_window(r["why"], r["stage"])


def is_by_torch(call):
    return not call["above"] and call.get("by") == "torch"


def is_by_the_user(p, call):
    return call.get("by", "user") == "user" and not any(c["role"] in ("library", "data") for c in p.around(call["above"]))


def is_training_forward(call):
    return call["root"] and "grad" not in (call.get("ctx") or {}) and call["self"]["attrs"]["training"]


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
    if "inference" in ctx:
        s["ctx.inference"] = "true"
    if "object" in me:
        if me["object"].split(".")[0] in p.head["packages"]:
            s["self.class"] = text(me["object"])
        if "training" in me["attrs"]:
            s["self.training"] = text(me["attrs"]["training"])
        if call["role"] == "layer":
            s.update(classes("self.", me["attrs"]))
        if call["role"] in ("step", "zero_grad"):
            s["self.lr"] = value_class(me["attrs"]["lr"])
            if call["params"]:
                s.update({"self.grads": text(call["grads"]), "self.frozen": text(call["frozen"])})
    while around and around["role"] not in ("forward", "layer"):
        around = around["above"]
    if around:
        s["owner.training"] = text(around["self"]["attrs"]["training"])
    if with_args and call["role"] not in FOREIGN:
        s.update(classes("args.", call.get("args") or {}))
    return s


def classes(prefix, values):
    return {prefix + k: value_class(v) for k, v in values.items() if value_class(v)}


def situation_of_variable(v, grad=None):
    s = {"v.requires_grad": text(v["requires_grad"]), "v.dtype": text(v["dtype"]), "v.owner": text(v["owner"]),
         **v["framework"]}
    if grad:
        s.update({"v.matrix": text(len(v["shape"]) >= 2), "v.is_leaf": text(v["is_leaf"]), "v.grad": text(grad), "v.owner.training": text(v["training"])})
    return s
