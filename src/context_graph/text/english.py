"""Lists English words that say little or carry no meaning of their own, and reduces all others to one form
each.

The lists come from general knowledge, not from counts on any data. The function words are few on purpose: a
missing entry makes two texts differ, never alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS: Final = tuple(
    (
        b"a an and are as at be been but by did do does for from had has have he her his how i in "
        b"is it its me my of on or our she so that the their them they this to was we were what "
        b"when where which who why will with would you your"
    ).split()
)
"""Words too common to be lexical terms. Lower-case English, UTF-8."""

_COMMON_WORDS: Final = """
    about after again all also an and any are as at be because been before being between both but by can
    could did do does done during each etc first for from had has have her here his how if in into is it
    its just last let like make many may might more most much must need new next no not now of old on
    once one only or other our out over per same see shall should some such than that the their them
    then there these they this those through to two use used uses using very via was way we well were
    what when where which while who why will with within without would yes you your
"""
_LANGUAGES: Final = """
    abstract arg args array assert async await begin bool boolean break byte case catch char class const
    continue count data def default del delete dict do double elif else end enum err except export
    extends extern false final finally float fn for foreach from func function global idx if impl
    implements import in include index init instance int interface is item items key keys kwargs lambda
    len length let list main match method mod module mut name names namespace nil none null number obj
    object ok option package param params pass print printf println private protected pub public raise
    range res result ret return returns self set size static str string struct super switch temp then
    this throw throws tmp trait true try tuple type types undefined union unsafe use val value values
    var vec void while yield
"""
_TOOLS: Final = """
    add bash bin build call calls cargo cat cd cfg chmod code com commit config cp create created css
    dev diff dist echo error errors exec exit fi file files find git github go grep head home html http
    https info ini input install io java js json jsx lib line lines local log logs ls make md mkdir mv
    net node npm npx opt org output package packages path paths pip pnpm pwd py pytest python python3 rb
    read recent rm root rs run rustc sed sh site src start status stderr stdin stdout sudo tail test
    tests tmp toml total touch traceback ts tsx txt update updated user users usr version warning
    warnings write www xml yaml yarn yml
