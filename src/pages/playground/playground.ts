// The playground: a page, and what it may ask. In: requests. Out: HTML, and answers as JSON to who knows the token. It reads no
// cluster, no file and no configuration; what people write is evaluated by a function that it is given, elsewhere.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type LocalReply, type LocalRequest, type LocalRoutes, plainReply } from '../../apiserver/local/routes.ts';
import { safeText } from '../../safe-text.ts';
import { Assets, assetsPath } from '../frame/assets.ts';
import { pageReply } from '../frame/frame.ts';
import { html } from '../frame/html.ts';
import { type Evaluate, type EvaluationKind, playgroundLimits } from '../playground-api.ts';
import { forScript } from '../script-headers.ts';

export const playgroundPath = '/playground';
const apiPath = '/api/';
const kinds: readonly EvaluationKind[] = ['render', 'test', 'eval'];

/** 192 bits, so that nobody guesses it. */
export function newToken(): string {
  return randomBytes(24).toString('base64url');
}

export interface PlaygroundOptions {
  evaluate: Evaluate;
  token: string;
  /** Whether the port has nothing else, so that `/` leads here. */
  isAlone: boolean;
  assets?: Assets;
}

export class Playground implements LocalRoutes {
  readonly #evaluate: Evaluate;
  readonly #digest: Buffer;
  readonly #isAlone: boolean;
  readonly #assets: Assets;

  constructor({ evaluate, token, isAlone, assets = new Assets() }: PlaygroundOptions) {
    this.#evaluate = evaluate;
    this.#digest = digestOf(token);
    this.#isAlone = isAlone;
    this.#assets = assets;
  }

  takes(path: string): { methods: readonly string[]; bodyBytes: number } | undefined {
    if (kindIn(path) !== undefined) return { methods: ['POST'], bodyBytes: playgroundLimits.bodyBytes };
    const isHere = path === playgroundPath || path.startsWith(assetsPath) || (this.#isAlone && path === '/');
    return isHere ? { methods: ['GET', 'HEAD'], bodyBytes: 0 } : undefined;
  }

  async answer(request: LocalRequest): Promise<LocalReply> {
    const { path } = request;
    const kind = kindIn(path);
    if (kind !== undefined) return forScript(request, await this.#api(kind, request));
    if (path === playgroundPath) return this.#page();
    if (path.startsWith(assetsPath)) return this.#assets.answer(path);
    // The browser keeps the fragment, and with it the token.
    if (path === '/') return { ...plainReply(302, playgroundPath), headers: { location: playgroundPath } };
    return plainReply(404, `the playground is at ${playgroundPath}`);
  }

  get #tokenPlace(): string {
    return this.#isAlone ? 'the address that hostward playground prints' : 'the link on the status page of the daemon';
  }

  async #page(): Promise<LocalReply> {
    const styleNonce = randomBytes(16).toString('base64url');
    const assets = this.#assets;
    return pageReply({
      title: 'Hostward playground',
      scripts: [await assets.path('playground.js')],
      styles: [await assets.path('pages.css'), await assets.path('playground.css')],
      links: [
        ...(this.#isAlone ? [] : [{ path: '/', words: 'Status' }]),
        { path: playgroundPath, words: 'Playground' },
      ],
      current: playgroundPath,
      head: html`<link rel="icon" href="${await assets.path('icon.svg')}">\n`,
      main: html`<div id="playground" data-style-nonce="${styleNonce}" data-token-place="${this.#tokenPlace}" data-examples="${await assets.path('examples.json')}">
<h1>Patch playground</h1>
<noscript><p>The playground needs JavaScript. On the command line, <code>hostward render --explain</code> shows the same.</p></noscript>
</div>`,
      policy: { styleNonce },
    });
  }

  async #api(kind: EvaluationKind, { headers, body }: LocalRequest): Promise<LocalReply> {
    const [, token = ''] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
    if (!timingSafeEqual(digestOf(token), this.#digest)) {
      return {
        ...refusal(401, `the token is missing or wrong; it is in ${this.#tokenPlace}`),
        headers: { 'www-authenticate': 'Bearer' },
      };
    }
    const evaluated = await this.#evaluate(kind, body.toString('utf8'));
    switch (evaluated.kind) {
      case 'answer':
        return { status: 200, contentType: 'application/json', text: evaluated.json };
      case 'busy':
        return { ...refusal(429, 'too many evaluations wait already; try again'), headers: { 'retry-after': '1' } };
      case 'wrong':
        return refusal(400, evaluated.message);
      case 'failed':
        return refusal(503, evaluated.message);
      default:
        return evaluated satisfies never;
    }
  }
}

function kindIn(path: string): EvaluationKind | undefined {
  return kinds.find((kind) => path === `${apiPath}${kind}`);
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function refusal(status: number, message: string): LocalReply {
  return { status, contentType: 'application/json', text: safeText(JSON.stringify({ message })) };
}
