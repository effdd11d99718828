"use strict";

const number = new Intl.NumberFormat("en");
const byId = (id) => document.getElementById(id);
const plural = (count, one, many) => `${number.format(count)} ${count === 1 ? one : many || `${one}s`}`;

// --- elements: texts of data become text nodes only -------------------------------------------------------------

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

const tag = (text, level) => element("li", { class: "tag", "data-level": level }, text);
const mono = (text) => element("span", { class: "mono" }, text);

function section(title, ...children) {
  return element("section", {}, element("h4", {}, title), ...children);
}

// --- commands, with a button that copies them ----------------------------------------------------------------------

function command(text, about, key) {
  const copy = element("button", { type: "button", "data-key": key }, "Copy", element("span", { class: "hidden" }, ` ${about}`));
  const shown = element("pre", {}, element("code", {}, text));
  copy.addEventListener("click", () => copyText(text, shown));
  return element("div", { class: "command" }, shown, copy);
}

async function copyText(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    announce("Copied.");
  } catch {
    getSelection().selectAllChildren(shown);
    announce("The command is selected.");
  }
}

// --- news for screen readers ----------------------------------------------------------------------------------------

let newsTimer = 0;
function announce(text, wait = 0) {
  clearTimeout(newsTimer);
  newsTimer = setTimeout(() => { byId("news").textContent = text; }, wait);
}
