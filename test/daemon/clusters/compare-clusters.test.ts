import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import { compareClusters } from '../../../src/daemon/clusters/compare-clusters.ts';

const forbidden = { kind: 'forbidden', message: 'no', namespaceTerminating: false } as Answer;
const notFound = { kind: 'notFound', message: 'none' } as Answer;
const uid = (of: string) =>
  ({ kind: 'ok', status: 200, object: { kind: 'Namespace', metadata: { uid: of } } }) as Answer;

/** What a server answers for the namespace of the host and for kube-system. */
function server([at, own, system]: readonly [string, Answer, Answer]) {
  const answers: Record<string, Answer> = { '/api/v1/namespaces/vc': own, '/api/v1/namespaces/kube-system': system };
  return { server: at, request: async ({ path }: { path: string }) => answers[path] ?? notFound };
}

describe('compareClusters()', () => {
  it.each([
    ['one address', ['https://a', notFound, uid('v')], ['https://a/', uid('h'), uid('s')], 'one'],
    [
      'two addresses, and the uid of its own namespace',
      ['https://a', uid('h'), forbidden],
      ['https://b', uid('h'), forbidden],
      'one',
    ],
    [
      'two addresses, and the uid of kube-system alone',
      ['https://a', forbidden, uid('s')],
      ['https://b', uid('h'), uid('s')],
      'one',
    ],
    [
      'a namespace of one name on both sides',
      ['https://a', uid('v'), uid('s')],
      ['https://b', uid('h'), forbidden],
      'two',
    ],
    [
      'no such namespace on the virtual side',
      ['https://a', notFound, uid('s')],
      ['https://b', uid('h'), forbidden],
      'two',
    ],
    ['other uids of kube-system', ['https://a', forbidden, uid('v')], ['https://b', uid('h'), uid('s')], 'two'],
    ['nothing that both may read', ['https://a', forbidden, uid('v')], ['https://b', uid('h'), forbidden], 'unknown'],
    ['a namespace that neither has', ['https://a', notFound, forbidden], ['https://b', notFound, forbidden], 'unknown'],
    [
      'something that is no Namespace',
      ['https://a', { ...uid('h'), object: { kind: 'Pod' } } as Answer, forbidden],
      ['https://b', uid('h'), forbidden],
      'unknown',
    ],
  ] as const)('%s', async (_, virtual, host, kind) => {
    const compared = await compareClusters(server(virtual) as never, server(host) as never, 'vc');
    expect(compared.kind).toBe(kind);
  });

  it.each([
    ['the virtual cluster', [forbidden, forbidden], [uid('h'), forbidden], ['virtual']],
    ['the virtual cluster, which shows kube-system', [forbidden, uid('v')], [uid('h'), forbidden], ['virtual']],
    ['the host', [notFound, uid('v')], [forbidden, forbidden], ['host']],
    ['both', [forbidden, forbidden], [forbidden, forbidden], ['virtual', 'host']],
    ['the host, about kube-system', [notFound, uid('v')], [notFound, forbidden], ['host']],
  ] as const)('says that %s refuses', async (_, virtual, host, refusing) => {
    const [one, other] = [server(['https://a', ...virtual]), server(['https://b', ...host])];
    expect(await compareClusters(one as never, other as never, 'vc')).toMatchObject({ kind: 'unknown', refusing });
  });

  it('names the namespace and its uid', async () => {
    const [virtual, host] = ['https://a', 'https://b'].map((at) => server([at, uid('h'), forbidden]) as never);
    expect(await compareClusters(virtual as never, host as never, 'vc')).toEqual({
      kind: 'one',
      found: 'one cluster: its namespace vc has the uid h on both sides',
    });
  });

  it('blames nobody for a refusal where no answer came', async () => {
    const failed = { kind: 'failed', status: undefined, retryAfterMs: undefined, message: 'no answer' } as Answer;
    const [one, other] = [server(['https://a', failed, failed]), server(['https://b', uid('h'), forbidden])];
    expect(await compareClusters(one as never, other as never, 'vc')).toEqual({
      kind: 'unknown',
      why: 'the virtual cluster gave no answer about the namespace vc or kube-system',
      refusing: [],
    });
  });
});
