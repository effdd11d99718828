
// --- the page of a plan -------------------------------------------------------------------------------------------

(() => {
  const LEVELS = { safe: "good", steps: "warn", breaking: "bad" };
  const plan = JSON.parse(byId("data").textContent);

  const list = (texts, level) => element("ul", { class: "lines", "data-level": level }, texts.map((text) => element("li", {}, text)));
  const titled = (title, texts, level) => (texts.length ? section(title, list(texts, level)) : null);

  // a command with a long manifest is folded
  function folded(text, about, key) {
    const lines = text.split("\n");
    const made = command(text, about, key);
    return lines.length <= 8 ? made : element("details", {}, element("summary", {}, mono(lines[0]), ` and ${lines.length - 1} lines`), made);
  }

  function stepsList(steps, key) {
    const rows = steps.map((step, place) =>
      element(
        "li",
        {},
        step.text,
        step.commands.map((text, at) => folded(text, `a command of step ${place + 1}`, `${key} ${place} ${at}`)),
        element("p", { class: "note" }, `Done when ${step.done}.`),
      ),
    );
    return element("ol", { class: "steps" }, rows);
  }

  // --- fields: [name, type, mark, messages, fields below, changes below] ----------------------------------------------

  function fieldRow([name, kind, mark, messages, below, changes]) {
    const why = messages.map((text) => element("p", { class: "why" }, text));
    const label = [mono(name), " ", element("span", { class: "kind" }, [mark, kind].filter(Boolean).join(", "))];
    const same = mark || changes ? null : "same";
    if (!below.length) return element("li", { class: same, "data-mark": mark }, label, why);
    const details = element("details", { "data-mark": mark }, element("summary", {}, label));
    const fill = () => {
      if (details.open && details.children.length === 1) details.append(...why, element("ul", {}, below.map(fieldRow)));
    };
    details.addEventListener("toggle", fill);
    details.open = changes > 0 || messages.length > 0;
    fill();
    return element("li", { class: same }, details);
  }

  function treeOf(tree) {
    const counts = ["added", "removed", "changed"].filter((mark) => tree[mark]).map((mark) => `${number.format(tree[mark])} ${mark}`);
    const only = element("input", { type: "checkbox" });
    only.checked = counts.length > 0;
    const fields = element("ul", { class: `tree${only.checked ? " only" : ""}` });
    only.addEventListener("change", () => fields.classList.toggle("only", only.checked));
    const made = element("details", {}, element("summary", {}, mono(tree.version), `${tree.state && ` ${tree.state}`}${counts.length ? `: ${counts.join(", ")}` : ""}`));
    made.addEventListener("toggle", () => {
      if (!made.open || made.children.length > 1) return;
      fields.append(...tree.fields.map(fieldRow));
      const note = tree.cut ? element("p", { class: "note" }, "The schema is large: some unchanged fields are left out.") : null;
      made.append(...[element("label", { class: "choice" }, only, "Only what changes"), fields, note].filter(Boolean));
    });
    return made;
  }

  // --- definitions --------------------------------------------------------------------------------------------------

  function bodyOf(entry) {
    const back = entry.rollback;
    return [
      titled("Breaks", entry.breaks, "bad"),
      titled("Refused without the steps", entry.refusals, "warn"),
      titled("Warnings", entry.cautions, "warn"),
      entry.steps.length ? section("Steps", stepsList(entry.steps, "step")) : null,
      entry.trees.length ? section("Fields", element("div", { class: "versions-of" }, entry.trees.map(treeOf))) : null,
      entry.objects ? section("Objects", element("p", {}, entry.objects.text), list(entry.objects.findings)) : null,
      titled("Versions", entry.versions),
      back ? section("Rollback", element("p", {}, back.text), list(back.breaks, "bad"), list(back.loses), stepsList(back.steps, "back")) : null,
    ].filter(Boolean);
  }

  function definition(entry) {
    const summary = element(
      "summary",
      {},
      element("div", { class: "name" }, element("h3", {}, entry.name), entry.state === "changed" ? null : element("ul", { class: "tags" }, tag(entry.state)), element("p", {}, entry.about)),
    );
    const body = element("div", { class: "body" });
    const details = element("details", { class: "crd plan", "data-level": LEVELS[entry.verdict], "data-name": entry.name }, summary, body);
    details.addEventListener("toggle", () => {
      if (details.open && !body.children.length) body.append(...bodyOf(entry));
    });
    details.open = plan.definitions.length === 1;
    return details;
  }

  const colon = plan.summary.indexOf(":");
  byId("summary").replaceChildren(
    element("span", { class: "verdict", "data-level": LEVELS[plan.verdict] }, plan.summary.slice(0, colon)),
    plan.summary.slice(colon),
  );
  byId("about").textContent = plan.about;
  byId("notes").append(...plan.notes.map((text) => element("li", {}, text)));
  const groups = new Map();
  for (const entry of plan.definitions) {
    const group = entry.name.slice(entry.name.indexOf(".") + 1);
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(definition(entry));
  }
  const main = byId("definitions");
  for (const [group, entries] of groups) main.append(element("section", { class: "group" }, element("h2", {}, group), entries));
  if (!groups.size) main.append(element("p", { class: "empty" }, "No definition changes."));
})();
