// Tables that sort by any column, and the start.

function sortTable(table, column, down) {
  const body = table.tBodies[0], rows = [...body.rows];
  const key = (row) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  rows.sort((a, b) => {
    const x = key(a), y = key(b);
    const order = typeof x === 'string' ? x.localeCompare(y) : x - y;
    return down ? -order : order;
  });
  body.append(...rows);
}

function setUpTables() {
  for (const button of document.querySelectorAll('th button')) {
    const heading = button.parentElement, table = heading.closest('table');
    button.addEventListener('click', () => {
      const down = heading.getAttribute('aria-sort') !== 'descending';
      for (const other of table.querySelectorAll('th'))
        other.removeAttribute('aria-sort');
      heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      sortTable(table, heading.cellIndex, down);
    });
  }
}

/** Also when the system turns dark or light. */
function recolour() {
  readColours();
  cellPicture = hatching = null;
  drawAll();
}

function start() {
  readColours();
  setUpView();
  setUpTables();
  addChart('memory-chart', drawMemory, describeMemory);
  addChart('map-chart', drawMap, describeMap);
  addChart('streams-chart', drawStreams, describeStreams);
  window.addEventListener('resize', drawAll);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour);
  for (const chart of view.charts)
    drawChart(chart);
  show(0, run.ns);
  document.documentElement.dataset.ready = String(view.charts.length);
}

start();
