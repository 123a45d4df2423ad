'use strict';
// What the page can do beyond being read: sort, filter and switch tables, follow the reader, open folds, read off figures.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, name, text = '') => Object.assign(document.createElement(tag), { className: name, textContent: text });
  const button = (name, text, act) => {
    const made = make('button', name, text);
    made.type = 'button';
    made.addEventListener('click', act);
    return made;
  };

  // Numbers as the report writes them: true minus signs, thin spaces, powers of ten, percent, intervals behind them.
  const digits = { '⁻': '-', '⁰': 0, '¹': 1, '²': 2, '³': 3, '⁴': 4, '⁵': 5, '⁶': 6, '⁷': 7, '⁸': 8, '⁹': 9 };
  const pattern = /^[<>≤≥±+○●▲■◆\s]*(-?\d[\d]*\.?\d*)(?:×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?/;
  const value = (text) => {
    const found = pattern.exec(text.replaceAll('−', '-').replace(/(?<=\d)[\u202f\u2009](?=\d)/g, '').replace(/\s*×\s*/, '×'));
    if (!found) return NaN;
    const power = [...(found[2] || '⁰')].map((one) => digits[one]).join('');
    return Number(found[1]) * 10 ** Number(power);
  };
  const empty = (text) => text === '' || text === '–';
  const compare = (one, other) => {
    if (empty(one) || empty(other)) return 0;
    const [a, b] = [value(one), value(other)];
    return Number.isNaN(a) || Number.isNaN(b) ? one.localeCompare(other, undefined, { numeric: true }) : a - b;
  };

  const sort = (table, column, head) => {
    const up = head.getAttribute('aria-sort') !== 'ascending' ? 1 : -1;
    all('[aria-sort]', table).forEach((one) => one.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', up > 0 ? 'ascending' : 'descending');
    const body = table.tBodies[0];
    const text = (row) => row.cells[column].textContent.trim();
    const rows = [...body.rows].map((row) => [text(row), row]);
    rows.sort(([a], [b]) => empty(a) - empty(b) || up * compare(a, b));
    body.append(...rows.map(([, row]) => row));
  };

  const filter = (table, tools) => {
    const label = make('label', '', 'Filter rows ');
    const field = Object.assign(make('input', ''), { type: 'search' });
    const count = make('span', '');
    count.setAttribute('role', 'status');
    field.addEventListener('input', () => {
      const wanted = field.value.trim().toLowerCase();
      const rows = [...table.tBodies[0].rows];
      rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
      count.textContent = wanted ? `${rows.filter((row) => !row.hidden).length} of ${rows.length}` : '';
    });
    label.append(field);
    tools.append(label, count);
  };

  // Columns on prediction, loss or uncertainty; the others concern all of them.
  const measures = { prediction: /prediction/i, loss: /\bloss|likelihood|\bcost/i, uncertainty: /uncertain|entropy/i };
  const switches = (table, heads, tools) => {
    const about = heads.map((head) => Object.keys(measures).find((name) => measures[name].test(head.textContent)));
    const named = Object.keys(measures).filter((name) => about.includes(name));
    if (named.length < 2) return;
    const buttons = ['all', ...named].map((name) => button('tool', name, () => {
      buttons.forEach((one) => one.setAttribute('aria-pressed', one.textContent === name));
      [...table.rows].forEach((row) => [...row.cells].forEach((cell, place) => {
        cell.hidden = name !== 'all' && about[place] !== undefined && about[place] !== name;
      }));
    }));
    buttons.forEach((one, place) => one.setAttribute('aria-pressed', place === 0));
    const group = make('span', 'tools');
    group.setAttribute('role', 'group');
    group.setAttribute('aria-label', 'Columns');
    group.append('Columns about', ...buttons);
    tools.append(group);
  };

  // Some browsers no longer expose a table that is laid out as cards as a table.
  const roles = { TABLE: 'table', THEAD: 'rowgroup', TBODY: 'rowgroup', TR: 'row', TD: 'cell' };
  all('.tabular :is(table, thead, tbody, tr, td)').forEach((one) => one.setAttribute('role', roles[one.tagName]));
  all('.tabular th').forEach((head) => head.setAttribute('role', head.scope === 'row' ? 'rowheader' : 'columnheader'));

  all('table').filter((table) => table.tHead && table.tBodies.length).forEach((table) => {
    const heads = [...table.tHead.rows[0].cells];
    const rows = table.tBodies[0].rows.length;
    const tools = make('div', 'tools');
    if (rows > 2) {
      heads.forEach((head, column) => {
        const made = button('sort', '', () => sort(table, column, head));
        made.append(...head.childNodes);
        head.append(made);
      });
    }
    switches(table, heads, tools);
    if (rows > 12) filter(table, tools);
    const region = table.closest('.scroll');
    if (tools.childNodes.length && region) region.before(tools);
  });

  // The contents follow the reader.
  const links = new Map(all('.contents a').map((link) => [link.hash.slice(1), link]));
  const targets = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  let marked = null;
  const follow = () => {
    const passed = targets.filter((target) => target.getBoundingClientRect().top < innerHeight / 4);
    const link = links.get((passed.at(-1) || targets[0] || {}).id);
    if (!link || link === marked) return;
    if (marked) marked.removeAttribute('aria-current');
    link.setAttribute('aria-current', 'true');
    marked = link;
    const list = link.closest('.contents');
    if (list.scrollHeight > list.clientHeight) list.scrollTop = link.offsetTop - list.clientHeight / 2;
  };
  let waiting = false;
  addEventListener('scroll', () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; follow(); });
  }, { passive: true });
  follow();

  // Folds: all at once, what a link leads to, and on paper.
  const folds = all('details');
  const contents = document.querySelector('.contents');
  if (folds.length && contents) {
    let open = false;
    const every = button('tool', 'Open all folds', () => {
      open = !open;
      folds.forEach((fold) => { fold.open = open; });
      every.textContent = open ? 'Close all folds' : 'Open all folds';
    });
    contents.append(every);
  }
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    let fold = target.closest('details');
    const hidden = fold && !fold.open;
    for (; fold; fold = fold.parentElement.closest('details')) fold.open = true;
    if (hidden) target.scrollIntoView();
  };
  addEventListener('hashchange', reveal);
  reveal();
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = folds.filter((fold) => !fold.open);
    closed.forEach((fold) => { fold.open = true; });
  });
  addEventListener('afterprint', () => closed.forEach((fold) => { fold.open = false; }));

  // Values under the pointer: a figure says the frame and the scale of each pair of axes.
  const round = (number, step) => {
    const places = Math.min(6, Math.max(0, Math.ceil(-Math.log10(Math.abs(step) || 1))));
    return number.toFixed(places).replace('-', '−');
  };
  all('svg[data-axes]').forEach((figure) => {
    const frames = JSON.parse(figure.dataset.axes);
    const line = make('p', 'readout');
    line.setAttribute('aria-hidden', 'true');
    figure.closest('.card').after(line);
    figure.addEventListener('pointermove', (event) => {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(figure.getScreenCTM().inverse());
      const inside = frames.find(({ box: [left, top, right, bottom] }) =>
        place.x >= left && place.x <= right && place.y >= top && place.y <= bottom);
      line.textContent = inside ? ['x', 'y'].filter((axis) => inside[axis]).map((axis) => {
        const [left, top, right, bottom] = inside.box;
        const share = axis === 'x' ? (place.x - left) / (right - left) : (bottom - place.y) / (bottom - top);
        const [name, low, high] = inside[axis];
        return `${name || axis} ${round(low + share * (high - low), (high - low) / 100)}`;
      }).join(' · ') : '';
    });
    figure.addEventListener('pointerleave', () => { line.textContent = ''; });
  });
})();
