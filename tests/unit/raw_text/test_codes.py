"""``--bpe-codes``: only the file that segmented a run's text is taken."""

from pathlib import Path

import pytest

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.raw_text.codes import check_codes

EXAMPLES = Path(__file__).parents[3] / "examples"
TOY = EXAMPLES / "toy_en_de/models/residual-s1/data"
OTHER = EXAMPLES / "multi30k_en_de/models/transformer_standard-s1/data"
DICTIONARY = TOY / "bin/dict.en.txt"


def test_the_codes_of_a_text_segment_its_dictionary(tmp_path):
    check_codes(TOY / "bpe/codes", DICTIONARY)
    check_codes(OTHER / "bpe/codes", OTHER / "bin/dict.de.txt")
    (tmp_path / "windows").write_bytes((TOY / "bpe/codes").read_bytes().replace(b"\n", b"\r\n"))
    check_codes(tmp_path / "windows", DICTIONARY)


@pytest.mark.parametrize("kind", ["byte order mark", "half", "fastBPE", "dictionary", "another's"])
def test_other_codes_are_refused(tmp_path, kind):
    text = (TOY / "bpe/codes").read_text("utf-8")
    merges = text.splitlines()[1:]
    contents = {
        "byte order mark": f"\ufeff{text}",
        "half": "\n".join(text.splitlines()[: len(merges) // 2]),
        "fastBPE": "\n".join(f"{line} {9000 - n}" for n, line in enumerate(merges)),
        "dictionary": DICTIONARY.read_text("utf-8"),
        "another's": (OTHER / "bpe/codes").read_text("utf-8"),
    }
    codes = tmp_path / "codes"
    codes.write_text(contents[kind], encoding="utf-8")
    with pytest.raises(UserError, match=r"codes: is (not the file that|neither codes)"):
        check_codes(codes, DICTIONARY)
