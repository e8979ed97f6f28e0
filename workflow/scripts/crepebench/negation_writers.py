"""Let a language model word denials: of what is shown (false) and of what is absent (true), by one prompt.

Source: PeakPatch (arXiv 2607.23271), section 3.2: LLaMA-3.1-8B negates one salient object or attribute with an explicit
cue. Its prompt is not published; ours names what is to be denied. The same prompt asks for false and for true denials,
so that style says nothing of which is which. Answers are kept in a store (`crepebench.answer_store`), and go through
the filters of templates; what fails is asked for again with another seed, and at last worded by the template.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from crepebench.accounting import KEPT, READ
from crepebench.answer_store import AnswerStore
from crepebench.caption_attempts import answer_requests
from crepebench.caption_words import normalise
from crepebench.captioners import Captioner, Request, attempt_seed, digest_of, make_captioner
from crepebench.graphs import OBJECT
from crepebench.negation_forms import BARE, EXPLICIT, Template
from crepebench.negation_plans import Plan
from crepebench.negation_rows import LLM, TEMPLATE
from crepebench.prompts import answer_of

logger = logging.getLogger(__name__)

INSTRUCTION = (
    "Rewrite the caption of a picture so that it says that something is not there. Use a word of negation. Leave out "
    "every other mention of what is denied, keep the rest, and add nothing. Lower case, one line, no full stop."
)
EXAMPLES = (
    ("a man in a hat riding a horse", "hat", "a man without a hat riding a horse"),
    ("a plate of food on a table", "fork", "a plate of food on a table with no fork"),
    ("two dogs beside a car", "car", "two dogs where there is no car"),
    ("a red bus in the street", "that the bus is red", "a bus that is not red in the street"),
    ("a wooden bench in a park", "that the bench is metallic", "a bench that is not metallic in a park"),
)
"""Caption, what is denied, and the answer; our own."""
CAPTION, DENIED, REWRITTEN = "caption:", "deny:", "rewritten:"
NO_TEXT = "answer_empty"
"""Reason of an answer without a text."""
Judge = Callable[[Sequence[tuple[Plan, int, str]]], list[str]]
"""Says of texts, each that of a plan's false (0) or true (1) denial, why they are of no use, "" where they are."""


def prompts_digest() -> str:
    """Returns a digest of instruction and examples, which shape all answers."""
    return digest_of([INSTRUCTION, EXAMPLES])


def prompt_of(plan: Plan, which: int) -> tuple[str, str]:
    """Returns beginning and rest of the prompt for a plan's false (0) or true (1) denial."""
    shown = "".join(
        f"{CAPTION} {caption}\n{DENIED} {denied}\n{REWRITTEN} {text}\n\n" for caption, denied, text in EXAMPLES
    )
    concept = (plan.slot.concept, plan.absent)[which]
    verb = "are" if plan.slot.is_plural else "is"
    denied = concept if plan.slot.kind == OBJECT else f"that the {plan.slot.noun} {verb} {concept}"
    return f"{INSTRUCTION}\n\n{shown}", f"{CAPTION} {plan.caption}\n{DENIED} {denied}\n{REWRITTEN}"


def rewritten_of(text: str) -> str:
    """Returns the caption in what a model wrote, in lower case, without a stop."""
    found = answer_of(text)
    at = found.lower().find(REWRITTEN)
    return normalise(found[at + len(REWRITTEN) :] if at >= 0 else found)


def rewrite_plans(
    plans: Sequence[Plan],
    config: Mapping,
    judge: Judge,
    counts: dict[str, Counter],
    captioner: Captioner | None = None,
) -> tuple[list[Plan], list[str]]:
    """Returns plans whose two denials a language model has worded, and the source of each.

    Both are the model's, or both the template's, as style would tell them apart. Bare plans stay the template's. What
    affirms is the caption, and the caption with the absent thing exchanged for the one that is shown.

    Args:
        plans: of captions.
        config: config block `captioner`, with `store` (folder of answers).
        judge: the filters.
        counts: takes the unit "answer": answers looked at, kept, and refused by reason.
        captioner: the backend; that of the config where None.
    """
    captioner = captioner or make_captioner(config, prompts_digest())
    store = AnswerStore(config["store"], captioner.identity)
    waiting = {(i, which) for i, plan in enumerate(plans) if plan.template.place != BARE for which in (0, 1)}
    texts: dict[tuple[int, int], str] = {}
    own = counts.setdefault("answer", Counter({READ: 0, KEPT: 0}))
    n_rounds = config["attempts"] if config["temperature"] else 1
    for attempt in range(n_rounds):
        asked = sorted(waiting)
        if not asked:
            break
        seed = attempt_seed(config["seed"], attempt)
        requests = [
            Request(f"denial of image {plans[i].image_id}", *prompt_of(plans[i], which), seed) for i, which in asked
        ]
        answers = answer_requests(requests, captioner, store)
        candidates = []
        for (i, which), request in zip(asked, requests, strict=True):
            answer = answers[request.key]
            text = rewritten_of(answer.text)
            reason = answer.failure or ("" if text else NO_TEXT)
            if reason:
                own.update((READ, reason))
            else:
                candidates.append((i, which, text))
        reasons = judge([(plans[i], which, text) for i, which, text in candidates])
        for (i, which, text), reason in zip(candidates, reasons, strict=True):
            own.update((READ, reason or KEPT))
            if not reason:
                texts[i, which] = text
                waiting.discard((i, which))
    rewritten, sources = [], []
    for i, plan in enumerate(plans):
        both = [texts.get((i, which)) for which in (0, 1)]
        is_llm = None not in both
        rewritten.append(_worded(plan, *both) if is_llm else plan)
        sources.append(LLM if is_llm else TEMPLATE)
    logger.info("%s words the denials of %d of %d plans", captioner.source, sources.count(LLM), len(plans))
    return rewritten, sources


def _worded(plan: Plan, denied_shown: str, denied_absent: str) -> Plan:
    """Returns a plan with the denials of a model, which are asked to be explicit."""
    template = Template(LLM, EXPLICIT, plan.template.place, plan.template.use, "", "")
    affirmed = {"affirmed_shown": plan.caption, "affirmed_absent": plan.exchanged}
    return plan._replace(template=template, denied_shown=denied_shown, denied_absent=denied_absent, **affirmed)
