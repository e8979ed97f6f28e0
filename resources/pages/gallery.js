"use strict";

/* Puts the gallery's filters and cards to work. */

const CARDS_AT_ONCE = 20;
const NARROW = 896; // pixels: where the filters stand above the cards
const IN_REPORT = location.protocol === "data:";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const form = byId("form");
let state = defaultState(data);
let found = [];
let lastHash = null;

/* Fills the selects with the choices of the state, and shows its values. */
function showForm() {
  for (const field of form.elements) {
    if (!field.name) continue;
    const choices = choicesOf(field.name, data, state);
    if (choices) {
      field.replaceChildren(...choices.map(([value, label]) => make("option", "", label, { value })));
    }
    if (field !== document.activeElement || choices) field.value = state[field.name];
    field.classList.toggle("is-set", state[field.name] !== defaultState(data)[field.name]);
  }
  const nSet = [...form.elements].filter((field) => field.classList.contains("is-set")).length;
  byId("n_set").textContent = nSet ? `: ${nSet} in use` : "";
  form.elements.change.disabled = !state.other;
  form.elements.corpus.disabled = form.elements.split.disabled = choicesOf("split", data, state).length < 2;
}

function showCount() {
  const n = (number) => number.toLocaleString("en");
  const total = (name) => data.families.reduce((sum, family) => sum + family[name], 0);
  const chosen = data.sets.length;
  const scored = total("n_scored");
  byId("count").replaceChildren(make("strong", "", n(found.length)), ` of ${plural(chosen, "chosen set")}; ${n(scored)} scored`);
  const unscored = total("n_sets") - scored;
  const part = data.n_in_gallery
    ? `This is the part of the gallery that a report can hold; results/gallery/index.html has ${n(data.n_in_gallery)} sets. ` : "";
  const more = unscored ? ` ${n(unscored)} more could not be scored by any model (accounting.csv says why).` : "";
  byId("choice").textContent = part + (chosen < scored
    ? `These ${n(chosen)} are a choice, not a sample in proportion: some of every sort, and those with the largest margins. `
      + `Shares of what is shown here are no figures of the benchmark; those are in results/tables.${more}`
    : `All scored sets are here. The figures of the benchmark are in results/tables.${more}`);
}

function showCards() {
  found = chosenSets(data, state);
  byId("cards").replaceChildren();
  if (!found.length) {
    const text = data.sets.length
      ? "No chosen set fits these filters."
      : "No retrieval set was scored: results/tables/accounting.csv says what became of them.";
    byId("cards").append(make("p", "card empty quiet", text));
  }
  showMore();
}

function showMore() {
  const cards = byId("cards");
  const start = found.length ? cards.childElementCount : 0;
  cards.append(...found.slice(start, start + CARDS_AT_ONCE).map((set) => card(data, set, state, actions)));
  const rest = Math.max(0, found.length - start - CARDS_AT_ONCE);
  byId("more").hidden = rest === 0;
  byId("more").textContent = `Show ${Math.min(rest, CARDS_AT_ONCE)} more of ${rest.toLocaleString("en")}`;
}

function setState(wished, remember = "replaceState") {
  state = checkedState(data, wished);
  showForm();
  showCards();
  showCount();
  writeHash(remember);
}

/* Keeps the state in the address, unless the address is the page itself, as inside a report. */
function writeHash(remember) {
  lastHash = toHash(data, state);
  if (!IN_REPORT) history[remember](null, "", `#${lastHash}`);
}

function readHash() {
  const hash = location.hash.replace(/^#/, "");
  if (hash !== lastHash) setState(fromHash(data, hash));
}

/* Copies a text, and says so; where the browser refuses, the text is shown to be copied by hand. */
async function copy(text) {
  let word = "Copied:";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    word = "Copy this:";
  }
  const note = byId("copied");
  note.replaceChildren(`${word} `, make("code", "", text));
  note.hidden = false;
}

/* A line of an exclusion list: id,reason. */
function copyExclusion(id) {
  const reason = byId("reason").value.replace(/\s+/g, " ").trim();
  return copy(`${id},${/[",]/.test(reason) ? `"${reason.replaceAll('"', '""')}"` : reason}`);
}

/* What cards can do: copy an exclusion; show all sets of a crop and caption, so that "back" returns. */
const actions = { copyExclusion, showId: (id) => { setState({ q: id }, "pushState"); window.scrollTo(0, 0); } };

/* Moves to the next or previous card; behind the last one more are shown. */
function step(by) {
  const cards = [...document.querySelectorAll(".set")];
  const place = cards.indexOf(document.activeElement.closest(".set"));
  if (place + by >= cards.length && !byId("more").hidden) {
    showMore();
    step(by);
    return;
  }
  const next = cards[Math.min(Math.max(place + by, 0), cards.length - 1)];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "start" });
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isField = event.target.matches("input, select, textarea");
  if (isField) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const current = document.activeElement.closest(".set");
  const actions = {
    j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
    "/": () => { byId("link").hidden = IN_REPORT;
byId("against").hidden = data.models.length < 2;
byId("filters").open = true; form.elements.q.focus(); },
    w: () => current?.querySelector(".whole")?.click(),
    c: () => current?.querySelector(".exclude").click(),
  };
  if (!(event.key in actions)) return;
  event.preventDefault();
  actions[event.key]();
}

document.addEventListener("input", (event) => {
  if (event.target.form !== form) return;
  setState(Object.fromEntries([...form.elements].filter((field) => field.name).map((field) => [field.name, field.value])));
});
form.addEventListener("submit", (event) => event.preventDefault());
byId("reset").addEventListener("click", () => setState({}));
byId("link").addEventListener("click", () => copy(location.href));
byId("more").addEventListener("click", showMore);
document.addEventListener("keydown", onKey);
window.addEventListener("hashchange", readHash);
byId("link").hidden = IN_REPORT;
byId("against").hidden = data.models.length < 2;
byId("made").hidden = !data.pairs.length;
byId("filters").open = window.innerWidth > NARROW;
readHash();
