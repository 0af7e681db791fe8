// Everything about one name: for each kind why it is or is not on the host, both sides, what would be written, and its patches. In:
// details as plain data. Out: HTML. Values of Secrets and ConfigMaps are not in the data. Pure.

import type { Remedy } from '../../sync/report/attention/remedies.ts';
import type { ContentDetail } from '../../sync/report/look/content-detail.ts';
import type { DetailPatch, ObjectDetail } from '../../sync/report/look/object-detail.ts';
import { type StatusJson, say } from '../../sync/report/words.ts';
import { type Html, html } from '../frame/html.ts';
import { factsHtml, tableHtml } from './facts-html.ts';
import { objectLink, objectPath } from './object-paths.ts';

export interface FoundDetails {
  objects: readonly ObjectDetail[];
  contents: readonly ContentDetail[];
  /** The kinds that the daemon looks at. */
  lookedAt: readonly string[];
  /** What it cannot read of them now, in sentences. */
  unread: readonly string[];
}

interface Reading {
  kind: string | undefined;
  /** Shows the same on the command line. */
  command: string;
  /** What a person does about an object in trouble. */
  remediesFor?: (object: ObjectDetail['status'] | ContentDetail) => readonly Remedy[];
  unreadRemedy?: (sentence: string) => Remedy;
}

export function objectMain(key: string, found: FoundDetails, reading: Reading): Html {
  const { objects, contents } = found;
  const { kind } = reading;
  const kinds = [...objects.map(({ status }) => status.kind ?? ''), ...contents.map((one) => one.kind)];
  const isShown = (one: string | undefined): boolean => kind === undefined || one === kind;
  const shown = [
    ...objects.filter(({ status }) => isShown(status.kind)).map((one) => objectHtml(one, reading)),
    ...contents.filter((one) => isShown(one.kind)).map((one) => contentHtml(one, reading)),
  ];
  return html`<h1>${key}</h1>
${kinds.length > 1 && objectPath(key) !== undefined && html`<p>Kinds of this name: <a href="${objectPath(key)}"${kind === undefined && html` aria-current="page"`}>all</a>${kinds.map((one) => html` <a href="${objectPath(key, one)}"${one === kind && html` aria-current="page"`}>${one}</a>`)}</p>\n`}${shown.length === 0 && nothingHtml(key, found, reading)}${shown}`;
}

/** Only what can be read can be known to be absent. */
function nothingHtml(key: string, { lookedAt, unread }: FoundDetails, { kind, unreadRemedy }: Reading): Html {
  if (objectPath(key) === undefined) return html`<p>No object can have this name.</p>`;
  if (lookedAt.length === 0)
    return html`<p>No object is known here: the first lists are not in, or nothing is synced.</p>`;
  if (kind !== undefined && !lookedAt.includes(kind))
    return html`<p>Hostward does not look at ${kind} here, only at ${lookedAt.join(', ')}: it does not know whether there is one of this name.</p>`;
  const wanted = kind ?? lookedAt.join(' or ');
  if (unread.length === 0)
    return html`<p>The virtual cluster has no ${wanted} of this name, and the host has no copy of one.</p>`;
  return html`<p class="bad">No ${wanted} of this name is known, and it is not known whether there is one: ${unread.join('; ')}.</p>
${remediesHtml(unread.flatMap((one) => unreadRemedy?.(one) ?? []))}`;
}

/** Above what may be older. */
function olderHtml(unread: readonly string[] | undefined): Html | undefined {
  return unread && html`<p class="bad">This may be what was true before: ${unread.join('; ')}</p>\n`;
}

function remediesHtml(found: readonly Remedy[] = []): Html[] {
  return found.map(({ remedy, command }) => html`<p class="remedy">${remedy}: <code>${command}</code></p>\n`);
}

