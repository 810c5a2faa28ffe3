"""Words that tell statements apart or together: synonyms, opposites, scopes, months, units.

English has most entries; German, French and Spanish have what companies write often. What is not listed here
is an ordinary word, which two statements share or not.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any


def _sets(text: str) -> dict[str, str]:
    """Return each word of the lines with the first word of its line."""
    rows = (line.split() for line in text.strip().splitlines())
    return {word: row[0] for row in rows for word in row}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that carry no content, and words that any policy has: the second kind weighs little.
STOP = _words("""
a an the and or but of to in on at by for from with as is are was were be been being am it its this that these
those there their they them he she his her him we our us you your i my who whom which what when where how than
then so such also only just very more most less least into onto over under about above below per each any all
both either some few other another same own if because while after before during until since within
without not
no nor never none cannot can could may might must shall should will would do does did done has have had having
up out off down again further here too via upon between through
der die das den dem des ein eine einen einem einer eines und oder aber von vom zu zum zur im in am an auf
aus bei
beim mit nach für durch über unter um ist sind war waren wird werden wurde wurden sein hat haben hatte es
er sie
wir ihr sich dass als wie auch nur noch schon sehr mehr pro je nicht kein keine keinen keiner ohne bis
seit kann
können muss müssen soll sollen darf dürfen
le la les un une des du de d l et ou mais à au aux en dans sur sous par pour avec sans ce cette ces son sa
ses il
elle ils elles nous vous on est sont était sera être a ont avoir qui que quoi dont ne pas plus très aussi n s
el los las una unos unas y o pero del al por para con sin su sus es son fue ser está están se lo que como
más muy
también no ha han
""")
GENERIC = _words("""
employee get receive entitle obtain grant give provide offer company organisation person people member
customer
user apply set fix stand amount come value total number currently now new currently today please note general
generally normally usually always every following case order take make use need require due follow state list
specify valid current effective available standardly possible allow permit enable unit item piece thing kind
first place system product device model service type one two time year day month week hour rate level
mitarbeiter erhalten bekommen haben gelten gilt betragen beträgt liegen liegt gewähren derzeit jeweils
salarié recevoir fixer fixé élever empleado recibir
""")
SAME = _sets("""
employee employees staff worker workers personnel colleague colleagues workforce
get gets got receive receives received obtain obtains
entitle entitled entitlement entitles eligible
leave holiday holidays vacation vacations
cost costs price prices priced pricing charge charges charged fee fees tariff
buy buys purchase purchases purchased
customer customers client clients buyer buyers purchaser
phone telephone
refund refunds refunded reimburse reimburses reimbursed reimbursement
begin begins began start starts started commence commences
end ends ended finish finishes expire expires expired
deliver delivers delivered delivery deliveries ship ships shipped shipping shipment
firm company companies organisation organization
warranty guarantee warranties guarantees
remote remotely telework teleworking homeoffice
supplier suppliers vendor vendors
weigh weighs weighed weight weights weighing
last lasts lasted duration run runs running
open opens opened opening
close closes closed closing
meet meets met meeting meetings
launch launches launched launching release releases released rollout
manager managers supervisor supervisors
invoice invoices bill bills billing invoiced billed
pay pays paid payment payments payable
keep keeps kept retain retains retained retention store stores stored storage
delete deletes deleted deletion erase erased erases erasure
max maximum maximal
min minimum minimal
headcount workforce
found founded establish established
high height tall
long length
wide width
deep depth
car cars vehicle vehicles
house hotel
site sites plant plants factory
answer answers answered respond responds response reply replies replied
approve approves approved approval authorise authorised authorize authorized sign-off
submit submits submitted hand-in file filed filing lodge lodged
notify notifies notified notification inform informs informed report reports reported reporting
increase increases increased raise raises raised
book books booked booking reserve reserved reservation
hire hires hired recruit recruits recruited recruitment
temperature temperatures
capacity capacities hold holds holding
cancel cancels cancelled canceled cancellation
urlaub urlaubstage jahresurlaub ferien
kosten kostet preis preise gebühr gebühren
lieferung liefern geliefert lieferzeit lieferfrist versand
garantie gewährleistung
kündigungsfrist kündigung
mitarbeiter mitarbeiterinnen beschäftigte beschäftigten angestellte angestellten arbeitnehmer belegschaft
""")
# Members of one line exclude each other: a statement of one says nothing of another.
CONTRASTS: tuple[tuple[str, ...], ...] = tuple(
    tuple(line.split())
    for line in """
