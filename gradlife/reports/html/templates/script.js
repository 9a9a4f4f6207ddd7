"use strict";
// What every page can do. `gradlife.data(id)` reads a block of JSON; `gradlife.table(element)` makes a table sort and search.
const gradlife = (() => {
  const data = (id) => JSON.parse(document.getElementById(id).textContent);

  const element = (tag, properties = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  };

  const svg = (tag, properties = {}, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(properties)) if (value !== null) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };

  const NUMBER = new Intl.NumberFormat("en");

  function themes() {
    const button = document.getElementById("theme");
    const system = matchMedia("(prefers-color-scheme: dark)");
    let chosen = kept("gradlife-theme");
    const isDark = () => (chosen ? chosen === "dark" : system.matches);
    const show = () => {
      document.documentElement.style.colorScheme = chosen || "";
      button.textContent = isDark() ? "Light theme" : "Dark theme";
    };
    button.hidden = false;
    button.addEventListener("click", () => {
      chosen = isDark() ? "light" : "dark";
      keep("gradlife-theme", chosen);
      show();
    });
    system.addEventListener("change", show);
    show();
  }

  // Within a frame of a notebook, or where a browser is shown so, nothing can be kept.
  function kept(name) {
    try { return localStorage.getItem(name); } catch { return null; }
  }
  function keep(name, value) {
    try { localStorage.setItem(name, value); } catch { /* then not */ }
  }

  function table(node) {
    const body = node.tBodies[0];
    const waiting = document.querySelector(`template[data-rows-of="${node.id}"]`);
    const more = document.querySelector(`[data-more-of="${node.id}"]`);
    const tools = document.querySelector(`[data-tools-of="${node.id}"]`);
    const step = Number(node.dataset.shown) || 200;
    const rows = [...body.rows, ...(waiting ? waiting.content.querySelectorAll("tr") : [])];
    const texts = new Map();
    const textOf = (row) => {
      if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
      return texts.get(row);
    };
    let order = rows, words = [], tags = [], shown = step;

    const draw = () => {
      const fits = (row) => words.every((word) => textOf(row).includes(word))
        && tags.every((tag) => (row.dataset.tags || "").split(" ").includes(tag));
      const isPart = words.length > 0 || tags.length > 0;
      const found = isPart ? order.filter(fits) : order;
      body.replaceChildren(...found.slice(0, shown));
      if (more) more.hidden = found.length <= shown;
      if (tools) {
        const count = `${NUMBER.format(found.length)} of ${NUMBER.format(rows.length)} rows`;
        tools.querySelector(".count").textContent = isPart ? count : `${NUMBER.format(rows.length)} rows`;
      }
    };
    const valueOf = (row, column, isNumber) => {
      const cell = row.cells[column];
      const value = cell ? cell.dataset.sort ?? cell.textContent.trim() : "";
      return isNumber ? Number(value.replaceAll(",", "")) || 0 : value;
    };
    const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
    const sort = (heading, column) => {
      const isNumber = heading.classList.contains("number");
      const before = heading.getAttribute("aria-sort");
      const isDown = before ? before === "ascending" : isNumber;
      for (const other of node.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      const keyed = rows.map((row) => [valueOf(row, column, isNumber), row]);
      keyed.sort((a, b) => (isDown ? compare(b[0], a[0]) : compare(a[0], b[0])));
      order = keyed.map((pair) => pair[1]);
      draw();
    };

    [...node.tHead.rows[0].cells].forEach((heading, column) => {
      if (!heading.textContent.trim()) return;
      const button = element("button", { type: "button", onclick: () => sort(heading, column) });
      button.append(...heading.childNodes);
      heading.append(button);
    });
    if (more) more.addEventListener("click", () => { shown += step * 5; draw(); });
    if (tools) {
      tools.hidden = false;
      const search = tools.querySelector("input[type=search]");
      const ticks = [...tools.querySelectorAll("input[type=checkbox]")];
      tools.addEventListener("input", () => {
        words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
        tags = ticks.filter((tick) => tick.checked).map((tick) => tick.value);
        shown = step;
        draw();
      });
    }
    draw();
  }

  function tabs(node) {
    const panels = [...node.children].filter((child) => child.dataset.tab);
    const list = element("div", { role: "tablist", "aria-label": node.dataset.tabs });
    const buttons = panels.map((panel, number) => {
      panel.id ||= `${node.id}-panel-${number}`;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", `${panel.id}-tab`);
      const button = element("button", { type: "button", role: "tab", id: `${panel.id}-tab`, "aria-controls": panel.id });
      button.textContent = panel.dataset.tab;
      return button;
    });
    const choose = (number) => {
      panels.forEach((panel, other) => {
        panel.hidden = other !== number;
        buttons[other].setAttribute("aria-selected", String(other === number));
        buttons[other].tabIndex = other === number ? 0 : -1;
      });
    };
    buttons.forEach((button, number) => {
      button.addEventListener("click", () => choose(number));
      button.addEventListener("keydown", (event) => {
        const last = buttons.length - 1;
        const places = { ArrowRight: number === last ? 0 : number + 1, ArrowLeft: number ? number - 1 : last, Home: 0, End: last };
        const target = places[event.key];
        if (target === undefined) return;
        event.preventDefault();
        choose(target);
        buttons[target].focus();
      });
    });
    list.append(...buttons);
    node.prepend(list);
    if (panels.length) choose(0);
  }

  // A link to something within a closed part opens it.
  function reveal() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (target) target.scrollIntoView();
  }

  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((node) => { node.open = true; }));
  addEventListener("hashchange", reveal);
  themes();
  document.querySelectorAll("table.data").forEach(table);
  document.querySelectorAll("[data-tabs]").forEach(tabs);
  reveal();
  return { data, element, svg, table, tabs, number: (value) => NUMBER.format(value) };
})();
