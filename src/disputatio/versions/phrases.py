"""Phrases by which documents speak of themselves and of others, in English, German, French and Chinese."""

from __future__ import annotations

import re

from disputatio.types import RelationKind
from disputatio.values.figures import MONTH_NAMES


def whole_words(*phrases: str) -> str:
    """Return the expression of phrases that stand as whole words."""
    return rf"(?<![^\W_])(?:{'|'.join(phrases)})(?![^\W_])"


# --- dates --------------------------------------------------------------------------------------------
EFFECTIVE = re.compile(
    whole_words(
        *("in force (?:from|since|as of|on)", "(?:into force|effect) (?:on|from|as of)"),
        *("effective(?: date| from| as of| on)?", "valid (?:from|as of|since)", "with effect from"),
        *("appl(?:y|ies) (?:from|as of)", "gültig (?:ab|seit)", "gilt (?:ab|seit)", "gelten (?:ab|seit)"),
        *("(?:gültig|gilt|gelten) vom", "(?:valable|en vigueur|applicable) du", "applicable au"),
        *("in kraft (?:ab|seit|am)", "(?:tritt|treten|trat) (?:am|zum)", "wirksam (?:ab|zum)"),
        "en vigueur (?:le|depuis le|à compter du|à partir du|au)",
        *("applicable (?:à compter du|à partir du|le)", "valable (?:à compter du|à partir du|dès le)"),
        "date d['’]effet",
    )
    + "|生效日期|实施日期|施行日期|自",
    re.IGNORECASE,
)
# Beginnings of phrases that say something of a day only with what comes after it.
NEEDED = {"tr": ("in kraft",), "自": ("施行", "生效", "执行", "实施", "起")}
EXPIRES = re.compile(
    whole_words(
        *("valid (?:until|to|through)", "in force (?:until|to)", "expires?(?: on)?", "lapses on"),
        *("applies until", "gültig bis", "gilt bis", "läuft (?:am|zum)", "befristet bis"),
        *("valable jusqu['’]au", "expire le", "en vigueur jusqu['’]au"),
    )
    + "|有效期至|失效日期",
    re.IGNORECASE,
)
DATED = re.compile(
    whole_words(
        *("as of", "as at", "issued(?: on)?", "published(?: on)?", "dated", "date", "adopted(?: on)?"),
        *("(?:last )?(?:updated|revised|modified|reviewed)(?: on)?", "approved(?: on)?", "corrected(?: on)?"),
        *("stand(?: vom)?", "fassung vom", "erlassen am", "veröffentlicht am", "ausgegeben am"),
        *("(?:zuletzt )?(?:geändert|aktualisiert|überarbeitet) am", "beschlossen am", "berichtigt am"),
        *("korrigiert am", "datum", "mis à jour le", "mise à jour(?: du| le)?", "publiée? le", "en date du"),
        *("version du", "émise? le", "adoptée? le", "état au", "corrigée? le", r"fait à [\w-]{1,30}, le"),
    )
    + "|发布日期|更新日期|更新于|发布于|日期",
    re.IGNORECASE,
)
# Days of a document that are not the one that it is of: "Review date: March 2027", "Date of birth".
OTHER_DAY = re.compile(
    r"(?<!last )(?<!letzte )(?<!dernière )"
    + whole_words(
        *("(?:next )?review", "next", "due", "expiry", "expiration", "renewal", "end", "birth"),
        *("nächste[rsn]?", "[^\\W_]*(?:überprüfung|ablauf|geburt)s?", "prochaine?", "échéance", "naissance"),
    ),
    re.IGNORECASE,
)
# A line that names a paper by its day: "Correction of 3 March 2024".
OF_DAY = re.compile(
    r"[\W_]{0,4}(?:correction|corrigendum|notice|amendment|circular|memo(?:randum)?|minutes) (?:of|dated)"
    r"|[\W_]{0,4}(?<![^\W_])[^\W_]{0,30}"
    r"(?:berichtigung|änderung|mitteilung|bekanntmachung|rundschreiben|protokoll) vom"
    r"|[\W_]{0,4}(?:rectificatif|avis|circulaire|avenant|procès-verbal|compte rendu) du",
    re.IGNORECASE,
)
# After the day: "Correction of 3 March 2024 to the terms, version 2".
TO_WHAT = re.compile(r"(?:to|zu[rm]?|à|aux?)\s", re.IGNORECASE)
# "From 1 May 2025 this notice amends section 3".
FROM = re.compile(
    r"^[\W_]{0,4}(?:(?:as )?from|ab(?: dem)?|vom|à (?:partir|compter) du|dès le) $", re.IGNORECASE
)
_MONTH = "|".join(MONTH_NAMES)
# A sentence ends at a full stop, but not at that of a day: "am 1. März".
SENTENCE_END = re.compile(
    rf"(?:(?<=[.!?;])(?<!\d\.)(?<!\bn[or]\.)"
    rf"|(?<=\d\.)(?![ \t]{{1,2}}(?:{_MONTH})))[ \t]{{1,9}}|(?<=[。；])|\n",
    re.IGNORECASE,
)

