// Shows any part of a status as HTML, in the words of `hostward status`: facts become a list of terms, lists of facts become tables.
// It knows no field by its name, so that a page shows every field that a daemon reports. Pure.
import { columnsOf, isBlock, isFacts, type StatusJson, say, titleOf, wordsOf } from '../../sync/report/words.ts';
import { type Html, html } from '../frame/html.ts';

/** Rows of a long table that are shown at once; the others are folded. */
const usualRows = 20;

/** The text of one cell; undefined for the text as it is. */
export type CellOf = (column: string, row: StatusJson) => Html | undefined;

interface Told {
  /** Texts that are above already, under this id. */
  texts: ReadonlySet<string>;
  id: string;
}

export function factsHtml(facts: StatusJson, level = 3, told?: Told): Html {
  const entries = Object.entries(facts).filter(([, value]) => value !== undefined);
  const plain = entries.filter(([, value]) => !isBlock(value));
  const blocks = entries.filter(([, value]) => isBlock(value));
  return html`${
    plain.length > 0 &&
    html`<dl>${plain.map(([name, value]) => html`<div><dt>${wordsOf(name)}</dt><dd>${toldHtml(value, told) ?? say(value)}</dd></div>`)}</dl>\n`
  }${blocks.map(([name, value]) => html`${heading(titleOf(name), level)}\n${blockHtml(name, value, level, told)}`)}`;
}

function heading(title: string, level: number): Html {
  const known = [html`<h3>${title}</h3>`, html`<h4>${title}</h4>`, html`<h5>${title}</h5>`, html`<h6>${title}</h6>`];
  return known[Math.min(level, 6) - 3] as Html;
}

export function blockHtml(name: string, value: unknown, level = 3, told?: Told): Html {
  if (isFacts(value)) return factsHtml(value, level + 1, told);
  const items = value as readonly unknown[];
  if (items.every(isFacts))
    return tableHtml(titleOf(name), items, { cellOf: (column, row) => toldHtml(row[column], told) });
  return html`<ul>${items.map((item) => html`<li>${toldHtml(item, told) ?? say(item)}</li>`)}</ul>\n`;
}

function toldHtml(value: unknown, told: Told | undefined): Html | undefined {
  return typeof value === 'string' && told?.texts.has(say(value))
    ? html`<a href="#${told.id}">told above</a>`
    : undefined;
}

export function tableHtml(
  caption: string,
  rows: readonly StatusJson[],
  { cellOf, rowsShown = usualRows }: { cellOf?: CellOf; rowsShown?: number } = {},
): Html {
  const columns = columnsOf(rows);
  const [shown, folded] = [rows.slice(0, rowsShown), rows.slice(rowsShown)];
  return html`${oneTable(caption, shown, { columns, cellOf })}${
    folded.length > 0 &&
    html`<details><summary>${folded.length} more</summary>
${oneTable(`${caption}, more`, folded, { columns, cellOf })}</details>\n`
  }`;
}

function oneTable(
  caption: string,
  rows: readonly StatusJson[],
  { columns, cellOf }: { columns: readonly string[]; cellOf: CellOf | undefined },
): Html {
  const isNumber = columns.map((name) => rows.every((row) => row[name] === undefined || typeof row[name] === 'number'));
  const kindOf = (at: number) => isNumber[at] === true && html` class="number"`;
  return html`<div class="wide" tabindex="0" role="region" aria-label="${caption}"><table>
<thead><tr>${columns.map((name, at) => html`<th scope="col"${kindOf(at)}>${wordsOf(name)}</th>`)}</tr></thead>
<tbody>
${rows.map(
  (row) =>
    html`<tr>${columns.map((name, at) => html`<td${kindOf(at)}>${cellOf?.(name, row) ?? say(row[name], '-')}</td>`)}</tr>\n`,
)}</tbody></table></div>
`;
}
