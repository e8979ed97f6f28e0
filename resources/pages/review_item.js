"use strict";
// The item of a review that is shown: pictures, texts, questions, and what the keys do now.

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
  const verdict = picked === "truth" ? "You picked the caption." : "You picked a foil, not the caption.";
  article.append(make("h2", {}, "Is the caption faithful? Which foils are false, and natural? ", make("span", { className: "quiet small" }, `${verdict} Words that differ from it are underlined.`)));
  const list = make("ul", { className: "plain candidates" });
  let i = 2;
  const ordered = [...item.candidates].sort((one, other) => (other.id === "truth") - (one.id === "truth"));
  for (const { id, text } of ordered) {
    const isTruth = id === "truth";
    const parts = wordsBeyond(text, item.caption);
    const words = make("p", { className: "text" }, ...parts.map(([word, isOther]) => (isOther ? make("u", {}, word) : word)));
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
