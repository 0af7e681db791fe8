// The oracles of what is tried again speak when it comes late, and say nothing when something else has given a reason to wait; and the schedules bring
// about what they judge.
import { expect, it } from 'vitest';
import type { LiveFault } from '../../faults/live-fault.ts';
import { learnedSchedule, seedsOfPlan, seedsOfScenario } from '../../play/schedule.ts';
import type { World } from '../../play/world.ts';
import { passingOf } from '../../proxy/passing.ts';
import { furtherNames } from '../../traffic/further-scenes.ts';
import { lateNames } from '../../traffic/late-scenes.ts';
import { Board } from '../board.ts';
import { FailOver } from '../fail-over.ts';
import { AfterOutage } from './after-outage.ts';
import { TriedAgain } from './tried-again.ts';
import { WatchedOn } from './watched-on.ts';

const copies = '/api/v1/namespaces/vcluster-vc/endpoints';
const edit = { do: 'edit' } as never;

const struck = (effect: string): LiveFault =>
  ({ recipe: { effect, class: '' }, placed: { side: 'host' }, hasStruck: true }) as unknown as LiveFault;

function stage() {
  const clock = { ms: 0 };
  const raw = { id: 1, side: 'host', daemon: 'hostward-0', headers: {}, body: '', atMs: 0 } as const;
  const patch = passingOf({ ...raw, method: 'PATCH', path: `${copies}/web` });
  const list = passingOf({ ...raw, method: 'GET', path: copies });
  const store = { written: [] };
  const world = { clock: { now: () => clock.ms }, scenario: { daemons: 1 }, clusters: { host: { store } } };
  return { clock, patch, list, world: world as unknown as World, board: new Board(() => clock.ms) };
}

it.each([
  ['in its time', 4_000, {}, []],
  ['late', 30_000, {}, ['tried again late']],
  ['late, as the server has wished', 30_000, { 'retry-after': '30' }, []],
])('a write that a server has failed is tried again %s', (_, atMs, headers, kinds) => {
  const { clock, patch, world, board } = stage();
  const oracle = new TriedAgain(world, board, []);
  oracle.madeUp(patch, 503, headers);
  clock.ms = atMs;
  oracle.passed(patch);
  expect(board.violations.map(({ kind }) => kind)).toEqual(kinds);
});

it.each([
  ['that no patch can name, in a minute', [], 60_000, []],
  ['that no patch can name, later', [], 70_000, ['tried again late']],
  ['that a patch names', [{ reference: { kind: 'Secret' } }], 60_000, ['tried again late']],
  ['of a kind that the object names', [{ reference: { kindPath: 'kind' } }], 60_000, ['tried again late']],
])('a delete of content %s', (_, patches, atMs, kinds) => {
  const { clock, list, world, board } = stage();
  const configuration = { sync: { toHost: { endpoints: { patches: [] }, endpointSlices: { patches } } } };
  const oracle = new TriedAgain({ ...world, configuration } as unknown as World, board, []);
  const path = '/api/v1/namespaces/vcluster-vc/secrets/own';
  const remove = { ...list, verb: 'delete' as const, method: 'DELETE', path, resource: 'secrets' };
  oracle.madeUp(remove, 500, {});
  clock.ms = atMs;
  oracle.passed(remove);
  expect(board.violations.map(({ kind }) => kind)).toEqual(kinds);
});

it.each([
  ['may wait for as long as one that has failed often', 80_000, []],
  ['waits no longer than that', 96_000, ['tried again late']],
])('a write that fails behind failures that no proxy has seen %s', (_, atMs, kinds) => {
  const { clock, patch, world, board } = stage();
  const outage = { ...struck('partition'), isLasting: true, struck: 1 };
  const oracle = new TriedAgain(world, board, [outage as unknown as LiveFault]);
  oracle.still();
  outage.isLasting = false;
  clock.ms = 1_000;
  oracle.madeUp(patch, 503, {});
  clock.ms += atMs;
  oracle.passed(patch);
  expect(board.violations.map(({ kind }) => kind)).toEqual(kinds);
});

it('a write that waits for the tenth time may wait for seconds, and one behind news may wait for that', () => {
  const { clock, patch, world, board } = stage();
  const oracle = new TriedAgain(world, board, []);
  for (let nth = 0; nth < 12; nth++) oracle.madeUp(patch, 500, {});
  clock.ms = 19_000;
  oracle.passed(patch);
  oracle.acted(edit);
  clock.ms = 60_000;
  oracle.passed(patch);
  expect(board.violations).toEqual([]);
});

it.each([
  ['as soon as its back-off lets it', 700, false, false, []],
  ['too soon', 300, false, false, ['tried again soon']],
  ['soon, and people have acted', 300, true, false, []],
  ['soon, and the server has answered', 300, false, true, []],
])('a write that has failed eight times comes again %s', (_, afterMs, isTold, isAnswered, kinds) => {
  const { clock, patch, list, world, board } = stage();
  const oracle = new TriedAgain(world, board, []);
  for (let nth = 0; nth < 8; nth++) {
    clock.ms += 1_000;
    oracle.madeUp(patch, 503, {});
  }
  clock.ms += 100;
  if (isTold) oracle.acted(edit);
  if (isAnswered) oracle.answered(list);
  clock.ms += afterMs - 100;
  oracle.passed(patch);
  expect(board.violations.map(({ kind }) => kind)).toEqual(kinds);
});

