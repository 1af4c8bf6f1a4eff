"""A later statement ends the earlier one that it contradicts, or says it again, or neither."""

from __future__ import annotations

import pytest

from context_graph.notes.said import Statement, repeated, replaces
from context_graph.notes.said.content import read_content
from context_graph.notes.said.language import language_of


def said(text: str) -> Statement:
    return read_content("rule", text, language_of(text), 0.0)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("we moved to just, don't use make any more", "we use make here, not shell scripts"),
        ("the mail relay is on 2600 now", "the mail relay is on 2525"),
        ("comments in fixtures are fine now", "no comments in fixtures"),
        ("I changed my mind, threads are fine for the uploads", "don't use threads here"),
        ("Finalement tu peux utiliser des threads, mais uniquement ici", "n'utilise pas de threads"),
        ("mejor escribe en avro, no a csv", "escribe los informes a csv en vez de json"),
        ("jetzt Podman statt Docker", "Container starten wir mit Docker"),
        ("on utilise podman au lieu de docker maintenant", "ici on utilise docker"),
        ("ahora podman en vez de docker", "aquí usamos docker"),
        ("agora podman em vez de docker", "aqui a gente usa docker"),
        ("теперь podman вместо docker", "контейнеры запускаем через docker"),
        ("不再用 docker,改用 podman", "这里用 docker"),
        ("dockerではなくpodmanを使ってください", "コンテナはdockerで動かします"),
        (
            "prod runs Kotlin 2 since yesterday, so context receivers are fine",
            "we're on Kotlin 1, no receivers",
        ),
        ("the gate for complexity is 12 now", "complexity has to stay below 9"),
        ("shared types moved to packages/model, lib/types is dead", "shared types live in lib/types"),
        ("ops moved the test broker to mq-green.internal", "the test broker is mq-1.internal"),
        ("Rechnungstexte ab jetzt auf Englisch", "Rechnungstexte bitte auf Deutsch"),
        ("no more bootstrap in new forms, plain css instead", "style the forms with bootstrap"),
        ("master is gone, merge requests go to trunk", "open merge requests against master"),
        ("we dropped resque for good_job last week", "background jobs use resque"),
    ],
)
def test_it_ends_what_it_contradicts(new: str, old: str) -> None:
    assert replaces(said(new), said(old))
    assert not repeated(said(new), said(old))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("never stub the mail relay in tests", "the mail relay is never stubbed in tests"),
        ("please no emojis in release notes", "no emojis in release notes"),
        ("Gewichte sind bei uns immer in Gramm", "Gewichte sind in Gramm"),
        ("重量一律以克为单位", "重量都以克为单位"),
    ],
)
def test_other_words_for_the_same_are_the_same(one: str, other: str) -> None:
    assert repeated(said(one), said(other))
    assert not replaces(said(one), said(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("weights are in grams", "temperatures are in kelvin"),
        ("functions have at most 40 lines", "files have at most 300 lines"),
        ("never edit gen/ by hand", "never edit vendor/ by hand"),
        ("the api listens on 8080", "the mail relay listens on 2525"),
        ("use fd instead of find", "use rg instead of grep"),
        ("the gateway answers within 200 ms now", "the gateway listens on 8080"),
        ("methods may have 60 lines now", "files have at most 300 lines"),
        ("new icons live under assets/icons now", "the api client lives in lib/client"),
        ("answer in English now", "comments are written in German"),
    ],
)
def test_statements_of_other_things_stand_side_by_side(one: str, other: str) -> None:
    assert not replaces(said(one), said(other))
    assert not repeated(said(one), said(other))
