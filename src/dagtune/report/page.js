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
  const state = { phase: last, mode: "strength", ink: page.edges.length, node: null, edge: null, depth: 0 };
  const openPairs = new Set(page.undecided.flatMap(([i, j]) => [i * d + j, j * d + i]));
  const likely = page.likely;

  // ------------------------------------------------------------------- what the sample of graphs says, given answers
  // assumed: pair (i * d + j, i < j) -> "down" (i -> j), "up" (j -> i) or "none". Graphs are stored as what differs.
  const assumed = new Map();
  let given = null;
  const sampled = page.sample.map(([count, differs]) => ({ count, differs: new Set(differs) }));
  const inGraph = (one, i, j) => has(last, i, j) !== one.differs.has(i * d + j);
  const agrees = (one) => [...assumed].every(([key, answer]) => {
    const [i, j] = [Math.floor(key / d), key % d];
    return inGraph(one, i, j) === (answer === "down") && inGraph(one, j, i) === (answer === "up");
  });
  const condition = () => {
    given = null;
    if (!assumed.size) return;
    const left = sampled.filter(agrees);
    const count = left.reduce((sum, one) => sum + one.count, 0);
    const share = new Map();
    if (count) {
      const touched = new Set(left.flatMap((one) => [...one.differs]));
      for (const edge of [...phases[last].has, ...touched]) {
        share.set(edge, left.reduce((sum, one) => sum + (phases[last].has.has(edge) !== one.differs.has(edge) ? one.count : 0), 0) / count);
      }
    }
    given = { count, share, of: (i, j) => share.get(i * d + j) || 0 };
  };
  // The graph of the sample that is left: joined pairs in their likelier direction.
  const chosenBy = (i, j) => {
    const [forth, back] = [given.of(i, j), given.of(j, i)];
    const joined = forth + back > Math.min(page.least, 1 - 1e-9) || forth + back === 1;
    return { down: joined && forth >= back, up: joined && back > forth, unsure: joined && forth + back >= 0.9 && Math.max(forth, back) < 0.9 * (forth + back) };
  };

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
  // Results that version 0.1 saved have one.
  if (setting("decision")) byId("warnings").append(make("p", { class: "note" }, make("b", {}, "Decided: "), setting("decision")));
  byId("warnings").append(...page.warnings.map((text) => make("p", { class: "note" }, make("b", {}, "Warning: "), text)));

  if (page.verdict) {
    byId("verdict").hidden = false;
    byId("verdict-headline").textContent = page.verdict.headline;
    byId("verdict-lists").append(...[["believe", "Believe"], ["doubt", "Doubt"], ["settle", "What would settle it"]].filter(([key]) => page.verdict[key].length)
      .map(([key, words]) => make("div", {}, make("h3", {}, words), make("ul", {}, page.verdict[key].map((text) => make("li", {}, text))))));
    byId("verdict-details").hidden = !byId("verdict-lists").firstChild;
  }

  // ------------------------------------------------------------------------------------------------- the graph
  const stage = byId("stage");
  const half = page.layout.height / 2;
  const [width, height] = page.layout.size;
  const KINDS = ["kept", "unsure", "new", "came", "went", "decided", "right", "open", "reversed", "extra", "missing", "chosen"];
  stage.append(
    draw("defs", {}, KINDS.map((kind) =>
      draw("marker", { id: `head-${kind}`, viewBox: "0 0 10 8", refX: 9, refY: 4, markerWidth: 10, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" },
        draw("path", { d: "M0 0 L10 4 L0 8 z", class: `head-${kind}` })))),
  );
  const layer = { lines: draw("g"), touch: draw("g"), signs: draw("g"), nodes: draw("g") };
  stage.append(layer.lines, layer.touch, layer.signs, layer.nodes);

  // Between layers a curve that starts and ends upright, through a layer a straight line: pictures.py draws the same.
  const curve = (points, sign = 1) => { // sign: 1 downwards, -1 upwards
    let [x, y] = points;
    let text = `M${x} ${y}`;
    for (let k = 2; k < points.length; k += 2) {
      const final = k + 2 >= points.length;
      const [x1, y1] = [points[k], points[k + 1]];
      const top = final ? y1 : y1 - sign * half;
      const middle = sign * (top - y) <= 0 ? y + sign * 26 : (y + top) / 2;
      text += `C${x} ${middle} ${x1} ${middle} ${x1} ${top}`;
      if (!final) text += `V${y1 + sign * half}`;
      [x, y] = [x1, y1 + sign * half];
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
    if (given && given.count && mode === "strength" && k === last) {
      const now = chosenBy(a, b);
      if (!now.down && !now.up) return down || up ? { kind: "went", down, up } : null;
      if (now.unsure) return { kind: "unsure", down: false, up: false };
      return { kind: now.down === down && now.up === up && !openPairs.has(a * d + b) ? "kept" : "new", down: now.down, up: now.up };
    }
    if (mode === "strength" && k === last && openPairs.has(a * d + b)) return { kind: "unsure", down: false, up: false };
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
    kept: "edge", unsure: "undecided direction", new: "settled or changed by what you said", came: "came in this phase", went: "went in this phase", decided: "one of two directions went",
    right: "right", open: "true, direction still open", reversed: "reversed", extra: "not in the truth", missing: "missing",
  };
  const sample = (kind) => draw("svg", { viewBox: "0 0 46 14", "aria-hidden": "true" },
    draw("path", { d: "M2 7H40", class: `line ${kind}`, "marker-end": kind === "unsure" ? null : `url(#head-${kind})` }));

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
      const there = seen && inFocus(pair.a) && inFocus(pair.b);
      pair.line.style.display = pair.touch.style.display = there ? "" : "none";
      if (!there) continue;
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
      if ((mine || state.node === null) && seen.kind === "unsure") signs.push([pair, seen]);
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
    if (seen.kind === "unsure") {
      const at = pair.line.getPointAtLength(length / 2);
      return draw("g", { class: "sign unsure" }, draw("circle", { cx: at.x, cy: at.y, r: 8 }), draw("text", { x: at.x, y: at.y }, "?"));
    }
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
  const area = { w: width, h: height }; // of what is drawn: all, or the focus
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
    view.scale = Math.min(1.4, w / (area.w + 2 * MARGIN), h / (area.h + 2 * MARGIN));
    centre(area.w / 2, area.h / 2);
  };
  // A graph too tall for one look fills the width at first, from its causes down: the rest is a drag away.
  const firstView = () => {
    fit();
    if (room().w < 600 && view.y < -MARGIN) { // on a phone no empty space above the causes
      view.y = -MARGIN;
      applyView();
    }
    const wide = room().w / (area.w + 2 * MARGIN);
    if (view.scale < 0.5 && wide > view.scale) {
      view.scale = Math.min(0.85, wide);
      centre(area.w / 2, 0);
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
    return draw("svg", { class: "bars", viewBox: `0 0 ${Math.max(column.bars.length, 8)} 40`, preserveAspectRatio: "none", role: "img",
      "aria-label": column.levels.length ? column.levels.map((level, k) => `${level}: ${column.bars[k]}`).join(", ") : `Distribution from ${number(column.least)} to ${number(column.most)}` },
      column.bars.map((count, k) => draw("rect", { x: k + 0.06, width: 0.88, y: 40 - (39 * count) / most, height: (39 * count) / most })));
  };

  // Any pair can be asked about, also one that is not drawn.
  const partner = (i) => {
    const choice = make("select", { id: "partner", on: { change: () => choice.value && chooseEdge(i, Number(choice.value), false) } }, make("option", { value: "" }, "\u2026"),
      page.order.filter((j) => j !== i).map((j) => make("option", { value: j }, page.labels[j])));
    return choice;
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
      ...(column ? [bars(column), pairsOf([column.kind ? ["kind", column.kind] : null,
        ...(column.levels.length ? [["levels", make("span", {}, ...commas(column.levels.map((level, k) => `${level} (${column.bars[k]})`)))]]
          : [["range", `${number(column.least)} to ${number(column.most)}`], ["mean, spread", `${number(column.mean)}, ${number(column.spread)}`], ["distinct", String(column.distinct)]]),
        column.missing ? ["missing", String(column.missing)] : null])] : []),
      ...(page.cells[i] ? [make("p", { class: "quiet" }, page.cells[i])] : []),
      make("h4", {}, `${plural(ins.length, "cause")}${note()}`), ins.length ? list(ins.map((j) => entry(j, i, j))) : make("p", { class: "quiet" }, "none"),
      make("h4", {}, `${plural(outs.length, "effect")}${note()}`), outs.length ? list(outs.map((j) => entry(i, j, j))) : make("p", { class: "quiet" }, "none"),
      ...(d > 1 ? [make("p", {}, make("label", {}, "Its pair with ", partner(i)))] : []),
    ];
  };

  const TRUTH = { right: "right: it is in the truth", reversed: "reversed: the truth has it the other way round", extra: "not in the truth" };
  // The three probabilities of a pair as bars: of the table's posterior, and of the graphs that agree with what was said.
  const threeBars = (i, j) => {
    const [forth, back] = given && given.count ? [given.of(i, j), given.of(j, i)] : [likely[i][j], likely[j][i]];
    const rows = [[arrow(i, j), forth], [arrow(j, i), back], [["no edge"], Math.max(0, 1 - forth - back)]];
    const source = page.ownResamples ? `Share of ${page.ownResamples} resamples of the rows: how stable, not how right.` : "If the model holds.";
    return make("div", { class: "three" }, rows.map(([words, part]) => make("div", {}, make("span", {}, words), meter(part), make("b", {}, percent(part)))),
      make("p", { class: "quiet" }, given && given.count ? `Among the ${given.count} of ${page.sampled} sampled graphs that agree with what you said.` : source));
  };
  const answers = (i, j) => {
    const [a, b] = [Math.min(i, j), Math.max(i, j)];
    const now = assumed.get(a * d + b) || "";
    const say = (answer, words) => button(words, () => {
      if (answer && now !== answer) assumed.set(a * d + b, answer); else assumed.delete(a * d + b);
      condition();
      refresh();
      tellGiven();
    }, { "aria-pressed": String(now === answer && answer !== ""), "data-answer": answer });
    return make("div", { class: "answers" }, make("h4", {}, "If you knew"), make("div", {}, say("down", arrow(a, b)), say("up", arrow(b, a)), say("none", ["no edge"])),
      make("p", { class: "quiet" }, sampled.length ? "The graph then shows what the stored sample says, without learning again." : "No sample of graphs is stored, so the graph stays as it is; the file for the next run can be downloaded."));
  };
  // The mean of the effect when the cause is set, over its range, with the 90 % interval.
  const curveOf = (i, j) => {
    const found = page.effects[`${i}-${j}`];
    if (!found) return [];
    const all = [...found.low, ...found.high, ...found.mean].filter((value) => value !== null);
    const [x0, x1, y0, y1] = [found.grid[0], found.grid[found.grid.length - 1], Math.min(...all), Math.max(...all)];
    const [W, H] = [300, 130];
    const named = found.levels.length > 0; // a bar and a dot for each level: there is nothing between them
    const [left, right] = named ? [80, W - 40] : [46, W - 6];
    const at = (k, values) => `${(left + ((right - left) * (found.grid[k] - x0)) / (x1 - x0 || 1)).toFixed(1)} ${(6 + ((H - 28) * (y1 - values[k])) / (y1 - y0 || 1)).toFixed(1)}`;
    const steps = found.grid.map((_, k) => k).filter((k) => [found.low[k], found.high[k], found.mean[k]].every((value) => value !== null));
    const line = (values, order) => order.map((k) => at(k, values)).join("L");
    const room = Math.max(3, Math.floor((right - left) / Math.max(1, steps.length - 1) / 6.5));
    const short = (text) => (text.length > room ? `${text.slice(0, room - 1)}\u2026` : text);
    const lines = named
      ? steps.flatMap((k) => [draw("path", { class: "whisker", d: `M${at(k, found.low)}L${at(k, found.high)}` }), draw("circle", { class: "dot", cx: at(k, found.mean).split(" ")[0], cy: at(k, found.mean).split(" ")[1], r: 3.5 })])
      : [draw("path", { class: "band", d: `M${line(found.high, steps)}L${line(found.low, [...steps].reverse())}z` }), draw("path", { class: "mean", d: `M${line(found.mean, steps)}` })];
    const below = named
      ? steps.map((k) => draw("text", { x: at(k, found.mean).split(" ")[0], y: H - 8, "text-anchor": "middle" }, short(found.levels[found.grid[k]])))
      : [draw("text", { x: 46, y: H - 8 }, number(x0)), draw("text", { x: W - 4, y: H - 8, "text-anchor": "end" }, number(x1))];
    const picture = draw("svg", { class: "curve", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": found.words },
      ...lines, draw("path", { class: "axis", d: `M46 6V${H - 22}H${W - 4}` }),
      draw("text", { x: 42, y: 14, "text-anchor": "end" }, number(y1)), draw("text", { x: 42, y: H - 22, "text-anchor": "end" }, number(y0)), ...below);
    return [make("h4", {}, [`${found.what[0].toUpperCase()}${found.what.slice(1)} when `, name(i), " is set"]), picture, make("p", {}, found.words)];
  };
  const knowledgeFile = () => {
    const file = { required: [...(page.knowledge.required || [])], forbidden: [...(page.knowledge.forbidden || [])] };
    if (page.knowledge.tiers && page.knowledge.tiers.length) file.tiers = page.knowledge.tiers;
    if (page.knowledge.prior && page.knowledge.prior.length) file.prior = page.knowledge.prior;
    for (const [key, answer] of assumed) {
      const [i, j] = [page.ownNames[Math.floor(key / d)], page.ownNames[key % d]];
      if (answer === "down") file.required.push([i, j]);
      if (answer === "up") file.required.push([j, i]);
      if (answer === "none") file.forbidden.push([i, j], [j, i]);
    }
    return JSON.stringify(file, null, 2);
  };
  const tellGiven = () => {
    const box = byId("given");
    box.hidden = !assumed.size;
    if (!assumed.size) return box.replaceChildren();
    const said = [...assumed].flatMap(([key, answer], k) => {
      const [i, j] = [Math.floor(key / d), key % d];
      return [k ? "; " : "", ...(answer === "down" ? arrow(i, j) : answer === "up" ? arrow(j, i) : [name(i), " and ", name(j), " not joined"])];
    });
    const settled = page.undecided.filter(([i, j]) => given.count && !assumed.has(Math.min(i, j) * d + Math.max(i, j)) && !chosenBy(i, j).unsure).length;
    const file = make("a", { href: URL.createObjectURL(new Blob([knowledgeFile()], { type: "application/json" })), download: "knowledge.json" }, "Download the knowledge file");
    box.replaceChildren(make("b", {}, "If "), ...said, ": ", given.count ? `${given.count} of ${page.sampled} sampled graphs agree` : `${sampled.length ? "no sampled graph agrees" : "no sample of graphs is stored"}, so the picture is as it was; learn again with the file`,
      ...(settled ? [`; ${plural(settled, "other direction is", "other directions are")} settled`] : []), ". ", file, " for ", make("code", {}, "dagtune learn --knowledge"), ". ",
      button(["Forget"], () => { assumed.clear(); condition(); refresh(); tellGiven(); }));
  };
  const edgePanel = (i, j) => {
    const edge = edgeAt.get(i * d + j);
    const story = page.changes.filter((change) => (change[2] === i && change[3] === j) || (change[2] === j && change[3] === i));
    const ask = [answers(i, j)];
    const back = has(state.phase, j, i) || edgeAt.has(j * d + i) || (truth && truth.has(j * d + i));
    return [
      make("h3", {}, arrow(i, j)),
      ...(likely ? [threeBars(i, j)] : []),
      ...(openPairs.has(i * d + j) ? [ask, curveOf(i, j)] : [curveOf(i, j), ask]).flat(),
      pairsOf([
        ["in the graph", edge ? (openPairs.has(i * d + j) ? "yes, but the direction is undecided" : "yes") : "no"],
        edge && edge.explained !== null ? ["how strong", ["explains ", edge.explained < 0.005 ? "less than 1\u00a0%" : percent(Math.min(edge.explained, 0.99)), " of what is left of ", name(j)]] : null,
        edge ? ["strength", `${number(edge.strength)} (number ${edge.rank + 1} of ${page.edges.length})`] : null,
        edge && edge.confidence !== null ? ["confidence", `${percent(edge.confidence)} of ${page.resamples} resamples`] : null,
        edge && edge.record !== null ? ["track record", `on real pairs such directions were right in ${percent(edge.record)} of cases`] : null,
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
    focus();
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
    if (!within(i) || !within(j) || view.scale < 0.5) { // both ends in sight, and legible if the screen allows
      if (view.scale < 0.5) view.scale = Math.max(view.scale, Math.min(0.8, room().w / (Math.abs(nodes[i].x - nodes[j].x) + 160)));
      view.own = true;
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
      if (seen.kind === "unsure") return [has(last, b, a) ? [b, a] : [a, b]];
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

  byId("next").hidden = !page.next.length;
  byId("next-list").append(...page.next.map(([i, j, words]) => make("li", {}, edgeButton(i, j, [name(i), " \u2013 ", name(j)]), ": ", words)));

  // --------------------------------------------------------------------------------------------------- focus view
  // One variable with its causes above and its effects below, to a chosen depth, in a layout of its own.
  const reachable = (start, inwards, depth) => {
    const found = new Map([[start, 0]]);
    let edge = [start];
    for (let step = 1; step <= depth && edge.length; step += 1) {
      edge = edge.flatMap((i) => page.phases[last].edges.filter(([a, b]) => (inwards ? b : a) === i).map(([a, b]) => (inwards ? a : b))).filter((i) => !found.has(i) && found.set(i, step));
    }
    return found;
  };
  // From the foot of the upper box to the head of the lower one, in each row between them upright through a gap.
  const past = (a, b, shown) => {
    const [top, bottom] = a.y < b.y ? [a, b] : [b, a];
    const points = [[top.x, top.y + half]]; // of rows between: their middle
    for (const y of [...new Set(shown.map((node) => node.y))].filter((y) => y > top.y && y < bottom.y).sort((p, q) => p - q)) {
      const row = shown.filter((node) => node.y === y).sort((p, q) => p.x - q.x);
      const wanted = top.x + ((bottom.x - top.x) * (y - top.y)) / (bottom.y - top.y);
      const free = row.every((node) => Math.abs(node.x - wanted) > node.wide / 2 + 6);
      const ends = row.flatMap((node) => [node.x - node.wide / 2, node.x + node.wide / 2]);
      const gaps = [ends[0] - 10, ends[ends.length - 1] + 10];
      for (let k = 1; k < ends.length - 1; k += 2) gaps.push((ends[k] + ends[k + 1]) / 2);
      const x = free ? wanted : gaps.reduce((best, gap) => (Math.abs(gap - wanted) < Math.abs(best - wanted) ? gap : best));
      points.push([x, y]);
    }
    points.push([bottom.x, bottom.y - half]);
    return top === a ? curve(points.flat()) : curve(points.reverse().flat(), -1);
  };
  let focused = null;
  const STEP = 2 * half + 46;
  const focus = () => {
    const depth = state.node === null ? 0 : Number(byId("depth").value);
    byId("depth-label").hidden = state.node === null || page.edges.length < 2;
    const wanted = depth ? `${state.node}/${depth}` : null;
    if (wanted === focused) return;
    focused = wanted;
    stage.classList.toggle("in-focus", focused !== null); // what is shown is legible, near or far
    if (wanted === null) {
      nodes.forEach((node, i) => { [node.x, node.y] = page.layout.nodes[i]; node.group.removeAttribute("transform"); node.group.style.display = ""; });
      for (const pair of pairs) for (const path of [pair.line, pair.touch]) path.setAttribute("d", pair.shape);
      [area.w, area.h] = [width, height];
      return firstView();
    }
    const rows = new Map();
    for (const [inwards, sign] of [[true, -1], [false, 1]]) {
      for (const [i, step] of reachable(state.node, inwards, depth)) if (!step ? inwards : true) rows.set(sign * step, [...(rows.get(sign * step) || []), i]);
    }
    const levels = [...rows.keys()].sort((a, b) => a - b);
    const most = Math.max(320, Math.min(900, room().w * 1.15));
    let y = half;
    const placed = new Map();
    area.w = 0;
    for (const level of levels) { // a row too wide for the stage goes on in the next
      let [line, x] = [[], 0];
      const end = () => {
        for (const [i, at] of line) placed.set(i, [at - x / 2, y]);
        area.w = Math.max(area.w, x);
        y += STEP;
        [line, x] = [[], 0];
      };
      for (const i of [...new Set(rows.get(level))].sort((a, b) => page.layout.nodes[a][0] - page.layout.nodes[b][0])) {
        if (x && x + nodes[i].wide > most) end();
        line.push([i, x + nodes[i].wide / 2]);
        x += nodes[i].wide + 18;
      }
      end();
    }
    area.h = y - STEP + half;
    area.w += 48; // lines pass beside the outermost boxes, too
    nodes.forEach((node, i) => {
      const at = placed.get(i);
      node.group.style.display = at ? "" : "none";
      [node.x, node.y] = at ? [at[0] + area.w / 2, at[1]] : page.layout.nodes[i];
      node.group.setAttribute("transform", `translate(${node.x - page.layout.nodes[i][0]} ${node.y - page.layout.nodes[i][1]})`);
    });
    for (const pair of pairs) {
      const both = placed.has(pair.a) && placed.has(pair.b);
      const [a, b] = [nodes[pair.a], nodes[pair.b]];
      const shape = !both ? "" : a.y === b.y ? `M${a.x} ${a.y - half}C${a.x} ${a.y - half - 24} ${b.x} ${b.y - half - 24} ${b.x} ${b.y - half}`
        : past(a, b, nodes.filter((_, i) => placed.has(i)));
      for (const path of [pair.line, pair.touch]) path.setAttribute("d", shape || "M0 0");
    }
    fit();
  };
  const inFocus = (i) => nodes[i].group.style.display !== "none";
  byId("depth").addEventListener("change", () => refresh());

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
    ...(known("confidence") ? [{ key: "confidence", label: "Confidence" }] : []),
    ...(known("probability") ? [{ key: "probability", label: "Probability" }, { key: "reverse", label: "Reverse" }, { key: "none", label: "None" }] : []),
    ...(known("record") ? [{ key: "record", label: "Track record" }] : []),
    ...(truth ? [{ key: "truth", label: "Truth", text: true }] : []), { key: "came", label: "Since phase", text: true },
  ];
  const sorting = { key: known("probability") ? "probability" : "strength", down: true };
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
    known("probability") ? `probability, reverse, none: of the edge, of its reverse, of neither, if the model holds${page.probabilityWords ? ` (${page.probabilityWords})` : ""}` : "",
    known("record") ? `track record: how often such directions were right on real pairs${page.trackRecordWords ? ` (${page.trackRecordWords})` : ""}` : ""].filter(Boolean).join("; ") + ".";
  byId("undecided").hidden = !page.undecided.length;
  byId("undecided-words").textContent = `${plural(page.undecided.length, "pair is", "pairs are")} joined, but the direction is undecided:`;
  byId("undecided-list").append(...page.undecided.map(([i, j]) => make("li", {}, has(last, i, j) ? edgeButton(i, j, [name(i), " \u2013 ", name(j)])
    : has(last, j, i) ? edgeButton(j, i, [name(i), " \u2013 ", name(j)]) : [name(i), " \u2013 ", name(j)])));

  const close = !likely ? [] : page.order.flatMap((i, k) => page.order.slice(k + 1).map((j) => [i, j]))
    .filter(([i, j]) => !has(last, i, j) && !has(last, j, i) && likely[i][j] + likely[j][i] >= 0.1)
    .sort(([a, b], [i, j]) => likely[i][j] + likely[j][i] - likely[a][b] - likely[b][a]).slice(0, 50);
  byId("close").hidden = !close.length;
  byId("close-list").append(...close.map(([i, j]) => make("li", {}, edgeButton(i, j, [name(i), " \u2013 ", name(j)]),
    `: joined ${percent(likely[i][j] + likely[j][i])} (`, ...arrow(i, j), ` ${percent(likely[i][j])}, `, ...arrow(j, i), ` ${percent(likely[j][i])})`)));

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
  byId("checks-body").append(...page.tested.flatMap(({ title, words, pairs: doubtful }) => [make("h3", {}, title), make("p", {}, `${words}.`),
    make("details", {}, make("summary", {}, "The most doubtful pairs"), make("ul", {}, doubtful.map((text) => make("li", {}, text))))]));
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
  if (room().w < 600 && view.scale < 0.5 && page.edges.length > 1) { // all at once is illegible here: begin with one variable and its neighbours
    const degree = nodes.map((_, i) => page.phases[last].edges.filter(([a, b]) => a === i || b === i).length);
    byId("depth").value = "1";
    chooseNode(degree.indexOf(Math.max(...degree)));
    byId("found").textContent = "One variable at a time fits this screen: the one with the most edges. Find another, or choose all variables.";
  }
  for (const node of nodes) { // a font wider than expected must not leave its box
    if (node.text.getComputedTextLength() > node.wide - 10) {
      node.text.setAttribute("textLength", node.wide - 10);
      node.text.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
  }
})();
