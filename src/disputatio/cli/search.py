"""`disputatio search`: passages for a query, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from disputatio.cli.opening import open_for_search
from disputatio.cli.options import After, Before, Indexes, Json, Sources, read_pairs
from disputatio.cli.screen import Waiting, buffer_output, plain, say, wrap_beside, write_json
from disputatio.rendering.wording import ORDERS
from disputatio.text import bare_words, one_line, sentences, stem

if TYPE_CHECKING:
    from rich.console import Console

    from disputatio.protocols import Fusion
    from disputatio.types import Hit

_EXCERPT = 280  # characters of a passage that are shown


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words or a question.")],
    index: Indexes = None,
    k: Annotated[int, typer.Option("-k", metavar="N", help="How many passages.")] = 8,
    per_source: Annotated[
        int | None,
        typer.Option(metavar="N", help="The best N passages of every source that matches, not the best -k."),
    ] = None,
    source: Sources = None,
    after: After = None,
    before: Before = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=VALUE", help="Only passages with this metadata; may be repeated."),
    ] = None,
    min_reliability: Annotated[
        float | None, typer.Option(metavar="P", help="Only sources with at least this estimated reliability.")
    ] = None,
    alpha: Annotated[
        float, typer.Option(metavar="SHARE", help="Weight of the keyword score against that of meaning.")
    ] = 0.35,
    fusion: Annotated[
        str, typer.Option(metavar="HOW", help="weighted scores, or rrf: reciprocal rank fusion.")
    ] = "weighted",
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show whole passages, their ids and the score of each scorer.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find passages by keyword and meaning, without a model.

    The best come first, or the best of each source. Of several indexes, one that cannot be read is left out.
    """
    from disputatio.config import read_settings
    from disputatio.store.filtered import check_sources

    settings = read_settings(index=index, journal="none", replay=False)
    with Waiting() as waiting:
        opened = open_for_search(settings, waiting)
    check_sources(opened, source)
    hits = opened.search(
        query,
        k=k,
        alpha=alpha,
        fusion=cast("Fusion", fusion),  # the search refuses another name
        per_source=per_source,
        sources=source,
        after=after,
        before=before,
        where=read_pairs("--where", where or [], "FIELD=VALUE") or None,
        min_reliability=min_reliability,
    )
    unsearched = [index.to_dict() for index in opened.unsearched()]
    if as_json:
        rows = [{**hit.to_dict(), "duplicate_of": hit.duplicate_of or None} for hit in hits]
        write_json(rows if len(opened.paths) == 1 else {"hits": rows, "unsearched": unsearched})
        return
    for failed in unsearched:
        say(f"not searched: {failed['index']}: {failed['reason']}")
    with buffer_output() as out:
        for rank, hit in enumerate(hits, start=1):
            _show_hit(out, rank, hit, query, verbose=verbose)
        if not hits:
            out.print("no passage was found")


def excerpt(text: str, query: str, limit: int = _EXCERPT) -> str:
    """Return the end of a text from its best sentence for a query on, at most `limit` characters.

    >>> excerpt("It is old. The tower was lit by oil. It is open.", "who lit the tower?", limit=30)
    '… The tower was lit by oil. …'
    """
    sought = {stem(word) for word in bare_words(query)}
    spans = sentences(text) or [(0, len(text))]
    shared = [len(sought & {stem(word) for word in bare_words(text[start:end])}) for start, end in spans]
    first = shared.index(max(shared))
    last = first
    while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= limit:
        last += 1
    part = one_line(text[spans[first][0] : spans[last][1]])
    cut = len(part) > limit
    part = part[:limit].rstrip() if cut else part
    return ("… " if first else "") + part + (" …" if cut or last + 1 < len(spans) else "")


def _show_hit(out: Console, rank: int, hit: Hit, query: str, *, verbose: bool) -> None:
    passage = hit.passage
    page = f"page {passage.metadata['page']}" if passage.metadata.get("page") else ""
    about = " · ".join(filter(None, (passage.source or passage.id, passage.title, passage.date, page)))
    twin = "  (nearly the same as a better hit)" if hit.duplicate_of else ""
    label = plain(f"{rank:>2}  {hit.score:.3f}  ", "bold")
    orders = f"  ({ORDERS})" if passage.gives_orders else ""
    out.print(wrap_beside(label, plain(one_line(about) + twin + orders, "bold")))
    indent = " " * label.cell_len
    out.print(wrap_beside(indent, one_line(passage.text) if verbose else excerpt(passage.text, query)))
    if passage.url:
        out.print(wrap_beside(indent, passage.url, "dim"))
    if verbose:
        scores = ", ".join(f"{name} {score:.3f}" for name, score in hit.scores.items())
        twin = f", nearly the same as {hit.duplicate_of}" if hit.duplicate_of else ""
        out.print(wrap_beside(indent, f"{passage.id}: {scores}{twin}", "dim"))
