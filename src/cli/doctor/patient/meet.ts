// Meets an API server once, for what an ordinary answer does not carry: the time by its clock, and the certificates on the way. In:
// credentials. Out: the meeting, or why it did not come about. Sends one GET /version.

import { type Clock, pause } from '../../../clock.ts';
import type { Credentials } from '../../../cluster/credentials/access.ts';
import { bearerToken } from '../../../cluster/credentials/why-refused.ts';
import { RawConnection } from '../../../cluster/wire/raw-connection.ts';
import { silentLog } from '../../../log.ts';
import { type Ending, endingsOf, endOfToken, peerEnding } from './endings.ts';

export interface Meeting {
  version: string;
  /** How far the clock of the server is ahead of ours; undefined when its answer has no time. */
  aheadMs: number | undefined;
  /** How far `aheadMs` may be off, because an answer takes time and its date has whole seconds. */
  doubtMs: number;
  /** Certificates and tokens on the way, each with its end. */
  endings: readonly Ending[];
  source: string;
}

const answerWithinMs = 10_000;
/** The Date header has whole seconds, so that on average half a second is cut off. */
const halfSecondMs = 500;

export async function meet(credentials: Credentials, version: string, clock: Clock): Promise<Meeting> {
  const access = await credentials.read();
  const connection = new RawConnection({ name: 'doctor', credentials, clock, log: silentLog });
  const endings = [...endingsOf(access), ...endOfToken(bearerToken(access))];
  const known: Meeting = { version, aheadMs: undefined, doubtMs: 0, endings, source: credentials.source };
  const beganMs = clock.wallTime().getTime();
  const exchange = connection.send({
    method: 'GET',
    path: '/version',
    headers: ['Accept', 'application/json'],
    body: undefined,
    upgrade: undefined,
    isStream: false,
  });
  const over = new AbortController();
  try {
    const answer = await Promise.race([exchange.answered, pause(clock, answerWithinMs, over.signal)]);
    // The ordinary connection has answered already, so that only clock and certificate stay unknown.
    if (answer === undefined || answer.kind !== 'response') return known;
    const tookMs = clock.wallTime().getTime() - beganMs;
    const { headers, socket } = answer.response;
    const dateMs = Date.parse(headers.date ?? '');
    const peer = peerEnding(socket);
    answer.response.destroy();
    return {
      ...known,
      ...(!Number.isNaN(dateMs) && { aheadMs: dateMs + halfSecondMs - (beganMs + tookMs / 2) }),
      doubtMs: halfSecondMs + tookMs / 2,
      endings: peer === undefined ? endings : [peer, ...endings],
    };
  } finally {
    over.abort();
    exchange.abort();
    connection.close();
  }
}
