"""Write captions of subgraphs: by template, or by a language model whose answers are checked.

Source: paper section 4.2: templates for subgraphs of four atoms, GPT-3 with five examples for those of 5 to 12.
"""

import json
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.answer_store import AnswerStore
from crepebench.caption_attempts import Outcome, ask_in_rounds
from crepebench.caption_checks import check_caption
from crepebench.captioners import TEMPLATE, Captioner, digest_of, make_captioner
from crepebench.captions import Caption, write_template_caption
from crepebench.lexicon import Lexicon
from crepebench.prompts import answer_of, prompt_prefix, prompt_suffix, read_examples
from crepebench.schema import CAPTIONS, SUBGRAPHS, iterate_rows, read_table, write_table
from crepebench.word_tables import WordTables, read_word_tables
from crepebench.wordnet import read_wordnet

logger = logging.getLogger(__name__)

MOST_ATOMS_OF_TEMPLATES = 4
"""Source: paper section 4.2."""
FAILED = "caption_failed"
DROP = "drop"


def build_captions(
    subgraphs_path: str,
    tables_paths: Sequence[str],
    prompts_paths: Sequence[str],
    wordnet_path: str,
    captions_path: str,
    accounting_path: str,
    part: str,
    cfg: str,
) -> None:
    """Writes the captions of the images of one part.

    Args:
        subgraphs_path: table SUBGRAPHS.
        tables_paths: tables of resources/foils, of which the mass nouns are used.
        prompts_paths: files of resources/prompts.
        wordnet_path: folder written by `crepebench.wordnet.write_wordnet`.
        captions_path: table CAPTIONS to write.
        accounting_path: counts to write: subgraphs by number of atoms, and answers by why they were refused.
        part: "part-00000-of-00002": which images, and how many parts there are.
        cfg: JSON of what the config block `captioner` says of its backend, and `store` (folder of answers).
    """
    config = json.loads(cfg)
    image_ids = sorted(set(read_table(subgraphs_path, SUBGRAPHS, ["image_id"])["image_id"].to_pylist()))
    place, n_parts = map(int, re.findall("[0-9]+", part))
    subgraphs = list(iterate_rows(subgraphs_path, SUBGRAPHS, image_ids=set(image_ids[place::n_parts])))
    tables = read_word_tables(tables_paths)
    outcomes: dict[int, Outcome] = {}
    source = TEMPLATE
    if config["backend"] != TEMPLATE:
        captioner = make_captioner(config, prompts_digest(prompts_paths))
        source = captioner.source
        asked = [row for row in subgraphs if config["uniform"] or row["complexity"] > MOST_ATOMS_OF_TEMPLATES]
        judge = make_judge(Lexicon(read_wordnet(wordnet_path)), tables, source)
        outcomes = ask_for_captions(asked, captioner, make_prompts(prompts_paths), judge, config)
    counts: dict[str, Counter] = defaultdict(Counter)

    def rows() -> Iterator[dict]:
        for subgraph in subgraphs:
            row = caption_row(subgraph, outcomes.get(subgraph["subgraph_id"], Outcome()), tables.mass_nouns, config)
            count_row(row, subgraph["complexity"], source, counts)
            yield row

    n_rows = write_table(captions_path, CAPTIONS, rows())
    in_order = sorted(counts, key=lambda unit: (len(unit), unit))  # subgraph_n9 before subgraph_n10
    write_accounting(accounting_path, "captions", {unit: counts[unit] for unit in in_order})
    logger.info("%d captions", n_rows)


def prompts_digest(paths: Sequence[str]) -> str:
    """Returns a digest of the committed prompts."""
    return digest_of([[Path(path).name, Path(path).read_text(encoding="utf-8")] for path in sorted(paths)])


def ask_for_captions(
    subgraphs: Sequence[Mapping],
    captioner: Captioner,
    prompt_of: Callable[[Mapping], tuple[str, str]],
    judge: Callable[[str, Mapping], Caption | str],
    config: Mapping,
) -> dict[int, Outcome]:
    """Returns what became of each of the subgraphs that a backend words; see `ask_in_rounds`."""
    store = AnswerStore(config["store"], captioner.identity)
    outcomes = ask_in_rounds(subgraphs, captioner, store, prompt_of, judge, config)
    if store.n_torn():
        logger.warning("%d segments of the store end in a torn line: jobs were killed", store.n_torn())
    n_failed = sum(outcome.caption is None for outcome in outcomes.values())
    logger.info("%d of %d subgraphs have no caption of %s", n_failed, len(outcomes), captioner.source)
    return outcomes


def make_prompts(prompts_paths: Sequence[str]) -> Callable[[Mapping], tuple[str, str]]:
    """Returns what gives beginning and rest of the prompt of a row of SUBGRAPHS.

    # ASSUME: a complexity without examples of its own (`captioner.uniform`) takes those of the nearest.
    """
    examples = read_examples(str(Path(prompts_paths[0]).parent))
    prefixes = {complexity: prompt_prefix(found) for complexity, found in examples.items()}

    def prompt(subgraph: Mapping) -> tuple[str, str]:
        nearest = min(prefixes, key=lambda complexity: (abs(complexity - subgraph["complexity"]), complexity))
        return prefixes[nearest], prompt_suffix(subgraph["atoms"])

    return prompt


def make_judge(lexicon: Lexicon, tables: WordTables, source: str) -> Callable[[str, Mapping], Caption | str]:
    """Returns what makes a caption of the text of an answer, or says why it is none."""

    def judge(text: str, subgraph: Mapping) -> Caption | str:
        checked = check_caption(answer_of(text), subgraph["atoms"], lexicon, tables)
        return checked.reason or Caption(checked.text, checked.mentions, source)

    return judge


def caption_row(subgraph: Mapping, outcome: Outcome, mass_nouns: frozenset[str], config: Mapping) -> dict:
    """Returns a row of table CAPTIONS; the template's where the backend gave none and the config does not drop it."""
    caption, reason = outcome.caption, ""
    if caption is None and outcome.failures and config["on_failure"] == DROP:
        reason = FAILED
    elif caption is None:
        caption = write_template_caption(subgraph["atoms"], mass_nouns)
    return {
        "subgraph_id": subgraph["subgraph_id"],
        "caption": caption and caption.text,
        "caption_source": caption.source if caption else "",
        "mentions": [mention._asdict() for mention in caption.mentions] if caption else [],
        "n_attempts": outcome.n_attempts,
        "failures": outcome.failures,
        "reason": reason,
    }


def count_row(row: Mapping, complexity: int, source: str, counts: dict[str, Counter]) -> None:
    """Counts a subgraph, and the answers to it."""
    counts[f"subgraph_n{complexity}"].update([READ, row["reason"] or KEPT])
    kept = [KEPT] if row["n_attempts"] and row["caption_source"] == source else []
    if row["n_attempts"]:
        counts["answer"].update([READ] * row["n_attempts"] + row["failures"] + kept)
