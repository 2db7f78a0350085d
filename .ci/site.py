"""Build the site: ``python .ci/site.py`` puts its pages together, runs mkdocs strictly, and follows every link.

Pages come from docs/ and from the root of the repository. Links that lead outside the site become links to there.
Notebooks are executed, and become pages; the gallery's reports are made by ``dagtune learn``.
"""

import base64
import html.parser
import os
import re
import shutil
import subprocess
import sys
import textwrap
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build/docs"
SITE = ROOT / "build/site"
REPOSITORY = "https://github.com/dagtune/dagtune/blob/main"
#: Wide tables scroll by themselves, so that a page fits a phone.
CSS = """
.md-grid { max-width: 70rem }
.md-typeset table:not([class]) { font-size: .68rem }
.scroll { overflow-x: auto }
@media (min-width: 45rem) { .md-typeset td:first-child code { word-break: normal } }
.scroll table { border-collapse: collapse; border: 0; font-size: .68rem }
.scroll td, .scroll th { border: 0; border-bottom: .05rem solid #8886; padding: .2rem .6rem }
.scroll td { text-align: right }
"""
#: Letters of code that fit a line of a page.
WIDTH = 84
#: Pages from outside docs/.
MORE = ["BENCHMARKS.md", "CHANGELOG.md", "CONTRIBUTING.md", "reproduction/REPRODUCTION.md"]
#: Reports of the gallery: title, what it shows, how the table is made, options of ``dagtune learn``.
GALLERY = {
    "small": ("Four variables", "simulated, with the true graph", "small", ["--truth", "small/graph.csv"]),
    "real": ("Sachs proteins", "real, beside the accepted graph and chance", None, ["--demo"]),
    "mixed": ("Mixed kinds", "numbers, counts, levels and categories", "mixed", ["--roots", "age,sex"]),
    "hundred": ("100 variables", "simulated, with the true graph", "hundred", ["--truth", "hundred/graph.csv"]),
}


def main() -> None:
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES, ignore=shutil.ignore_patterns("*.py", "*.ipynb"))
    sources = {PAGES / page.relative_to(ROOT / "docs"): page for page in (ROOT / "docs").rglob("*.md")}
    for name in MORE:
        sources[PAGES / name] = ROOT / name
        (PAGES / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, PAGES / name)
    for picture in (*(ROOT / "reproduction").glob("*.svg"), ROOT / "reproduction/REPRODUCTION.html"):
        shutil.copy(picture, PAGES / "reproduction")
    (PAGES / "site.css").write_text(CSS)
    notebooks()
    gallery()
    staged = {source.resolve(): target for target, source in sources.items()}
    for target, source in sources.items():
        text = (PAGES / "gallery.md").read_text() if target.name == "gallery.md" else source.read_text(encoding="utf-8")
        target.write_text(relinked(text, source, target, staged), encoding="utf-8")
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # the theme announces its successor; nothing about our pages
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"], cwd=ROOT, env=quiet, check=True)
    broken = follow_links()
    if broken:
        raise SystemExit("\n".join(["links that lead nowhere:", *broken]))
    print(f"{len(list(SITE.rglob('*.html')))} pages in {SITE.relative_to(ROOT)}, every link followed")


def relinked(text: str, source: Path, target: Path, staged: dict[Path, Path]) -> str:
    """The page with links that hold in the site."""

    def link(match: re.Match[str]) -> str:
        path, hash_, anchor = match[2].partition("#")
        if "://" in path or path.startswith("mailto:") or not path:
            return match[0]
        there = (source.parent / path).resolve()
        docs = ROOT / "docs"
        if there in staged:
            new = os.path.relpath(staged[there], target.parent)
        elif (target.parent / path).exists():
            new = path
        elif there.is_relative_to(docs) and (PAGES / there.relative_to(docs)).exists():  # a picture
            new = os.path.relpath(PAGES / there.relative_to(docs), target.parent)
        elif there.is_relative_to(ROOT) and there.exists():
            return f"{match[1]}({REPOSITORY}/{there.relative_to(ROOT)})"
        else:
            new = path
        return f"{match[1]}({new}{hash_}{anchor})"

    parts = re.split(r"(^```.*?^```)", text, flags=re.M | re.S)
    return "".join(part if part.startswith("```") else re.sub(r"(\])\(([^)\s]+)\)", link, part) for part in parts)


def notebooks() -> None:
    """Execute every notebook, and write it as a page with what it showed."""
    import nbformat
    from nbclient import NotebookClient

    (PAGES / "notebooks").mkdir(exist_ok=True)
    for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        book = nbformat.read(path, as_version=4)
        work = ROOT / "build/notebooks"
        work.mkdir(parents=True, exist_ok=True)
        quiet = ["--log-level=ERROR"]  # the kernel warns that it talks over TCP, with ourselves
        NotebookClient(book, timeout=600, extra_arguments=quiet, resources={"metadata": {"path": str(work)}}).execute()
        parts = []
        for number, cell in enumerate(book.cells):
            if cell.cell_type == "markdown":
                parts.append(cell.source)
                continue
            parts.append(f"```python\n{cell.source}\n```")
            for k, output in enumerate(cell.outputs):
                parts.append(shown(output, PAGES / f"notebooks/{path.stem}-{number}-{k}.png"))
        parts.append(f"[The notebook itself]({REPOSITORY}/docs/notebooks/{path.name})")
        (PAGES / f"notebooks/{path.stem}.md").write_text("\n\n".join(filter(None, parts)) + "\n", encoding="utf-8")


