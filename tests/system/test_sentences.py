"""No sentence is lost at any number of sentences; fairseq-fixed drops incomplete batches."""

from __future__ import annotations

from collections import Counter

import pytest
from commands import run
from fairseq.tasks.fairseq_task import FairseqTask
from fairseq.tasks.language_modeling import LanguageModelingTask
from systems import family, task, training

COUNTED = {"train": 50, "test1": 5, "test2": 1}
ARCH = "transformer_standard"
LIMITS = [{}, {"max_tokens": 40}, {"max_sentences": 8}, {"max_sentences": 7, "max_tokens": 90}]


@pytest.fixture(scope="module")
def loaded(corpus):
    """The task with every counted split loaded."""
    result = task("translation_dc_nmt", corpus)
    for split in COUNTED:
        result.load_dataset(split)
    return result


@pytest.mark.parametrize("split", COUNTED)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("multiple", [1, 8])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_iterators_hold_every_sentence_once(loaded, split, limits, multiple, workers):
    """Over all data-parallel workers, in several epochs, shuffled and not."""
    for epoch in (1, 2):
        for shuffle in (True, False):
            seen: Counter[int] = Counter()
            for worker in range(workers):
                iterator = loaded.get_batch_iterator(
                    loaded.dataset(split),
                    required_batch_size_multiple=multiple,
                    num_shards=workers,
                    shard_id=worker,
                    epoch=epoch,
                    **limits,
                )
                for batch in iterator.next_epoch_itr(shuffle=shuffle):
                    seen.update(batch["id"].tolist() if batch else [])
            assert seen == Counter(range(COUNTED[split]))


def test_every_epoch_has_batches_of_its_own(loaded):
    """Those of a language model too, for which fairseq would repeat its first epoch's."""
    text = loaded.dataset("train")
    epochs = [loaded.get_batch_iterator(text, max_sentences=4, epoch=n) for n in (1, 2)]
    assert len({str(each.frozen_batches) for each in epochs}) == 2
    assert not object.__new__(LanguageModelingTask).can_reuse_epoch_itr(text)


def record_sentences(path):
    """Note the sentences of every training and validation step of this process."""
    train_step, valid_step = FairseqTask.train_step, FairseqTask.valid_step

    def noting(name, step):
        def noted(self, sample, *args, **kwargs):
            with open(path, "a", encoding="utf-8") as file:
                file.writelines(f"{name} {number}\n" for number in sample["id"].tolist())
            return step(self, sample, *args, **kwargs)

        return noted

    FairseqTask.train_step = noting("train", train_step)
    FairseqTask.valid_step = noting("valid", valid_step)


def test_training_and_validation_see_every_sentence(corpus, tmp_path):
    split = "test1"
    notes = tmp_path / "notes"
    run(
        tmp_path,
        "train",
        *training(corpus, tmp_path / "save", *family(ARCH), "--max-epoch", 2, "--no-save"),
        *("--train-subset", split, "--valid-subset", split, "--max-tokens", 4000),
        before=lambda: record_sentences(notes),
    ).good()
    epochs = 2
    expected = {f"{step} {n}" for step in ("train", "valid") for n in range(COUNTED[split])}
    assert Counter(notes.read_text().splitlines()) == Counter(dict.fromkeys(expected, epochs))
