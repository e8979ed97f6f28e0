"use strict";

/* What the gallery shows: the state of its filters, its form in the address, and the sets that fit, in order. */

/* The state without any filter. Everything is text, as in the address; `corpus` and `model` are the first ones. */
function defaultState(data) {
  return {
    q: "", family: "", type: "", split: "", corpus: data.corpora[0] ?? "", n: "",
    model: data.models[0] ?? "", result: "", kind: "", from: "", to: "",
    other: "", change: "", tuned: "", sort: "wrong",
  };
}

/* Choices of a filter: pairs of value and label. */
function choicesOf(name, data, state) {
  const any = ["", "any"];
  const families = data.families.filter((family) => !state.family || family.name === state.family);
  const sets = data.sets.filter((set) => !state.family || set.family === state.family);
  const same = (values) => values.map((value) => [value, value]);
  const distinct = (values) => [...new Set(values)];
  switch (name) {
    case "family": return [any, ...same(data.families.map((family) => family.name))];
    case "type": return [any, ...same(distinct(families.flatMap((family) => family.foil_types)))];
    case "split": {
      const found = new Set(sets.flatMap((set) => set.splits));
      return [any, ...same(data.splits.filter((split) => found.has(split)))];
    }
    case "corpus": return same(data.corpora);
    case "n": return [any, ...same(distinct(sets.map((set) => set.complexity)).sort((a, b) => a - b).map(String))];
    case "model": return same(data.models);
    case "result": return [
      any, ["right", "right"], ["wrong", "wrong"], ["unscored", "not scored"],
      ["all_right", "right by every model"], ["all_wrong", "wrong by every model"],
    ];
    case "kind": return [any, ...same(distinct(sets.flatMap((set) => set.foils.map((foil) => foil.kind))).sort())];
    case "other": return [["", "none"], ...same(data.models.filter((model) => model !== state.model))];
    case "change": return [
      any, ["gained", "gained: only the other right"], ["lost", "lost: only the other wrong"],
      ["both_right", "both right"], ["both_wrong", "both wrong"],
    ];
    case "tuned": return [any, ...data.pairs.flatMap(([base, model]) => [
      [`gained ${base} ${model}`, `gained by ${model} over ${base}`],
      [`lost ${base} ${model}`, `lost by ${model} against ${base}`],
    ])];
    case "sort": return [
      ["wrong", "most surely wrong first"], ["right", "most surely right first"], ["close", "closest calls first"],
      ...(state.other ? [["change", "largest change to the other model first"]] : []),
      ["set", "by family, foil type and atoms"],
    ];
    default: return null;
  }
}

/* A state in which every value is one of its choices; what is not becomes the default. */
function checkedState(data, wished) {
  const state = defaultState(data);
  for (const name of Object.keys(state)) { // family, model and other come before what depends on them
    const value = wished[name];
    if (value !== undefined && accepts(data, state, name, value)) state[name] = value;
  }
  if (!state.other) state.change = "";
  return state;
}

function accepts(data, state, name, value) {
  const choices = choicesOf(name, data, state);
  if (choices) return choices.some(([known]) => known === value);
  return name === "q" || Number.isFinite(Number(value));
}

/* The state as the part of an address behind #; "" without filters. */
function toHash(data, state) {
  const usual = defaultState(data);
  return new URLSearchParams(Object.entries(state).filter(([name, value]) => value !== usual[name])).toString();
}

function fromHash(data, hash) {
  return checkedState(data, Object.fromEntries(new URLSearchParams(hash.replace(/^#/, ""))));
}

/* The score of a set by a model, null where there is none. */
function scoreOf(data, set, model) {
  const score = set.scores[data.models.indexOf(model)];
  return score && score.rank !== undefined ? score : null;
}

/* A tie with a foil is not right, as in the tables. */
function isRight(score) { return score.rank <= 1; }

function fitsResult(data, set, state) {
  const score = scoreOf(data, set, state.model);
  const scored = set.scores.filter((found) => found && found.rank !== undefined);
  switch (state.result) {
    case "right": return score !== null && isRight(score);
    case "wrong": return score !== null && !isRight(score);
    case "unscored": return score === null;
    case "all_right": return scored.length > 0 && scored.every(isRight);
    case "all_wrong": return scored.length > 0 && !scored.some(isRight);
    default: return true;
  }
}

/* How a set changes from the model to the other: gained, lost, both_right, both_wrong; "" where one has no score. */
function changeOf(data, set, state) {
  const [one, other] = [state.model, state.other].map((model) => scoreOf(data, set, model));
  if (one === null || other === null) return "";
  if (isRight(one) === isRight(other)) return isRight(one) ? "both_right" : "both_wrong";
  return isRight(other) ? "gained" : "lost";
}

/* Whether a set is among those that a model gained or lost against the one that it was made from. */
function fitsTuned(data, set, state) {
  if (!state.tuned) return true;
  const [change, model, other] = state.tuned.split(" ");
  return changeOf(data, set, { model, other }) === change;
}

function fits(data, set, state) {
  const score = scoreOf(data, set, state.model);
  const lost = score ? set.foils.filter((foil, i) => score.wins[i] < 1) : [];
  return (!state.family || set.family === state.family)
    && (!state.type || set.foil_type === state.type)
    && (!state.split || set.splits[data.corpora.indexOf(state.corpus)] === state.split)
    && (!state.n || String(set.complexity) === state.n)
    && fitsResult(data, set, state)
    && (!state.kind || lost.some((foil) => foil.kind === state.kind))
    && (state.from === "" || (score !== null && score.margin >= Number(state.from)))
    && (state.to === "" || (score !== null && score.margin <= Number(state.to)))
    && (!state.change || changeOf(data, set, state) === state.change)
    && fitsTuned(data, set, state)
    && (!state.q || matches(set, state.q));
}

/* Whether a caption, or an id, of a set holds each word of a search. */
function matches(set, search) {
  const words = search.toLowerCase().split(/\s+/);
  const texts = [
    set.caption, set.set_id, set.unit, `image ${set.image_id}`,
    ...set.foils.flatMap((foil) => [foil.text, foil.foil_id]),
  ];
  return texts.some((text) => words.every((word) => text.toLowerCase().includes(word)));
}

/* The sets that fit, in the order of the state; those without a score of the model come last. */
function chosenSets(data, state) {
  const margin = (set, model = state.model) => scoreOf(data, set, model)?.margin;
  const values = {
    wrong: (set) => margin(set),
    right: (set) => -margin(set),
    close: (set) => Math.abs(margin(set)),
    change: (set) => -Math.abs(margin(set, state.other) - margin(set)),
    set: () => 0,
  };
  const keyed = data.sets.filter((set) => fits(data, set, state)).map((set) => {
    const value = values[state.sort](set);
    return [Number.isFinite(value) ? value : Infinity, set];
  });
  return keyed.sort(([a], [b]) => (a === b ? 0 : a - b)).map(([, set]) => set);
}
