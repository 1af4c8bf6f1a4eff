"""Prompts that say nothing of what the work is about, in any language; words that only build sentences."""

from __future__ import annotations

import pytest

from context_graph.text.function_words import is_function_word, language_of, pairs_in, says_nothing

NOTHING = """yes
Yes, go on!
continue please
ok, do it
looks good to me, thanks
go ahead with option 2
2
👍
wake up
ja, mach weiter
alles klar, danke
oui, continue
d'accord, vas-y
sí, adelante
obrigado, continua
va bene, grazie
ja, ga verder
tak, dalej
да, продолжай
так, далі
evet, devam et
好的，谢谢
是的
不对，重新来
等一下
再试一次
はい、続けてください
ありがとうございます
네, 계속해 주세요
ใช่ ทำต่อ
نعم، تابع""".splitlines()
SOMETHING = """fix the tests
why is staging down?
use sqlite
ja, nimm Postgres
oui, mais sans la base de test
登录接口的令牌有效期是多久？
トークンの寿命は
да, но без миграций
네, 로그인 버튼부터
4433""".splitlines()


@pytest.mark.parametrize("text", NOTHING)
def test_courtesies_say_nothing_in_any_language(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize("text", SOMETHING)
def test_one_word_of_the_work_says_something(text: str) -> None:
    assert not says_nothing(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("where does the exporter write its file", "en"),
        ("die Rechnung wird nicht gespeichert", "de"),
        ("la facture n'est pas dans la base", "fr"),
        ("dónde está la clave de la caché", "es"),
        ("令牌多久刷新", "zh"),
        ("令牌はいつ更新する", "ja"),
        ("토큰은 언제", "ko"),
        ("где лежит ключ", "ru"),
    ],
)
def test_a_text_s_language_is_told_by_script_and_common_words(text: str, code: str) -> None:
    assert language_of(text) == code


def test_a_word_builds_sentences_in_its_own_language_only() -> None:
    assert is_function_word("die", "de") and not is_function_word("die", "en")
    assert is_function_word("weil", "de") and not is_function_word("Rechnung", "de")


def test_a_word_in_katakana_shares_more_than_two_sounds() -> None:
    assert set(pairs_in("トマトの苗")) & set(pairs_in("ヤマト運輸")) == set()
    assert set(pairs_in("リンター")) & set(pairs_in("データセンター")) == set()
    assert "データベ" in set(pairs_in("データベースを消す")) & set(pairs_in("検証用データベース"))


def test_ideographs_count_in_pairs_without_those_that_only_build_sentences() -> None:
    pairs = pairs_in("令牌的 port")
    assert pairs == ["令牌", "牌的"]
    assert [is_function_word(pair, "zh") for pair in pairs] == [False, True]