it.each([
  ['where the last one has ended', '9', 6_000, '', []],
  ['too early', '7', 6_000, '', ['watched again']],
  ['too early, by what may not have been read', '7', 1_000, '', []],
  ['too early, behind a process that has not read', '7', 6_000, 'F39', []],
])('a watch begins again %s', (_, resourceVersion, afterMs, struckClass, kinds) => {
  const { clock, list, world, board } = stage();
  const faults = [{ recipe: { class: struckClass }, hasStruck: true }] as unknown as LiveFault[];
  const oracle = new WatchedOn(world, board, faults);
  const watch = { ...list, verb: 'watch' as const, query: new URLSearchParams({ resourceVersion }) };
  oracle.delivered({ passing: watch } as never, { revision: '9' } as never);
  clock.ms = afterMs;
  oracle.passed(watch);
  expect(board.violations.map(({ kind }) => kind)).toEqual(kinds);
});

it('a watch behind a list begins where the list says', () => {
  const { clock, list, world, board } = stage();
  const oracle = new WatchedOn(world, board, []);
  const watch = { ...list, verb: 'watch' as const, query: new URLSearchParams({ resourceVersion: '7' }) };
  oracle.delivered({ passing: watch } as never, { revision: '9' } as never);
  clock.ms = 6_000;
  oracle.answered(list);
  oracle.passed(watch);
  expect(board.violations).toEqual([]);
});

it('in some of the seeds of a landing lists come in small pages', () => {
  const scenarios = Array.from({ length: seedsOfPlan / seedsOfScenario }, (_, nth) => nth * seedsOfScenario);
  expect(scenarios.filter((seed) => learnedSchedule(seed).scenario.pageItems !== undefined).length).toBeGreaterThan(5);
});

it.each([
  ['soon', 69_000, false, '', []],
  ['late', 75_000, false, '', ['tried again late']],
  ['late, and people have acted', 75_000, true, '', []],
  ['late, and a kept connection is dead', 75_000, false, 'blackhole', []],
  ['much too late for a dead connection', 105_000, false, 'blackhole', ['tried again late']],
])('what has failed in an outage is written %s behind its end', (_, atMs, isTold, effect, kinds) => {
  const { clock, patch, list, world, board } = stage();
  const oracle = new AfterOutage(world, board, [struck(effect)]);
  oracle.passed(patch);
  oracle.madeUp(patch, 0);
  clock.ms = 60_000;
  oracle.answered({ ...list, isProof: true }, 200);
  clock.ms = 65_000;
  if (isTold) oracle.acted(edit);
  clock.ms = atMs;
  oracle.passed(patch);
  oracle.answered(patch, 200);
  expect(board.violations.map(({ kind }) => kind)).toEqual(kinds);
});

it.each([
  ['hostward-0_a', 'stopped', '', ['lease kept']],
  ['', 'stopped', '', []],
  ['hostward-0_a', 'dead', '', []],
  ['hostward-0_a', 'stopped', 'hang', []],
  ['hostward-0_a', 'stopped', 'terminate', ['lease kept']],
])('a lease of "%s" behind a daemon that is %s, after the fault "%s"', (holderIdentity, state, effect, kinds) => {
  const { world, board } = stage();
  const store = { peek: () => ({ spec: { holderIdentity } }) };
  const everyDaemon = [{ name: 'hostward-0', state }];
  const ended = { ...world, clusters: { host: { store } }, everyDaemon } as unknown as World;
  const oracle = new FailOver(ended, board, effect === '' ? [] : [struck(effect)]);
  oracle.still();
  oracle.still();
  expect(board.violations.map(({ kind }) => kind)).toEqual(kinds);
});

it.each([...Object.values(lateNames), ...furtherNames])(
  'some of the seeds of a landing have the scene of %s',
  (name) => {
    const scenarios = Array.from({ length: seedsOfPlan / seedsOfScenario }, (_, nth) => nth * seedsOfScenario);
    const having = scenarios.filter((seed) => JSON.stringify(learnedSchedule(seed).scenario.acts).includes(`"${name}`));
    expect(having.length).toBeGreaterThanOrEqual(4);
  },
);

it('in many of the seeds of a landing two objects go before the last calm, and in some the patches of a key that the host edits', () => {
  const scenarios = Array.from({ length: seedsOfPlan / seedsOfScenario }, (_, nth) => nth * seedsOfScenario);
  const acts = scenarios.map((seed) => learnedSchedule(seed).scenario.acts);
  expect(acts.filter((one) => one.slice(-3, -1).every((act) => act.do === 'remove')).length).toBeGreaterThan(40);
  expect(acts.filter((one) => JSON.stringify(one).includes('"turned"')).length).toBeGreaterThan(10);
});

it('in some of the seeds of a landing watches lag', () => {
  const scenarios = Array.from({ length: seedsOfPlan / seedsOfScenario }, (_, nth) => nth * seedsOfScenario);
  expect(scenarios.filter((seed) => learnedSchedule(seed).scenario.watchLagMs !== undefined).length).toBeGreaterThan(
    10,
  );
});
