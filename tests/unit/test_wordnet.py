import multiprocessing
import shutil
import socket
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from crepebench import wordnet
from crepebench.wordnet import find_wordnet, is_wordnet_folder, lexnames_text, read_wordnet, write_wordnet


def test_written_folder_is_complete(wordnet_folder):
    folder = Path(wordnet_folder) / "corpora" / "wordnet"
    assert is_wordnet_folder(folder)
    assert all((folder / name).is_file() for name in ("lexnames", "index.sense", "cntlist.rev"))


def test_lexnames_numbers_the_45_files_of_wordnet():
    lines = lexnames_text().splitlines()
    assert len(lines) == 45
    assert lines[0] == "00\tadj.all\t3"
    assert lines[6] == "06\tnoun.artifact\t1"
    assert lines[44] == "44\tadj.ppl\t3"


@pytest.mark.parametrize(
    ("key", "synset"),
    [
        ("couch%1:06:00::", "sofa.n.01"),
        ("dog%1:05:00::", "dog.n.01"),
        ("dirty%3:00:01::", "dirty.a.01"),
        ("large%3:00:00::", "large.a.01"),
        ("huge%5:00:01:large:00", "huge.s.01"),
    ],
)
def test_sense_keys_lead_to_their_synsets(wordnet_reader, key, synset):
    assert wordnet_reader.lemma_from_key(key).synset().name() == synset


@pytest.mark.parametrize("name", ["plate.n.04", "big.s.05", "lean.v.01", "quickly.r.01"])
def test_index_of_senses_holds_the_keys_of_a_synsets_words(wordnet_reader, name):
    for lemma in wordnet_reader.synset(name).lemmas():
        assert wordnet_reader.lemma_from_key(lemma.key()) == lemma


def test_folder_that_is_no_wordnet_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="is no WordNet folder: run `snakemake --forcerun build_wordnet`"):
        read_wordnet(str(tmp_path))


def test_wordnet_that_is_nowhere_is_refused_with_the_command_to_run(tmp_path, monkeypatch):
    monkeypatch.setattr(wordnet, "find_wordnet", lambda: None)
    monkeypatch.setattr(wordnet, "_download_wordnet", lambda: None)
    with pytest.raises(FileNotFoundError, match=r"python -m nltk\.downloader wordnet"):
        write_wordnet(str(tmp_path / "wordnet"), '{"install": false}')


def test_nothing_is_installed_unless_the_config_allows_it(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(wordnet, "find_wordnet", lambda: None)
    monkeypatch.setattr(wordnet, "_download_wordnet", lambda: None)
    monkeypatch.setattr(wordnet, "_install_wordnet", lambda: asked.append("install"))
    for install in ("false", "true"):
        with pytest.raises(FileNotFoundError, match="WordNet"):
            write_wordnet(str(tmp_path / "wordnet"), f'{{"install": {install}}}')
    assert asked == ["install"]


@pytest.fixture
def data_path(tmp_path, monkeypatch):
    """A folder that is all of nltk's data path; Debian's folder does not exist."""
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "empty"), str(tmp_path / "data")])
    monkeypatch.setattr(wordnet, "DEBIAN_FOLDER", tmp_path / "nowhere")
    (tmp_path / "data" / "corpora").mkdir(parents=True)
    return tmp_path / "data"


def test_unpacked_wordnet_is_found(wordnet_folder, data_path):
    assert find_wordnet() is None
    shutil.copytree(Path(wordnet_folder) / "corpora" / "wordnet", data_path / "corpora" / "wordnet")
    assert find_wordnet() == data_path / "corpora" / "wordnet"


def test_zipped_wordnet_is_found_and_its_folder_left_as_it_is(wordnet_folder, data_path, tmp_path):
    archive = data_path / "corpora" / "wordnet"
    shutil.make_archive(str(archive), "zip", Path(wordnet_folder) / "corpora", "wordnet")
    found = find_wordnet()
    assert is_wordnet_folder(found)
    assert [path.name for path in (data_path / "corpora").iterdir()] == ["wordnet.zip"]
    write_wordnet(str(tmp_path / "out"), '{"install": false}')
    assert is_wordnet_folder(tmp_path / "out" / "corpora" / "wordnet")


def test_zip_without_a_wordnet_is_not_taken(data_path, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "readme").write_text("no database")
    shutil.make_archive(str(data_path / "corpora" / "wordnet"), "zip", tmp_path, "other")
    assert find_wordnet() is None


@pytest.mark.parametrize("install", ["false", "true"])
def test_an_empty_data_path_on_an_offline_machine_is_named_with_the_command_to_run(
    data_path, tmp_path, monkeypatch, install
):
    def refuse(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr("nltk.download", refuse)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(FileNotFoundError, match=r"WordNet 3.0 is missing: run `python -m nltk\.downloader wordnet`"):
        write_wordnet(str(tmp_path / "out"), f'{{"install": {install}}}')


def test_a_job_that_reads_wordnet_never_fetches_it(tmp_path, monkeypatch):
    fetched = []
    for name in ("nltk.download", "subprocess.run"):
        monkeypatch.setattr(name, lambda *args, **kwargs: fetched.append(args))
    with pytest.raises(FileNotFoundError, match="run `snakemake --forcerun build_wordnet`"):
        read_wordnet(str(tmp_path))
    assert fetched == []


WORDS = "dog cat couch plate kite crane car boy man woman table bottle jar sit stand ride good big red quickly".split()


def senses_of(reader, words):
    """Returns what a reader says of some words: synsets, their words, and the synsets above them."""
    synsets = {word: reader.synsets(word) for word in words}
    return {
        word: [(s.name(), s.lemma_names(), sorted(h.name() for h in s.hypernyms())) for s in found]
        for word, found in synsets.items()
    }


FRESH = None
"""A reader that forked processes inherit."""


def senses_in_a_fork(words):
    return senses_of(FRESH, words)


def test_threads_may_look_up_words_at_once(wordnet_folder, wordnet_reader):
    expected = senses_of(wordnet_reader, WORDS)
    fresh = read_wordnet(wordnet_folder)
    orders = [WORDS[i:] + WORDS[:i] for i in range(0, 16, 2)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda words: senses_of(fresh, words), orders))
    assert all(one == expected for one in found)


def test_forked_processes_do_not_disturb_each_other(wordnet_folder, wordnet_reader, monkeypatch):
    expected = senses_of(wordnet_reader, WORDS)
    monkeypatch.setattr(f"{__name__}.FRESH", read_wordnet(wordnet_folder))
    senses_of(FRESH, ["arm"])  # what it opens is open in all of them
    orders = [WORDS[i:] + WORDS[:i] for i in range(0, 16, 4)]
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("fork")) as processes:
        found = list(processes.map(senses_in_a_fork, orders))
    assert all(one == expected for one in found)


def test_download_that_hangs_is_given_up(monkeypatch):
    found = []
    monkeypatch.setattr("nltk.download", lambda *_, **__: found.append(socket.getdefaulttimeout()))
    assert wordnet._download_wordnet() is None
    assert found == [wordnet.TIMEOUT]
    assert socket.getdefaulttimeout() is None


def test_files_of_the_folder_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    def fill_the_disk(source, target):
        Path(target).write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", fill_the_disk)
    with pytest.raises(OSError, match="No space left") as caught:
        write_wordnet(str(tmp_path), '{"install": false}')
    assert Path(caught.value.filename).parent == tmp_path / "corpora" / "wordnet"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
