"""One profile for hypothesis (no deadlines: machines are noisy and numba compiles on first use), no network, a browser.

Nothing that is tested may reach beyond this machine. Reports are opened in Chromium by `make browser` (DAGTUNE_CHROMIUM
names another) with Playwright; without them the tests are skipped, or fail where DAGTUNE_BROWSER=required, as in CI.
DAGTUNE_SCREENSHOTS=FOLDER keeps pictures.
"""

import ipaddress
import os
import shutil
import socket
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("dagtune", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("dagtune")

_PLAIN = {"connect": socket.socket.connect, "connect_ex": socket.socket.connect_ex, "sendto": socket.socket.sendto}
_LOOK_UP = socket.getaddrinfo


def _refuse_others(host):
    """Only this machine: its names, loopback, and the addresses of its own cards (Dask's workers use them)."""
    if host in (None, "", "localhost", socket.gethostname()) or isinstance(host, int):
        return
    try:
        address = ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host)
    except ValueError:
        raise AssertionError(f"a test looked up {host!r}: dagtune works without a network") from None
    if not address.is_loopback and str(address) not in _own_addresses():
        raise AssertionError(f"a test reached out to {host!r}: dagtune works without a network")


def _own_addresses():
    import psutil

    return {each.address.partition("%")[0] for card in psutil.net_if_addrs().values() for each in card}


@pytest.fixture(autouse=True, scope="session")
def no_network():
    """Refuse sockets to other machines for the whole run."""
    patch = pytest.MonkeyPatch()

    def guarded(name):
        def call(self, *args):
            if self.family in (socket.AF_INET, socket.AF_INET6):
                _refuse_others(args[-1][0])
            return _PLAIN[name](self, *args)

        return call

    for name in _PLAIN:
        patch.setattr(socket.socket, name, guarded(name))

    def look_up(host, *args, **options):
        _refuse_others(host)
        return _LOOK_UP(host, *args, **options)

    patch.setattr(socket, "getaddrinfo", look_up)
    yield
    patch.undo()


def pytest_collection_modifyitems(items):
    """Processes that share out the tests must agree on their names: no address of an object may be part of one."""
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: the name changes from process to process; give it ids")


FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def lacking(what):
    """Skip on a user's machine, fail where the browser is required."""
    words = f"{what}: the report was not tried in a browser"
    if os.environ.get("DAGTUNE_BROWSER") == "required":
        pytest.fail(words)
    pytest.skip(words)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    named = os.environ.get("DAGTUNE_CHROMIUM")
    candidates = [named] if named else ["chromium", "chromium-browser", "google-chrome"]
    program = next(filter(None, map(shutil.which, candidates)), None)
    if program is None:
        lacking("no Chromium on this machine (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacking("Playwright is not installed (pip install 'dagtune[test]')")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"), executable_path=program, headless=True, args=FLAGS
        )
        context.set_default_timeout(10_000)
        yield context
        context.close()


@pytest.fixture
def opened(chromium):
    """A function that opens a file and hands out the page; at the end nothing may have gone wrong in it."""
    page = chromium.new_page()
    page.set_viewport_size({"width": 1366, "height": 860})
    page.emulate_media(reduced_motion="reduce")  # or a click may meet a page that still scrolls
    troubles, requests = [], []
    page.on("console", lambda message: message.type in ("error", "warning") and troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: (troubles.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: requests.append(request.url))

    def open_file(path):
        page.goto(Path(path).as_uri())
        page.wait_for_selector("#main:not([hidden])")
        return page

    yield open_file
    assert troubles == []
    assert all(url.startswith("file://") and url.endswith(".html") for url in requests), requests
    page.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def sachs(folder):
    """The proteins with everything the page can show."""
    from dagtune import OptimalTuning, datasets
    from dagtune.engine.dependence import measure_dependence
    from dagtune.report import write_report
    from dagtune.result import Check, Result

    proteins = datasets.load("sachs")
    X = np.log(proteins.X + 1).iloc[::20]
    learner = OptimalTuning(threads=1, random_state=0).fit(X)
    found = learner.result_
    checks = tuple(
        Check(name, tuple(found.parents(name)), 0.01 * k, 0.2 if k % 3 else 1e-4, bool(k % 3), "words")
        for k, name in enumerate(found.names)
    )
    result = Result(**{**found.__dict__, "checks": checks})
    finding = SimpleNamespace(code="ties", columns=("raf",), message="many ties", cure="none", severity="warning")
    path = write_report(
        folder / "sachs.html",
        result,
        data=X,
        dependence=measure_dependence(X, order=1, threads=1),
        confidence=learner.bootstrap(X, 10, n_jobs=1),
        audit=SimpleNamespace(rows=len(X), findings=(finding,)),
        truth=proteins.graph,
        title="Sachs proteins",
        command="dagtune learn --demo",
    )
    return result, path


@pytest.fixture(scope="session")
def forty(folder):
    """40 variables, 60 edges, without any extras."""
    from dagtune.report import write_report
    from reports import drawn

    result = drawn(40, 60)
    return result, write_report(folder / "forty.html", result, title="Forty")
