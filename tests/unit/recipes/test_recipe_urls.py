"""``dc-nmt recipe check``: addresses that answer, are dead, or send something else."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dc_nmt_plugin import cli

SIZES = {"/good.tgz": 1000, "/about.tgz": 1050, "/other.tgz": 5000, "/unsized.tgz": None}
asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        asked.append(f"{self.command} {self.path}")
        if self.path not in SIZES:
            self.send_error(404)
            return
        self.send_response(200)
        if SIZES[self.path]:
            self.send_header("Content-Length", str(SIZES[self.path]))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def home():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asked.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Address lists of files → exit status, output and errors of ``dc-nmt recipe check``."""
    monkeypatch.setenv("DC_NMT_RECIPES", str(tmp_path))

    def run(**files):
        text = "title: x\npair: de-en\nfiles:\n"
        for name, urls in files.items():
            text += f"  {name}.tgz:\n    bytes: 1000\n    urls: [{', '.join(urls)}]\n"
        (tmp_path / "small_de_en.yaml").write_text(text)
        code = cli.main(["recipe", "check", "small_de_en"])
        return (code, *capsys.readouterr())

    return run


def test_every_address_is_asked_for_its_size_alone(check, home):
    code, output, _ = check(
        a=[f"{home}/good.tgz", f"{home}/gone.tgz"], b=[f"{home}/about.tgz", f"{home}/unsized.tgz"]
    )
    rows = {line.split()[-1].rpartition("/")[2]: line for line in output.splitlines()[2:]}
    assert code == 0, "each file has a home"
    assert " ok " in rows["good.tgz"] and "1,000" in rows["good.tgz"]
    assert " ok " in rows["about.tgz"] and " ok " in rows["unsized.tgz"]
    assert "dead: 404" in rows["gone.tgz"]
    assert sorted(asked) == [f"HEAD /{n}.tgz" for n in ("about", "gone", "good", "unsized")]


def test_a_file_without_a_good_address_is_named(check, home):
    code, output, errors = check(a=[f"{home}/good.tgz"], b=[f"{home}/other.tgz", f"{home}/no.tgz"])
    assert code == 1 and "no good address is left of b.tgz" in errors
    assert "another size than the recipe's" in output and "5,000" in output


def test_without_a_network_a_sentence(check):
    code, output, errors = check(a=["http://127.0.0.1:9/a.tgz", "http://127.0.0.1:9/b.tgz"])
    assert code == 1 and output == ""
    assert "none of 2 URLs answers" in errors and "is there a network?" in errors
    assert errors.count("\n") == 1
