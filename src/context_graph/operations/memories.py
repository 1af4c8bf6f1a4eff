"""Defines the operations on memories: store, find, read, link, forget, import and export."""

from typing import Annotated, Any, Final, Literal

import msgspec

from context_graph.errors import InvalidParamsError
from context_graph.model.edge import Domain
from context_graph.model.memory import (
    MAX_CONTENT_CHARS,
    MAX_RATIONALE_CHARS,
    MIN_RATIONALE_CHARS,
    Modality,
    check_content,
    check_rationale,
)
from context_graph.operations.operation import (
    DESTROYS,
    LEVELS,
    NODE_ID,
    READS,
    Called,
    Instant,
    Shown,
    about,
    node_named,
    operation,
    text,
    unit,
)

Scope = Literal["project", "user"]
"""Where a memory holds."""
StoredKind = Literal["rule", "decision", "finding"]
"""Kinds of notes that somebody may store; the others are made of what sessions did."""
_STORED_KIND: Final = "What it is. A rule is told at each start, and with what it concerns."
_Word = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
_NodeId = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
_Metadata = Annotated[dict[str, Any], about("A JSON object to keep beside it.", metavar="JSON", listed=False)]
_FILTERS: Final = "Conditions that a memory must meet, all of them."
_SOME_FILTERS: Final = "By kind, tags, created_after, created_before and others"
_Filtered = Annotated[dict[str, Any], about(_FILTERS, schema={"type": "object"})]
_Query = Annotated[
    str, node_named("What to look for, 1 to 4,096 characters.", "QUERY", stdin=True, bounded=True)
]
_Cursor = Annotated[str, text("Where the page begins: the last page's `next_cursor`.", 4096, listed=False)]


@operation(
    "memory.store",
    short="Store a memory",
    tool="store_memory",
    says="Keep a fact for later sessions of this project.",
    loaded=True,
    result=("node_id", "johari_quadrant"),
)
class Store(Shown, kw_only=True):
    """Store a memory of this project. Secrets in it are masked before it is written.

    Prints its id, or with --json the memory. Masked secrets are counted by kind on standard error; in JSON
    under "masked".

    Exit codes: 0 stored; 1 the store can't be used; 2 a wrong argument; 3 the database is corrupt.

    Example: context-graph-cli memory store Staging listens on 8443 --rationale "needed to deploy" --tag ops
    """

    content: (
        Annotated[
            str,
            about(
                "What to remember, 1 to 65,536 characters.",
                tool="One fact, self-contained",
                option="TEXT",
                stdin=True,
                bounded=True,
                check=check_content,
                max_length=MAX_CONTENT_CHARS,
            ),
        ]
        | None
    ) = None
    content_base64: (
        Annotated[
            str,
            text(
                "Instead of content: bytes. Text is decoded and has the same limit; an image, audio or video "
                "is kept as base64 and found by its rationale and metadata.",
                16 * MAX_CONTENT_CHARS,
                listed=False,
                only="tool",
            ),
        ]
        | None
    ) = None
    rationale: Annotated[
        str,
        text(
            "Why it is worth keeping, 10 to 500 characters.",
            MAX_RATIONALE_CHARS,
            MIN_RATIONALE_CHARS,
            tool="Why a later session needs it",
            bounded=True,
            check=check_rationale,
        ),
    ]
    importance: Annotated[float, unit("How much it matters, 0 to 1.", listed=False)] = 0.5
    modality: Annotated[Modality, about("What the content was before it was text.", listed=False)] = (
        Modality.TEXT
    )
    metadata: _Metadata | None = None
    link_to: Annotated[
        tuple[_NodeId, ...],
        about("Id of a memory that it relates to.", listed=False, metavar="ID", max_length=64),
    ] = ()
    evidence: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=1024)], ...],
        about(
            "A file of the project that it rests on: it is marked when that changes.",
            tool="Files it rests on",
            metavar="PATH",
            max_length=16,
        ),
    ] = ()
    supersedes: Annotated[
        tuple[_NodeId, ...],
        about("Id of a memory that holds no longer.", tool="Ids it replaces", metavar="ID", max_length=64),
    ] = ()
    scope: Annotated[
        Scope,
        about(
            "Where it holds: in this project, or in all projects of the user.",
            tool="user: in all his projects",
        ),
    ] = "project"
    kind: Annotated[StoredKind, about(_STORED_KIND, metavar="NAME", listed=False)] | None = None
    tags: Annotated[
        tuple[_Word, ...],
        about(
            "A tag to filter by, 1 to 64 characters; at most 32.",
            option="--tag",
            metavar="WORD",
            max_length=32,
            listed=False,
        ),
    ] = ()
    agent_id: (
        Annotated[str, text("Agent that the memory belongs to.", 100, metavar="ID", listed=False)] | None
    ) = None
    occurred_at: Annotated[Instant, about("When it happened; default: now.", listed=False)] | None = None
    pinned: Annotated[bool, about("Never let a consolidation merge or prune it.", listed=False)] = False


