"""A table of prices is ours or the user's, and a model without a price is an error, never free."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.spending import our_prices, read_prices
from disputatio.types import Usage

TABLE = """\
currency = "EUR"
as_of = 2026-01-31
[models."openai:*"]
prompt = 1.0
completion = 2.0
[models."openai:small*"]
prompt = 0.5
cached = 0.1
completion = 1.0
"""


def _file(folder: Path, text: str) -> Path:
    path = folder / "prices.toml"
    path.write_text(text)
    return path


def test_our_table_states_its_day_and_has_models_of_this_machine_free() -> None:
    ours = read_prices()
    assert (ours.currency, ours.as_of[:2]) == ("USD", "20")
    assert "not a quotation" in our_prices()
    assert ours.of("local:any-model").cost(Usage(prompt_tokens=10**9, completion_tokens=10**9)) == 0.0
    assert ours.of("openai:gpt-4o-mini").cost(Usage(prompt_tokens=10**6)) > 0.0


def test_our_table_printed_and_read_again_is_the_same(tmp_path: Path) -> None:
    assert read_prices(_file(tmp_path, our_prices())).models == read_prices().models


def test_the_longest_name_that_fits_counts(tmp_path: Path) -> None:
    table = read_prices(_file(tmp_path, TABLE))
    usage = Usage(prompt_tokens=3_000_000, cached_tokens=1_000_000, completion_tokens=1_000_000)
    assert table.of("openai:large").cost(usage) == pytest.approx(3.0 + 2.0)
    assert table.of("openai:small-2").cost(usage) == pytest.approx(2 * 0.5 + 0.1 + 1.0)
    assert (table.currency, table.as_of) == ("EUR", "2026-01-31")


def test_a_model_without_a_price_is_an_error_that_says_suggest_name(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r'no price of local:x: .*\[models\."local:x"\].*in EUR for a million'
    ):
        read_prices(_file(tmp_path, TABLE)).of("local:x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models = ", r"prices\.toml: is not TOML"),
        ("", r"prices\.toml: models: Field required"),
        ('[models."a"]\nprompt = -1.0\ncompletion = 1.0', r"models\.a\.prompt: .*greater than or equal to 0"),
        ('[models."a"]\nprompt = 1.0', r"models\.a\.completion: Field required"),
        ('[models."a"]\nprompt = 1.0\ncompletion = 1.0\ninput = 2.0', r"models\.a\.input: Extra inputs"),
    ],
)
def test_a_table_that_is_none_is_an_error_that_names_the_place(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_prices(_file(tmp_path, text))


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml"):
        read_prices(tmp_path / "none.toml")