# Who stated the day that follows: "approved by the trustees on".
STATED_BY = re.compile(
    r"(?:^|[,.;] )(?:approved|adopted|issued|published|passed|agreed|beschlossen|verabschiedet|erlassen"
    r"|genehmigt|adoptée?|approuvée?) (?:by|von|vom|durch|par) [^\d.;:]{1,60} (?:on|am|le)",
    re.IGNORECASE,
)
UNTIL = re.compile(r"[ ,]{1,2}(?:to|until|till|through|bis(?: zum)?|au|jusqu['’]au|[-–—])[ ]", re.IGNORECASE)
AND = re.compile(r"[ ,](?:and|und|et)[ ]{0,2}$", re.IGNORECASE)

# --- the document itself ------------------------------------------------------------------------------
_STATE = "(?:status|state|stand|zustand|statut|état|状态)"
DRAFT_LINE = re.compile(
    rf"^[\W_]{{0,4}}(?:{_STATE} ?[:：] ?)?(?:(?:first|second|third|final|working|internal|consultation) )?"
    r"(?:draft|[^\W_]*entwurf|projet|brouillon|ébauche|草案|草稿|征求意见稿)"
    r"(?![^\W_]|-\w{1,40}-)",  # "draft-ietf-http" is the name of one
    re.IGNORECASE,
)
DRAFT = re.compile(
    whole_words("draft", "[^\\W_]*entwurf", "brouillon", "projet de") + "|草案|草稿|征求意见稿", re.IGNORECASE
)
IS_DRAFT = re.compile(
    whole_words(
        *(
            "is (?:only |still )?a draft",
            "not yet (?:in force|(?:been )?(?:approved|adopted))",
            "not been (?:approved|adopted)",
            "est un (?:projet|brouillon)",
        ),
        *("ist (?:nur |noch )?ein entwurf", "noch nicht (?:in kraft|beschlossen|genehmigt)"),
        "pas encore (?:en vigueur|adoptée?)",
    ),
    re.IGNORECASE,
)
STATE_BEFORE = re.compile(rf"[\W_]{{0,4}}(?:{_STATE} ?[:：] ?)?", re.IGNORECASE)
STATE_LINE = re.compile(rf"^[\W_]{{0,4}}(?:{_STATE} ?[:：] ?)?[^\W_]{{0,20}}[\W_]{{0,4}}$", re.IGNORECASE)
THIS = re.compile(
    whole_words(
        *("this", "these", "the present", "diese[rsmn]?", "dies", "vorliegende[rsmn]?"),
        *("cette", "cet", "ce", "la présente", "le présent"),
    )
    + "|[本该此]",
    re.IGNORECASE,
)
GOES_ON = re.compile(
    r"^[\W_]{0,9}(?:(?:it|and|which|they|sie|er|es|und|elle|il|et|qui)[ ,]{0,2})?[\W_]{0,9}$", re.IGNORECASE
)
ITSELF = re.compile(
    r"^[\W_]{0,4}(?:the )?(?:amendment|correction|revision|corrigendum|änderung|berichtigung|amendement"
    r"|modification)(?![^\W_])[^.;:]{0,30}$",
    re.IGNORECASE,
)