@operation(
    "memory.recall",
    short="Find memories",
    tool="recall_memory",
    alias="search_graph",
    loaded=True,
    says="Find what is remembered: memories by meaning and words, best first, with scores.",
    result=("nodes",),
)
class Recall(Shown, kw_only=True):
    """Find the memories that fit a question best, by words and by meaning.

    Looking by hand counts as no use; what a session finds by its tools does.

    Exit codes: 0, also when nothing is found; 1 the store can't be used; 2 a wrong argument; 3 the database
    is corrupt.

    Example: context-graph-cli memory recall which port does staging use --top-k 3
    """

    query: _Query
    scope: Annotated[
        Literal["project", "user", "team"],
        about(
            "Where to look: what holds in this project, only what holds in all of yours, or also the hub's "
            "memories, of all your team's projects.",
            listed=False,
        ),
    ] = "project"
    top_k: Annotated[int, about("Memories on one page.", ge=1, le=100)] = 10
    filters: Annotated[dict[str, Any], about(_FILTERS, tool=_SOME_FILTERS)] | None = None
    recency: Annotated[float, unit("How strongly newer memories are preferred, 0 to 1.", listed=False)] = 0.0
    min_relevance: Annotated[
        float,
        unit(
            "Find nothing where an answer is less likely than this, 0 to 1; by default weak ones are marked.",
            only="command",
        ),
    ] = 0.0
    cursor: _Cursor | None = None


@operation(
    "memory.inject",
    short="Memories as context, within a budget",
    tool="inject_context",
    search="memories as context within a budget of tokens",
    says="Relevant memories within max_tokens, each line with its id. Call it before you start on something.",
    result=("context", "tokens_used"),
)
class Inject(Shown, kw_only=True):
    """Print what the memories say about a question, in at most a given number of tokens.

    Looking by hand counts as no use; what a session finds by its tools does.

    Exit codes: 0, also when nothing is found; 1 the store can't be used; 2 a wrong argument; 3 the database
    is corrupt.

    Example: context-graph-cli memory inject "deploying to staging" --max-tokens 400
    """

    query: _Query
    max_tokens: Annotated[int, about("Most tokens of context.", ge=100, le=8192)] = 2048
    priority: Annotated[
        Literal["low", "normal", "high", "critical"],
        about("How many memories are examined, and how strictly.", listed=False),
    ] = "normal"
    distillation_mode: Annotated[
        Literal["auto", "raw", "narrative", "structured", "code_focused"],
        about("How they are condensed.", option="--mode", listed=False),
    ] = "auto"
    include_metadata: Annotated[
        tuple[Literal["causal_links", "entailment_cones", "neighborhood", "conflicts"], ...],
        about(
            "What to add: causal_links, entailment_cones, neighborhood or conflicts.",
            option="--include",
            metavar="NAME",
            max_length=64,
            listed=False,
        ),
    ] = ()
    filters: _Filtered | None = None


