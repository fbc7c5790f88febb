"""Shows the attention matrices of one sentence, for any attention; residual decoder, Fig. 3."""

from __future__ import annotations

import argparse
from fnmatch import fnmatch
from typing import Any

import torch

from ..errors import UsageError, UserError
from ..figure import HEAT
from ..flags import add_list
from .base import Analysis, Results, Table
from .loop import described, recorded_batch, with_target
from .sentence import encoded_sentence
from .sites import ATTENTIONS, attentions
from .subject import Subject, check_index

MOST = 120  # panels; programs cannot open a larger picture


class Matrix(Analysis):
    """Computes the weights of chosen attentions for one sentence."""

    name = "matrix"

    @staticmethod
    def options(parser: argparse.ArgumentParser) -> None:
        """Adds --sentence, --target, --index, --of and --heads."""
        parser.add_argument(
            "--sentence",
            metavar="TEXT",
            help=(
                "source sentence, tokenised like the data; BPE is applied if the codes are "
                "beside the data"
            ),
        )
        parser.add_argument(
            "--target",
            metavar="TEXT",
            help="target sentence to force (default: the model's own translation)",
        )
        parser.add_argument(
            "--index",
            type=int,
            metavar="N",
            help="number of the sentence in the subset, from 1 (default: 1)",
        )
        add_list(
            parser, "--of", str, "NAME",
            "attentions, such as encoder.3.self or 'decoder.*.source' (default: the last "
            "layer of every kind; the table lists all names)",
        )  # fmt: skip
        parser.add_argument(
            "--heads",
            default="mean",
            metavar="HEADS",
            help="mean, all, or the number of a head from 1",
        )

    @torch.no_grad()
    def finish(self, subject: Subject, found: dict[str, Any]) -> dict[str, Any]:
        """Runs one sentence, and keeps the chosen matrices."""
        sample = self._sample(subject)
        batch = described(subject, sample)
        source = subject.pieces(batch.source[0], subject.task.source_dictionary)
        target = subject.pieces(batch.target[0], subject.task.target_dictionary)
        sites = {
            site.name: (site, weights)
            for site, weights in attentions(
                recorded_batch(subject, sample, ATTENTIONS), subject.source_layers
            )
        }
        if not sites:
            raise UserError(f"{subject.label}: has no attention that is recorded.")
        ends = {"encoder": [*source, "</s>"], "decoder": [*target, "</s>"]}
        matrices = []
        for name in self._chosen(sites, subject):
            site, weights = sites[name]
            side = "encoder" if site.side == "encoder" else "decoder"
            keys = ends[side] if site.reads == "self" else ends["encoder"]
            queries = ends[side]
            if side == "decoder" and site.reads in ("self", "words"):
                keys = ["<s>", *target]  # the words that were read; queries are the predicted words
            for head, matrix in self._heads(weights[0], subject):
                matrices.append(
                    {
                        "attention": name,
                        "head": head,
                        "queries": queries,
                        "keys": keys,
                        "weights": matrix.double().tolist(),
                    }
                )
        return {"attentions": list(sites), "matrices": matrices}

    def _sample(self, subject: Subject) -> dict[str, Any]:
        if self.args.sentence is not None:
            if self.args.index is not None:
                raise UsageError("--index: is of the subset; leave it out with --sentence.")
            sample = encoded_sentence(subject, self.args.sentence, self.args.target)
        else:
            sample = self._from_subset(subject)
        if self.args.target is None:
            translation = subject.translation
            hypotheses = translation.decode(translation.generator(), sample)
            sample = with_target(subject, sample, hypotheses)
        return sample

    def _from_subset(self, subject: Subject) -> dict[str, Any]:
        index = 1 if self.args.index is None else self.args.index
        check_index(index, subject)
        if self.args.target is not None:
            raise UsageError("--target: goes with --sentence.")
        dataset = subject.task.dataset(subject.subset)
        sample: dict[str, Any] = subject.translation.to_device(
            dataset.collater([dataset[index - 1]])
        )
        return sample

    def _chosen(self, sites: dict[str, Any], subject: Subject) -> list[str]:
        if self.args.of is None:
            last: dict[tuple[str, str, str], str] = {}
            for name, (site, _) in sites.items():
                if not site.side.startswith("aux"):
                    last[site.side, site.reads, site.part] = name
            return list(last.values())
        chosen = [name for pattern in self.args.of for name in sites if fnmatch(name, pattern)]
        if not chosen:
            raise UsageError(
                f"--of: {subject.label} has no attention {' or '.join(self.args.of)}; it has "
                f"{', '.join(sites)}."
            )
        return list(dict.fromkeys(chosen))

    def _heads(self, weights: Any, subject: Subject) -> list[tuple[str, Any]]:
        heads = weights.size(0)
        if self.args.heads == "mean":
            return [("mean of heads" if heads > 1 else "", weights.mean(dim=0))]
        if self.args.heads == "all":
            return [(f"head {number + 1}", weights[number]) for number in range(heads)]
        if self.args.heads.isdecimal() and 1 <= int(self.args.heads) <= heads:
            return [(f"head {self.args.heads}", weights[int(self.args.heads) - 1])]
        raise UsageError(
            f"--heads: {self.args.heads!r} is not mean, all or a head from 1 to {heads} "
            f"({subject.label})."
        )

    def tables(self, results: Results) -> list[Table]:
        """Returns the names of all attentions, and each chosen matrix with queries as rows."""
        names = Table("attentions", ["run", "names"])
        tables = [names]
        for label, found in results.items():
            names.rows.append([label, " ".join(found["attentions"])])
            for matrix in found["matrices"]:
                title = f"{label}: {matrix['attention']} {matrix['head']}".rstrip()
                rows = [
                    [query, *(f"{weight:.2f}" for weight in row)]
                    for query, row in zip(matrix["queries"], matrix["weights"], strict=True)
                ]
                tables.append(Table(f"{title}, weights", ["query", *matrix["keys"]], rows))
        return tables

    def draw(self, figure: Any, results: Results) -> None:
        """Draws a panel for each matrix; a darker shade is a greater weight."""
        panels = [
            (label, matrix) for label, found in results.items() for matrix in found["matrices"]
        ]
        if len(panels) > MOST:
            raise UsageError(f"--plot: {len(panels)} matrices; choose at most {MOST} with --of.")
        columns = min(len(panels), 3)
        rows = -(-len(panels) // columns)
        figure.set_size_inches(4.2 * columns, 3.8 * rows)
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        most = max(max(map(max, matrix["weights"])) for _, matrix in panels)
        for (label, matrix), axes in zip(panels, grid.flat, strict=False):
            shades = axes.imshow(matrix["weights"], cmap=HEAT, aspect="auto", vmin=0, vmax=most)
            axes.set_xticks(range(len(matrix["keys"])), matrix["keys"], rotation=90, fontsize=7)
            axes.set_yticks(range(len(matrix["queries"])), matrix["queries"], fontsize=7)
            title = f"{label}\n{matrix['attention']} {matrix['head']}"  # beside other panels
            axes.set_title(title.rstrip(), fontsize=9)
            axes.set_xlabel("attended piece")
            axes.set_ylabel("piece that attends")
        figure.colorbar(shades, ax=grid, label="attention weight")
