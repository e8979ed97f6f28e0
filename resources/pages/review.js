"use strict";
// The screens of a review, and its keys. What is an answer, a file or kept in the browser: review_answers.js.

const byId = (id) => document.getElementById(id);
const sample = JSON.parse(byId("data").textContent);
const items = sample.items;
const PICK_KEYS = "123456789abcdefghijklmopqrstvwx"; // n, u, y and z have a meaning of their own
const MOST_UNDONE = 500;
const KIND_NAMES = { set: "sets of texts", caption: "captions", parser: "captions with facts" };

let annotator = null;
let state = null; // answers; history of answers; id of the item at which one is
let place = 0; // index of the item that is shown
let current = -1; // index of its question that is asked; -1: all are answered
let groups = []; // elements of its questions
let selection = null; // candidate that is chosen and not confirmed
let isUnsaved = false; // whether answers stand neither in the browser nor in a file

/** An element with properties (or attributes) and children; texts become text, never HTML. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function show(name) {
  for (const screen of ["start", "work", "done"]) byId(screen).hidden = screen !== name;
  window.scrollTo(0, 0);
}

function note(id, text) {
  byId(id).textContent = text;
  byId(id).hidden = text === "";
}

function announce(text) {
  byId("live").textContent = text;
}

/** A button whose click by mouse leaves no focus on it, so that the next Enter is not a second click. */
function button(properties, action, ...children) {
  const element = make("button", { type: "button", ...properties }, ...children);
  onClick(element, action);
  return element;
}

function onClick(element, action) {
  element.addEventListener("click", (event) => {
    if (event.detail > 0) element.blur();
    action();
  });
}

// ---- start

function showStart() {
  annotator = state = null;
  byId("known-list").replaceChildren();
  byId("choice").hidden = true;
  let known = [];
  try {
    known = Saved.names(sample).map((name) => ({ name, ...Saved.read(sample, name) }));
  } catch (error) {
    note("start-note", "This browser does not keep answers of this page. Download them before you close it.");
  }
  known.sort((one, other) => (one.saved_at < other.saved_at ? 1 : -1));
  for (const { name, answers } of known) {
    const n = items.filter((item) => isAnswered(item, answers)).length;
    const go = button({ className: "known" }, () => begin(name), `Continue as ${name}`);
    byId("known-list").append(make("li", {}, go, make("span", { className: "quiet small" }, ` ${n} of ${items.length} answered`)));
  }
  byId("known").hidden = known.length === 0;
  show("start");
  (byId("known-list").querySelector("button") || byId("name")).focus();
}

function begin(name, taken = null) {
  let saved = null;
  try {
    saved = Saved.read(sample, name);
  } catch (error) {
    warnUnsaved();
  }
  annotator = name;
  state = taken || saved || { answers: {}, history: [], at: null };
  note("start-note", "");
  byId("who").textContent = name;
  const at = items.findIndex((item) => item.item_id === state.at);
  if (taken) save();
  if (items.every((item) => isAnswered(item, state.answers))) showDone();
  else showItem(at >= 0 ? at : items.findIndex((item) => !isAnswered(item, state.answers)));
  if (!byId("work").hidden) byId("place").focus({ preventScroll: true });
}

byId("name-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = cleanName(byId("name").value);
  if (!isName(name)) {
    note("start-note", "Please write a name of 1 to 40 characters, other than “all”.");
    return;
  }
  let known = [];
  try {
    known = Saved.names(sample);
  } catch (error) {
    warnUnsaved();
  }
  begin(known.find((other) => other.toLowerCase() === name.toLowerCase()) || name);
});

byId("file").addEventListener("change", async () => {
  const chosen = byId("file").files[0];
  byId("file").value = "";
  if (!chosen) return;
  byId("choice").hidden = true;
  try {
    takeFile(readFile(await chosen.text(), sample));
  } catch (error) {
    note("start-note", `${chosen.name}: ${error.message}`);
  }
});

