// Tables of measured values: a click on a heading sorts by its column, a second one in reverse.
document.querySelectorAll("table.sortable").forEach((table) => {
  const body = table.tBodies[0];
  table.querySelectorAll("th").forEach((heading, column) => {
    const sort = () => {
      const up = heading.ariaSort !== "ascending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.ariaSort = up ? "ascending" : "descending";
      const key = (row) => row.cells[column].textContent.trim();
      const compare = (a, b) => {
        const [x, y] = [parseFloat(a.replace(/,/g, "")), parseFloat(b.replace(/,/g, ""))];
        return isNaN(x) || isNaN(y) ? a.localeCompare(b) : x - y;
      };
      const filled = [...body.rows].filter((row) => key(row));
      const empty = [...body.rows].filter((row) => !key(row));
      filled.sort((a, b) => (up ? 1 : -1) * compare(key(a), key(b)));
      body.append(...filled, ...empty);
    };
    heading.tabIndex = 0;
    heading.addEventListener("click", sort);
    heading.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
});
