// The view of a whole daemon over fake clusters, whose answers and windows a test controls.
import { afterEach } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import type { WriteRequest } from '../../../src/cluster/write/open-writer.ts';
import { Outages } from '../../../src/daemon/clusters/outages.ts';
import { type DaemonView, readinessOf, statusOf, wantsWrites } from '../../../src/daemon/report.ts';
import type { OpenedWindow } from '../../../src/daemon/synced/windows.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { tryOneForbidden } from '../../../src/sync/loop/try-one.ts';
import { type DatedVerdict, VerdictSince } from '../../../src/sync/report/verdict.ts';
import { type FakeOptions, FakeWorld } from '../fake-sync.ts';

export let world: FakeWorld;

/** Call it at the top of a file of tests. */
export function setUp(): void {
  afterEach(() => world.stop());
}

function refusalOf(verb: string): Answer {
  const right = `User "u" cannot ${verb} resource "endpoints" in API group "" in the namespace "h"`;
  return { kind: 'forbidden', message: `endpoints is forbidden: ${right}`, namespaceTerminating: false };
}

/** The view of a daemon whose host answers all writes with `answer` while it is set, and those of `refusedVerbs` with a refusal. */
export async function stage(options: FakeOptions = {}) {
  world = new FakeWorld(options);
  const metrics = createMetrics();
  const logged: Record<string, unknown>[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => void logged.push(JSON.parse(line)) } });
  const proof = { provenAtMs: undefined, missed: 0 };
  const shown = { state: 'watching', trouble: undefined, size: 0, lastHeardMs: 0, proof };
  const window: { name: string; namespace?: string; window: typeof shown } = { name: 'host endpoints', window: shown };
  const windows = [window];
  const outages = new Outages(
    { clock: world.clock, log, metrics },
    {
      windows: () => windows as unknown as OpenedWindow[],
      isInDoubt: () => false,
      over: () => world.sync.hurry(),
      tryOne: () => tryOneForbidden(world.sync),
    },
  );
  const host = { answer: undefined as Answer | Promise<Answer> | undefined, refusedVerbs: new Set<string>() };
  const real = world.host.writer();
  const asked = async (verb: WriteRequest['verb'], ask: () => Promise<Answer>): Promise<Answer> => {
    const refused = host.refusedVerbs.has(verb) ? refusalOf(verb) : undefined;
    const answer = await (host.answer ?? refused ?? ask());
    outages.writes.host.note(answer, { verb, resource: 'endpoints', path: '/endpoints' }, 0);
    return answer;
  };
  const hostWriter = {
    ...real,
    get: real.get.bind(real),
    create: (...rest: Parameters<typeof real.create>) => asked('create', () => real.create(...rest)),
    patch: (...rest: Parameters<typeof real.patch>) => asked('patch', () => real.patch(...rest)),
    remove: (...rest: Parameters<typeof real.remove>) => asked('delete', () => real.remove(...rest)),
  };
  await world.run({ hostWriter: hostWriter as never });
  const clusters = { troubles: [], unreached: [], connections: {}, versions: {}, addresses: [], areInDoubt: false };
  const view = {
    options: {
      ...{ clock: world.clock, version: '1', isDryRun: false, environment: {} },
      settings: { listen: '0.0.0.0:9440', hostNamespace: 'h' },
    },
    settings: {
      endpointsEnabled: true,
      endpointSlices: { enabled: false },
      virtualClusterName: 'vc',
      hostNamespace: 'h',
      namespaces: { enabled: false },
    },
    slices: { sync: undefined, missingVerbs: [] as string[], notServed: [] as string[] },
    warnings: [],
    phase: 'running',
    startedMs: 0,
    clusters,
    windows,
    sync: world.sync,
    lease: undefined,
    references: { status: () => undefined, doubts: [], gaps: new Map() },
    patches: { current: undefined, troubles: [] },
    outages,
    management: { readiness: () => undefined, status: () => undefined },
    since: new VerdictSince(),
  } as unknown as DaemonView;
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += 1000) {
      await world.clock.advance(1000);
      outages.update({ areWritesWanted: wantsWrites(view) });
    }
  };
  return {
    view,
    host,
    window,
    windows,
    pass,
    verdict: () => (statusOf(view) as { verdict: DatedVerdict }).verdict,
    readiness: () => readinessOf(view),
    logged: (message: string) => logged.filter(({ msg }) => msg === message),
    outageSeconds: async () => /outage_seconds\{cluster="host"\} (.*)/.exec(await metrics.metrics())?.[1],
    missingRights: async () =>
      [...(await metrics.metrics()).matchAll(/missing_rights\{cluster="(.*)"\} (.*)/g)].map(
        ([, side, n]) => `${side} ${n}`,
      ),
  };
}