/** Goes on with the answers of a file; asks first where the browser has others of the same annotator. */
function takeFile(file) {
  const taken = { answers: file.answers, history: [], at: null };
  const count = (answers) => items.filter((item) => isAnswered(item, answers)).length;
  let saved = null;
  try {
    saved = Saved.read(sample, file.annotator);
  } catch (error) {
    warnUnsaved();
  }
  if (saved === null || canonicalJson(saved.answers) === canonicalJson(file.answers)) {
    begin(file.annotator, saved === null ? taken : null);
    return;
  }
  note("start-note", "");
  byId("choice-text").textContent =
    `This browser has other answers of ${file.annotator}. Items answered here: ${count(saved.answers)}; ` +
    `in the file: ${count(file.answers)}, saved at ${file.saved_at}.`;
  byId("take-file").onclick = () => begin(file.annotator, taken);
  byId("keep-saved").onclick = () => begin(file.annotator);
  byId("choice").hidden = false;
  byId("take-file").focus();
}

// ---- answers

function save() {
  state.at = items[place].item_id;
  state.saved_at = new Date().toISOString();
  try {
    Saved.write(sample, annotator, state);
    isUnsaved = false;
  } catch (error) {
    isUnsaved = true;
    warnUnsaved();
  }
}

function warnUnsaved() {
  note("work-note", "This browser does not keep your answers. Download them before you close this page.");
}

function answerOf(index = place) {
  return state.answers[items[index].item_id];
}

/** Writes an answer to question i of the item, remembers what was there, and asks the next open question. */
function setAnswer(i, value) {
  const item = items[place];
  const questions = questionsOf(item);
  const before = readAnswer(answerOf(), questions[i].path);
  if (before !== value) {
    state.history.push({ item_id: item.item_id, path: questions[i].path, before: before === undefined ? null : before });
    state.history.splice(0, state.history.length - MOST_UNDONE);
    writeAnswer(state.answers, item.item_id, questions[i].path, value);
    save();
  }
  const isOpen = (question) => readAnswer(answerOf(), question.path) === undefined;
  const after = questions.findIndex((question, j) => j > i && isOpen(question));
  current = after >= 0 ? after : openQuestion(item, state.answers);
  if (questions[i].path[0] === "pick") renderItem();
  refresh();
}

function undo() {
  const last = state.history[state.history.length - 1];
  if (selection !== null) {
    selection = null;
    refresh();
    return;
  }
  if (last === undefined) {
    say("There is nothing to undo.");
    return;
  }
  if (last.path[0] === "pick") {
    say("What you picked stays, since you have seen which text is the caption.");
    return;
  }
  state.history.pop();
  writeAnswer(state.answers, last.item_id, last.path, last.before === null ? undefined : last.before);
  const index = items.findIndex((item) => item.item_id === last.item_id);
  const isElsewhere = index !== place || byId("work").hidden;
  if (isElsewhere) showItem(index);
  else save();
  current = questionsOf(items[place]).findIndex((question) => question.path.join() === last.path.join());
  refresh();
  announce(`Undone: ${questionsOf(items[place])[current].text}`);
}

function download() {
  const file = makeFile(sample, annotator, state.answers);
  const address = URL.createObjectURL(new Blob([JSON.stringify(file, null, 1)], { type: "application/json" }));
  const name = annotator.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^A-Za-z0-9]+/g, "_").replace(/^_+|_+$/g, "") || "annotator";
  const link = make("a", { href: address, download: `review_${sample.sample_id}_${name}.json` });
  link.click();
  URL.revokeObjectURL(address);
  isUnsaved = false;
  const nOpen = items.filter((item) => !isAnswered(item, state.answers)).length;
  const text = nOpen ? `Downloaded. Items still open: ${nOpen}.` : "Downloaded.";
  if (byId("work").hidden) note("done-note", text);
  else say(text);
}

// ---- moving

function showItem(index) {
  place = index;
  selection = null;
  current = openQuestion(items[place], state.answers);
  show("work");
  save();
  renderItem();
  refresh();
  announce(`Item ${place + 1} of ${items.length}. ${byId("count").textContent}`);
}

function move(step) {
  const target = place + step;
  if (target >= 0 && target < items.length) showItem(target);
}

