# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, driven over a pipe by its DevTools protocol: no packages needed."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def executable():
    """Of a Chromium, or None."""
    named = os.environ.get("TRAINCHECK_TEST_BROWSER")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page. errors holds what the console said of errors, and exceptions nobody caught."""

    def __init__(self):
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, our_end = os.pipe()
        self.input, from_browser = os.pipe()
        self.output = our_end
        command = [executable(), "--headless=new", "--no-sandbox", "--disable-gpu", "--in-process-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--disable-extensions", "--disable-background-networking",
                   f"--user-data-dir={self.home.name}", "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "sh", *command],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.n, self.errors, self.session, self.is_loaded = b"", 0, [], None, False
        target = next(t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.requests = []

    def close(self):
        try:
            self.session = None
            self.send("Browser.close")
        except (OSError, EOFError, TimeoutError):
            self.process.kill()
        self.process.wait(30)
        os.close(self.input)
        os.close(self.output)
        self.home.cleanup()

    def receive(self, timeout):
        end = time.monotonic() + timeout
        while b"\0" not in self.buffer:
            if not select.select([self.input], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.input, 1 << 20)
            if not data:
                raise EOFError("the browser is gone")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, p = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.errors.append(d.get("exception", {}).get("description") or d["text"])
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "assert", "warning"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.errors.append(p["entry"]["text"])
        elif method == "Page.loadEventFired":
            self.is_loaded = True
        elif method == "Page.javascriptDialogOpening":
            self.errors.append("a dialog: " + p["message"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])

    def send(self, method, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(60)
            if answer.get("id") == self.n:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.note(answer)

    def show(self, width, height, dark=False, media="screen"):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.send("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path):
        """Load a file, or what http:// names; how many seconds until its script was done and the page was painted."""
        self.errors.clear()
        self.requests.clear()
        self.is_loaded = False
        start = time.monotonic()
        self.send("Page.navigate", url=path if str(path).startswith("http:") else pathlib.Path(path).resolve().as_uri())
        while not self.is_loaded:
            self.note(self.receive(60))
        self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
        return time.monotonic() - start

    def run(self, script):
        """The value of an expression in the page; a promise is awaited."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def picture(self, path, whole=True):
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))


class Pages:
    """For a test case whose tests look at pages, all with one browser."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def get(self, script):
        return self.browser.run(script)

    def open_page(self, page, width, height, **how):
        """No error on the console, nothing fetched, nothing wider than the window."""
        self.browser.show(width, height, **how)
        self.browser.open(page)
        self.assertEqual(self.browser.errors, [])
        self.assertEqual(self.browser.requests, [page.as_uri()])
        self.assertLessEqual(self.get("document.documentElement.scrollWidth"), width)