def shown(output: dict, picture: Path) -> str:
    """One output of a cell as Markdown: a picture, HTML, or text."""
    if output["output_type"] == "stream":
        return "" if output["name"] == "stderr" else f"```text\n{wrapped(output['text'])}\n```"
    data = output.get("data", {})
    if "image/png" in data:
        picture.write_bytes(base64.b64decode(data["image/png"]))
        return f"![what the cell shows]({picture.name})"
    if "text/html" in data:
        return '<div class="scroll">' + re.sub(r"\n\s*\n", "\n", data["text/html"]) + "</div>"
    return f"```text\n{wrapped(data.get('text/plain', ''))}\n```"


def wrapped(text: str) -> str:
    """Printed text, whose sentences fit a page; lines of tables stay as they are."""
    lines = []
    for line in text.rstrip().splitlines():
        inner = " " * (len(line) - len(line.lstrip()) + 4)
        sentence = len(line) > WIDTH and "  " not in line.strip()
        lines += textwrap.wrap(line, WIDTH, subsequent_indent=inner) if sentence else [line]
    return "\n".join(lines)


def gallery() -> None:
    """Reports as the command writes them, and the page that leads to them."""
    work = ROOT / "build/gallery"
    if "KEEP_GALLERY" not in os.environ:  # set it to keep the reports of the last build: they take most of the time
        shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    (PAGES / "gallery").mkdir(exist_ok=True)
    for name, size in {"small": (4, 4, 500, 3), "hundred": (100, 100, 200, 1)}.items():
        options = zip(("--nodes", "--edges", "--rows", "--seed"), map(str, size))
        run("simulate", "--out", name, *(word for option in options for word in option), "--force", at=work)
    mixed(work / "mixed")
    lines = []
    for name, (title, about, folder, options) in GALLERY.items():
        data = [] if folder is None else [f"{folder}/data.csv"]
        if not (work / f"out-{name}/report.html").exists():
            run("learn", *data, *options, "--out", f"out-{name}", at=work)
        shutil.copy(work / f"out-{name}/report.html", PAGES / f"gallery/{name}.html")
        shutil.copy(work / f"out-{name}/graph.png", PAGES / f"gallery/{name}.png")
        command = " ".join(["dagtune learn", *data, *options])
        lines.append(
            f"## {title}\n\n{about[0].upper()}{about[1:]}: `{command}`\n\n"
            f"[![The graph](gallery/{name}.png)](gallery/{name}.html)\n\n"
            f"[Open the report](gallery/{name}.html)"
        )
    page = PAGES / "gallery.md"
    page.write_text(page.read_text() + "\n" + "\n\n".join(lines) + "\n", encoding="utf-8")


def mixed(folder: Path) -> None:
    """A table of several kinds of columns."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    age, sex = rng.normal(50, 12, 500).round(1), rng.choice(["f", "m"], 500)
    visits = rng.poisson(np.exp((age - 50) / 20 + 0.5 * (sex == "f")))
    score = np.clip(np.round((age - 50) / 12 + rng.normal(size=500)), -2, 2).astype(int) + 3
    cost = (np.exp(3 + 0.3 * visits + rng.normal(0, 0.4, 500))).round(2)
    plan = np.where(cost + rng.normal(0, 40, 500) > np.median(cost), "full", "basic")
    folder.mkdir(exist_ok=True)
    table = {"age": age, "sex": sex, "visits": visits, "score": score, "cost": cost, "plan": plan}
    pd.DataFrame(table).to_csv(folder / "data.csv", index=False)


def run(*arguments: str, at: Path) -> None:
    code = "import sys; from dagtune.cli import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", code, *arguments, "--quiet"], cwd=at, check=True)


class Page(html.parser.HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {given[name] or "" for name in ("id", "name") if name in given}
        self.links += [given[name] or "" for name in ("href", "src") if given.get(name)]


def follow_links() -> list[str]:
    """Links within the site that lead nowhere, and where they stand."""
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in SITE.rglob("*.html")
        if path.parent.name != "gallery" and path.name not in ("404.html", "REPRODUCTION.html")
    }
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            anchor = urllib.parse.unquote(parts.fragment)
            if not there.exists() or (anchor and there in pages and anchor not in pages[there].anchors | {"__skip"}):
                broken.append(f"{path.relative_to(SITE)}: {link}")
    return sorted(set(broken))


if __name__ == "__main__":
    main()