/** Goes to the next item with an open question, around the end if need be. */
function showNextOpen() {
  for (let step = 1; step <= items.length; step++) {
    const index = (place + step) % items.length;
    if (!isAnswered(items[index], state.answers)) {
      showItem(index);
      return;
    }
  }
  showDone();
}

function showDone() {
  byId("done-count").textContent = `${annotator}: ${items.length} of ${items.length} items answered.`;
  note("done-note", "");
  show("done");
  byId("done-download").focus();
}

function enter() {
  const question = questionsOf(items[place])[current];
  if (question === undefined) showNextOpen();
  else if (question.path[0] === "pick" && selection !== null) setAnswer(current, takeSelection());
  else if (question.most !== undefined) commitNumber(current);
  else say(question.path[0] === "pick" ? "Choose a text first." : `Answer this first: ${question.text}`);
}

function takeSelection() {
  const taken = selection;
  selection = null;
  return taken;
}

function commitNumber(i) {
  const question = questionsOf(items[place])[i];
  const text = groups[i].querySelector("input").value.trim();
  if (/^\d{1,2}$/.test(text) && Number(text) <= question.most) setAnswer(i, Number(text));
  else say(`Write a whole number from 0 to ${question.most}.`);
}

// ---- the item

function pictures(item) {
  const image = sample.images[item.image];
  const [x, y, width, height] = item.box;
  const box = make("span", { className: "box" });
  box.style.left = `${(100 * x) / image.width}%`;
  box.style.top = `${(100 * y) / image.height}%`;
  box.style.width = `${(100 * width) / image.width}%`;
  box.style.height = `${(100 * height) / image.height}%`;
  const figure = (uri, ratio, alt, caption, ...more) => {
    const picture = make("div", { className: "picture" }, make("img", { src: uri, alt }), ...more);
    picture.style.setProperty("--ratio", ratio);
    return make("figure", {}, picture, make("figcaption", {}, caption));
  };
  return make(
    "div",
    { className: "pictures" },
    figure(image.uri, image.width / image.height, "Whole picture, the crop framed", "Whole picture", box),
    figure(sample.crops[item.crop], width / height, "The crop", "Crop: judge by this"),
  );
}

function renderItem() {
  const item = items[place];
  const article = byId("item");
  const hadFocus = article.contains(document.activeElement);
  groups = [];
  article.replaceChildren();
  if (item.kind !== "parser") article.append(pictures(item));
  if (item.kind === "caption") renderCaption(item, article);
  else if (item.kind === "parser") renderParser(item, article);
  else if (readAnswer(answerOf(), ["pick"]) === undefined) renderPick(item, article);
  else renderSet(item, article);
  article.append(explanation(item));
  if (hadFocus) byId("place").focus({ preventScroll: true });
}

/** What the questions of an item mean: the words of the start page. */
function explanation(item) {
  const words = [...byId("words").children].filter((group) => group.dataset.kinds.split(" ").includes(item.kind));
  const list = make("dl", {}, ...words.map((group) => group.cloneNode(true)));
  return make("details", { className: "small" }, make("summary", {}, "What do the questions mean?"), list);
}

/** The buttons of question i, with a short label that is seen and a long one that is read out. */
function options(i, label, text) {
  const question = questionsOf(items[place])[i];
  const buttons = question.options.map(([value, key]) =>
    button({ "aria-pressed": "false", "data-value": value }, () => setAnswer(i, value), value, " ", make("kbd", {}, key)),
  );
  groups[i] = make("div", { className: "options", role: "group", "aria-label": text }, make("span", {}, label), ...buttons);
  return groups[i];
}

function renderCaption(item, article) {
  article.append(make("h2", {}, "Is the caption faithful to the crop?"));
  article.append(make("p", { className: "card text" }, item.caption), options(0, "faithful?", "Is the caption faithful?"));
}

