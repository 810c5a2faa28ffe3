"""Kinds of values: what a question asks for, and whether an answer is of that kind.

Told from words and units alone, in English, German, French and Chinese, some Spanish; what is not told refuses no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, TypeAlias

from disputatio.reliability.similarity import content_stems
from disputatio.text import bare_words, find_asking_part
from disputatio.values import canonical
from disputatio.values.figures import Date, Figure, Time
from disputatio.values.units import ORDINAL, READINGS, VERSION, symbol_of

Kind: TypeAlias = Literal[
    "money", "mass", "length", "area", "volume", "duration", "speed", "temperature", "percent", "count",
    "number", "amount", "frequency", "date", "person", "place", "other",
]  # fmt: skip

_DIMENSIONS: dict[str, Kind] = {
    "mass": "mass", "length": "length", "area": "area", "volume": "volume", "speed": "speed", "percent": "percent",
    "duration": "duration", "months": "duration", "working days": "duration",
}  # fmt: skip
_MEASURES: frozenset[Kind] = frozenset(
    ("money", "mass", "length", "area", "volume", "duration", "speed", "temperature", "percent")
)


def _asks(kind: str, words: str) -> tuple[re.Pattern[str], frozenset[Kind]]:
    return re.compile(words, re.IGNORECASE), frozenset(kind.split())  # type: ignore[arg-type]


_THE = (
    r"\b(?:what|what's|which|how high)\s+(?:(?:is|are|was|were|will\s+be|does|did)\s+)?(?:[\w'’-]+\s+){0,4}?"
)
_OF = r"\b(?!\s+(?:unit|group|list|date|year|day|number|code|class|band|type|model|policy)\b)"
# The first that fits counts.
_QUESTIONS = (
    _asks("frequency", r"^(?!\W*(?:who|whom|whose|when|where|which|what|wer|wen|wem|wann|wo|was|welche[rsmn]?|qui|quand|où|quel(?:le)?s?)\b)(?s:.*?)(?:\bhow\s+(?:often|frequently|many\s+times)\b|\bwie\s+(?:oft|häufig|viele?\s?male?)\b|\b(?:combien\s+de\s+fois|à\s+quelle\s+fréquence)\b)"),
    _asks("percent", r"\b(?:what|which)\s+(?:percentage|per\s?cent)\b|\bhow\s+many\s+per\s?cent|wie\s?viele?\s+prozent|\bquelle\s+(?:part|proportion)\b|\bwelcher\s+(?:prozents|ant)|百分之几|百分比"),
    _asks("mass", r"\bhow\s+(?:heavy\b|much\s+(?:[\w'’-]+\s+){1,8}weighs?\b)|\bwie\s+schwer\b|\bcombien\s+pès|\bquel\s+poids\b|多重|重量|重多少"),
    _asks("money percent", r"\bhow\s+much\s+(?:[\w'’-]+\s+){1,8}(?:costs?|paid|pay|pays|charged?|earns?|owed?)\b"),
    _asks("money percent", r"\bwhat\s+(?:do|does|did|will|would)\s+(?:[\w'’-]+\s+){1,8}costs?\b|\bwas\s+kostet|\bcombien\s+co[uû]t|\bquel(?:le)?\s+(?:est\s+)?(?:le\s+|la\s+|l['’])?(?:prix|tarif|co[uû]t|montant|loyer|salaire|amende|cotisation|caution)\b|\bcombien\s+d['’]argent\b|\bcuánto\s+cuesta"),
    _asks("money percent", r"\bhow\s+(?:much\s+money|expensive)\b|\bwie\s?viel\s+kostet|\bwie\s+teuer\b|多少钱|多少元|combien\s+co[uû]te|\bcombien\s(?!d[e'’]).{0,80}\b(?:payer|paie|paye|vaut)\b"),
    _asks("duration", r"\bhow\s+long\s+(?:does|did|will|would)\s+it\s+take\b"),
    _asks("length duration date", r"\bhow\s+long\s+(?:must|should|can|may|does|do|will)\b[^?.;]{0,60}\bbe\b(?!\s+(?:\w{2,20}(?:ed|en|pt)|away|closed|open|valid|in|on|under)\b)|\bwie\s+lang\b"),
    _asks("duration date", r"\bhow\s+long\s+(?:does|do|did|must|can|may|should|will|has|have|had)\b|\bwie\s+lange?\b|\bcombien\s+de\s+temps\b|\bcuánto\s+tiempo\b|多久|多长时间|几天|多少天"),
    _asks("duration date", r"\bhow\s+long\s+(?:is|are|was|were)\b.{0,80}\b(?:valid|open|closed|available|in\s+force|kept)\b"),
    _asks("length duration", r"\bhow\s+long\b|多长"),
    _asks("length", r"\bhow\s+(?:tall|wide|deep|thick)\b(?!.{0,60}\b(?:angles?|beams?|views?)\b)|\bwie\s+(?:breit|tief|dick)\b|\bquelle\s+(?:est\s+)?(?:la\s+|l['’])?(?:largeur|profondeur|distance|épaisseur|altitude)\b|多高|多宽"),
    _asks("length money percent", r"\bquelle\s+(?:est\s+la\s+)?hauteur\b"),
    _asks("length duration", r"\bquelle\s+(?:est\s+la\s+)?longueur\b"),
    _asks("duration date", r"\bquel(?:le)?\s+(?:est\s+)?(?:la\s+|le\s+)?(?:durée|délai|préavis)\b|\bwelche\s+(?:dauer|frist)\b"),
    _asks("date duration", r"\bhow\s+far\s+back\b"),
    _asks("length duration", r"\bhow\s+far\b|\bwie\s+weit\b|多远"),
    _asks("speed duration", r"\bhow\s+fast\b|\bwie\s+schnell\b"),
    _asks("duration date count", r"\bhow\s+old\b|\bwie\s+alt\b|\bquel\s+âge\b|\bwelchem\s+alter\b"),
    _asks("date", r"\b(?:what|which)\s+(?:date|year|day|month|century)\b|\bwann\b|\bwelche[rsmn]?\s+(?:tag|tage|datum|jahr|monat|jahrhundert)\b|\bquel(?:le)?s?\s+(?:jours?|date|année|mois|siècle)\b|^\W*(?:(?:jusqu['’]à|à\s+partir\s+de|depuis|dès|pour)\s+)?quand\b|\bcuándo\b|\bqué\s+(?:día|fecha|año)\b|什么时候|何时|哪一?年|哪一?天|几月"),
    _asks("date", r"^\W*(?:since\s+|until\s+)?when\b(?!\s+(?:is|are)\s+it\s+(?:ok|allowed))"),
    _asks("money percent", _THE + r"(?:price|salary|wage|fee|fare|rent|budget|revenue|turnover|sales|profit|income|earnings|spending\s+limit)" + _OF),
    _asks("money percent", r"\b(?:wie\s+hoch|was|welche[rs]?)\b.{0,40}?\b\w{0,20}(?:preis|gehalt|gebühr|kosten|miete)\b|价格|费用|工资|薪水"),
    _asks("mass", _THE + r"(?:weight|mass)" + _OF + r"|\bgewicht\b"),
    _asks("length", _THE + r"(?:height|width|depth|distance|diameter|thickness|altitude)" + _OF),
    _asks("length duration", _THE + r"length" + _OF),
    _asks("temperature", _THE + r"temperature" + _OF),
    _asks("speed", _THE + r"speed" + _OF),
    _asks("duration date", _THE + r"(?:duration|notice\s+period|warranty\s+period|retention\s+period|battery\s+life)" + _OF),
    _asks("count", _THE + r"(?:population|number\s+of)\b|\bquel\s+(?:est\s+le\s+)?nombre\b"),
    _asks("number", r"\bhow\s+much\b|\bwie\s?viel\b|多少"),
    _asks("person", r"^\W*(?:who|whom|whose|wer|wen|wem)\b|谁"),
    _asks("place", r"^\W*(?:where|wo|wohin)\b|哪里|在哪"),
    _asks("amount", r"^\W*(?:\w{2,20}\s+)?wie\s+hoch\b"),
)  # fmt: skip
_HOW_MANY = re.compile(
    r"\b(?:how\s+many\s+|wie\s?viel(?:en?)?\s+|combien\s+d(?:e\s+|['’])|cuánt[oa]s?\s+)(?P<first>[^\W\d_]+)(?:\s+(?P<second>[^\W\d_]+))?",
    re.IGNORECASE,
)
_PER_CENT = re.compile(r"per\s?cent\b", re.IGNORECASE)  # no cents
_DEGREES = re.compile(r"degrees?|degrés?|grade?", re.IGNORECASE)  # of heat, of a slope, of a wine
_LABELLED = re.compile(
    r"(?:version|revision|edition|section|article|chapter|page|paragraph|clause|appendix|annex|table|figure|room)\s\d[\d.]{0,9}",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"\b(?:tele)?phone\s+(?:number|extension)\b|\btelefonnummer\b|\bnuméro\s+de\s+téléphone\b|电话",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\b(?:and|or|und|oder)\s+(?:who|when|where|what|how|why|wer|wann|wo|wie)\b", re.IGNORECASE
)
_COUNTED = re.compile(r"\bhow\s+many\b|\bwie\s?viel(?:en?\b|\s+(?:personen|menschen|leute|kinder|mitarbeiter|mitglieder|teilnehmer|gäste)\b)|\bcombien\s+d(?:e\s+(?!temps\b)|['’](?!argent\b))|\bcuánt[oa]s\b", re.IGNORECASE)  # fmt: skip
_FOREIGN = re.compile(
    r"^\W*(?:wer|wie|wann|wo|welche[rsmn]?|was\s+(?:ist|sind|kostet)|(?:an|in|ab|bis|auf|mit|für)\s+(?:welche[rsmn]?|wann|wie\s?viele?n?)"
    r"|combien|quand|qui\s+(?:est|dirige)|que?l(?:le)?s?\s|où|comment|qu[ée]\b|quién|cuándo|cuánt[oa]s?|dónde|cuál)\b",
    re.IGNORECASE,
)
_LEADS = re.compile(r"\bwho\s+(?:leads?|heads?|chairs?|manages?|directs?|runs)\b", re.IGNORECASE)
_WHICH_DAY = re.compile(r"\b(?:(?:which|what)\s+day|quel\s+jour|welche[rsmn]?\s+tag)\b", re.IGNORECASE)
_DIMENSIONS_NAMED = {
    "long": "long|length|far|distance",
    "high": "high|height|tall|altitude",
    "tall": "high|height|tall",
    "wide": "wide|width|broad|breadth|across",
    "deep": "deep|depth",
}
_MEASURED = re.compile(r"\b(?:range|depth|height|width|length|distance|reach|diameter)\b", re.IGNORECASE)
_STANDING = re.compile(r"(?<![\w.,])[-+~<>≈$€£¥]{0,3}\s?\d")
_IN_GERMAN = re.compile(r"(?:tag|abend|nacht|woche|ende|jahr)s?\b", re.IGNORECASE)  # Karfreitag
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_CJK_FIGURE = re.compile(r"[0-9〇零一二两三四五六七八九十百千万亿半]")
_NUMBERS, _FREE, _REGULARLY, _TIMES, _OFTEN, _MOMENTS = (frozenset(words.split()) for words in (
    """no none nil one dozen dozens hundreds thousands millions billions half third quarter double twice triple both
    all several many few unlimited nothing keine kein null ein eine elf dutzend hälfte drittel viertel alle mehrere
    einige viele aucun aucune zéro un une sept neuf cent mille dizaine douzaine centaine moitié tiers quart tous
    toutes plusieurs ninguno mitad doppelte doppelten dreifache""",
    """free nothing none no nil waived included unpaid gratis complimentary kostenlos kostenfrei nichts gratuit
    gratuite gratuitement offert rien gratuito""",
    """never always annually monthly weekly daily yearly quarterly mondays tuesdays wednesdays thursdays fridays
    saturdays sundays weekdays weekends nie immer täglich wöchentlich monatlich jährlich montags dienstags mittwochs
    donnerstags freitags samstags sonntags jamais toujours nunca siempre""",
    """january february march april may june july august september october november december spring summer
    autumn fall winter century monday tuesday wednesday thursday friday saturday sunday today yesterday
    tomorrow tonight now noon midnight christmas easter immediately januar februar märz mai juni juli oktober
    dezember montag dienstag mittwoch donnerstag freitag samstag sonntag heute morgen gestern sofort mittag
    mitternacht weihnachten ostern frühling sommer herbst janvier février avril mai juin juillet août
    septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi samedi dimanche aujourdhui demain
    midi minuit noël pâques printemps automne hiver enero febrero marzo abril junio agosto septiembre octubre
    noviembre diciembre lunes martes miércoles jueves viernes sábado hoy mañana ayer""",
    """every each per once twice thrice times often seldom rarely sometimes regularly constantly hourly nightly
    fortnightly biannually biennially annual jede jeden jeder jedes jedem alle pro einmal zweimal
    dreimal viermal fünfmal sechsmal mehrmals manchmal mal oft selten häufig regelmäßig ständig stündlich halbstündlich
    nächtlich halbjährlich vierteljährlich zweijährlich zweimonatlich zweiwöchentlich vierzehntägig chaque tous toutes
    fois souvent rarement parfois régulièrement mensuellement annuellement quotidiennement hebdomadaire mensuel
    mensuelle annuel annuelle trimestriel trimestrielle quotidien quotidienne""",
    """before after during within when upon until till at every once end start day days week weeks month months year
    years following as soon by since from date dates time hour hours night season quarter birth death age war vor
    nach während bei bis seit ab ende anfang tag tage tagen woche wochen monat monate monaten jahr jahre jahren
    stunde stunden frühestens spätestens avant après pendant dès depuis fin début jusquà jour jours semaine semaines
    mois an ans année années heure heures nuit saison antes después desde hasta durante fin día días semana semanas
    mes meses años mars été hier mayo julio domingo weekend feiertage feiertagen ferien vacances rentrée toussaint""",
))  # fmt: skip
_TIMES |= _REGULARLY
_OFTEN |= _REGULARLY
# What nothing is counted by.
_SELDOM: frozenset[Kind] = frozenset(("money", "area", "speed", "temperature", "date"))

_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w’'-]{1,30}"
_NAMES = re.compile(rf"{_CAPITAL}(?:\s{_CAPITAL}){{1,4}}")
# Words by which a question tells the kind of value that it wants; what gives the value need not repeat them.
OF_KINDS = content_stems(
    "long take takes last lasts deep high tall wide far fast heavy weigh weighs old cost costs price pay pays paid "
    "opened opens called begin begins end ends day days date number amount may can must will would "
    "should still up get give given make made does sit live situated located whole place"
)
_ORGANISATION = re.compile(
    rf"\b(?:{_CAPITAL}\.?\s){{1,3}}(?:Agency|Association|Authority|Bank|Board|Church|Clinic|Club|College|Company|Cooperative|"
    r"Corporation|Council|Department|Foundation|Group|Hospital|Inc|Industries|Institute|Instruments|Laboratory|Library|"
    r"Limited|Ltd|Ministry|Museum|Office|Partners|School|Services|Society|Systems|Technologies|Trust|Union|University|"
    r"Works|GmbH|AG|SA)\b"
)


def find_asked_kinds(question: str) -> frozenset[Kind]:
    """Return the kinds of values that answer a question; none where it does not tell.

    >>> [*find_asked_kinds("How much does the A12 weigh?"), *find_asked_kinds("Combien de jours de congé ?")]
    ['mass', 'duration']
    >>> find_asked_kinds("How many days of leave are there?"), find_asked_kinds("How many degrees is the slope?")
    (frozenset({'duration'}), frozenset())
    >>> find_asked_kinds("What is the colour of the door?"), find_asked_kinds("When I ask for none, which one do I get?")
    (frozenset(), frozenset())
    """
    if _SEVERAL.search(question):
        return frozenset()
    question = find_asking_part(question)
    if many := _HOW_MANY.search(question):
        if _PER_CENT.match(question, many.start("first")):
            return frozenset({"percent"})
        for name in filter(None, (many["first"], many["second"])):
            if _DEGREES.fullmatch(name):
                return frozenset()
            if kinds := _kinds_of(name):
                return kinds
    kinds = next((kinds for pattern, kinds in _QUESTIONS if pattern.search(question)), frozenset())
    if _COUNTED.search(question) and "money" not in kinds:
        return kinds & {"frequency"} | {"count"}
    return kinds


def of_organisations(question: str) -> frozenset[str]:
    """Return the stems of the names of organisations in a question."""
    return frozenset(content_stems(" ".join(match[0] for match in _ORGANISATION.finditer(question))))


def is_foreign(question: str) -> bool:
    """Return whether a question is in a language that the encoder was not trained on, as far as its words tell.

    >>> is_foreign("Wer leitet das Amt?"), is_foreign("¿Quién dirige el mercado?"), is_foreign("Who leads it?")
    (True, True, False)
    """
    return bool(_CJK.search(question) or _FOREIGN.search(question))


def is_of_the_kind(question: str, answer: str) -> bool | None:
    """Return whether an answer is of a kind that a question asks for; None where that is not known.

    >>> is_of_the_kind("How much does the A12 weigh?", "1.5 kg"), is_of_the_kind("What is the price?", "1.5 kg")
    (True, False)
    >>> is_of_the_kind("When was it built?", "the mayor"), is_of_the_kind("Who built it?", "1931")
    (False, False)
    """
    kinds, words = find_asked_kinds(question), set(bare_words(answer))
    if _CALLED.search(question) and words:
        return sum(map(str.isdigit, answer)) >= 3
    if not kinds or not words:
        return None
    if (
        "person" in kinds
        and _LEADS.search(question)
        and (answer == answer.casefold() or _ORGANISATION.search(answer))
    ):
        return False
    if kinds & {"person", "place"}:
        return _is_named(answer, words)
    if "frequency" in kinds:
        fits = _is_frequency(answer, words)
        return _is_quantity(answer, words, kinds) if fits is None and "count" in kinds else fits
    if "amount" in kinds:
        return _is_amount(answer, words)
    if kinds == {"date"} and _WHICH_DAY.search(question) and _is_rank(answer):
        return True
    return _is_moment(answer, words) if kinds == {"date"} else _is_quantity(answer, words, kinds)


def _is_rank(answer: str) -> bool:
    """Return whether an answer is a rank among days, such as the third."""
    values = canonical(answer).values
    return bool(values) and all(isinstance(value, Figure) and value.unit == ORDINAL for value in values)


def is_of_another_dimension(question: str, answer: str, text: str) -> bool:
    """Return whether a text gives an answer as the length, height or depth of something, and a question asks for another.

    >>> is_of_another_dimension("What is the range of the van?", "4.2 metres", "It is 4.2 metres long.")
    True
    >>> is_of_another_dimension("How long is the van?", "4.2 metres", "It is 4.2 metres long.")
    False
    >>> is_of_another_dimension("How tall is it?", "2 m high, 1 m wide", "It is 2 m high, 1 m wide.")
    False
    """
    words = bare_words(answer)
    for names in _DIMENSIONS_NAMED.values():
        if re.search(rf"\b(?:{names})\b", question, re.IGNORECASE) and {*names.split("|")} & {*words}:
            return False  # of several dimensions, the one that is asked for is there
    for dimension, names in _DIMENSIONS_NAMED.items():
        value = " ".join(words[:-1] if words[-1:] == [dimension] else words)
        if not value or re.search(rf"\b(?:{names})\b", question, re.IGNORECASE):
            continue
        for match in re.finditer(rf"\b{dimension}\b", text):
            before = " ".join(bare_words(text[max(0, match.start() - 60) : match.start()]))
            if before.endswith(value):
                return bool(find_asked_kinds(question) & _MEASURES or _MEASURED.search(question))
    return False


def _is_named(answer: str, words: set[str]) -> bool | None:
    """Return whether an answer can be somebody, something or a place."""
    if not answer.isascii():
        return None
    named = words - _TIMES - set(map(str, range(1, 3000)))
    values = [value for value in canonical(answer).values if not _is_part_of_name(value)]
    return bool(named) and not (values and all(map(kinds_of_value, values)) and len(named) <= 2 * len(values))


def _is_part_of_name(value: Figure | Date | Time) -> bool:
    return isinstance(value, Figure) and value.unit in ("", ORDINAL, VERSION)


def _is_moment(answer: str, words: set[str]) -> bool | None:
    """Return whether an answer can be a time."""
    values = canonical(answer).values
    kinds = [kinds_of_value(value) for value in values if _STANDING.search(answer)]
    if any(not kind or kind & {"date", "duration", "number"} for kind in kinds) or words & _TIMES:
        return True
    if kinds or (values and not words & _MOMENTS):
        return False
    if not answer.isascii() or words & _MOMENTS or _IN_GERMAN.search(answer):
        return None
    return False


def _is_frequency(answer: str, words: set[str]) -> bool | None:
    """Return whether an answer can be how often something is: so many times, or every so many of whatever it is."""
    values = [value for value in canonical(answer).values if not (isinstance(value, Date) and not value.year)]
    kinds = list(map(kinds_of_value, values))
    if words & _OFTEN or any(kind & {"number", "duration"} for kind in kinds):
        return True
    return False if kinds and all(kind and kind <= _SELDOM for kind in kinds) else None


def _is_amount(answer: str, words: set[str]) -> bool | None:
    """Return whether an answer can be how high something is: a number of whatever it is, no date and no name."""
    every = canonical(answer).values
    if any(kinds_of_value(value) != {"date"} for value in every if not _is_name_of(value)) or (
        words & (_NUMBERS | _FREE)
    ):
        return True
    return False if every or _NAMES.fullmatch(answer.strip()) else None


def _is_quantity(answer: str, words: set[str], wanted: frozenset[Kind]) -> bool | None:
    """Return whether an answer is a number of what is wanted."""
    every = canonical(answer).values
    values = [value for value in every if not _is_name_of(value)]
    if every and "count" not in wanted and (not values or _LABELLED.fullmatch(answer.strip())):
        return False  # a version, a rank or a section
    kinds = [kinds_of_value(value) for value in values]
    measured = [kind for kind in kinds if kind and kind != {"number"}]
    if wanted & {"number"}:
        if values and all(isinstance(value, Date | Time) for value in values):
            return False
        return True if values and _STANDING.search(answer) else None
    if any(kind & wanted for kind in measured):
        return True
    spelled = any(isinstance(value, Figure) and value.spelled for value in values)
    if len(measured) < len(kinds) and (spelled or _STANDING.search(answer) or words & _NUMBERS):
        return True  # a number without a unit
    if measured:
        return False
    if words & _NUMBERS or (words & _FREE):
        return True
    if _CJK.search(answer):
        return True if _CJK_FIGURE.search(answer) else None
    if "duration" in wanted or not answer.isascii():
        return None
    return False


def _is_name_of(value: Figure | Date | Time) -> bool:
    return isinstance(value, Figure) and value.unit in (ORDINAL, VERSION)


@lru_cache(maxsize=4096)
def kinds_of_value(value: Figure | Date | Time) -> frozenset[Kind]:
    """Return the kinds that a value can be of; a figure without a unit is a number."""
    if isinstance(value, Date):
        return frozenset({"date"})
    if isinstance(value, Time):
        return frozenset({"date", "duration"})
    return _kinds_of_symbol(value.unit) if value.unit else frozenset({"number"})


def _kinds_of(name: str) -> frozenset[Kind]:
    """Return the kinds that a unit of this name measures; none if it is no unit."""
    if len(name) < 2 or name == "an":  # "how many trains an hour"
        return frozenset()
    return _kinds_of_symbol(symbol_of(name)) & (_MEASURES | {"other"})


@lru_cache(maxsize=1024)
def _kinds_of_symbol(symbol: str) -> frozenset[Kind]:
    return frozenset(_kinds_of_readings(symbol))


def _kinds_of_readings(symbol: str) -> Iterator[Kind]:
    for reading in READINGS.get(symbol, ()):
        dimension = reading.dimension
        if len(dimension) == 3 and dimension.isupper():
            yield "money"
        elif dimension.startswith("temperature"):
            yield "temperature"
        elif dimension.startswith("years"):
            yield "date"
        else:
            yield _DIMENSIONS.get(dimension, "other")
