# SPDX-License-Identifier: Apache-2.0
"""Records of the script's sources: which files, when, what stands in their text and what does not."""
import json
import textwrap
import unittest

from traced import BIN, PYTHON, Warm

MASK64 = (1 << 64) - 1
G = 0x9E3779B97F4A7C15
RUN = "import torch\ntorch.manual_seed(0)\n"

# A cell of a notebook is what IPython calls so; this one has the names and the linecache of IPython alone.
IPYTHON = """
    import linecache
    class Shell:
        compile = property(lambda self: self)
        def format_code_name(self, name): return ("Cell", "In[" + name[-4:-3] + "]") if "ipykernel" in name else None
    def get_ipython(): return Shell()
    def run_cell(text, n):
        name = f"/tmp/ipykernel_1/{n}.py"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        exec(compile(text, name, "exec"), {"__name__": "__main__"})
"""
RANKS = """
    import time
    import torch
    import torch.distributed as dist
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    dist.barrier()
    time.sleep(0.2)  # a thread of gloo that drops its last work while Python ends aborts the process, traced or not
    dist.destroy_process_group()
"""
UNREAD = """
import torch
class Net(torch.nn.Module):
    def forward(self, x, mask): return x
    def draw(self, n, gen): return torch.ones(n)
    def hook(self, module, out): return out
class Base:
    def fit(self, x): return 1
class Derived(Base):
    def fit(self, x): return 2
def loss(x, mask):
    torch.manual_seed(0)
    return x + 1
def interface(x): pass
def callback(x): return 1
def constant(x, flag): return x
def called_by_others(x): return 3
def all_names(x): return locals()
def main(net, gen):
    given = torch.ones(2)
    net.register_forward_hook(net.hook)
    net.draw(3, gen), gen.seed(), sorted([], key=callback), callback(given), interface(net), constant(net, 1), all_names(net)
    Base().fit(net), Derived().fit(net)
    return loss(net(given, given), torch.ones(2))
"""
SECRETS = '''
    import os, torch
    class C: pass
    c, url, password = C(), "https://keep.example/x", "hide1"
    API_KEY = "hide2" "hide3"  # the key
    # was: token = 'hide4', not "it's"
    c.hf_token: str = f"hide5{1 + 1}" if url else b"hide6"
    def login(user="keep1", token="hide7", *, dbPassword=("hide8",)): return user
    login("keep2", token=os.environ.get("NOTHING", "hide9"))
    config = {"lr": "keep3", "api_key": "hide10", "passphrase": """hide11
    hide12""", "tokenizer": "keep4", "token_id": "keep5"}
    os.environ["HF_TOKEN"] = "hide13"
    setattr(c, "credentials", "hide14")
    def read_token(): return "hide15"
    headers = [("bearer", "hide16")]
    login("https://me:hide17@example.org/x", f"hide20{login(token='hide18')}")
    first = sorted([{"loss": 1}], key=lambda row: row["keep7"] if "keep7" in row else 0)
    if (secret := "hide19") == "keep8": pass
    "keep6, as a token is"
    def enter(user, token): return user
    class Client:
        def __init__(self, url, api_key=None): pass
        def send(self, password, text): pass
    enter("keep9", "hide21"), Client("keep10", "hide22").send("hide23", "keep11")
    def set_token(text): pass
    set_token("hide24")
    def token_loss(x, how): return x
    token_loss(1, "keep12")
    torch.manual_seed(0)
'''


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK64
    return x ^ x >> 31