function renderPick(item, article) {
  article.append(make("h2", {}, "Which text describes the crop?"));
  const list = make("ol", { className: `plain candidates${item.candidates.length > 6 ? " many" : ""}` });
  list.style.setProperty("--half", Math.ceil(item.candidates.length / 2));
  item.candidates.forEach(({ id, text }, i) => {
    const choose = () => {
      selection = id;
      refresh();
    };
    const key = make("kbd", {}, PICK_KEYS[i] || "·");
    list.append(make("li", {}, button({ className: "candidate", "aria-pressed": "false", "data-id": id }, choose, key, make("span", {}, text))));
  });
  groups[0] = list;
  article.append(list);
}

function renderSet(item, article) {
  const picked = readAnswer(answerOf(), ["pick"]);
  const verdict = picked === "truth" ? "You picked the caption." : "You picked a foil.";
  article.append(make("h2", {}, "Is the caption faithful? Which foils are false, and natural? ", make("span", { className: "quiet small" }, verdict)));
  const list = make("ul", { className: "plain candidates" });
  let i = 2;
  const ordered = [...item.candidates].sort((one, other) => (other.id === "truth") - (one.id === "truth"));
  for (const { id, text } of ordered) {
    const isTruth = id === "truth";
    const words = make("p", { className: "text" }, text);
    if (isTruth) words.prepend(make("span", { className: "mark good" }, "caption"), " ");
    if (id === picked) words.append(" ", make("span", { className: "mark" }, "your pick"));
    const asked = isTruth
      ? [options(1, "faithful?", `Is the caption faithful? ${text}`)]
      : [options(i++, "false?", `Is the foil false? ${text}`), options(i++, "natural?", `Is the foil natural? ${text}`)];
    list.append(make("li", { className: `judged card${isTruth ? " truth" : ""}` }, words, make("div", { className: "asked" }, ...asked)));
  }
  article.append(list);
}

function renderParser(item, article) {
  article.append(make("h2", {}, "What did the parser find in this caption?"), make("p", { className: "card text" }, item.caption));
  const facts = make("ul", { className: "facts" }, ...item.found.map((fact) => make("li", {}, fact)));
  article.append(make("h3", {}, `Facts found: ${item.found.length}`), item.found.length ? facts : make("p", {}, "None."));
  questionsOf(item).forEach((question, i) => {
    const field = make("input", { type: "number", min: 0, max: question.most, id: `number-${i}`, inputMode: "numeric" });
    const value = readAnswer(answerOf(), question.path);
    if (value !== undefined) field.value = value;
    field.addEventListener("change", () => {
      if (field.isConnected && field.value !== "" && Number(field.value) !== readAnswer(answerOf(), question.path)) commitNumber(i);
    });
    groups[i] = make("p", { className: "options number" }, make("label", { htmlFor: `number-${i}` }, question.text), " ", field);
    article.append(groups[i]);
  });
}

/** Shows what is answered and asked; the elements stay, so that focus stays. */
function refresh() {
  const item = items[place];
  const questions = questionsOf(item);
  const nAnswered = items.filter((other) => isAnswered(other, state.answers)).length;
  byId("place").textContent = `Item ${place + 1} of ${items.length}`;
  byId("count").textContent = `${nAnswered} of ${items.length} answered, ${items.length - nAnswered} open`;
  byId("progress").max = items.length;
  byId("progress").value = nAnswered;
  groups.forEach((group, i) => {
    const value = questions[i].path[0] === "pick" ? selection : readAnswer(answerOf(), questions[i].path);
    group.classList.toggle("current", i === current);
    for (const option of group.querySelectorAll("[aria-pressed]")) {
      option.setAttribute("aria-pressed", String(value !== null && (option.dataset.value || option.dataset.id) === value));
    }
    const field = group.querySelector("input");
    if (field && document.activeElement !== field) field.value = value === undefined ? "" : value;
  });
  const question = questions[current];
  const isAsked = question !== undefined;
  const goOn = nAnswered < items.length ? "Next open item" : "Finish";
  byId("enter-text").textContent = isAsked && question.options === undefined ? "Confirm" : goOn;
  byId("enter").disabled = isAsked && question.options !== undefined;
  byId("previous").disabled = place === 0;
  byId("following").disabled = place === items.length - 1;
  byId("hint").classList.remove("loud");
  byId("hint").replaceChildren(...hints(item, question));
  const asked = groups[current];
  if (asked && question.path[0] !== "pick") asked.scrollIntoView({ block: "nearest" });
  if (asked && asked.querySelector("input")) asked.querySelector("input").focus({ preventScroll: true });
  else if (document.activeElement && document.activeElement.matches("#item input")) document.activeElement.blur();
}

