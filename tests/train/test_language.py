"""Training of the reader: a leaf of a tree is a prompt of its own; made documents bear their answers."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from disputatio.agents.trained_reader import GAP, INSTRUCTIONS, UNKNOWN
from train.language import made
from train.language import rows as rows_table
from train.language.leaves import with_other_name, with_other_year
from train.language.tasks import named_in, passage_text, question_leaf
from train.language.trees import END, Branch, Leaf, Tree, pack, packed_branches, rows_of_leaf

TREE = Tree(
    "read",
    (
        Branch(
            passage_text("The bridge was opened in 1921."),
            (question_leaf("When was it opened?", "1921", "a"),),
        ),
        Branch(
            passage_text("The mill has 40 workers."),
            (question_leaf("How many workers?", "40", "b"), question_leaf("Who owns it?", "", "c")),
        ),
    ),
)


def bytes_of(text: str, **_: object) -> SimpleNamespace:
    """Tokenize into bytes, so that any cut of a text has the same tokens."""
    return SimpleNamespace(input_ids=list(text.encode()))


def prompt_of(branch: Branch, leaf: Leaf) -> str:
    """Return a leaf's prompt and target as one text."""
    system = f"<|im_start|>system\n{INSTRUCTIONS['read']}{END}\n<|im_start|>user\n"
    return f"{system}{branch.text}{GAP}{leaf.prompt}{END}\n<|im_start|>assistant\n{leaf.target}{END}"


def test_the_path_to_each_leaf_is_its_own_prompt() -> None:
    packed = pack(TREE, INSTRUCTIONS["read"], bytes_of)
    paths = [(branch, leaf) for branch in TREE.branches for leaf in branch.leaves]
    for number, (branch, leaf) in enumerate(paths):
        own = packed.branch[packed.leaf == number][0]
        seen = (packed.branch == -1) | ((packed.branch == own) & np.isin(packed.leaf, (-1, number)))
        assert bytes(packed.tokens[seen].tolist()).decode() == prompt_of(branch, leaf)
        assert packed.positions[seen].tolist() == list(range(int(seen.sum())))
    assert [
        bytes(packed.tokens[packed.targets[rows]].tolist()).decode() for rows in rows_of_leaf(packed)
    ] == [f"{leaf.target}{END}" for _, leaf in paths]


def test_made_documents_bear_their_answers_and_not_those_they_lack() -> None:
    for seed in range(60):
        for branch in made.branches(random.Random(seed), 3):
            for leaf in branch.leaves:
                if leaf.kind == "made":
                    answer, _, subject = leaf.target.partition("\n")
                    assert answer in branch.text and subject in branch.text
                else:
                    assert leaf.target == UNKNOWN
    assert made.branches(random.Random(4), 3) == made.branches(random.Random(4), 3)


def test_a_question_is_turned_to_another_year_or_name_that_the_passage_lacks() -> None:
    chance = random.Random(1)
    text = "In 1921 the Elm Bridge was opened by Ada Berg."
    turned = with_other_year("What did they open in 1921?", text, chance)
    assert turned.startswith("What did they open in ") and "1921" not in turned
    assert with_other_year("What did they open in 1930?", text, chance) == ""
    assert (
        with_other_name("Who is married to Ada Berg?", text, ["Otto Falk"], chance)
        == "Who is married to Otto Falk?"
    )
    assert with_other_name("Who opened it?", text, ["Otto Falk"], chance) == ""


@pytest.fixture
def model() -> Any:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (make train brings it)")
    transformers = pytest.importorskip(
        "transformers", reason="transformers is not installed (make train brings it)"
    )
    from train.language.passes import ATTENTION

    torch.manual_seed(3)
    config = transformers.Qwen2Config(
        vocab_size=256,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
        attn_implementation=ATTENTION,
    )
    return transformers.Qwen2ForCausalLM(config).requires_grad_(False)


def test_a_leaf_in_a_tree_has_the_logits_of_its_prompt_alone(model: Any) -> None:
    import torch

    from train.language.passes import logits_of, loss_of

    packed = pack(TREE, INSTRUCTIONS["read"], bytes_of)
    together = logits_of(model, packed, dtype=torch.float32)
    model.set_attn_implementation("sdpa")
    paths = [(branch, leaf) for branch in TREE.branches for leaf in branch.leaves]
    for (branch, leaf), rows in zip(paths, rows_of_leaf(packed), strict=True):
        alone = model(input_ids=torch.tensor([bytes_of(prompt_of(branch, leaf)).input_ids])).logits[0]
        torch.testing.assert_close(together[rows], alone[-len(rows) - 1 : -1], atol=1e-4, rtol=1e-4)
    with pytest.raises(ValueError, match="attends by sdpa"):
        logits_of(model, packed, dtype=torch.float32)
    assert loss_of(together, packed).item() == pytest.approx(
        5.5, abs=1.5
    )  # near log(256): nothing is learnt yet


