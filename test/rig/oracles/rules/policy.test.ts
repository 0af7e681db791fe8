// S5 speaks where a write carries what the policy in force refuses, and leaves a write alone that the policy of a moment ago has allowed.
import { expect, it } from 'vitest';
import type { LiveFault } from '../../faults/live-fault.ts';
import type { World } from '../../play/world.ts';
import { passingOf } from '../../proxy/passing.ts';
import { Board } from '../board.ts';
import { Policy } from './policy.ts';

const copies = '/api/v1/namespaces/vcluster-vc/endpoints';
const open = { hostward: {} };
const closed = { hostward: { addressPolicy: { deny: ['10.6.0.0/16'] }, exclude: { labels: ['team'] } } };

interface Given {
  configurations?: { configuration: object; sinceMs: number }[];
  nowMs?: number;
  hasFault?: boolean;
  method?: string;
  side?: 'host' | 'virtual';
}

const always = [{ configuration: closed, sinceMs: 0 }];

function kindsOf(
  body: object,
  { configurations = always, nowMs = 100_000, hasFault = false, method = 'PATCH', side = 'host' }: Given = {},
): string[] {
  const board = new Board(() => nowMs);
  const faults = hasFault ? [{ hasStruck: true } as unknown as LiveFault] : [];
  const world = { clock: { now: () => nowMs }, configurations } as unknown as World;
  const raw = { id: 1, daemon: 'hostward-0', headers: {}, atMs: nowMs } as const;
  const path = method === 'POST' ? copies : `${copies}/web`;
  new Policy(world, board, faults).passed(passingOf({ ...raw, side, method, path, body: JSON.stringify(body) }));
  return board.violations.map(({ oracle, kind }) => `${oracle} ${kind}`);
}

const endpoints = (ip: string) => ({ subsets: [{ addresses: [{ ip: '10.0.0.1' }], notReadyAddresses: [{ ip }] }] });

it.each([
  ['10.0.0.2', []],
  ['10.6.1.2', ['S5 an address']],
  ['::ffff:10.6.1.2', ['S5 an address']],
  ['239.1.1.1', ['S5 an address']],
  ['127.0.0.1', ['S5 an address']],
])('a copy with the address %s', (ip, kinds) => {
  expect(kindsOf(endpoints(ip))).toEqual(kinds);
  expect(kindsOf(endpoints(ip), { method: 'POST' })).toEqual(kinds);
  expect(kindsOf({ endpoints: [{ addresses: ['10.0.0.1', ip] }] })).toEqual(kinds);
  expect(kindsOf(endpoints(ip), { side: 'virtual' })).toEqual([]);
});

it('a label that is excluded may go, and not come', () => {
  expect(kindsOf({ metadata: { labels: { team: 'a' } } })).toEqual(['S5 a label']);
  expect(kindsOf({ metadata: { labels: { team: null, app: 'a' } } })).toEqual([]);
});

it('the configuration of before counts for two seconds, and where a fault has struck for as long as it may hold somebody', () => {
  const configurations = [
    { configuration: open, sinceMs: 0 },
    { configuration: closed, sinceMs: 97_000 },
  ];
  const denied = endpoints('10.6.1.2');
  expect(kindsOf(denied, { configurations, nowMs: 98_500 })).toEqual([]);
  expect(kindsOf(denied, { configurations })).toEqual(['S5 an address']);
  expect(kindsOf(denied, { configurations, hasFault: true })).toEqual([]);
  expect(kindsOf(endpoints('127.0.0.1'), { configurations, hasFault: true })).toEqual(['S5 an address']);
});
