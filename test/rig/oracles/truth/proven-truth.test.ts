// The oracle of proofs speaks where a daemon calls a window proven by a list that it has never got to its end.
import { expect, it } from 'vitest';
import type { World } from '../../play/world.ts';
import { type Passing, passingOf } from '../../proxy/passing.ts';
import { Board } from '../board.ts';
import { ProvenTruth } from './proven-truth.ts';

const path = '/api/v1/endpoints?limit=500';
const last = '{"metadata":{"resourceVersion":"9"}}';
const more = '{"metadata":{"resourceVersion":"9","continue":"there"}}';

function stage() {
  const clock = { ms: 10_000 };
  const said: { provenSecondsAgo?: number } = {};
  const daemon = {
    name: 'hostward-0',
    state: 'running',
    isHeld: false,
    get status() {
      return { windows: [{ window: 'virtual endpoints', ...said }] };
    },
  };
  const board = new Board(() => clock.ms);
  const world = { clock: { now: () => clock.ms }, daemons: [daemon] } as unknown as World;
  const oracle = new ProvenTruth(world, board);
  const asks = (query = ''): Passing => {
    const headers = { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' };
    const raw = { id: 1, side: 'virtual', daemon: 'hostward-0', method: 'GET', body: '', headers } as const;
    const passing = passingOf({ ...raw, path: path + query, atMs: clock.ms });
    oracle.passed(passing);
    return passing;
  };
  return { oracle, clock, said, asks, kinds: () => board.violations.map(({ kind }) => kind) };
}

it('a window is proven since the first page of the last list that came to its end', () => {
  const { oracle, clock, said, asks, kinds } = stage();
  oracle.given(asks(), 200, more);
  clock.ms = 16_000;
  oracle.given(asks('&continue=there'), 200, last);
  clock.ms = 60_000;
  oracle.madeUp(asks());
  said.provenSecondsAgo = 50;
  oracle.still();
  expect(kinds()).toEqual([]);
  clock.ms = 70_000;
  said.provenSecondsAgo = 10;
  oracle.still();
  expect(kinds()).toEqual(['not proven']);
});

it('a window is not proven by half a list', () => {
  const { oracle, clock, said, asks, kinds } = stage();
  oracle.given(asks(), 200, more);
  const cut = asks('&continue=there');
  cut.fate = 'cut';
  oracle.answered(cut);
  clock.ms = 20_000;
  said.provenSecondsAgo = 10;
  oracle.still();
  expect(kinds()).toEqual(['not proven']);
});

it('who has proven nothing says nothing of it', () => {
  const { oracle, asks, kinds } = stage();
  oracle.madeUp(asks());
  oracle.still();
  expect(kinds()).toEqual([]);
});
