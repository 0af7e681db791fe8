import { describe, expect, it } from 'vitest';
import { changeAt, firstEndpoints, samples } from '../../../src/cli/demo/demo-samples.ts';
import { type Expectation, type StoryStep, story } from '../../../src/cli/demo/demo-story.ts';
import { differences, playStep, type Stage } from '../../../src/cli/demo/story-runner.ts';
import { ClusterClient } from '../../../src/cli/line/cluster-client.ts';
import type { Answer } from '../../../src/cluster/answer.ts';
import type { ApiRequest, Connection } from '../../../src/cluster/wire/connection.ts';
import { endpointsResource } from '../../../src/cluster/wire/scope.ts';
import { VirtualClock } from '../../virtual-clock.ts';

/** A fake cluster with an answer for each path; the test changes the answers between requests. */
function cluster(answers: Map<string, () => Answer>, asked: ApiRequest[] = []): ClusterClient {
  const connection: Connection = {
    name: 'host',
    server: 'https://there',
    async request(request) {
      asked.push(request);
      return (
        answers.get(`${request.method} ${request.path.split('?')[0]}`)?.() ?? {
          kind: 'notFound',
          message: 'no such thing',
        }
      );
    },
    stream: () => {
      throw new Error('no streams here');
    },
    subscribe: () => () => undefined,
    async close() {},
  };
  return new ClusterClient(connection);
}

const at = { side: 'host', ref: endpointsResource, namespace: 'n', name: 'a' } as const;
const ok = (metadata: object, more: object = {}): Answer => ({
  kind: 'ok',
  status: 200,
  object: { metadata, ...more } as never,
});

async function play(expects: Expectation[], answers: Record<string, () => Answer>) {
  const clock = new VirtualClock();
  const client = cluster(new Map(Object.entries(answers)));
  const stage: Stage = {
    clients: { virtual: client, host: client },
    clock,
    startDaemon: async () => {},
    stopDaemon: async () => {},
  };
  const step: StoryStep = { says: 'a step', acts: [], expects };
  const played = playStep(stage, step);
  await clock.advance(30_000);
  return (await played).differences;
}

describe('playStep()', () => {
  it('asks again until the expectation is met', async () => {
    let times = 0;
    const answers = {
      'GET /api/v1/namespaces/n/endpoints/a': () =>
        ++times < 5 ? ok({ name: 'a' }) : ok({ name: 'a', labels: { x: '1' } }),
    };
    expect(await play([{ see: 'object', at, like: { metadata: { labels: { x: '1' } } } }], answers)).toEqual([]);
    expect(times).toBe(5);
  });

  it('reports the differences when time is up', async () => {
    const answers = { 'GET /api/v1/namespaces/n/endpoints/a': () => ok({ name: 'a', labels: { x: '2' } }) };
    expect(await play([{ see: 'object', at, like: { metadata: { labels: { x: '1', y: null } } } }], answers)).toEqual([
      'host endpoints n/a metadata.labels.x: wanted "1", found "2"',
    ]);
  });

  it('detects that an object is absent, present, replaced, or written', async () => {
    let calls = 0;
    const path = 'GET /api/v1/namespaces/n/endpoints/a';
    expect(await play([{ see: 'absent', at }], {})).toEqual([]);
    expect(await play([{ see: 'absent', at }], { [path]: () => ok({}) })).toEqual([
      'host endpoints n/a is still there',
    ]);
    expect(await play([{ see: 'replaced', at }], { [path]: () => ok({ uid: String(++calls) }) })).toEqual([]);
    expect(await play([{ see: 'replaced', at }], { [path]: () => ok({ uid: 'u' }) })).toEqual([
      'host endpoints n/a still has uid "u"',
    ]);
    expect(
      await play([{ see: 'untouched', at }], { [path]: () => ok({ uid: 'u', resourceVersion: String(++calls) }) }),
    ).toMatchObject([expect.stringMatching(/^host endpoints n\/a was written, resourceVersion \d+ became \d+$/)]);
  });

  it('finds the expected event among the events of the object', async () => {
    const list = ok(
      { resourceVersion: '7' },
      {
        apiVersion: 'v1',
        kind: 'EventList',
        items: [{ metadata: {}, reason: 'HostNameTaken', involvedObject: { name: 'a' } }],
      },
    );
    const answers = { 'GET /api/v1/namespaces/n/events': () => list };
    const event = (reason: string): Expectation => ({ see: 'event', about: at, reason });
    expect(await play([event('HostNameTaken')], answers)).toEqual([]);
    expect(await play([event('NotOwned')], answers)).toEqual([
      'virtual n/a wanted an event "NotOwned", found "HostNameTaken"',
    ]);
  });

  it('calls a refused action a fault of the environment', async () => {
    const client = cluster(new Map());
    const stage: Stage = {
      clients: { virtual: client, host: client },
      clock: new VirtualClock(),
      startDaemon: async () => {},
      stopDaemon: async () => {},
    };
    const step: StoryStep = { says: '', acts: [{ do: 'delete', at }], expects: [] };
    await expect(playStep(stage, step)).rejects.toThrow('cannot delete host endpoints n/a: no such thing');
  });
});

