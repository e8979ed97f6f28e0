"use strict";

/* The cards of the gallery. Texts of the data only ever become text nodes. */

const MODELS_NAMED = 4; // more than these are counted
const MODELS_OPEN = 6; // a table of more is folded

/* Makes an element: its class, its children (elements and texts) and further attributes. */
function make(tag, className = "", children = [], attributes = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...[children].flat());
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function button(text, act, attributes = {}) {
  const element = make("button", "", text, { type: "button", ...attributes });
  element.addEventListener("click", act);
  return element;
}

function plural(n, word) { return `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`; }

/* A margin with its sign; a true minus. */
function signed(number) {
  const text = Math.abs(number).toFixed(4);
  return (number < 0 ? "\u2212" : "+") + text;
}

/* Places of the words of `text` that are not in its longest common subsequence with `other`. */
function changedWords(text, other) {
  const [a, b] = [text.split(" "), other.split(" ")];
  const lengths = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i][j] = a[i] === b[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const changed = new Set();
  let [i, j] = [0, 0];
  while (i < a.length) {
    if (j < b.length && a[i] === b[j]) { i += 1; j += 1; }
    else if (j < b.length && lengths[i][j + 1] >= lengths[i + 1][j]) j += 1;
    else { changed.add(i); i += 1; }
  }
  return changed;
}

/* A foil's text, the words that differ from the truth marked. */
function markedText(text, truth) {
  const changed = changedWords(text, truth);
  return text.split(" ").flatMap((word, i) => [i ? " " : "", changed.has(i) ? make("mark", "", word) : word]);
}

/* A name that may be broken behind its underscores. */
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));
}

/* Says for which models a foil stands above the truth, or level with it; "" if for none. */
function whoLost(data, set, place) {
  const scored = data.models.filter((_, i) => set.scores[i]?.wins);
  const named = (win) => scored.filter((model) => scoreOf(data, set, model).wins[place] === win);
  const list = (models) => {
    if (models.length === scored.length && models.length > 1) return `all ${models.length} models`;
    return models.length > MODELS_NAMED ? `${models.length} of ${scored.length} models` : models.join(", ");
  };
  const [above, tied] = [named(0), named(0.5)];
  return {
    text: [above.length ? `above the truth for ${list(above)}` : "", tied.length ? `level with it for ${list(tied)}` : ""]
      .filter(Boolean).join("; "),
    names: [...above, ...tied].join(", "),
  };
}

/* What a model makes of the truth against a foil, as a sign. */
function signOf(data, set, place, model) {
  const win = scoreOf(data, set, model)?.wins[place];
  const [kind, sign, says] = {
    0: ["above", "\u2715", "above the truth"], 0.5: ["tied", "=", "level with the truth"], 1: ["below", "\u00b7", "below the truth"],
  }[win] ?? ["unscored", "?", "not scored"];
  const text = `${model}: ${says}`;
  return make("span", `sign ${kind}`, [make("span", "", sign, { "aria-hidden": "true" }), make("span", "unseen", text)], { title: text });
}

function foilItem(data, set, place, models, actions) {
  const foil = set.foils[place];
  const who = whoLost(data, set, place);
  const change = `${foil.original} \u2192 ${foil.replacement}`;
  const why = [make("span", "", foil.kind, { title: change }), who.text && make("span", "who", who.text, { title: who.names }), foil.source,
    button(foil.foil_id, () => actions.copyExclusion(foil.foil_id), {
      class: "id", title: "Copy a line for a list of exclusions", "aria-label": `Copy exclusion of foil ${foil.foil_id}`,
    })].filter(Boolean).flatMap((part, i) => (i ? [" \u00b7 ", part] : [part]));
  const isAbove = scoreOf(data, set, models[0])?.wins[place] < 1;
  return make("li", isAbove ? "foil is-above" : "foil", [
    make("span", "signs", models.map((model) => signOf(data, set, place, model))),
    make("div", "", [make("div", "", markedText(foil.text, set.caption)), make("div", "why", why)]),
  ]);
}

