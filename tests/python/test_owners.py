# SPDX-License-Identifier: Apache-2.0
"""Whose code makes a call, wherever it lies: placements of packages and of scripts, and what `by` and `at` say of each."""
import os
import subprocess
import unittest
import zipfile

from traced import Case, PYTHON, folder_of

PROBE = "def here(): pass\n"
PACKAGE = "import probe\ndef call():\n    probe.here()\n"  # calls it in its line 3
SCRIPT = "import lib\nlib.call()\n"
RECORD = "lib/__init__.py,sha256=x,1\nlib-1.dist-info/RECORD,,\n"
AT_SCRIPT = "script.py:2"


def site_packages(venv):
    return next((venv / "lib").glob("python3.*/site-packages"))


class Owners(Case):
    def setUp(self):
        super().setUp()
        self.path = []  # of PYTHONPATH
        self.put("probes/probe.py", PROBE)
        self.path.append("probes")
        self.venv = None

    def put(self, name, text, folder=None):
        path = (folder or self.work) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def on_path(self, folder, package="lib", record=None):
        self.put(f"{folder}/{package}/__init__.py", PACKAGE)
        if record:
            self.put(f"{folder}/{package}-1.dist-info/RECORD", record)
        self.path.append(folder)

    def archive(self, name, **members):
        with zipfile.ZipFile(self.work / name, "w") as archive:
            for member, text in {"lib/__init__.py": PACKAGE, **members}.items():
                archive.writestr(member, text)
        self.path.append(name)

    def site(self):
        """The folder of packages of a fresh environment, which is used from now on."""
        self.venv = self.work / "env"
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", self.venv], check=True)
        return site_packages(self.venv)

    def seen(self, *command, text=SCRIPT):
        """(by, at) of each call of probe.here()."""
        if not command:
            command = (self.script(text),)
        python = self.venv / "bin/python" if self.venv else PYTHON
        path = os.pathsep.join(str(self.work / p) for p in self.path)
        run = self.collect("--instrument", "probe", *command, python=python,
                           env={"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual((run.code, run.err), (0, ""), run.said)
        self.assert_no_errors(run)
        return [(call.get("by"), call.get("at")) for call in self.calls(run, fn="probe.here")]


class Packages(Owners):
    """A library is by its own name and at the script's line; the user's package is at its own."""

    def test_installed_in_an_environment(self):
        self.put("lib/__init__.py", PACKAGE, self.site())
        self.assertEqual(self.seen(), [("lib", AT_SCRIPT)])

    def test_installed_in_a_folder_of_any_name(self):
        self.on_path("deps", record=RECORD)
        self.assertEqual(self.seen(), [("lib", AT_SCRIPT)])

    def test_beside_what_is_installed_there(self):
        """The record names another package: this one was put there by hand."""
        self.on_path("deps", record=RECORD.replace("lib", "other"))
        self.assertEqual(self.seen(), [("user", "deps/lib/__init__.py:3")])

    def test_on_pythonpath(self):
        self.on_path("mine")
        self.assertEqual(self.seen(), [("user", "mine/lib/__init__.py:3")])

    def test_a_module_that_is_one_file(self):
        self.put("deps/lib.py", PACKAGE)
        self.put("deps/lib-1.dist-info/RECORD", "lib.py,sha256=x,1\n")
        self.path.append("deps")
        self.assertEqual(self.seen(), [("lib", AT_SCRIPT)])

    def test_in_an_archive(self):
        self.archive("deps.zip", **{"lib-1.dist-info/RECORD": RECORD, "lib-1.dist-info/METADATA": "Name: lib\n"})
        self.assertEqual(self.seen(), [("lib", AT_SCRIPT)])

    def test_in_an_archive_of_ones_own(self):
        self.archive("mine.zip")
        self.assertEqual(self.seen(), [("user", "mine.zip/lib/__init__.py:3")])

    def test_an_egg(self):
        self.on_path("lib-1-py3.egg")
        self.assertEqual(self.seen(), [("lib", AT_SCRIPT)])

    def test_editable(self):
        """Its record lies in the environment, a note of the build beside the sources."""
        site = self.site()
        self.put("project/src/lib/__init__.py", PACKAGE)
        self.put("project/src/lib.egg-info/top_level.txt", "lib\n")
        self.put("project/src/lib.egg-info/SOURCES.txt", "src/lib/__init__.py\n")
        self.put("lib.pth", f"{self.work}/project/src\n", site)
        self.put("lib-1.dist-info/RECORD", "lib.pth,sha256=x,1\n", site)
        self.assertEqual(self.seen(), [("user", "project/src/lib/__init__.py:3")])

    def test_a_copy_in_the_users_package(self):
        self.put("app/_vendor/lib.py", PACKAGE)
        self.assertEqual(self.seen(text="from app._vendor import lib\nlib.call()\n"),
                         [("user", "app/_vendor/lib.py:3")])

    def test_a_copy_in_a_library(self):
        site = self.site()
        self.put("host/__init__.py", "import os, sys; sys.path.append(os.path.dirname(__file__) + '/_vendor'); import lib\n",
                 site)
        self.put("host/_vendor/lib/__init__.py", PACKAGE, site)
        self.assertEqual(self.seen(text="import host, lib\nlib.call()\n"), [("lib", AT_SCRIPT)])

    def test_a_namespace_of_both(self):
        for folder in "deps", "mine":
            self.put(f"{folder}/lib/{folder}.py", PACKAGE)
            self.path.append(folder)
        self.put("deps/lib-1.dist-info/RECORD", "lib/deps.py,sha256=x,1\n")
        text = "import lib.deps, lib.mine\nlib.deps.call(); lib.mine.call()\n"
        self.assertEqual(self.seen(text=text), [("lib", AT_SCRIPT), ("user", "mine/lib/mine.py:3")])

    def test_a_folder_of_packages_without_records(self):
        self.on_path("python/site-packages")
        self.assertEqual(self.seen(), [("lib", AT_SCRIPT)])


class Scripts(Owners):
    """The program is the user's wherever it lies, and so is what lies beside it."""
    MAIN = "import helper, probe\nprobe.here(); helper.call()\n"

    def assert_users(self, folder, seen):
        self.assertEqual(seen, [("user", f"{folder}/train.py:2"), ("user", f"{folder}/helper.py:3")])

    def put_program(self, folder):
        self.put("helper.py", PACKAGE, folder)
        return self.put("train.py", self.MAIN, folder)

    def test_in_a_folder_with_the_name_of_one_for_packages(self):
        self.assert_users("site-packages", self.seen(self.put_program(self.work / "site-packages")))

    def test_below_such_a_folder(self):
        self.assert_users("a/dist-packages/b", self.seen(self.put_program(self.work / "a/dist-packages/b")))

    def test_in_a_package_of_the_environment(self):
        folder = self.site() / "tool"
        self.assert_users(folder.relative_to(self.work), self.seen(self.put_program(folder)))

    def test_a_module_of_an_installed_package(self):
        site = self.site()
        self.put("tool/__init__.py", "", site)
        self.put("tool/helper.py", PACKAGE, site)
        path = self.put("tool/train.py", "from . import helper; import probe\nprobe.here(); helper.call()\n", site)
        at = f"{path.relative_to(self.work)}:2"
        self.assertEqual(self.seen("-m", "tool.train"), [("user", at), ("tool", at)])

    def test_a_module_of_the_working_folder(self):
        self.put("app/__main__.py", "from . import helper; import probe\nprobe.here(); helper.call()\n")
        self.put("app/helper.py", PACKAGE)
        self.assertEqual(self.seen("-m", "app"), [("user", "app/__main__.py:2"), ("user", "app/helper.py:3")])

    def test_run_by_a_module_of_python(self):
        """Frames of the standard library are followed through."""
        self.assertEqual(self.seen("-m", "cProfile", "-o", os.devnull, self.script("import probe\nprobe.here()\n")),
                         [("user", AT_SCRIPT)])

    def test_in_a_spawned_process(self):
        seen = self.seen(text="""
            import multiprocessing, probe
            def work():
                probe.here()
            if __name__ == "__main__":
                p = multiprocessing.get_context("spawn").Process(target=work)
                p.start(), p.join()
        """)
        self.assertEqual(seen, [("user", "script.py:4")])

    def test_called_back_by_python(self):
        seen = self.seen(text="import functools, probe\nlist(map(functools.partial(probe.here), *[[]])); "
                              "functools.lru_cache(lambda: probe.here())()\n")
        self.assertEqual(seen, [("user", AT_SCRIPT)])


class Torch(Owners):
    """What torch does inside of itself is its own, also where it is no package of the environment."""

    def test_in_a_folder_without_records(self):
        (self.work / "moved").mkdir()
        site = self.site()
        self.venv = site.parents[2]
        for entry in folder_of("torch").parent.iterdir():  # to read what torch imports as the user's own takes long
            if entry.suffix != ".pth" and not entry.name.startswith("torch-"):
                folder = self.work / "moved" if entry.name in ("torch", "torchgen", "functorch") else site
                (folder / entry.name).symlink_to(entry)
        self.path.append("moved")
        run = self.collect(self.script("""
            import torch
            torch.optim.SGD([torch.nn.Parameter(torch.zeros(2))], 0.1)
            print(torch.__file__)
        """), python=self.venv / "bin/python", env={"PYTHONPATH": str(self.work / "moved")})
        self.assertEqual(run.out, f"{self.work}/moved/torch/__init__.py\n")
        added, = self.calls(run, fn="torch.optim.Optimizer.add_param_group")
        self.assertEqual((added["by"], added["at"]), ("torch", "script.py:3"))


if __name__ == "__main__":
    unittest.main()
