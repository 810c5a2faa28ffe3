"""Units of measure, currencies and what else a figure can be of, under all the names that texts give them.

A unit has one or more readings: a dollar may be American or Canadian, a pound money or a weight. Two units go
together when they share a reading; within a dimension, figures are compared by exact factors.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

#: Numbers and units in German, French and Spanish.
ABROAD: dict[str, Any] = tomllib.loads(Path(__file__).with_name("abroad.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class UnitMeaning:
    """One thing that a unit can mean: so many of the base unit of a dimension."""

    dimension: str
    factor: Fraction = Fraction(1)


ORDINAL, VERSION = "ordinal", "version"  # what "3rd" and "v2.1" have for a unit

# Symbol, dimension, factor to the base unit (exact by definition), names. The case of a symbol counts.
_MEASURES = (
    ("m", "length", "1", "metre, metres, meter, meters"),
    ("km", "length", "1000", "Km, KM, kms, kilometre, kilometres, kilometer, kilometers, 公 里"),
    ("cm", "length", "0.01", "centimetre, centimetres, centimeter, centimeters"),
    ("mm", "length", "0.001", "millimetre, millimetres, millimeter, millimeters"),
    ("µm", "length", "0.000001", "micrometre, micrometres, micrometer, micrometers, micron, microns"),
    ("nm", "length", "0.000000001", "nanometre, nanometres, nanometer, nanometers"),
    ("mi", "length", "1609.344", "mile, miles"),
    ("nmi", "length", "1852", "nautical mile, nautical miles"),
    ("yd", "length", "0.9144", "yard, yards"),
    ("ft", "length", "0.3048", "foot, feet"),
    ("inch", "length", "0.0254", "inches"),
    ("ly", "length", "9460730472580800", "light year, light years, light-year, light-years"),
    ("m^2", "area", "1", "square metre, square metres, square meter, square meters, sq m, m2"),
    ("km^2", "area", "1000000", "square kilometre, square kilometres, square kilometer, square kilometers, "
     "sq km, km2"),
    ("ha", "area", "10000", "hectare, hectares"),
    ("acre", "area", "4046.8564224", "acres"),
    ("mi^2", "area", "2589988.110336", "square mile, square miles, sq mi"),
    ("ft^2", "area", "0.09290304", "square foot, square feet, sq ft, sqft"),
    ("m^3", "volume", "1", "cubic metre, cubic metres, cubic meter, cubic meters, m3"),
    ("km^3", "volume", "1000000000", "cubic kilometre, cubic kilometres, cubic kilometer, cubic kilometers"),
    ("ft^3", "volume", "0.028316846592", "cubic foot, cubic feet, cu ft"),
    ("L", "volume", "0.001", "l, litre, litres, liter, liters"),
    ("ml", "volume", "0.000001", "millilitre, millilitres, milliliter, milliliters"),
    ("g", "mass", "0.001", "gram, grams, gramme, grammes"),
    ("kg", "mass", "1", "Kg, KG, kgs, kilo, kilos, kilogram, kilograms, kilogramme, kilogrammes, 公 斤, "
     "千 克"),
    ("mg", "mass", "0.000001", "milligram, milligrams"),
    ("µg", "mass", "0.000000001", "microgram, micrograms, mcg"),
    ("lb", "mass", "0.45359237", "lbs"),
    ("oz", "mass", "0.028349523125", "ounce, ounces"),
    ("t", "mass", "1000", "tonne, tonnes, metric ton, metric tons"),
    ("short ton", "mass", "907.18474", "short tons"),
    ("long ton", "mass", "1016.0469088", "long tons"),
    ("s", "duration", "1", "sec, secs, second, seconds, secondi"),
    ("ms", "duration", "0.001", "millisecond, milliseconds"),
    ("min", "duration", "60", "mins, minute, minutes, minuti, دقيقة, دقائق, 分 钟"),
    ("h", "duration", "3600", "hr, hrs, hour, hours, ora, ore, ساعة, ساعات, 小 时"),
    ("day", "duration", "86400", "days, dia, dias, giorno, giorni, يوم, يوما, أيام, 天"),
    ("Werktag", "working days", "1", ""),
    ("week", "duration", "604800", "weeks, settimana, settimane, أسبوع, أسابيع, 周"),
    ("month", "months", "1", "months, mês, mese, mesi, شهر, أشهر, 个 月"),
    ("year", "months", "12", "years, yr, yrs, ano, anos, anno, anni, سنة, سنوات"),
    ("decade", "months", "120", "decades"),
    ("century", "months", "1200", "centuries"),
    ("km/h", "speed", "1000/3600", "kph, kmh, kilometres per hour, kilometers per hour, kilometres an hour"),
    ("mph", "speed", "0.44704", "MPH, mi/h, miles per hour, miles an hour"),
    ("m/s", "speed", "1", "metres per second, meters per second, metres a second, meters a second"),
    ("knot", "speed", "1852/3600", "knots"),
    ("m^3/h", "flow", "1/3600", "m3/h, cubic metres per hour, cubic meters per hour, cubic metres an hour, "
     "cubic meters an hour"),
    ("L/s", "flow", "0.001", "l/s, litres per second, liters per second, litres a second, liters a second"),
    ("L/min", "flow", "0.001/60", "l/min, litres per minute, liters per minute, litres a minute, "
     "liters a minute"),
    ("g/L", "concentration", "1", "g/l, g per litre, g per liter, grams per litre, grams per liter"),
    ("mg/L", "concentration", "0.001", "mg/l, mg per litre, mg per liter, milligrams per litre, "
     "milligrams per liter"),
    ("µg/L", "concentration", "0.000001", "µg/l, µg per litre, µg per liter, micrograms per litre, "
     "micrograms per liter"),
    ("°C", "temperature in degrees Celsius", "1", "degree celsius, degrees celsius, celsius, ℃"),
    ("°F", "temperature in degrees Fahrenheit", "1", "degree fahrenheit, degrees fahrenheit, fahrenheit, ℉"),
    ("kelvin", "temperature in kelvin", "1", "kelvins"),
    ("W", "power", "1", "watt, watts"),
    ("kW", "power", "1000", "kilowatt, kilowatts"),
    ("MW", "power", "1000000", "megawatt, megawatts"),
    ("GW", "power", "1000000000", "gigawatt, gigawatts"),
    ("hp", "power", "745.69987158227022", "horsepower"),
    ("J", "energy", "1", "joule, joules"),
    ("kJ", "energy", "1000", "kilojoule, kilojoules"),
    ("MJ", "energy", "1000000", "megajoule, megajoules"),
    ("kWh", "energy", "3600000", "kilowatt hour, kilowatt hours, kilowatt-hour, kilowatt-hours"),
    ("MWh", "energy", "3600000000", "megawatt hour, megawatt hours, megawatt-hour, megawatt-hours"),
    ("GWh", "energy", "3600000000000", "gigawatt hour, gigawatt hours, gigawatt-hour, gigawatt-hours"),
    ("kcal", "energy", "4184", "kilocalorie, kilocalories"),
    ("V", "voltage", "1", "volt, volts"),
    ("kV", "voltage", "1000", "kilovolt, kilovolts"),
    ("Hz", "frequency", "1", "hertz"),
    ("kHz", "frequency", "1000", "kilohertz"),
    ("MHz", "frequency", "1000000", "megahertz"),
    ("GHz", "frequency", "1000000000", "gigahertz"),
    ("Pa", "pressure", "1", "pascal, pascals"),
    ("kPa", "pressure", "1000", "kilopascal, kilopascals"),
    ("byte", "information", "1", "bytes"),
    ("kB", "information", "1000", "KB, kilobyte, kilobytes"),
    ("MB", "information", "1000000", "megabyte, megabytes"),
    ("GB", "information", "1000000000", "gigabyte, gigabytes"),
    ("TB", "information", "1000000000000", "terabyte, terabytes"),
    ("dB", "loudness", "1", "decibel, decibels"),
    ("%", "percent", "1", "percent, per cent, pct"),
    ("‰", "percent", "0.1", "per mille, permille"),
    ("percentage points", "percentage points", "1", "percentage point"),
    ("BC", "years before the common era", "1", "BCE, B.C., B.C.E."),
    ("AD", "years of the common era", "1", "CE, A.D., C.E."),
)  # fmt: skip
# Code, signs and names that mean this currency alone; a name of several currencies is in `_SHARED`.
_CURRENCIES = (
    ("USD", "US$, 美 元, US dollar, US dollars, U.S. dollar, U.S. dollars, American dollars"),
    ("CAD", "CA$, C$, Canadian dollar, Canadian dollars"),
    ("AUD", "AU$, A$, Australian dollar, Australian dollars"),
    ("NZD", "NZ$, New Zealand dollars"),
    ("HKD", "HK$, Hong Kong dollars"),
    ("SGD", "S$, Singapore dollars"),
    ("EUR", "€, euro, euros, 欧 元"),
    ("GBP", "£, pound sterling, pounds sterling, British pounds"),
    ("JPY", "yen, Japanese yen"),
    ("CNY", "RMB, yuan, renminbi, 元"),
    ("INR", "₹, Indian rupees"),
    ("KRW", "₩"),
    ("RUB", "₽, rouble, roubles, ruble, rubles"),
    ("BRL", "R$, Brazilian reais"),
    ("TRY", "₺, Turkish lira"),
    ("ILS", "₪, shekel, shekels"),
    ("UAH", "₴, hryvnia"),
    ("VND", "₫"),
    ("THB", "฿, baht"),
    ("NGN", "₦, naira"),
    ("PHP", "₱"),
    ("PLN", "zł, zloty, zlotys"),
    ("ZAR", ""),
    ("CHF", "Swiss francs"),
    ("SEK", "Swedish kronor"),
    ("NOK", "Norwegian kroner"),
    ("DKK", "Danish kroner"),
    ("MXN", "Mexican pesos"),
    ("ARS", ""),
    ("CLP", ""),
    ("COP", ""),
    ("FRF", ""),
    ("PKR", ""),
)
# A name that several units go by: symbol, what it may be, factor, names.
_SHARED = (
    ("$", "USD CAD AUD NZD HKD SGD", "1", "dollar, dollars"),
    ("cent", "USD CAD AUD NZD HKD SGD EUR", "1/100", "cents, ¢"),
    ("centime", "EUR CHF FRF", "1/100", ""),
    ("pence", "GBP", "1/100", "penny"),
    ("pound", "GBP lb", "1", "pounds"),
    ("¥", "JPY CNY", "1", ""),
    ("rupee", "INR PKR", "1", "rupees, Rs, Rs."),
    ("franc", "CHF FRF", "1", "francs"),
    ("krone", "SEK NOK DKK", "1", "kroner, krona, kronor, kr"),
    ("peso", "MXN ARS CLP COP PHP", "1", "pesos"),
    ("ton", "t,short ton,long ton", "1", "tons"),
    ("°", "°C,°F,angle", "1", "deg, degree, degrees"),
)
SIGNS = "$€£¥₹₩₽₺₪₴₫฿₦₱¢"
_BEFORE = ("US$", "CA$", "C$", "AU$", "A$", "NZ$", "HK$", "S$", "R$", *SIGNS, "Rs.", "Rs", "RMB")


def _tables() -> tuple[dict[str, tuple[UnitMeaning, ...]], dict[str, str]]:
    readings: dict[str, tuple[UnitMeaning, ...]] = {
        ORDINAL: (UnitMeaning(ORDINAL),),
        VERSION: (UnitMeaning(VERSION),),
        "angle": (UnitMeaning("angle"),),
    }
    names: dict[str, str] = {}
    for symbol, dimension, factor, aliases in _MEASURES:
        readings[symbol] = (UnitMeaning(dimension, _fraction(factor)),)
        names |= dict.fromkeys([symbol, *_split(aliases)], symbol)
    for code, aliases in _CURRENCIES:
        readings[code] = (UnitMeaning(code),)
        names |= dict.fromkeys([code, *_split(aliases)], code)
    for symbol, meanings, factor, aliases in _SHARED:
        several = meanings.split("," if "," in meanings else " ")
        readings[symbol] = tuple(
            UnitMeaning(reading.dimension, reading.factor * _fraction(factor))
            for name in several
            for reading in readings[name]
        )
        names |= dict.fromkeys([symbol, *_split(aliases)], symbol)
    for symbol, aliases in ABROAD["units"].items():
        names |= dict.fromkeys(_split(aliases), symbol)
    return readings, names


def _split(aliases: str) -> Iterator[str]:
    return (name.strip() for name in aliases.split(",") if name.strip())


def _fraction(factor: str) -> Fraction:
    above, _, below = factor.partition("/")
    return Fraction(above) / Fraction(below or 1)


READINGS, _NAMES = _tables()
_SPELLED = 3  # letters from which a name may be written in any case; shorter ones are symbols
_IN_ANY_CASE = {name.casefold(): symbol for name, symbol in _NAMES.items() if len(name) > _SPELLED}


def _pattern(name: str) -> str:
    if name == "an":  # a year, unlike "$5 an hour"
        return r"an(?= (?:(?:de|et|au|à|ou|par|pour|après|avant)\b|maxi|mini|d')|(?! ?[^\W_]))"
    if name == "l":  # litres, unlike "en 1887 l'église"
        return r"l(?! ?')"
    spaced = re.escape(name).replace(r"\ ", r"[\s-]\s?").replace(r"\^", r"\s?\^\s?").replace("°", r"°\s?")
    return f"(?i:{spaced})" if len(name) > _SPELLED else spaced


#: What may follow a figure as its unit: the longest name first, and no more letters or digits after one.
UNIT = re.compile(
    r"(?:" + "|".join(_pattern(name) for name in sorted(_NAMES, key=len, reverse=True)) + r")(?![^\W_]|\x01)"
)
UNIT_INITIALS = frozenset("".join({name[0].lower() + name[0].upper() for name in _NAMES}))
CODE_INITIALS = "".join(
    sorted({name[0] for name in ("AD", *_BEFORE, *dict(_CURRENCIES)) if name[0].isalpha()})
)
#: What may stand before a figure as its unit: signs of currencies and their codes.
CURRENCY = "(?:" + "|".join([*map(re.escape, _BEFORE), *(rf"{code}\b" for code, _ in _CURRENCIES)]) + ")"


def symbol_of(name: str) -> str:
    """Return the one symbol of a unit that a text gives some name; empty where the name is of none.

    >>> symbol_of("Kilometres"), symbol_of("US dollars"), symbol_of("per  cent"), symbol_of("ship")
    ('km', 'USD', '%', '')
    """
    close = " ".join(name.replace("° ", "°").replace(" ^", "^").replace("^ ", "^").split())
    for spelled in (close, close.casefold(), close.replace("-", " ").casefold()):
        symbol = _NAMES.get(spelled) or _IN_ANY_CASE.get(spelled)
        if symbol:
            return symbol
    return ""