@operation("memory.list", short="List memories, newest first")
class List(Called):
    """List this project's memories, newest first; or what was forgotten, or what was injected.

    Exit codes: 0; 1 the store can't be used; 2 a wrong argument; 3 the database is corrupt.

    Example: context-graph-cli memory list --tag ops --limit 10
    """

    limit: Annotated[int, about("Memories on one page.", ge=1, le=1000)] = 50
    scope: Annotated[
        Scope, about("Whose: this project's, or what holds in all projects of the user.", listed=False)
    ] = "project"
    cursor: _Cursor | None = None
    filters: _Filtered | None = None
    view: Annotated[Literal["memories", "deleted", "injected"], about("What is listed.", only="tool")] = (
        "memories"
    )


@operation("memory.show", short="Show one memory")
class Show(Called, kw_only=True):
    """Show one memory with all its fields and its links. A forgotten one says when and why.

    This does not count as a use.

    Exit codes: 0; 1 no such memory (then), or the id fits several (they are listed); 3 its record is corrupt.

    Example: context-graph-cli memory show 5f3c1a2b
    """

    node_id: Annotated[str, node_named(NODE_ID, wire="id")]
    as_of: (
        Annotated[Instant, about("As it was at this time, such as 7d or yesterday; at most 30 days ago.")]
        | None
    ) = None


@operation(
    tool="get_memetic_status",
    search="memory health, memories to review",
    says="Health of the memory, and memories to review.",
    hints=READS,
    result=("coherence_score", "entropy_level", "suggested_action"),
)
class Status(Called):
    """Report the health of the memory, and what to review."""


def _check_level(level: object) -> None:
    if level is None:
        raise InvalidParamsError.of("level", "is required: 0, 1 or 2")
    wrong = "Verbosity level must be 0, 1, or 2"
    raise InvalidParamsError(wrong, parameter="level", detail=f"Invalid params: level - {wrong}")


@operation(
    tool="set_verbosity",
    search="how much memory tools answer",
    says="How much results say from now on: 0 ids, 1 text and ids, 2 links, scores, conflicts.",
    result=("previous_level", "new_level"),
)
class SetVerbosity(Called, kw_only=True):
    """Set how much results tell from now on."""

    level: Annotated[int, about(LEVELS, schema={"enum": [0, 1, 2]}, check=_check_level, ge=0, le=2)]


@operation(
    "memory.forget",
    short="Forget a memory",
    tool="forget_memory",
    search="delete a wrong or unwanted memory",
    says="Take a memory out. Soft: restore_memory brings it back within 30 days.",
    hints=DESTROYS,
    result=("node_id", "soft_delete"),
)
class Forget(Called, kw_only=True):
    """Forget a memory: no search finds it any more. For 30 days `memory restore` brings it back.

    Its text is shown. Its sentences leave the summaries and notes that quote them as well, and a note that
    says nothing else is forgotten with it; the answer names these, the sessions whose record still has the
    words, and memories that may say the same in other words. Of a summary it names the session's notes;
    --notes forgets them too. A pinned memory needs a yes, or --pinned. --permanent also takes the words out
    of what was recorded of sessions, and deletes the memories that were merged into it; the answer names
    those that stay, and why.

    Exit codes: 0; 1 no such memory, an id that fits several, or it is kept after a question or for want of
    a terminal to ask at; 2 an id that is too short to delete for good; 3 the database is corrupt.

    Example: context-graph-cli memory forget 5f3c1a2b --reason "was wrong"
    """

    node_id: Annotated[str, node_named(NODE_ID, wire="id")]
    soft_delete: Annotated[
        bool,
        about(
            "false (--permanent) deletes it at once and for good; else it can be restored for 30 days.",
            schema={"type": "boolean", "default": True},
            flag="permanent",
            command="Delete it for good, and at once: shows the text and asks. Needs eight digits of the id.",
        ),
    ] = True
    reason: Annotated[
        str,
        text(
            "Why; kept with its time. user_requested, only if the user asked: needed to delete for good.",
            500,
            0,
            tool="user_requested, only if the user asked: needed to delete for good",
        ),
    ] = ""
    pinned: Annotated[bool, about("Forget it although it is pinned; only if the user asked for it.")] = False
    notes: Annotated[bool, about("Of a session's summary, forget the session's notes too.")] = False


