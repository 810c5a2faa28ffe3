"""Parts of texts that are no words: figures with their units, dates, and times of day.

Two of them can be the same though they are written otherwise, and one can say less than the other: a figure
without its unit, a year without its day, an hour without "am" or "pm".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import TypeAlias

from disputatio.values.units import ORDINAL, READINGS, VERSION

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH_NAMES = (
    "january jan januar jänner janvier enero gennaio janeiro يناير",
    "february feb februar feber février fevrier févr febrero febbraio fevereiro فبراير",
    "march mar märz maerz mrz mars marzo março مارس",
    "april apr avril avr abril aprile أبريل",
    "may mai mayo maggio maio مايو",
    "june jun juni juin junio giugno junho يونيو",
    "july jul juli juillet juil julio luglio julho يوليو",
    "august aug août aout agosto أغسطس",
    "september sep sept septembre septiembre settembre setembro سبتمبر",
    "october oct oktober okt octobre octubre ottobre outubro أكتوبر",
    "november nov novembre noviembre novembro نوفمبر",
    "december dec dezember dez décembre decembre déc diciembre dicembre dezembro ديسمبر",
)  # in English, German, French, Spanish, Italian, Portuguese and Arabic
MONTH_NAMES = {name: at for at, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
HALF_DAY = 12 * 3600  # seconds
_PLACES = 60  # decimals to which a fraction is written out


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its sign and unit; `written` are its digits, with a point and no thousands marks.

    `unit` is a symbol of `units.READINGS`, empty where none is stated. `spelled` says that the text has it in
    words ("ten").
    """

    value: Fraction
    written: str
    unit: str = ""
    spelled: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """Return the form in which it is read as the same figure again."""
        if self.unit == ORDINAL:
            return self.written + ordinal_ending(int(self.value))
        return f"v{self.written}" if self.unit == VERSION else f"{self.written} {self.unit}".rstrip()

    @property
    def is_literal(self) -> bool:
        """True if its digits are a name: "007", "v2.10"."""
        digits = self.written.lstrip("-")
        padded = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
        return padded or self.unit == VERSION or digits.count(".") > 1

    def same(self, other: Figure) -> bool:
        """Return whether both are one number of one thing; a unit that is missing contradicts none.

        >>> five = Figure(Fraction(5), "5")
        >>> five.same(Figure(Fraction(5), "5", "km")), five.same(Figure(Fraction(5000), "5000", "m"))
        (True, False)
        >>> Figure(Fraction(5), "5", "km").same(Figure(Fraction(5000), "5000", "m"))
        True
        """
        if self.unit and other.unit and self.unit != other.unit:
            return any(
                reading.dimension == another.dimension
                and self.value * reading.factor == other.value * another.factor
                for reading in READINGS[self.unit]
                for another in READINGS[other.unit]
            )
        fractions = "/" in self.written and "/" in other.written  # a day's half is not its second of four
        if fractions or self.is_literal or other.is_literal:
            return self.written == other.written
        return self.value == other.value


@dataclass(frozen=True, slots=True)
class Date:
    """A date as far as it is written; `turned` says that day and month may have changed places."""

    year: int | None
    month: int | None
    day: int | None = None
    turned: bool = False

    def __str__(self) -> str:
        """Return the form in which it is read as the same date again."""
        if self.turned:
            return f"{self.day}/{self.month}/{self.year}"
        month = MONTHS[self.month - 1].title() if self.month else ""
        return " ".join(str(part) for part in (self.day, month, self.year) if part)

    @property
    def readings(self) -> tuple[tuple[int | None, int | None, int | None], ...]:
        """Year, month and day, and turned where they may be."""
        whole = (self.year, self.month, self.day)
        return (whole, (self.year, self.day, self.month)) if self.turned else (whole,)

    def covers(self, other: Date) -> bool:
        """Return whether this date says all that the other does.

        >>> Date(1962, 5, 12).covers(Date(1962, 5)), Date(1962, 5).covers(Date(1962, 5, 12))
        (True, False)
        """
        return any(
            all(part in (None, day_part) for part, day_part in zip(less, more, strict=True))
            for more in self.readings
            for less in other.readings
        )


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day in seconds from midnight; without `half` ("am", "pm") as the clock shows it."""

    second: int
    half: str = ""

    def __str__(self) -> str:
        """Return the form in which it is read as the same time again."""
        hour, rest = divmod(self.second, 3600)
        shown = (hour - 1) % 12 + 1 if self.half else hour
        seconds = f":{rest % 60:02}" if rest % 60 else ""
        return f"{shown}:{rest // 60:02}{seconds} {self.half}".rstrip()

    def same(self, other: Time) -> bool:
        """Return whether both are one time; a missing "am" or "pm" contradicts neither.

        >>> Time(37800).same(Time(37800 + 43200, "pm")), Time(37800).same(Time(37800 + 43200))
        (True, False)
        """
        pairs = ((self, other), (other, self))
        if any(not bare.half and marked.half and bare.in_twelve for bare, marked in pairs):
            return self.second % HALF_DAY == other.second % HALF_DAY
        return self.second == other.second

    @property
    def in_twelve(self) -> bool:
        """True if a clock of twelve hours can show it."""
        return 1 <= self.second // 3600 <= 12


Item: TypeAlias = str | Figure | Date | Time


def same(left: Item, right: Item) -> bool:
    """Return whether two words or values are one, however they are written."""
    if isinstance(left, Figure):
        return isinstance(right, Figure) and left.same(right)
    if isinstance(left, Date):
        return isinstance(right, Date) and left.covers(right) and right.covers(left)
    if isinstance(left, Time):
        return isinstance(right, Time) and left.same(right)
    return left == right


def covers(whole: Item, part: Item) -> bool:
    """Return whether a word or value says all that another does: number and unit, day and year.

    >>> covers(Date(1962, 5, 12), Figure(Fraction(1962), "1962")), covers(Date(1962, 5, 12), "may")
    (True, True)
    >>> ten, dollars = Figure(Fraction(10), "10"), Figure(Fraction(10), "10", "$")
    >>> covers(dollars, ten), covers(ten, dollars)
    (True, False)
    """
    if isinstance(whole, Figure) and isinstance(part, Figure):
        return (bool(whole.unit) or not part.unit) and whole.same(part)
    if isinstance(whole, Date):
        if isinstance(part, Date):
            return whole.covers(part)
        if isinstance(part, Figure):
            return not part.unit and part.written == str(whole.year)
        return isinstance(part, str) and any(
            part == MONTHS[month - 1] for _, month, _ in whole.readings if month
        )
    if isinstance(whole, Time) and isinstance(part, Time):
        return (bool(whole.half) or not part.half or not whole.in_twelve) and whole.same(part)
    return whole == part


def calendar(year: int | None, month: int, day: int | None = None) -> Date | None:
    """Return a date, None where the calendar has none such."""
    try:
        date(year or 2000, month, day or 1)  # a leap year, so that 29 February may stand alone
    except ValueError:
        return None
    return Date(year, month, day)


def plain(value: Fraction) -> str:
    """Return a fraction in decimals where they end, else as a fraction.

    >>> plain(Fraction(5, 2)), plain(Fraction(-3)), plain(Fraction(1, 3))
    ('2.5', '-3', '1/3')
    """
    rest, places = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0 and power < _PLACES:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    digits = f"{abs(value) * 10**places}".rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def ordinal_ending(number: int) -> str:
    """
    >>> [ordinal_ending(number) for number in (1, 2, 3, 11, 22)]
    ['st', 'nd', 'rd', 'th', 'nd']
    """
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
