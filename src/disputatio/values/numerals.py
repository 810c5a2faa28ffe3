"""Figures as texts write them: sign, thousands and decimals, fraction, magnitude, unit before or after."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from disputatio.values import units
from disputatio.values.characters import LETTER, SPELLED
from disputatio.values.figures import Figure, plain
from disputatio.values.units import ORDINAL, READINGS, VERSION

_ONE = Fraction(1)
FIGURE_STARTS = frozenset(f"0123456789.-+vVrR{SPELLED}{units.SIGNS}{units.CODE_INITIALS}")
MOST_DIGITS = 40  # of one figure; a longer run of digits is a word

_FIGURE = re.compile(
    rf"(?P<sign>[-+])?(?P<before>(?:{units.CURRENCY}|AD\b)\s?)?(?P<inner>-)?{SPELLED}?"
    r"(?P<number>[0-9]{1,40}(?![0-9])(?:[.,'][0-9]{1,40}(?![0-9])){0,12}|(?<![0-9])\.[0-9]{1,40}(?![0-9]))"
)
_VERSION = re.compile(
    r"(?:(?:version|release|ver\.?)\s+v?|v\.?(?=[0-9]))(?P<number>[0-9]{1,40}(?:\.[0-9]{1,40}){1,12})",
    re.IGNORECASE,
)
_COMMAS = re.compile(r"[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}(?:\.[0-9]+)?")
_POINTS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]+)?")
_STROKES = re.compile(r"[0-9]{1,3}(?:'[0-9]{3})+(?:\.[0-9]+)?")
_COMMA_DECIMALS = re.compile(r"([0-9]+),([0-9]+)")
_FIRST = re.compile(r"[0-9]+(?:\.[0-9]+)?")
MAGNITUDES = {
    **{"hundred": 2, "thousand": 3, "lakh": 5, "lakhs": 5, "million": 6, "crore": 7, "crores": 7},
    **{"billion": 9, "trillion": 12, "quadrillion": 15, "mn": 6, "mln": 6, "bn": 9, "tn": 12},
    **{"tsd.": 3, "tausend": 3, "mio": 6, "mio.": 6, "mrd": 9, "mrd.": 9, "millions": 6, "millionen": 6},
    **{"milliard": 9, "milliards": 9, "milliarde": 9, "milliarden": 9, "millón": 6, "millones": 6},
    **{"百": 2, "千": 3, "万": 4, "萬": 4, "만": 4, "億": 8, "亿": 8, "억": 8, "兆": 12, "조": 12},
}
NAMED = "|".join(re.escape(name) for name in sorted(MAGNITUDES, key=len, reverse=True) if len(name) > 1)
_SIGNS = "".join(name for name in MAGNITUDES if len(name) == 1)
_MAGNITUDE = re.compile(
    rf"[\s-]?(?:(?P<name>{NAMED})(?!{LETTER})(?:\sde(?=\s)|\sd')?|(?P<sign>[{_SIGNS}]))",
    re.IGNORECASE,
)
_OF_MONEY = {"k": 3, "m": 6, "b": 9, "t": 12}
_MONEY = re.compile(rf"\s?(?P<name>[kmbt])(?!{LETTER}|[0-9])", re.IGNORECASE)
_POWER = re.compile(
    r"\s?[xX*]\s?10\s?\^\s?(?P<power>-?[0-9]{1,2})(?![0-9])|[eE](?P<exponent>[-+]?[0-9]{1,2})(?![0-9]|\.[0-9])"
)
_OVER = re.compile(rf"/(?P<below>[0-9]{{1,4}})(?![0-9/]|[.,][0-9]|{LETTER})")
_AND_PART = re.compile(r"\s(?P<above>[0-9]{1,2})/(?P<below>[0-9]{1,2})(?![0-9/]|[.,][0-9])")
_ENDING = re.compile(rf"(?:st|nd|rd|th)(?!{LETTER}|[0-9])", re.IGNORECASE)
_POINT_DECIMAL = re.compile(
    r"(?<![0-9.,])[0-9]+\.[0-9]{1,2}(?![0-9]|[.,][0-9])|(?<![0-9])[0-9]{1,3},[0-9]{3}(?:\.[0-9]|,[0-9]{3})"
)
# What has a point and is no decimal: a day (31.12.), or an hour (8.30 Uhr, 8.30 bis 12.00 Uhr).
_DAY_OR_HOUR = re.compile(
    r"(?<![0-9.,])(?:0?[1-9]|[12][0-9]|3[01])\.(?:0?[1-9]|1[0-2])\.(?![0-9])"
    r"|(?<![0-9.,])[0-2]?[0-9]\.[0-5][0-9](?:\s?(?:bis|[-–])\s?[0-2]?[0-9](?:\.[0-5][0-9])?)?\s?(?:Uhr|h)(?![^\W_])"
)
_THREE_DIGITS = re.compile(r"(?<![0-9.,])[0-9]{1,3}[.,][0-9]{3}(?![0-9]|[.,][0-9])")
_COMMA_DECIMAL = re.compile(
    r"(?<![0-9.,])[0-9]+,[0-9]{1,2}(?![0-9]|[.,][0-9])"
    r"|(?<![0-9.])[0-9]{1,3}\.[0-9]{3}(?:,[0-9]|\.[0-9]{3}(?!\.?[0-9]))"
)


@dataclass(frozen=True, slots=True)
class Written:
    """A figure, what magnitude its text gave it ("million"), and where it ends."""

    figure: Figure
    end: int
    magnitude: Fraction = _ONE


def decimal_comma(text: str) -> bool | None:
    """Return whether a text writes decimals with a comma; None where its figures do not tell.

    A comma before one or two digits is one also beside points (of a section, a version), unless three digits
    follow either, which may be thousands.

    >>> decimal_comma("1.234.567 Einwohner, 12,5 km"), decimal_comma("12.5 km"), decimal_comma("1.234")
    (True, False, None)
    >>> decimal_comma("nach 4.2 zahlt man 6,60 Euro"), decimal_comma("31.12.: 6,60; 1.234")
    (True, True)
    >>> decimal_comma("8.30 bis 12.00 Uhr: 1.234 m, 6,60"), decimal_comma("1,234 in 4.2, 6,60")
    (True, None)
    """
    comma = _COMMA_DECIMAL.search(text) is not None
    point = _POINT_DECIMAL.search(_DAY_OR_HOUR.sub(" ", text)) is not None
    if comma and point:
        return None if _THREE_DIGITS.search(text) else True
    return comma if comma or point else None


def figure_at(text: str, at: int, *, comma: bool, in_name: bool) -> Written | None:
    """Return the figure that begins at a place, with its sign; None for none or too many digits.

    `comma` says that the comma is the decimal mark. A figure within a name ("F16") has no unit.

    >>> print(figure_at("$3.5 million a year", 0, comma=False, in_name=False).figure)
    3500000 $
    """
    match = _FIGURE.match(text, at)
    if match is None:
        return None
    begin = match.start("number")
    digits, used = _digits(match["number"], comma)
    if len(digits) > MOST_DIGITS:
        return None
    end = begin + used
    if digits.count(".") > 1:
        return Written(Figure(Fraction(0), digits, "" if in_name else VERSION), end)
    spelled = text[begin - 1 : begin] == SPELLED
    value = Fraction(digits)
    ending = _ENDING.match(text, end) if digits.isdigit() else None
    if ending:
        return Written(Figure(value, digits, ORDINAL, spelled), ending.end())
    magnitude, unit = _ONE, ""
    if used == len(match["number"]) and digits.isdigit():
        value, digits, end = _with_fraction(text, value, digits, end)
    if not in_name:
        before = (match["before"] or "").strip()
        magnitude, scaled_end = _magnitude(text, end, of_money=before not in ("", "AD"))
        scaled = digits if magnitude is _ONE else plain(value * magnitude)
        if magnitude is not _ONE and "/" not in scaled and len(scaled) <= MOST_DIGITS:
            value, digits, end = value * magnitude, scaled, scaled_end
        else:
            magnitude = _ONE
        unit, end = _unit(text, end, before)
    if "-" in (match["sign"], match["inner"]):
        value, digits = -value, f"-{digits}"
    return Written(Figure(value, digits, unit, spelled), end, magnitude)


def version_at(text: str, at: int) -> Written | None:
    """Return the version that begins at a place, "v2.1" or "version 2.1"; it needs a point."""
    match = _VERSION.match(text, at)
    if match is None or len(match["number"]) > MOST_DIGITS:
        return None
    digits = match["number"]
    return Written(Figure(Fraction(digits if digits.count(".") < 2 else 0), digits, VERSION), match.end())


def _digits(written: str, comma: bool) -> tuple[str, int]:
    """Return the digits of a number with a point for its decimals, and how many characters they were.

    >>> _digits("1,234.5", False), _digits("1921,1922", False), _digits("1.234", True)
    (('1234.5', 7), ('1921', 4), ('1234', 5))
    """
    whole = len(written)
    if written[0] == ".":
        return f"0{written}", whole
    if _STROKES.fullmatch(written):
        return written.replace("'", ""), whole
    if _POINTS.fullmatch(written) and (comma or written.count(".") > 1 or "," in written):
        return written.replace(".", "").replace(",", "."), whole
    single_comma = written.count(",") == 1 and "." not in written
    if _COMMAS.fullmatch(written) and not (comma and single_comma):
        return written.replace(",", ""), whole
    if comma and _COMMA_DECIMALS.fullmatch(written):
        return written.replace(",", "."), whole
    if "," not in written and "'" not in written:
        return written, whole  # a decimal point, or a version with several
    first = _FIRST.match(written)
    return (first[0], first.end()) if first else (written, whole)


def _with_fraction(text: str, value: Fraction, digits: str, end: int) -> tuple[Fraction, str, int]:
    """Return a whole number with the fraction that it begins or that follows it: 1/2, 2 1/2."""
    over = _OVER.match(text, end)
    if over and len(digits) <= 4 and int(over["below"]):
        return value / int(over["below"]), f"{digits}/{over['below']}", over.end()
    part = _AND_PART.match(text, end)
    if part and len(digits) <= 3 and int(part["above"]) < int(part["below"]):
        value += Fraction(int(part["above"]), int(part["below"]))
        return value, plain(value), part.end()
    return value, digits, end


def _magnitude(text: str, end: int, *, of_money: bool) -> tuple[Fraction, int]:
    """Return what a number is to be multiplied by, as the text says after it, and where that ends."""
    factor = _ONE
    power = _POWER.match(text, end)
    if power:
        return Fraction(10) ** int(power["power"] or power["exponent"]), power.end()
    for _ in range(2):  # "10 thousand million"
        named = _MAGNITUDE.match(text, end)
        if named is None:
            break
        factor *= 10 ** MAGNITUDES[(named["name"] or named["sign"]).casefold()]
        end = named.end()
    short = _MONEY.match(text, end) if of_money and factor == 1 else None
    return (Fraction(10 ** _OF_MONEY[short["name"].casefold()]), short.end()) if short else (factor, end)


def _unit(text: str, end: int, before: str) -> tuple[str, int]:
    """Return the unit of a figure, which stands before or after it, and where that ends."""
    stated = units.symbol_of(before) if before else ""
    gap = text[end : end + 1] if text[end : end + 1] in (" ", "-") else ""
    start = end + len(gap)
    after = units.UNIT.match(text, start) if text[start : start + 1] in units.UNIT_INITIALS else None
    if after is None or (len(after[0]) == 1 and after[0].isalpha() and (gap == "-" or after[0] + gap == "s")):
        return stated, end  # 5-m and the 1960s are names
    symbol = units.symbol_of(after[0])
    if not stated:
        return symbol, after.end()
    if not set(READINGS[stated]) & set(READINGS[symbol]):
        return stated, end
    return min(stated, symbol, key=lambda name: len(READINGS[name])), after.end()
