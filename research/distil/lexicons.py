"""Seed words of the spaces that follow a lexicon, and the connectives of Causal.

`research/distil/make_table.py` extends each seed list by the teacher's own similarities. The order of
categories is part of the data file's format. See docs/dev/embedding.md.
"""

from __future__ import annotations

__all__ = ["CAUSAL", "PLAIN_VERBS", "ROLES", "STEPS", "TEMPORAL", "TENSES"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


MONTHS = (
    "january jan", "february feb", "march", "april apr", "may", "june jun", "july jul", "august aug",
    "september sept sep", "october oct", "november nov", "december dec christmas",
)  # fmt: skip
WEEKDAYS = (
    "monday mon", "tuesday tue", "wednesday wed", "thursday thu", "friday fri", "saturday sat weekend",
    "sunday sun weekend",
)  # fmt: skip
TEMPORAL: dict[int, tuple[float, tuple[str, ...]]] = {
    **{place: (1.0, _words(names)) for place, names in enumerate(MONTHS)},
    **{12 + place: (1.0, _words(names)) for place, names in enumerate(WEEKDAYS)},
    19: (1.0, _words("yesterday ago past previously formerly earlier last recently once already back")),
    20: (1.0, _words("now today currently tonight present nowadays immediately present still")),
    21: (1.0, _words("tomorrow soon later future upcoming next eventually shortly forthcoming")),
    22: (1.0, _words("before until till prior preceding pre")),
    23: (1.0, _words("after afterwards since following subsequently then thereafter")),
    24: (1.0, _words("first firstly initially begin beginning start started starting originally second")),
    25: (1.0, _words("last lastly finally end ended ending final ultimately third")),
    26: (1.0, _words("second seconds minute minutes hour hours day days week weeks month months year years decade "
                     "decades century centuries while during long duration")),
    27: (1.0, _words("daily weekly monthly yearly annual annually hourly always never often usually sometimes every "
                     "regularly again frequently seldom rarely occasionally nightly")),
}  # fmt: skip
"""Place among the 32 temporal values -> weight and words. 28 to 31 are years and hours, which numbers say."""
TENSES = {
    19: (0.25, _words("was were did had went said came took got made saw been")),
    20: (0.2, _words("is are am does has being")),
    21: (0.3, _words("will shall going gonna")),
}

CAUSAL: dict[str, tuple[int, float]] = {
    **dict.fromkeys(_words("therefore thus hence consequently thereby accordingly"), (1, 1.0)),
    **dict.fromkeys(
        _words("causes caused causing cause triggers triggered trigger provoked induced induces"), (1, 1.0)
    ),
    **dict.fromkeys(
        _words("led leads leading results resulted resulting produces produced yields yielded"), (1, 0.7)
    ),
    **dict.fromkeys(
        _words("makes made broke breaks prevents prevented enables enabled forced lets"), (1, 0.4)
    ),
    **dict.fromkeys(_words("so"), (1, 0.35)),
    **dict.fromkeys(_words("because"), (2, 1.0)),
    **dict.fromkeys(_words("due owing thanks reason reasons why cos"), (2, 0.8)),
    **dict.fromkeys(_words("since"), (2, 0.4)),
}
"""Word -> (1: the cause stands before it, 2: after it; weight)."""
ROLES: dict[int, tuple[str, ...]] = {
    3: ("by",),
    4: _words("##s ##es ##d ##ed ##ing ##er ##ly ##ness ##ful"),
    5: _words("the a an this that these those my your his her its our their of"),
}
"""Other roles than a connective's -> pieces."""

PLAIN_VERBS = _words(
    "add build change check clean clear close commit compare compile configure connect convert copy create "
    "debug define delete deploy describe design disable document download drop edit enable ensure execute "
    "explain explore export extend extract fetch find finish fix format generate get give go handle hide "
    "implement improve include increase insert inspect install integrate introduce investigate keep list load "
    "log look make merge migrate mock move open optimize parse pass play port prepare prevent profile provide "
    "publish pull push put read reduce release remove rename render repair replace report reset resolve "
    "restart restore review rewrite run save scan search select send set show simplify sort split start stop "
    "store summarize support switch sync take tell test trace translate tune turn undo update upgrade upload "
    "use validate verify visit wait watch wire wrap write buy call ask bring book cook eat learn remember "
    "remind think meet plan"
)
"""What a memory does, as an action's name; no keywords of programming languages."""

STEPS: dict[str, tuple[str, ...]] = {
    "create": _words("create make build write draw generate compose produce design"),
    "change": _words("change edit modify update rename refactor replace convert adjust"),
    "remove": _words("remove delete drop erase clear discard destroy cut"),
    "run": _words("run ran execute launch start deploy invoke compile script command"),
    "test": _words("test check verify validate assert inspect measure debug"),
    "look": _words("search find read look grep browse explore list watch"),
    "talk": _words("talk tell say ask call speak discuss explain chat email"),
    "go": _words("go walk travel drive move visit fly arrive leave hike went drove"),
    "repair": _words("fix repair solve resolve patch restore mend heal"),
    "trade": _words("buy sell pay order shop spend donate give borrow"),
    "think": _words("think decide plan learn study remember consider understand"),
    "meet": _words("meet join attend invite celebrate party gather volunteer"),
    "exercise": _words("exercise play train practice swim climb dance race sport swim swam run jog"),
    "art": _words("paint sing perform sculpt photograph knit craft cook bake"),
    "store": _words("save store backup commit push upload copy keep record"),
    "install": _words("install configure setup upgrade download import connect enable git pip npm"),
}
"""Category -> seeds."""