def nh64(data):
    """As docs/trace-format.md says, with the seed 0."""
    total, filled = 0, data + b"\0" * (-len(data) % 4096)
    for chunk in range(len(filled) // 4096):
        words = [int.from_bytes(filled[at:at + 8], "little") for at in range(chunk * 4096, chunk * 4096 + 4096, 8)]
        lanes = [0] * 8
        for i, word in enumerate(words):
            keyed = word ^ mix((i + 1) * G & MASK64)
            lanes[i % 8] += (keyed >> 32) * (keyed & 0xFFFFFFFF)
            lanes[i % 8 ^ 1] += word
        total += sum(mix((lane & MASK64) + (8 * chunk + i + 1) * G & MASK64) for i, lane in enumerate(lanes))
    return f"{mix(total + mix((len(data) + 1) * G & MASK64) & MASK64):016x}"


def sources(run, file=None):
    return [r for r in run.records(file) if r["type"] == "source"]


def named(record):
    """The files that a record names."""
    return {place.rpartition(":")[0] for place in [record.get("at", ":"), *record.get("stack", [])]} - {""}


class Sources(Warm):
    def by_name(self, run):
        self.assertEqual(run.code, 0, run.err)
        self.assert_no_errors(run)
        self.assert_whole(run)
        found = {r["at"]: r for r in sources(run)}
        self.assertEqual(len(found), len(sources(run)))
        return found

    def assert_told_before(self, run):
        for file in run.files():
            told = set()
            for r in run.records(file):
                if r["type"] == "source":
                    told.add(r["at"])
                elif r["type"] == "call":
                    self.assertLessEqual(named(r), told)

    def test_the_script_and_its_modules(self):
        (self.work / "parts").mkdir()
        helper = self.script("def seed(n):\r\n    import torch\r\n    torch.manual_seed(n)\r\n\r\n", "parts/helper.py")
        self.script("never = 1\n", "unused.py")
        text = textwrap.dedent("""
            from parts import helper
            import unused, torch
            for file in __file__, helper.__file__, unused.__file__:
                open(file, "a").write("# written while it runs")
            def main():
                helper.seed(1)
            main()
        """)
        before = helper.read_bytes()
        run = self.collect("--stack", "9", self.script(text))
        found = self.by_name(run)
        self.assertEqual(found, {
            "script.py": {"type": "source", "at": "script.py", "path": str(self.work / "script.py"), "digest": nh64(text.encode()),
                          "size": len(text), "lines": 8, "text": text, "unread": {}},
            "parts/helper.py": {"type": "source", "at": "parts/helper.py", "path": str(helper), "digest": nh64(before),
                                "size": len(before), "lines": 4, "text": before.decode().replace("\r\n", "\n"), "unread": {}}})
        self.assert_told_before(run)

    def test_what_functions_never_read(self):
        self.script(UNREAD, "parts.py")
        run = self.collect(self.script(UNREAD + "import parts\nparts.loss(1, parts.torch.ones(2))\n" + RUN))
        told = {"loss": {"mask": True}, "Net": {"mask": False}, "Net.draw": {"gen": False}}
        found = self.by_name(run)
        for at, module in (("script.py", "__main__"), ("parts.py", "parts")):
            self.assertEqual(found[at]["unread"], {f"{module}.{name}": of for name, of in told.items()})

    def test_lines_whose_results_nobody_reads(self):
        run = self.collect(self.script("""
            import torch

            def step(x, log):
                total = x + 1
                x.clamp(0, 1)
                kept = x * 2
                kept = kept.float()
                shown = x * 3
                shown += 1
                log.append(x.abs())
                x.add_(1)
                return x

            step(torch.ones(2), [])
        """))
        told = {name: {"=": name} for name in ("total", "kept")}
        self.assertEqual(self.by_name(run)["script.py"]["unread"], {
            "script.py:5": told["total"], "script.py:6": {"clamp": True}, "script.py:7": told["kept"], "script.py:8": told["kept"],
            "script.py:11": {"append": True}})

    def test_they_can_be_left_out(self):
        script = self.script(RUN)
        run = self.collect("--no-source", script)
        self.assertEqual((sources(run), self.calls(run)[0]["at"]), ([], "script.py:2"))
        (self.work / "c.yaml").write_text("no-source: true\n")
        self.assertEqual(sources(self.collect("--config", "c.yaml", script, folder="b")), [])

    def test_secrets(self):
        text = textwrap.dedent(SECRETS)
        source = self.by_name(self.collect(self.script(text)))["script.py"]
        self.assertEqual((source["digest"], source["lines"]), (nh64(text.encode()), text.count("\n")))
        self.assertNotIn("hide", source["text"])
        for n in range(1, 13):
            self.assertIn(f"keep{n}", source["text"])
        lines, told = text.split("\n"), source["text"].split("\n")
        self.assertEqual(len(lines), len(told))
        for line, shown in zip(lines, told):
            self.assertTrue(line == shown or "***" in shown or '"""' in shown, shown)
        self.assertIn("# was: token = \"***\", not \"***\"", told)
        compile(source["text"], "told", "exec")

    def test_code_that_stands_in_no_file(self):
        for command in (["-c", RUN], ["-Wi", "-uc", RUN + "token = 'hush'"], ["-X", "dev", "-ucimport torch;torch.rand(1)", "-c", "no"]):
            run = self.collect("--overwrite", "--", PYTHON, *command)
            (source,) = self.by_name(run).values()
            text = command[-1] if command[-1] != "no" else "import torch;torch.rand(1)"
            self.assertEqual(source, {"type": "source", "at": "<string>", "digest": nh64(text.encode()), "size": len(text),
                                      "lines": len(text.splitlines()), "text": text.replace("'hush'", '"***"'), "unread": {}})
        run = self.collect("--overwrite", "--", PYTHON, "-", stdin=RUN)
        self.assertEqual(sources(run), [{"type": "source", "at": "<stdin>", "digest": ""}])

    def test_cells_of_a_notebook(self):
        self.script(IPYTHON, "IPython.py")
        run = self.collect(self.script("""
            from IPython import run_cell
            cell = "import torch\\ntorch.rand(1)\\n"
            run_cell(cell, 1)
            run_cell(cell, 2)
            run_cell(cell, 2)
            run_cell(cell + "torch.rand(2)\\n", 2)
        """))
        cells = [(r["at"], r["lines"], r["text"].count("rand"), "path" in r) for r in sources(run) if r["at"] != "script.py"]
        self.assertEqual(cells, [("In[1]", 2, 1, False), ("In[2]", 2, 1, False), ("In[2]", 3, 2, False)])
        self.assert_told_before(run)

    def test_a_module_that_is_loaded_again(self):
        self.script("import torch\ndef draw(): return torch.rand(1)\n", "again.py")
        run = self.collect(self.script("""
            import importlib, torch, again
            again.draw()
            with open(again.__file__, "a") as file: file.write("def more(): return torch.rand(2)\\n")
            importlib.reload(again).more()
            importlib.reload(again).draw()
        """))
        self.assertEqual([r["lines"] for r in sources(run) if r["at"] == "again.py"], [2, 3])

    def test_bounds(self):
        filler = "#" * 99 + "\n"
        big = {f"big{n}.py": RUN + filler * n for n in (2600, 2700, 2601, 2602, 2603, 2604)}
        for name, text in big.items():
            self.script(text, name)
        run = self.collect(self.script("\n".join(f"import {name[:-3]}" for name in big)))
        told = [r for r in sources(run) if r["at"] in big]
        self.assertEqual([(r["at"], r["size"], r["lines"]) for r in told],
                         [(name, len(text), text.count("\n")) for name, text in big.items()])
        self.assertEqual([r["at"] for r in told if "text" not in r], ["big2700.py", "big2604.py"])
        self.assertEqual(told[1]["digest"], nh64(big["big2700.py"].encode()))
        self.assertEqual([r["count"] for r in run.records() if r.get("code") == "source"], [2])

    def test_encodings_and_what_is_no_python(self):
        (self.work / "latin.py").write_bytes("# coding: latin-1\nimport torch\nname = 'é'\ntorch.rand(1)\n".encode("latin-1"))
        (self.work / "other.py").write_bytes(b"import torch\ntorch.rand(1)\n")
        run = self.collect(self.script("""
            import latin, pathlib
            exec(compile("import torch\\ntorch.rand(1)", str(pathlib.Path("gone.py").resolve()), "exec"))
            path = pathlib.Path("no.py").resolve()
            path.write_bytes(b"\\xff\\xfe(")
            exec(compile("import torch\\ntorch.rand(1)", str(path), "exec"))
            import os
            os.mkfifo("pipe.py")
            exec(compile("import torch\\ntorch.rand(1)", str(pathlib.Path("pipe.py").resolve()), "exec"))
        """))
        found = self.by_name(run)
        self.assertIn("name = 'é'", found["latin.py"]["text"])
        self.assertEqual(found["latin.py"]["size"], (self.work / "latin.py").stat().st_size)
        self.assertEqual([found["no.py"].get(key) for key in ("digest", "size", "lines", "text")], [nh64(b"\xff\xfe("), 3, 1, None])
        for name in "gone.py", "pipe.py":
            self.assertEqual(found[name], {"type": "source", "at": name, "path": str(self.work / name), "digest": ""})

    def test_a_module_in_an_archive(self):
        import zipfile
        with zipfile.ZipFile(self.work / "parts.zip", "w") as archive:
            archive.writestr("zipped.py", RUN)
        found = self.by_name(self.collect(self.script("import zipped"), env={"PYTHONPATH": str(self.work / "parts.zip")}))
        self.assertEqual(found["parts.zip/zipped.py"]["text"], RUN)

    def test_ranks_keep_one_text(self):
        script = self.script(RANKS)
        run = self.collect("--", self.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script)
        self.assertEqual(run.code, 0, run.err)
        found = {file.name.split("_r")[1][0]: sources(run, file) for file in run.files()}
        self.assertEqual({rank: [("text" in r, r["digest"]) for r in told] for rank, told in found.items()},
                         {"0": [(True, nh64(script.read_bytes()))], "1": [(False, nh64(script.read_bytes()))]})

    def test_workers_repeat_nothing(self):
        self.script("import torch\ndef item(): return torch.ones(2)\n", "items.py")
        text = """
            import multiprocessing, torch, items
            class Data(torch.utils.data.Dataset):
                def __len__(self): return 4
                def __getitem__(self, i): return items.item()
            def child(): torch.rand(1)
            if __name__ == "__main__":
                for _ in torch.utils.data.DataLoader(Data(), num_workers=2): pass
                context = multiprocessing.get_context("spawn")
                process = context.Process(target=child)
                process.start()
                process.join()
        """
        run = self.traced(text, env={"WARM_SPAWNS": "1"})
        self.assertEqual(run.code, 0, run.err)
        roles = {}
        for file in run.files():
            records = run.records(file)
            roles.setdefault(records[0]["role"], []).append([r["at"] for r in sources(run, file)])
            self.assertTrue(any("at" in r for r in records if r["type"] == "call"))
        self.assertEqual(roles["worker"], [[], []])
        self.assertEqual(sorted(roles["main"]), [["script.py"], ["script.py", "items.py"]])  # the first is a program of its own

    def test_readers_look_past_them(self):
        run = self.traced("""
            import torch
            model = torch.nn.Linear(4, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(4):
                optimizer.zero_grad()
                model(torch.rand(3, 4)).sum().backward()
                optimizer.step()
        """)
        bare = self.work / "bare"
        bare.mkdir()
        records = run.records()
        self.assertEqual(len(sources(run)), 1)
        (bare / run.files()[0].name.replace(".zst", "")).write_text(
            "".join(json.dumps(r) + "\n" for r in records if r["type"] != "source"))
        said = []
        for folder in run.folder, bare:
            out = self.work / f"{folder.name}.jsonl"
            done = self.execute([BIN / "traincheck-infer", "-q", "--specific", folder, folder, "-o", out], None)
            self.assertEqual((done.code, done.err), (0, ""))
            checked = self.execute([BIN / "traincheck-check", "-o", self.work / f"{folder.name}-report", folder, out], None)
            facts = [line for line in out.read_text().splitlines() if not line.startswith('{"traincheck"')]
            said.append((facts, checked.code, checked.out.replace(folder.name, "trace")))
        self.assertEqual(said[0], said[1])


if __name__ == "__main__":
    unittest.main()
