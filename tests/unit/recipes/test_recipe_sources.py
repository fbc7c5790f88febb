"""Files of a recipe: found, fetched, verified; a server on this machine serves them."""

from __future__ import annotations

import hashlib
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import sacrebleu
from generated_files import pack

from dc_nmt_plugin.errors import UserError
from dc_nmt_plugin.laboratory.recipes.recipe import Recipe, tasks
from dc_nmt_plugin.laboratory.recipes.sources import Sources

DATA = pack("x.tgz", {"a.en": b"one\ntwo\n" * 20000 + bytes(range(256)) * 300})
SHA256 = hashlib.sha256(DATA).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves DATA; under /cut/ only its first half, under /page/ a web page."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path.startswith("/gone/"):
            self.send_error(404)
            return
        data = b"<!DOCTYPE html><p>quota</p>" if self.path.startswith("/page/") else DATA
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2 if self.path.startswith("/cut/") else None])
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server():
    handler = type("Asked", (Handler,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler)) as served:
        thread = threading.Thread(target=served.serve_forever, args=[0.01])
        thread.start()
        served.asked = handler.asked
        yield served
        served.shutdown()
        thread.join()


@pytest.fixture
def sources(tmp_path, server):
    """A function: homes (the parts of addresses) and a checksum → Sources of one file, x.tgz."""

    def make(*homes: str, checksum: str = "", raw: Path | None = None,
             more: str = "", others: str = "") -> Sources:  # fmt: skip
        root = f"http://127.0.0.1:{server.server_port}"
        urls = ", ".join(f"{root}/{home}/x.tgz" for home in homes)
        path = tmp_path / "made_en_de.yaml"
        path.write_text(
            "title: x\npair: en-de\nsplits: {train: [a], valid: [a], test: [a]}\nfiles:\n"
            f"  x.tgz: {{urls: [{urls}], {', '.join(filter(None, (checksum, more)))}}}\n{others}"
        )
        lines: list[str] = []
        sources = Sources(Recipe(path), raw, tmp_path / "downloads", lines.append)
        sources.lines = lines
        return sources

    return make


def test_fetched_once_and_verified(sources, server, tmp_path):
    path = sources("good", checksum=f"sha256: {SHA256}").path("x.tgz")
    assert path == tmp_path / "downloads/x.tgz" and path.read_bytes() == DATA
    sources("good", checksum=f"sha256: {SHA256}").path("x.tgz")
    assert server.asked == ["/good/x.tgz"]
    md5 = hashlib.md5(DATA).hexdigest()
    assert sources("good", checksum=f"md5: {md5}").path("x.tgz") == path


def test_a_download_that_is_cut_off_leaves_nothing(sources, tmp_path):
    with pytest.raises(UserError, match=r"connection ended after \d+ of \d+ bytes") as error:
        sources("cut", checksum=f"sha256: {SHA256}").path("x.tgz")
    assert "Put x.tgz into a folder and run the same command with --raw FOLDER" in str(error.value)
    assert not list((tmp_path / "downloads").iterdir())


def test_another_checksum_is_refused_and_the_next_home_tried(sources, server, tmp_path):
    wrong = "0" * 64
    with pytest.raises(UserError, match=f"its sha256 is {SHA256}, and {wrong} is the published"):
        sources("good", checksum=f"sha256: '{wrong}'").path("x.tgz")
    assert [path.name for path in (tmp_path / "downloads").glob("x*")] == []
    file = sources("gone", "page", "good", checksum=f"sha256: {SHA256}").path("x.tgz")
    assert file.read_bytes() == DATA
    assert server.asked[1:] == [f"/{h}/x.tgz" for h in ("gone", "page", "good")]


def test_a_wrong_file_without_a_checksum_is_refused(sources, tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "x.tgz").write_bytes(b"<!DOCTYPE html><p>quota</p>")
    with pytest.raises(
        UserError, match=r"x\.tgz: is not the file but something else \(it begins with b'<!DO'\)"
    ):
        sources("gone", raw=raw).path("x.tgz")
    (raw / "x.tgz").write_bytes(DATA)
    assert sources("gone", raw=raw).path("x.tgz") == raw / "x.tgz"


