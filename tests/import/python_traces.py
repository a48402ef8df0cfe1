# SPDX-License-Identifier: Apache-2.0
"""Writes traces and invariants as the Python TrainCheck does, for tests."""
import json


class Trace:
    """Lines of one folder, by file: API and VAR lines of a thread stand apart."""

    def __init__(self):
        self.files = {}
        self.n_calls = 0

    def add(self, kind, line):
        name = f"trace_{kind}_{line['process_id']}_{line['thread_id']}.log"
        self.files.setdefault(name, []).append(json.dumps(line))

    def call(self, function, begin, end=None, *, pid=1, tid=10, args=(), kwargs=None, returns=None,
             raises=None, step=0, meta=None, obj=None, no_args=False):
        """A call from begin to end; without an end it never returns."""
        self.n_calls += 1
        line = {"func_call_id": f"{self.n_calls:032x}_{begin}", "thread_id": tid, "process_id": pid,
                "meta_vars": {"step": step, **(meta or {})} if step is not None else dict(meta or {}),
                "type": "function_call (pre)", "function": function,
                "is_bound_method": obj is not None, "obj_id": obj}
        pre = dict(line, time=begin)
        if not no_args:
            pre |= {"args": {str(i): a for i, a in enumerate(args)}, "kwargs": kwargs or {}}
        self.add("API", pre)
        if end is None:
            return
        post = dict(line, type="function_call (post)", time=end)
        if raises:
            post |= {"type": "function_call (post) (exception)", "exception": raises, "exception_msg": ""}
        elif returns is not None:
            post["return_values"] = returns
        self.add("API", post)

    def state(self, name, time, attributes, *, pid=1, tid=10, step=0, meta=None,
              var_type="torch.nn.Parameter", mode="update"):
        line = {"var_name": name, "var_type": var_type, "process_id": pid, "thread_id": tid,
                "meta_vars": {"step": step, **(meta or {})}, "type": "state_change",
                "attributes": attributes, "time": time}
        if mode:
            line["mode"] = mode
        self.add("VAR", line)

    def write(self, folder, pack=None):
        folder.mkdir(parents=True, exist_ok=True)
        for name, lines in self.files.items():
            lines = sorted(lines, key=lambda text: json.loads(text)["time"]) if "API" in name else lines
            data = ("\n".join(lines) + "\n").encode()
            path = folder / (name + ".zst" if pack else name)
            path.write_bytes(pack(data) if pack else data)
        return folder


def tensor(**attributes):
    return {"torch.FloatTensor": {"dtype": "torch.float32", "shape": [2, 3], **attributes}}


def api(name, **more):
    return {"param_type": "APIParam", "api_full_name": name, **more}


def var(attr, var_type="torch.nn.Parameter", **more):
    return {"param_type": "VarTypeParam", "var_type": var_type, "attr_name": attr, **more}


def value(name, index, path, function, is_input):
    return {"param_type": "InputOutputParam", "name": name, "index": index, "type": "<class 'int'>",
            "additional_path": path, "api_name": function, "is_input": is_input}


def clause(kind, field, *values, path="None"):
    out = {"type": kind, "prop_name": field, "additional_path": path, "prop_dtype": "int"}
    if kind == "constant":
        out["values"] = list(values)
    return out


GROUPS = {"ConsistencyRelation": "var", "APIContainRelation": "parent_func_call_pre",
          "FunctionCoverRelation": "func_cover", "FunctionLeadRelation": "func_lead",
          "DistinctArgumentRelation": "distinct_arg", "ConsistentOutputRelation": "pre_event",
          "ConsistentInputOutputRelation": "pre_event", "ThresholdRelation": "pre_event"}


def invariant(relation, *params, when=(), inverted=False):
    """when: conjunctions, of which one must hold; none: unconditional."""
    conditions = [{"clauses": clauses} for clauses in when] or [{"clauses": "Unconditional"}]
    return {"text_description": relation, "relation": relation, "params": list(params),
            "precondition": {GROUPS[relation]: {"inverted": inverted, "preconditions": conditions}},
            "num_positive_examples": 2, "num_negative_examples": None}
