import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import type { ClusterFault } from '../../../src/cluster/errors.ts';
import type { ApiRequest, Connection } from '../../../src/cluster/wire/connection.ts';
import type { Settings } from '../../../src/config/settings/settings.ts';
import { HostWarnings } from '../../../src/daemon/clusters/host-warnings.ts';
import type { Log } from '../../../src/log.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const found = { kind: 'found' } as const;
const noAnswer: Answer = { kind: 'failed', status: undefined, retryAfterMs: undefined, message: 'connection refused' };
const absent: Answer = { kind: 'notFound', message: 'not found' };
const there: Answer = { kind: 'ok', status: 200, object: { metadata: {} } };
const lookMs = 60_000;
const fault: ClusterFault = { code: 'CLUSTER_NAMESPACE_MISSING', message: 'no such namespace', fix: 'create it' };

describe('HostWarnings', () => {
  const answers: { service: Answer; lease: Answer; namespace: Answer } = {
    ...{ service: absent, lease: absent, namespace: there },
  };
  let make: () => HostWarnings;
  let isSuspect: boolean;
  let requests: number;
  let clock: VirtualClock;
  let logged: [string, unknown][];
  let warnings: HostWarnings;

  const host = {
    request: async ({ path }: ApiRequest) => {
      requests++;
      if (path.includes('/leases/')) return answers.lease;
      return path.includes('/services/') ? answers.service : answers.namespace;
    },
  } as unknown as Connection;
  const note =
    (level: string) =>
    ({ warning }: { warning: unknown }) =>
      void logged.push([level, warning]);
  const log = { info: note('info'), warn: note('warn') } as unknown as Log;
  const holding = (holderIdentity: string): Answer => {
    const spec = { holderIdentity, renewTime: clock.wallTime().toISOString(), leaseDurationSeconds: 15 };
    return { kind: 'ok', status: 200, object: { metadata: { name: 'lease' }, spec } };
  };

  beforeEach(() => {
    clock = new VirtualClock();
    logged = [];
    Object.assign(answers, { service: absent, lease: absent, namespace: there });
    isSuspect = false;
    requests = 0;
    const settings = {
      ...{ virtualClusterName: 'vc', hostNamespace: 'vcluster-vc', setOwner: false, leaderElection: 'never' },
      namespaces: { enabled: false },
    } as unknown as Settings;
    make = () =>
      new HostWarnings(
        { clock, log, isDryRun: false },
        () => settings,
        () => isSuspect,
      );
    warnings = make();
  });
  afterEach(() => warnings.stop());

  it('says once what looks wrong, keeps it while the host gives no answer, and says when it is over', async () => {
    await warnings.start(host, found);
    const [sentence] = warnings.sentences;
    expect(sentence).toMatch(/^host namespace "vcluster-vc" has no Service "vc"/);
    await clock.advance(lookMs);
    answers.service = noAnswer;
    await clock.advance(lookMs);
    expect(warnings.sentences).toEqual([sentence]);
    expect(logged).toEqual([['warn', sentence]]);
    answers.service = there;
    await clock.advance(lookMs);
    expect(warnings.sentences).toEqual([]);
    expect(logged).toEqual([
      ['warn', sentence],
      ['info', sentence],
    ]);
  });

  it('follows a namespace that is being deleted, is gone and is made again, within two seconds each', async () => {
    answers.service = there;
    await warnings.start(host, found);
    await clock.advance(2_000);
    isSuspect = true;
    const going: KubeObject = { metadata: {}, status: { phase: 'Terminating' } };
    for (const [namespace, sentence] of [
      [{ kind: 'ok', status: 200, object: going }, /^host namespace "vcluster-vc" is being deleted/],
      [absent, /^host namespace "vcluster-vc" does not exist any more; create it$/],
    ] as const) {
      answers.namespace = namespace;
      await clock.advance(2_000);
      expect(warnings.sentences).toEqual([expect.stringMatching(sentence)]);
    }
    answers.namespace = there;
    isSuspect = false;
    await clock.advance(2_000);
    expect(warnings.sentences).toEqual([]);
  });

  it('says that a namespace may be gone when the right to read it has gone, and nothing where it was never read', async () => {
    answers.service = there;
    answers.namespace = { kind: 'forbidden', message: 'no right', namespaceTerminating: false };
    await warnings.start(host);
    expect(warnings.sentences).toEqual([]);
    warnings.stop();
    for (const before of [{ kind: 'terminating' }, { kind: 'missing', fault }] as const) {
      const other = make();
      await other.start(host, before);
      await clock.advance(2_000);
      expect(other.sentences).toEqual([
        'host namespace "vcluster-vc" was being deleted or missing, and this daemon can read it no longer: it is gone, or its Role is (kubectl get namespace vcluster-vc); create both if it is still wanted',
      ]);
      other.stop();
    }
  });

  it('asks the host once a minute where nothing is wrong', async () => {
    answers.service = there;
    await warnings.start(host, found);
    const before = requests;
    await clock.advance(lookMs - 2_000);
    expect(requests).toBe(before);
    await clock.advance(2_000);
    expect(requests).toBeGreaterThan(before);
  });

  it.each([
    ['somebody', ['"somebody" holds the lease']],
    ['', []],
  ])('a lease whose holder is "%s" is held by: %j', async (holder, sentences) => {
    answers.service = there;
    answers.lease = holding(holder);
    await warnings.start(host, found);
    expect(warnings.sentences.map((one) => one.slice(0, 26))).toEqual(sentences);
  });
});