/** What the keys do now. */
function hints(item, question) {
  const hint = (keys, text) => make("span", { className: "hint" }, ...keys.map((key) => make("kbd", {}, key)), ` ${text}`);
  const found = [];
  if (question === undefined) found.push(hint(["Enter"], "go on"));
  else if (question.options) found.push(...question.options.map(([value, key]) => hint([key], value)));
  else if (question.most !== undefined) found.push(hint(["0–9", "Enter"], "write a number"));
  else found.push(hint([`1–${PICK_KEYS[item.candidates.length - 1] || "x"}`], "choose"), hint(["Enter"], "confirm"));
  if (groups.length > 1 && !(question && question.most !== undefined)) found.push(hint(["↑", "↓"], "questions"));
  found.push(hint(["←", "→"], "items"), hint(["z", "Backspace"], "undo"));
  return found;
}

function say(text) {
  byId("hint").textContent = text;
  byId("hint").classList.add("loud");
  announce(text);
}

// ---- keys

function answerByKey(key) {
  const item = items[place];
  const question = questionsOf(item)[current];
  if (question === undefined) return false;
  if (question.options) {
    const found = question.options.find(([, its]) => its === key);
    if (found) setAnswer(current, found[0]);
    return found !== undefined;
  }
  const candidate = question.path[0] === "pick" && key.length === 1 ? item.candidates[PICK_KEYS.indexOf(key)] : undefined;
  if (candidate === undefined) return false;
  selection = candidate.id;
  refresh();
  return true;
}

function ask(step) {
  const first = questionsOf(items[place])[0].path[0] === "pick" ? 1 : 0;
  const from = current === -1 ? groups.length : current;
  current = Math.max(first, Math.min(groups.length - 1, from + step));
  refresh();
}

document.addEventListener("keydown", (event) => {
  if (byId("work").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  const { key, target } = event;
  const isField = target instanceof HTMLInputElement;
  const isAsked = groups.length > 1 && !isField;
  let isDone = true;
  if (key === "ArrowLeft") move(-1);
  else if (key === "ArrowRight") move(1);
  else if (key === "ArrowUp" && isAsked) ask(-1);
  else if (key === "ArrowDown" && isAsked) ask(1);
  else if (event.repeat) isDone = !isField && key !== "Tab";
  else if (key === "Enter") {
    isDone = !(target instanceof HTMLButtonElement) && target.tagName !== "SUMMARY";
    if (isDone) enter();
  } else if (key === "z" || (key === "Backspace" && !(isField && target.value !== ""))) undo();
  else isDone = !isField && answerByKey(key.toLowerCase());
  if (isDone) event.preventDefault();
});

window.addEventListener("storage", (event) => {
  if (annotator !== null && event.key === Saved.prefix(sample) + annotator) {
    note("work-note", "Your answers were changed in another window of this browser. Close one of the two, and load this page again.");
  }
});

window.addEventListener("beforeunload", (event) => {
  if (isUnsaved) event.preventDefault();
});

onClick(byId("previous"), () => move(-1));
onClick(byId("following"), () => move(1));
onClick(byId("undo"), undo);
onClick(byId("enter"), enter);
onClick(byId("leave"), showStart);
onClick(byId("download"), download);
onClick(byId("done-download"), download);
onClick(byId("done-back"), () => showItem(0));
onClick(byId("done-leave"), showStart);

byId("sample-id").textContent = sample.sample_id;
const counts = Object.entries(KIND_NAMES).map(([kind, name]) => [items.filter((item) => item.kind === kind).length, name]);
byId("sample-size").textContent = `Items: ${items.length} (${counts.filter(([n]) => n > 0).map(([n, name]) => `${name}: ${n}`).join(", ")})`;
showStart();
