"""What English words do in a sentence: which carry what it says, which only hold it together.

Short lists on purpose. A word that is in none of them counts as one that carries meaning, so what is missing
here makes two texts differ, never alike.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "DETERMINERS",
    "IRREGULAR",
    "JOINING",
    "KINDS",
    "LEAD_IN",
    "MARKS",
    "NEGATIONS",
    "NOW_TOO",
    "OPTIONAL",
    "ORDERED",
    "PAST",
    "PRESENT",
    "REGULARLY",
    "SAME",
    "SAYS",
    "SILENT",
    "TIED",
    "TIMES",
    "WHEN",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DETERMINERS: Final = _words("the a an")
SILENT: Final = _words(
    "that which who there so please kindly just really actually basically simply also hey fyi btw e.g i.e etc"
)
"""Words without which a sentence says the same."""
PRESENT: Final = _words("is are am be been being does do has")
PAST: Final = _words("was were did had")
JOINING: Final = _words("and but plus")
TIMES: Final = _words(
    "second minute hour day night morning evening noon week weekday weekend month quarter year sprint "
    "monday tuesday wednesday thursday friday saturday sunday"
)
REGULARLY: Final = _words("nightly daily hourly weekly monthly yearly")
WHEN: Final = _words(
    "today tonight yesterday tomorrow now currently presently usually normally typically sometimes"
)
"""Words that stand for a phrase of time, as `every day` does: put first or last, they say the same."""
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
KINDS: Final = _words(
    "servic modul function class file flag tabl cluster team project repository branch packag librari "
    "compon job queue endpoint command variabl method server database bucket topic ticket issu version "
    "region host node field column directory script process namespac pod image plugin tool app "
    "application key setting option"
)
"""Stems of words that say what a name names: `the orders service` is `service orders`."""
NOW_TOO: Final = _words("hit set put cut split shut read run reset found left bound")
"""Those of them that may be present as well."""
SAYS: Final = _words("say said report think thought claim note mention write believ")
"""Stems of verbs that a name and a comma may set before or after what is said."""
NEGATIONS: Final = _words("not never no neither nor none nobody nothing cannot")

MARKS: Final = {
    word: mark
    for mark, words in {
        "of": "of",
        "by": "by",
        "in": "in on at upon into onto inside",
        "to": "to",
        "for": "for",
        "from": "from",
        "with": "with",
        "when": "when whenever if",
        "until": "until till",
        "or": "or",
        "versus": "versus vs",
        "because": "because",
        **{
            word: word
            for word in [
                "about",
                "above",
                "across",
                "after",
                "against",
                "along",
                "although",
                "among",
                "as",
                "before",
                "behind",
                "below",
                "beneath",
                "beside",
                "between",
                "beyond",
                "despite",
                "during",
                "except",
                "instead",
                "near",
                "over",
                "per",
                "since",
                "than",
                "though",
                "through",
                "toward",
                "towards",
                "under",
                "unless",
                "unlike",
                "via",
                "while",
                "within",
                "without",
            ]
        },
    }.items()
    for word in words.split()
}
"""Words that say what the words after them are to the rest; those of like meaning share a mark."""

OPTIONAL: Final = {
    word: rest
    for rest, words in {
        "we": "we us our ours",
        "it": "it its",
        "have": "have having",
        "live": "live lives lived living reside resides resided sit sits located situated",
    }.items()
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
        "mandatory compulsory obligatory", "error errors", "every each", "database databases db dbs",
        "repository repositories repo repos", "configuration config configs configurations",
        "environment environments env envs", "production prod", "application applications app apps",
        "information info", "documentation docs", "kubernetes k8s", "postgresql postgres", "javascript js",
        "administrator administrators admin admins", "parameter parameters param params",
        "directory directories dir dirs folder folders", "maximum max", "minimum min",
    )
    for word in group.split()
}  # fmt: skip
"""Forms and plain synonyms -> one word for all of them."""

LEAD_IN: Final = (
    r"(?:please\s++)?(?:remember|note|keep\s++in\s++mind|bear\s++in\s++mind|be\s++aware|(?:do\s++not|don['’]?t)\s++forget|"
    r"(?:it\s++is|it['’]s)\s++worth\s++noting|worth\s++noting|for\s++the\s++record|reminder|as\s++a\s++reminder|"
    r"for\s++your\s++information|fyi|btw|by\s++the\s++way|important|heads[\s-]up|in\s++fact|of\s++course|"
    r"just\s++so\s++you\s++know|in\s++other\s++words|as\s++noted|to\s++recap)"
)
"""What only announces a saying, before or after it."""