def test_when_all_homes_are_gone_the_user_is_told_what_to_put_where(sources, tmp_path):
    with pytest.raises(UserError) as error:
        sources("gone", "page", more="note: Ask its makers.").path("x.tgz")
    lines = str(error.value).splitlines()
    assert lines[0] == "x.tgz: cannot be fetched:"
    assert "/gone/x.tgz: HTTP Error 404" in lines[1] and "something else" in lines[2]
    assert lines[3] == "Ask its makers."
    assert lines[4].startswith("Put x.tgz into a folder") and lines[4].endswith("--raw FOLDER")
    with pytest.raises(UserError, match="it has no public URL"):
        sources().path("x.tgz")


def test_files_of_the_user_come_first_and_are_verified_too(sources, server, tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "mine.tgz").write_bytes(DATA)
    fetched = sources("good", raw=raw, more="also: [mine.tgz]", checksum=f"sha256: {SHA256}")
    assert fetched.path("x.tgz") == raw / "mine.tgz" and not server.asked
    (raw / "x.tgz").write_bytes(DATA[:100])
    with pytest.raises(UserError, match=r"raw/x.tgz: its sha256 is"):
        sources("good", raw=raw, checksum=f"sha256: {SHA256}").path("x.tgz")


def test_a_file_inside_another(sources, tmp_path):
    others = "".join(f"  {name}: {{inside: [x.tgz, {name}]}}\n" for name in ("a.en", "b.en"))
    assert sources("good", others=others).path("a.en").read_bytes().startswith(b"one\ntwo\n")
    with pytest.raises(UserError, match=r"x.tgz: has no b.en; it has a.en"):
        sources("good", others=others).path("b.en")


def test_another_version_inside_another_file_gives_way_to_a_home(sources, server, tmp_path):
    home = f"http://127.0.0.1:{server.server_port}/good/a.en"
    listed = f"inside: [x.tgz, a.en], sha256: {SHA256}, listed: the makers"
    fetched = sources("good", others=f"  a.en: {{{listed}, urls: [{home}]}}\n")
    assert fetched.path("a.en").read_bytes() == DATA
    assert any("the published one (the makers)" in line for line in fetched.lines)
    (tmp_path / "downloads/a.en").unlink()
    with pytest.raises(UserError, match="is the published one"):
        sources("good", others=f"  a.en: {{{listed}}}\n").path("a.en")
    assert not (tmp_path / "downloads/a.en").exists()


# files with a home that nobody publishes a checksum of: the campaign's, on Google Drive, fairseq's
# copy of one of them, a tar of files that have theirs, and the test set of a paper's own repository
WITHOUT = {
    *("2014-01-de-en.tgz", "2014-01.tgz", "2014-01-test.tgz", "2015-01.tgz", "train-en-vi.tgz"),
    *("unCorpus.test.en", "unCorpus.test.zh"),
}


def test_every_other_file_has_a_checksum_and_one_alone():
    known: dict[str, set[object]] = {}
    without = set()
    for path, _ in tasks().values():
        for name, file in Recipe(path).task.files.items():
            for url in file.urls:
                known.setdefault(url, set()).add((file.checksum, file.bytes, file.listed))
            if file.urls and not file.checksum:
                without.add(name)
    assert without == WITHOUT
    assert all(len(facts) == 1 for facts in known.values()), "recipes disagree about a file"
    published = {url: md5 for test in sacrebleu.DATASETS.values() if test.md5
                 for url, md5 in zip(test.data, test.md5, strict=True)}  # fmt: skip
    for url, ((checksum, _, listed),) in known.items():
        if listed.startswith("sacreBLEU"):
            assert checksum == ("md5", published[url])
        if "://raw.githubusercontent.com/multi30k" not in url and "stefan-it" not in url:
            assert bool(checksum) == bool(listed), url
