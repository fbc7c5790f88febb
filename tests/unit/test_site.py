"""The documentation's hooks: lines by name, formulas, what is taken from the package."""

from __future__ import annotations

import re
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "site"))

import check  # noqa: E402
import formulas  # noqa: E402
import generated  # noqa: E402
import hooks  # noqa: E402
import nbformat  # noqa: E402
import notebooks  # noqa: E402
import results  # noqa: E402
import source_code  # noqa: E402
from mkdocs.exceptions import PluginError  # noqa: E402


def in_page(text: str, uri: str = "papers/some.md") -> str:
    return hooks.on_page_markdown(text, page=SimpleNamespace(file=SimpleNamespace(src_uri=uri)))


def test_a_symbol_is_its_lines_without_the_docstring() -> None:
    found = source_code.find("modules/dual_context.py::LocalContext.forward")
    lines = (ROOT / "dc_nmt_plugin/modules/dual_context.py").read_text("utf-8").splitlines()
    assert found.text == "\n".join(lines[found.first - 1 : found.last])
    assert found.text.strip().startswith("gated = F.glu(")
    assert found.text.endswith("return output  # Eq. (6)")


def test_a_part_of_a_symbol_is_named_by_its_ends() -> None:
    whole = source_code.find("modules/routing.py::route")
    part = source_code.find("modules/routing.py::route | for _ in range | voting = voting")
    assert part.text.split("\n")[0].strip() == "for _ in range(iterations - 1):"
    assert "line 6" in part.text.split("\n")[-1]
    assert whole.first < part.first < part.last < whole.last


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("modules/none.py::A", "no file modules/none.py"),
        ("modules/routing.py::rout", "has no rout"),
        ("modules/routing.py::route | nowhere", "has no line with 'nowhere'"),
        ("modules/routing.py", "is not FILE::NAME"),
    ],
)
def test_what_is_not_there_fails_the_build_by_name(reference: str, problem: str) -> None:
    with pytest.raises(PluginError, match=rf"docs/papers/some\.md: .*{re.escape(problem)}"):
        in_page(f"text\n\n{{{{ code {reference} }}}}\n")


def test_every_line_that_a_page_names_is_there() -> None:
    references = [
        found["arguments"].strip()
        for page in (ROOT / "docs").rglob("*.md")
        for found in hooks._DIRECTIVE.finditer(page.read_text("utf-8"))
        if found["name"] in ("code", "source")
    ]
    assert len(references) > 40
    for reference in references:
        assert source_code.find(reference).text.strip()


def test_code_stands_under_a_link_to_its_lines_in_the_whole_file() -> None:
    found = source_code.find("modules/routing.py::squash")
    text = in_page("{{ code modules/routing.py::squash }}")
    page = "../source/dc_nmt_plugin/modules/routing.py.md"
    assert f"]({page}#__codelineno-0-{found.first})" in text
    assert f'linenums="{found.first}"' in text
    assert "\nreturn squash_scale(" in text  # without the function's margin


def test_links_leave_the_folder_of_pages_for_pages_of_files_only() -> None:
    text = in_page("[a](../README.md) ![b](figures/x.svg) [c](../setup.py#L3)", "tutorial.md")
    assert text.startswith(
        "[a](source/README.md.md) ![b](figures/x.svg) [c](source/setup.py.md#L3)"
    )
    same = "![d](../axes.svg) [e](../tutorial.md) [f](../../no/such/file)"
    assert in_page(same).startswith(same)


def test_pages_that_the_navigation_does_not_name_come_last() -> None:
    config = SimpleNamespace(nav=[{"Start": "index.md"}, {"Speed": "speed.md"}])
    *_, last = hooks.on_config(config).nav
    assert "tutorial.md" in last["More"]
    assert not {"index.md", "speed.md"} & set(last["More"])


def test_formulas_become_mathml_with_their_number_beside_them() -> None:
    html = formulas.as_mathml(
        r'<p><span class="arithmatex">\(a_1 &lt; b\)</span></p>'
        '<div class="arithmatex">\\[\n\\frac{1}{2} \\tag{7, 8}\n\\]</div>'
    )
    assert html.count("<math") == 2
    assert "&lt;" in html or "&#x0003C;" in html
    assert "<mfrac>" in html
    assert '<span class="number">(7, 8)</span>' in html
    assert "arithmatex" not in html


def test_published_tables_are_those_of_the_register() -> None:
    from dc_nmt_plugin.papers.register import find_item

    text = generated.published("cross-aggregation")
    numbers = {Decimal(number) for number in re.findall(r"\b\d\d\.\d\d\b", text)}
    values = {entry.value for entry in find_item("cross-aggregation, Table 1").entries}
    assert values <= numbers
    assert "Table 3.5" in generated.published("thesis", "3")
    assert "Table 4.1" not in generated.published("thesis", "3")


