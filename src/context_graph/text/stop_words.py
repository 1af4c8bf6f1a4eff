"""Lists words that say little: those too common to search for, and those common to all work.

The latter come from general knowledge of languages and tools, not from counts on any data: they must fit
projects that nobody has seen yet. All are lower case; one shorter than the kernels' shortest token would have
no effect.
"""

from __future__ import annotations

from typing import Final

STOP_WORDS: Final = tuple(
    (
        b"a an and are as at be been but by did do does for from had has have he her his how i in "
        b"is it its me my of on or our she so that the their them they this to was we were what "
        b"when where which who why will with would you your"
    ).split()
)
"""Words too common to be lexical terms. Lower-case English, UTF-8."""

_ENGLISH: Final = """
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
WORK_WORDS: Final = frozenset((_ENGLISH + _LANGUAGES + _TOOLS).encode().split())
"""Words that say nothing about a purpose."""

HEADS: Final = frozenset(
    b"class def enum fn from func function import interface struct trait type use".split()
)
"""Words after which code defines or imports a name."""
