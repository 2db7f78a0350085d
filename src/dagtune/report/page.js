"use strict";
(() => {
  // Names and all other text come from data: they are only ever set as text (append of strings, textContent), and
  // nodes are positions in arrays, never keys of objects.
  const page = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const fill = (element, attributes, children) => {
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "on") for (const [name, act] of Object.entries(value)) element.addEventListener(name, act);
      else if (value !== null && value !== false) element.setAttribute(key, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  };
  const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const bdi = (text) => make("bdi", {}, text);
  const name = (i) => bdi(page.names[i]);
  const arrow = (i, j) => [name(i), " \u2192 ", name(j)];
  const plural = (count, one, many = one + "s") => `${count} ${count === 1 ? one : many}`;
  const number = (value) => {
    if (value === null || value === undefined) return "\u2013";
    if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5)) return value.toExponential(2);
    return String(Number(value.toPrecision(4)));
  };
  const percent = (share) => (share === null ? "\u2013" : `${Math.round(100 * share)}\u00a0%`);

  const d = page.names.length;
  const phases = page.phases.map((phase) => ({ name: phase.name, has: new Set(phase.edges.map(([i, j]) => i * d + j)) }));
  const last = phases.length - 1;
  const has = (k, i, j) => phases[k].has.has(i * d + j);
  const truth = page.truth ? new Set(page.truth.edges.map(([i, j]) => i * d + j)) : null;
  const edgeAt = new Map(page.edges.map((edge, rank) => [edge.cause * d + edge.effect, { ...edge, rank }]));
  const state = { phase: last, mode: "strength", ink: page.edges.length, node: null, edge: null };

  // ------------------------------------------------------------------------------------------ head and summary
  const facts = [`${plural(d, "variable")}, ${plural(page.edges.length, "edge")}`];
  const setting = (key) => (page.settings.find(([k]) => k === key) || [null, null])[1];
  if (setting("rows")) facts.push(`${setting("rows")} rows`);
  if (setting("learner")) facts.push(setting("learner"));
  facts.push(`written ${page.written}`);
  byId("subtitle").textContent = facts.join(" \u00b7 ");
  const failed = page.checks.filter((check) => !check.holds).length;
  const findings = page.audit ? page.audit.findings.length : 0;
  const cards = [
    [d, "variables"],
    [page.edges.length, `edges of ${(d * (d - 1)) / 2} possible`],
    ...(setting("rows") ? [[setting("rows"), "rows"]] : []),
    [page.changes.length, "changes, each with its evidence"],
    ...(page.checks.length ? [[`${page.checks.length - failed} of ${page.checks.length}`, "residual checks hold"]] : []),
    ...(page.audit ? [[findings, findings === 1 ? "finding of the audit" : "findings of the audit"]] : []),
    [page.warnings.length, page.warnings.length === 1 ? "warning" : "warnings"],
  ];
  byId("cards").append(...cards.map(([big, small]) => make("div", { class: "card" }, make("b", {}, String(big)), make("span", {}, small))));
  if (setting("decision")) byId("warnings").append(make("p", { class: "note" }, make("b", {}, "Decided: "), setting("decision")));
  byId("warnings").append(...page.warnings.map((text) => make("p", { class: "note" }, make("b", {}, "Warning: "), text)));

  // ------------------------------------------------------------------------------------------------- the graph
  const stage = byId("stage");
  const half = page.layout.height / 2;
  const [width, height] = page.layout.size;
  const KINDS = ["kept", "came", "went", "decided", "right", "open", "reversed", "extra", "missing", "chosen"];
  stage.append(
    draw("defs", {}, KINDS.map((kind) =>
      draw("marker", { id: `head-${kind}`, viewBox: "0 0 10 8", refX: 9, refY: 4, markerWidth: 10, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" },
        draw("path", { d: "M0 0 L10 4 L0 8 z", class: `head-${kind}` })))),
  );
  const layer = { lines: draw("g"), touch: draw("g"), signs: draw("g"), nodes: draw("g") };
  stage.append(layer.lines, layer.touch, layer.signs, layer.nodes);

  // Between layers a curve that starts and ends upright, through a layer a straight line: pictures.py draws the same.
  const curve = (points) => {
    let [x, y] = points;
    let text = `M${x} ${y}`;
    for (let k = 2; k < points.length; k += 2) {
      const final = k + 2 >= points.length;
      const [x1, y1] = [points[k], points[k + 1]];
      const top = final ? y1 : y1 - half;
      const middle = top <= y ? y + 26 : (y + top) / 2;
      text += `C${x} ${middle} ${x1} ${middle} ${x1} ${top}`;
      if (!final) text += `V${y1 + half}`;
      [x, y] = [x1, y1 + half];
    }
    return text;
  };
  const pairs = page.layout.routes.map(([a, b, points], index) => {
    const shape = curve(points);
    const line = draw("path", { d: shape, class: "line" });
    const touch = draw("path", { d: shape, class: "touch", "data-pair": index });
    layer.lines.append(line);
    layer.touch.append(touch);
    return { a, b, line, touch, shape, index };
  });
  const pairAt = new Map(pairs.flatMap((pair) => [[pair.a * d + pair.b, pair], [pair.b * d + pair.a, pair]]));

  const degree = (k, i, inwards) => page.phases[k].edges.filter(([a, b]) => (inwards ? b : a) === i).length;
  const nodes = page.layout.nodes.map(([x, y, wide], i) => {
    const text = draw("text", { x, y }, page.labels[i]);
    const group = draw("g", { class: "node", role: "button", tabindex: -1, "data-node": i,
      "aria-label": `${page.names[i]}: ${plural(degree(last, i, true), "cause")}, ${plural(degree(last, i, false), "effect")}` },
      draw("title", {}, page.names[i]),
      draw("rect", { x: x - wide / 2, y: y - half, width: wide, height: 2 * half, rx: 6 }), text);
    layer.nodes.append(group);
    return { x, y, wide, group, text };
  });
  if (nodes.length) nodes[page.order[0]].group.setAttribute("tabindex", 0);

  const strengths = page.edges.map((edge) => edge.strength).filter((value) => value !== null);
  const [weakest, strongest] = [Math.min(...strengths), Math.max(...strengths)];
  const share = (value) => (value === null || weakest === strongest ? 0.5 : (value - weakest) / (strongest - weakest));

  // How a pair looks after phase k: its kind, and on which ends it has a head; nothing if it is not there.
  const look = (pair, k, mode) => {
    const { a, b } = pair;
    const [down, up] = [has(k, a, b), has(k, b, a)];
    if (mode === "truth") {
      const [trueDown, trueUp] = [truth.has(a * d + b), truth.has(b * d + a)];
      if (!down && !up) return trueDown || trueUp ? { kind: "missing", down: trueDown, up: trueUp } : null;
      if (!trueDown && !trueUp) return { kind: "extra", down, up };
      if (down && up) return { kind: "open", down, up };
      return { kind: down === trueDown ? "right" : "reversed", down, up };
    }
    if (mode === "changes" && k > 0) {
      const [wasDown, wasUp] = [has(k - 1, a, b), has(k - 1, b, a)];
      if (!down && !up) return wasDown || wasUp ? { kind: "went", down: wasDown, up: wasUp } : null;
      const came = (down && !wasDown) || (up && !wasUp);
      const went = (wasDown && !down) || (wasUp && !up);
      return { kind: came ? "came" : went ? "decided" : "kept", down, up };
    }
    return down || up ? { kind: "kept", down, up } : null;
  };

  const LEGEND = {
    kept: "edge", came: "came in this phase", went: "went in this phase", decided: "one of two directions went",
    right: "right", open: "true, direction still open", reversed: "reversed", extra: "not in the truth", missing: "missing",
  };
  const sample = (kind) => draw("svg", { viewBox: "0 0 46 14", "aria-hidden": "true" },
    draw("path", { d: "M2 7H40", class: `line ${kind}`, "marker-end": `url(#head-${kind})` }));

  const related = (pair) => {
    if (state.node !== null) return pair.a === state.node || pair.b === state.node;
    if (state.edge) return pair === pairAt.get(state.edge[0] * d + state.edge[1]);
    return true;
  };

  // So many changes would paint the stage over: then what stays is in full ink, and what went is faint.
  const MANY = 90;
  const render = () => {
    const many = state.mode === "changes" && pairs.filter((pair) => (look(pair, state.phase, "changes") || { kind: "kept" }).kind !== "kept").length > MANY;
    const counts = new Map();
    const signs = [];
    const above = [];
    const near = new Set(state.edge || []);
    if (state.node !== null) near.add(state.node);
    for (const pair of pairs) {
      const seen = look(pair, state.phase, state.mode);
      pair.line.style.display = pair.touch.style.display = seen ? "" : "none";
      if (!seen) continue;
      counts.set(seen.kind, (counts.get(seen.kind) || 0) + 1);
      const edge = edgeAt.get(pair.a * d + pair.b) || edgeAt.get(pair.b * d + pair.a);
      const mine = related(pair);
      const chosen = state.edge !== null && mine;
      const kind = chosen ? "chosen" : seen.kind;
      const faint = mine && !chosen && state.node === null && ((state.mode === "strength" && state.phase === last && edge && edge.rank >= state.ink)
        || (state.mode === "changes" && seen.kind === "kept" && state.phase > 0 && !many));
      pair.line.setAttribute("class", `line ${seen.kind}${chosen ? " chosen" : ""}${mine ? "" : " dim"}${faint ? " faint" : ""}`);
      pair.line.style.strokeWidth = seen.kind === "kept" && edge && !chosen && state.mode === "strength" ? 0.9 + 2.1 * share(edge.strength) : "";
      pair.line.setAttribute("marker-end", seen.down ? `url(#head-${kind})` : "none");
      pair.line.setAttribute("marker-start", seen.up ? `url(#head-${kind})` : "none");
      const upper = many ? seen.kind !== "went" : seen.kind !== "kept";
      if (chosen || (mine && upper)) above.push(pair.line);
      if (mine && state.node !== null) { near.add(pair.a); near.add(pair.b); }
      if (mine && (seen.kind === "came" || seen.kind === "went")) signs.push([pair, seen]);
    }
    stage.classList.toggle("one-edge", state.edge !== null);
    stage.classList.toggle("many", many);
    layer.lines.append(...above); // over what did not change
    nodes.forEach(({ group }, i) => {
      const busy = state.node !== null || state.edge !== null;
      group.classList.toggle("dim", busy && !near.has(i));
      group.classList.toggle("near", busy && near.has(i));
      group.classList.toggle("chosen", state.node === i);
      group.setAttribute("aria-pressed", String(state.node === i));
    });
    layer.signs.replaceChildren(...(signs.length > 60 ? [] : signs.map(sign)));
    renderLegend(counts);
    byId("ink-label").hidden = page.edges.length < 2 || state.mode !== "strength" || state.phase !== last;
    for (const row of byId("edge-table").tBodies[0].rows) {
      row.classList.toggle("chosen", state.edge !== null && row.dataset.edge === `${state.edge[0]}-${state.edge[1]}`);
    }
  };

  // Plus and minus on lines that came and went, for eyes and printers that see no colour; near the effect, since
  // edges of one cause share their beginning.
  const sign = ([pair, seen]) => {
    const length = pair.line.getTotalLength();
    const at = pair.line.getPointAtLength(seen.down ? Math.max(length * 0.5, length - 26) : Math.min(length * 0.5, 26));
    return draw("g", { class: `sign ${seen.kind}` }, draw("circle", { cx: at.x, cy: at.y, r: 7 }),
      draw("text", { x: at.x, y: at.y }, seen.kind === "came" ? "+" : "\u2212"));
  };

  const renderLegend = (counts) => {
    const entries = KINDS.filter((kind) => counts.has(kind)).map((kind) => {
      const what = kind === "kept" && state.mode === "changes" && state.phase > 0 ? "unchanged" : LEGEND[kind];
      return make("span", {}, sample(kind), `${what}: ${counts.get(kind)}`);
    });
    if (state.mode === "strength" && state.phase === last) entries.push(make("span", {}, "wider is stronger"));
    if (pairs.some((pair) => has(state.phase, pair.a, pair.b) && has(state.phase, pair.b, pair.a))) {
      entries.push(make("span", {}, "two heads: both directions are open"));
    }
    byId("legend").replaceChildren(...entries);
  };

  // ---------------------------------------------------------------------------------------------- zoom and drag
  const view = { x: 0, y: 0, scale: 1, own: false }; // own: somebody moved it
  const room = () => ({ w: stage.clientWidth || 800, h: stage.clientHeight || 500 });
  const MARGIN = 26;
  const applyView = () => {
    const { w, h } = room();
    stage.setAttribute("viewBox", `${view.x} ${view.y} ${w / view.scale} ${h / view.scale}`);
  };
  const centre = (x, y) => {
    const { w, h } = room();
    view.x = x - w / view.scale / 2;
    view.y = y - h / view.scale / 2;
    applyView();
  };
  const fit = () => {
    const { w, h } = room();
    view.own = false;
    view.scale = Math.min(1.4, w / (width + 2 * MARGIN), h / (height + 2 * MARGIN));
    centre(width / 2, height / 2);
  };
  // A graph too tall for one look fills the width at first, from its causes down: the rest is a drag away.
  const firstView = () => {
    fit();
    const wide = room().w / (width + 2 * MARGIN);
    if (view.scale < 0.5 && wide > view.scale) {
      view.scale = Math.min(0.85, wide);
      centre(width / 2, 0);
      view.y = -MARGIN;
      applyView();
    }
  };
  const zoom = (factor, px, py) => {
    const { w, h } = room();
    const [cx, cy] = [px === undefined ? w / 2 : px, py === undefined ? h / 2 : py];
    const scale = Math.min(4, Math.max(0.08, view.scale * factor));
    view.x += cx / view.scale - cx / scale;
    view.y += cy / view.scale - cy / scale;
    view.scale = scale;
    view.own = true;
    applyView();
  };
  const show = (i) => {
    if (view.scale < 0.75) view.scale = 0.9;
    view.own = true;
    centre(nodes[i].x, nodes[i].y);
  };
  const within = (i) => {
    const { w, h } = room();
    const [x, y] = [(nodes[i].x - view.x) * view.scale, (nodes[i].y - view.y) * view.scale];
    return x > 30 && y > 20 && x < w - 30 && y < h - 20;
  };
  const pointers = new Map();
  let moved = 0;
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    moved = 0;
  });
  stage.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    const before = [...pointers.values()].map((point) => [...point]);
    const [x, y] = pointers.get(event.pointerId);
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    moved += Math.abs(event.clientX - x) + Math.abs(event.clientY - y);
    if (moved > 5 && !stage.classList.contains("moving")) {
      stage.classList.add("moving");
      stage.setPointerCapture(event.pointerId);
    }
    if (pointers.size === 2) {
      const after = [...pointers.values()];
      const gap = (points) => Math.hypot(points[0][0] - points[1][0], points[0][1] - points[1][1]) || 1;
      const box = stage.getBoundingClientRect();
      zoom(gap(after) / gap(before), (after[0][0] + after[1][0]) / 2 - box.left, (after[0][1] + after[1][1]) / 2 - box.top);
    } else if (moved > 5) {
      view.x -= (event.clientX - x) / view.scale;
      view.y -= (event.clientY - y) / view.scale;
      view.own = true;
      applyView();
    }
  });
  const release = (event) => {
    pointers.delete(event.pointerId);
    if (!pointers.size) stage.classList.remove("moving");
  };
  stage.addEventListener("pointerup", release);
  stage.addEventListener("pointercancel", release);
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !stage.contains(document.activeElement)) return; // the page scrolls
    event.preventDefault();
    const box = stage.getBoundingClientRect();
    zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) * 0.008), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  byId("zoom-in").addEventListener("click", () => zoom(1.3));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.3));
  byId("fit").addEventListener("click", fit);
  const large = (on) => {
    byId("graph-box").classList.toggle("large", on);
    byId("large").setAttribute("aria-pressed", String(on));
  };
  byId("large").addEventListener("click", () => large(byId("large").getAttribute("aria-pressed") !== "true"));
  new ResizeObserver(() => (view.own ? applyView() : firstView())).observe(stage);

  // ---------------------------------------------------------------------------------------- choosing, the panel
  const panel = byId("panel");
  const button = (content, act, attributes = {}) => make("button", { type: "button", ...attributes, on: { click: act } }, content);
  const edgeButton = (i, j, content) => button(content || arrow(i, j), () => chooseEdge(i, j, true), { class: "link" });
  const list = (entries) => make("ul", {}, entries.map((entry) => make("li", {}, entry)));
  const pairsOf = (rows) => make("dl", {}, rows.filter((row) => row).flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, value)]));
  const measured = ([what, child, parents, value]) => {
    const text = page.measures[what];
    const joined = parents.flatMap((parent, k) => (k ? [text.startsWith("joint") ? ", " : " + ", name(parent)] : [name(parent)]));
    return [`${text}(`, name(child), ", ", ...joined, `) = ${value}`];
  };
  const VERBS = { add: "added", require: "required, so put in", forbid: "forbidden, so taken out", delete: "deleted", remove: "removed" };
  const told = ([phase, action, i, j, rule, numbers, cycle], short) => [
    short ? edgeButton(i, j) : make("b", {}, phases[phase].name, ": "), ` ${VERBS[action] || action}`,
    ...(short ? [] : [" ", ...arrow(i, j)]),
    ...(cycle.length ? [" from the cycle ", ...cycle.flatMap((node, k) => (k ? [" \u2192 ", name(node)] : [name(node)]))] : []),
    `: ${page.rules[rule]}`, ...(numbers.length ? [" (", ...numbers.flatMap((one, k) => [...(k ? ["; "] : []), ...measured(one)]), ")"] : []),
  ];
  const note = () => (state.phase === last ? "" : ` after ${phases[state.phase].name}`);

  const bars = (column) => {
    const most = Math.max(...column.bars, 1);
    return draw("svg", { class: "bars", viewBox: `0 0 ${column.bars.length} 40`, preserveAspectRatio: "none", role: "img",
      "aria-label": `Distribution from ${number(column.least)} to ${number(column.most)}` },
      column.bars.map((count, k) => draw("rect", { x: k + 0.06, width: 0.88, y: 40 - (39 * count) / most, height: (39 * count) / most })));
  };

  const nodePanel = (i) => {
    const ins = page.phases[state.phase].edges.filter((edge) => edge[1] === i).map((edge) => edge[0]);
    const outs = page.phases[state.phase].edges.filter((edge) => edge[0] === i).map((edge) => edge[1]);
    const entry = (a, b, other) => {
      const edge = edgeAt.get(a * d + b);
      return [edgeButton(a, b, name(other)), edge && edge.strength !== null ? ` ${number(edge.strength)}` : ""];
    };
    const column = page.columns ? page.columns[i] : null;
    return [
      make("h3", {}, name(i)),
      ...(column ? [bars(column), pairsOf([["range", `${number(column.least)} to ${number(column.most)}`], ["mean, spread", `${number(column.mean)}, ${number(column.spread)}`],
        ["distinct", String(column.distinct)], column.missing ? ["missing", String(column.missing)] : null])] : []),
      make("h4", {}, `${plural(ins.length, "cause")}${note()}`), ins.length ? list(ins.map((j) => entry(j, i, j))) : make("p", { class: "quiet" }, "none"),
      make("h4", {}, `${plural(outs.length, "effect")}${note()}`), outs.length ? list(outs.map((j) => entry(i, j, j))) : make("p", { class: "quiet" }, "none"),
    ];
  };

  const TRUTH = { right: "right: it is in the truth", reversed: "reversed: the truth has it the other way round", extra: "not in the truth" };
  const edgePanel = (i, j) => {
    const edge = edgeAt.get(i * d + j);
    const story = page.changes.filter((change) => (change[2] === i && change[3] === j) || (change[2] === j && change[3] === i));
    const back = has(state.phase, j, i) || edgeAt.has(j * d + i) || (truth && truth.has(j * d + i));
    return [
      make("h3", {}, arrow(i, j)),
      pairsOf([
        ["in the graph", edge ? "yes" : "no"],
        edge ? ["strength", `${number(edge.strength)} (number ${edge.rank + 1} of ${page.edges.length})`] : null,
        edge && edge.confidence !== null ? ["confidence", `${percent(edge.confidence)} of ${page.resamples} resamples`] : null,
        edge && edge.probability !== null ? ["probability", percent(edge.probability)] : null,
        truth ? ["truth", edge ? TRUTH[edge.truth] : truth.has(i * d + j) ? "missing: the truth has it" : "not in the truth either"] : null,
        page.opening.values[i][j] !== null ? ["first phase", `${page.opening.words} ${number(page.opening.values[i][j])}`] : null,
        ["after each phase", phases.map((phase, k) => `${phase.name} ${has(k, i, j) ? "yes" : "no"}`).join(", ")],
      ]),
      make("h4", {}, edge ? "Why it is there" : "Why it is not there"),
      make("p", {}, edge ? edge.why : has(0, i, j) || story.length ? "See its changes below." : `The ${phases[0].name} phase did not keep it, and no later rule added it.`),
      ...(story.length ? [make("h4", {}, "Changes of this pair"), list(story.map((change) => told(change, false)))] : []),
      ...(back ? [make("p", {}, button(["See ", ...arrow(j, i)], () => chooseEdge(j, i, false)))] : []),
    ];
  };

  const severalPanel = (choices) => [
    make("h3", {}, `${choices.length} edges run together here`),
    make("p", { class: "quiet" }, "Edges of one cause share a line as far as they go together. Which one?"),
    list(choices.map(([i, j]) => edgeButton(i, j))),
  ];
  const fillPanel = (content) => {
    panel.classList.toggle("filled", content !== null);
    panel.replaceChildren(...(content || [make("h3", {}, "Details"), make("p", { class: "quiet" }, "Click a variable or an edge, or find one by name. "),
      make("p", { class: "quiet" }, page.strengthWords)]).flat());
    panel.scrollTop = 0;
  };
  const refresh = () => {
    render();
    fillPanel(state.node !== null ? nodePanel(state.node) : state.edge ? edgePanel(...state.edge) : null);
  };
  const chooseNode = (i) => {
    [state.node, state.edge] = [state.node === i ? null : i, null];
    refresh();
  };
  const chooseEdge = (i, j, travel) => {
    [state.node, state.edge] = [null, [i, j]];
    refresh();
    if (!travel) return;
    if (!within(i) || !within(j)) {
      if (view.scale < 0.5) view.scale = 0.7;
      centre((nodes[i].x + nodes[j].x) / 2, (nodes[i].y + nodes[j].y) / 2);
    }
    panel.focus({ preventScroll: true });
    byId("graph").scrollIntoView({ block: "start" });
  };
  const clear = () => {
    [state.node, state.edge] = [null, null];
    refresh();
  };
  byId("clear").addEventListener("click", clear);

  stage.addEventListener("click", (event) => {
    if (moved > 5) { // the end of a drag; the next click may come without a pointer
      moved = 0;
      return;
    }
    const group = event.target.closest("[data-node]");
    if (group) {
      focusNode(Number(group.dataset.node));
      return chooseNode(Number(group.dataset.node));
    }
    const under = document.elementsFromPoint(event.clientX, event.clientY).filter((element) => element.dataset && element.dataset.pair);
    const choices = under.flatMap((element) => {
      const { a, b } = pairs[Number(element.dataset.pair)];
      const seen = look(pairs[Number(element.dataset.pair)], state.phase, state.mode);
      return [...(seen.down ? [[a, b]] : []), ...(seen.up ? [[b, a]] : [])];
    });
    if (!choices.length) return clear();
    const same = choices.length === 2 && choices[0][0] === choices[1][1] && choices[0][1] === choices[1][0];
    if (choices.length === 1 || same) return chooseEdge(...choices[0], false);
    [state.node, state.edge] = [null, null];
    render();
    fillPanel(severalPanel(choices));
  });
  stage.addEventListener("pointerover", (event) => {
    const index = event.target.dataset && event.target.dataset.pair;
    if (index !== undefined) pairs[Number(index)].line.classList.add("over");
  });
  stage.addEventListener("pointerout", (event) => {
    const index = event.target.dataset && event.target.dataset.pair;
    if (index !== undefined) pairs[Number(index)].line.classList.remove("over");
  });

  // Arrow keys go to the nearest variable in that direction, one tab stop for all.
  const focusNode = (i) => {
    for (const { group } of nodes) group.setAttribute("tabindex", -1);
    nodes[i].group.setAttribute("tabindex", 0);
    nodes[i].group.focus({ preventScroll: true });
  };
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const neighbour = (i, [dx, dy]) => {
    let [best, least] = [i, Infinity];
    nodes.forEach(({ x, y }, j) => {
      const along = (x - nodes[i].x) * dx + (y - nodes[i].y) * dy;
      const aside = Math.abs((x - nodes[i].x) * dy) + Math.abs((y - nodes[i].y) * dx);
      if (along > 1 && along + 3 * aside < least) [best, least] = [j, along + 3 * aside];
    });
    return best;
  };
  stage.addEventListener("keydown", (event) => {
    const group = event.target.closest("[data-node]");
    if (!group || event.ctrlKey || event.metaKey || event.altKey) return;
    const i = Number(group.dataset.node);
    const acts = { Enter: () => chooseNode(i), " ": () => chooseNode(i), "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: fit };
    if (Object.hasOwn(STEPS, event.key)) {
      const next = neighbour(i, STEPS[event.key]);
      focusNode(next);
      if (!within(next)) centre(nodes[next].x, nodes[next].y);
    } else if (Object.hasOwn(acts, event.key)) acts[event.key]();
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      large(false);
      byId("search").value = "";
      seek();
      clear();
    }
  });

  // ----------------------------------------------------------------------------------------------------- search
  let hits = [];
  let turn = 0;
  const seek = () => {
    const text = byId("search").value.trim().toLowerCase();
    hits = text ? page.order.filter((i) => page.names[i].toLowerCase().includes(text)) : [];
    turn = 0;
    nodes.forEach(({ group }, i) => group.classList.toggle("hit", hits.includes(i)));
    byId("found").textContent = text ? (hits.length ? `${hits.length} of ${d}` : "none") : "";
  };
  byId("search").addEventListener("input", seek);
  byId("search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !hits.length) return;
    const i = hits[turn % hits.length];
    turn += 1;
    state.node = null;
    show(i);
    chooseNode(i);
  });

  // ----------------------------------------------------------------------------------------------- modes, phases
  const mode = byId("mode");
  mode.append(make("option", { value: "strength" }, "the edges by strength"));
  if (last > 0) mode.append(make("option", { value: "changes" }, "what the phase changed"));
  if (truth) mode.append(make("option", { value: "truth" }, "right and wrong"));
  mode.addEventListener("change", () => {
    state.mode = mode.value;
    phaseWords();
    refresh();
  });
  const ink = byId("ink");
  const inkWords = () => { byId("ink-out").textContent = `strongest ${state.ink} of ${page.edges.length}`; };
  ink.max = Math.max(1, page.edges.length);
  state.ink = page.edges.length > 3 * d ? 2 * d : page.edges.length;
  ink.value = state.ink;
  inkWords();
  ink.addEventListener("input", () => {
    state.ink = Number(ink.value);
    inkWords();
    render();
  });

  const slider = byId("phase");
  slider.max = last;
  slider.value = last;
  byId("phase-box").hidden = last < 1;
  const phaseButtons = phases.map((phase, k) => button([phase.name], () => goTo(k)));
  byId("phase-names").append(...phaseButtons);
  const changesOf = (k) => page.changes.filter((change) => change[0] === k);
  const phaseSentence = (k) => {
    const size = plural(phases[k].has.size, "edge");
    if (k === 0) return `${phases[k].name}, the first phase: ${size}.`;
    const came = [...phases[k].has].filter((edge) => !phases[k - 1].has.has(edge)).length;
    const went = [...phases[k - 1].has].filter((edge) => !phases[k].has.has(edge)).length;
    return `${phases[k].name}: ${size}; ${came} came, ${went} went.`;
  };
  const LONG = 150;
  const phaseWords = () => {
    byId("phase-words").textContent = phaseSentence(state.phase);
    slider.setAttribute("aria-valuetext", phaseSentence(state.phase));
    phaseButtons.forEach((one, k) => (k === state.phase ? one.setAttribute("aria-current", "step") : one.removeAttribute("aria-current")));
    const changes = changesOf(state.phase);
    const box = byId("phase-changes");
    box.hidden = !changes.length;
    box.querySelector("summary").textContent = plural(changes.length, "change") + " of this phase, with the numbers compared";
    if (box.open) fillChanges();
  };
  const fillChanges = () => {
    const changes = changesOf(state.phase);
    const some = changes.slice(0, LONG);
    byId("phase-changes").querySelector("div").replaceChildren(list(some.map((change) => told(change, true))),
      ...(changes.length > LONG ? [make("p", { class: "quiet" }, `and ${changes.length - LONG} more: click their edges, or read result.json`)] : []));
  };
  byId("phase-changes").addEventListener("toggle", () => byId("phase-changes").open && fillChanges());
  const goTo = (k) => {
    state.phase = k;
    slider.value = k;
    if (state.mode === "strength" && last > 0) state.mode = mode.value = "changes";
    phaseWords();
    refresh();
  };
  slider.addEventListener("input", () => goTo(Number(slider.value)));

  // ------------------------------------------------------------------------------------- phases side by side
  if (last > 0 && pairs.length <= 400) { // denser ones are grey at this size: the slider shows them
    byId("phases").hidden = false;
    byId("thumb-words").textContent = truth ? "The graph after each phase, right and wrong." : "The graph after each phase, and what the phase changed.";
    byId("thumbs").append(...phases.map((phase, k) => {
      const picture = draw("svg", { viewBox: `${-MARGIN} ${-MARGIN} ${width + 2 * MARGIN} ${height + 2 * MARGIN}`, role: "img", "aria-label": phaseSentence(k) });
      for (const pair of pairs) {
        const seen = look(pair, k, truth ? "truth" : "changes");
        if (!seen) continue;
        picture.append(draw("path", { d: pair.shape, class: `line ${seen.kind}${!truth && seen.kind === "kept" && k > 0 ? " faint" : ""}`,
          "marker-end": seen.down ? `url(#head-${seen.kind})` : null, "marker-start": seen.up ? `url(#head-${seen.kind})` : null }));
      }
      nodes.forEach(({ x, y, wide }, i) => picture.append(draw("g", { class: "node" },
        draw("rect", { x: x - wide / 2, y: y - half, width: wide, height: 2 * half, rx: 6 }), draw("text", { x, y }, page.labels[i]))));
      return make("figure", {}, make("figcaption", {}, button([phase.name], () => { goTo(k); byId("graph").scrollIntoView(); }, { class: "link" }),
        phaseSentence(k).slice(phase.name.length)), picture);
    }));
    const kinds = truth ? ["right", "open", "reversed", "extra", "missing"] : ["kept", "came", "went", "decided"];
    byId("thumbs").before(make("div", { class: "legend" }, kinds.map((kind) => make("span", {}, sample(kind), LEGEND[kind]))));
  }

  // ------------------------------------------------------------------------------------------------- the table
  const known = (key) => page.edges.some((edge) => edge[key] !== null);
  const COLUMNS = [
    { key: "cause", label: "Cause", text: true }, { key: "effect", label: "Effect", text: true }, { key: "strength", label: "Strength" },
    ...(known("confidence") ? [{ key: "confidence", label: "Confidence" }] : []), ...(known("probability") ? [{ key: "probability", label: "Probability" }] : []),
    ...(truth ? [{ key: "truth", label: "Truth", text: true }] : []), { key: "came", label: "Since phase", text: true },
  ];
  const sorting = { key: "strength", down: true };
  const PAGE = 200;
  let rowsShown = PAGE;
  const sureKey = known("confidence") ? "confidence" : known("probability") ? "probability" : null;
  const textOf = (edge, key) => (key === "cause" || key === "effect" ? page.names[edge[key]] : edge[key]);
  const compare = (a, b) => {
    const [x, y] = [textOf(a, sorting.key), textOf(b, sorting.key)];
    if (x === null || y === null) return (x === null) - (y === null); // unknown goes last either way
    const order = typeof x === "string" ? x.localeCompare(y, undefined, { numeric: true }) : x - y;
    return sorting.down ? -order : order;
  };
  const header = make("tr", {}, COLUMNS.map(({ key, label, text }) => make("th", { scope: "col", class: text ? "" : "number", "data-key": key },
    button([label, make("span", { "aria-hidden": "true" }, " \u2195")], () => {
      sorting.down = sorting.key === key ? !sorting.down : !text;
      sorting.key = key;
      fillTable();
    }))));
  byId("edge-table").tHead.append(header);
  const least = (id) => Number(byId(id).value) / 100;
  const strengthFloor = () => weakest + least("filter-strength") * (strongest - weakest);
  const fillTable = () => {
    for (const cell of header.cells) {
      const mine = cell.dataset.key === sorting.key;
      cell.setAttribute("aria-sort", mine ? (sorting.down ? "descending" : "ascending") : "none");
      cell.querySelector("span").textContent = mine ? (sorting.down ? " \u2193" : " \u2191") : " \u2195";
    }
    byId("filter-strength-out").textContent = strengths.length ? number(strengthFloor()) : "";
    byId("filter-confidence-out").textContent = percent(least("filter-confidence"));
    const text = byId("filter-text").value.trim().toLowerCase();
    const passing = page.edges.filter((edge) =>
      (!text || [page.names[edge.cause], page.names[edge.effect], `${page.names[edge.cause]} \u2192 ${page.names[edge.effect]}`, edge.came, edge.truth || ""].some((one) => one.toLowerCase().includes(text)))
      && (least("filter-strength") === 0 || (edge.strength !== null && edge.strength >= strengthFloor() - 1e-12 * Math.abs(strengthFloor())))
      && (!sureKey || least("filter-confidence") === 0 || (edge[sureKey] !== null && edge[sureKey] >= least("filter-confidence"))));
    passing.sort(compare);
    byId("edge-table").tBodies[0].replaceChildren(...passing.slice(0, rowsShown).map(tableRow));
    byId("edges-count").textContent = `${passing.length} of ${plural(page.edges.length, "edge")}`;
    const more = byId("more-edges");
    more.hidden = passing.length <= rowsShown;
    more.textContent = `Show all ${passing.length} rows`;
  };
  const tableRow = (edge) => make("tr", { "data-edge": `${edge.cause}-${edge.effect}` }, COLUMNS.map(({ key, text }) => {
    if (key === "cause") return make("td", {}, edgeButton(edge.cause, edge.effect, name(edge.cause)));
    if (key === "effect") return make("td", {}, "\u2192 ", name(edge.effect));
    if (key === "strength") return make("td", { class: "number" }, meter(share(edge.strength)), number(edge.strength));
    if (!text) return make("td", { class: "number" }, meter(edge[key] || 0), percent(edge[key]));
    if (key === "truth") return make("td", {}, make("span", { class: `tag ${edge.truth === "right" ? "good" : "bad"}` }, edge.truth));
    return make("td", {}, edge[key]);
  }));
  const meter = (part) => {
    const inner = make("i");
    inner.style.width = `${Math.round(100 * Math.max(0, Math.min(1, part)))}%`;
    return make("span", { class: "meter", "aria-hidden": "true" }, inner);
  };
  for (const id of ["filter-text", "filter-strength", "filter-confidence"]) byId(id).addEventListener("input", fillTable);
  byId("more-edges").addEventListener("click", () => { rowsShown = Infinity; fillTable(); });
  byId("filter-confidence-label").hidden = !sureKey;
  byId("filter-strength-label").hidden = !strengths.length || weakest === strongest;
  byId("edges-words").textContent = [page.strengthWords, known("confidence") ? `confidence: share of ${page.resamples} resamples with this edge, which says how stable it is, not how right` : "",
    known("probability") ? `probability: ${page.probabilityWords || "given by the learner"}` : ""].filter(Boolean).join("; ") + ".";

  // ------------------------------------------------------------------------------------------------- plain tables
  const plainTable = (head, rows, numeric, style = "") => make("table", { class: style }, make("thead", {}, make("tr", {}, head.map((one, k) => make("th", { scope: "col", class: numeric(k) ? "number" : "" }, one)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell, k) => (k === 0 ? make("th", { scope: "row" }, cell) : make("td", { class: numeric(k) ? "number" : "" }, cell)))))));
  if (truth) {
    byId("truth").hidden = false;
    const count = (kind) => page.edges.filter((edge) => edge.truth === kind).length;
    byId("truth-words").textContent = `Of ${plural(truth.size, "true edge")}, ${count("right")} are found, ${count("reversed")} reversed and `
      + `${truth.size - count("right") - count("reversed")} missing; ${plural(count("extra"), "edge")} of the graph ${count("extra") === 1 ? "is" : "are"} not in the truth.`;
    const keys = Object.keys(page.truth.scores[0]).filter((key) => key !== "name");
    byId("truth-table").append(plainTable(["graph", ...keys], page.truth.scores.map((row) => [row.name, ...keys.map((key) =>
      (row[key] === null ? "\u2013" : ["edges", "SID", "SHD"].includes(key) ? String(Math.round(10 * row[key]) / 10) : row[key].toFixed(2)))]), (k) => k > 0));
  }
  const tag = (good, words) => make("span", { class: `tag ${good ? "good" : "bad"}` }, words);
  const commas = (names) => names.flatMap((one, k) => (k ? [", ", bdi(one)] : [bdi(one)]));
  byId("checks-body").append(page.checks.length
    ? make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Residual checks" }, plainTable(["residuals of", "against", "statistic", "p-value", "", "in words"],
      [...page.checks].sort((a, b) => a.holds - b.holds).map((check) => [bdi(check.child), make("span", {}, ...commas(check.against)), number(check.statistic), number(check.p),
        tag(check.holds, check.holds ? "\u2713 holds" : "\u2717 does not hold"), check.words]), (k) => k === 2 || k === 3, "worded"))
    : make("p", { class: "quiet" }, "No residual checks were made for this graph: nothing here says that the fitted model holds."));
  byId("audit-body").append(...(!page.audit ? [make("p", { class: "quiet" }, "The data were not audited.")]
    : [make("p", {}, `${page.audit.rows} rows: ${findings ? plural(findings, "finding") + "." : "nothing found that speaks against learning from this table."}`),
      ...(findings ? [make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Findings" }, plainTable(["code", "severity", "columns", "finding", "cure"],
        page.audit.findings.map((one) => [one.code, one.severity, make("span", {}, ...commas(one.columns)), one.message, one.cure]), () => false, "worded"))] : [])]));
  byId("assumption-list").append(...page.assumptions.map((text) => make("li", {}, text)));
  byId("assumptions").hidden = !page.assumptions.length;
  const keyValues = (rows) => rows.map(([key, value]) => make("tr", {}, make("th", { scope: "row" }, key), make("td", {}, value)));
  byId("settings").append(make("tbody", {}, keyValues(page.settings)));
  byId("versions").append(make("tbody", {}, keyValues(page.versions)));

  // ---------------------------------------------------------------------------------------------------- to copy
  const copy = async (text, shown, said) => {
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch { // no clipboard for pages from disk in some browsers: the old way needs a selection
      const range = document.createRange();
      range.selectNodeContents(shown);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      try { done = document.execCommand("copy"); } catch { done = false; }
    }
    said.textContent = done ? "copied" : "selected: press Ctrl + C";
  };
  const code = (title, text) => {
    const shown = make("code", {}, text);
    const said = make("span", { role: "status", class: "quiet" });
    return make("div", { class: "code" }, make("header", {}, make("h3", {}, title), button(["Copy"], () => copy(text, shown, said), { class: "copy", "aria-label": `Copy: ${title}` }), said),
      make("pre", { tabindex: 0 }, shown));
  };
  byId("codes").append(...[["The command that made this page", page.command], ["The learner again, in Python", page.rerun], ["The graph in Python", page.python], ["The graph in DOT", page.dot]]
    .filter(([, text]) => text).map(([title, text]) => code(title, text)));

  // --------------------------------------------------------------------------------------------------- heat map
  const heat = page.heat;
  let cursor = null;
  const canvas = byId("heat-map");
  const cssColour = (variable) => {
    const probe = make("span");
    probe.style.color = `var(${variable})`;
    document.body.append(probe);
    const parts = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
    probe.remove();
    return parts;
  };
  const mix = (low, high, part) => low.slice(0, 3).map((one, k) => Math.round(one + (high[k] - one) * part));
  const box = { cell: 20, left: 60, top: 60 };
  const heatRange = () => {
    const values = page.order.flatMap((i) => page.order.filter((j) => j !== i).map((j) => heat.values[i][j])).filter((value) => value !== null);
    return [Math.min(...values, 0), Math.max(...values)];
  };
  const drawHeat = () => {
    const context = canvas.getContext("2d");
    const room = Math.max(280, canvas.parentElement.clientWidth);
    const ratio = Math.max(2, window.devicePixelRatio || 1);
    const font = (size) => `${size}px -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif`;
    context.font = font(13);
    const longest = Math.max(...page.labels.map((label) => context.measureText(label).width));
    box.left = box.top = Math.ceil(longest) + 14;
    box.cell = Math.max(9, Math.min(46, Math.floor((Math.min(room, 980) - box.left - 4) / d)));
    const side = box.left + d * box.cell + 2;
    canvas.width = canvas.height = Math.round(side * ratio);
    canvas.style.width = canvas.style.height = `${side}px`;
    context.scale(ratio, ratio);
    const [ink, low, high, mark] = ["--ink", "--heat-low", "--heat-high", "--accent"].map(cssColour);
    const [bottom, top] = heatRange();
    context.font = font(Math.min(13, Math.max(8, box.cell - 1)));
    context.textBaseline = "middle";
    page.order.forEach((i, row) => {
      const middle = box.top + (row + 0.5) * box.cell;
      context.fillStyle = `rgb(${ink.slice(0, 3)})`;
      context.textAlign = "right";
      context.fillText(page.labels[i], box.left - 6, middle);
      context.save();
      context.translate(box.left + (row + 0.5) * box.cell, box.top - 6);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(page.labels[i], 0, 0);
      context.restore();
    });
    page.order.forEach((i, row) => page.order.forEach((j, column) => {
      const value = heat.values[i][j];
      const [x, y] = [box.left + column * box.cell, box.top + row * box.cell];
      if (i === j || value === null) {
        context.strokeStyle = `rgba(${ink.slice(0, 3)}, 0.35)`;
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(x + box.cell, y + box.cell);
        context.stroke();
        return;
      }
      const part = top > bottom ? (value - bottom) / (top - bottom) : 0;
      const colour = mix(low, high, part);
      context.fillStyle = `rgb(${colour})`;
      context.fillRect(x, y, box.cell - 1, box.cell - 1);
      const bright = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] > 140;
      context.fillStyle = bright ? "#000" : "#fff";
      if (edgeAt.has(i * d + j)) { // the edges of the graph, row causes column
        context.beginPath();
        context.arc(x + box.cell * (box.cell > 33 ? 0.85 : 0.5), y + box.cell * (box.cell > 33 ? 0.17 : 0.5), Math.max(1.6, Math.min(3.4, box.cell / 7)), 0, 7);
        context.fill();
      }
      if (box.cell > 33) {
        context.save();
        context.font = font(10.5);
        context.textAlign = "center";
        context.fillText(value === 0 ? "0" : Math.abs(value) < 1e-4 ? value.toExponential(0) : String(Number(value.toPrecision(2))), x + box.cell / 2, y + box.cell * 0.58);
        context.restore();
      }
    }));
    if (cursor) {
      context.strokeStyle = `rgb(${mark.slice(0, 3)})`;
      context.lineWidth = 3;
      context.strokeRect(box.left + cursor[1] * box.cell - 0.5, box.top + cursor[0] * box.cell - 0.5, box.cell, box.cell);
    }
  };
  const readHeat = (row, column) => {
    cursor = [Math.max(0, Math.min(d - 1, row)), Math.max(0, Math.min(d - 1, column))];
    const [i, j] = cursor.map((k) => page.order[k]);
    const edge = edgeAt.has(i * d + j) ? [" \u00b7 ", ...arrow(i, j), " is an edge"] : edgeAt.has(j * d + i) ? [" \u00b7 ", ...arrow(j, i), " is an edge"] : [" \u00b7 no edge"];
    byId("heat-read").replaceChildren(name(i), " and ", name(j), `: ${number(heat.values[i][j])}`, ...(i === j ? [" \u00b7 a variable with itself"] : edge));
    drawHeat();
  };
  if (heat) {
    byId("heat").hidden = false;
    byId("heat-words").textContent = `${heat.what}. Causes first, by the learned order; a dot marks an edge of the graph, row causes column. ${heat.notes.join(" ")}`;
    canvas.addEventListener("pointermove", (event) => {
      const at = canvas.getBoundingClientRect();
      const [row, column] = [Math.floor((event.clientY - at.top - box.top) / box.cell), Math.floor((event.clientX - at.left - box.left) / box.cell)];
      if (row >= 0 && column >= 0 && row < d && column < d && (!cursor || cursor[0] !== row || cursor[1] !== column)) readHeat(row, column);
    });
    canvas.addEventListener("keydown", (event) => {
      if (!Object.hasOwn(STEPS, event.key)) return;
      event.preventDefault();
      const [dx, dy] = STEPS[event.key];
      if (cursor) readHeat(cursor[0] + dy, cursor[1] + dx);
      else readHeat(0, Math.min(1, d - 1));
    });
    canvas.addEventListener("focus", () => cursor || readHeat(0, Math.min(1, d - 1)));
    byId("heat-details").addEventListener("toggle", () => {
      const body = byId("heat-details").querySelector("div");
      if (byId("heat-details").open && !body.firstChild) {
        body.append(plainTable(["", ...page.order.map(name)], page.order.map((i) => [name(i), ...page.order.map((j) => number(heat.values[i][j]))]), (k) => k > 0));
      }
    });
    new ResizeObserver(drawHeat).observe(canvas.parentElement);
  }

  // ------------------------------------------------------------------------------------------- theme, print, start
  const root = document.documentElement;
  const THEMES = ["auto", "light", "dark"];
  byId("theme").addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(root.dataset.theme || "auto") + 1) % THEMES.length];
    if (next === "auto") delete root.dataset.theme; else root.dataset.theme = next;
    byId("theme").textContent = `Theme: ${next}`;
    if (heat) drawHeat();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => heat && drawHeat());
  let before = null;
  addEventListener("beforeprint", () => {
    before = [root.dataset.theme, rowsShown];
    root.dataset.theme = "light";
    rowsShown = Infinity;
    fillTable();
    if (heat) drawHeat();
    stage.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${width + 2 * MARGIN} ${height + 2 * MARGIN}`);
  });
  addEventListener("afterprint", () => {
    if (before[0] === undefined) delete root.dataset.theme; else root.dataset.theme = before[0];
    rowsShown = before[1];
    fillTable();
    if (heat) drawHeat();
    applyView();
  });
  byId("nav").append(...[...document.querySelectorAll("main > section:not([hidden]) > h2")].map((head) => make("a", { href: `#${head.parentElement.id}` }, head.textContent)));
  byId("foot").textContent = "Made by dagtune. This page loads nothing and sends nothing.";
  byId("main").hidden = false;
  fillTable();
  phaseWords();
  refresh();
  firstView();
  for (const node of nodes) { // a font wider than expected must not leave its box
    if (node.text.getComputedTextLength() > node.wide - 10) {
      node.text.setAttribute("textLength", node.wide - 10);
      node.text.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
  }
})();
