(() => {
  const GUARDS = {
    mutatingwebhookconfigurations: "Mutating webhooks",
    mutatingadmissionpolicies: "Mutating policies",
    validatingwebhookconfigurations: "Validating webhooks",
    validatingadmissionpolicies: "Validating policies",
  };
  const FILTERS = [
    ["all", "All", () => true],
    ["attention", "Needs attention", (view) => view.level === "bad"],
    ["old", "Old versions stored", (view) => view.states.includes("old versions stored")],
    ["migrating", "Migrating", (view) => view.states.includes("migrating")],
    ["deprecated", "Deprecated", (view) => view.states.includes("deprecated")],
    ["drop", "Can be dropped", (view) => view.states.includes("can be dropped")],
  ];
  const main = byId("definitions");
  const views = new Map(); // by name: the entry, its element and what search knows about it
  let filter = "all";
  let hasData = false;
  let hasEnded = false; // a saved map does not change any more

  // --- elements ---------------------------------------------------------------------------------------------------

  // a long kind breaks before its capitals
  const breakable = (text) => text.split(/(?<=[a-z0-9])(?=[A-Z])/).flatMap((word, at) => (at ? [element("wbr"), word] : [word]));
  const duration = (milliseconds) => (milliseconds === null ? "longer" : `${number.format(milliseconds)} ms`);

  function bar(parts) {
    const made = element("div", { class: "bar", "aria-hidden": "true" });
    for (const [kind, share] of parts) {
      if (share > 0) {
        const piece = element("span", { "data-kind": kind });
        piece.style.flexGrow = String(share);
        made.append(piece);
      }
    }
    return made;
  }

  // --- what an entry means ---------------------------------------------------------------------------------------

  const kindOf = (version) => (version.storage ? "storage" : version.defined ? "old" : "lost");

  function statesOf(entry) {
    const bad = [];
    const warn = [];
    const plain = [];
    const problems = entry.problems;
    if (entry.state !== "established") (entry.state.startsWith("mirror") ? plain : warn).push(entry.state);
    if (entry.conversion.circuitOpen) bad.push("circuit open");
    if (entry.conversion.problems.length) bad.push("conversion rules have problems");
    if (problems && problems.unreadable) bad.push(`${number.format(problems.unreadable)} unreadable`);
    if (problems && problems.invalid) bad.push(`${number.format(problems.invalid)} invalid`);
    if (entry.migrationProblems) bad.push("migration has problems");
    const newest = entry.migrations[0];
    if (newest && newest.state === "failed") bad.push("migration failed");
    const old = entry.versions.some((version) => !version.storage && version.objects) || entry.unknown;
    const runs = entry.migrations.some((one) => one.state === "running" || one.state === "pending");
    if (runs || (old && entry.migration === "automatic")) warn.push("migrating");
    else if (old) warn.push("old versions stored");
    if (entry.versions.some((version) => version.deprecated && version.served)) plain.push("deprecated");
    if (entry.next.some((step) => step.does.startsWith("Drop "))) plain.push("can be dropped");
    return { bad, warn, plain };
  }

  function wordsOf(entry, states) {
    const words = [entry.name, entry.kind, entry.group, entry.plural, entry.scope, entry.state, entry.conversion.strategy, ...states];
    for (const version of entry.versions) {
      words.push(version.name, version.served ? "served" : "not served", version.deprecated ? "deprecated" : "");
    }
    return words.join(" ").toLowerCase();
  }

  // --- summary of a definition --------------------------------------------------------------------------------------

  function fillSummary(summary, entry, states) {
    const counted = entry.objects !== null;
    const parts = entry.versions.map((version) => [kindOf(version), version.objects || 0]);
    if (entry.unknown) parts.push(["lost", entry.unknown]);
    const legend = element("ul", { class: "legend" });
    for (const version of entry.versions) {
      const text = !counted ? "counting" : version.objects ? number.format(version.objects) : "none";
      legend.append(
        element(
          "li",
          { class: counted && !version.objects ? "none" : null },
          element("span", { class: "swatch", "data-kind": version.objects ? kindOf(version) : null, "aria-hidden": "true" }),
          mono(version.name),
          version.storage ? element("span", { class: "hidden" }, "storage version: ") : null,
          element("span", {}, text),
        ),
      );
    }
    if (entry.unknown) {
      const swatch = element("span", { class: "swatch", "data-kind": "lost", "aria-hidden": "true" });
      legend.append(element("li", {}, swatch, `unknown version ${number.format(entry.unknown)}`));
    }
    const tags = [
      ...states.bad.map((text) => tag(text, "bad")),
      ...states.warn.map((text) => tag(text, "warn")),
      ...states.plain.map((text) => tag(text, text === "can be dropped" ? "good" : null)),
    ];
    summary.replaceChildren(
      element(
        "div",
        { class: "name" },
        element("h3", {}, breakable(entry.kind)),
        element("p", { class: "mono" }, entry.plural),
        tags.length ? element("ul", { class: "tags" }, tags) : null,
      ),
      bar(parts),
      legend,
      element(
        "p",
        { class: "count" },
        element("b", {}, counted ? number.format(entry.objects) : "…"),
        element("span", {}, !counted ? "counting" : entry.objects === 1 ? "object" : "objects"),
      ),
    );
  }

  // --- details of a definition --------------------------------------------------------------------------------------

  const hiddenNote = (entry, key) =>
    entry.hidden[key] ? element("p", { class: "note" }, `Names are shown to users who may list ${entry.hidden[key]}.`) : null;

  function versionsSection(entry) {
    const list = element("ul", { class: "versions" });
    const most = Math.max(1, ...entry.versions.map((version) => version.objects || 0), entry.unknown || 0);
    for (const version of entry.versions) {
      const tags = [
        version.storage ? tag("storage version", "good") : null,
        version.defined ? tag(version.served ? "served" : "not served") : tag("not in spec.versions", "bad"),
        version.deprecated ? tag("deprecated", "warn") : null,
        version.stored ? tag("in status.storedVersions") : null,
      ];
      const objects = version.objects;
      list.append(
        element(
          "li",
          {},
          element("span", { class: "version mono" }, version.name),
          bar([[kindOf(version), objects || 0], ["rest", most - (objects || 0)]]),
          element("span", { class: "number" }, objects === null ? "counting" : plural(objects, "object")),
          element(
            "div",
            { class: "about" },
            element("ul", { class: "tags" }, tags),
            version.warning ? element("p", { class: "note" }, `Clients get the warning: ${version.warning}`) : null,
          ),
        ),
      );
    }
    if (entry.unknown) {
      list.append(
        element(
          "li",
          {},
          element("span", { class: "version" }, "unknown version"),
          bar([["lost", entry.unknown], ["rest", most - entry.unknown]]),
          element("span", { class: "number" }, plural(entry.unknown, "object")),
        ),
      );
    }
    return section("Versions", list);
  }

  function problemsSection(entry) {
    const report = entry.problems;
    if (!report) return section("Invalid and unreadable objects", element("p", { class: "note" }, hasEnded ? "Not checked." : "Not checked yet."));
    const found = report.invalid + report.unreadable;
    const checked = report.complete ? `all ${plural(report.checked, "object")} checked` : `${plural(report.checked, "object")} checked so far`;
    const text = found ? `${number.format(report.invalid)} invalid, ${number.format(report.unreadable)} unreadable; ${checked}` : `None; ${checked}.`;
    const rows = (entry.names.problems || []).map((one) =>
      element("li", {}, mono(one.key), ` ${one.state === "invalid" ? "invalid" : "unreadable"}`, element("p", { class: "note" }, one.message)),
    );
    const more = found - rows.length;
    return section(
      "Invalid and unreadable objects",
      element("p", { class: found ? "warning" : "note" }, text),
      report.failed ? element("p", { class: "warning" }, "The check ended early. ", ((entry.names.problemsError || [])[0] || {}).message) : null,
      rows.length ? element("ul", { class: "rows" }, rows) : null,
      rows.length && more > 0 ? element("p", { class: "note" }, `and ${number.format(more)} more`) : null,
      hiddenNote(entry, "problems"),
    );
  }

  function conversionSection(entry) {
    const conversion = entry.conversion;
    const detail = (entry.names.conversion || [])[0] || {};
    const rows = conversion.routes.map((route) => {
      const cells = [number.format(route.calls), number.format(route.failed), duration(route.meanMilliseconds), duration(route.mostMilliseconds)];
      return element("tr", {}, element("th", { scope: "row", class: "mono" }, `${route.from} → ${route.to}`), cells.map((cell) => element("td", {}, cell)));
    });
    const head = ["Versions", "Count", "Failed", "Mean", "95% within"].map((text) => element("th", { scope: "col" }, text));
    return section(
      "Conversion",
      element("p", {}, `Strategy ${conversion.strategy}`, detail.target ? `: ${detail.target}` : ""),
      conversion.circuitOpen
        ? element("p", { class: "warning" }, "The webhook does not answer: its circuit is open, and calls fail at once. ", detail.error)
        : null,
      conversion.problems.map((text) => element("p", { class: "warning" }, text)),
      rows.length
        ? element("table", {}, element("caption", {}, conversion.routes[0].by === "rules" ? "Objects converted by rules" : "Calls of the webhook"), element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows))
        : null,
    );
  }

  function migrationsSection(entry) {
    const names = entry.names.migrations || [];
    const rows = entry.migrations.map((one, place) => {
      const known = one.total ? `${number.format(one.total - one.left)} of ${plural(one.total, "object")}` : "";
      return element(
        "li",
        {},
        names[place] ? mono(`${names[place].name} `) : null,
        element("span", {}, [one.state, known, one.created].filter(Boolean).join(", ")),
        one.total ? bar([["storage", one.total - one.left], ["rest", one.left]]) : null,
        names[place] && names[place].message ? element("p", { class: "note" }, names[place].message) : null,
      );
    });
    const storage = entry.versions.find((version) => version.storage);
    const total = entry.objects || 0;
    const done = storage && storage.objects ? storage.objects : 0;
    const share = entry.objects === null ? "Counting." : `${number.format(done)} of ${plural(total, "object")} stored in ${storage ? storage.name : "the storage version"}.`;
    const problem = (entry.names.migrationProblems || [])[0];
    return section(
      "Migration",
      element("p", {}, share, entry.migration === "automatic" ? " The server migrates by itself." : ""),
      entry.migrationProblems ? element("p", { class: "warning" }, "Some objects could not be migrated, or are invalid. ", problem && problem.message) : null,
      rows.length ? element("ul", { class: "rows" }, rows) : null,
      hiddenNote(entry, "migrations"),
    );
  }

  function guardsSection(entry) {
    if (entry.guards === null) return section("Admission", element("p", { class: "note" }, "Not known."));
    const groups = Object.entries(GUARDS).filter(([key]) => entry.guards[key]);
    if (!groups.length) return section("Admission", element("p", { class: "note" }, "No webhook and no policy matches these objects."));
    return section(
      "Admission",
      element(
        "ul",
        { class: "rows" },
        groups.map(([key, title]) =>
          element(
            "li",
            {},
            element("p", {}, `${title}: ${number.format(entry.guards[key])}`),
            (entry.names[key] || []).map((one) =>
              element("p", { class: "note" }, mono(one.name), ` ${one.operations.join(", ")}; on failure ${one.failurePolicy}; ${one.target}`),
            ),
            hiddenNote(entry, key),
          ),
        ),
      ),
    );
  }

  function stepsSection(entry) {
    const rows = entry.next.map((step, place) =>
      element("li", {}, step.does, step.command ? command(step.command, `the command: ${step.does}`, `copy ${place}`) : null),
    );
    return section("What can be done next", rows.length ? element("ol", { class: "steps" }, rows) : element("p", { class: "note" }, "Nothing: no version can be dropped."));
  }

  function fillBody(view) {
    const entry = view.entry;
    view.body.replaceChildren(
      stepsSection(entry),
      versionsSection(entry),
      problemsSection(entry),
      conversionSection(entry),
      migrationsSection(entry),
      guardsSection(entry),
    );
  }

  // --- the list -------------------------------------------------------------------------------------------------------

  function put(entry) {
    let view = views.get(entry.name);
    const isNew = !view;
    const text = JSON.stringify(entry);
    if (view && view.text === text) return false;
    if (isNew) {
      const summary = element("summary", {});
      const body = element("div", { class: "body" });
      view = { summary, body, details: element("details", { class: "crd" }, summary, body) };
      const made = view;
      view.details.addEventListener("toggle", () => {
        if (made.details.open) fillBody(made);
        else made.body.replaceChildren();
      });
      views.set(entry.name, view);
    }
    const states = statesOf(entry);
    view.entry = entry;
    view.text = text;
    view.level = states.bad.length ? "bad" : states.warn.length ? "warn" : "";
    view.states = [...states.bad, ...states.warn, ...states.plain];
    view.words = wordsOf(entry, view.states);
    view.details.dataset.level = view.level;
    view.details.dataset.name = entry.name;
    fillSummary(view.summary, entry, states);
    if (view.details.open) keepFocus(view.body, () => fillBody(view));
    const shown = view.summary.textContent;
    if (!isNew && shown !== view.shown) flash(view.details);
    view.shown = shown;
    return !isNew;
  }

  function keepFocus(body, change) {
    const focused = body.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    change();
    if (focused === undefined) return;
    const again = [...body.querySelectorAll("[data-key]")].find((one) => one.dataset.key === focused);
    (again || body.parentElement.querySelector("summary")).focus();
  }

  function flash(details) {
    details.classList.remove("changed");
    requestAnimationFrame(() => details.classList.add("changed"));
  }

  function remove(name) {
    const view = views.get(name);
    if (!view) return;
    if (view.details.contains(document.activeElement)) main.focus();
    view.details.remove();
    views.delete(name);
  }

  function arrange() {
    const groups = new Map();
    const sorted = [...views.values()].sort((a, b) => compare(a.entry.group, b.entry.group) || compare(a.entry.kind, b.entry.kind) || compare(a.entry.name, b.entry.name));
    for (const view of sorted) {
      if (!groups.has(view.entry.group)) groups.set(view.entry.group, []);
      groups.get(view.entry.group).push(view.details);
    }
    const known = new Map([...main.querySelectorAll(":scope > .group")].map((one) => [one.dataset.group, one]));
    const wanted = [];
    for (const [group, details] of groups) {
      const made = known.get(group) || element("section", { class: "group", "data-group": group }, element("h2", {}, group));
      place(made, [made.querySelector("h2"), ...details]);
      wanted.push(made);
    }
    if (!wanted.length) wanted.push(element("p", { class: "empty" }, hasData ? "There are no CustomResourceDefinitions." : "Loading the definitions."));
    place(main, wanted);
    show();
  }

  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

  function place(parent, wanted) {
    // elements that stay where they are keep their focus
    const kept = new Set(wanted);
    for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
    wanted.forEach((child, at) => {
      if (parent.children[at] !== child) parent.insertBefore(child, parent.children[at] || null);
    });
  }

  function show() {
    const words = byId("query").value.toLowerCase().split(/\s+/).filter(Boolean);
    const test = FILTERS.find(([key]) => key === filter)[2];
    let shown = 0;
    for (const view of views.values()) {
      const fits = test(view) && words.every((word) => view.words.includes(word));
      view.details.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    for (const group of main.querySelectorAll(":scope > .group")) group.hidden = !group.querySelector("details.crd:not([hidden])");
    for (const button of byId("filters").children) {
      const count = [...views.values()].filter(FILTERS.find(([key]) => key === button.dataset.filter)[2]).length;
      button.querySelector("b").textContent = number.format(count);
      button.setAttribute("aria-pressed", String(button.dataset.filter === filter));
    }
    const text = shown === views.size ? plural(shown, "definition") : `${number.format(shown)} of ${plural(views.size, "definition")}`;
    byId("result").textContent = hasData ? text : "";
    return text;
  }

  // --- news for screen readers ----------------------------------------------------------------------------------------

  const changedNames = new Set();
  function announceChanges(names) {
    names.forEach((name) => changedNames.add(name));
    if (announceChanges.waits || !changedNames.size) return;
    announceChanges.waits = setTimeout(() => {
      announceChanges.waits = 0;
      const text = changedNames.size === 1 ? `${[...changedNames][0]} has changed.` : `${plural(changedNames.size, "definition")} have changed.`;
      changedNames.clear();
      announce(text);
    }, 2000);
  }

  // --- data -------------------------------------------------------------------------------------------------------------

  function connected(state, text) {
    const shown = byId("connection");
    if (shown.textContent === text) return;
    shown.dataset.state = state;
    shown.textContent = text;
  }

  function take(change) {
    if (change.reset) {
      const names = new Set(change.definitions.map((entry) => entry.name));
      for (const name of [...views.keys()]) if (!names.has(name)) remove(name);
    }
    change.removed.forEach(remove);
    const changed = change.definitions.filter(put).map((entry) => entry.name);
    if (hasData) announceChanges([...changed, ...change.removed]);
  }

  function follow() {
    let wait = 1000;
    let pending = null;
    const open = () => {
      const source = new EventSource("versions/events");
      source.addEventListener("map", (event) => {
        const change = JSON.parse(event.data);
        // a whole map may come in several events: what is not in any of them is gone
        if (change.reset || !pending) pending = { reset: change.reset, definitions: [], removed: [] };
        pending.definitions.push(...change.definitions);
        pending.removed.push(...change.removed);
      });
      source.addEventListener("state", () => {
        if (pending) take(pending);
        pending = null;
        hasData = true;
        wait = 1000;
        arrange();
        connected("live", "Live");
      });
      source.addEventListener("open", () => { if (hasData) connected("live", "Live"); });
      source.addEventListener("error", () => {
        pending = null;
        connected("lost", "Connection lost, connecting again");
        if (source.readyState === EventSource.CLOSED) {
          // refused: a browser does not try again by itself
          setTimeout(open, wait);
          wait = Math.min(wait * 2, 30000);
        }
      });
      addEventListener("pagehide", () => source.close(), { once: true });
    };
    open();
  }

  // --- start --------------------------------------------------------------------------------------------------------------

  for (const [key, label] of FILTERS) {
    const button = element("button", { type: "button", "data-filter": key }, `${label} `, element("b", {}, "0"));
    button.addEventListener("click", () => { filter = key; announce(show()); });
    byId("filters").append(button);
  }
  byId("query").addEventListener("input", () => announce(show(), 600));
  byId("query").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && byId("query").value) {
      byId("query").value = "";
      announce(show());
    } else if (event.key === "ArrowDown") {
      step(event, null, 1);
    }
  });
  main.addEventListener("keydown", (event) => {
    if (event.target.tagName !== "SUMMARY") return;
    if (event.key === "ArrowDown") step(event, event.target, 1);
    if (event.key === "ArrowUp") step(event, event.target, -1);
  });
  function step(event, from, way) {
    const all = [...main.querySelectorAll("details.crd:not([hidden]) > summary")];
    const next = all[from ? all.indexOf(from) + way : 0];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  }

  const saved = JSON.parse(byId("data").textContent);
  if (saved) {
    hasData = hasEnded = true;
    take({ reset: true, definitions: saved.definitions, removed: [] });
    connected("saved", `Saved ${saved.saved} from ${saved.source}`);
    arrange();
  } else {
    arrange();
    follow();
  }
})();
