"use strict";
(() => { // tables that are wider than the page say so
  const tables = document.querySelectorAll(".scroll");
  const tell = () => {
    for (const one of tables) one.classList.toggle("wide", one.scrollWidth > one.clientWidth + 1);
  };
  addEventListener("resize", tell);
  document.addEventListener("toggle", tell, true);
  tell();
  // paper has nothing to click on
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
})();
(() => {
  const plot = document.getElementById("plot");
  if (!plot) return;
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const spoken = document.getElementById("spoken");
  const choice = document.getElementById("labelling");
  const [width, height, top, bottom] = [760, 500, 12, 46];
  const OUTLINES = { // of matplotlib's markers, about the origin
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "s": "M-3.6-3.6h7.2v7.2h-7.2z",
    "^": "M0-4.6 4.4 3.4h-8.8z",
    "D": "M0-4.9 4.9 0 0 4.9-4.9 0z",
    "v": "M0 4.6 4.4-3.4h-8.8z",
    "P": "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "X": "M-4.3-2.2-2.2-4.3 0-2.1 2.2-4.3 4.3-2.2 2.1 0 4.3 2.2 2.2 4.3 0 2.1-2.2 4.3-4.3 2.2-2.1 0z",
    "*": "M0-5.4 1.6-1.7h3.5L2.4.9l.9 3.7L0 2.5l-3.3 2.1.9-3.7-2.7-2.6h3.5z",
  };
  const REACH = 16; // how near to a mark counts as pointing at it
  let x, y, places, marks, ring, codes, visible, current = -1;

  function make(parent, tag, attributes, text = "") {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    element.textContent = text;
    return parent.appendChild(element);
  }

  function scale(values) {
    let [low, high] = [Math.min(...values), Math.max(...values)];
    const pad = 0.04 * (high - low) || 1;
    [low, high] = [low - pad, high + pad];
    const power = 10 ** Math.floor(Math.log10((high - low) / 4));
    const step = power * [1, 2, 5, 10].find((digit) => (high - low) / (digit * power) <= 7);
    const first = Math.ceil(low / step);
    const count = Math.floor(high / step) - first + 1;
    const ticks = Array.from(
      { length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
    const format = formatUpTo(Math.max(...ticks.map(Math.abs)));
    const labels = ticks.map((tick) => tick ? format(tick) : "0");
    const widest = Math.max(...labels.map((label) => {
      const text = make(plot, "text", {}, label);
      const length = text.getComputedTextLength();
      text.remove();
      return length;
    }));
    return { low, high, ticks, labels, widest };
  }

  function formatUpTo(largest) { // short, and the same for all of an axis
    if (largest < 1e-3 || largest >= 1e15) return (tick) => tick.toExponential().replace("+", "");
    const notation = { notation: "compact", maximumSignificantDigits: 12 };
    return largest < 1e5 ? String : new Intl.NumberFormat("en", notation).format;
  }

  function spread(axis, start, end) {
    const at = (value) => start + ((value - axis.low) / (axis.high - axis.low)) * (end - start);
    return { ...axis, at };
  }

  function drawFrame(left, right) {
    const inside = { x: left, y: top, width: width - left - right, height: height - top - bottom };
    make(make(plot, "clipPath", { id: "inside" }), "rect", inside);
    make(plot, "rect", { class: "frame", ...inside });
    x.ticks.forEach((tick, i) => {
      const place = { x: x.at(tick), y: height - bottom + 16, "text-anchor": "middle" };
      make(plot, "text", place, x.labels[i]);
    });
    y.ticks.forEach((tick, i) => {
      make(plot, "text", { x: left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, y.labels[i]);
    });
    nameAxis(data.axes[0], inside.width, `translate(${left + inside.width / 2} ${height - 8})`);
    nameAxis(data.axes[1], inside.height, `translate(14 ${top + inside.height / 2}) rotate(-90)`);
  }

  function nameAxis(name, room, transform) {
    const text = make(plot, "text", { class: "axis", "text-anchor": "middle", transform }, name);
    let kept = [...name];
    for (let length; (length = text.getComputedTextLength()) > room;) {
      kept = kept.slice(0, Math.min(kept.length - 1, Math.floor((kept.length * room) / length)));
      text.textContent = kept.join("") + "…";
    }
    make(text, "title", {}, name);
  }

  function drawBoundary([a, b, c]) {
    const isSteep = Math.abs(a) * (x.high - x.low) > Math.abs(b) * (y.high - y.low);
    const ends = isSteep
      ? [y.low, y.high].map((v) => [-(b * v + c) / a, v])
      : [x.low, x.high].map((u) => [u, -(a * u + c) / b]);
    const [[x1, y1], [x2, y2]] = ends.map(([u, v]) => [x.at(u), y.at(v)]);
    make(plot, "line", { class: "boundary", "clip-path": "url(#inside)", x1, y1, x2, y2 });
  }

  // A switch for each cluster, with its mark and the number of its marks drawn.
  const boxes = data.clusters.map((name, code) => {
    const label = document.getElementById("boxes").appendChild(document.createElement("label"));
    const box = label.appendChild(document.createElement("input"));
    Object.assign(box, { type: "checkbox", checked: true });
    const swatch = make(label, "svg", { class: `swatch c${code}`, viewBox: "-6 -6 12 12" });
    make(swatch, "path", { id: `mark-${code}`, d: OUTLINES[data.markers[code]] });
    label.append(name, document.createElement("span"));
    return box;
  });
  for (const [name] of data.labellings) choice.append(new Option(name));
  document.getElementById("choice").hidden = data.labellings.length < 2;

  // What depends on the size of the letters, which is larger on narrow screens.
  function layOut() {
    plot.replaceChildren();
    [x, y] = [0, 1].map((axis) => scale(data.points.map((point) => point[axis])));
    const [left, right] = [30 + y.widest, Math.max(12, x.widest / 2)];
    x = spread(x, left, width - right);
    y = spread(y, height - bottom, top);
    places = data.points.map(([a, b]) => [x.at(a), y.at(b)]);
    drawFrame(left, right);
    marks = make(plot, "g", {});
    if (data.line) drawBoundary(data.line);
    ring = make(plot, "circle", { class: "ring", r: 8, visibility: "hidden" });
    draw();
  }

  function draw() {
    codes = data.labellings[choice.selectedIndex][1];
    visible = [...codes.keys()].filter((i) => boxes[codes[i]].checked);
    boxes.forEach((box, code) => {
      const count = codes.filter((other) => other === code).length;
      box.parentElement.lastChild.textContent = ` (${count.toLocaleString("en")} drawn)`;
    });
    marks.replaceChildren();
    for (const i of visible) {
      const [cx, cy] = places[i];
      make(marks, "use", {
        class: `mark c${codes[i]}`, href: `#mark-${codes[i]}`, x: cx.toFixed(1), y: cy.toFixed(1),
      });
    }
    leave();
  }

  function leave() {
    current = -1;
    tip.hidden = true;
    ring.setAttribute("visibility", "hidden");
  }

  function show(i) {
    current = i;
    const [cx, cy] = places[i];
    const cells = data.tips.map(([name, column]) => `${name}: ${column[i]}`);
    const lines = [data.clusters[codes[i]], ...cells];
    tip.replaceChildren(...lines.map((line) => {
      const row = document.createElement("div");
      row.textContent = line;
      return row;
    }));
    tip.hidden = false;
    const [side, other] = cx > width / 2 ? ["right", "left"] : ["left", "right"];
    tip.style[side] = `${(100 * (side === "left" ? cx : width - cx)) / width}%`;
    tip.style[other] = "auto";
    tip.style.top = `${(100 * cy) / height}%`;
    ring.setAttribute("cx", cx);
    ring.setAttribute("cy", cy);
    ring.setAttribute("visibility", "visible");
    return lines.join(", ");
  }

  plot.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      plot.getScreenCTM().inverse());
    const distance = (i) => Math.hypot(places[i][0] - at.x, places[i][1] - at.y);
    let nearest = -1, least = REACH;
    for (const i of visible) {
      if (distance(i) < least) [nearest, least] = [i, distance(i)];
    }
    if (nearest < 0) leave();
    else show(nearest);
  });
  plot.addEventListener("pointerleave", leave);
  plot.addEventListener("blur", leave);

  // Left and right go by the horizontal order of the marks, up and down by the vertical one.
  const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [1, -1], ArrowDown: [1, 1] };
  plot.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
    if (!(event.key in STEPS) || !visible.length) return;
    event.preventDefault();
    const [axis, step] = STEPS[event.key];
    const order = [...visible].sort((i, j) => places[i][axis] - places[j][axis] || i - j);
    const place = order.indexOf(current);
    const next = place < 0 ? 0 : Math.min(Math.max(place + step, 0), order.length - 1);
    spoken.textContent = show(order[next]);
  });

  for (const box of boxes) box.addEventListener("change", draw);
  choice.addEventListener("change", draw);
  for (const [id, isChecked] of [["all", true], ["none", false]]) {
    document.getElementById(id).addEventListener("click", () => {
      for (const box of boxes) box.checked = isChecked;
      draw();
    });
  }
  matchMedia("(max-width: 40rem)").addEventListener("change", layOut);
  layOut();
})();