"""
WORK_WORDS: Final = frozenset((_COMMON_WORDS + _LANGUAGES + _TOOLS).encode().split())
"""Words that say nothing about a purpose."""

HEADS: Final = frozenset(
    b"class def enum fn from func function import interface struct trait type use".split()
)
"""Words after which code defines or imports a name."""

DETERMINERS: Final = _words("the a an")
SILENT: Final = _words(
    "that which who there so please kindly just really actually basically simply also hey fyi btw e.g i.e etc"
)
"""Words without which a sentence says the same."""
PRESENT: Final = _words("is are am be been being does do has")
PAST: Final = _words("was were did had")
JOINING: Final = _words("and but plus")
IRREGULAR: Final = _words(
    "written wrote rewritten built rebuilt sent kept held found broken broke made taken took known knew "
    "chosen chose begun began bought forbidden ran led fed met paid said told thought brought caught "
    "taught left lost won sold shown given gave driven drove hidden spent bound drawn thrown grown seen "
    "overridden fallen gotten got hit set put cut split shut read run reset understood stood worn torn "
    "sworn stolen shaken frozen bitten eaten lent swept"
)
"""Participles and past forms that do not end in -ed."""
ORDERED: Final = _words(
    "order step sequenc pipelin stage first second third then next follow preced prioriti rank respect final"
)
"""Stems of words that tell that an order matters: then lists and clauses keep theirs."""
NOW_TOO: Final = _words("hit set put cut split shut read run reset found left bound")
"""Those of them that may be present as well."""
NEGATIONS: Final = _words("not never no neither nor none nobody nothing cannot")

_PREPOSITIONS: Final = _words(
    "about above across after against along although among as because before behind below beneath beside "
    "between beyond by despite during except for from instead near of or over per since than though through "
    "to toward towards under unless unlike via while with within without"
)
MARKS: Final = {
    **{word: word for word in _PREPOSITIONS},
    **dict.fromkeys(_words("in on at upon into onto inside"), "in"),
    **dict.fromkeys(_words("when whenever if"), "when"),
    **dict.fromkeys(_words("until till"), "until"),
    **dict.fromkeys(_words("versus vs"), "versus"),
    **dict.fromkeys(_words("each every"), "each"),
}
"""Words that say what the words after them are to the rest; those of like meaning share a mark."""

OPTIONAL: Final = {
    word: rest
    for rest, words in {"we": "we us our ours", "it": "it its", "have": "have having"}.items()
    for word in words.split()
}
"""Words that one text may have and the other not; but not another of them in their place."""

TIED: Final = _words(
    "it its they their them this these those he she his her him then next afterwards finally such"
)
"""A sentence with one of these rests on the one before it."""

SAME: Final = {
    word: group.split()[0]
    for group in (
        "need needs needed needing require requires required requiring",
        "use uses used using utilize utilizes utilized utilizing utilise utilises utilised",
        "begin begins began begun beginning start starts started starting",
        "stop stops stopped stopping halt halts halted halting",
        "finish finishes finished finishing complete completes completed completing", "large big huge",
        "small little tiny", "fast quick rapid", "quickly fast rapidly",
        "fix fixes fixed fixing repair repairs repaired repairing",
        "choose chooses chose chosen choosing pick picks picked picking select selects selected selecting",
        "delete deletes deleted deleting remove removes removed removing erase erases erased erasing",
        "modify modifies modified modifying alter alters altered altering",
        "show shows showed shown showing display displays displayed displaying",
        "own owns owned owning owner owners",
        "keep keeps kept keeping store stores stored storing save saves saved saving hold holds held holding",
        "write writes wrote written writing", "build builds built building", "send sends sent sending",
        "rebuild rebuilds rebuilt rebuilding", "lead leads led leading leader leaders",
        "run runs ran running", "give gives gave given giving", "drive drives drove driven driving",
        "see sees saw seen seeing", "think thinks thought thinking", "say says said saying",
        "tell tells told telling", "get gets got gotten", "feed feeds fed feeding",
        "meet meets met meeting", "pay pays paid paying", "bring brings brought bringing",
        "catch catches caught catching", "teach teaches taught teaching", "leave leaves left leaving",
        "lose loses lost losing", "sell sells sold selling", "hide hides hid hidden hiding",
        "spend spends spent spending", "bind binds bound binding", "draw draws drew drawn drawing",
        "throw throws threw thrown throwing", "grow grows grew grown growing",
        "freeze freezes froze frozen", "override overrides overrode overridden overriding",
        "rewrite rewrites rewrote rewritten rewriting", "understand understands understood understanding",
        "fall falls fell fallen falling", "find finds found finding", "break breaks broke broken breaking",
        "make makes made making", "take takes took taken taking", "know knows knew known knowing",
        "read reads reading", "buy buys bought buying purchase purchases purchased purchasing",
        "help helps helped helping assist assists assisted assisting",
        "allow allows allowed allowing permit permits permitted permitting",
        "forbid forbids forbade forbidden forbidding prohibit prohibits prohibited prohibiting",
        "obtain obtains obtained obtaining acquire acquires acquired acquiring", "often frequently",
        "usually normally typically", "approximately roughly", "currently presently",
        "mandatory compulsory obligatory", "error errors", "database databases db dbs",
        "repository repositories repo repos", "configuration config configs configurations",
        "environment environments env envs", "production prod", "application applications app apps",
        "information info", "documentation docs", "kubernetes k8s", "postgresql postgres", "javascript js",
        "administrator administrators admin admins", "parameter parameters param params",
        "directory directories dir dirs folder folders", "maximum max", "minimum min",
    )
    for word in group.split()
}  # fmt: skip
"""Forms and plain synonyms -> one word for all of them."""

_MARKS_IN_A_ROW: Final = re.compile(r"([^\w\s\x00-\x7f]{64})")
_CONTRACTED: Final = re.compile(r"(?i)\b(\w{1,24}?)n['’]t\b|\b(\w++)['’](re|ve|ll|m|d)\b")
_FULL: Final = {
    "ca": "can",
    "wo": "will",
    "sha": "shall",
    "re": " are",
    "ve": " have",
    "ll": " will",
    "m": " am",
    "d": " would",
}
_IS: Final = re.compile(r"(?i)\b(it|that|there|what|he|she|here|where|who|let)['’]s\b")
_LEAD: Final = re.compile(
    r"(?i)(^|[.!?;]\s++)(?:please\s++)?(?:remember|note|keep\s++in\s++mind|bear\s++in\s++mind|"
    r"be\s++aware|(?:do\s++not|don['’]?t)\s++forget|(?:it\s++is|it['’]s)\s++worth\s++noting|"
    r"worth\s++noting|for\s++the\s++record|reminder|as\s++a\s++reminder|for\s++your\s++information|"
    r"fyi|btw|by\s++the\s++way|important|heads[\s-]up|in\s++fact|of\s++course|"
    r"just\s++so\s++you\s++know|in\s++other\s++words|as\s++noted|to\s++recap)"
    r"(?:\s++that\b\s*+|\s*+[:,—–-]++\s*+)"
)
"""What only announces a sentence."""


def spelt(text: str) -> str:
    """Return ``text`` without sentence openers, and with contractions spelt out."""
    text = _LEAD.sub(r"\1", _composed(text).strip())
    if "'" in text or "’" in text:
        text = _CONTRACTED.sub(_in_full, _IS.sub(r"\1 is", text))
    return text


def _in_full(match: re.Match[str]) -> str:
    if match[1]:
        return f"{_FULL.get(match[1].lower(), match[1])} not"
    return match[2] + _FULL[match[3].lower()]


def _composed(text: str) -> str:
    """Join each letter with its accents (NFC), but no run that no script has: that takes quadratic time."""
    if text.isascii():
        return text
    return "".join([unicodedata.normalize("NFC", part) for part in _MARKS_IN_A_ROW.split(text)])


@cache
def _stemmer() -> Callable[[str], str]:
    import Stemmer  # type: ignore[import-not-found]  # here: the owner starts without it

    return Stemmer.Stemmer("english", 10_000).stemWord  # type: ignore[no-any-return]


def stem(word: str) -> str:
    """Return ``word`` (lower case) without its English ending."""
    return _stemmer()(word)


@lru_cache(maxsize=65_536)
def same_word(word: str) -> str:
    """Return one word for all forms and plain synonyms of ``word`` (lower case)."""
    if word in SAME:
        return SAME[word]
    root = stem(word)
    return SAME.get(root, root)
