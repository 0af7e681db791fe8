// The truth of status and of the lag is told from what a daemon could know: of each object by itself, with the answers that it still waits for.
import { expect, it } from 'vitest';
import type { World } from '../../play/world.ts';
import { type Passing, passingOf } from '../../proxy/passing.ts';
import { Board } from '../board.ts';
import { Truth } from './truth.ts';

const copies = '/api/v1/namespaces/vcluster-vc/endpoints';
const payload = (nth: number) => ({ subsets: [{ addresses: [{ ip: `10.0.0.${nth}` }] }] });

function stage() {
  const clock = { ms: 0 };
  const lags = new Map([['Endpoints', { ms: 0, changes: 0 }]]);
  const [virtual, host]: [object[], object[]] = [[], []];
  const daemon = {
    ...{ name: 'hostward-0', state: 'running', isHeld: false, lags: () => new Map(lags) },
    status: { verdict: { state: 'inStep', sentence: 'all is in step' }, leadership: 'alone' },
  };
  const world = {
    ...{ clock: { now: () => clock.ms }, daemons: [daemon] },
    clusters: { virtual: { store: { written: virtual } }, host: { store: { written: host } } },
    proxies: { virtual: { watches: new Set() }, host: { watches: new Set() } },
  };
  const board = new Board(() => clock.ms);
  const truth = new Truth(world as unknown as World, board, []);
  let id = 0;
  const sent = (method: string, path: string, side: 'virtual' | 'host' = 'host', body: object = {}): Passing => {
    const raw = { id: ++id, side, daemon: 'hostward-0', method, path, headers: {}, atMs: clock.ms };
    const passing = passingOf({ ...raw, body: JSON.stringify(body) });
    truth.passed(passing);
    return passing;
  };
  const make = (name: string): Passing => sent('POST', copies, 'host', { metadata: { name } });
  const at = (ms: number): void => {
    clock.ms = ms;
    truth.still();
  };
  const kinds = () => board.violations.map(({ kind }) => kind);
  return { truth, daemon, virtual, host, lags, sent, make, at, kinds };
}

it.each([
  ['as long as a daemon waits for an answer', 26_000, []],
  ['longer', 62_000, ['lag too long']],
])('a change may have waited %s while nothing else did', (_, atMs, found) => {
  const { truth, lags, sent, at, kinds } = stage();
  at(1_000);
  const hung = sent('PATCH', `${copies}/web`);
  hung.fate = 'hang';
  truth.madeUp(hung, 0);
  for (let ms = 2_000; ms <= atMs; ms += 1_000) at(ms);
  lags.set('Endpoints', { ms: atMs - 1_000, changes: 1 });
  // In quiet times it looks every five seconds.
  at(atMs + 5_000);
  expect(kinds()).toEqual(found);
});

it('a create that was refused owes no lag, whatever other objects have been made since', () => {
  const { truth, daemon, virtual, host, make, at, kinds } = stage();
  for (const nth of [1, 2]) {
    const after = { metadata: { uid: `u${nth}`, name: `web-${nth}`, namespace: 't1' }, ...payload(nth) };
    virtual.push({ key: `/registry/services/endpoints/t1/web-${nth}`, revision: nth, after });
    const line = { type: 'ADDED', resource: 'endpoints', key: `t1/web-${nth}`, uid: `u${nth}`, revision: String(nth) };
    // The other one was in the first list.
    if (nth === 1) truth.delivered({ passing: { side: 'virtual', daemon: 'hostward-0' } } as never, line);
  }
  const done = (nth: number, passing: Passing): void => {
    const annotations = { 'vcluster.loft.sh/object-uid': `u${nth}` };
    const after = { metadata: { name: `web-${nth}`, namespace: 'vcluster-vc', annotations }, ...payload(nth) };
    host.push({ by: { daemon: 'hostward-0', request: passing.id }, after });
    truth.given(passing, 201);
    truth.answered(passing, 201);
  };
  truth.madeUp(make('web-1'), 413);
  done(2, make('web-2'));
  daemon.status.verdict.state = 'refused';
  at(10_000);
  done(1, make('web-1'));
  daemon.status.verdict.state = 'inStep';
  at(11_000);
  expect(kinds()).toEqual([]);
});

it.each([
  ['has failed ever since', false, ['no outage']],
  ['was opened and cut again', true, []],
])('an outage is to be told where a watch of Services %s', (_, isOpened, found) => {
  const { truth, sent, at, kinds } = stage();
  const list = sent('GET', '/api/v1/services', 'virtual');
  truth.madeUp(list, 0);
  at(1_000);
  if (isOpened) truth.opened(list);
  at(7_000);
  expect(kinds()).toEqual(found);
});
