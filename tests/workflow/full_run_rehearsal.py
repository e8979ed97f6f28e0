"""Everything that the full run needs from elsewhere, on this machine: hosts, weights, a language model's server."""

import hashlib
import re
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from crepebench.captions import write_template_caption
from crepebench.prompts import FACTS, parse_facts
from crepebench.transfers import CHUNK
from crepebench.word_tables import read_word_tables

from ..unit.stub_chat_server import StubChatServer
from .full_run_files import write_corpora, write_visual_genome
from .full_run_scenes import draw_world
from .full_run_weights import NLI, serve_weights, write_causal_model, write_masked_model, write_nli
from .loopback_host import LoopbackHost

ROOT = Path(__file__).resolve().parents[2]
N_IMAGES, N_CAPTIONS, SEED = 200, 2000, 1
KEY = "sk-rehearsal-3f9c27d1e8b54a60"
DEAD = "http://127.0.0.1:9"
"""A proxy that nobody runs: whatever leaves this machine fails at once."""
BROKEN_MIRROR = "https://cs.stanford.edu/people/rak248/VG_100K_2/images2.zip"
"""Answers 403, as it did in October 2022; the next mirror gives the file."""
CUT_OFF = "https://cs.stanford.edu/people/rak248/VG_100K_2/images.zip"
"""Breaks off once, and is asked for the rest."""
CUT_AFTER = 2 * CHUNK
"""Bytes; of a piece of CHUNK bytes that breaks off nothing is kept."""
CORPUS_URL = "https://corpora.invalid/{path}"
SIZES = {
    "visual_genome": {"image_parts": 2},
    "graphs": {"parts": 2},
    "corpora": {"shards": 4},
    "foils": {"parts": 2},
    "systematicity": {"max_queries": 72},
    "productivity": {"max_queries": 4},
    "evaluation": {"n_resamples": 100, "raw_pool": {"systematicity": 8, "productivity": 4}},
}
"""What the rehearsal makes smaller."""


@dataclass
class Rehearsal:
    """A folder of a run, and what serves it.

    Attributes:
        run: the working directory.
        overlays: files that follow config/crepe.yaml, by name.
        host: the hosts of all files.
        captioner: the server of the language model.
        env: environment of the run.
    """

    run: Path
    overlays: dict[str, Path]
    host: LoopbackHost
    captioner: StubChatServer
    env: dict[str, str]


@contextmanager
def rehearsal(folder: Path, checkout: Path) -> Iterator[Rehearsal]:
    """Serves all of a full run; the checkout's manifest of Visual Genome has the addresses here meanwhile."""
    served, run = folder / "served", folder / "run"
    for name in ("visual_genome", "corpora", "models"):
        (served / name).mkdir(parents=True)
    run.mkdir()
    world = draw_world(SEED)
    write_visual_genome(served / "visual_genome", world, N_IMAGES, SEED)
    write_corpora(served / "corpora", world, N_CAPTIONS, SEED)
    full = yaml.safe_load((checkout / "config" / "crepe.yaml").read_text(encoding="utf-8"))
    definitions = {name: full["models"]["definitions"][name] for name in full["models"]["use"]}
    manifest = checkout / "resources" / "visual_genome" / "manifest.yaml"
    text = manifest.read_text(encoding="utf-8")
    with LoopbackHost() as host, StubChatServer(answer) as captioner:
        weights = serve_weights(definitions, served / "models", host)
        write_nli(served / "nli")
        host.add_repository(NLI, served / "nli")
        write_masked_model(run / "tiny_bert")
        write_causal_model(run / "tiny_gpt")
        bring_corpora(served / "corpora", run, host)
        try:
            manifest.write_text(moved_manifest(text, served / "visual_genome", host), encoding="utf-8")
            host.refused.add(f"/{BROKEN_MIRROR.partition('//')[2]}")
            host.cut[f"/{CUT_OFF.partition('//')[2]}"] = CUT_AFTER
            overlays = write_overlays(folder, weights, captioner.url)
            yield Rehearsal(run, overlays, host, captioner, environment(folder, host))
        finally:
            manifest.write_text(text, encoding="utf-8")


