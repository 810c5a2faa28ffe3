"""The content of an answer: its words and values in a canonical form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import zip_longest
from typing import Literal, TypeAlias

from disputatio.values.figures import Date, Figure, Item, Time
from disputatio.values.numerals import decimal_comma
from disputatio.values.reading import APART, GLUED, LINKED, RANGE, JoinedItem, read
from disputatio.values.units import ORDINAL, VERSION

SHORT = 300  # characters of a text that is kept with many others once it was read
Kind: TypeAlias = Literal["number", "quantity", "ordinal", "version", "range", "date", "time", "words"]

_HOLE = "\x00"  # stands for a value between the words of an answer


@dataclass(frozen=True, slots=True)
class ItemSequence:
    """Words and values in order, and where a part of them may begin and end: not within "F16" or "1960s"."""

    items: tuple[Item, ...]
    opens: tuple[bool, ...]
    closes: tuple[bool, ...]


@dataclass(frozen=True)
class Value:
    """The content of an answer: its tokens, in a form that does not depend on how it was written."""

    tokens: tuple[JoinedItem, ...]

    def __str__(self) -> str:
        """Return the canonical form, which is read as the same value again."""
        return self.text

    @cached_property
    def text(self) -> str:
        """The canonical form, which is read as the same value again."""
        return "".join(_written(self.tokens))

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Words and values, hyphenated words apart."""
        return tuple(token.item for token in self.tokens)

    @cached_property
    def values(self) -> tuple[Figure | Date | Time, ...]:
        """The figures, dates and times, in order."""
        return tuple(item for item in self.items if not isinstance(item, str))

    @cached_property
    def frame(self) -> str:
        """The words without spaces, with a mark in place of each value: equal in answers that are one."""
        return "".join(item if isinstance(item, str) else _HOLE for item in self.items)

    @property
    def kind(self) -> Kind:
        """The form of the whole answer: one value, a range of two, or words, with or without values."""
        if len(self.items) == 3 and self.items[1] == RANGE and len(self.values) == 2:
            return "range"
        if len(self.items) != 1 or isinstance(self.items[0], str):
            return "words"
        item = self.items[0]
        if isinstance(item, Figure):
            names: dict[str, Kind] = {ORDINAL: "ordinal", VERSION: "version", "": "number"}
            return names.get(item.unit, "quantity")
        return "date" if isinstance(item, Date) else "time"

    @property
    def number(self) -> Fraction | None:
        """The number, where the whole of the answer is one; with its sign, its magnitude worked in."""
        item = self.items[0] if len(self.items) == 1 else None
        return item.value if isinstance(item, Figure) else None

    @property
    def unit(self) -> str:
        """The symbol of its unit, where the whole of the answer is one figure that has one."""
        item = self.items[0] if len(self.items) == 1 else None
        return item.unit if isinstance(item, Figure) else ""

    @cached_property
    def dates(self) -> tuple[Date, ...]:
        """The dates, in order."""
        return tuple(item for item in self.items if isinstance(item, Date))

    @cached_property
    def views(self) -> tuple[ItemSequence, ...]:
        """The ways to divide it into words: hyphenated words apart and, where there are any, as one."""
        apart = ItemSequence(
            items=self.items,
            opens=(True, *(token.joint != GLUED for token in self.tokens[:-1])),
            closes=tuple(token.joint != GLUED for token in self.tokens),
        )
        together = _join_linked(self.tokens)
        return (apart,) if together is None else (apart, together)

    def __bool__(self) -> bool:
        return bool(self.tokens)


def canonical(answer: str, *, comma: bool | None = None) -> Value:
    """Return what an answer says, in a form that does not depend on how it was written.

    `comma` says that the comma is the decimal mark; None lets the text's own figures tell, and where they do
    not ("1.234"), the comma parts thousands and the point decimals.

    >>> str(canonical("$3.50 Million")), str(canonical("May 12th, 1962")), str(canonical("The AC/DC!"))
    ('3500000 $', '12 May 1962', 'ac-dc')
    >>> canonical("-5 °C").kind, canonical("-5 °C").number, canonical("-5 °C").unit
    ('quantity', Fraction(-5, 1), '°C')
    """
    return _read_short(answer, comma) if len(answer) <= SHORT else _read_long(answer, comma)


def _read(text: str, comma: bool | None) -> Value:
    tokens = read(text, comma=bool(decimal_comma(text) if comma is None else comma))
    bare = " ".join(text.split()).casefold()  # "!!!" is a name too
    return Value(tokens or ((JoinedItem(bare),) if bare else ()))


_read_short = lru_cache(maxsize=20_000)(_read)
_read_long = lru_cache(maxsize=200)(_read)


def _join_linked(tokens: Sequence[JoinedItem]) -> ItemSequence | None:
    """Return tokens with linked words as one word, None where none are."""
    items: list[Item] = []
    opens: list[bool] = []
    closes: list[bool] = []
    before: JoinedItem | None = None
    for token in tokens:
        closing = token.joint != GLUED
        if (
            before is not None
            and before.joint == LINKED
            and isinstance(token.item, str)
            and isinstance(items[-1], str)
        ):
            items[-1] += token.item
            closes[-1] = closing
        else:
            items.append(token.item)
            opens.append(before is None or before.joint != GLUED)
            closes.append(closing)
        before = token
    return ItemSequence(tuple(items), tuple(opens), tuple(closes)) if len(items) < len(tokens) else None


def _written(tokens: Sequence[JoinedItem]) -> Iterator[str]:
    """Yield the parts of the canonical form, which reads as the same tokens again."""
    linked = True
    for token, following in zip_longest(tokens, tokens[1:]):
        item = token.item
        if item == "a" and not linked and following is not None and token.joint == APART:
            yield "A"  # no article
        elif isinstance(item, str) and item.endswith("-"):
            yield item.upper()  # a mark or a blood group
        else:
            yield str(item)
        linked = token.joint != APART
        if following is None:
            return
        if token.joint == LINKED:
            yield "-" if isinstance(item, str) or isinstance(following.item, str) else "&"
        elif token.joint == APART:
            words = isinstance(item, str) and isinstance(following.item, str)
            yield " " if words and item != "one" else "; "  # "one km" would be a figure
