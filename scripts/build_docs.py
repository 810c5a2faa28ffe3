"""Build the documentation as a site in out/docs/site: pages, results, and a reference of the docstrings.

Run by `make docs`. A link within the repository leads to the page that has the file, else to the repository.
A link that leads nowhere fails the build, in the sources as in the site. Each page is there as Markdown, too;
`llms.txt` lists them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from scripts.benchmark_plots import write_plots

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "docs"
# Where files of the repository stand in the site: the longest beginning decides.
PLACES = {"docs": ".", "bench/results": "benchmarks"}
PAGES = {
    "docs/README.md": "index.md",
    "bench/README.md": "benchmarks/index.md",
    "train/README.md": "training.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}
SHOWN = {".md", ".svg", ".png"}
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")
NAV = [
    ("Home", ["index.md"]),
    ("Tutorial", ["tutorial.md"]),
    (
        "Notebooks",
        [
            f"notebooks/{name}.md"
            for name in (
                "first-answer",
                "your-folder",
                "contradictions",
                "compare-strategies",
                "bring-your-model",
            )
        ],
    ),
    ("How-to", "how-to"),
    ("Reference", "reference"),
    ("Explanation", "explanation"),
    ("Benchmarks", "benchmarks"),
    ("Papers", ["papers.md"]),
    ("Decisions", "decisions"),
    ("Research", "research"),
    (
        "Project",
        ["changelog.md", "upgrading.md", "contributing.md", "security.md", "conduct.md", "training.md"],
    ),
]


class CannotBuild(Exception):
    """The site cannot be built; the message says which page is wrong."""


def staged_name(file: str) -> str:
    """Return where a file of the repository stands in the site, empty if it does not.

    >>> staged_name("docs/README.md"), staged_name("bench/results/serve/soak.md"), staged_name("src/x.py")
    ('index.md', 'benchmarks/serve/soak.md', '')
    """
    if file in PAGES:
        return PAGES[file]
    if file.startswith("examples/notebooks/") and file.endswith(".ipynb"):
        return f"notebooks/{PurePosixPath(file).stem}.md"
    for start, place in PLACES.items():
        if file.startswith(f"{start}/") and PurePosixPath(file).suffix in SHOWN:
            return str(PurePosixPath(place) / file.removeprefix(f"{start}/"))
    return ""


def tracked() -> list[str]:
    """Return the files that git has."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    return [name for name in listed.stdout.split("\0") if name]


