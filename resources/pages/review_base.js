"use strict";
// What the screens of a review share: the sample, where one is, and how elements are made.

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
