import { describe, expect, it } from 'vitest';
import { AskedCluster } from '../../../src/cli/doctor/patient/asked-cluster.ts';
import { Patience } from '../../../src/cli/doctor/patient/patience.ts';
import type { Answer } from '../../../src/cluster/answer.ts';
import type { ApiRequest, ClusterConnection } from '../../../src/cluster/wire/connection.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const review = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const none: Answer = { kind: 'failed', status: undefined, retryAfterMs: undefined, message: 'no complete answer' };
const some: Answer = { kind: 'ok', status: 200, object: { metadata: {} } };

/** A cluster that leaves the given paths without an answer. */
function asked(isSilent: (path: string) => boolean) {
  const sent: string[] = [];
  const told: string[] = [];
  const stopping = new AbortController();
  const connection = {
    request: async ({ method, path }: ApiRequest): Promise<Answer> => {
      sent.push(`${method} ${path}`);
      return isSilent(path) ? none : some;
    },
  } as unknown as ClusterConnection;
  const patience = new Patience(new VirtualClock(), () => {});
  const silent = (why: string) => void told.push(why);
  const cluster = new AskedCluster(connection, { silent, stopping: stopping.signal, patience });
  const ask = (path: string, method: ApiRequest['method'] = 'GET') => cluster.request({ method, path });
  return { ask, sent, told, stop: () => stopping.abort() };
}

describe('AskedCluster', () => {
  it('asks a server that has stopped answering once more, and then nothing', async () => {
    const { ask, sent, told } = asked(() => true);
    await Promise.all(['/a', '/b', '/c'].map((path) => ask(path)));
    expect(await ask('/d')).toBe(none);
    expect(told).toEqual(['no complete answer']);
    expect(sent).toEqual(['GET /a', 'GET /b', 'GET /c', 'GET /version']);
  });

  it('deletes what doctor has made all the same', async () => {
    const { ask, sent } = asked(() => true);
    await ask('/a');
    await ask('/made', 'DELETE');
    expect(sent.at(-2)).toBe('DELETE /made');
  });

  it('bears one question that gets no answer, and takes the second for silence, if nothing was answered between', async () => {
    const { ask, told } = asked((path) => path.startsWith('/bad'));
    for (const path of ['/bad/1', '/good', '/bad/2', '/bad/2', '/good', '/bad/3']) await ask(path);
    expect(told).toEqual([]);
    await ask('/bad/4');
    expect(told).toEqual(['no complete answer; it still answers GET /version']);
  });

  it('asks for no other right when one review has got no answer', async () => {
    const { ask, sent, told } = asked((path) => path === review);
    await ask(review, 'POST');
    await ask(review, 'POST');
    expect(await ask('/good')).toBe(some);
    expect([sent, told]).toEqual([[`POST ${review}`, 'GET /version', 'GET /good'], []]);
  });

  it('takes no answer after Ctrl-C for what was asked for', async () => {
    const { ask, told, stop } = asked(() => true);
    stop();
    await ask('/a');
    expect(told).toEqual([]);
  });
});
