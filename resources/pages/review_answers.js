"use strict";
// The answers of a review: which questions an item has, what is open, and the file that holds the answers.

const YES_NO_UNSURE = [["yes", "y"], ["no", "n"], ["unsure", "u"]];
const YES_NO = YES_NO_UNSURE.slice(0, 2);
const MOST_MISSED = 99;
const NAME_LENGTH = 40;

/** Questions of an item in the order in which they are asked: where the answer stands, and what it may be. */
function questionsOf(item) {
  if (item.kind === "caption") return [{ path: ["faithful"], options: YES_NO_UNSURE, text: "Is the caption faithful?" }];
  if (item.kind === "parser") {
    return [
      { path: ["n_wrong"], most: item.found.length, text: "How many of these facts are wrong?" },
      { path: ["n_missed"], most: MOST_MISSED, text: "How many facts are missing?" },
    ];
  }
  const questions = [
    { path: ["pick"], text: "Which text describes the crop?" },
    { path: ["faithful"], options: YES_NO_UNSURE, text: "Is the caption faithful?" },
  ];
  for (const { id } of item.candidates) {
    if (id === "truth") continue;
    questions.push({ path: ["foils", id, "false"], options: YES_NO_UNSURE, text: "Is the foil false?" });
    questions.push({ path: ["foils", id, "natural"], options: YES_NO, text: "Is the foil natural?" });
  }
  return questions;
}

function readAnswer(answer, path) {
  return path.reduce((value, key) => (value === undefined ? undefined : value[key]), answer);
}

/** Sets an answer, or takes it away where the value is undefined; leaves no empty object behind. */
function writeAnswer(answers, itemId, path, value) {
  const keys = [itemId, ...path];
  const parents = [answers];
  for (const key of keys.slice(0, -1)) {
    const parent = parents[parents.length - 1];
    if (parent[key] === undefined) parent[key] = {};
    parents.push(parent[key]);
  }
  if (value !== undefined) {
    parents[parents.length - 1][keys[keys.length - 1]] = value;
    return;
  }
  for (let i = keys.length - 1; i >= 0; i--) {
    if (i === keys.length - 1 || Object.keys(parents[i][keys[i]]).length === 0) delete parents[i][keys[i]];
  }
}

/** Index of the first question without an answer; -1 where the item is answered. */
function openQuestion(item, answers) {
  return questionsOf(item).findIndex((question) => readAnswer(answers[item.item_id], question.path) === undefined);
}

function isAnswered(item, answers) {
  return openQuestion(item, answers) === -1;
}

/** JSON as Python's json.dumps(value, sort_keys=True, separators=(",", ":")) writes it. */
function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const pairs = Object.keys(value).sort().map((key) => `${canonicalJson(key)}:${canonicalJson(value[key])}`);
    return `{${pairs.join(",")}}`;
  }
  const escape = (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[^ -~]/g, escape);
}

/** CRC-32 of text in ASCII, as 8 hexadecimal digits. */
function crc32(text) {
  let crc = 0xffffffff;
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ((crc ^ 0xffffffff) >>> 0).toString(16).padStart(8, "0");
}

function checksumOf(file) {
  return crc32(canonicalJson([file.format, file.sample_id, file.annotator, file.n_items, file.answers]));
}

function makeFile(sample, annotator, answers) {
  const file = {
    format: sample.format,
    sample_id: sample.sample_id,
    annotator,
    saved_at: new Date().toISOString(),
    n_items: sample.items.length,
    answers,
  };
  return { ...file, checksum: checksumOf(file) };
}

/** The file's content, checked; throws an error that a person can read. */
function readFile(text, sample) {
  let file = null;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new Error("This is not a file of this page: it is no JSON.", { cause: error });
  }
  if (file === null || typeof file !== "object" || file.format !== sample.format) {
    throw new Error("This is not a file of this page.");
  }
  if (file.sample_id !== sample.sample_id) {
    throw new Error(`This file belongs to another sample (${file.sample_id}); this page has ${sample.sample_id}.`);
  }
  if (file.checksum !== checksumOf(file)) {
    throw new Error("This file was edited or damaged after it was downloaded: its checksum does not fit.");
  }
  if (!isName(file.annotator)) throw new Error("This file does not say whose answers it holds.");
  return file;
}

function cleanName(text) {
  return text.trim().replace(/\s+/g, " ");
}

/** Whether a name may stand in a file: printable, not too long, and not that of all annotators in the table. */
function isName(name) {
  if (typeof name !== "string" || name === "" || name !== cleanName(name) || [...name].length > NAME_LENGTH) return false;
  return !/\p{C}/u.test(name) && name.toLowerCase() !== "all";
}

/** Answers in this browser, by annotator, each under a key of its own. Every function throws where nothing can be kept. */
const Saved = {
  prefix(sample) {
    return `${sample.format}:${sample.sample_id}:`;
  },
  names(sample) {
    const start = this.prefix(sample);
    const keys = Object.keys(window.localStorage).filter((key) => key.startsWith(start));
    return keys.map((key) => key.slice(start.length)).sort();
  },
  read(sample, name) {
    const text = window.localStorage.getItem(this.prefix(sample) + name);
    return text === null ? null : JSON.parse(text);
  },
  write(sample, name, state) {
    window.localStorage.setItem(this.prefix(sample) + name, JSON.stringify(state));
  },
};
