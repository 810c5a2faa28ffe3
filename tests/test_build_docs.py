"""The site of the documentation: links lead where the site has the file, and one that leads nowhere fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import build_docs
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