basic standard premium pro professional enterprise starter free business team plus ultimate essential advanced
domestic national international overseas abroad
weekday weekdays weekend weekends
summer winter spring autumn
adult adults child children senior seniors student students
full-time part-time temporary permanent freelance seasonal
intern interns apprentice apprentices trainee trainees manager managers director directors executive
executives
gross net
minimum maximum average median
new existing returning former
internal external
private public
urgent express economy overnight
upper lower
left right front rear
indoor outdoor
indoors outdoors
first second third fourth fifth
initial renewal subsequent
morning afternoon evening night
monthly annual yearly weekly daily quarterly hourly
male female men women
import export imports exports
input output
upload download uploads downloads
day night
empty loaded
peak off-peak
planned actual budgeted forecast
test production staging
critical major minor
north south east west northern southern eastern western
women men
sick parental maternity paternity annual unpaid bereavement study
single double triple
online offline in-store
small medium large
red green blue black white yellow
student teacher
length width height depth diameter thickness weight
inlandsversand auslandsversand
neukunden bestandskunden
brutto netto
sommer winter
werktags wochenende
hommes femmes
nacional internacional
""".strip().splitlines()
)
CONTRAST_OF: dict[str, tuple[int, ...]] = {}
for _number, _line in enumerate(CONTRASTS):
    for _word in _line:
        CONTRAST_OF[_word] = (*CONTRAST_OF.get(_word, ()), _number)
EVERYONE = _words("""
all every everyone everybody any both each employee company everything whole entire general party parties
person people user customer client staff alle jeder jede tous toutes todos todas
""")
NEGATIONS = _words("""
not no never cannot can't cant don't dont doesn't doesnt didn't isn't isnt aren't arent wasn't weren't
won't wont
shouldn't mustn't wouldn't without neither nor none nobody nothing
nicht kein keine keinen keinem keiner keines nie niemals ohne
ne pas jamais aucun aucune sans
nunca ningún ninguna sin
""")
# A word that says the contrary of another: the word that stays when the statement counts as negated.
CONTRARY = {
    **dict.fromkeys(_words(
        "prohibited forbidden banned disallowed unlawful verboten untersagt interdit prohibido"
    ), "allowed"),
    **dict.fromkeys(_words("optional voluntary freiwillig facultatif opcional"), "required"),
    **dict.fromkeys(_words("excluded excludes exclude exempt"), "included"),
    **dict.fromkeys(_words("disabled deactivated"), "enabled"),
    **dict.fromkeys(_words("unavailable"), "available"),
    **dict.fromkeys(_words("unsupported"), "supported"),
    **dict.fromkeys(_words("impossible unmöglich"), "possible"),
    **dict.fromkeys(_words("non-refundable nonrefundable"), "refundable"),
    **dict.fromkeys(_words("non-transferable nontransferable"), "transferable"),
    **dict.fromkeys(_words("unlimited"), "limited"),
    **dict.fromkeys(_words("invalid"), "valid"),
    **dict.fromkeys(_words("unnecessary"), "necessary"),
    **dict.fromkeys(_words("unpaid"), "paid"),
    **dict.fromkeys(_words("uninsured"), "insured"),
    **dict.fromkeys(_words("inactive"), "active"),
    **dict.fromkeys(_words("incompatible"), "compatible"),
    **dict.fromkeys(_words("ineligible"), "eligible"),
    **dict.fromkeys(_words("unencrypted"), "encrypted"),
    **dict.fromkeys(_words("closed"), "open"),
}  # fmt: skip
POLAR = {
    **dict.fromkeys(_words(
        "allowed permitted permissible may lawful erlaubt gestattet autorisé permis permitido"
    ), "allowed"),
    **dict.fromkeys(_words(
        "required mandatory compulsory obligatory necessary needed verpflichtend erforderlich obligatoire"
    ), "required"),
    **dict.fromkeys(_words(
        "included includes include contains inbegriffen enthalten compris incluido"
    ), "included"),
    **dict.fromkeys(_words("enabled activated"), "enabled"),
    **dict.fromkeys(_words("supported supports support"), "supported"),
}  # fmt: skip
YES = _words("yes y true included supported enabled available ja oui sí si ✓ ✔ ✅ x")
NO = _words("no n false excluded unsupported disabled unavailable none nein non ✗ ✘ ❌ - – —")
# "not more than" bounds a figure and negates nothing.
BOUNDS = {
    "min": (
        "at least", "no less than", "not less than", "no fewer than", "not fewer than", "a minimum of",
        "minimum of",
        "minimum", "min.", "more than", "over", "above", "from", "exceeds", "exceeding", "upwards of",
        "starting at",
        "mindestens", "wenigstens", "ab", "über", "mehr als", "au moins", "au minimum", "plus de", "al menos",
        "como mínimo", "más de", "≥", ">=", ">", "not before", "no earlier than", "frühestens",
    ),
    "max": (
        "at most", "no more than", "not more than", "up to", "a maximum of", "maximum of", "maximum", "max.",
        "less than", "under", "below", "within", "no later than", "not later than", "not exceed",
        "not exceeding",
        "höchstens", "maximal", "bis zu", "weniger als", "unter", "innerhalb von", "spätestens", "au plus",
        "au maximum", "jusqu'à", "moins de", "dans un délai de", "como máximo", "hasta", "menos de", "≤",
        "<=",
        "<", "by",
    ),
    "about": (
        "about", "around", "approximately", "approx.", "roughly", "nearly", "almost", "circa", "ca.",
        "some", "~",
        "≈", "etwa", "rund", "ungefähr", "knapp", "environ", "près de", "unos", "aproximadamente",
        "alrededor de",
    ),
}  # fmt: skip
BOUND = re.compile(
    r"(?:^|(?<=[\s(:]))(?:"
    + "|".join(
        f"(?P<{kind}>{'|'.join(re.escape(form) for form in sorted(forms, key=len, reverse=True))})"
        for kind, forms in BOUNDS.items()
    )
    + r")\s{0,3}(?:(?:of|the|a|an|von|de|du)\s)?$",
    re.IGNORECASE,
)
# What stands in a clause that does not state how things are now and here.
PAST = re.compile(
    r"\b(?:previously|formerly|used to|no longer|until now|up to now|originally|once was|in the past"
    r"|old version|"
    r"instead of|rather than|unlike|compared (?:to|with)|as opposed to|was (?:changed|raised|reduced"
    r"|lowered|increased|"
    r"cut|moved|extended|shortened) from|(?:up|down) from|früher|bisher|bislang|ehemals|statt"
    r"|anstelle|auparavant|"
    r"précédemment|au lieu de|antes|anteriormente|en lugar de|the year before|last year|previous year)\b",
    re.IGNORECASE,
)
UNREAL = re.compile(
    r"\b(?:for example|for instance|e\.g\.|such as|suppose|assume|imagine|would have|could have|if we|"
    r"proposal|proposed|proposes?|suggest(?:s|ed)?|draft|might|may change|target(?:s|ed)?|rumou?rs?"
    r"|allegedly|claims? that|"
    r"zum beispiel|z\.\s?b\.|par exemple|por ejemplo|it is not true|myth)\b",
    re.IGNORECASE,
)
CONDITION = re.compile(
    r"\b(?:if|unless|except|when|where|provided|only for|in case|otherwise|sofern|falls|wenn|außer"
    r"|es sei denn|"
    r"si|sauf|salvo|excepto)\b",
    re.IGNORECASE,
)
# Lines that say what a document is, not what it tells.
ABOUT_DOCUMENT = re.compile(
    r"^\W*(?:this (?:document|policy|version|edition|page|price list|notice|manual"
    r"|guide)\b.{0,40}\b)?(?:valid (?:from|as of|"
    r"since)|in force (?:from|since|as of)|effective(?: date| from| as of)?|version|revision|rev\.?"
    r"|edition|issue(?:d)?|"
    r"last (?:updated|changed|reviewed|modified)|updated|date|dated|published|status|author"
    r"|approved (?:on|by)|document (?:no|"
    r"number|id|owner)|replaces|supersedes|page|gültig (?:ab|seit)|stand|fassung|ausgabe|datum"
    r"|en vigueur|date d['’]effet|"
    r"mise à jour|vigente desde|en vigor|fecha|versión|next review|review date"
    r"|prepared by|minutes of|copyright|©|all rights reserved|protokoll vom|from|to|subject|sent|cc)\b\W",
    re.IGNORECASE,
)
REPORTS = re.compile(
    r"\b(?:report|results?|accounts|statement|survey|statistics|figures|invoice|quarter|quarterly"
    r"|bulletin|newsletter|"
    r"timesheet|budget|forecast|census|bericht|jahresabschluss|rechnung|rapport|facture|informe|factura)\b",
    re.IGNORECASE,
)
STUDY = re.compile(
    r"\b(?:confidence interval|95 ?% ci|odds ratio|relative risk|hazard ratio|p ?[<=>] ?0?\.\d|"
    r"mean follow-up|"
    r"cohort|"
    r"placebo|randomi[sz]ed|controlled trial|meta-analysis|"
    r"we (?:studied|examined|investigated|measured|compared|enrolled)|"
    r"participants|statistically significant|in this study|our (?:study|results|findings))\b",
    re.IGNORECASE,
)
LABELS = _words("""
section chapter article clause paragraph annex appendix figure table page phase step stage level class
line building
room floor site gate zone tier grade category type item group batch lot ticket order invoice case task
issue unit
hall lane platform track bay dock shift round lesson module part volume number no nr model series mark
generation
week abschnitt kapitel artikel anhang seite phase stufe klasse linie gebäude raum etage halle schicht auftrag
rechnung modell section chapitre annexe étape niveau classe ligne bâtiment salle étage sección capítulo
anexo fase
nivel clase línea edificio sala planta iso din en iec rfc tier version
""")
WEEKDAYS: dict[str, int] = {}
for _names in (
    "monday tuesday wednesday thursday friday saturday sunday",
    "mondays tuesdays wednesdays thursdays fridays saturdays sundays",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "montags dienstags mittwochs donnerstags freitags samstags sonntags",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miércoles jueves viernes sábado domingo",
):
    WEEKDAYS |= {name: number for number, name in enumerate(_names.split())}
MONTH_NAMES: dict[str, int] = {}
for _names in (
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
):
    MONTH_NAMES |= {name: number for number, name in enumerate(_names.split(), start=1)}
MONTH_NAMES |= {"sept": 9, "jänner": 1}
NUMBER_WORDS: dict[str, int] = {}
for _first, _names in (
    (2, "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"),
    (2, "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn"),
    (2, "deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize"),
    (2, "dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis"),
):
    NUMBER_WORDS |= {name: number for number, name in enumerate(_names.split(), start=_first)}
_TENS = {
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NUMBER_WORDS |= _TENS | {
    f"{ten}-{one}": number + digit
    for ten, number in _TENS.items()
    for digit, one in enumerate(_ONES, start=1)
}
NUMBER_WORDS |= {
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "hundred": 100, "zwanzig": 20, "dreißig": 30,
    "vierzig": 40,
    "fünfzig": 50, "sechzig": 60, "neunzig": 90, "hundert": 100, "vingt": 20, "trente": 30, "quarante": 40,
    "cinquante": 50, "soixante": 60, "cent": 100, "veinte": 20, "treinta": 30, "cuarenta": 40,
    "cincuenta": 50,
    "sesenta": 60, "noventa": 90, "cien": 100,
}  # fmt: skip
del NUMBER_WORDS["once"]  # an English word
ONE_WORDS = _words("one a an ein eine einen einem einer un une una")
# Names of units that `values` does not read, and what they are there.
UNIT_NAMES = {
    **dict.fromkeys(_words("tag tage tagen tages jour jours día días"), "days"),
    **dict.fromkeys(_words("woche wochen semaine semaines semana semanas"), "weeks"),
    **dict.fromkeys(_words("monat monate monaten monats mois mes meses"), "months"),
    **dict.fromkeys(_words("jahr jahre jahren jahres an ans année années año años"), "years"),
    **dict.fromkeys(_words("stunde stunden heure heures hora horas"), "hours"),
    **dict.fromkeys(_words("minuten minutos"), "minutes"),
    **dict.fromkeys(_words("sekunden secondes segundos"), "seconds"),
    **dict.fromkeys(_words("prozent pourcent"), "%"),
    **dict.fromkeys(_words("gramm"), "g"),
    **dict.fromkeys(_words("kilogramm"), "kg"),
}
WORKING = _words(
    "working business work werktage werktagen arbeitstage arbeitstagen werktag ouvrables"
    " ouvrés hábiles laborables"
)
UNIT_NAMES |= dict.fromkeys(_words("werktage werktagen werktag arbeitstage arbeitstagen"), "days")
EVERY = {
    "daily": 1, "weekly": 7, "fortnightly": 14, "monthly": 30, "quarterly": 91, "annually": 365,
    "yearly": 365,
    "half-yearly": 182, "biannually": 182, "täglich": 1, "wöchentlich": 7, "monatlich": 30,
    "vierteljährlich": 91,
    "halbjährlich": 182, "jährlich": 365, "mensuellement": 30, "trimestriel": 91, "annuellement": 365,
    "semanalmente": 7, "mensualmente": 30, "anualmente": 365,
}  # fmt: skip
_LANGUAGES = {
    "english": _words("the and of is are to for with that be or by must not from"),
    "german": _words("der die das und ist für mit von den nicht ein eine werden wird im"),
    "french": _words("le la les et est des pour du une dans sont par au avec sur"),
    "spanish": _words("el los las y es de para con una por se del son en que"),
}


def language_of(text: str) -> str:
    """Return the language that most of a text's short words are of; English where none tells.

    >>> language_of("Die Frist beträgt drei Monate und ist für alle gleich."), language_of("3,559")
    ('german', 'english')
    """
    words = text[:4000].casefold().split()
    counts = {name: sum(word in stops for word in words) for name, stops in _LANGUAGES.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > counts["english"] else "english"


@lru_cache(maxsize=8)
def _stemmer(language: str) -> Any:
    from Stemmer import Stemmer

    return Stemmer(language, maxCacheSize=50_000)


@lru_cache(maxsize=200_000)
def root(word: str, language: str = "english") -> str:
    """Return the form under which words count as one: of a set of synonyms its first word, stemmed.

    >>> root("staff") == root("employees"), root("weighs") == root("weight"), root("bridges")
    (True, True, 'bridg')
    """
    return str(_stemmer(language).stemWord(SAME.get(word, word)))


GENERIC_ROOTS = frozenset(
    root(word, language) for word in GENERIC for language in ("english", "german", "french")
)
EVERYONE_ROOTS = frozenset(
    root(word, language) for word in EVERYONE for language in ("english", "german", "french")
)


def _roots_of(text: str, *languages: str) -> frozenset[str]:
    return frozenset(root(word, language) for word in text.split() for language in languages)


# Keys whose values nobody compares, columns that only say "value", and those that say what the other
# cells of a row are of.
FREE_KEYS = _roots_of(
    """
