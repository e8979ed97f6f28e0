"use strict";
// The start screen of a review: who answers, and answers that go on from the browser or a file.

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