@operation("memory.confirm", short="Confirm that a memory still holds")
class Confirm(Called, kw_only=True):
    """Confirm that a memory still holds, although files it rests on have changed.

    From now on it rests on those files as they are, and counts as verified until they change again.

    Exit codes: 0; 1 no such memory, the id fits several, or there is no confirmation to take back; 3 the
    database is corrupt.

    Example: context-graph-cli memory confirm 5f3c1a2b
    """

    node_id: Annotated[str, node_named(NODE_ID, wire="id")]
    take_back: Annotated[bool, about("Undo the last confirmation instead.")] = False


@operation("memory.reword", short="Say a memory in other words")
class Reword(Called, kw_only=True):
    """Give a memory another text; its id, kind, tags and links stay, and what its session says later of the
    same thing no longer changes it.

    For a rule or another note that says the right thing badly. `memory edit` stores a new memory that
    replaces the old one, of what was stored on purpose. `memory history` has the old text.

    Exit codes: 0; 1 no such memory, the id fits several, it is a session's summary, or the text is empty or
    too long; 3 the database is corrupt.

    Example: context-graph-cli memory reword 5f3c1a2b "Amounts are in cents, as integers"
    """

    node_id: Annotated[str, node_named(NODE_ID, wire="id")]
    content: Annotated[
        str, node_named("The new text, 1 to 65,536 characters.", "TEXT", stdin=True, bounded=True)
    ]


@operation(
    "memory.restore",
    short="Restore a forgotten memory",
    tool="restore_memory",
    search="undo forgetting a memory",
    says="Bring back a memory that was forgotten softly.",
    result=("node_id",),
)
class Restore(Called, kw_only=True):
    """Bring a forgotten memory back, as long as it has not been purged.

    Exit codes: 0; 1 no such forgotten memory; 3 the database is corrupt.

    Example: context-graph-cli memory restore 5f3c1a2b
    """

    node_id: Annotated[str, node_named(NODE_ID, wire="id")]


@operation(
    "memory.link",
    short="Link two memories",
    tool="link_memories",
    search="connect memories: causes, contradicts",
    says="Connect two memories; recall follows such links.",
    result=("edge_id",),
)
class Link(Called, kw_only=True):
    """Link two memories; a link of the same type between them is replaced.

    Exit codes: 0; 1 no such memory; 2 a wrong argument; 3 the database is corrupt.

    Example: context-graph-cli memory link 5f3c1a2b 9d0e7c44 --type caused_by --weight 0.9
    """

    source_id: Annotated[str, node_named("Id of the memory the link leaves.", "FROM", wire="source")]
    target_id: Annotated[str, node_named("Id of the memory it leads to.", "TO", wire="target")]
    relationship_type: Annotated[
        str,
        text(
            "How the first relates to the second; `causes` makes a causal link, `contradicts` a conflict.",
            64,
            tool="causes, contradicts, part_of, related_to ...",
            option="--type",
            metavar="WORD",
        ),
    ] = "related_to"
    weight: Annotated[float, unit("Strength, 0 to 1.")] = 0.5
    confidence: Annotated[float, unit("Certainty, 0 to 1.")] = 1.0
    domain: Annotated[Domain, about("The kind of knowledge it belongs to.")] = Domain.GENERAL
    metadata: _Metadata | None = None


@operation(
    tool="get_memory",
    search="read one whole memory by its id",
    says="One memory whole; level 2: its links.",
    result=("node",),
)
class Get(Shown, kw_only=True):
    """Show one whole memory."""

    node_id: Annotated[str, node_named(NODE_ID)]
    accept: Annotated[
        bool,
        about("Mark it as fine as it is, although nothing is connected to it: no review asks for it again."),
    ] = False


@operation(
    tool="get_identity",
    search="identity continuity of the session",
    says="The session's identity continuity and consciousness.",
    hints=READS,
    result=("session_id", "identity_continuity"),
)
class Identity(Called):
    """Show the numbers of a session's identity."""