describe('ClusterClient', () => {
  it('lists page by page', async () => {
    const asked: ApiRequest[] = [];
    const list = { apiVersion: 'v1', kind: 'EndpointsList' };
    const pages = [
      ok({ resourceVersion: '7', continue: 'more' }, { ...list, items: [{ metadata: { name: 'a' } }] }),
      ok({ resourceVersion: '7' }, { ...list, items: [{ metadata: { name: 'b' } }] }),
    ];
    const client = cluster(new Map([['GET /api/v1/endpoints', () => pages.shift()!]]), asked);
    const found = await client.list(endpointsResource, '', { labelSelector: 'a=b' });
    expect(found.map((object) => object.metadata.name)).toEqual(['a', 'b']);
    expect(asked.map((request) => request.path)).toEqual([
      '/api/v1/endpoints?labelSelector=a%3Db&limit=500',
      '/api/v1/endpoints?labelSelector=a%3Db&limit=500&continue=more',
    ]);
  });
});

describe('the story', () => {
  it('checks both sides, and every step checks something', () => {
    for (const step of story) expect(step.expects.length, step.says).toBeGreaterThan(0);
    const sides = story.flatMap((step) =>
      step.expects.map((expected) => ('at' in expected ? expected.at.side : 'virtual')),
    );
    expect(new Set(sides)).toEqual(new Set(['virtual', 'host']));
  });
});

describe('differences()', () => {
  it.each<[string, unknown, unknown, string[]]>([
    ['members that are not named do not matter', { a: 1 }, { a: 1, b: 2 }, []],
    ['null wants absence', { a: { b: null } }, { a: {} }, []],
    ['null is content with a missing parent', { a: { b: null } }, {}, []],
    ['null finds a value', { a: null }, { a: 1 }, ['a: wanted nothing, found 1']],
    ['a missing parent lacks its member', { a: { b: 1 } }, {}, ['a.b: wanted 1, found nothing']],
    ['dotted keys are quoted', { 'a.b/c': 'x' }, {}, ['["a.b/c"]: wanted "x", found nothing']],
    ['lists have one length', { a: [1] }, { a: [1, 2] }, ['a: wanted [1], found [1,2]']],
    ['list elements are like each other', { a: [{ b: 1 }] }, { a: [{ b: 2, c: 3 }] }, ['a[0].b: wanted 1, found 2']],
    ['inherited members are none', { constructor: { x: 1 } }, {}, ['constructor.x: wanted 1, found nothing']],
  ])('%s', (_, wanted, found, expected) => {
    expect(differences(wanted, found)).toEqual(expected);
  });
});

describe('changeAt()', () => {
  it('changes every sample in turn and never repeats itself at once', () => {
    const one = samples.length;
    for (let tick = 0; tick < 5 * one; tick++) {
      expect(changeAt(tick).sample).toBe(samples[tick % one]);
      expect(changeAt(tick)).not.toEqual(changeAt(tick + one));
    }
    expect(firstEndpoints(samples[0]!)).not.toEqual(changeAt(0).mergePatch);
  });
});
