"""Probing: SentEval's files, the classifier and its table."""

from dataclasses import replace

import torch

from dc_nmt_plugin.study.analysis.probing import report
from dc_nmt_plugin.study.analysis.probing.classifier import (
    SETTINGS,
    Chosen,
    Probe,
    Setting,
    accuracy,
    probe,
)
from dc_nmt_plugin.study.analysis.probing.tasks import FILES, GROUPS, TASKS, read_tasks

ROWS = [
    ("tr", "b", "x y"),
    ("tr", "a", "x"),
    ("tr", "b", "z"),
    ("va", "a", "q"),
    ("te", "b", "r s"),
]


def write(folder, name, rows):
    text = "".join("\t".join(row) + "\n" for row in rows)
    (folder / FILES[name]).write_text(text, encoding="utf-8")


def test_sentevals_files(tmp_path):
    for name in TASKS:
        write(tmp_path, name, ROWS)
    tasks = read_tasks(tmp_path, [])
    assert [task.name for task in tasks] == list(TASKS) and len(TASKS) == 10
    (task,) = read_tasks(tmp_path, ["CoIn"])
    assert task.sentences == ["x y", "x", "z", "q", "r s"]
    assert task.labels == [1, 0, 1, 0, 1] and task.classes == ["a", "b"]
    assert [task.rows(split) for split in ("tr", "va", "te")] == [[0, 1, 2], [3], [4]]
    assert task.majority == 100.0


def data(classes=3, per_split=90, noise=0.3):
    generator = torch.Generator().manual_seed(1)
    centres = 2 * torch.randn(classes, 6, generator=generator)
    splits = {}
    for split in ("tr", "va", "te"):
        y = torch.arange(per_split) % classes
        splits[split] = (centres[y] + noise * torch.randn(per_split, 6, generator=generator), y)
    return splits


def test_the_printed_settings():
    dual, thesis = SETTINGS["dual-context"], SETTINGS["thesis"]
    assert (dual.lr, dual.batch, dual.epochs, dual.l2) == (2.5e-4, 64, 100, 1e-4)
    assert (thesis.lr, thesis.batch, thesis.epochs, thesis.l2) == (1e-3, 512, 100, 1e-4)


def test_the_grid_is_chosen_on_validation_and_is_repeatable():
    setting = Setting(lr=1e-3, batch=30, epochs=8, hidden=(1, 30), dropout=(0.0, 0.9))
    chosen = probe(data(), 3, setting)
    assert chosen == probe(data(), 3, setting)
    alone = [
        probe(data(), 3, Setting(lr=1e-3, batch=30, epochs=8, hidden=(h,), dropout=(d,)))
        for h in (1, 30)
        for d in (0.0, 0.9)
    ]
    assert chosen.valid == max(one.valid for one in alone) and chosen in alone
    x, y = data()["te"]
    setting = Setting(lr=1e-2, batch=30, epochs=30, hidden=(30,), dropout=(0.0,))
    swapped = probe({**data(), "te": (x, (y + 1) % 3)}, 3, setting)
    assert swapped.test < 20 < 80 < swapped.valid, "the test set counts for nothing else"
    assert probe(data(), 3, replace(setting, l2=10.0)).epochs > swapped.epochs


def test_the_classifier():
    torch.manual_seed(1)
    model = Probe(6, 4, 3, 0.9).double().eval()
    x = torch.randn(5, 6, dtype=torch.float64)
    w, b = model.hidden.weight, model.hidden.bias
    expected = []
    model.requires_grad_(False)
    for row in x:
        hidden = [1 / (1 + torch.exp(-(w[i] @ row + b[i]))) for i in range(4)]
        expected.append(
            [float(sum(model.output.weight[c, i] * hidden[i] for i in range(4))
                   + model.output.bias[c]) for c in range(3)]
        )  # fmt: skip
    assert torch.allclose(model(x), torch.tensor(expected, dtype=torch.float64), atol=1e-12)
    best = torch.tensor(expected).argmax(dim=1)
    assert accuracy(model.train(), x.repeat(50, 1), best.repeat(50)) == 100.0, "no dropout"
    assert accuracy(model, x, (best + 1) % 3) == 0.0


def results(names):
    def chosen(test):
        return Chosen(valid=0.0, test=test, hidden=50, dropout=0.0, epochs=1)

    tasks = {
        name: report.TaskAccuracies(
            10.0, chosen(20.0 + i), chosen(12.0), chosen(15.0), sentences=100
        )
        for i, name in enumerate(names)
    }
    return {"run": report.Probing(layer=1, unknown=0.0, tasks=tasks)}


def test_the_table_has_group_averages_where_groups_are_whole():
    table = report.probing_table(results(TASKS), "title")
    rows = {row[1]: row for row in table.rows if row[1] != "#Avg"}
    assert rows["SentLen"] == ["Surface", "SentLen", "100", "10.00", "20.00", "12.00", "15.00"]
    assert rows["WC"][0] == ""
    means = [row[4] for row in table.rows if row[1] == "#Avg"]
    assert means == ["20.50", "23.00", "27.00"] and len(GROUPS) == 3
    part = report.probing_table(results(("SentLen", "WC", "BShift")), "title")
    assert [row[1] for row in part.rows] == ["SentLen", "WC", "#Avg", "BShift"]
