// The pages that a daemon shows to people: `/`, `/objects` and `/objects/NAMESPACE/NAME`. In: functions that answer what the daemon
// knows, and requests. Out: HTML, or 304 while nothing is new. Pages change nothing. This room must never decide what is well: facts
// and words come from sync/report.
import { createHash } from 'node:crypto';
import { type LocalReply, type LocalRequest, type LocalRoutes, plainReply } from '../apiserver/local/routes.ts';
import { forwardSentence } from '../apiserver/local/strangers.ts';
import type { Clock } from '../clock.ts';
import { statusCommand } from '../sync/report/attention/own-commands.ts';
import { objectRemedies, unreadRemedy } from '../sync/report/attention/remedies.ts';
import type { PageFacts } from '../sync/report/look/page-facts.ts';
import { isFacts, type StatusJson } from '../sync/report/words.ts';
import { Assets, assetsPath } from './frame/assets.ts';
import { type PageParts, pageReply } from './frame/frame.ts';
import { type Html, html } from './frame/html.ts';
import { forScript } from './script-headers.ts';
import { objectMain } from './status/object-page.ts';
import { keyInPath, objectsPath } from './status/object-paths.ts';
import { objectsMain, objectsQuery } from './status/objects-page.ts';
import { statusMain } from './status/status-page.ts';

export interface PagesAnswers {
  clock: Clock;
  /** What `hostward status -o json` prints. */
  status(): unknown;
  facts: PageFacts;
  /** Of the local address, for the command that leads to it. */
  port(): number;
  /** Further pages of the port, for the navigation. */
  links?: PageParts['links'];
}

const readOnly = { methods: ['GET', 'HEAD'], bodyBytes: 0 };
/** Several people may look at once; none of them sees a difference within a second. */
const statusIsGoodForMs = 1_000;
const links = [
  { path: '/', words: 'Status' },
  { path: objectsPath, words: 'Objects' },
];

interface Page {
  title: string;
  main: Html;
  status?: number;
}

export class Pages implements LocalRoutes {
  readonly #answers: PagesAnswers;
  readonly #assets: Assets;
  #known: { atMs: number; asOf: Date; status: StatusJson; version: string } | undefined;

  constructor(answers: PagesAnswers, assets = new Assets()) {
    this.#answers = answers;
    this.#assets = assets;
  }

  takes(path: string): { methods: readonly string[]; bodyBytes: number } | undefined {
    const isOurs =
      path === '/' || path === objectsPath || path.startsWith(`${objectsPath}/`) || path.startsWith(assetsPath);
    return isOurs ? readOnly : undefined;
  }

  async answer(request: LocalRequest): Promise<LocalReply> {
    const { path, headers } = request;
    if (path.startsWith(assetsPath)) return this.#assets.answer(path);
    if (!request.isLoopback)
      return plainReply(403, forwardSentence('a page names objects', { port: this.#answers.port(), path: '/' }));
    const { version: ofStatus, asOf } = this.#now();
    const ofObjects = path === '/' ? '' : this.#answers.facts.changes();
    const navigation = [...links, ...(this.#answers.links ?? [])];
    const known = `${ofStatus} ${ofObjects} ${JSON.stringify(navigation)}`;
    // Weak, because ages differ in every answer.
    const etag = `W/"${createHash('sha256').update(known).digest('base64url').slice(0, 22)}"`;
    if (headers['if-none-match'] === etag)
      return { status: 304, contentType: 'text/html; charset=utf-8', text: '', headers: { etag } };
    const { title, main, status = 200 } = await this.#page(request);
    const reply = pageReply({
      title: `${title} · Hostward`,
      scripts: [await this.#assets.path('status.js')],
      styles: [await this.#assets.path('pages.css')],
      head: html`<link rel="icon" href="${await this.#assets.path('icon.svg')}">\n`,
      links: navigation,
      current: path,
      main: html`<p class="asof">As of <time id="asof" datetime="${asOf.toISOString()}">${asOf.toISOString().replace(/\.\d+Z$/, 'Z')}</time><span id="unchanged"></span></p>
<div id="page" data-version="${etag}">
${main}
</div>`,
      // The filter.
      policy: { hasForm: path === objectsPath },
      status,
      headers: { etag },
    });
    return forScript(request, reply);
  }

  async #page({ path, query, headers }: LocalRequest): Promise<Page> {
    const { facts } = this.#answers;
    const { status, asOf } = this.#now();
    if (path === '/')
      return {
        title: 'Status',
        main: statusMain(status, facts.lastHour(), { asOf, address: addressIn(headers.host) }),
      };
    if (path === objectsPath) {
      const asked = objectsQuery(query);
      const kinds = facts.kinds();
      return {
        title: 'Objects',
        main: objectsMain(asked, await facts.page(asked), { kinds, verdict: status['verdict'] }),
      };
    }
    const key = keyInPath(path);
    if (key === undefined)
      return {
        title: 'No such page',
        main: html`<h1>No such page</h1><p>Wanted ${objectsPath}/NAMESPACE/NAME.</p>`,
        status: 404,
      };
    const found = await facts.details(key);
    const address = addressIn(headers.host);
    const kind = query.get('kind') ?? undefined;
    const kinds = [...found.objects.map(({ status }) => status.kind), ...found.contents.map((one) => one.kind)];
    const isKnown = kind === undefined ? kinds.length > 0 : kinds.includes(kind);
    return {
      title: key,
      main: objectMain(key, found, {
        kind,
        command: statusCommand(status, key, address),
        remediesFor: (object) => objectRemedies({ status, address }, object),
        unreadRemedy: (sentence) => unreadRemedy({ status, address }, sentence),
      }),
      ...(!isKnown && { status: 404 }),
    };
  }

  /** The status, at most a second old. */
  #now(): { asOf: Date; status: StatusJson; version: string } {
    const { clock } = this.#answers;
    const atMs = clock.now();
    if (this.#known !== undefined && atMs - this.#known.atMs < statusIsGoodForMs) return this.#known;
    const answer = this.#answers.status();
    const status = isFacts(answer) ? answer : {};
    const version = createHash('sha256').update(JSON.stringify(status, withoutAges)).digest('base64url');
    this.#known = { atMs, asOf: clock.wallTime(), status, version };
    return this.#known;
  }
}

/** As the browser reaches the daemon, perhaps through a tunnel. */
function addressIn(host = ''): string | undefined {
  return host === '' || /:\d+$/.test(host) ? host || undefined : `${host}:80`;
}

/** Ages grow with every look, and are no news. */
function withoutAges(name: string, value: unknown): unknown {
  if (name === 'sentence' || name === 'part') return String(value).replace(/\d+ s old/g, 'old');
  return /[sS]econds(Ago)?$/.test(name) ? undefined : value;
}
