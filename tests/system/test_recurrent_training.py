"""``gru_selfattn_residual`` through fairseq's commands, on one and on two processes."""

from __future__ import annotations

import functools
import re

import pytest
import torch
from commands import run
from fairseq import checkpoint_utils
from helpers import few
from interruption import assert_same_training, kill_before_update, updates
from systems import (
    ADADELTA,
    RECURRENT,
    RECURRENT_NAMES,
    SOURCE,
    SPLITS,
    TARGET,
    load,
    recurrent_generation,
    recurrent_training,
    task,
    write_text,
)
from two_processes import train_on_two


def test_published_training_resume_validate_generate_interactive(corpus, tmp_path):
    save, last = tmp_path / "save", tmp_path / "save" / "checkpoint_last.pt"
    begun = run(
        tmp_path, "train", *recurrent_training(corpus, save, "", *ADADELTA, "--max-epoch", 1)
    ).good()
    settings = vars(load(save)["cfg"]["model"])
    assert (settings["dropout"], settings["dropout_after"]) == (0.5, "all")
    resumed = run(
        tmp_path, "train", *recurrent_training(corpus, save, "", *ADADELTA, "--max-epoch", 2)
    ).good()
    assert "Loaded checkpoint" in resumed.output
    assert load(save)["extra_state"]["train_iterator"]["epoch"] == 3
    losses = [log.logged("valid_loss")[-1] for log in (begun, resumed)]
    assert losses[1] < losses[0]
    for name in ("entropy", "last"):
        assert resumed.logged(f"valid_previous_{name}")

    flags = [
        corpus,
        "--path",
        last,
        *RECURRENT_NAMES,
        "--label-smoothing",
        0.1,
        "--max-tokens",
        80,
        "--cpu",
    ]
    validated = run(tmp_path, "validate", *flags, "--log-format", "json").good()
    expected = resumed.logged("valid_loss")[-1]
    assert validated.logged("valid_loss")[-1] == pytest.approx(expected, abs=2e-3)

    generated = run(tmp_path, "generate", *recurrent_generation(corpus, last)).good().hypotheses()
    assert sorted(generated) == list(range(SPLITS["test"]))
    source = corpus.parent / "text" / f"test.{SOURCE}"
    flags = recurrent_generation(corpus, last, "--input", source, "--buffer-size", 7)
    typed = run(tmp_path, "interactive", *flags).good().hypotheses()
    assert [text for _, text in typed.values()] == [generated[i][1] for i in range(len(generated))]


@pytest.mark.thorough
def test_a_killed_training_resumed_is_the_unbroken_one(corpus, tmp_path):
    unbroken, broken = tmp_path / "unbroken", tmp_path / "broken"
    length = [*ADADELTA, "--max-epoch", 3, "--save-interval-updates", 2, "--disable-validation"]
    run(tmp_path, "train", *recurrent_training(corpus, unbroken, "", *length)).good()
    command = recurrent_training(corpus, broken, "", *length)
    last = updates(unbroken)
    assert run(tmp_path, "train", *command, before=lambda: kill_before_update(last)).code < 0
    resumed = run(tmp_path, "train", *command).good()
    assert re.search(r"Loaded checkpoint .*\(epoch 3 @ \d+ updates\)", resumed.output)
    assert_same_training(load(broken), load(unbroken))