def bring_corpora(folder: Path, run: Path, host: LoopbackHost) -> None:
    """Fetches the captions as a user does, who has to bring them: to where config/crepe.yaml expects them."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder)
        (run / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        url = host.add_file(CORPUS_URL.format(path=name), path)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url) as response:
            (run / "data" / name).write_bytes(response.read())


def moved_manifest(text: str, folder: Path, host: LoopbackHost) -> str:
    """Returns a manifest with the addresses here, and with size and SHA-256 of the files here where it states any."""
    entries = yaml.safe_load(text)["files"]
    for entry in entries:
        path = folder / entry["name"]
        if path.is_file():
            content = path.read_bytes()
            facts = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            entry |= {key: value for key, value in facts.items() if entry[key] is not None}
            for url in entry["urls"]:
                host.add_file(url, path)
        entry["urls"] = [host.moved(url) for url in entry["urls"]]
    return yaml.safe_dump({"files": entries}, sort_keys=False)


def write_overlays(folder: Path, weights: Mapping[str, str], captioner_url: str) -> dict[str, Path]:
    """Writes what differs from config/crepe.yaml: addresses and sizes, and three runs beside it.

    Args:
        folder: where to write.
        weights: URL of the weights of those models that are not on the hub.
        captioner_url: address of the language model's server.
    """
    addresses = {
        "captioner": {"backend": "openai", "base_url": captioner_url},
        "models": {"definitions": {name: {"weights": url} for name, url in weights.items()}},
    }
    overlays = {
        "full": {**SIZES, **addresses},
        # the comparison with the paper's figures needs the paper's forms, which config/crepe.yaml does not ask for
        "paper": {
            "foils": {"protocol": "paper"},
            "productivity": {"complexities": [4, 12]},
            "models": {"use": ["rn50_cc12m", "rn50_yfcc15m", "vit_b_32_laion400m"]},
            "plots": {"contact_sheet_complexities": [4]},
        },
        # models of texts that config/crepe.yaml does not name
        "texts": {
            "foils": {"plausibility": "masked", "language_model": "tiny_bert"},
            "audit": {"language_model": "tiny_gpt"},
        },
        "newer": {"visual_genome": {"version": "1.4", "aliases": True}},
    }
    paths = {name: folder / f"{name}.yaml" for name in overlays}
    for name, overlay in overlays.items():
        paths[name].write_text(yaml.safe_dump(overlay), encoding="utf-8")
    return paths


def environment(folder: Path, host: LoopbackHost) -> dict[str, str]:
    """Returns the variables of the run: the hub's address, the key, and proxies that lead nowhere."""
    proxies = {name: DEAD for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    hub = {"HF_ENDPOINT": host.url, "HF_HOME": str(folder / "hub_cache"), "HF_HUB_DISABLE_TELEMETRY": "1"}
    here = {"no_proxy": "127.0.0.1,localhost", "NO_PROXY": "127.0.0.1,localhost"}
    return {**proxies, **hub, **here, "OPENAI_API_KEY": KEY, "TORCH_HOME": str(folder / "torch_home")}


@cache
def _mass_nouns() -> frozenset[str]:
    return read_word_tables(sorted(map(str, (ROOT / "resources" / "foils").glob("*.csv")))).mass_nouns


def answer(prompt: str, seed: int) -> str:
    """Returns the caption of the facts of a prompt; to one in six answers it adds what the facts do not say."""
    facts = re.findall(rf"^{FACTS} (.+)$", prompt, re.MULTILINE)[-1]
    caption = write_template_caption(parse_facts(facts), _mass_nouns()).text
    draw = int(hashlib.sha256(f"{prompt} {seed}".encode()).hexdigest()[:8], 16) % 6
    return caption if draw else f"{caption}. a dragon on the moon"
