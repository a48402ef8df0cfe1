#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""law.py finds every kind of breach where one is planted, and nothing in a clean tree."""

import pathlib
import tempfile
import unittest

import law

CLEAN = {
    "include/traincheck/error.h": "#include <stddef.h>\n",
    "include/traincheck/trace.h": "#include <traincheck/error.h>\n",
    "src/base/json.c": '#include "base/json.h"\n\n#include <cjson/cJSON.h>\n',
    "src/trace/scan.c": '#include <traincheck/trace.h>\n#include "base/vec.h"\n',
    "src/cli/app.c": '#include <stdio.h>\nvoid f(void)\n{\n    puts("");\n}\n',
    "src/collect/select.c": '#include "relation/interest.h"\n',
    "src/collect/agent/agent.h": "",
    "src/collect/agent/torch/torch.h": '#include "collect/agent/agent.h"\n',
    "src/collect/agent/look/look.h": '#include "collect/agent/torch/torch.h"\n',
    "src/collect/agent/hook/calls.c": '#include "collect/agent/hook/calls.h"\n#include "collect/agent/look/look.h"\n',
    "tools/traincheck-check.c": '#include "check/engine.h"\n',
}

# a file, its text, a part of what must be said about it
PLANTED = [
    ("src/base/x.c", '#include "trace/scan.h"\n', "base must not use trace/scan.h"),
    ("src/base/x.h", "#include <traincheck/trace.h>\n", "base must not use traincheck/trace.h"),
    ("src/replay/x.c", '#include "relation/relation.h"\n', "replay must not use"),
    ("src/infer/x.c", '#include "check/engine.h"\n', "infer must not use"),
    ("src/cli/x.c", '#include "trace/zio.h"\n', "cli must not use"),
    ("src/collect/x.c", '#include "relation/evidence.h"\n', "collect must not use"),
    ("src/online/x.c", '#include "infer/learn.h"\n', "online must not use"),
    ("src/misc/x.c", '#include "base/vec.h"\n', "'misc' is no layer"),
    ("include/traincheck/value.h", "#include <traincheck/check.h>\n", "trace must not use traincheck/check.h"),
    ("src/trace/x.c", '#include <cjson/cJSON.h>\n', "has its door in src/base/json.c"),
    ("src/base/x.c", '#include <zstd.h>\n', "has its door in src/trace/zio.c"),
    ("src/check/x.c", '#include <uv.h>\n', "has its door in"),
    ("src/collect/agent/x.c", '#include "collect/agent/torch/torch.h"\n', "must not use collect/agent/torch/torch.h"),
    ("src/collect/agent/torch/x.c", '#include "collect/agent/look/look.h"\n', "must not use collect/agent/look/look.h"),
    ("src/collect/agent/look/x.h", '#include "collect/agent/say/line.h"\n', "must not use collect/agent/say/line.h"),
    ("src/collect/agent/say/x.c", '#include "collect/agent/hook/calls.h"\n', "must not use collect/agent/hook/calls.h"),
    ("src/collect/agent/misc/x.c", '', "is in no room"),
    ("src/collect/x.c", '#include "collect/agent/agent.h"\n', "is the agent's own"),
    ("src/infer/x.c", '#include <Python.h>\n', "has its door in src/collect/"),
    ("src/base/x.c", '#include <glib.h>\n', "no known system header"),
    ("src/base/x.c", '#include "base/banned.h"\n', "the build includes base/banned.h"),
    ("src/base/x.c", 'void f(void)\n{\n    printf("");\n}\n', "neither prints nor exits"),
    ("src/check/x.c", 'void f(void)\n{\n    exit(1);\n}\n', "neither prints nor exits"),
    ("tools/traincheck-x.c", "\n" * 40, "a tool's main file has at most 40"),
    ("src/base/x.c", 'int f(void)\n{\n' + "    ;\n" * 61 + "}\n", "a function has at most 60"),
]


def head(path):
    return f"/*\n * {pathlib.PurePath(path).name} - what it is for\n */\n" if path.startswith("src/") else ""