@pytest.mark.thorough
def test_an_ensemble_of_two_readouts_averages_their_probabilities(corpus, tmp_path):
    """With a state of their own each: content's O(1) summary, the memory's growing states."""
    paths = []
    for seed, variant in enumerate(("", "memory"), start=1):
        save = tmp_path / f"save-{variant}"
        flags = ["--max-epoch", 4, "--dropout", 0, "--disable-validation", "--optimizer", "adam"]
        flags += ["--lr", 0.02, "--seed", seed]
        run(save, "train", *recurrent_training(corpus, save, variant, *flags)).good()
        paths.append(str(save / "checkpoint_last.pt"))
    flags = recurrent_generation(
        corpus, ":".join(paths), "--gen-subset", "test1", "--beam", 3, "--nbest", 3
    )
    generated = run(tmp_path, "generate", *flags).good()
    made = task(RECURRENT, corpus)
    models, _ = checkpoint_utils.load_model_ensemble(paths, task=made)
    made.load_dataset("test1")
    words, eos = made.target_dictionary, made.target_dictionary.eos()
    found = re.findall(r"^H-(\d+)\t[^\t]*\t(.*)$", generated.output, flags=re.MULTILINE)
    assert len(found) == 3 * SPLITS["test1"]
    furthest = 0.0
    for (number, text), (_, scores) in zip(found, generated.scored(), strict=True):
        tokens = [words.index(word) for word in text.split()] + [eos]
        source = made.dataset("test1")[int(number)]["source"][None]
        before = torch.tensor([[eos, *tokens[:-1]]])
        with torch.no_grad():
            chances = [m.eval()(source, None, before)[0][0].softmax(dim=-1) for m in models]
        furthest = max(furthest, float((chances[0] - chances[1]).abs().max()))
        chosen = sum(chances)[range(len(tokens)), tokens] / 2
        # printed to the base 2, with four digits
        assert scores == pytest.approx(chosen.log2().tolist(), abs=1e-3)
    assert furthest > 0.01, "one model alone would have passed too"


@pytest.fixture(scope="module")
def ragged(tmp_path_factory):
    """Binarised text with empty translations: batches of nothing but targets of one token."""
    folder = tmp_path_factory.mktemp("ragged")
    text = folder / "text"
    write_text(text, {"train": 12, "valid": 2}, longest=4)
    path = text / f"train.{TARGET}"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n" * 4 + "".join(f"{line}\n" for line in lines[4:]), encoding="utf-8")
    languages = ["--source-lang", SOURCE, "--target-lang", TARGET, "--joined-dictionary"]
    prefixes = ["--trainpref", text / "train", "--validpref", text / "valid"]
    run(folder, "preprocess", *languages, *prefixes, "--destdir", folder / "data").good()
    return folder / "data"


# without dropout and with plain gradient descent, only the order of additions differs
EXACT = ["--dropout", 0, "--optimizer", "sgd", "--lr", 0.2, "--max-epoch", 1]
EXACT += ["--batch-size", 2, "--disable-validation"]


@pytest.fixture(scope="module")
def alone(ragged, tmp_path_factory):
    """Variant → checkpoint of one process that adds up two batches an update."""

    @functools.cache
    def of(variant):
        save = tmp_path_factory.mktemp("alone")
        command = recurrent_training(ragged, save, variant, *EXACT, "--update-freq", 2)
        run(save, "train", *command).good()
        return load(save)

    return of


EXCHANGES = few(
    [
        ("baseline", "pytorch_ddp"),
        ("", "pytorch_ddp"),
        ("", "legacy_ddp"),
        ("scope", "pytorch_ddp"),
        ("memory", "pytorch_ddp"),
        ("selfattn", "pytorch_ddp"),
    ],
    ("memory", "pytorch_ddp"),
)


@pytest.mark.parametrize(("variant", "backend"), EXCHANGES)
def test_two_processes_train_as_one(variant, backend, ragged, alone, tmp_path):
    """fairseq's default backend waits for the gradient of every parameter, batch for batch."""
    first, _ = train_on_two(
        tmp_path, backend, *recurrent_training(ragged, tmp_path, variant, *EXACT)
    )
    assert "training on 2 devices" in first.output
    expected, state = alone(variant), load(tmp_path)
    assert state["optimizer_history"][-1]["num_updates"] == 3
    for name, parameter in expected["model"].items():
        assert torch.allclose(state["model"][name], parameter, atol=1e-5, rtol=1e-4), name
