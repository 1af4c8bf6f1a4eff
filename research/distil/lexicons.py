"""Seed words of the spaces that follow a lexicon, and the markers of those that follow connectives.

`research/distil/make_table.py` extends each seed list by the teacher's own similarities. The order of
categories is part of the data file's format. See docs/embedding.md.
"""

from __future__ import annotations

__all__ = [
    "BASE_VERBS",
    "CAUSAL",
    "COUNTERFACTUAL",
    "KEYWORDS",
    "NEGATIONS",
    "ROLES",
    "SPACES",
    "TELEOLOGICAL",
    "TEMPORAL",
]


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

COUNTERFACTUAL: dict[str, tuple[int, float]] = {
    "if": (0, 0.6),
    "whether": (0, 0.4),
    "would": (1, 0.8),
    "could": (2, 0.6),
    "should": (3, 0.5),
    **dict.fromkeys(_words("might may maybe perhaps possibly"), (4, 0.5)),
    "unless": (5, 1.0),
    **dict.fromkeys(_words("otherwise else"), (6, 1.0)),
    **dict.fromkeys(_words("instead rather alternatively alternative alternatives"), (7, 1.0)),
    "without": (8, 0.7),
    **dict.fromkeys(_words("wish wished regret hoped"), (9, 1.0)),
    **dict.fromkeys(_words("almost nearly"), (10, 0.5)),
    **dict.fromkeys(
        _words("suppose supposing imagine hypothetically hypothetical assuming assume pretend"), (11, 1.0)
    ),
    **dict.fromkeys(_words("though although despite however nevertheless nonetheless yet"), (12, 0.5)),
    **dict.fromkeys(_words("versus vs compared unlike than"), (13, 0.5)),
    "but": (14, 0.3),
    **dict.fromkeys(_words("or either neither nor"), (15, 0.3)),
}
"""Word -> (kind, weight)."""

TELEOLOGICAL: dict[str, tuple[int, float]] = {
    # kind 0 is the imperative, which the form of the sentence says
    **dict.fromkeys(_words("want wants wanted wanna desire desires wish wishes"), (1, 1.0)),
    **dict.fromkeys(_words("need needs needed require requires required"), (2, 0.9)),
    **dict.fromkeys(
        _words("goal goals aim aims objective objectives target targets purpose purposes mission"), (3, 1.0)
    ),
    **dict.fromkeys(
        _words("plan plans planned planning intend intends intended intention intent scheduled"), (4, 1.0)
    ),
    **dict.fromkeys(_words("must shall"), (5, 0.8)),
    **dict.fromkeys(_words("should ought"), (6, 0.7)),
    **dict.fromkeys(
        _words("try tries trying tried attempt attempts attempting attempted strive seek seeking"), (7, 0.8)
    ),
    **dict.fromkeys(_words("hope hopes hoping dream dreams dreaming aspire aspiration ambition"), (8, 0.9)),
    **dict.fromkeys(_words("will gonna going"), (9, 0.5)),
    **dict.fromkeys(_words("todo task tasks milestone deadline roadmap next"), (10, 0.8)),
    **dict.fromkeys(_words("please help"), (11, 0.7)),
    **dict.fromkeys(_words("decide decided decision decisions choose chose chosen"), (12, 0.8)),
    **dict.fromkeys(_words("order"), (13, 0.3)),
    **dict.fromkeys(
        _words("achieve achieved achieving accomplish accomplished reach succeed complete finish"), (14, 0.8)
    ),
    **dict.fromkeys(_words("let ensure make"), (15, 0.4)),
}