def rewritten(text: str, file: str, repository: str) -> str:
    """Return a page with its links as the site needs them; code is left as it is.

    Raises `CannotBuild` for a link to a file that is not there.
    """
    here = PurePosixPath(staged_name(file)).parent

    def link(match: re.Match[str]) -> str:
        label, address = match.groups()
        parts = urlsplit(address)
        if parts.scheme or not parts.path:
            return match[0]
        target = _normal(PurePosixPath(file).parent / unquote(parts.path))
        if not (ROOT / target).exists():
            raise CannotBuild(f"{file}: the link {address} leads nowhere")
        anchor = f"#{parts.fragment}" if parts.fragment else ""
        inside = f"{target}/README.md"
        staged = staged_name(target) or (staged_name(inside) if (ROOT / inside).is_file() else "")
        if staged:
            return f"{label}({_relative(staged, here)}{anchor})"
        return f"{label}({repository}/blob/main/{target}{anchor})"

    pieces = re.split(r"(^```.*?^```[^\n]*$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(piece if piece.startswith("```") else LINK.sub(link, piece) for piece in pieces)


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _relative(target: str, here: PurePosixPath) -> str:
    depth = [part for part in here.parts if part != "."]
    return "../" * len(depth) + target


def stage(repository: str) -> Path:
    """Write the sources of the site and return their folder."""
    source = OUT / "source"
    shutil.rmtree(OUT, ignore_errors=True)
    for file in tracked():
        name = staged_name(file)
        if name and (ROOT / file).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".md"):
                text = (ROOT / file).read_text(encoding="utf-8")
                text = notebook_page(text) if file.endswith(".ipynb") else text
                (source / name).write_text(rewritten(text, file, repository), encoding="utf-8")
            else:
                shutil.copy(ROOT / file, source / name)
    (source / "reference" / "api.md").write_text(api_page(), encoding="utf-8")
    write_plots(source / "benchmarks")
    return source


def notebook_page(text: str) -> str:
    """Return a notebook as Markdown: its code, and what that printed."""
    parts = []
    for cell in json.loads(text)["cells"]:
        code = "".join(cell["source"])
        parts.append(code if cell["cell_type"] == "markdown" else f"```python\n{code}\n```")
        for output in cell.get("outputs", ()):
            shown = "".join(output.get("text") or output.get("data", {}).get("text/plain", ()))
            parts.append(f"```text\n{shown.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def api_page() -> str:
    """Return the page that the docstrings of all public names are put into."""
    import disputatio

    names = sorted(set(disputatio.__all__) - {"__version__"}, key=str.casefold)
    return "# API\n\n" + "\n".join(f"::: disputatio.{name}" for name in names) + "\n"


def settings(source: Path) -> str:
    """Return the settings of the site generator; with the repository's address pages would ask its host."""
    nav = []
    for title, named in NAV:
        pages = [named] if isinstance(named, str) else named
        if isinstance(named, str):
            pages = sorted(str(page.relative_to(source)) for page in (source / named).rglob("*.md"))
        listed = ", ".join(f'"{page}"' for page in pages)
        nav.append(f'  {{ "{title}" = ' + (f'"{pages[0]}"' if len(pages) == 1 else f"[{listed}]") + " },")
    return "\n".join(
        [
            "[project]",
            'site_name = "Disputatio"',
            'site_description = "Answers questions over sources that disagree"',
            'docs_dir = "source"',
            'site_dir = "site"',
            "nav = [",
            *nav,
            "]",
            "[project.theme]",
            'language = "en"',
            'features = ["navigation.tabs", "navigation.top", "content.code.copy", "search.highlight"]',
            "font = false",
            "[project.plugins.mkdocstrings.handlers.python]",
            f'paths = ["{ROOT / "src"}"]',
            "[project.plugins.mkdocstrings.handlers.python.options]",
            "show_source = false",
            "heading_level = 2",
            "show_root_heading = true",
            "",
        ]
    )


class Links(HTMLParser):
    """The addresses that a page leads to, and the anchors that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 (its interface)
        """Keep `href`, `src` and `id`."""
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.addresses.append(value)
            if value and name in ("id", "name"):
                self.anchors.add(value)


def broken(site: Path) -> Iterator[str]:
    """Yield the links of the site's pages that lead to no file or no anchor of it."""
    parsed: dict[Path, Links] = {}
    for page in sorted(site.rglob("*.html")):
        parsed[page] = Links()
        parsed[page].feed(page.read_text(encoding="utf-8"))
    for page, links in parsed.items():
        if page.name == "404.html":
            continue
        for address in links.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{page.relative_to(site)}: {address}"
            elif (
                parts.fragment and target in parsed and unquote(parts.fragment) not in parsed[target].anchors
            ):
                yield f"{page.relative_to(site)}: {address} (no such place on the page)"


def write_markdown(source: Path, site: Path) -> None:
    """Put each page as Markdown into the site, and the list of them for language models."""
    lines = [
        "# Disputatio",
        "",
        "> Answers questions over sources that disagree: cited claims, positions, cost.",
        "",
    ]
    for page in sorted(source.rglob("*.md")):
        name = page.relative_to(source)
        shutil.copy(page, site / name)
        title = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        lines.append(f"- [{title[1] if title else name}]({name})")
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Build the site; raises `CannotBuild`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project["urls"]["Source"]
    source = stage(repository)
    (OUT / "zensical.toml").write_text(settings(source), encoding="utf-8")
    zensical = ROOT / ".venv-docs" / "bin" / "zensical"
    done = subprocess.run(
        [zensical, "build", "--clean", "--strict"],
        cwd=OUT,
        env=os.environ | {"NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CannotBuild(f"zensical build failed:\n{(done.stdout + done.stderr).strip()[-3000:]}")
    write_markdown(source, OUT / "site")
    if wrong := list(broken(OUT / "site")):
        raise CannotBuild("links that lead nowhere:\n" + "\n".join(wrong[:40]))
    print(f"docs: {len(list((OUT / 'site').rglob('*.html')))} pages in {OUT / 'site'}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except CannotBuild as error:
        sys.exit(f"docs: {error}")
