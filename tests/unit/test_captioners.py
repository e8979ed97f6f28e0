import subprocess
import sys

import pytest

from crepebench.captioners import Request, attempt_seed, digest_of, make_captioner

REQUEST = Request("subgraph 1", "prefix", "suffix", 7)


def test_key_depends_on_prompt_seed_and_phrases_and_not_on_what_it_is_about():
    same = [Request("subgraph 2", "prefix", "suffix", 7), Request("", "prefixsuf", "fix", 7)]
    others = [
        Request("subgraph 1", "prefix", "suffix", 8),
        Request("subgraph 1", "prefix", "suffix ", 7),
        Request("subgraph 1", "prefix", "suffix", 7, ("jar",)),
        Request("subgraph 1", "prefix", "suffix", 7, ("jar",), frozenset({"jar"})),
    ]
    assert {request.key for request in same} == {REQUEST.key}
    assert len({request.key for request in [REQUEST, *others]}) == 5


def test_phrases_of_a_key_have_no_order_and_a_number():
    keys = [Request("", "p", "s", 1, phrases).key for phrases in (("a", "b"), ("b", "a"), ("a", "a", "b"))]
    assert keys[0] == keys[1] != keys[2]


def test_seeds_of_attempts_are_distinct_and_fit_a_server():
    seeds = [attempt_seed(seed, attempt) for seed in range(20) for attempt in range(20)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_digest_does_not_depend_on_the_order_of_keys():
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1}) != digest_of({"a": 2, "b": 1})


def test_unknown_backend_is_named():
    with pytest.raises(ValueError, match=r"captioner\.backend 'template' answers no prompts"):
        make_captioner({"backend": "template"}, "")


@pytest.mark.parametrize("module", ["captioners", "answer_store", "caption_building"])
def test_nothing_of_a_backend_is_loaded_before_it_is_chosen(module, repository):
    code = f"import sys, crepebench.{module}; print(sorted({{'torch', 'transformers', 'requests'}} & set(sys.modules)))"
    folder = repository / "workflow" / "scripts"
    found = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