NEGATIONS = _words(
    "not no never none nobody nothing without hardly barely scarcely cannot neither nor lacks lack"
)
BASE_VERBS = _words(
    "add build change check clean clear close commit compare compile configure connect convert copy create debug define "
    "delete deploy describe design disable document download drop edit enable ensure execute explain explore export "
    "extend extract fetch find finish fix format generate get give go handle hide implement import improve include "
    "increase insert inspect install integrate introduce investigate keep list load log look make merge migrate mock "
    "move open optimize parse pass play port prepare prevent print profile provide publish pull push put raise read "
    "reduce release remove rename render repair replace report reset resolve restart restore return review rewrite run "
    "save scan search select send set show simplify sort split start stop store summarize support switch sync take tell "
    "test throw trace translate try tune turn undo update upgrade upload use validate verify visit wait watch wire wrap "
    "write buy call ask bring book cook eat learn remember remind think meet plan"
)
KEYWORDS = _words(
    "def class return import from lambda self func function const let var int str string bool float void null none true "
    "false async await try except catch raise throw static public private struct enum elif yield assert print"
)

SPACES: dict[str, dict[str, tuple[str, ...]]] = {
    "Moral": {
        "+": _words(
            "good right honest fair just kind virtue ethical loyal respect moral noble generous integrity"
        ),
        "-": _words(
            "evil wrong dishonest unfair unjust cruel vice unethical betrayal disrespect immoral corrupt greedy lie lied lying steal stole stolen cheat cheated betray betrayed kill killed murder"
        ),
        "care": _words("care compassion kindness harm suffer cruelty protect abuse hurt mercy empathy"),
        "fairness": _words(
            "fair fairness justice equality rights bias discrimination unfair cheat unjust equal"
        ),
        "loyalty": _words("loyalty loyal betray betrayal treason solidarity patriot faithful traitor ally"),
        "authority": _words("authority obey obedience law duty respect disobey rebel tradition order"),
        "sanctity": _words("sacred holy purity pure sin sinful blasphemy disgusting degrading virtue"),
        "liberty": _words("liberty freedom oppression tyranny autonomy consent coercion slavery rights free"),
        "honesty": _words(
            "honest honesty truth lie lying deceit deceive fraud trust integrity cheat steal theft"
        ),
        "responsibility": _words(
            "responsibility responsible blame guilt guilty accountable duty obligation promise fault"
        ),
    },
    "Aesthetic": {
        "+": _words(
            "beautiful elegant lovely gorgeous clean graceful stylish pretty exquisite stunning neat tidy charming"
        ),
        "-": _words("ugly messy hideous ugliness clumsy dirty crude clutter awful tacky dull bland"),
        "beauty": _words("beautiful beauty gorgeous lovely pretty handsome attractive ugly hideous"),
        "elegance": _words("elegant graceful refined sleek sophisticated clumsy crude style stylish"),
        "order": _words("clean neat tidy simple minimal messy clutter dirty symmetry harmony"),
        "colour": _words("color colour bright vivid pastel dark shade hue red blue golden light"),
        "sound": _words("music melody melodic rhythm harmony song tune loud noise symphony"),
        "design": _words("design layout style pattern decor fashion artistic art typography texture"),
        "craft": _words("quality craft crafted polished masterpiece fine superb excellent shoddy sloppy"),
        "scene": _words("scenery landscape painting sculpture photograph view sunset poetic poetry dance"),
    },
    "Behavioral": {
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
    },
    "Emotional": {
        "+": _words(
            "happy joy love glad excited proud grateful delighted wonderful calm pleased hope cheerful"
        ),
        "-": _words(
            "sad angry hate afraid upset anxious ashamed miserable terrible lonely disgust grief frustrated"
        ),
        "joy": _words("joy happy happiness delight cheerful glad fun laugh smile excited"),
        "trust": _words("trust faith confident admire grateful respect supportive safe thankful"),
        "fear": _words("fear afraid scared anxious worry terrified panic nervous frightened dread"),
        "surprise": _words("surprise surprised amazed astonished shock shocked unexpected stunned wow"),
        "sadness": _words("sad sadness grief cry sorrow lonely miserable depressed tears heartbroken"),
        "disgust": _words("disgust disgusting gross revolting awful nasty sick hate contempt"),
        "anger": _words("anger angry furious mad rage annoyed frustrated irritated outrage hate"),
        "anticipation": _words("hope eager excited anticipate expect curious looking enthusiastic longing"),
    },
}
"""Space -> category -> seeds; ``+`` and ``-`` are the poles, where the space has them."""
