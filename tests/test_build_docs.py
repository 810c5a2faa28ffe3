"""The site of the documentation: links lead where the site has the file, and one that leads nowhere fails."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts import build_docs
from scripts.benchmark_plots import PLOTS, Figure, Plot, figures_of, svg, write_plots
from scripts.build_docs import CannotBuild, broken, rewritten, staged_name, tracked

REPOSITORY = "https://code.example/d"


def test_links_lead_to_the_page_of_the_site_or_to_the_repository() -> None:
    page = "docs/how-to/models.md"
    assert rewritten("[a](serve.md#b)", page, REPOSITORY) == "[a](../how-to/serve.md#b)"
    assert rewritten("[a](../../CONTRIBUTING.md)", page, REPOSITORY) == "[a](../contributing.md)"
    assert rewritten("[a](../../Makefile)", page, REPOSITORY) == f"[a]({REPOSITORY}/blob/main/Makefile)"
    assert rewritten("[a](https://x.example/b)", page, REPOSITORY) == "[a](https://x.example/b)"
    code = "```md\n[a](nowhere.md)\n```\n"
    assert rewritten(code, page, REPOSITORY) == code


def test_a_link_that_leads_nowhere_is_told_with_its_page() -> None:
    with pytest.raises(CannotBuild, match=r"docs/README\.md: the link gone\.md leads nowhere"):
        rewritten("[a](gone.md)", "docs/README.md", REPOSITORY)


@pytest.mark.long
def test_every_page_of_the_documentation_can_be_staged() -> None:
    pages = [file for file in tracked() if file.endswith(".md") and staged_name(file)]
    assert len(pages) > 80
    for file in pages:
        rewritten((build_docs.ROOT / file).read_text(encoding="utf-8"), file, REPOSITORY)


def test_a_link_of_the_site_to_no_file_or_place_is_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text('<a href="a/#here">1</a><a href="a/#gone">2</a><img src="no.png">')
    (tmp_path / "a" / "index.html").write_text('<h2 id="here"><a href="../">up</a></h2>')
    assert list(broken(tmp_path)) == ["index.html: a/#gone (no such place on the page)", "index.html: no.png"]


def test_a_notebook_is_a_page_with_its_code_and_what_that_printed() -> None:
    file = "examples/notebooks/first-answer.ipynb"
    assert staged_name(file) == "notebooks/first-answer.md"
    page = build_docs.notebook_page((build_docs.ROOT / file).read_text(encoding="utf-8"))
    assert page.startswith("# A first answer\n")
    assert "```python\nimport disputatio as d\n" in page
    assert "```text\naccepted: May 1921" in page
    assert "(../notebooks/your-folder.md)" in rewritten(page, file, REPOSITORY)


def test_each_page_is_there_as_markdown_and_named_for_language_models(tmp_path: Path) -> None:
    source, site = tmp_path / "source", tmp_path / "site"
    for name, title in (("index.md", "Home"), ("how-to/serve.md", "Serve an index")):
        for folder in (source, site):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(f"# {title}\n")
    build_docs.write_markdown(source, site)
    assert (site / "how-to" / "serve.md").read_text() == "# Serve an index\n"
    assert "- [Serve an index](how-to/serve.md)" in (site / "llms.txt").read_text()


# --- plots ----------------------------------------------------------------------------------------
TABLE = """## Rows

Words | with a bar are no table.

| strategy | n | EM |
|---|---:|---:|
| ours | 1,204 | 40.0 [30.0, 50.0] |
| other & more | 7 | 20 |

| strategy | n | EM |
|---|---:|---:|
| elsewhere | 1 | 99 |

## Others

| strategy | EM |
|---|---:|
| x | 1 |
"""


def test_a_column_of_the_first_table_of_a_section_is_read() -> None:
    assert figures_of(TABLE, "Rows", "EM") == [Figure("ours", 40, 30, 50), Figure("other & more", 20)]
    assert figures_of(TABLE, "Rows", "n")[0] == Figure("ours", 1204)
    assert figures_of(TABLE, "Nowhere", "EM") == figures_of(TABLE, "Rows", "F1") == []


def test_a_plot_has_a_mark_for_each_row_and_loads_nothing() -> None:
    drawn = ElementTree.fromstring(
        svg(figures_of(TABLE, "Rows", "EM"), Plot("a/b", "Rows", "EM", "A < B", "%"))
    )
    circles = [each for each in drawn if each.tag.endswith("circle")]
    low, high = (float(circle.attrib["cx"]) for circle in circles[::-1])
    assert (high - 200) == pytest.approx(2 * (low - 200))
    assert {each.tag.rpartition("}")[2] for each in drawn} == {"title", "path", "text", "circle"}


@pytest.mark.long
def test_most_plots_have_their_figures_at_this_commit(tmp_path: Path) -> None:
    write_plots(tmp_path)
    page = (tmp_path / "plots.md").read_text(encoding="utf-8")
    drawn = list((tmp_path / "plots").glob("*.svg"))
    assert len(drawn) == page.count("![") > len(PLOTS) / 2
    assert all((build_docs.ROOT / "bench" / "results" / f"{plot.page}.md").is_file() for plot in PLOTS)


def test_a_script_that_is_run_by_its_path_imports_no_other_script() -> None:
    """Run so, its folder and not the checkout is searched for modules."""
    makefile = (build_docs.ROOT / "Makefile").read_text(encoding="utf-8")
    by_path = re.findall(r"python (scripts/\w+\.py)", makefile)
    assert by_path and "-m scripts.build_docs" in makefile
    for script in by_path:
        text = (build_docs.ROOT / script).read_text(encoding="utf-8")
        assert not re.search(r"^\s*(from|import) scripts\b", text, re.MULTILINE), script
