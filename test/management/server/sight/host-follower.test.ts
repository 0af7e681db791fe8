import { afterEach, expect, it } from 'vitest';
import type { Answer } from '../../../../src/cluster/answer.ts';
import type { ApiRequest, Connection, WatchStreamEnd } from '../../../../src/cluster/wire/connection.ts';
import type { Log } from '../../../../src/log.ts';
import { HostFollower } from '../../../../src/management/server/host/records/host-follower.ts';
import { settle, VirtualClock } from '../../../virtual-clock.ts';

const clock = new VirtualClock();
let follower: HostFollower;
afterEach(() => follower.stop());

/** Follows a host whose lists are of these versions, one after the other. `orders`: what it is told between them, without a pause. */
async function follow(versions: readonly string[], orders?: readonly ('list' | 'watch')[]): Promise<string[]> {
  const left = [...versions];
  const heard: string[] = [];
  const list = (resourceVersion: string | undefined) => ({
    ...{ kind: 'SecretList', apiVersion: 'v1', metadata: { resourceVersion }, items: [] },
  });
  const connection = {
    name: 'host',
    subscribe: () => () => undefined,
    request: async ({ signal }: ApiRequest) => {
      if (left.length > 0) return { kind: 'ok', status: 200, object: list(left.shift()), bytes: 1 };
      await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
      return { kind: 'notSent', reason: 'stopped' };
    },
    stream: () => {
      const { promise: ended, resolve } = Promise.withResolvers<WatchStreamEnd>();
      return { ended, pause: () => {}, resume: () => {}, abort: () => resolve({ kind: 'aborted' }) };
    },
  } as unknown as Connection;
  follower = new HostFollower({
    ...{ connection, clock, random: () => 0, log: { warn: () => undefined } as unknown as Log },
    scope: {
      ref: { path: 'api/v1', resource: 'secrets', kind: 'Secret' },
      namespace: 'keys',
      labelSelector: undefined,
      fieldSelector: undefined,
    },
    recordOf: () => undefined,
    isEnding: () => false,
    listener: {
      listed: (_, version) => heard.push(`listed ${version}`),
      changed: () => undefined,
      wentBack: () => heard.push('went back'),
      trouble: () => undefined,
    },
  });
  follower.start();
  for (let turn = 0; left.length > 0 && turn < 20; turn++) {
    await settle();
    const order = orders?.[turn];
    if (order !== undefined) follower.interrupt(order);
    if (orders !== undefined) continue;
    await clock.advance(5_000);
    if (heard.at(-1)?.startsWith('listed')) follower.interrupt('list');
  }
  await settle();
  return heard;
}

it('lists again when it is to open the stream while a list is due: the stream would go on behind what was missed', async () => {
  const heard = await follow(['100', '90', '101'], ['list', 'watch', 'watch']);
  expect(heard).toEqual(['listed 100', 'listed 101']);
});

it.each([
  ['one older list may come from a server that lags', ['100', '90', '100'], ['listed 100', 'listed 100']],
  [
    'nor do two with a new one between them say that the host was set back',
    ['100', '90', '101', '91', '102'],
    ['listed 100', 'listed 101', 'listed 102'],
  ],
  ['two older ones say it', ['100', '90', '91'], ['listed 100', 'went back']],
])('%s', async (_, versions, heard) => {
  expect(await follow(versions)).toEqual(heard);
});

const refused: Answer = { kind: 'forbidden', message: '403 secrets is forbidden', namespaceTerminating: false };
const empty = { kind: 'SecretList', apiVersion: 'v1', metadata: { resourceVersion: '7' }, items: [] };

/** What the listener hears of a host that lists, or does not, and opens no watch. */
async function troubleOf(list: Answer): Promise<string | undefined> {
  let heard: string | undefined;
  const connection = {
    name: 'host',
    subscribe: () => () => undefined,
    request: async () => list,
    stream: () => ({
      ended: Promise.resolve({ kind: 'answered', answer: refused }),
      pause() {},
      resume() {},
      abort() {},
    }),
  } as unknown as Connection;
  follower = new HostFollower({
    ...{ connection, clock, random: () => 0, log: { warn: () => undefined } as unknown as Log },
    scope: {
      ref: { path: 'api/v1', resource: 'secrets', kind: 'Secret' },
      ...{ namespace: 'keys', labelSelector: undefined, fieldSelector: undefined },
    },
    recordOf: () => undefined,
    isEnding: () => false,
    listener: {
      ...{ listed: () => undefined, changed: () => undefined, wentBack: () => undefined },
      trouble: (message) => {
        heard = message;
      },
    },
  });
  follower.start();
  for (let turn = 0; turn < 3; turn++) await settle();
  return heard;
}

it.each([
  ['list', refused],
  ['watch', { kind: 'ok', status: 200, object: empty, bytes: 1 } as unknown as Answer],
])('says what to do where the right to %s is missing', async (_, list) => {
  expect(await troubleOf(list)).toBe(
    'grant this account the Role of `hostward docs replicas`: 403 secrets is forbidden',
  );
});
