// What is said, and what is watched, when the daemon has only some of the rights that the search for former copies takes.
import { describe, expect, it, vi } from 'vitest';
import type { Answer } from '../../src/cluster/answer.ts';
import type { ApiRequest, Connection } from '../../src/cluster/wire/connection.ts';
import { endpointsResource } from '../../src/cluster/wire/scope.ts';
import { type NamedWindow, StrayNamespaces } from '../../src/daemon/synced/stray-namespaces.ts';
import { silentLog } from '../../src/log.ts';
import { VirtualClock } from '../virtual-clock.ts';

interface Given {
  /** `verb namespace`, with `*` for all namespaces. */
  denied?: string[];
  lists?: (Answer | Promise<Answer> | undefined)[];
  named?: string[];
  isMapped?: boolean;
}

const copy = (namespace: string, instance?: string) => ({
  metadata: {
    namespace,
    name: 'web',
    uid: 'u',
    resourceVersion: '1',
    labels: { 'vcluster.loft.sh/managed-by': 'vc' },
    ...(instance && { annotations: { 'hostward.dev/instance': instance } }),
  },
});
const items = [copy('ha', 'own/vc'), copy('hb', 'own/vc'), copy('hc', 'other/vc'), copy('own')];

function stage({ denied = [], lists = [], named = ['hb', 'own'], isMapped = true }: Given = {}) {
  const asked: string[] = [];
  const request = async ({ method, path, body }: ApiRequest): Promise<Answer> => {
    if (method === 'POST') {
      const { verb, namespace = '*' } = JSON.parse(String(body)).spec.resourceAttributes;
      const allowed = !denied.includes(`${verb} ${namespace}`);
      return { kind: 'ok', object: { metadata: {}, status: { allowed } } } as unknown as Answer;
    }
    asked.push(path.split('?')[0] ?? '');
    const list = { kind: 'EndpointsList', apiVersion: 'v1', metadata: { resourceVersion: '9' }, items };
    return lists.shift() ?? ({ kind: 'ok', object: list } as unknown as Answer);
  };
  const clock = new VirtualClock();
  const watched: string[] = [];
  const strays = new StrayNamespaces({
    settings: {
      hostNamespace: 'own',
      virtualClusterName: 'vc',
      namespaces: { enabled: isMapped, byName: {}, mappingsOnly: false },
    },
    clock,
    log: silentLog,
    isDryRun: false,
    host: () => ({ name: 'host', request }) as unknown as Connection,
  });
  const window: NamedWindow = {
    ref: endpointsResource,
    namespaces: named,
    isStopped: () => false,
    watch: (namespace) => watched.push(namespace),
  };
  return { strays, window, clock, watched, asked, denied };
}

describe('StrayNamespaces', () => {
  it('watches the namespaces that hold copies of this very virtual cluster and that no mapping names', async () => {
    const { strays, window, watched } = stage();
    strays.search(window);
    await vi.waitFor(() => expect(watched).toEqual(['ha']));
    strays.again();
    strays.again();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(watched).toEqual(['ha']);
  });

  it('looks for copies without an instance in the own namespace alone', async () => {
    const { strays, window, watched } = stage({ named: ['hb'] });
    strays.search(window);
    await vi.waitFor(() => expect(watched).toEqual(['ha', 'own']));
  });

  it('lists nothing when it may not list all namespaces, or only the own one where mappings do not name it', async () => {
    const narrow = stage({ denied: ['list *'] });
    narrow.strays.search(narrow.window);
    const own = stage({ denied: ['list *'], named: ['hb'] });
    own.strays.search(own.window);
    await vi.waitFor(() => expect(own.asked).toEqual(['/api/v1/namespaces/own/endpoints']));
    expect(narrow.asked).toEqual([]);
    expect(narrow.strays.sentences).toEqual([]);
  });

  it('says which namespace keeps copies for want of a right, and watches it a minute after the right was granted', async () => {
    const { strays, window, clock, watched, denied } = stage({ denied: ['watch ha', 'delete ha'] });
    strays.search(window);
    await vi.waitFor(() => expect(strays.sentences).toHaveLength(1));
    expect(strays.sentences[0]).toBe(
      'a former mapping has left 1 copy (endpoints) in host namespace "ha", and this daemon lacks the right to watch, delete endpoints there; grant it, or delete those whose annotation hostward.dev/instance is own/vc',
    );
    denied.length = 0;
    await clock.advance(60_000);
    await vi.waitFor(() => expect(watched).toEqual(['ha']));
    await vi.waitFor(() => expect(strays.sentences).toEqual([]));
  });

  it('tries again after a failure, and no more once it is stopped', async () => {
    const failed: Answer = { kind: 'failed', status: undefined, retryAfterMs: undefined, message: 'no answer' };
    const { strays, window, clock, watched, asked } = stage({ lists: [failed, failed] });
    strays.search(window);
    await vi.waitFor(() => expect(asked).toHaveLength(1));
    await vi.waitFor(async () => {
      await clock.advance(4_000);
      expect(watched).toEqual(['ha']);
    });
    expect(asked).toHaveLength(3);
    const other = stage({ lists: [failed] });
    other.strays.search(other.window);
    await vi.waitFor(() => expect(other.asked).toHaveLength(1));
    other.strays.stop();
    await other.clock.advance(600_000);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(other.asked).toHaveLength(1);
  });

  it('has one look under way when this process becomes the leader meanwhile, and looks once more after it', async () => {
    const failed: Answer = { kind: 'failed', status: undefined, retryAfterMs: undefined, message: 'no answer' };
    const [first, second] = [Promise.withResolvers<Answer>(), Promise.withResolvers<Answer>()];
    const { strays, window, clock, asked } = stage({ lists: [first.promise, second.promise] });
    strays.search(window);
    await vi.waitFor(() => expect(asked).toHaveLength(1));
    strays.again();
    strays.again();
    await clock.advance(0);
    expect(asked).toHaveLength(1);
    first.resolve(failed);
    await vi.waitFor(() => expect(asked).toHaveLength(2));
    second.resolve(failed);
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(1));
    strays.stop();
    expect(clock.pendingTimers).toBe(0);
    strays.again();
    await clock.advance(0);
    expect(asked).toHaveLength(2);
  });

  it('forgets windows that were stopped', async () => {
    const { strays, window, watched, asked } = stage();
    let isStopped = false;
    strays.search({ ...window, isStopped: () => isStopped });
    await vi.waitFor(() => expect(watched).toEqual(['ha']));
    isStopped = true;
    strays.search(window);
    isStopped = false;
    await vi.waitFor(() => expect(watched).toEqual(['ha', 'ha']));
    strays.again();
    await vi.waitFor(() => expect(asked).toHaveLength(3));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(asked).toHaveLength(3);
  });
});
