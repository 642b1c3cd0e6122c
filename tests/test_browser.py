"""Every notebook in a real JupyterLab in a real browser: all cells run, widgets answer, nothing leaves this machine.

Screenshots of each notebook are kept in tests/output/.
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import nbformat
import pytest

from notebooks import NOTEBOOKS, ROOT

pytestmark = pytest.mark.slow
OUTPUT = ROOT / "tests" / "output"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SWITCHES = [
    "--no-sandbox",  # the sandbox refuses to run as root
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
CELLS = """(() => {
    const model = window.jupyterapp.shell.currentWidget.content.model;
    return Array.from({length: model.cells.length}, (_, i) => model.cells.get(i).toJSON())
        .filter(cell => cell.cell_type === 'code' && cell.source.length);
})()"""
KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status"


def answer(address: str) -> int:
    try:
        with urllib.request.urlopen(address, timeout=2) as response:  # noqa: S310
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Start JupyterLab as `make lab` does, on a copy of the notebooks without outputs; give its address and token."""
    work = tmp_path_factory.mktemp("lab")
    (work / "root" / "notebooks").mkdir(parents=True)
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(notebook, work / "root" / "notebooks" / path.name)
    folders = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    environment = {**os.environ, **{f"JUPYTER_{name}": str(work / name) for name in folders}}
    environment |= {"JUPYTERLAB_WORKSPACES_DIR": str(work / "spaces"), "IPYTHONDIR": str(work / "ipython")}
    environment |= {"JUPYTERLAB_SETTINGS_DIR": str(work / "settings")}
    settings = work / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet), encoding="utf-8")
    token = secrets.token_hex(16)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}"]
    command += [
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={work / 'root'}",
        f"--IdentityProvider.token={token}",
    ]
    command += ["--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    with open(work / "log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        address = f"http://127.0.0.1:{port}"
        try:
            for _ in range(240):
                try:
                    answer(f"{address}/api")
                    break
                except OSError:
                    assert process.poll() is None, (work / "log").read_text(encoding="utf-8")
                    time.sleep(0.25)
            yield address, token
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: requirements-dev.txt")
    if CHROMIUM is None:
        pytest.skip("needs a Chromium on the path")
    with playwright.sync_playwright() as started:
        yield started.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)


def test_jupyterlab_lets_in_the_token_and_nobody_else(lab):
    address, token = lab
    assert answer(f"{address}/api/contents?token={token}") == 200
    assert answer(f"{address}/api/contents") == 403
    assert answer(f"{address}/api/contents?token=guess") == 403


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(lab, browser, path):
    address, token = lab
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    hosts, complaints = set(), []
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]) if "://" in request.url else None)
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(f"{address}/lab/tree/notebooks/{path.name}?token={token}&reset")  # without the tabs of before
    shown = f"window.jupyterapp?.shell.currentWidget?.context?.path.endsWith('{path.name}')"
    page.wait_for_function(f"{shown} && {KERNEL} === 'idle'", timeout=60_000)
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    failed = f"{CELLS}.flatMap(cell => cell.outputs).filter(output => output.output_type === 'error')"
    done = f"{failed}.length || ({CELLS}.every(cell => cell.execution_count) && {KERNEL} === 'idle')"
    page.wait_for_function(f"() => {done}", timeout=300_000)
    assert page.evaluate(f"() => {failed}.map(output => output.ename + ': ' + output.evalue)") == []
    for box in page.locator(".jp-OutputArea .widget-text input").all():
        after = try_text_box(page, box)
        assert after.startswith(("positive", "negative")) or not path.name.startswith("03")
    OUTPUT.mkdir(exist_ok=True)
    page.screenshot(path=OUTPUT / f"{path.stem}.png")
    assert not page.get_by_text("Error displaying widget").count()
    assert {host.split(":")[0] for host in hosts} == {"127.0.0.1"}
    assert not complaints
    page.close()


def try_text_box(page, box):
    """Type a headline: the answer below the box changes, and is returned."""
    output = page.locator(".jp-OutputArea .widget-output, .jp-OutputArea .jupyter-widgets.widget-output").last
    box.scroll_into_view_if_needed()
    before = output.inner_text()
    box.fill("Fire destroys village school again, nobody is safe")
    box.press("Enter")
    page.wait_for_timeout(1500)
    after = output.inner_text()
    assert after != before
    return after