note notes comment comments remark remarks description summary details example text subject title name id
no number key link url file
""",
    "english",
)
VALUE_COLUMNS = _roots_of(
    """
property value wert attribute item feature parameter field entry eigenschaft merkmal specification detail
""",
    "english",
)
KEY_COLUMNS = _roots_of(
    """
region country city site location plan tier edition size variant colour color period year month quarter
season class department currency zone market channel land stadt standort größe farbe jahr monat quartal
abteilung variante
""",
    "english",
    "german",
)
SCOPING = _words("for in at outside under per across für bei pour chez para en au aux")
PRONOUNS = _words("it this that they these he she there es er sie dies il elle ce cela esto")
# What things have, and what says nothing of which thing it is: a fee, a length. Other nouns are subjects.
ATTRIBUTES = _roots_of(
    """
fee price cost discount deadline meeting period limit weight length height width depth warranty office
opening closing start end budget revenue capacity rate interest tax deposit rent salary wage bonus
allowance duration age size number total quantity order payment delivery notice probation leave overtime
break shift date time address phone extension contact owner lead leader manager director head responsible
status version release launch availability uptime support response backup retention storage memory power
speed temperature pressure humidity noise voltage frequency distance range area volume population profit
turnover headcount parking admission entry ticket fine penalty surcharge shipping return refund exchange
password login account session timeout upload download frist preis kosten gebühr dauer länge höhe breite
gewicht beginn ende urlaub miete gehalt lohn rabatt termin sitzung délai prix frais durée longueur hauteur
largeur poids début fin loyer salaire garantie remise plazo precio coste duración
""",
    "english",
    "german",
    "french",
)
