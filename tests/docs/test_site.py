#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The site builds without a warning, asks nobody else for anything, and fits phone and desktop, light and dark.

It names its version and the repository, cuts no block of code, and finds what is searched for.

usage: test_site.py --mkdocs PYTHON [--pictures DIR] [TEST...]; PYTHON has what docs/requirements.txt names
"""

import functools
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "report"), str(ROOT / "scripts")]
import mkdocs_hooks  # noqa: E402
from browser import Browser, executable  # noqa: E402

SEARCH = """new Promise(done => {
    const input = document.querySelector(".md-search__input");
    const look = left => {
        const found = document.querySelectorAll(".md-search-result__item").length;
        found || !left ? done(found) : setTimeout(look, 100, left - 1);
    };
    input.focus();
    input.value = "zero_grad";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
    look(100);
})"""
CUT = "[...document.querySelectorAll('pre > code')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
LOOKS = ((390, 800, False), (1280, 900, False), (1280, 900, True), (390, 800, True))
PYTHON, PICTURES = None, None


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def build(folder, config=ROOT / "mkdocs.yml"):
    return subprocess.run([PYTHON, "-B", "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(folder)],
                          capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, timeout=120)


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.site = pathlib.Path(os.path.realpath(cls.scratch.name)) / "site"
        cls.built = build(cls.site)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_it_builds_without_a_warning(self):
        self.assertEqual(self.built.returncode, 0, self.built.stderr)
        self.assertNotIn("WARNING", self.built.stderr)
        pages = {p.stem for p in (ROOT / "docs").glob("*.md")}
        self.assertEqual(pages - {p.stem for p in self.site.glob("*.html")}, set())

    def test_a_link_that_leads_nowhere_is_an_error(self):
        for link in ("../no/such/file.py", "no-such-page.md", "tutorial.md#no-such-title"):
            with self.subTest(link), tempfile.TemporaryDirectory() as folder:
                docs = pathlib.Path(folder) / "docs"
                docs.mkdir()
                (docs / "index.md").write_text(f"# Title\n\n[text]({link})\n")
                (docs / "tutorial.md").write_text("# Tutorial\n")
                (pathlib.Path(folder) / "mkdocs.yml").write_text(
                    f"site_name: x\nplugins: []\nvalidation: {{ anchors: warn }}\nhooks: ['{ROOT}/scripts/mkdocs_hooks.py']\n")
                p = build(pathlib.Path(folder) / "site", pathlib.Path(folder) / "mkdocs.yml")
                self.assertNotEqual(p.returncode, 0, p.stderr)
                self.assertIn(link.split("#")[-1], p.stderr)

    def test_it_names_its_version_and_its_repository(self):
        version = re.search(r'TC_VERSION "([\d.]+)"', (ROOT / "include/traincheck/version.h").read_text())[1]
        page = (self.site / "index.html").read_text()
        self.assertIn(f"TrainCheck {version}", page)
        address = mkdocs_hooks.repository(ROOT)
        self.assertIn(f'href="{address}"' if address else f"TrainCheck {version}", page)
        for origin in ("https://git.example.org/owner/name.git", "git@git.example.org:owner/name.git", "ssh://git@git.example.org:22/owner/name"):
            self.assertEqual(mkdocs_hooks.web_address(origin), "https://git.example.org/owner/name")
        for origin in ("", "/home/me/name", "../name", "file:///home/me/name"):
            self.assertEqual(mkdocs_hooks.web_address(origin), "")

    @unittest.skipUnless(executable(), "no chromium")
    def test_its_search_finds_pages(self):
        browser = Browser()
        try:
            browser.show(1280, 900)
            browser.open(f"{self.serve()}/index.html")
            self.assertGreater(browser.run(SEARCH), 2)
            self.assertEqual(browser.errors, [])
        finally:
            browser.close()

    @unittest.skipUnless(executable(), "no chromium")
    def test_every_page_in_a_browser(self):
        self.forget_most_words()
        at = self.serve()
        for look in LOOKS:
            self.look(at, *look)

    def forget_most_words(self):
        """Each page that is opened reads anew all that its search finds, and takes a second for that."""
        path = self.site / "search/search_index.json"
        whole = path.read_text()
        self.addCleanup(path.write_text, whole)
        index = json.loads(whole)
        path.write_text(json.dumps(index | {"docs": index["docs"][:1]}))

    def look(self, at, width, height, dark):
        """A browser of its own, as the theme remembers its colours."""
        browser = Browser()
        try:
            browser.show(width, height, dark=dark)
            for page in sorted(self.site.glob("*.html")):
                if (width, dark) != (390, False) and page.stem not in ("index", "reading"):
                    continue
                with self.subTest(page.name, width=width, dark=dark):
                    browser.open(f"{at}/{page.name}")
                    self.assertEqual([u for u in browser.requests if not u.startswith((at, "data:", "blob:"))], [])
                    self.assertEqual(browser.errors, [])
                    self.assertLessEqual(browser.run("document.documentElement.scrollWidth"), width)
                    self.assertEqual(browser.run(CUT), 0)
                    self.assertEqual(browser.run("document.body.dataset.mdColorScheme"), "slate" if dark else "default")
                    if PICTURES:
                        PICTURES.mkdir(parents=True, exist_ok=True)
                        browser.picture(PICTURES / f"{page.stem}_{width}{'_dark' if dark else ''}.png", whole=False)
        finally:
            browser.close()

    def serve(self):
        """The address of the site on this machine: its search needs a server."""
        handler = functools.partial(Quiet, directory=str(self.site))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(lambda: (server.shutdown(), server.server_close(), thread.join()))
        return f"http://127.0.0.1:{server.server_address[1]}"


if __name__ == "__main__":
    args = sys.argv[1:]
    if args[:1] != ["--mkdocs"] or len(args) < 2:
        sys.exit(__doc__)
    PYTHON, args = args[1], args[2:]
    if args[:1] == ["--pictures"]:
        PICTURES, args = pathlib.Path(args[1]), args[2:]
    unittest.main(argv=[sys.argv[0], *args])
