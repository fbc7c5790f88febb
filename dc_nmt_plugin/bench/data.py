"""Batches for benchmarks: random ones, or those of a binarised corpus."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from fairseq import utils
from fairseq.data import LanguagePairDataset, indexed_dataset
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from ..errors import UsageError
from ..models.count import dummy_dictionary

Sample = dict[str, Any]
RANDOM_LANGUAGES = ("aa", "bb")


def random_batches(
    *, vocabulary: int, sentences: int, length: int, batches: int
) -> tuple[Any, list[Sample]]:
    """Returns a task and batches of random sentences, with lengths spread around `length`.

    Args:
        vocabulary: types of the joint dictionary, ``LEAST_TYPES`` or more
        sentences: a batch
        length: mean tokens a sentence, on both sides
        batches: how many
    """
    dictionary = dummy_dictionary(vocabulary)
    task = argparse.Namespace(source_dictionary=dictionary, target_dictionary=dictionary)
    generator = torch.Generator().manual_seed(1)

    result = []
    for _ in range(batches):
        source, target = (random_rows(dictionary, sentences, length, generator) for _ in range(2))
        dataset = LanguagePairDataset(
            source,
            torch.tensor([len(row) for row in source]),
            dictionary,
            target,
            torch.tensor([len(row) for row in target]),
            dictionary,
            shuffle=False,
        )
        result.append(dataset.collater([dataset[i] for i in range(sentences)]))
    return task, result


def random_rows(
    dictionary: Any, sentences: int, length: int, generator: torch.Generator
) -> list[torch.Tensor]:
    """Returns random sentences, each (tokens,) with the end token, of about `length` tokens."""
    low, high = max(2, round(0.8 * length)), max(3, round(1.2 * length))
    sizes = torch.randint(low, high + 1, (sentences,), generator=generator).tolist()
    return [
        torch.cat(
            [
                torch.randint(
                    dictionary.nspecial, len(dictionary), (size - 1,), generator=generator
                ),
                torch.tensor([dictionary.eos()]),
            ]
        )
        for size in sizes
    ]


def write_random(folder: Path, *, vocabulary: int, length: int, sizes: Mapping[str, int]) -> None:
    """Writes random text as ``fairseq-preprocess`` does, from ``aa`` to ``bb``.

    Args:
        folder: is created
        vocabulary: types of the joint dictionary
        length: mean tokens a sentence
        sizes: subset → sentences
    """
    dictionary = dummy_dictionary(vocabulary)
    generator = torch.Generator().manual_seed(1)
    folder.mkdir(parents=True)
    for language in RANDOM_LANGUAGES:
        dictionary.save(str(folder / f"dict.{language}.txt"))
        for subset, sentences in sizes.items():
            prefix = folder / f"{subset}.{'-'.join(RANDOM_LANGUAGES)}.{language}"
            builder = indexed_dataset.make_builder(f"{prefix}.bin", "mmap", vocabulary)
            for row in random_rows(dictionary, sentences, length, generator):
                builder.add_item(row)
            builder.finalize(f"{prefix}.idx")


def corpus_batches(
    folder: str, *, subset: str, max_tokens: int, batches: int
) -> tuple[Any, list[Sample]]:
    """Returns a task and evenly spaced batches of a folder made by ``fairseq-preprocess``.

    Raises:
        UserError: the folder or the subset cannot be read
    """
    task = corpus_task(folder, subset)
    dataset = task.dataset(subset)
    plan = dataset.batch_by_size(dataset.ordered_indices(), max_tokens=max_tokens)
    number = min(batches, len(plan))
    spaced = [plan[i * len(plan) // number] for i in range(number)]
    return task, [dataset.collater([dataset[i] for i in rows]) for rows in spaced]


def corpus_task(folder: str, subset: str) -> Any:
    """Returns a task that has read a subset of a folder made by ``fairseq-preprocess``.

    Raises:
        UserError: the folder or the subset cannot be read
    """
    try:
        config = TranslationConfig(
            data=folder,
            train_subset=subset,
            # fairseq's own defaults of these name other parts of a command's configuration
            dataset_impl=None,
            required_seq_len_multiple=1,
        )
        task = TranslationTask.setup_task(config)
        task.load_dataset(subset)
    except Exception as error:
        raise UsageError(f"--data {folder}: {error}") from error
    return task


def write_source(folder: str, subset: str, path: Path) -> None:
    """Writes the source of a subset as text: a sentence a line, its pieces with spaces between.

    Raises:
        UserError: the folder or the subset cannot be read
    """
    task = corpus_task(folder, subset)
    source, dictionary = task.dataset(subset).src, task.source_dictionary
    lines = (
        " ".join(dictionary[int(piece)] for piece in source[number] if piece != dictionary.eos())
        for number in range(len(source))
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def to_device(samples: list[Sample], device: str) -> list[Sample]:
    """Returns the batches on the measured device."""
    return [utils.move_to_cuda(sample) for sample in samples] if device == "cuda" else samples
