"""The HTML report in a browser: every panel drawn, no error, nothing fetched."""
import base64
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
               None)
pytestmark = [
    pytest.mark.skipif(not os.environ.get("CEBUS_PROGRAM"), reason="there is no program cebus"),
    pytest.mark.skipif(BROWSER is None, reason="chromium is not installed"),
]

PROGRAM = """
import sys
import cebus
cebus.configure("cpu", threads=1)
cebus.manual_seed(0)
cebus.set_budget("6MiB")
model = cebus.models.GPT(vocabulary=32, length=48, width=48, depth=4, heads=4, dropout=0.1)
optimizer = cebus.optim.AdamW(model.parameters(), lr=3e-3)
with cebus.record() as run:
    for step in range(3):
        line = (cebus.arange(48 * 16).reshape(16, 48) * 3 + step) % 29
        loss = model.loss(line[:, :-1], line[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
run.report(sys.argv[1])
"""
# Before the page's own script: keeps errors. After it: looks at the panels.
WATCH = """<script>
window.problems = [];
window.addEventListener('error', (e) => problems.push(String(e.message)), true);
for (const kind of ['error', 'warn'])
  console[kind] = (...words) => problems.push(words.join(' '));
</script>"""
LOOK = """<script>
window.addEventListener('load', () => setTimeout(() => {
  const colours = [...document.querySelectorAll('canvas')].map((canvas) => {
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4)
      seen.add(data[i] << 24 | data[i + 1] << 16 | data[i + 2] << 8 | data[i + 3]);
    return seen.size;
  });
  document.documentElement.dataset.found = btoa(JSON.stringify({
    problems, colours, panels: document.querySelectorAll('main section').length,
    rows: [...document.querySelectorAll('tbody')].map((body) => body.rows.length),
    fetched: performance.getEntriesByType('resource').map((entry) => entry.name)}));
}, 50));
</script>"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "run.html"
    subprocess.run([sys.executable, "-c", PROGRAM, str(path)], check=True, timeout=120)
    return path


def browse(path, *arguments):
    """The page's document once its script has run, and what the browser says."""
    profile = path.parent / "profile"
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND",
         f"--user-data-dir={profile}", "--enable-logging=stderr", "--log-level=0",
         "--window-size=1200,1000", "--virtual-time-budget=10000", *arguments, "--dump-dom",
         path.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, done.stderr


def test_the_page_opens_without_a_word(report):
    page, said = browse(report, f"--screenshot={report.parent / 'page.png'}")
    assert re.search(r'<html[^>]* data-ready="3"', page)
    assert "CONSOLE" not in said
    assert (report.parent / "page.png").stat().st_size > 20000


def test_every_panel_is_drawn_and_nothing_is_fetched(report):
    text = report.read_text(encoding="utf-8")
    probed = report.with_name("probed.html")
    text = text.replace("<head>", "<head>" + WATCH, 1)
    probed.write_text(text.replace("</body>", LOOK + "</body>"), encoding="utf-8")
    page, _ = browse(probed)
    coded = re.search(r'data-found="([^"]*)"', page)
    assert coded, "the probe did not run"
    found = json.loads(base64.b64decode(coded.group(1)))
    assert found["problems"] == [] and found["fetched"] == []
    assert len(found["colours"]) == 3 and min(found["colours"]) > 4, found
    assert found["panels"] >= 5 and found["rows"] and min(found["rows"]) > 0, found
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text)


def test_an_error_in_the_page_would_be_noticed(report):
    broken = report.with_name("broken.html")
    text = report.read_text(encoding="utf-8")
    broken.write_text(text.replace("</body>", "<script>nothing.there();</script></body>"),
                      encoding="utf-8")
    _, said = browse(broken)
    assert "CONSOLE" in said and "nothing is not defined" in said
