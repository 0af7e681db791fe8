// The list of all objects, a page of it at a time, with a form that filters. In: a query and the rows that match. Out: HTML. Pure.
import type { ObjectPage, ObjectPageQuery } from '../../sync/report/look/object-page.ts';
import { isFacts, type StatusJson, say, stateOrder } from '../../sync/report/words.ts';
import { type Html, html } from '../frame/html.ts';
import { tableHtml } from './facts-html.ts';
import { objectLink, objectsPath } from './object-paths.ts';

/** As many as a person scrolls through. */
const rowsPerPage = 100;
/** A longer text is in no key. */
const longestText = 320;

/** Unknown members are left out, and an empty field of the form counts as none. */
export function objectsQuery(query: URLSearchParams): ObjectPageQuery {
  const given = (name: string): string | undefined =>
    meant(query.get(name) ?? '')
      .trim()
      .slice(0, longestText) || undefined;
  return {
    namespace: given('namespace'),
    state: given('state'),
    kind: given('kind'),
    text: given('text'),
    after: given('after'),
    before: given('before'),
    limit: rowsPerPage,
  };
}

/** A page shows an invisible character as an escape, and its form sends what it shows. No name has a backslash. */
function meant(text: string): string {
  return text.replace(/\\u([0-9a-f]{4})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

export function objectsMain(
  query: ObjectPageQuery,
  page: ObjectPage,
  { kinds, verdict }: { kinds: readonly string[]; verdict: unknown },
): Html {
  const { rows, matching } = page;
  return html`<h1>Objects</h1>
<p id="verdict" role="status" class="verdict ${isFacts(verdict) && verdict['isWell'] === false ? 'bad' : 'good'}">${isFacts(verdict) && say(verdict['sentence'])}</p>
${formHtml(query, kinds)}
<section id="list" aria-label="Objects">
<p>${matching === 0 ? 'No such object' : `${matching} ${matching === 1 ? 'object matches' : 'objects match'}, ${rows.length} on this page`}</p>
${rows.length > 0 && tableOf(rows.map((row) => inOrder({ ...row })))}${linksHtml(query, page)}</section>`;
}

/** All rows at once: the page is the fold. */
function tableOf(rows: readonly StatusJson[]): Html {
  const cellOf = (column: string, row: StatusJson): Html | undefined =>
    column === 'object' ? objectLink(say(row['object']), say(row['object']), kindOf(row)) : undefined;
  return tableHtml('Objects', rows, { cellOf, rowsShown: rowsPerPage });
}

function kindOf({ kind }: StatusJson): string | undefined {
  return typeof kind === 'string' ? kind : undefined;
}

/** Fixes the order of the columns, because the first rows may lack some members. */
function inOrder({ object, kind, state, sinceSeconds, message, ...more }: StatusJson): StatusJson {
  return {
    object,
    ...(kind !== undefined && { kind }),
    state,
    ...(sinceSeconds !== undefined && { sinceSeconds }),
    ...more,
    ...(message !== undefined && { message }),
  };
}

function formHtml({ namespace, state, kind, text }: ObjectPageQuery, kinds: readonly string[]): Html {
  return html`<form method="get" action="${objectsPath}" class="filter" role="search">
${field('text', 'Name contains', text)}${field('namespace', 'Namespace', namespace)}${choice('state', 'State', state, stateOrder)}${kinds.length > 1 && choice('kind', 'Kind', kind, kinds)}<button type="submit">Filter</button> <a href="${objectsPath}">all</a>
</form>
`;
}

function field(name: string, words: string, value: string | undefined): Html {
  return html`<label>${words} <input name="${name}" value="${value}" autocomplete="off" spellcheck="false"></label>\n`;
}

function choice(name: string, words: string, value: string | undefined, choices: readonly string[]): Html {
  // A state with its reason, such as refused/NotOwned, comes from a link or an address.
  const all = value === undefined || choices.includes(value) ? choices : [value, ...choices];
  const options = all.map((one) => html`<option${one === value && html` selected`}>${one}</option>`);
  return html`<label>${words} <select name="${name}"><option value="">any</option>${options}</select></label>\n`;
}

function linksHtml(query: ObjectPageQuery, { first, last, hasBefore, hasAfter }: ObjectPage): Html {
  const to = (place: Record<string, string | undefined>): string => {
    const { namespace, state, kind, text } = query;
    const given = Object.entries({ namespace, state, kind, text, ...place }).filter((entry) => entry[1] !== undefined);
    return `${objectsPath}?${new URLSearchParams(given as [string, string][])}`;
  };
  return html`<nav class="paging" aria-label="Further objects">${hasBefore && html`<a rel="prev" href="${to({ before: first ?? query.after })}">earlier names</a> `}${hasAfter && html`<a rel="next" href="${to({ after: last ?? query.before })}">later names</a>`}</nav>
`;
}
