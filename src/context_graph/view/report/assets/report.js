
"use strict";
(() => {
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const SHORT = 8; // rows that can be seen at a glance need no search
  const fold = (text) => text.toLowerCase();

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  const tables = {};

  class Table {
    constructor(box) {
      this.box = box;
      tables[box.dataset.name] = this;
      const data = JSON.parse(box.querySelector("script").textContent);
      this.columns = data.columns;
      this.size = data.page;
      this.rows = data.rows;
      this.found = this.rows;
      this.at = 0;
      this.by = data.sorted;
      this.down = true;
      this.hay = null;
      this.body = box.querySelector("tbody");
      this.heads = [...box.querySelectorAll("th")];
      this.heads.forEach((head, column) => this.makeButton(head, column));
      const tools = this.makeTools(box.querySelector("caption").textContent);
      if (this.rows.length > SHORT) box.prepend(tools);
      box.querySelector(".without")?.remove();
    }

    makeButton(head, column) {
      const button = element("button", { type: "button", textContent: head.textContent });
      button.addEventListener("click", () => this.sort(column));
      head.replaceChildren(button);
    }

    makeTools(name) {
      const search = element("input", { type: "search", autocomplete: "off", spellcheck: false });
      this.input = search;
      search.setAttribute("aria-label", `Search: ${name}`);
      search.addEventListener("input", () => this.search(search.value));
      this.status = element("span", {});
      this.status.setAttribute("role", "status");
      this.back = element("button", { type: "button", textContent: "Previous" });
      this.next = element("button", { type: "button", textContent: "Next" });
      this.back.setAttribute("aria-label", `Previous page of ${name}`);
      this.next.setAttribute("aria-label", `Next page of ${name}`);
      this.back.addEventListener("click", () => this.turn(-1));
      this.next.addEventListener("click", () => this.turn(1));
      const label = element("label", {}, "Search ", search);
      return element("div", { className: "tools" }, label, this.back, this.next, this.status);
    }

    value(row, column) {
      const values = this.columns[column].values;
      return values ? values[row[column]] : row[column];
    }

    text(row, column) {
      const value = this.value(row, column);
      if (value === null) return "";
      const { kind, digits } = this.columns[column];
      if (kind === "time") return new Date(value * 1000).toISOString().slice(0, 16).replace("T", " ");
      return kind === "number" ? value.toFixed(digits) : value;
    }

    look(row, column) {
      const { kind, look } = this.columns[column];
      const word = kind === "state" ? this.text(row, column).split(/[ :]/)[0] : "";
      return word ? `state ${word}` : look;
    }

    search(words) {
      this.hay ??= new Map(this.rows.map((row) => [row, fold(row.map((_, at) => this.text(row, at)).join("\n"))]));
      const wanted = fold(words).split(/\s+/).filter(Boolean);
      this.found = this.rows.filter((row) => wanted.every((word) => this.hay.get(row).includes(word)));
      this.at = 0;
      this.show();
    }

    lookFor(words) {
      if (this.rows.length > SHORT) {
        this.input.value = words;
        this.search(words);
      }
      this.box.scrollIntoView();
    }

    has(id) {
      const at = this.heads.findIndex((head) => head.textContent === "Id");
      this.ids ??= new Set(this.rows.map((row) => this.text(row, at)));
      return this.ids.has(id);
    }

    filled(row, column) {
      const text = this.text(row, column);
      const goal = text && tables[this.columns[column].leads];
      if (!goal || !goal.has(text)) return text; // of an imported session there are memories alone
      const button = element("button", { type: "button", className: "lead", textContent: text });
      button.addEventListener("click", () => goal.lookFor(text));
      return button;
    }

    sort(column) {
      const isText = !["number", "time"].includes(this.columns[column].kind);
      this.down = this.by === column ? !this.down : !isText;
      this.by = column;
      const sign = this.down ? -1 : 1;
      const compare = (one, other) => {
        const [a, b] = [this.value(one, column), this.value(other, column)];
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * (isText ? collator.compare(a, b) : a - b);
      };
      this.rows = [...this.rows].sort(compare);
      this.found = [...this.found].sort(compare);
      this.at = 0;
      this.show();
    }

    turn(pages) {
      this.at += pages * this.size;
      this.show();
    }

    show() {
      const page = this.found.slice(this.at, this.at + this.size);
      const cell = (row, at) => {
        const made = element("td", { className: this.look(row, at) }, this.filled(row, at));
        made.dataset.head = this.heads[at].textContent;
        return made;
      };
      this.body.replaceChildren(
        ...page.map((row) => element("tr", {}, ...row.map((_, at) => cell(row, at)))),
      );
      this.heads.forEach((head, at) => {
        if (at === this.by) head.setAttribute("aria-sort", this.down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      this.back.disabled = this.at === 0;
      this.next.disabled = this.at + this.size >= this.found.length;
      const total = this.found.length.toLocaleString("en");
      this.status.textContent = page.length
        ? `${(this.at + 1).toLocaleString("en")} to ${(this.at + page.length).toLocaleString("en")} of ${total}`
        : "nothing found";
    }
  }

  document.querySelectorAll(".rows").forEach((box) => new Table(box));
  Object.values(tables).forEach((table) => table.show()); // now that each knows the others
  document.querySelectorAll("[data-id]").forEach((one) => {
    one.addEventListener("click", (event) => {
      event.preventDefault();
      tables[one.dataset.table]?.lookFor(one.dataset.id);
    });
  });
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((one) => { one.open = true; });
  });
})();
