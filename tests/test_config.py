"""Settings: flags over environment over file over defaults; what is wrong with them is one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from disputatio.config import FILE, FOUND_MAY_SET, Settings, read_settings
from disputatio.errors import ConfigError, InputError, NotJournalled, StoreError, UnknownName
from disputatio.kit import TRAINED_READER
from disputatio.llm.cached_llm import CachedEmbedder
from disputatio.llm.call_cache import CallCache
from disputatio.llm.scripted import Scripted
from disputatio.parts import build_kit, embedder_for, open_embedder
from disputatio.store.folder_index import FolderIndex
from disputatio.types import Passage, Sampling
from tests.llm.fake_server import Asked, FakeServer, Wire, ask
from tests.shell import write_script
from tests.store.hashing import HashEmbedder


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    return tmp_path


# --- where settings come from -------------------------------------------------------------------
def test_flags_come_before_the_environment_the_file_and_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_settings().strategy == "disputation"
    monkeypatch.setenv("DISPUTATIO_CONFIG", FILE)
    Path(FILE).write_text('strategy = "concat"\nmodel = "openai:file"\n[role]\njudge = "openai:file"\n')
    assert read_settings().strategy == "concat"
    monkeypatch.setenv("DISPUTATIO_STRATEGY", "majority_vote")
    monkeypatch.setenv("DISPUTATIO_ROLE", '{"judge": "openai:environment"}')
    settings = read_settings()
    assert (settings.strategy, settings.model) == ("majority_vote", "openai:file")
    assert settings.role == {"judge": "openai:environment"}
    assert read_settings(strategy="closed_book", model=None).strategy == "closed_book"
    monkeypatch.setenv("DISPUTATIO_STRATEGY", "")  # an empty variable is one that is not set
    assert read_settings().strategy == "concat"


@pytest.mark.parametrize("name", sorted(set(Settings.model_fields) - {*FOUND_MAY_SET, "cache"}))
def test_a_file_that_merely_lies_there_sets_no_model_address_path_or_journal(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    value = {"role": '{judge = "none"}', "replay": "true", "thinking": "true", "otel": "true"}.get(
        name, '"none"'
    )
    Path(FILE).write_text(f"{name} = {value}\n")
    with pytest.raises(InputError, match=rf"may not set {name}: .*DISPUTATIO_CONFIG=disputatio\.toml"):
        read_settings()
    overruling = {"role": {"judge": "none"}, "index": Path("x")}
    overruling |= dict.fromkeys(("replay", "thinking", "otel"), False)
    read_settings(**{name: overruling.get(name, "none")})  # what the user names overrules it
    monkeypatch.setenv("DISPUTATIO_CONFIG", FILE)
    read_settings()


def test_another_role_of_the_user_does_not_allow_that_of_a_found_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(FILE).write_text('[role]\njudge = "openai:gpt"')
    monkeypatch.setenv("DISPUTATIO_ROLE", '{"reader": "none"}')
    with pytest.raises(InputError, match="may not set role"):
        read_settings()


def test_a_found_file_sets_expectation_limits_and_a_shipped_strategy() -> None:
    limits = "".join(f"{name} = 5\n" for name in FOUND_MAY_SET[3:] if name != "context_tokens")
    Path(FILE).write_text('strategy = "concat"\nexpect = "one"\nmin_confidence = 0.5\n' + limits)
    settings = read_settings()
    assert (settings.strategy, settings.expect, settings.min_confidence) == ("concat", "one", 0.5)
    assert settings.total_seconds == 5
    Path(FILE).write_text('strategy = "evil:run"')
    with pytest.raises(InputError, match="may not set a strategy of your own"):
        read_settings()
    assert read_settings(strategy="concat").strategy == "concat"


def test_a_path_below_home_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home-of-tests")
    settings = read_settings(index="~/town.index", journal="~/calls.sqlite")
    assert settings.index == Path("/home-of-tests/town.index")
    assert settings.journal == "/home-of-tests/calls.sqlite"


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ('modle = "x"', UnknownName, "unknown setting 'modle': did you mean 'model'?"),
        ("model = ", InputError, "disputatio.toml or the environment"),
        ("kv_cache_gb = 0", InputError, "setting kv_cache_gb: Input should be greater than or equal to 1"),
        ('in_flight = "many"', InputError, "DISPUTATIO_IN_FLIGHT or disputatio.toml"),
        ('cache = "models"', InputError, "set by the variable DISPUTATIO_CACHE alone"),
    ],
)
def test_a_wrong_file_is_told_in_one_line(text: str, error: type[Exception], said: str) -> None:
    Path(FILE).write_text(text)
    with pytest.raises(error) as raised:
        read_settings()
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("ROLE", "{judge", '"role"'), ("KV_CACHE_GB", "lots", "kv_cache_gb"), ("REPLAY", "perhaps", "replay")],
)
def test_a_wrong_variable_is_told(name: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"DISPUTATIO_{name}", value)
    with pytest.raises(InputError, match=said):
        read_settings()


# --- models -------------------------------------------------------------------------------------
def test_a_model_that_cannot_be_is_told_before_anything_is_loaded_or_made(place: Path) -> None:
    for model in ("local:nope", "nope", "openai:", "local:minilm-l6-v2"):
        with pytest.raises(ConfigError):
            build_kit(read_settings(model=model, journal="none"))
    with pytest.raises(UnknownName, match=r"did you mean 'local:qwen2\.5-coder-0\.5b'"):
        build_kit(read_settings(model="local:qwen2.5-coder-0.5", journal="none"))
    assert list(place.iterdir()) == []


def test_a_model_of_the_catalogue_is_named_without_being_fetched(place: Path) -> None:
    said: list[str] = []
    kit = build_kit(read_settings(journal="none"), say=said.append)
    assert kit.model.name == "local:qwen2.5-coder-1.5b"
    assert said == []
    assert list(place.iterdir()) == []


@pytest.mark.long
def test_without_a_language_model_none_is_loaded_to_read() -> None:
    pytest.importorskip("openvino_genai")
    assert build_kit(read_settings(journal="none")).trained is not None
    assert build_kit(read_settings(journal="none", model="none")).trained is None


@pytest.mark.parametrize(
    ("settings", "prefers"),
    [
        ({}, True),
        ({"model": "local:qwen2.5-coder-1.5b"}, True),
        ({"model": "local:qwen2.5-coder-0.5b"}, False),
        ({"model": "scripted:"}, False),
        ({"role": {"reader": "scripted:"}}, False),
        ({"role": {"judge": "scripted:"}}, True),
        ({"model": "scripted:", "role": {"trained_reader": "scripted:"}}, True),
        ({"model": "none"}, False),
    ],
)
def test_the_trained_reader_reads_for_the_default_model_or_where_one_is_named(
    settings: dict[str, Any], prefers: bool
) -> None:
    pytest.importorskip("openvino_genai")
    kit = build_kit(read_settings(journal="none", **settings))
    assert (TRAINED_READER in kit.roles) is prefers


def test_a_model_object_reads_itself() -> None:
    assert not build_kit(read_settings(journal="none"), model=Scripted([])).roles


def test_a_script_is_journalled_only_where_a_file_is_named(place: Path) -> None:
    model = write_script(place / "script.json")
    for journal in ("default", "none"):
        plain = build_kit(read_settings(model=model, journal=journal)).model
        plain.complete([ask("in 1887")], Sampling())
        assert not plain.complete([ask("in 1887")], Sampling())[0].journalled
    kept = build_kit(read_settings(model=model, journal="calls.sqlite")).model
    first = kept.complete([ask("in 1887")], Sampling())[0]
    assert kept.complete([ask("in 1887")], Sampling())[0].journalled
    write_script(place / "script.json", {"": {"answer": "another script is another model"}})
    other = build_kit(read_settings(model=model, journal="calls.sqlite")).model
    assert other.complete([ask("in 1887")], Sampling())[0].text != first.text
    (place / "script.json").unlink()
    replayed = build_kit(read_settings(model=model, journal="calls.sqlite", replay=True)).model
    with pytest.raises(NotJournalled):
        replayed.complete([ask("in 1901")], Sampling())


def test_a_replay_makes_no_journal(place: Path) -> None:
    with pytest.raises(InputError, match="there is no journal to replay"):
        build_kit(read_settings(model="scripted:", journal="calls.sqlite", replay=True))
    with pytest.raises(ConfigError, match="--replay needs a journal"):
        build_kit(read_settings(model="scripted:", journal="none", replay=True))
    assert list(place.iterdir()) == []


# --- embedders ----------------------------------------------------------------------------------
def _index(path: Path, embedder: HashEmbedder | None) -> Path:
    index = FolderIndex.open(path, embedder=embedder)
    index.add([Passage(text="The ferry first crossed in 1887.", source="museum.example")])
    return path


@pytest.mark.long
def test_an_index_is_opened_with_the_embedder_it_was_made_with(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def opened(name: str, **_: Any) -> HashEmbedder | None:
        asked.append(name)
        return None if name == "none" else HashEmbedder("minilm-l6-v2@12345678")

    monkeypatch.setattr("disputatio.parts.open_embedder", opened)
    plain = _index(place / "plain", None)
    dense = _index(place / "dense", HashEmbedder("minilm-l6-v2@12345678"))
    settings = read_settings(embedder=str(place / "my-own"), journal="none")
    assert embedder_for(settings, plain) is None
    assert embedder_for(settings, place / "nothing") is None
    assert asked == []
    said: list[str] = []
    found = embedder_for(settings, dense, say=said.append)
    assert found is not None
    assert asked == ["minilm-l6-v2"]
    assert said == ["fetching the embedder minilm-l6-v2, once"]
    assert embedder_for(read_settings(embedder="none"), dense) is None
    other = _index(place / "other", HashEmbedder("hash-32"))
    with pytest.raises(ConfigError, match="made with the embedder hash-32, not with minilm-l6-v2@12345678"):
        embedder_for(read_settings(), other)
    with pytest.raises(StoreError):
        embedder_for(settings, place, create=True)


def _embeddings(asked: Asked) -> Wire:
    listed = [{"index": at, "embedding": [len(text), 1, 2]} for at, text in enumerate(asked.body["input"])]
    return Wire(kind="application/json", pieces=[json.dumps({"data": listed})])


@pytest.mark.long
def test_an_index_made_with_a_served_embedder_is_opened_with_it_at_any_address(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    settings = read_settings(embedder="openai:e5-small@3", journal="none")
    with FakeServer(_embeddings) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        part = embedder_for(settings, place / "index", create=True)
        assert part is not None
        FolderIndex.open(place / "index", embedder=part).add(
            [Passage(text="It crossed.", source="a.example")]
        )
        assert [one.body["input"] for one in server.asked] == [["passage: a.example\nIt crossed."]]
        assert server.asked[0].body["dimensions"] == 3
    with FakeServer(_embeddings) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        other = read_settings(embedder="minilm-l6-v2", journal="none")
        again = embedder_for(other, place / "index")
        assert again is not None
        assert (again.name, again.dimension) == ("openai:e5-small@3", 3)
        assert server.asked == [], "the index knows how long its vectors are"
        assert (
            len(FolderIndex.open(place / "index", embedder=again, create=False).search("Did it cross?")) == 1
        )
        assert [one.body["input"] for one in server.asked] == [["query: Did it cross?"]]
    for wrong in (read_settings(query_prefix="", journal="none"), read_settings(passage_prefix="x")):
        with pytest.raises(
            ConfigError, match=r"openai:e5-small@3, not with openai:e5-small@3#.*QUERY_PREFIX"
        ):
            embedder_for(wrong, place / "index")


def test_an_embedder_is_a_folder_or_a_name_and_not_another_file(place: Path) -> None:
    (place / "model.gguf").write_bytes(b"GGUF....")
    with pytest.raises(InputError, match=r"model\.gguf: an embedder is a folder"):
        open_embedder(str(place / "model.gguf"))
    with pytest.raises(ConfigError, match="write openai:NAME"):
        open_embedder("openai:")
    assert open_embedder("none") is None


def test_a_kit_opens_its_embedder_at_the_first_use_and_has_none_where_none_is_set(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def made(name: str, **options: Any) -> HashEmbedder:
        opened.append(f"{name} {options['pull']}")
        return HashEmbedder()

    said: list[str] = []
    monkeypatch.setattr("disputatio.parts.open_embedder", made)
    kit = build_kit(read_settings(model="scripted:"), say=said.append)
    assert (opened, said) == ([], [])
    assert kit.embedder is not None
    assert kit.embedder.embed(["a red ferry"]).shape == (1, 32)
    assert opened == ["multilingual-e5-small True"]
    assert said == ["fetching the embedder multilingual-e5-small, once"]
    assert build_kit(read_settings(model="scripted:", embedder="none")).embedder is None


def test_an_index_whose_embedder_is_known_by_its_own_name_alone_says_what_to_set(place: Path) -> None:
    index = _index(place / "index", HashEmbedder("own/thing, of mine@12345678"))
    with pytest.raises(ConfigError, match="set DISPUTATIO_EMBEDDER to its name or folder"):
        embedder_for(read_settings(embedder="openai:m", journal="none"), index)


def test_query_vectors_are_kept_and_come_back_to_the_bit(place: Path) -> None:
    embedder = HashEmbedder()
    journal = CallCache(place / "calls.sqlite")
    live = CachedEmbedder(embedder, lambda: journal)
    texts = ["When did the ferry cross?", "渡轮", "When did the ferry cross?"]
    first = live.embed(texts, query=True)
    assert embedder.calls == 1
    assert (first == HashEmbedder().embed(texts, query=True)).all()
    live.embed(["渡轮"], query=True)
    assert embedder.calls == 1
    live.embed(["a passage"])
    assert (embedder.calls, journal.count()) == (2, 2)  # passages have their vectors in the index

    replayed = CachedEmbedder(None, lambda: journal, name="hash-32", dimension=32)
    assert (replayed.name, replayed.dimension) == ("hash-32", 32)
    again = replayed.embed(texts, query=True)
    assert again.dtype == first.dtype
    assert again.tobytes() == first.tobytes()
    assert replayed.embed([], query=True).shape == (0, 32)
    with pytest.raises(NotJournalled, match="holds no vector of hash-32: 'never asked'"):
        replayed.embed(["never asked"], query=True)
    with pytest.raises(NotJournalled):
        CachedEmbedder(None, lambda: journal, name="other", dimension=32).embed(["渡轮"], query=True)
    with pytest.raises(NotJournalled):
        replayed.embed(["a passage"])
    with pytest.raises(ConfigError):
        CachedEmbedder(None, lambda: journal)


def test_a_journalled_embedder_opens_the_journal_at_the_first_query() -> None:
    def unavailable() -> CallCache:
        raise AssertionError("the journal was opened")

    part = CachedEmbedder(HashEmbedder(), unavailable)
    assert (part.name, part.dimension) == ("hash-32", 32)
    assert part.embed(["a passage"]).shape == (1, 32)