# --- other documents ----------------------------------------------------------------------------------
EARLIER = re.compile(
    whole_words(
        *("earlier", "previous", "prior", "former", "preceding", "old(?:er)?", "last", "all other"),
        *("vorherige[nrs]?", "frühere[nrs]?", "bisherige[nrs]?", "alte[nrs]?", "vorige[nrs]?"),
        *("précédente?s?", "antérieure?s?", "anciennes?", "ancien"),
    )
    + "|原|此前|以前|旧",
    re.IGNORECASE,
)
OF_THIS = re.compile(
    whole_words(
        "(?:earlier|previous|frühere|vorherige|précédente) (?:version|fassung) (?:of this|diese[rs]|de ce)"
    ),
    re.IGNORECASE,
)
BY = re.compile(
    whole_words("(?:superseded|replaced) by", "ersetzt durch", "abgelöst durch", "remplacée? par") + "|被",
    re.IGNORECASE,
)
GONE = re.compile(
    whole_words(
        *("withdrawn", "rescinded", "revoked", "retracted", "repealed", "superseded", "obsolete", "void"),
        *("no longer (?:in force|valid|applies|apply)", "ceases? to (?:apply|be valid|have effect)"),
        *("außer kraft", "ausser kraft", "aufgehoben", "zurückgezogen", "ungültig", "nicht mehr gültig"),
        *("gilt nicht mehr", "gelten nicht mehr", "retirée?s?", "abrogée?s?", "caduc", "caduque"),
        *("n['’]est plus en vigueur", "ne sont plus en vigueur"),
    )
    + "|已废止|已作废|作废|失效",
    re.IGNORECASE,
)
_GONE_ALONE = "withdrawn|retracted|superseded|obsolete|zurückgezogen|aufgehoben|ungültig|retirée?|abrogée?"
# "RETRACTED: Sleep", "[Withdrawn] Sleep", "travel-policy-2019-superseded"; no "withdrawn-books".
GONE_TITLE = re.compile(
    rf"[\W_]{{0,4}}(?:{_GONE_ALONE})(?: (?:article|paper|notice|policy))?(?: ?[:\])]| [–—-])\s"
    rf"|.{{3,200}}[(\[,–—_-] ?(?:{_GONE_ALONE})[)\]]?$",
    re.IGNORECASE,
)
# What may come between and after "WITHDRAWN" and its day, where that is all that a sentence says.
GONE_ON = re.compile(
    r"[\W_]{0,4}(?:(?:on|as of|since|from|effective|with effect from|seit|am|vom|zum|ab|depuis le"
    r"|à compter du|le|du|au) ?)?[\W_]{0,4}(?:$|(?:because|due to|by|after|pending|see|wegen|aufgrund|durch"
    r"|nach|siehe|par|pour|en raison|à la suite|suite à|voir)(?![^\W_]))",
    re.IGNORECASE,
)
_REPLACES = re.compile(
    whole_words(
        *(
            "replaces",
            "supersedes",
            "repeals",
            "(?:in|takes?) (?:the )?place of",
            "ersetzt(?! durch)",
            "tritt an die stelle",
        ),
        *("löst", "hebt", "(?:annule et )?remplace", "abroge", "se substitue à"),
    )
    + "|取代|代替|替代|废止",
    re.IGNORECASE,
)
_AMENDS = re.compile(
    whole_words(
        *("amends", "modifies", "supplements", "ändert"),
        r"(?:(?:first|second|third) )?amendment (?:(?:no\.? ?)?\d{1,3} )?(?:to|of the)",
        rf"amendment(?= (?:of|dated) (?:\d|{_MONTH}))",  # "Amendment of 3 May 2024 to the rules"
        r"[^\W_]*änderung(?= vom \d)",
        r"(?:(?:erste|zweite|dritte|\d\.) )?[^\W_]*(?:satzung|ordnung) zur änderung (?:der|des)",
        r"(?:\d{1,2}\. )?nachtrag (?:(?:nr\.? ?)?\d{1,3} )?zu[rm]?",
        r"avenant (?:(?:n[°o]\.? ?)?\d{1,3} )?(?:aux?|à la|à l['’]|du|de la|des)",
        *("änderung (?:der|des|zu)", "modifie", "amende", "modification d[eu]"),
    )
    + "|修订|修改|修正",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    whole_words(
        *("corrects", "corrected", "correction", "corrigendum", "erratum", "berichtigung", "berichtigt"),
        *("korrektur", "korrigiert", "richtigstellung", "rectificatif", "rectifie", "corrige", "corrigée?"),
    )
    + "|更正|勘误",
    re.IGNORECASE,
)
ACTS: tuple[tuple[RelationKind, re.Pattern[str]], ...] = (
    ("replaces", _REPLACES),
    ("amends", _AMENDS),
    ("corrects", _CORRECTS),
)
"""What a document does to another one, which is named after the words."""

# One of these is in every sentence that any of the phrases is in; a plain search for them costs little.
STEMS = (
    *("force", "effect", "valid", "appl", "gültig", "gilt", "gelten", "kraft", "tritt", "treten", "trat"),
    *("wirksam", "vigueur", "valable", "expire", "lapses", "läuft", "befristet", "as of", "as at", "issued"),
    *("publi", "updated", "revised", "modif", "reviewed", "date", "adopt", "approved", "correct", "stand"),
    *("fassung", "erlassen", "veröffentlicht", "ausgegeben", "geändert", "aktualisiert", "überarbeitet"),
    *("beschlossen", "berichtig", "korr", "datum", "jour", "version", "émis", "état", "fait à", "draft"),
    *("entwurf", "projet", "brouillon", "ébauche", "not yet", "noch nicht", "pas encore", "replace"),
    *("supersede", "repeal", "place of", "ersetzt", "löst", "hebt", "abrog", "substitue", "remplac"),
    *("amend", "supplement", "änder", "corrig", "erratum", "richtigstellung", "rectif", "withdrawn"),
    *("nachtrag", "avenant"),
    *("rescind", "revoke", "retract", "obsolete", "void", "no longer", "cease", "außer", "ausser"),
    *("aufgehoben", "zurückgezogen", "nicht mehr", "retiré", "caduc", "caduque", "plus en"),
    *(
        "生效",
        "实施",
        "施行",
        "自",
        "有效期",
        "失效",
        "日期",
        "更新",
        "发布",
        "草",
        "征求",
        "取代",
        "代替",
        "替代",
    ),
    *("废止", "修", "更正", "勘误", "作废"),
)