function modelsTable(data, set, models) {
  const rows = data.models.map((model, i) => [model, set.scores[i]]).filter(([, score]) => score);
  const cells = (score) => (score.reason ? [make("td", "number", "not scored", { colspan: 2, title: score.reason })] : [
    make("td", `number ${isRight(score) ? "right" : "wrong"}`, `${score.rank} of ${set.foils.length + 1}`),
    make("td", "number", signed(score.margin)),
  ]);
  const nRight = rows.filter(([, score]) => score.rank !== undefined && isRight(score)).length;
  const table = make("table", "models", [
    make("thead", "", make("tr", "", ["model", "rank", "margin"].map((name, i) => make("th", i ? "number" : "", name, { scope: "col" })))),
    make("tbody", "", rows.map(([model, score]) =>
      make("tr", models.includes(model) ? "is-chosen" : "", [make("th", "", breakable(model), { scope: "row" }), ...cells(score)]))),
  ]);
  if (rows.length <= MODELS_OPEN) return table;
  return make("details", "", [make("summary", "", `right for ${nRight} of ${rows.length} models`), table]);
}

/* The crop; its button shows the whole image with the box instead. */
function figure(data, set) {
  const image = data.images[set.image_id];
  const caption = make("figcaption", "", `image ${set.image_id}, ${set.unit}`);
  if (image.problem) return make("figure", "", [make("p", "note warn small", `No picture: ${image.problem}`), caption]);
  const holder = make("div", "picture");
  const [x, y, width, height] = set.box;
  const show = (whole) => {
    const scale = whole ? [image.width, image.height] : [width, height];
    const alt = whole ? `Whole image ${set.image_id}, with the box of the crop` : `Crop of image ${set.image_id}`;
    holder.replaceChildren(make("img", "", [], { src: whole ? image.uri : data.crops[set.crop], alt }));
    // a tall crop is as high as it may be, a flat one as wide
    holder.style.aspectRatio = scale.join(" / ");
    holder.style.width = `min(100%, ${(256 * Math.min(1, scale[0] / scale[1])).toFixed(1)}px)`;
    if (!whole) return;
    const box = make("span", "box");
    const places = { left: x / image.width, top: y / image.height, width: width / image.width, height: height / image.height };
    for (const [side, share] of Object.entries(places)) box.style[side] = `${100 * share}%`;
    holder.append(box);
  };
  const toggle = button("Whole image", () => {
    const whole = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", whole);
    show(whole);
  }, { "aria-pressed": "false", class: "whole" });
  show(false);
  return make("figure", "", [holder, caption, toggle]);
}

function verdict(data, set, model) {
  const score = scoreOf(data, set, model);
  if (!score) {
    const reason = set.scores[data.models.indexOf(model)]?.reason;
    return make("span", "verdict unscored", `${model}: not scored${reason ? ` (${reason})` : ""}`);
  }
  const word = isRight(score) ? "right" : "wrong";
  return make("span", `verdict ${word}`, `${model}: ${score.margin === 0 ? "level" : `${word} by ${Math.abs(score.margin).toFixed(4)}`}`);
}

/* Splits of a set by corpus, those of one name together: "SC: a, b". */
function splitChips(data, set) {
  const corpora = new Map();
  set.splits.forEach((split, i) => corpora.set(split, [...(corpora.get(split) ?? []), data.corpora[i]]));
  return [...corpora].map(([split, names]) => make("span", "chip", `${split}: ${names.join(", ")}`));
}

/* The set_id; it shows all sets of this crop and caption. */
function idLink(set, actions) {
  const link = make("a", "", make("code", "", set.set_id), { href: `#q=${set.set_id}`, title: "All sets of this crop and caption" });
  link.addEventListener("click", (event) => {
    event.preventDefault();
    actions.showId(set.set_id);
  });
  return link;
}

function card(data, set, state, actions) {
  const models = [state.model, state.other].filter(Boolean);
  const title = `${set.family}, ${set.foil_type}`;
  return make("article", "card set", [
    make("header", "", [
      make("h2", "", title), make("span", "chip", plural(set.complexity, "atom")), ...splitChips(data, set),
      make("div", "verdicts", models.map((model) => verdict(data, set, model))),
    ]),
    figure(data, set),
    make("div", "texts", [
      make("h3", "", `True caption (${set.caption_source})`),
      make("p", "truth", set.caption),
      make("h3", "", `Foils; \u2715: above the truth for ${models.join(", and for ")}`),
      make("ol", "foils", set.foils.map((_, place) => foilItem(data, set, place, models, actions))),
    ]),
    make("div", "facts", [
      modelsTable(data, set, models),
      make("p", "", [
        "set ", idLink(set, actions),
        `, protocol ${set.protocol}`,
      ]),
      button("Copy exclusion", () => actions.copyExclusion(set.set_id), { class: "exclude", title: "Copy a line for a list of exclusions" }),
    ]),
  ], { tabindex: "-1", "data-set": set.set_id, "data-type": set.foil_type, "aria-label": `${title}: ${set.caption}` });
}
