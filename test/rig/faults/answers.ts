// Effects on requests and their answers: refused, changed, late, cut off, or never given.
import type { Meddling } from '../proxy/fault-proxy.ts';
import type { Passing } from '../proxy/passing.ts';
import { webhookLabel } from '../stage/replayed-store.ts';
import { changedBodies, garbage } from './garbage.ts';
import { answer, type Effect, forAWhile, isSynced, type LiveFault, onTurn, statusBody } from './live-fault.ts';

const change = (body: (text: string) => string): Effect => onTurn(() => ({ kind: 'change', body }));

export const answersEffects = {
  staleList: onTurn(stale),
  answer: onTurn(answer),
  answerLong: forAWhile(answer),
  flap: forAWhile((fault) => (fault.world.flips(fault.placed.nth) ? answer(fault) : undefined), true),
  expiredPage: {
    request: (fault, passing, isTurn) => {
      if (!fault.matches(passing)) return undefined;
      if (passing.query.has('continue') && fault.hasStruck && fault.struck <= fault.placed.times) {
        fault.strike();
        return { kind: 'answer', status: 410, body: statusBody({ ...fault.recipe, status: 410, text: 'Expired' }) };
      }
      if (!isTurn || passing.query.has('continue')) return undefined;
      fault.strike();
      return { kind: 'change', path: pagedPath(passing, 1) };
    },
  },
  /**
   * The host refuses the write that follows the one to the tenant's object, so often that its back-off has grown to some tenths of a second: both
   * sides have agreed, and the host does not know it.
   */
  failSecond: {
    request: (fault, passing, isTurn) => {
      const { verb, side, daemon, resource } = passing;
      if (verb !== 'update' || !isSynced(resource)) return undefined;
      if (side === 'virtual') wentBack.set(fault, { of: `${daemon} ${resource}`, left: fault.placed.size });
      const back = wentBack.get(fault);
      if (!isTurn || back?.of !== `${daemon} ${resource}` || back.left === 0) return undefined;
      back.left--;
      fault.strike();
      return answer(fault);
    },
  },
  emptyList: change(changedBodies.empty),
  otherKind: change(changedBodies.otherKind),
  noItems: change(changedBodies.noItems),
  noVersion: change(changedBodies.noVersion),
  halfBody: change((text) => text.slice(0, Math.floor(text.length / 2))),
  garbageBody: onTurn((fault) => ({ kind: 'change', body: () => garbage[fault.placed.size] ?? '' })),
  cutAfter: onTurn(() => ({ kind: 'cut', when: 'after' })),
  cutBody: onTurn(() => ({ kind: 'cut', when: 'body' })),
  hang: onTurn(() => ({ kind: 'hang' })),
  delay: onTurn((fault) => {
    fault.endMs = Math.max(fault.endMs, fault.nowMs + fault.placed.ms);
    return { kind: 'delay', ms: fault.placed.ms };
  }),
  delayAnswer: onTurn((fault) => {
    fault.endMs = Math.max(fault.endMs, fault.nowMs + fault.placed.ms);
    return { kind: 'delayAnswer', ms: fault.placed.ms };
  }),
  delayLong: forAWhile((fault) => ({ kind: 'delay', ms: fault.placed.size })),
  delayAnswerLong: forAWhile((fault) => ({ kind: 'delayAnswer', ms: fault.placed.size })),
  /** A mutating webhook labels everything that is written. */
  webhook: forAWhile(
    ({ placed }, { verb, resource }) =>
      ['create', 'update'].includes(verb) && placed.side === 'host' && isSynced(resource)
        ? { kind: 'change', request: sealed }
        : undefined,
    true,
  ),
  warnings: {
    request: (fault, passing) => {
      if (passing.side !== fault.placed.side || passing.verb === 'watch') return undefined;
      fault.strike();
      return { kind: 'change', headers: { warning: '299 - "the rig warns"' } };
    },
  },
} satisfies Record<string, Effect>;

/** Whose write to the tenant's object came last. */
const wentBack = new WeakMap<LiveFault, { of: string; left: number }>();

/** The same list as it was some revisions ago, true to the last byte. */
export function stale(fault: LiveFault, passing: Passing): Meddling | undefined {
  if (passing.query.has('continue')) return undefined;
  const { store } = fault.world.clusters[fault.placed.side];
  const query = new URLSearchParams(passing.query);
  query.set('resourceVersion', String(Math.max(1, store.revision - fault.placed.size)));
  query.set('resourceVersionMatch', 'Exact');
  return { kind: 'change', path: `${passing.path.split('?')[0]}?${query}` };
}

/** The server gives so small pages that a list has several. */
export function pagedPath({ path, query }: Passing, limit: number): string {
  const paged = new URLSearchParams(query);
  paged.set('limit', String(limit));
  return `${path.split('?')[0]}?${paged}`;
}

function sealed(text: string): string {
  const body = JSON.parse(text) as { metadata?: { labels?: object } };
  const labels = { ...body.metadata?.labels, [webhookLabel]: 'yes' };
  return JSON.stringify({ ...body, metadata: { ...body.metadata, labels } });
}
