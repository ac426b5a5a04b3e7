"""A headless Chromium without a network, driven through the DevTools protocol over a pipe."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))),
    None,
)

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
]

PATIENCE = 90.0
"""Seconds until an answer must be there."""


class Chromium:
    """One page of a browser; `complaints` is all that its console has said since it was opened."""

    def __init__(self, profile):
        (theirs_in, self._out), (self._in, theirs_out) = os.pipe(), os.pipe()
        # The browser reads from descriptor 3 and writes to 4, which other ends may have by now.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
        script = f'exec "$@" 3<&{ends[0]} 4>&{ends[1]}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", BROWSER, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (theirs_in, theirs_out, *ends):
            os.close(end)
        self._waiting, self._number, self._session = b"", 0, None
        self.complaints, self.asked, self._loaded = [], [], False
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        with suppress(OSError, AssertionError):
            self._session = None
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)

    # --- the protocol

    def call(self, method, **parameters):
        """Ask for something, and return the answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        number = self._number
        while (answer := self._next())["id"] != number:
            pass
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _next(self):
        """Return the next answer; what the browser tells unasked is noted."""
        while True:
            message = self._message()
            if "id" in message:
                return message
            self._note(message["method"], message["params"])

    def _message(self):
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._waiting:
            ready, *_ = select.select([self._in], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"the browser has said nothing for {PATIENCE:.0f} s"
            data = os.read(self._in, 1 << 20)
            assert data, "the browser has gone"
            self._waiting += data
        message, _, self._waiting = self._waiting.partition(b"\0")
        return json.loads(message)

    def _note(self, event, found):
        if event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(found["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(found["args"]))
        elif event == "Log.entryAdded":
            self.complaints.append(found["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.asked.append(found["request"]["url"][:200])

    # --- what a reader does

    def open(self, address, *, width=1280, height=900, dark=False, ready=True):
        """Open a page, in a window of a size, and wait until it is drawn."""
        self.look(width=width, height=height, dark=dark)
        # Else a page at the same address but for its fragment would not be loaded again.
        self._load("about:blank")
        self.complaints, self.asked = [], []
        self._load(address)
        if ready:
            self.wait("document.documentElement.dataset.ready === '1'")

    def _load(self, address):
        self._loaded = False
        self.call("Page.navigate", url=address)
        while not self._loaded:
            self.run("0")

    def look(self, *, width=1280, height=900, dark=False, media="screen"):
        """Give the window a size, and the page a scheme of colours and a medium."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def run(self, script):
        """Return the value of an expression; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, json.dumps(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait(self, script):
        """Wait until an expression is true."""
        deadline = time.monotonic() + PATIENCE
        while not self.run(script):
            assert time.monotonic() < deadline, f"{script} is never true: {self.complaints}"
            time.sleep(0.02)

    def press(self, key, text="", modifiers=0):
        """Press a key, by its name in the DevTools protocol."""
        codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowRight": 39, "ArrowDown": 40, "End": 35}
        known = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0), "modifiers": modifiers}
        down = known | ({"text": text} if text else {})
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", **known)

    def click(self, x, y, times=1):
        """Click at a place of the window."""
        for number in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call(
                    "Input.dispatchMouseEvent",
                    type=kind,
                    x=x,
                    y=y,
                    button="left",
                    clickCount=number,
                )

    def move(self, x, y):
        """Move the mouse to a place of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def paper(self):
        """Return the page as it is printed, as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])


BENCH = "pfbench.benches[0]"
"""The first study of the page of a report."""

CHANGE = """((name, value) => {
  const input = document.querySelector(`.switches [name="${name}"]`);
  if (input.type === 'checkbox') input.click();
  else {
    input.value = value;
    for (const event of ['input', 'change']) input.dispatchEvent(new Event(event, {bubbles: true}));
  }
})"""


def change(browser, name, value=None):
    """Change a switch of the page of a report."""
    browser.run(f"{CHANGE}({json.dumps(name)}, {json.dumps(value)})")


def violations(browser):
    """Return what axe finds on the open page: the impact, the rule, and the first places."""
    if find_spec("axe_core_python") is None:
        pytest.skip("axe-core-python is not installed")
    axe = Path(find_spec("axe_core_python").origin).with_name("axe.min.js").read_text("utf-8")
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.wait("document.getAnimations().every((one) => one.playState !== 'running')")
    browser.run(f"{axe}; 0")
    return browser.run(
        "axe.run({resultTypes: ['violations']}).then((all) => all.violations"
        ".map((one) => [one.impact, one.id, one.nodes.slice(0, 3).map((node) => node.html)]))"
    )