class Law(unittest.TestCase):
    def breaches(self, files, head=head):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(head(path) + text)
            return list(law.breaches(root))

    def test_a_clean_tree_has_no_breach(self):
        self.assertEqual(self.breaches(CLEAN), [])

    def test_a_circle_is_found(self):
        units = {"check/a": "check/b", "check/b": "check/c", "check/c": "check/b"}
        files = {f"src/{unit}.h": f'#include "{other}.h"\n' for unit, other in units.items()}
        self.assertEqual([(path, said) for path, _, said in self.breaches(files)],
                         [("src/check/b", "it includes check/c, which includes it"), ("src/check/c", "it includes check/b, which includes it")])

    def test_what_is_declared_as_extern_counts_as_included(self):
        table = "#define LIST(X) \\\n    X(tc_b)\n#define X(item) extern const struct tc_form item;\nLIST(X)\n"
        for files, expected in (
            # A list may name what the room may use, and be no circle.
            ({"src/check/a.c": table, "src/check/b.c": "const struct tc_form tc_b = {\n};\n"}, []),
            ({"src/relation/a.c": table, "src/check/b.c": "const struct tc_form tc_b = {\n};\n"},
             [("src/relation/a.c", "relation must not name tc_b of src/check/b.c")]),
            ({"src/relation/registry.c": table, "src/fact/b.c": "FORM(tc_b, B)\n"}, []),
            ({"src/check/a.c": table, "src/check/a.h": "", "src/check/b.c": '#include "check/a.h"\nconst struct tc_form tc_b = {\n};\n'},
             [("src/check/a", "it includes check/b, which includes it"), ("src/check/b", "it includes check/a, which includes it")]),
            ({"src/base/a.h": "extern int tc_b[2], tc_c;\n", "src/trace/b.c": "int tc_b[2];\n"},
             [("src/base/a.h", "base must not name tc_b of src/trace/b.c")]),
            ({"src/check/a.c": "extern int tc_b;\n", "src/check/b.c": "int tc_b;\n"},
             [("src/check/a.c", "tc_b is declared here: declare it in a header")]),
            # Made by the build, so that no file of src/ has it.
            ({"src/import/a.c": "extern const char tc_text[];\n"}, []),
            ({"src/check/a.c": "struct tc_x *tc_f(int a,\n                   int b);\nstatic void tc_g(void);\n"},
             [("src/check/a.c", "tc_f is declared here: declare it in a header")]),
        ):
            with self.subTest(files=list(files)):
                self.assertEqual([(path, said) for path, _, said in self.breaches(files)], expected)

    def test_a_header_declares_what_its_own_file_defines(self):
        header = "int *tc_f(int a,\n          int b);\nextern int tc_b;\nvoid tc_elsewhere(void);\n"
        code = "int *tc_f(int a,\n          int b)\n{\n}\nint tc_b;\n"
        self.assertEqual(self.breaches({"src/fact/a.h": header, "src/fact/a.c": code}), [])
        self.assertEqual(self.breaches({"src/check/a.h": header, "src/check/b.c": code}), [])
        self.assertEqual([(path, said) for path, _, said in self.breaches({"src/fact/a.h": header, "src/fact/b.c": code})],
                         [("src/fact/a.h", f"{name} is of src/fact/b.c: declare it in its header") for name in ("tc_f", "tc_b")])

    def test_each_planted_breach_is_found_and_no_other(self):
        for path, text, expected in PLANTED:
            with self.subTest(path=path, expected=expected):
                found = self.breaches(CLEAN | {path: text})
                self.assertEqual([p for p, _, _ in found], [path])
                self.assertIn(expected, found[0][2])

    def test_a_file_says_what_it_is_for(self):
        spdx = "/* SPDX-License-Identifier: Apache-2.0 */\n"
        for first, is_breach in ((head("src/base/x.c"), False), (spdx + head("src/base/x.c"), False), ("", True),
                                 (spdx, True), (head("src/base/y.c"), True), ("/*\n * x.c - \n */\n", True)):
            with self.subTest(first=first):
                found = [said for _, _, said in self.breaches({"src/base/x.c": first}, head=lambda path: "")]
                self.assertEqual(found, ["it does not begin with 'x.c - ' and what it is for"] if is_breach else [])

    def test_a_long_file_says_how_it_works(self):
        """It, or its header."""
        said = lambda how: f"/*\n * x - what it is for\n{how} */\n"
        plain, full, long = said("").replace("x -", "x.c -"), said(" *\n * How it works.\n").replace("x -", "x.c -"), ";\n" * law.MAX_PLAIN
        header = said(" *\n * How it works.\n").replace("x -", "x.h -")
        for files, n in (({"src/base/x.c": plain}, 0), ({"src/base/x.c": plain + long}, 1), ({"src/base/x.c": full + long}, 0),
                         ({"src/base/x.c": plain + long, "src/base/x.h": header}, 0)):
            found = self.breaches(files, head=lambda _: "")
            self.assertEqual(len(found), n, found)

    def test_a_name_is_given_once(self):
        files = {f"src/{name}": "" for name in ("base/json.c", "base/json.h", "check/json.h", "report/html/json.c", "report/run.c")}
        self.assertEqual([(path, said) for path, _, said in self.breaches(files)],
                         [(f"src/{path}", "it has the name of src/base/json") for path in ("check/json", "report/html/json")])

    def test_a_tag_is_defined_once(self):
        files = {"src/base/a.h": "struct tc_x {\n};\nstruct x {\n};\n", "src/base/b.c": "struct x {\n};\n\nenum tc_x {\n};\n"}
        self.assertEqual(self.breaches(files), [("src/base/b.c", 7, "tc_x is defined in src/base/a.h")])

    def test_comments_and_strings_are_no_code(self):
        text = '/* printf( */\nconst char *s = "exit(1)"; // abort()\n'
        self.assertEqual(self.breaches({"src/base/x.c": text}), [])


if __name__ == "__main__":
    unittest.main()
