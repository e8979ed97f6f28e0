"use strict";
// A review at work: answers, undo, download, moving, keys. It starts here, when all other scripts are there.

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