function objectHtml(
  { status, virtual, host, plan, diff, lastWrite, patches }: ObjectDetail,
  { command, remediesFor }: Reading,
): Html {
  const id = status.kind ?? 'object';
  const { references: behind = [], state, message, contestedBy, unread, ...why } = status;
  const references = behind.map((one): StatusJson => ({ ...one }));
  return html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${status.kind}</h2>
<p class="verdict ${toneOf(status)}"><strong>${state}</strong>${message !== undefined && html`: ${message}`}${contestedBy !== undefined && html`; contested by ${contestedBy}, who keeps changing the host copy`}</p>
${olderHtml(unread)}${remediesHtml(remediesFor?.(status))}${references.length > 0 && html`<h3>What its references lead to</h3>\n${tableHtml('References', references, { cellOf: referenceCell })}`}<h3>What would be written</h3>
<p>${message !== undefined && plan === `nothing: ${message}` ? 'nothing, for the reason above' : plan}</p>
${diff !== undefined && diffHtml(diff, 'The planned write')}${
  lastWrite &&
  html`<h3>Last write</h3>
<p>${lastWrite.request}, ${say(lastWrite.secondsAgo)} s ago</p>
${lastWrite.diff === undefined ? html`<p class="quiet">too long to be kept</p>` : diffHtml(lastWrite.diff, 'The last write')}`
}<h3>Patches that match it</h3>
${patches.length === 0 ? html`<p class="quiet">none</p>` : patches.map(patchHtml)}
<h3>Both sides</h3>
<div class="sides">
${sideHtml('Virtual', virtual)}${sideHtml('Host', host)}</div>
<h3>Why</h3>
${factsHtml(why as unknown as StatusJson, 4)}<p class="remedy">On the command line: <code>${command}</code></p>
</section>
`;
}

/** In sync with a reason is in sync, but not whole. */
function toneOf({ state, contestedBy }: { state: string; contestedBy?: string }): string {
  const [kind, reason] = state.split('/') as [string, string?];
  // What is left alone is neither well nor in trouble.
  if (kind === 'left' || state === 'not referenced') return 'left';
  const isBad = ['refused', 'waiting', 'retry', 'pending', 'unresolved', 'unread'].includes(kind);
  return isBad || contestedBy !== undefined || (kind === 'inSync' && reason !== undefined) ? 'bad' : 'good';
}

/** `Secret shop/tls` leads to the page of that object. */
function referenceCell(column: string, { object }: StatusJson): Html | undefined {
  const [kind, key] = say(object).split(' ') as [string, string?];
  return column === 'object' && key !== undefined ? objectLink(object as string, key, kind) : undefined;
}

/** Lines are text; their first character says what they are, so that colour is not needed to read them. */
function diffHtml(diff: string, label: string): Html {
  const lines = diff.replace(/\n$/, '').split('\n');
  const classOf = (line: string): string =>
    line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same';
  return html`<pre class="diff" tabindex="0" role="region" aria-label="${label}">${lines.map((line) => html`<span class="${classOf(line)}">${line}\n</span>`)}</pre>
`;
}

function patchHtml({
  patch,
  path,
  expression,
  reverseExpression,
  meaning,
  matches,
  failure,
  notTried,
}: DetailPatch): Html {
  return html`<div class="patch">
<p>patch ${patch}: <code>${path}</code>, ${notTried ?? `${matches} ${matches === 1 ? 'match' : 'matches'}`}</p>
${meaning !== undefined && html`<p class="quiet">${meaning}</p>\n`}${expression !== undefined && html`<p class="quiet">forward</p><pre tabindex="0" role="region" aria-label="Expression of patch ${patch}">${expression}</pre>`}${reverseExpression !== undefined && html`<p class="quiet">back</p><pre tabindex="0" role="region" aria-label="Reverse expression of patch ${patch}">${reverseExpression}</pre>`}${
  failure &&
  html`<p class="bad">failed at <code>${failure.at}</code> (${failure.class}): ${failure.message}${failure.source !== undefined && html`; in the configuration: ${failure.source}`}</p>`
}</div>
`;
}

function sideHtml(name: string, yaml: string | undefined): Html {
  return html`<div><h4>${name}</h4>
${yaml === undefined ? html`<p class="quiet">missing</p>` : html`<pre tabindex="0" role="region" aria-label="${name} side">${yaml}</pre>`}
</div>
`;
}

function contentHtml(detail: ContentDetail, { remediesFor }: Reading): Html {
  const { kind, state, message, unread, ...facts } = detail;
  return html`<section id="${kind}" aria-labelledby="${kind}-title">
<h2 id="${kind}-title">${kind}</h2>
<p class="verdict ${toneOf(detail)}"><strong>${state}</strong>${message !== undefined && html`: ${message}`}</p>
${olderHtml(unread)}${remediesHtml(remediesFor?.(detail))}<p class="quiet">Values are never shown. Digests are equal when both sides hold the same.</p>
${factsHtml(facts as unknown as StatusJson)}</section>
`;
}