def test_notes_of_a_table_are_no_headings() -> None:
    text = generated.published("context-aware")
    assert "    - \\#2 encoder, global context: the formula gives 91.16" in text
    assert not re.search(r"^ *#", text, re.M)


def test_what_cannot_be_made_is_said_with_its_reason() -> None:
    from dc_nmt_plugin.papers.register import read_register
    from dc_nmt_plugin.reproduction.state import state_of

    for document in read_register():
        states = [
            (item.name, state_of(item, part)) for item in document.items for part in item.parts
        ]
        needed = [(name, made.how) for name, made in states if made.kind == "needs"]
        lines = generated.missing(document.name).splitlines()
        assert len(lines) == len({reason for _, reason in needed})
        for name, reason in needed:
            assert any(name in line and line.endswith(f"needs {reason}") for line in lines)


def test_every_command_has_its_help_and_a_failing_one_is_named() -> None:
    text = generated.commands()
    assert "## dc-nmt analyze\n" in text
    assert '??? info "dc-nmt analyze divergence"' in text
    assert '??? info "dc-nmt paper show"' in text
    with pytest.raises(RuntimeError, match="dc-nmt paper show nothing"):
        generated.printed("paper", "show", "nothing")


def test_a_notebook_whose_cell_fails_fails_the_build(tmp_path: Path) -> None:
    cells = [nbformat.v4.new_code_cell("print(6 * 7)"), nbformat.v4.new_code_cell("1 / 0")]
    path = tmp_path / "some.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells[:1]), path)
    assert notebooks.executed(path).cells[0].outputs[0].text == "42\n"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    with pytest.raises(PluginError, match=r"some\.ipynb: [\s\S]*ZeroDivisionError"):
        notebooks.executed(path)


def test_the_table_of_results_has_the_stored_numbers_and_says_what_is_seen() -> None:
    lines = results.table().splitlines()
    assert len(lines) == 2 + len(results.SYSTEMS)
    dc = next(line for line in lines if "Enc-DC" in line)
    stored = results.rows()["transformer_dc"]
    assert f"{stored.score:.2f}" in dc
    assert results.seen("transformer_dc") == "undecided"
    assert results.seen("transformer_ctxaware") == "no gain"
    for system in results.SYSTEMS:
        for metric in results.METRICS:
            assert len(results.seeds(system)[metric]) == 3
            if system != results.BASELINE:
                low, high = results.interval(system, metric) or (1.0, 0.0)
                assert low < high
    assert "1.31 ×" in results.advice()


def test_the_chart_of_results_is_the_same_bytes_again() -> None:
    assert results.chart() == results.chart()


def test_claims_of_a_document_are_listed() -> None:
    text = hooks.DIRECTIVES["claims"]("papers/dual-context.md", "dual-context")
    head, _, *rows = text.splitlines()
    assert head.startswith("| claim") and len(rows) == 18


def test_terms_of_the_glossary_are_tooltips_but_not_in_lists_of_flags() -> None:
    assert "*[M-10]: multi-layer attention with separate weights" in in_page("M-10")
    assert "*[C-Agg]: encoder layers" in in_page("text", "tutorial.md")
    assert in_page("M-10", "reference/flags.md") == "M-10"


def test_a_picture_alone_gets_its_caption() -> None:
    html = hooks.on_page_content('<p><img alt="what it shows" src="a.svg" /></p>')
    assert "<figcaption>what it shows</figcaption>" in html
    inside = '<p>see <img alt="x" src="a.svg" /></p>'
    assert hooks.on_page_content(inside) == inside


def test_pages_of_the_repository_keep_only_links_that_lead_somewhere() -> None:
    path = "examples/multi30k_en_de/README.md"
    text = hooks._markdown_page(path, {path})
    assert "](../../../docs" not in text
    assert "../../../papers/thesis.md#chapter-3-attention-to-several-layers" in text
    assert "[`multi30k_en_de.yaml`](" not in text
    assert "`multi30k_en_de.yaml`" in text


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a><a href="b.html#nowhere">2</a><a href="c.html">3</a>'
        '<script src="https://example.org/x.js"></script><a href="https://example.org">4</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    assert list(check.dead_links(tmp_path)) == [
        "a.html: b.html#nowhere has no such anchor",
        "a.html: c.html leads nowhere",
        "a.html: loads https://example.org/x.js from elsewhere",
    ]
