"""The judge at work: probabilities in order, long premises read to their end."""

from __future__ import annotations

import pytest

from disputatio.encoder.model import EncoderModel
from disputatio.encoder.reader import EncoderJudge
from disputatio.protocols import Contradiction, Entailment
from tests.train.material import write_model


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> EncoderJudge:
    return EncoderJudge(EncoderModel(write_model(tmp_path_factory.mktemp("model")), threads=1))


def test_it_is_what_strategies_ask_for(judge: EncoderJudge) -> None:
    assert isinstance(judge, Entailment)
    assert isinstance(judge, Contradiction)


def test_each_pair_has_its_probabilities_in_order(judge: EncoderJudge) -> None:
    pairs = [("silver", "anna won"), ("gold", "anna won"), ("paris", "anna won"), ("gold", "anna won")]
    supports, contradicts = judge.entails(pairs), judge.contradicts(pairs)
    assert [round(value, 2) for value in supports] == [0.0, 1.0, 0.05, 1.0]
    assert [round(value, 2) for value in contradicts] == [1.0, 0.0, 0.05, 0.0]


def test_what_was_judged_last_is_not_judged_again(
    judge: EncoderJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [("gold", "bruno won"), ("rome", "bruno won")]
    before = judge.entails(pairs), judge.contradicts(pairs)
    monkeypatch.setattr(judge.model, "logits", lambda _: pytest.fail("judged again"))
    assert (judge.entails(pairs), judge.contradicts(pairs)) == before


def test_a_long_premise_is_judged_to_its_end(judge: EncoderJudge) -> None:
    assert judge.entails([("paris . " * 100 + "gold", "anna won")])[0] > 0.9
    assert judge.contradicts([("silver . " + "paris . " * 100, "anna won")])[0] > 0.9


def test_no_pairs_give_no_scores(judge: EncoderJudge) -> None:
    assert judge.entails([]) == []
