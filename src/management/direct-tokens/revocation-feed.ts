// Serves the revocation feed to verifiers of direct tokens: GET /revocations, or /agent/CLUSTER/revocations below the management
// API. In: the ledger. Out: the list of revocations, or a stream that begins with the list and goes on with every change and a
// sign of life every few seconds. An entry may come twice, but its generation never falls, so a reader can simply add each entry
// to its own list.
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { OtherPaths, StreamTrail } from '../../apiserver/discovery/serve-path.ts';
import { deniedBecause } from '../../apiserver/request/denial.ts';
import type { Decision, User } from '../../apiserver/request/identity.ts';
import { isTrue } from '../../apiserver/request/query.ts';
import { badRequest, methodNotAllowed, StatusFault } from '../../apiserver/request/status-fault.ts';
import { splitUrl, type Target } from '../../apiserver/request/target.ts';
import { sendJson } from '../../apiserver/wire/respond.ts';
import type { Clock, Timer } from '../../clock.ts';
import { tooManyRequests } from '../../object/meta/status.ts';
import { entryText } from '../tokens/revocations.ts';
import { type FeedLines, FeedReader } from './feed-reader.ts';
import type { TokenLedger } from './token-ledger.ts';

export interface FeedParts {
  ledger: TokenLedger;
  issuer: string;
  clock: Clock;
  /** Whether the caller may read `/agent/CLUSTER/revocations`. */
  mayRead(user: User, target: Target): Decision;
}

/** Far below the thirty seconds after which an endpoint no longer trusts a silent feed. */
export const heartbeatMs = 5_000;
const longestWatchSeconds = 3_600;
const defaultWatchSeconds = 2_700;
/** Lines in one piece: a piece is written as a whole, and the next one when the reader has taken it. */
const chunkLines = 500;
/** Enough for one reader of each endpoint, and for endpoints that are being replaced. */
const maxReaders = 1_000;
const agentPath = /^\/agent\/[^/]+\/revocations$/;

interface Following {
  user: User;
  trail: StreamTrail;
}

interface Reader {
  user: User;
  end(): void;
}

export class RevocationFeed {
  readonly #parts: FeedParts;
  /** Marks the positions of this run of the server; positions of another run are invalid. */
  readonly #run = randomUUID().slice(0, 8);
  readonly #readers = new Set<Reader>();
  #shared: (FeedLines & { after: number }) | undefined;

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  paths(otherwise: OtherPaths): OtherPaths {
    return async (target, request, response, user, trail) => {
      const { path } = splitUrl(request.url ?? '');
      const isForAll = target.path === '' && path === '/revocations';
      if (!isForAll && !agentPath.test(target.path)) return otherwise(target, request, response, user, trail);
      if (request.method !== 'GET') throw methodNotAllowed();
      if (isForAll) this.#checkRight(user, target);
      const asked = askedIn(target.query);
      if (asked.isWatch) await this.#watch(asked, { user, trail }, response);
      else sendJson(response, 200, JSON.stringify(this.#list(0)), noStore);
      return true;
    };
  }

  /** Ends the streams of callers whose keys no longer count. */
  closeUnless(mayGoOn: (user: User) => boolean): void {
    for (const reader of [...this.#readers]) if (!mayGoOn(reader.user)) reader.end();
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** Asks for a name that no cluster can have: only a caller with the right for all clusters may read that. */
  #checkRight(user: User, target: Target): void {
    const decision = this.#parts.mayRead(user, { ...target, verb: 'get', path: '/agent/*/revocations' });
    if (decision.allowed) return;
    throw new StatusFault(deniedBecause(user, { ...target, path: '/revocations' }, decision.reason));
  }

  #list(after: number): object {
    const { ledger, issuer } = this.#parts;
    return {
      apiVersion: 'management.platform/v1',
      kind: 'RevocationList',
      metadata: { resourceVersion: this.#version(ledger.position) },
      issuer,
      time: this.#now(),
      items: ledger.entriesAfter(after).map(entryText),
    };
  }

  async #watch({ after, seconds }: Asked, { user, trail }: Following, response: ServerResponse): Promise<void> {
    if (this.#readers.size >= maxReaders)
      throw new StatusFault(tooManyRequests(`at most ${maxReaders} readers follow the revocations`, 5));
    const { ledger, clock } = this.#parts;
    const startedMs = clock.now();
    response.writeHead(200, { 'content-type': 'application/json', ...noStore });
    void trail.streamStarts();
    const sending = new FeedReader(
      {
        ...{ response, clock },
        linesAfter: (position) => this.#linesAfter(position),
        newest: () => ledger.position,
        mark: (position) => ({ type: 'BOOKMARK', object: this.#mark(position) }),
      },
      this.#positionIn(after),
    );
    sending.wake();
    let heartbeat: Timer;
    const beat = () => {
      sending.beat();
      heartbeat = clock.after(heartbeatMs, beat);
    };
    heartbeat = clock.after(heartbeatMs, beat);
    const forget = ledger.onRevoked(() => sending.wake());
    const reader: Reader = { user, end: () => response.end() };
    const timeout = clock.after(seconds * 1000, () => response.end());
    this.#readers.add(reader);
    await new Promise<void>((resolve) => {
      response.once('close', resolve);
      if (response.destroyed) resolve();
    });
    this.#readers.delete(reader);
    forget();
    heartbeat.cancel();
    timeout.cancel();
    await trail.ends(200, { bytes: sending.sentBytes, durationMs: clock.now() - startedMs });
  }

  /** Readers at the same position share the bytes: after a start or a change that is nearly all of them. */
  #linesAfter(after: number): FeedLines {
    const { ledger } = this.#parts;
    const { position } = ledger;
    if (this.#shared?.after === after && this.#shared.position === position) return this.#shared;
    const lines = ledger
      .entriesAfter(after)
      .map((entry) => `${JSON.stringify({ type: 'REVOKED', object: entryText(entry) })}\n`);
    const chunks: Buffer[] = [];
    for (let at = 0; at < lines.length; at += chunkLines)
      chunks.push(Buffer.from(lines.slice(at, at + chunkLines).join('')));
    this.#shared = { after, position, chunks };
    return this.#shared;
  }

  #mark(position: number): object {
    return { kind: 'RevocationList', metadata: { resourceVersion: this.#version(position) }, time: this.#now() };
  }

  #version(position: number): string {
    return `${this.#run}-${position}`;
  }

  /** A position of another run, or one that was never reached, is unknown here. The reader gets all entries again, which does no harm. */
  #positionIn(version: string): number {
    const [run, position] = version.split('-');
    const known = Number(position);
    return run === this.#run && known <= this.#parts.ledger.position ? known : 0;
  }

  #now(): string {
    return this.#parts.clock.wallTime().toISOString();
  }
}

const noStore = { 'cache-control': 'no-store' };

interface Asked {
  isWatch: boolean;
  after: string;
  seconds: number;
}

function askedIn(query: URLSearchParams): Asked {
  const watch = query.get('watch');
  if (watch !== null && !['true', 'false', '1', '0'].includes(watch)) throw badRequest('watch: want true or false');
  const text = query.get('timeoutSeconds') ?? String(defaultWatchSeconds);
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > longestWatchSeconds)
    throw badRequest(`timeoutSeconds: want 1 to ${longestWatchSeconds}`);
  return { isWatch: isTrue(watch), after: query.get('resourceVersion') ?? '', seconds };
}
