// Sorts and filters tables, and opens what a link leads to. Without it everything can be read.
"use strict";
(() => {
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  // Digits are grouped with narrow spaces, and a minus is a real one.
  const number = (text) => parseFloat(text.replace(/[\u202f\s]/g, "").replace("\u2212", "-"));

  for (const table of document.querySelectorAll("table[data-table]")) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => ({
      row,
      cells: Array.from(row.cells, (cell) => cell.textContent.trim()),
      // A link in the text of a closed detail is still found.
      text: row.textContent.toLowerCase(),
    }));
    const heads = Array.from(table.tHead.rows[0].cells);
    const name = table.dataset.table;

    heads.forEach((head, at) => {
      const button = make("button", { type: "button", title: "Sort" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        const sign = down ? -1 : 1;
        const value = head.classList.contains("n") ? (r) => number(r.cells[at]) : (r) => r.cells[at];
        const compare = (a, b) => {
          const [x, y] = [value(a), value(b)];
          if (typeof x === "string") return x.localeCompare(y, "en", { numeric: true });
          // What is no number goes to the end of a rising order.
          return (Number.isNaN(x) - Number.isNaN(y)) || x - y;
        };
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        body.append(...rows.slice().sort((a, b) => sign * compare(a, b)).map((r) => r.row));
      });
    });

    const search = make("input", { type: "search", placeholder: "any text" });
    const shown = make("span", { className: "dim" });
    shown.setAttribute("role", "status");
    const choices = heads.flatMap((head, at) => {
      if (!("choice" in head.dataset)) return [];
      const select = make("select", {}, make("option", { value: "", textContent: "all" }));
      const values = new Set(rows.map((r) => r.cells[at]));
      for (const value of Array.from(values).sort()) select.append(make("option", { value, textContent: value }));
      return [{ at, select, label: head.textContent }];
    });
    const filter = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const r of rows) {
        const fits = words.every((word) => r.text.includes(word)) &&
          choices.every(({ at, select }) => !select.value || r.cells[at] === select.value);
        r.row.hidden = !fits;
        count += fits;
      }
      shown.textContent = `${count} of ${rows.length}`;
    };
    const tools = make("div", { className: "tools" }, make("label", {}, "Filter ", search));
    tools.setAttribute("role", "group");
    tools.setAttribute("aria-label", `Filter: ${name}`);
    for (const { label, select } of choices) tools.append(make("label", {}, `${label} `, select));
    tools.append(shown);
    tools.addEventListener("input", filter);
    table.parentElement.before(tools);
    table.show = (row) => {
      if (!row.hidden) return;
      search.value = "";
      choices.forEach(({ select }) => (select.value = ""));
      filter();
    };
    filter();
  }

  const scenarios = document.querySelector("#scenarios h3");
  if (scenarios) {
    const all = (open) => {
      for (const details of document.querySelectorAll("#scenarios details")) details.open = open;
    };
    const open = make("button", { type: "button", textContent: "Open all" });
    const close = make("button", { type: "button", textContent: "Close all" });
    open.addEventListener("click", () => all(true));
    close.addEventListener("click", () => all(false));
    scenarios.after(make("div", { className: "tools" }, open, close, make("span", { className: "dim", textContent: "Paper shows what is open." })));
  }

  // A rule's or claim's row is no detail itself, but has one; and a filter may hide it.
  const follow = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let up = target.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    if (target.tagName === "TR") {
      target.closest("table").show?.(target);
      target.querySelector("details")?.setAttribute("open", "");
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  follow();
})();