def test_a_fresh_adapter_changes_nothing_and_a_trained_one_is_kept(model: Any, tmp_path: Any) -> None:
    import torch

    from train.language.fit import Settings, read_adapter, write_adapter
    from train.language.model import adapter_weights, add_adapters, set_adapter_weights
    from train.language.passes import logits_of, loss_of

    packed = pack(TREE, INSTRUCTIONS["read"], bytes_of)
    before = logits_of(model, packed, dtype=torch.float32)
    add_adapters(model, rank=4, scale=2.0)
    torch.testing.assert_close(logits_of(model, packed, dtype=torch.float32), before)
    parameters = list(adapter_weights(model).values())
    optimizer = torch.optim.AdamW(parameters, lr=3e-2)
    losses = [loss_of(before, packed).item()]
    for _ in range(30):
        loss = loss_of(logits_of(model, packed, dtype=torch.float32), packed)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
    assert losses[-1] < losses[0] - 0.2
    write_adapter(tmp_path / "adapter.safetensors", model, Settings())
    trained = logits_of(model, packed, dtype=torch.float32)
    with torch.no_grad():
        for parameter in parameters:
            parameter.zero_()
    torch.testing.assert_close(logits_of(model, packed, dtype=torch.float32), before)
    set_adapter_weights(model, read_adapter(tmp_path / "adapter.safetensors"))
    torch.testing.assert_close(logits_of(model, packed, dtype=torch.float32), trained, atol=0.1, rtol=0.05)


def test_rows_side_by_side_have_the_logits_of_their_trees(model: Any, tmp_path: Any) -> None:
    import torch

    from train.language import gpu, rows
    from train.language.passes import logits_of

    packed = list(packed_branches([TREE, TREE], bytes_of))
    apart = torch.cat([logits_of(model, tree, dtype=torch.float32) for tree in packed])
    model.set_attn_implementation(gpu.ATTENTION)
    rows.save(rows.rows_of(packed), tmp_path / "rows.npz")
    kept = rows.load(tmp_path / "rows.npz")
    numbers = [number for some in rows.batches(kept, 10_000, None) for number in some]
    assert sorted(numbers) == list(range(len(packed)))
    batch = rows.batch_of(kept, range(len(packed)))
    torch.testing.assert_close(gpu.logits_of(model, batch), apart, atol=1e-4, rtol=1e-4)
    assert bytes(gpu.wanted_of(batch, "cpu").tolist()).decode() == "".join(
        f"{leaf.target}{END}" for branch in (*TREE.branches, *TREE.branches) for leaf in branch.leaves
    )


def test_steps_on_rows_learn_their_leaves_and_a_bad_gradient_is_skipped(model: Any, tmp_path: Any) -> None:
    import torch

    from train.language import gpu, rows
    from train.language.model import add_adapters

    model.set_attn_implementation(gpu.ATTENTION)
    add_adapters(model, rank=4, scale=2.0)
    run = gpu.Run(model, tmp_path / "run", rate=3e-2)
    kept = rows.rows_of(list(packed_branches([TREE], bytes_of)))
    batch = rows.batch_of(kept, range(len(kept)))
    losses = [run.step(batch, 1.0).mean().item() for _ in range(30)]
    assert losses[-1] < losses[0] - 0.2
    assert run.step(batch, 1.0).shape == (len(kept.leaves),)
    assert (run.steps, run.leaves, run.skipped) == (31, 31 * len(kept.leaves), 0)
    before = [parameter.clone() for parameter in run.parameters]
    hook = run.parameters[0].register_hook(lambda gradient: gradient * float("nan"))
    run.step(batch, 1.0)
    hook.remove()
    assert run.skipped == 1
    assert all(torch.equal(own, old) for own, old in zip(run.parameters, before, strict=True))


def test_batches_hold_no_more_places_than_asked_and_every_row_once() -> None:
    packed = list(packed_branches([TREE] * 5, bytes_of))
    kept = rows_table.rows_of(packed)
    longest = max(len(tree.tokens) for tree in packed)
    for seed in (None, 3):
        found = list(rows_table.batches(kept, 2 * longest, seed))
        assert sorted(number for some in found for number in some) == list(range(len(packed)))
        assert all(
            len(some) * max(len(packed[number].tokens) for number in some) <= 2 * longest for some in found
        )


def test_a_subject_that_the_passage_lacks_is_not_taught() -> None:
    assert named_in("Mercury (planet)", "Mercury is near") == ""
    assert question_leaf("Who?", "Ada", "page", "Night Harbour").target == "Ada\nNight Harbour"
    assert question_leaf("Who?", "", "page", "Night Harbour").target == UNKNOWN


def test_quotes_on_one_topic_are_asked_of_one_owner_and_of_one_that_is_not_there() -> None:
    for seed in range(20):
        branch = made.same_topic(random.Random(seed))
        asked, absent = branch.leaves
        owner = asked.prompt.rsplit(" at ", 1)[1].rstrip("?")
        (quote,) = [line for line in branch.text.splitlines() if owner in line and asked.target in line]
        assert asked.target in quote
        assert absent.target == UNKNOWN and absent.prompt.rsplit(" at ", 1)[1].rstrip("?") not in branch.text
